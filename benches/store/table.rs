//! The table that is printed: its lines, whose figures stand beside this store's, and what is to be reached.

use crate::cells;
use crate::figures::Figures;
use crate::subjects::Who;

/// What this store's figure is to reach: by itself, or as a ratio to another's.
#[derive(Clone, Copy)]
enum Goal {
    None,
    AtMost(f64),
    Below(f64),
    TimesAtMost(Who, f64),
    TimesAtLeast(Who, f64),
}

use Goal::{AtMost, Below, None as Open, TimesAtLeast, TimesAtMost};
use Who::{Fjall, RocksDb, Sqlite};

/// A line: what is measured, in what, beside whom the ratio is shown, and the goal.
struct Line {
    name: &'static str,
    unit: &'static str,
    peer: Option<Who>,
    goal: Goal,
    /// Instead of it, for so many cells and more.
    goal_of_many: Goal,
}

const MANY: u64 = 10_000_000;

const fn beside(name: &'static str, unit: &'static str, peer: Who, goal: Goal) -> Line {
    Line { name, unit, peer: Some(peer), goal, goal_of_many: goal }
}

const fn alone(name: &'static str, unit: &'static str, goal: Goal) -> Line {
    Line { name, unit, peer: None, goal, goal_of_many: goal }
}

impl Line {
    const fn of_many(self, goal_of_many: Goal) -> Self {
        Self { goal_of_many, ..self }
    }
}

const LINES: [Line; 39] = [
    beside("puts, settled", "1000/cpu s", Fjall, TimesAtLeast(Fjall, 1.3)).of_many(TimesAtLeast(Fjall, 1.8)),
    alone("puts, burst", "1000/cpu s", Open),
    beside("longest put", "ms", Fjall, Below(50.0)),
    beside("durable puts, 8 writers", "1000/s", Sqlite, TimesAtLeast(Sqlite, 5.0)),
    alone("newest, value, unflushed", "cpu us", Open),
    beside("newest, value", "cpu us", Sqlite, TimesAtMost(Sqlite, 1.2)).of_many(TimesAtMost(Sqlite, 1.0)),
    beside("newest, value, cold", "us", Sqlite, Open),
    alone("newest, no value", "cpu us", Open),
    alone("scan, values, unflushed", "1000/cpu s", Open),
    beside("scan, values", "1000/cpu s", Fjall, TimesAtLeast(Fjall, 3.0)),
    beside("first row of a scan", "cpu us", Sqlite, Open),
    alone("listing, a row, unflushed", "cpu us", AtMost(0.6)),
    alone("listing, a row", "cpu us", AtMost(0.6)),
    alone("rename", "cpu us", Open),
    alone("unlink", "cpu us", Open),
    alone("unlink, flushed", "cpu us", Open),
    alone("rename, flushed", "cpu us", Open),
    beside("disk / data", "x", Fjall, AtMost(1.1)),
    beside("disk / data, compacted", "x", Fjall, AtMost(1.1)),
    beside("major compaction", "cpu s", Fjall, TimesAtMost(Fjall, 1.0)),
    beside("snapshot", "ms", RocksDb, Open),
    beside("restart", "ms", Sqlite, AtMost(100.0)),
    alone("open with a full log", "ms", AtMost(1000.0)),
    alone("replay of a full log", "M/s", Open),
    alone("memory after it", "MiB", Open),
    beside("memory, flushed", "MiB", Sqlite, AtMost(40.0)),
    alone("restart, half a journal", "ms", Open),
    beside(">>, a line to one cell", "cpu us", Who::Files, Open),
    beside(">>, disk / data, idle", "x", Who::Files, Open),
    beside(">>, disk / data, compacted", "x", Who::Files, Open),
    alone("64 MiB, ten times anew", "s", Open),
    alone("disk / one version", "x", Open),
    alone("64 MiB, a page ten times", "s", Open),
    alone("disk / one version, pages", "x", Open),
    beside("growth of a put", "x", Sqlite, AtMost(1.5)),
    beside("growth of a get", "x", Sqlite, AtMost(1.5)),
    beside("growth of a first row", "x", Sqlite, AtMost(1.5)),
    alone("growth of a listing", "x", Open),
    beside("growth of a cold get", "x", Sqlite, Open),
];

/// What the table can't say in a figure.
const NOTES: [&str; 3] = [
    ">>: the disk beyond that of an empty store; ten versions are kept, the data is the newest one",
    "restart: open to the first value in a process of its own, after an orderly end, files in the page cache",
    "growth: a cell's cost with all cells / that with 100,000, both flushed",
];

/// Prints the medians.
pub fn print(figures: &Figures, count: u64) {
    let (len, kind) = (*cells::VALUE, if *cells::IS_TEXT { "text" } else { "random" });
    println!(
        "{count} cells, ten a row, 40-byte keys, {len} bytes of {kind}; one processor; medians; `cpu`: processor time"
    );
    let names = Who::ALL.map(|who| format!(" {:>9}", who.name())).concat();
    println!("{:<28} {:>10}{names}   {:<14} goal", "", "", "ratio");
    for line in LINES {
        print_line(figures, &line, count);
    }
    NOTES.iter().for_each(|note| println!("{note}"));
    Who::ALL.iter().filter_map(|who| who.lack()).for_each(|lack| println!("{lack}"));
}

fn print_line(figures: &Figures, line: &Line, count: u64) {
    let of = |who| figures.median(line.name, who);
    let shown = Who::ALL.map(|who| of(who).map_or(" ".repeat(9) + "-", |figure| format!(" {figure:>9.2}"))).concat();
    let ratio_to = |peer| of(Who::Cellfs).zip(of(peer)).map(|(own, other)| own / other);
    let ratio = line.peer.and_then(|peer| Some(format!("{:.2}x {}", ratio_to(peer)?, peer.name()))).unwrap_or_default();
    let goal = if count < MANY { line.goal } else { line.goal_of_many };
    let (said, is_met) = match goal {
        Goal::None => (String::new(), None),
        AtMost(most) => (format!("<= {most} {}", line.unit), of(Who::Cellfs).map(|own| own <= most)),
        Below(bound) => (format!("< {bound} {}", line.unit), of(Who::Cellfs).map(|own| own < bound)),
        TimesAtMost(peer, most) => (format!("<= {most:.1}x {}", peer.name()), ratio_to(peer).map(|r| r <= most)),
        TimesAtLeast(peer, least) => (format!(">= {least:.1}x {}", peer.name()), ratio_to(peer).map(|r| r >= least)),
    };
    let met = is_met.map_or("", |is_met| if is_met { ", met" } else { ", MISSED" });
    let text = format!("{:<28} {:>10}{shown}   {ratio:<14} {said}{met}", line.name, line.unit);
    println!("{}", text.trim_end());
}
