//! log: the history of a cell, or of the cells of a row, every stored version and tombstone.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::args::{LOG_LIMIT, LogArgs};
use super::output::{Output, json_bytes};
use super::path::{named, resolve};
use super::{Answer, complain};
use crate::backend::{Backend, HistoryFrom, Versions};
use crate::daemon::{Absent, open_backend};
use crate::model::{
    Cell, CellInfo, CellKind, ColumnKey, FileTime, Piece, Qualifier, ReadSpec, Scan, TimeRange, Timestamp,
    to_string_binary,
};
use crate::query::quoted;
use crate::tree::place::{FamilyPlace, Place};
use crate::{Error, ErrorKind, Result};

/// Versions that are looked at at once: of a column, and of several, each of which may have a long name.
const PAGE: usize = 2000;
const PAGE_OF_COLUMNS: usize = 64;

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
        found |= print_family(&mut output, backend.as_ref(), &family, Form { limit: args.limit, json, names: true })?;
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

/// How columns are printed.
#[derive(Clone, Copy)]
struct Form {
    limit: u32,
    json: bool,
    /// Each line begins with its column.
    names: bool,
}

impl Form {
    /// One more than are printed: so it is known whether there are more.
    fn wanted(self) -> u32 {
        self.limit.saturating_add(1)
    }
}

/// Each column that has a version, by pages; whether there was anything.
fn print_family(output: &mut Output, backend: &dyn Backend, family: &FamilyPlace, form: Form) -> Result<bool> {
    let markers = markers(backend, family, form.wanted())?;
    let mut from = HistoryFrom { qualifier: Vec::new(), before: None };
    let mut found = false;
    loop {
        let mut page =
            backend.list_history(&family.table, &family.row, &family.family, Some(&from), PAGE_OF_COLUMNS)?;
        let is_last = page.len() < PAGE_OF_COLUMNS;
        let Some((last, _)) = page.last().cloned() else { return Ok(found) };
        if !is_last {
            // More of it may follow.
            page.retain(|(qualifier, _)| *qualifier != last);
        }
        if page.is_empty() {
            from.qualifier = behind(&last);
            found |= print_column(output, backend, &family.column(last), form)?;
        } else {
            found |= print_page(output, backend, (family, &markers), page, form)?;
            from.qualifier = last;
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// Whole columns; whether there was anything.
fn print_page(
    output: &mut Output,
    backend: &dyn Backend,
    (family, markers): (&FamilyPlace, &[Cell]),
    page: Vec<(Qualifier, CellInfo)>,
    form: Form,
) -> Result<bool> {
    let mut columns: BTreeMap<Qualifier, (BTreeMap<Timestamp, CellInfo>, Vec<Cell>)> = BTreeMap::new();
    for (qualifier, info) in page {
        let (shown, _) = columns.entry(qualifier).or_default();
        if shown.len() < form.wanted() as usize {
            shown.insert(info.timestamp, info);
        }
    }
    let ends = columns.first_key_value().zip(columns.last_key_value());
    let Some(range) = ends.map(|((first, _), (last, _))| (first.clone(), behind(last))) else { return Ok(false) };
    // What is stored between them and not shown may be more than these are.
    stored(backend, family, (&range.0, &range.1), form.wanted(), &mut |cell| {
        if let Some((_, stored)) = columns.get_mut(&cell.qualifier) {
            stored.push(cell.clone());
        }
    })?;
    let mut found = false;
    for (qualifier, (shown, own)) in columns {
        let entries = entries(shown, of_column(markers, own));
        found |= print_entries(output, &family.column(qualifier), &entries, form)?;
    }
    Ok(found)
}

/// Whether there was anything.
fn print_column(output: &mut Output, backend: &dyn Backend, column: &ColumnKey, form: Form) -> Result<bool> {
    let ColumnKey { table, row, family, qualifier } = column.clone();
    let family = FamilyPlace { table, row, family };
    let markers = markers(backend, &family, form.wanted())?;
    let shown = shown(backend, column, form.wanted() as usize)?;
    let mut own = Vec::new();
    stored(backend, &family, (&qualifier, &behind(&qualifier)), form.wanted(), &mut |cell| own.push(cell.clone()))?;
    print_entries(output, column, &entries(shown, of_column(&markers, own)), form)
}

fn print_entries(output: &mut Output, column: &ColumnKey, entries: &[Entry], form: Form) -> Result<bool> {
    let name = format!("{}:{}\t", column.family, to_string_binary(&column.qualifier));
    for entry in entries.iter().take(form.limit as usize) {
        match (form.json, form.names) {
            (true, _) => print_json(output, entry, form.names.then_some(column))?,
            (false, true) => output.line(&(name.clone() + &line(entry)))?,
            (false, false) => output.line(&line(entry))?,
        }
    }
    if entries.len() > form.limit as usize && form.limit == LOG_LIMIT {
        let name = to_string_binary(&column.qualifier);
        complain(&format!("{}:{name} has more than these {LOG_LIMIT}: ask for more with -n", column.family));
    }
    Ok(!entries.is_empty())
}

/// Of a column, what reads show and all that is stored: newest first; a tombstone before what it covers.
fn entries(mut shown: BTreeMap<Timestamp, CellInfo>, stored: impl Iterator<Item = Cell>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for cell in stored {
        let timestamp = cell.timestamp;
        match cell.kind {
            CellKind::Tombstone(kind) => {
                entries.push(Entry { timestamp, state: State::Tombstone(kind.name()), info: None });
            }
            // Of several puts of one timestamp the last counts, and it comes first.
            CellKind::Put => match shown.remove(&timestamp) {
                Some(info) => entries.push(version(info)),
                None if entries.last().is_some_and(|last| last.timestamp == timestamp && last.info.is_some()) => {}
                None => entries.push(Entry { timestamp, state: State::Hidden, info: None }),
            },
        }
    }
    // What was written between the two looks.
    entries.extend(shown.into_values().map(version));
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.timestamp), entry.info.is_some()));
    entries
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

/// All that is stored of the columns of a range, without values: puts and tombstones, those of the family where it has the
/// empty column.
fn stored(
    backend: &dyn Backend,
    family: &FamilyPlace,
    range: (&[u8], &[u8]),
    limit: u32,
    take: &mut dyn FnMut(&Cell),
) -> Result<()> {
    let mut scan = Scan::all(family.table.clone());
    scan.start.clone_from(&family.row);
    scan.stop = behind(&family.row);
    let (first, end) = (quoted(range.0), quoted(range.1));
    let only = [b"ColumnRangeFilter(", first.as_slice(), b", true, ", &end, b", false) AND KeyOnlyFilter()"].concat();
    scan.read = ReadSpec {
        columns: [(family.family.clone(), None)].into(),
        max_versions: limit,
        filter: Some(only),
        raw: true,
        ..ReadSpec::default()
    };
    backend.scan_pieces(&scan, &mut |piece| {
        if let Piece::Cell(cell) = piece {
            take(cell);
        }
        Ok(())
    })
}

/// The tombstones of a family.
fn markers(backend: &dyn Backend, family: &FamilyPlace, limit: u32) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    stored(backend, family, (&[], &behind(&[])), limit, &mut |cell| {
        if is_of_family(cell) {
            cells.push(cell.clone());
        }
    })?;
    Ok(cells)
}

/// What counts for a column: the tombstones of its family, and its own cells.
fn of_column(markers: &[Cell], own: Vec<Cell>) -> impl Iterator<Item = Cell> {
    markers.iter().cloned().chain(own.into_iter().filter(|cell| !is_of_family(cell)))
}

/// The first key, or qualifier, behind one.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
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
