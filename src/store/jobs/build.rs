//! Building a secondary index of a table that has data, while writers go on.
//!
//! From the edit on that declares the index, every put writes its entry. The builder walks over what is stored, from a
//! view that is later than that, stores entries of it, and says so in the catalogue once they are on the disk. Many of
//! them go past the log, sorted, as extents. What stops in between begins anew: entries that are there already make no more
//! of them.

use std::collections::BTreeSet;

use crate::backend::Event;
use crate::format::key;
use crate::model::{
    Catalogue, CellInfo, CellKind, FamilySchema, IndexColumn, IndexSchema, IndexState, Origin, SeqNo, TableSchema,
    Tags, TimeRange, Value, to_string_binary,
};
use crate::store::catalogue::change::change_catalogue;
use crate::store::catalogue::index_states::index_with;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::Engine;
use crate::store::engine::values::INLINE;
use crate::store::extents::gathered;
use crate::store::extents::gathered::Gathered;
use crate::store::layout::far::FAR;
use crate::store::plan::batch::RowCell;
use crate::store::plan::planned::Planned;
use crate::store::plan::planner::Lazily;
use crate::store::read::lookup::read_reference;
use crate::store::read::point;
use crate::store::recover::rescue;
use crate::store::secondary::constraint::Judged;
use crate::store::secondary::entry::{CUT, TIME, cut, decode, entry_key};
use crate::store::secondary::unique::shown;
use crate::store::secondary::{stale, unique};
use crate::store::space::{backlog, room};
use crate::store::write::apply;
use crate::{Error, ErrorKind, Result};

/// Entries of a batch that goes through the log.
const BATCH: usize = 1000;
/// Of a memtable: so many bytes of entries go past it.
const PAST: u64 = 8;
/// Rows after which a new view is taken, so that memtables and files can go.
const ROWS: u64 = 4096;

/// Is given what entries have of the values that a row has in a column, and the row.
type TakeValues<'t> = &'t mut dyn FnMut(&BTreeSet<Vec<u8>>, &[u8]) -> Result<()>;

/// A table and one of its indexes, as they are in a catalogue.
fn to_build(catalogue: &Catalogue) -> Vec<(TableSchema, IndexSchema)> {
    let of = |table: &TableSchema| {
        let indexes = table.indexes.values().filter(|index| !index.columns.is_empty() && !index.is_complete());
        indexes.map(|index| (table.clone(), index.clone())).collect::<Vec<_>>()
    };
    catalogue.tables.values().flat_map(of).collect()
}

/// A table and its index as they are now, if the index is still there.
fn declared<'c>(
    catalogue: &'c Catalogue,
    (table, index): (&TableSchema, &IndexSchema),
) -> Option<(&'c TableSchema, &'c IndexSchema)> {
    let tables = catalogue.tables.values().filter(|now| now.id == table.id);
    let mut indexes = tables.flat_map(|now| now.indexes.values().map(move |index| (now, index)));
    indexes.find(|(_, now)| now.entries.id == index.entries.id)
}

fn overtaken() -> Error {
    Error::new(ErrorKind::Overtaken, "the index was changed or dropped while it was built")
}

/// Whether any index is to be built.
pub fn has_to_build(engine: &Engine) -> bool {
    let catalogue = engine.catalogue.load();
    let mut indexes = catalogue.tables.values().flat_map(|table| table.indexes.values());
    indexes.any(|index| !index.columns.is_empty() && !index.is_complete())
}

/// Builds all indexes that are not complete. One that cannot be built does not keep others from it.
pub fn build_indexes(engine: &Engine) -> Result<()> {
    let _one = engine.turns.index();
    let before = engine.signals.state.lock().unbuilt.clone();
    let mut failed = Ok(());
    for (table, index) in to_build(&engine.catalogue.load()) {
        let built = build(engine, &table, &index);
        engine.signals.state.lock().building = None;
        match built {
            // It is built as it is now, in the next round, or gone.
            Err(e) if e.kind == ErrorKind::Overtaken => {}
            Err(e) => failed = Err(e.context(format!("build index {} of table {}", index.name, table.name))),
            Ok(()) => {}
        }
    }
    let unbuilt = failed.as_ref().err().map(ToString::to_string);
    engine.signals.state.lock().unbuilt.clone_from(&unbuilt);
    if let Some(text) = unbuilt.filter(|text| before.as_ref() != Some(text)) {
        let (about, sentence) = ("a secondary index".to_owned(), format!("{text}; it is tried again by itself"));
        log::error!("{sentence}");
        engine.subscribers.announce(&[Event::Noted { about, sentence }]);
    }
    failed
}

fn build(engine: &Engine, table: &TableSchema, index: &IndexSchema) -> Result<()> {
    engine.log.check_poison()?;
    // Order: those that write by a catalogue without the index are done before anything is read.
    drop(engine.turns.declare());
    put_entries(engine, table, index)?;
    // Order: a catalogue that believes in entries is not on the disk before them, nor before it is known there that the
    // log had them: if it is damaged, they are no torn end.
    rescue::sync_log(engine)?;
    engine.progress.sync()?;
    let state = if index.unique { judge(engine, table, index)? } else { IndexState::Complete };
    let mut events = vec![Event::Table { table: table.name.clone(), origin: Origin(0) }];
    if let IndexState::Twofold(text) = &state {
        let (about, sentence) = (format!("index {} of table {}", index.name, table.name), not_unique(text));
        log::warn!("{about}: {sentence}");
        events.push(Event::Noted { about, sentence });
    }
    change_catalogue(engine, |catalogue, _| {
        let found = index_with(catalogue, index.entries.id);
        let found = found.filter(|now| now.columns == index.columns && now.unique == index.unique);
        found.ok_or_else(overtaken)?.state = state;
        catalogue.version += 1;
        Ok(events)
    })
}

/// Writes the entries of all that is stored in the indexed column.
fn put_entries(engine: &Engine, table: &TableSchema, index: &IndexSchema) -> Result<()> {
    let Some(column) = index.columns.first() else { return Ok(()) };
    let Some(family) = table.families.get(&column.family) else { return Ok(()) };
    let (mut from, mut passed) = (Vec::new(), 0);
    let mut entries = Gathered::default();
    let all = engine.view().rows_of_runs(family.id).max().unwrap_or(0).max(1);
    while let Some(next) = walk(engine, family, &column.qualifier, &from, &mut |values, row| {
        values.iter().for_each(|value| entries.hold(&index.entries, Tags::default(), &entry_key(value, row), &[]));
        if entries.is_full() {
            store_entries(engine, (table, index), &mut entries)?;
        }
        engine.go_on()
    })? {
        from = next;
        passed += ROWS;
        let text = format!("building index {} of {}: {} %", index.name, table.name, (passed * 100 / all).min(99));
        engine.signals.state.lock().building = Some(text);
    }
    store_entries(engine, (table, index), &mut entries)
}

/// Walks over [`ROWS`] rows of a family from a key on, and calls `take` for each with the values of a column; the key from which on the next ones are; `None`: these were the last.
fn walk(
    engine: &Engine,
    family: &FamilySchema,
    qualifier: &[u8],
    from: &[u8],
    take: TakeValues<'_>,
) -> Result<Option<Vec<u8>>> {
    let view = engine.view();
    let mut cursor = Cursor::new(&view, family.id, from, FAR, 1024)?;
    for _ in 0..ROWS {
        let Some(key) = cursor.key() else { return Ok(None) };
        let Some(len) = key::row_prefix_len(key) else { return Err(no_key()) };
        let prefix = key[..len].to_vec();
        let Some(row) = key::row_of(&prefix) else { return Err(no_key()) };
        let column = key::column_prefix(&prefix, qualifier);
        cursor.seek(&column)?;
        let mut values = BTreeSet::new();
        stale::each_first_bytes_at(engine, &view, &mut cursor, (&column, len), &mut |value| {
            values.insert(cut(value).to_vec());
            true
        })?;
        take(&values, &row)?;
        cursor.seek(&key::prefix_end(&prefix))?;
    }
    Ok(cursor.key().map(<[u8]>::to_vec))
}

/// Stores entries, and holds them no more.
fn store_entries(engine: &Engine, of: (&TableSchema, &IndexSchema), entries: &mut Gathered) -> Result<()> {
    entries.sort();
    if entries.held() as u64 >= engine.options.memtable_bytes / PAST {
        load_entries(engine, of, entries)?;
    } else {
        let keys: Vec<&[u8]> = entries.cells().map(|entry| entry.key).collect();
        keys.chunks(BATCH).try_for_each(|keys| write_entries(engine, of, keys).map(drop))?;
    }
    entries.clear();
    Ok(())
}

/// Stores entries as extents, with the number of the first of them, which goes through the log.
fn load_entries(engine: &Engine, (table, index): (&TableSchema, &IndexSchema), entries: &mut Gathered) -> Result<()> {
    let Some(first) = entries.pop_first() else { return Ok(()) };
    let seq = write_entries(engine, (table, index), &[&first])?;
    let is_declared = || declared(&engine.catalogue.load(), (table, index)).is_some();
    let room = entries.stored_bytes();
    let stored = engine.noted(room::with_room(engine, room, || {
        gathered::store_gathered(engine, entries, &|| Ok(seq), &is_declared)
    }))?;
    engine.wake(|state| state.compact = true);
    if stored { Ok(()) } else { Err(overtaken()) }
}

/// Writes the entries of these keys through the log, unless the index has changed; their number.
fn write_entries(engine: &Engine, of: (&TableSchema, &IndexSchema), keys: &[&[u8]]) -> Result<SeqNo> {
    backlog::make_room(engine, true)?;
    let _declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let (table, index) = declared(&catalogue, of).ok_or_else(overtaken)?;
    let parts = keys.iter().map(|key| key::decode(key).ok_or_else(no_key)).collect::<Result<Vec<_>>>()?;
    let cells = parts.iter().map(|parts| {
        let (qualifier, tags, value) = (parts.qualifier.clone(), Tags::default(), Value::Bytes(Vec::new()));
        let (family, timestamp, kind) = (&index.entries, TIME, CellKind::Put);
        RowCell { table, row: &parts.row, cell: Planned { family, qualifier, timestamp, kind, tags, value } }
    });
    apply::commit(&Lazily::of(engine), cells, Judged::Nothing, None).map(|(seq, _)| seq)
}

/// Whether values of a unique index that has all its entries are in one row each, and none is too long to be judged.
fn judge(engine: &Engine, table: &TableSchema, index: &IndexSchema) -> Result<IndexState> {
    // Order: writers that looked for others while entries were missing are done; later ones find them all.
    drop(engine.turns.declare());
    let (mut from, mut last): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
    loop {
        let view = engine.view();
        let mut cursor = Cursor::new(&view, index.entries.id, &from, FAR, 1024)?;
        let mut looked = 0;
        while let Some(key) = cursor.key() {
            looked += 1;
            if looked > ROWS {
                break;
            }
            let next = decode(key);
            let end = key::row_prefix_len(key).map(|len| key[..len].to_vec());
            if let (Some((value, row)), Some(end)) = (next, end) {
                // A long value has a whole entry; those of other columns have none.
                let may_be_long = value.len() == CUT || index.columns.len() > 1;
                if may_be_long && let Some(text) = too_long(engine, &view, (table, index), &row)? {
                    return Ok(IndexState::Twofold(text));
                }
                // One entry of a value shares it with nobody.
                let is_shared = last.replace(end.clone()) == Some(end);
                if is_shared && let Some(text) = twice(engine, &view, (table, index), &row)? {
                    return Ok(IndexState::Twofold(text));
                }
            }
            cursor.advance()?;
        }
        engine.go_on()?;
        match cursor.key() {
            Some(key) => from = key.to_vec(),
            None => return Ok(IndexState::Complete),
        }
    }
}

/// Whether a row that is in the index has a value that is longer than writers may put one, in a sentence.
fn too_long(
    engine: &Engine,
    view: &ReadView,
    (table, index): (&TableSchema, &IndexSchema),
    row: &[u8],
) -> Result<Option<String>> {
    let Some(cells) = newest_of(engine, view, (table, index), row)? else { return Ok(None) };
    let long = index.columns.iter().zip(&cells).find(|(_, cell)| cell.len() > INLINE);
    Ok(long.map(|(IndexColumn { family, qualifier }, cell)| {
        let (row, qualifier, len) = (to_string_binary(row), to_string_binary(qualifier), cell.len());
        format!(
            "row {row} has {len} bytes in {family}:{qualifier}: values of a unique index have at most {INLINE} bytes"
        )
    }))
}

/// What a row has in the columns of an index; `None`: not in all of them.
fn newest_of(
    engine: &Engine,
    view: &ReadView,
    (table, index): (&TableSchema, &IndexSchema),
    row: &[u8],
) -> Result<Option<Vec<CellInfo>>> {
    let newest = |column: &IndexColumn| {
        let Some(family) = table.families.get(&column.family) else { return Ok(None) };
        point::newest_in(engine, view, family, row, &column.qualifier, TimeRange::ALL)
    };
    index.columns.iter().map(newest).collect()
}

/// Whether a row shares its values with another, in a sentence.
fn twice(
    engine: &Engine,
    view: &ReadView,
    (table, index): (&TableSchema, &IndexSchema),
    row: &[u8],
) -> Result<Option<String>> {
    let Some(cells) = newest_of(engine, view, (table, index), row)? else { return Ok(None) };
    let read = |cell: &CellInfo| read_reference(engine, view, &cell.value, 0, INLINE as usize);
    let values = cells.iter().map(read).collect::<Result<Vec<_>>>()?;
    let other = unique::find_holder(engine, view, (table, index), &values, &|other| other != row)?;
    Ok(other.map(|other| {
        let (one, other) = if other.as_slice() < row { (other.as_slice(), row) } else { (row, other.as_slice()) };
        format!("rows {} and {} have {}", to_string_binary(one), to_string_binary(other), shown(&values))
    }))
}

/// What is to be said of an index that was declared unique over values that are not, or are too long.
fn not_unique(text: &str) -> String {
    format!(
        "it is to be unique, and {text}. Writes are judged from now on; once that is mended, make the index anew, or remove \
         its file `unique` and write it again"
    )
}

fn no_key() -> Error {
    Error::new(ErrorKind::Corrupt, "a stored cell has a key that is none")
}
