//! key advise: what the keys of a table will make slow, from some of its rows.

use std::path::Path;

use serde_json::json;

use super::Answer;
use super::given::{no_table, open};
use super::output::Output;
use crate::Result;
use crate::backend::{Backend, Region};
use crate::model::{CellInfo, RowKey, TableName, TimeRange, Timestamp, to_string_binary};
use crate::tree::asking::sample;

/// Columns of a row that are looked at; a row that has more is wide.
const WIDE: usize = 10_000;
/// Rows without which nothing can be said of their order.
const LEAST: usize = 20;
/// Of pairs of rows, how many stand in the order of their writing where keys rise with time.
const RISES: f64 = 0.9;
/// How many of the newest rows lie in a fifth of the keys where there is a hot spot.
const HOT: f64 = 0.8;
/// A region is too full that has so many times its share.
const UNEVEN: usize = 2;
/// Regions that are proposed at least.
const PARTS: usize = 4;
/// Bytes of a name that is short.
const SHORT: f64 = 16.0;
/// Digits that a number of eight bytes has as a text.
const DIGITS: usize = 10;

/// A row that was looked at.
struct Sampled {
    key: RowKey,
    newest: Timestamp,
    columns: usize,
    /// Bytes of the coordinates of its cells, and of their values.
    names: u64,
    values: u64,
    /// Of its qualifiers and families alone.
    qualifiers: u64,
}

/// Something to tell: what was seen, and the rule.
struct Advice {
    about: &'static str,
    seen: String,
    rule: &'static str,
}

pub fn advise(store: &Path, table: &str, sample: u64, json: bool) -> Result<Answer> {
    let (backend, table) = open(store, table)?;
    if !backend.catalogue()?.tables.contains_key(&table) {
        return Err(no_table(&table));
    }
    let rows = sampled(backend.as_ref(), &table, sample)?;
    let regions = backend.regions(&table)?.unwrap_or_default();
    let found =
        [rising(&rows), hot(&rows), long_names(&rows), wide(&rows), numbers_as_texts(&rows), splits(&regions, &rows)];
    let found: Vec<Advice> = found.into_iter().flatten().collect();
    let mut output = Output::new();
    for Advice { about, seen, rule } in &found {
        match json {
            true => output.json(&json!({ "about": about, "seen": seen, "rule": rule }))?,
            false => output.line(&format!("{about}: {seen}\n    {rule}"))?,
        }
    }
    if found.is_empty() && !json {
        output.line(&format!("{} rows looked at: nothing to tell", rows.len()))?;
    }
    output.finish()?;
    Ok(if found.is_empty() { Answer::Yes } else { Answer::No })
}

/// Some rows, ascending: of a large table from blocks drawn at random, of a small one all that are wanted.
fn sampled(backend: &dyn Backend, table: &TableName, most: u64) -> Result<Vec<Sampled>> {
    sample::of_table(backend, table, most)?.into_iter().map(|key| look(backend, table, key)).collect()
}

/// What a row has, without its values.
fn look(backend: &dyn Backend, table: &TableName, key: RowKey) -> Result<Sampled> {
    let mut row = Sampled { key, newest: Timestamp::ZERO, columns: 0, names: 0, values: 0, qualifiers: 0 };
    let catalogue = backend.catalogue()?;
    let Some(schema) = catalogue.tables.get(table) else { return Ok(row) };
    for family in schema.families.keys() {
        let left = (WIDE + 1).saturating_sub(row.columns);
        let columns = backend.list_columns(table, &row.key, family, None, TimeRange::ALL, left)?;
        for (qualifier, cell) in columns {
            let CellInfo { timestamp, .. } = cell;
            row.newest = row.newest.max(timestamp);
            row.columns += 1;
            let own = (qualifier.len() + family.len()) as u64;
            row.qualifiers += own;
            row.names += own + row.key.len() as u64;
            row.values += cell.len();
        }
    }
    Ok(row)
}

/// Keys rise with time if of two rows that one has the greater key which was written later.
fn rising(rows: &[Sampled]) -> Option<Advice> {
    let (mut rises, mut pairs) = (0_u64, 0_u64);
    // Each with some behind it, near and far.
    for step in [1, 3, 17, 101, 499] {
        for (one, other) in rows.iter().zip(rows.iter().skip(step)).filter(|(a, b)| a.newest != b.newest) {
            pairs += 1;
            rises += u64::from(one.newest < other.newest);
        }
    }
    let share = rises as f64 / pairs.max(1) as f64;
    (rows.len() >= LEAST && pairs >= LEAST as u64 && share >= RISES).then(|| Advice {
        about: "rising keys",
        seen: format!("of two rows the one with the greater key was written later, {:.0} % of the time", 100.0 * share),
        rule: "All new rows go to the end of the table, and on a cluster to the one server that has it. Let what the rows \
               are about stand before the time or the number (OpenTSDB: metric, then time), or spread them: salt(N), \
               hash(N), reverse(number). Newest first is desc(time).",
    })
}

/// Most of the rows that were written last lie in a small part of the keys.
fn hot(rows: &[Sampled]) -> Option<Advice> {
    if rows.len() < 10 * LEAST || rising(rows).is_some() {
        return None;
    }
    let mut newest: Vec<usize> = (0..rows.len()).collect();
    newest.sort_by_key(|at| rows[*at].newest);
    // Of rows that came at once, as by an import, nobody knows which were the last.
    let since = rows[newest[rows.len() - rows.len() / 10]].newest;
    if rows.iter().filter(|row| row.newest >= since).count() > rows.len() / 5 {
        return None;
    }
    let mut newest = newest.split_off(rows.len() - rows.len() / 10);
    newest.sort_unstable();
    // The fullest fifth of the keys.
    let within = |first: usize| newest[first..].partition_point(|at| *at < newest[first] + rows.len() / 5);
    let (first, most) = (0..newest.len()).map(|first| (first, within(first))).max_by_key(|(_, count)| *count)?;
    let share = most as f64 / newest.len() as f64;
    let shown = |at: usize| to_string_binary(&rows[newest[at]].key);
    (share >= HOT).then(|| Advice {
        about: "hot spot",
        seen: format!(
            "{:.0} % of the rows that were written last lie from {} to {}, within a fifth of the keys",
            100.0 * share,
            shown(first),
            shown(first + most - 1)
        ),
        rule: "Rows that are written together and need not be read together should not lie together: put a salt(N) or a \
               hash(N) before them. A salt makes a scan one for each bucket, a hash of the whole key takes scans away.",
    })
}

/// On a cluster: regions of which one has far more rows than the others, or one that has all of many.
fn splits(regions: &[Region], rows: &[Sampled]) -> Option<Advice> {
    if regions.is_empty() || rows.len() < LEAST * 5 {
        return None;
    }
    let within = |region: &Region| {
        let is_in = |row: &&Sampled| row.key >= region.start && (region.end.is_empty() || row.key < region.end);
        rows.iter().filter(is_in).count()
    };
    let most = regions.iter().map(within).max()?;
    if regions.len() > 1 && most <= rows.len() * UNEVEN / regions.len() {
        return None;
    }
    let parts = regions.len().max(PARTS);
    let points: Vec<String> = (1..parts).map(|part| split_between(rows, rows.len() * part / parts)).collect();
    Some(Advice {
        about: "regions",
        seen: format!(
            "{:.0} % of the rows lie in one of {} regions; {parts} of equal size begin at SPLITS => ['{}']",
            100.0 * most as f64 / rows.len() as f64,
            regions.len(),
            points.join("', '")
        ),
        rule: "One server has each region. Make the table with these SPLITS, or split it there: split 'TABLE', 'KEY' in the \
               shell. Of one small region nothing need be done: servers split what grows.",
    })
}

/// The shortest key up to the row at a place that is behind the one before it.
fn split_between(rows: &[Sampled], at: usize) -> String {
    let (before, key) = (&rows[at - 1].key, &rows[at].key);
    let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    to_string_binary(&key[..(shared + 1).min(key.len())])
}

fn long_names(rows: &[Sampled]) -> Option<Advice> {
    let sum = |of: fn(&Sampled) -> u64| rows.iter().map(of).sum::<u64>();
    let (names, values, qualifiers) = (sum(|row| row.names), sum(|row| row.values), sum(|row| row.qualifiers));
    let cells = rows.iter().map(|row| row.columns as u64).sum::<u64>().max(1);
    let (name, value) = (names as f64 / cells as f64, values as f64 / cells as f64);
    let qualifier = qualifiers as f64 / cells as f64;
    (name > value && name > 2.0 * SHORT || qualifier > SHORT).then(|| Advice {
        about: "long names",
        seen: format!(
            "a cell has {name:.0} bytes of row, family and qualifier, {qualifier:.0} of them family and qualifier, and \
             {value:.0} of value"
        ),
        rule: "Each cell is stored and sent with its coordinates, billions of times: a family of one letter, short \
               qualifiers, keys as short as they can be and still be asked for.",
    })
}

fn wide(rows: &[Sampled]) -> Option<Advice> {
    let widest = rows.iter().max_by_key(|row| row.columns)?;
    (widest.columns > WIDE).then(|| Advice {
        about: "wide rows",
        seen: format!("row {} has more than {WIDE} columns", to_string_binary(&widest.key)),
        rule: "A row is never split, and is locked as a whole by each write. Move what tells its columns apart into the key \
               (a tall table), or cut the row by hours or pages; keep it wide only where it is written in one step.",
    })
}

fn numbers_as_texts(rows: &[Sampled]) -> Option<Advice> {
    let longest = |key: &[u8]| key.split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).max().unwrap_or(0);
    let many = rows.iter().filter(|row| longest(&row.key) >= DIGITS).count();
    let example = rows.iter().find(|row| longest(&row.key) >= DIGITS)?;
    (many * 2 > rows.len()).then(|| Advice {
        about: "numbers as texts",
        seen: format!("{many} of {} keys have numbers of {DIGITS} digits or more, as {}", rows.len(), to_string_binary(&example.key)),
        rule: "A number of 64 bits takes eight bytes, and more than twice as many as a text, which also sorts by number only \
               if all have the same length: u64(NAME), time(NAME), or digits(NAME, WIDTH) where people read them.",
    })
}
