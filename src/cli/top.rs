//! top: what a mount does, live.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Paragraph, Row, Table};
use serde_json::{Value as Json, json};

use super::Answer;
use super::args::TopArgs;
use super::counted::Known;
use super::follow::{Follow, Tally, most, mount_of, stopped};
use super::output::{Output, json_bytes};
use super::profile;
use super::stats::duration;
use crate::backend::{Backend, Status};
use crate::daemon::DaemonNumbers;
use crate::daemon::control::client::Client;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate::{MountEntry, is_cluster};
use crate::error::printable;
use crate::{Error, ErrorKind, Result};

/// How often a key is looked for, while the next numbers come.
const KEYS: Duration = Duration::from_millis(100);
const REQUESTS: [&str; 7] = ["request", "a second", "failed", "mean", "p50", "p99", "max"];
const PATHS: [&str; 4] = ["a second", "time", "mean", "path"];
/// Paths that are told of a look.
const TOLD: usize = 100;

/// What is shown at a time.
struct Frame {
    head: Vec<String>,
    requests: Vec<[String; 7]>,
    paths: Vec<[String; 4]>,
}

/// Where the numbers come from.
struct Source {
    client: Client,
    follow: Follow,
    title: String,
    mount: MountEntry,
}

/// What a look has found.
struct Look {
    tally: Tally,
    lasted: Duration,
    numbers: DaemonNumbers,
    status: Status,
}

pub fn top(args: &TopArgs, json: bool) -> Result<Answer> {
    let (mount, below) = mount_of(&args.path)?;
    let client = sockets::daemon_of(&mount)?.ok_or_else(|| {
        let text = format!("{} is not served any more", mount.mount_point.display());
        Error::new(ErrorKind::Disconnected, text)
    })?;
    let follow = Follow::open(&mount, &below)?;
    let title = format!("{} at {}", mount.source.display(), mount.mount_point.display());
    let mut source = Source { client, follow, title: printable(&title), mount };
    let interval = Duration::from_secs_f64(args.interval);
    if !json && std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        let mut terminal = ratatui::try_init().map_err(|e| Error::io("the terminal", &e))?;
        let shown = live(&mut terminal, &mut source, (interval, args.count));
        ratatui::restore();
        return shown.map(|()| Answer::Yes);
    }
    let stop = stopped();
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        let mut output = Output::new();
        match json {
            true => output.json(&source.object(interval, &stop)?)?,
            false => source.next(interval, &stop)?.lines().iter().try_for_each(|line| output.line(line))?,
        }
        output.finish()?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Answer::Yes)
}

impl Source {
    fn look(&mut self, interval: Duration, stop: &AtomicBool) -> Result<Look> {
        let (tally, lasted) = self.follow.during(interval, stop)?;
        let (numbers, status) = (self.client.numbers()?, self.client.status()?);
        Ok(Look { tally, lasted, numbers, status })
    }

    /// As [`Source::next`], for programs.
    fn object(&mut self, interval: Duration, stop: &AtomicBool) -> Result<Json> {
        let Look { tally, lasted, numbers, status } = self.look(interval, stop)?;
        let mut object = profile::as_json(&tally, lasted, TOLD);
        object["directory"] = json_bytes(self.mount.source.as_os_str().as_bytes());
        object["mount_point"] = json_bytes(self.mount.mount_point.as_os_str().as_bytes());
        object["daemon"] = json!({
            "pid": self.client.pid(), "started_at": numbers.started_at, "resident_bytes": numbers.resident_bytes,
            "nodes": numbers.mount.nodes, "open_handles": numbers.mount.handles,
        });
        object["store"] = self.known().json(&status);
        Ok(object)
    }

    fn next(&mut self, interval: Duration, stop: &AtomicBool) -> Result<Frame> {
        let Look { tally, lasted, numbers, status } = self.look(interval, stop)?;
        let now = self.client.now().0.max(numbers.started_at);
        let store = of_store(&numbers, (&status, self.known()));
        Ok(frame(&self.title, (&numbers, store, now), &tally, lasted))
    }

    /// The daemon says what it was told itself.
    fn known(&self) -> Known {
        if is_cluster(&self.mount.source) { Known::Files } else { Known::All }
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// What is told of the daemon's memory and the store.
fn of_store(numbers: &DaemonNumbers, (status, known): (&Status, Known)) -> Vec<String> {
    let memory = format!(
        "memory {}, {} nodes, {} open files",
        mib(numbers.resident_bytes),
        numbers.mount.nodes,
        numbers.mount.handles
    );
    let (memtable, bytes, segments) = (mib(status.memtable_bytes), mib(status.segment_bytes), status.segments);
    let mut lines = match known {
        Known::All => {
            let activity = if status.activity.is_empty() { "idle" } else { &status.activity };
            let compaction = status.compaction.as_ref().map_or_else(
                || format!("{} so far", status.compactions),
                |c| format!("{}:{} {} %", c.table, c.family, c.percent),
            );
            vec![
                format!("{memory}; memtable {memtable} in {} cells", status.memtable_cells),
                format!(
                    "store {} cells, {bytes} in {segments} segments; disk {} writable",
                    status.cells,
                    mib(status.disk_writable)
                ),
                format!("flushes {}; compactions: {compaction}; now: {}", status.flushes, printable(activity)),
            ]
        }
        Known::Files => vec![memory, format!("cluster {bytes} in {segments} files, {memtable} in memory")],
        Known::Nothing => vec![memory],
    };
    if let Some(error) = status.poisoned.as_ref().or(status.last_error.as_ref()) {
        lines.push(format!("last error: {}", printable(error)));
    }
    lines
}

fn frame(
    title: &str,
    (numbers, store, now): (&DaemonNumbers, Vec<String>, i64),
    tally: &Tally,
    lasted: Duration,
) -> Frame {
    let each = |count: u64| format!("{:.1}", count as f64 / lasted.as_secs_f64().max(1e-9));
    let all = &tally.all;
    let mut head = vec![
        format!("{title}, {} s since its start", (now - numbers.started_at) / 1000),
        format!(
            "requests {} a second, {} failed, p50 {}, p99 {}, max {}",
            each(all.count),
            all.failed,
            duration(all.quantile(0.5)),
            duration(all.quantile(0.99)),
            duration(all.quantile(1.0))
        ),
    ];
    head.extend(store);
    let requests = most(&tally.requests, usize::MAX).into_iter().map(|(name, spent)| {
        let latencies = [spent.mean(), spent.quantile(0.5), spent.quantile(0.99), spent.quantile(1.0)].map(duration);
        let [mean, median, tail, longest] = latencies;
        [name.clone(), each(spent.count), spent.failed.to_string(), mean, median, tail, longest]
    });
    let requests = requests.collect();
    let paths = most(&tally.paths, TOLD).into_iter();
    let paths =
        paths.map(|(path, spent)| [each(spent.count), duration(spent.nanos), duration(spent.mean()), path.clone()]);
    Frame { head, requests, paths: paths.collect() }
}

impl Frame {
    fn lines(&self) -> Vec<String> {
        let request = |cells: &[String; 7]| {
            let rest: String = cells[1..].iter().map(|cell| format!("{cell:>12}")).collect();
            format!("{:<16}{rest}", cells[0])
        };
        let path = |cells: &[String; 4]| format!("{:>12}{:>12}{:>12}  {}", cells[0], cells[1], cells[2], cells[3]);
        let mut lines = self.head.clone();
        lines.push(String::new());
        lines.push(request(&REQUESTS.map(str::to_owned)));
        lines.extend(self.requests.iter().map(request));
        lines.push(String::new());
        lines.push(path(&PATHS.map(str::to_owned)));
        lines.extend(self.paths.iter().take(20).map(path));
        lines.push(String::new());
        lines
    }

    fn draw(&self, screen: &mut ratatui::Frame<'_>) {
        let head = u16::try_from(self.head.len()).unwrap_or(u16::MAX);
        let requests = u16::try_from(self.requests.len() + 2).unwrap_or(u16::MAX).min(screen.area().height / 2);
        let rows = [Constraint::Length(head + 1), Constraint::Length(requests), Constraint::Min(2)];
        let [top, middle, bottom] = Layout::vertical(rows).areas(screen.area());
        screen.render_widget(Paragraph::new(self.head.join("\n")), top);
        let title = Style::default().add_modifier(Modifier::REVERSED);
        let widths = [Constraint::Length(16); 7];
        let each = self.requests.iter().map(|cells| Row::new(cells.clone()));
        screen.render_widget(Table::new(each, widths).header(Row::new(REQUESTS).style(title)), middle);
        let widths = [Constraint::Length(12), Constraint::Length(12), Constraint::Length(12), Constraint::Min(20)];
        let each = self.paths.iter().map(|cells| Row::new(cells.clone()));
        screen.render_widget(Table::new(each, widths).header(Row::new(PATHS).style(title)), bottom);
    }
}

/// Until `q`, Escape or Ctrl-C.
fn live(terminal: &mut DefaultTerminal, source: &mut Source, (interval, count): (Duration, Option<u64>)) -> Result<()> {
    let io = |e: std::io::Error| Error::io("the terminal", &e);
    let never = AtomicBool::new(false);
    let mut frame = source.next(KEYS, &never)?;
    for _ in 0..count.unwrap_or(u64::MAX) {
        terminal.draw(|screen| frame.draw(screen)).map_err(io)?;
        let until = std::time::Instant::now() + interval;
        while std::time::Instant::now() < until {
            if event::poll(KEYS).map_err(io)? {
                match event::read().map_err(io)? {
                    Event::Key(key) if is_end(key.code, key.modifiers) => return Ok(()),
                    Event::Resize(..) => {
                        terminal.draw(|screen| frame.draw(screen)).map_err(io)?;
                    }
                    _ => {}
                }
            }
        }
        frame = source.next(Duration::ZERO, &never)?;
    }
    Ok(())
}

fn is_end(code: KeyCode, modifiers: KeyModifiers) -> bool {
    matches!(code, KeyCode::Char('q') | KeyCode::Esc)
        || code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL)
}
