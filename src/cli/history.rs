//! log: the history of a cell, every stored version and tombstone.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::Answer;
use super::args::LogArgs;
use super::output::{Output, json_bytes};
use super::path::{named, resolve};
use crate::backend::{Backend, Versions};
use crate::daemon::{Absent, open_backend};
use crate::model::{Cell, CellInfo, CellKind, ColumnKey, FileTime, ReadSpec, Scan, Timestamp};
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// Versions that are looked at at once.
const PAGE: usize = 2000;

/// Something that is stored of a column.
struct Entry {
    timestamp: Timestamp,
    state: State,
    /// `None` of tombstones, and of puts that no read shows any more.
    info: Option<CellInfo>,
}

enum State {
    Live,
    /// Kept; the time of the tombstone that ended it.
    Deleted(Timestamp),
    /// Neither live nor kept: too old, or one too many; the next compaction takes it.
    Hidden,
    Tombstone(&'static str),
}

pub fn log(args: &LogArgs, json: bool) -> Result<Answer> {
    let (backend, place) = match &args.cell {
        None => resolve(&args.path)?,
        Some(cell) => {
            let backend = open_backend(&args.path, Absent::Refuse)?;
            let place = named(&backend, Path::new(cell))?;
            (backend, place)
        }
    };
    let Some(column) = place.column().filter(|_| !matches!(place, Place::KeyFile(_))) else {
        let given = args.cell.as_deref().unwrap_or(args.path.as_os_str()).display();
        let text = format!(
            "{given} names no cell, and only cells have a history: give the path of one in a mount, or \
             STORE TABLE/ROW/FAMILY/QUALIFIER"
        );
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    };
    let entries = entries(backend.as_ref(), column, args.limit)?;
    let mut output = Output::new();
    for entry in &entries {
        if json { print_json(&mut output, entry)? } else { output.line(&line(entry))? }
    }
    output.finish()?;
    Ok(if entries.is_empty() { Answer::No } else { Answer::Yes })
}

/// Newest first; a tombstone before what it covers.
fn entries(backend: &dyn Backend, column: &ColumnKey, limit: u32) -> Result<Vec<Entry>> {
    let mut shown = shown(backend, column, limit as usize)?;
    let mut entries = Vec::new();
    for cell in stored(backend, column, limit)? {
        let timestamp = cell.timestamp;
        match cell.kind {
            CellKind::Tombstone(kind) => {
                entries.push(Entry { timestamp, state: State::Tombstone(kind.name()), info: None });
            }
            // Of several puts of one timestamp the last counts, and it comes first.
            CellKind::Put => match shown.remove(&timestamp) {
                Some(info) => entries.push(version(info)),
                None if entries
                    .last()
                    .is_some_and(|last: &Entry| last.timestamp == timestamp && last.info.is_some()) => {}
                None => entries.push(Entry { timestamp, state: State::Hidden, info: None }),
            },
        }
    }
    // What was written between the two looks.
    entries.extend(shown.into_values().map(version));
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.timestamp), entry.info.is_some()));
    entries.truncate(limit as usize);
    Ok(entries)
}

/// What reads can see, by pages: an answer of the daemon has its limit.
fn shown(backend: &dyn Backend, column: &ColumnKey, limit: usize) -> Result<BTreeMap<Timestamp, CellInfo>> {
    let mut shown = BTreeMap::new();
    let mut before = None;
    while shown.len() < limit {
        let wanted = PAGE.min(limit - shown.len());
        let page = backend.list_versions(column, Versions::LiveAndKept, before, wanted)?;
        before = page.last().map(|info| info.timestamp);
        let ended = page.len() < wanted;
        shown.extend(page.into_iter().map(|info| (info.timestamp, info)));
        if ended {
            break;
        }
    }
    Ok(shown)
}

fn version(info: CellInfo) -> Entry {
    let state = info.deleted_at.map_or(State::Live, State::Deleted);
    Entry { timestamp: info.timestamp, state, info: Some(info) }
}

/// All that is stored of a column, without values: puts, its tombstones, those of its family.
fn stored(backend: &dyn Backend, column: &ColumnKey, limit: u32) -> Result<Vec<Cell>> {
    let mut scan = Scan::all(column.table.clone());
    scan.start.clone_from(&column.row);
    scan.stop = [column.row.as_slice(), &[0]].concat();
    let only = std::str::from_utf8(&column.qualifier).ok().map(|name| name.replace('\'', "''"));
    let only = only.map(|name| {
        format!("(QualifierFilter(=,'binary:{name}') OR QualifierFilter(=,'binary:')) AND KeyOnlyFilter()")
    });
    scan.read = ReadSpec {
        columns: [(column.family.clone(), None)].into(),
        max_versions: limit,
        filter: Some(only.unwrap_or_else(|| "KeyOnlyFilter()".to_owned())),
        raw: true,
        ..ReadSpec::default()
    };
    let mut cells = Vec::new();
    for row in backend.scan(&scan)? {
        cells.extend(row?.cells.into_iter().filter(|cell| cell.qualifier == column.qualifier || is_of_family(cell)));
    }
    Ok(cells)
}

/// Markers of a family lie under the empty qualifier.
fn is_of_family(cell: &Cell) -> bool {
    cell.qualifier.is_empty() && matches!(cell.kind, CellKind::Tombstone(kind) if kind.name().contains("Family"))
}

fn iso(timestamp: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(timestamp.0).map_or_else(|_| "-".to_owned(), |time| format!("{time:.3}"))
}

fn iso_file(time: FileTime) -> String {
    let nanos = i32::try_from(time.nanos).unwrap_or(0);
    jiff::Timestamp::new(time.seconds, nanos).map_or_else(|_| "-".to_owned(), |time| time.to_string())
}

/// Timestamp, the same as a date, state, size, and what else is known.
fn line(entry: &Entry) -> String {
    let Entry { timestamp, state, info } = entry;
    let state = match state {
        State::Live => "live".to_owned(),
        State::Deleted(at) => format!("deleted {}", iso(*at)),
        State::Hidden => "gone (until a compaction takes it)".to_owned(),
        State::Tombstone(kind) => format!("tombstone {kind}"),
    };
    let mut line = format!("{timestamp}\t{}\t{state}", iso(*timestamp));
    if let Some(info) = info {
        line.push_str(&format!("\t{} bytes", info.len()));
        let file = &info.tags.file;
        if let Some(mtime) = file.mtime() {
            line.push_str(&format!("\tmtime {}", iso_file(mtime)));
        }
        if let Some(mode) = file.mode() {
            line.push_str(&format!("\tmode {mode:04o}"));
        }
        for (what, id) in [("owner", file.uid()), ("group", file.gid())] {
            if let Some(id) = id {
                line.push_str(&format!("\t{what} {id}"));
            }
        }
        if let Some(expires) = info.expires_at {
            line.push_str(&format!("\texpires {}", iso(expires)));
        }
    }
    line
}

fn print_json(output: &mut Output, entry: &Entry) -> Result<()> {
    let mut object = json!({ "timestamp": entry.timestamp.0 });
    match entry.state {
        State::Live => object["state"] = json!("live"),
        State::Deleted(at) => {
            object["state"] = json!("deleted");
            object["deleted_at"] = json!(at.0);
        }
        State::Hidden => object["state"] = json!("gone"),
        State::Tombstone(kind) => {
            object["state"] = json!("tombstone");
            object["type"] = json_bytes(kind.as_bytes());
        }
    }
    if let Some(info) = &entry.info {
        object["size"] = json!(info.len());
        let mtime = info.mtime();
        object["mtime"] = json!(format!("{}.{:09}", mtime.seconds, mtime.nanos));
        object["mode"] = json!(info.tags.file.mode().map(|mode| format!("{mode:04o}")));
        object["uid"] = json!(info.tags.file.uid());
        object["gid"] = json!(info.tags.file.gid());
        object["ttl"] = json!(info.tags.ttl_ms);
        object["expires_at"] = json!(info.expires_at.map(|time| time.0));
    }
    output.json(&object)
}
