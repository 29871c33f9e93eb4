//! log: the history of a cell, or of the cells of a row, every stored version and tombstone.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::Answer;
use super::args::LogArgs;
use super::output::{Output, json_bytes};
use super::path::{named, resolve};
use crate::backend::{Backend, HistoryFrom, Versions};
use crate::daemon::{Absent, open_backend};
use crate::model::{
    Cell, CellInfo, CellKind, ColumnKey, FileTime, Qualifier, ReadSpec, Scan, TimeRange, Timestamp, to_string_binary,
};
use crate::tree::place::{FamilyPlace, Place};
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
    let mut output = Output::new();
    let mut found = false;
    let families = match &place {
        Place::Row(row) => {
            let names = backend.list_families(&row.table, &row.row, TimeRange::ALL, Versions::LiveAndKept)?;
            let family = |family| FamilyPlace { table: row.table.clone(), row: row.row.clone(), family };
            names.into_iter().map(family).collect()
        }
        Place::Family(family) => vec![family.as_ref().clone()],
        _ => {
            let Some(column) = place.column().filter(|_| !matches!(place, Place::KeyFile(_))) else {
                return Err(no_cell(args));
            };
            found =
                print_column(&mut output, backend.as_ref(), column, Form { limit: args.limit, json, names: false })?;
            Vec::new()
        }
    };
    for family in families {
        let mut from = HistoryFrom { qualifier: Vec::new(), before: None };
        while let Some(qualifier) = next_column(backend.as_ref(), &family, &from)? {
            let form = Form { limit: args.limit, json, names: true };
            found |= print_column(&mut output, backend.as_ref(), &family.column(qualifier.clone()), form)?;
            from.qualifier = [qualifier.as_slice(), &[0]].concat();
        }
    }
    output.finish()?;
    Ok(if found { Answer::Yes } else { Answer::No })
}

fn no_cell(args: &LogArgs) -> Error {
    let given = args.cell.as_deref().unwrap_or(args.path.as_os_str()).display();
    let text = format!(
        "{given} names no cell, row or family of a row, and only those have a history: give the path of one in a \
         mount, or STORE TABLE/ROW/FAMILY/QUALIFIER"
    );
    Error::new(ErrorKind::IllegalArgument, text)
}

/// The first column of a family that has a version from a qualifier on.
fn next_column(backend: &dyn Backend, family: &FamilyPlace, from: &HistoryFrom) -> Result<Option<Qualifier>> {
    let page = backend.list_history(&family.table, &family.row, &family.family, Some(from), 1)?;
    Ok(page.into_iter().next().map(|(qualifier, _)| qualifier))
}

/// How columns are printed.
#[derive(Clone, Copy)]
struct Form {
    limit: u32,
    json: bool,
    /// Each line begins with its column.
    names: bool,
}

/// Whether there was anything.
fn print_column(output: &mut Output, backend: &dyn Backend, column: &ColumnKey, form: Form) -> Result<bool> {
    let entries = entries(backend, column, form.limit)?;
    let name = format!("{}:{}\t", column.family, to_string_binary(&column.qualifier));
    for entry in &entries {
        match (form.json, form.names) {
            (true, _) => print_json(output, entry, form.names.then_some(column))?,
            (false, true) => output.line(&(name.clone() + &line(entry)))?,
            (false, false) => output.line(&line(entry))?,
        }
    }
    Ok(!entries.is_empty())
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
    let quotes = |byte: &u8| if *byte == b'\'' { vec![*byte; 2] } else { vec![*byte] };
    let name: Vec<u8> = column.qualifier.iter().flat_map(quotes).collect();
    let end = b"') OR QualifierFilter(=,'binary:')) AND KeyOnlyFilter()";
    let only = [b"(QualifierFilter(=,'binary:", name.as_slice(), end].concat();
    scan.read = ReadSpec {
        columns: [(column.family.clone(), None)].into(),
        max_versions: limit,
        filter: Some(only),
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

fn print_json(output: &mut Output, entry: &Entry, column: Option<&ColumnKey>) -> Result<()> {
    let mut object = json!({ "timestamp": entry.timestamp.0 });
    if let Some(column) = column {
        object["family"] = json!(column.family);
        object["qualifier"] = json_bytes(&column.qualifier);
    }
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
