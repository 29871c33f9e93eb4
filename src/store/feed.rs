//! The change feed: records of the log once more, in the order of their numbers, as far as they are on the disk. A change
//! that a power cut could take back is told to nobody.
//!
//! The log reaches back to the last flush, and beyond it by what the setting `changes_retain` keeps. Where that says
//! nothing, what is flushed while somebody follows stays for a while: a follower reads it a moment later.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine::Engine;
use crate::backend::{Change, ChangesPage, ChangesQuery, Committed};
use crate::env::EnvFile;
use crate::log::{FoundCell, HEADER, Record, Tail, Walk, header_of, list_past, past_path};
use crate::model::{Catalogue, FamilyId, SeqNo, TableName};
use crate::{Error, ErrorKind, Result};

/// Bytes of a page's keys and values, about: one record may have more.
const PAGE_BYTES: u64 = 1 << 20;
/// Bytes of the log that a page looks at, about.
const LOOK_BYTES: u64 = 16 << 20;

/// How often a page is begun anew because a file of it went meanwhile.
const TRIES: usize = 8;

/// A file that has records.
struct Source {
    number: u64,
    path: PathBuf,
    /// Of what counts; `None`: its whole length.
    end: Option<u64>,
    before: SeqNo,
    /// What it has beyond this number is in a later file.
    upto: SeqNo,
}

/// What of the log belongs to a query, and under which names.
struct Names<'q> {
    query: &'q ChangesQuery,
    families: rustc_hash::FxHashMap<FamilyId, (TableName, String)>,
}

impl<'q> Names<'q> {
    fn new(query: &'q ChangesQuery, catalogue: &Catalogue) -> Self {
        let tables = catalogue.tables.values().filter(|table| query.table.as_ref().is_none_or(|of| of == &table.name));
        let families = tables
            .flat_map(|table| {
                table.families.values().map(|family| (family.id, (table.name.clone(), family.name.clone())))
            })
            .collect();
        Self { query, families }
    }

    fn change(&self, cell: FoundCell) -> Option<Change> {
        let (table, family) = self.families.get(&cell.family)?;
        let of = |(wanted, qualifier): &(String, Option<Vec<u8>>)| {
            // A tombstone of the family is about each of its columns.
            let is_all = cell.kind.is_family_tombstone();
            wanted == family && (is_all || qualifier.as_ref().is_none_or(|of| *of == cell.qualifier))
        };
        let is_wanted = self.query.row.as_ref().is_none_or(|row| *row == cell.row)
            && cell.row.starts_with(&self.query.row_prefix)
            && (self.query.columns.is_empty() || self.query.columns.iter().any(of));
        is_wanted.then(|| Change {
            table: table.clone(),
            family: family.clone(),
            timestamp: cell.timestamp,
            kind: cell.kind,
            ttl_ms: cell.tags.ttl_ms,
            deleted_at: cell.tags.ended_at,
            len: cell.root.unwrap_or(cell.value.len() as u64),
            value: cell.root.is_none().then_some(cell.value),
            row: cell.row,
            qualifier: cell.qualifier,
        })
    }

    fn committed(&self, record: Record) -> Option<Committed> {
        let changes: Vec<Change> = record.cells.into_iter().filter_map(|cell| self.change(cell)).collect();
        (!changes.is_empty()).then_some(Committed { seq: record.seq, changes })
    }
}

fn bytes_of(committed: &Committed) -> u64 {
    let of = |change: &Change| change.row.len() + change.qualifier.len() + change.value.as_ref().map_or(0, Vec::len);
    committed.changes.iter().map(|change| of(change) as u64 + 64).sum()
}

/// See [`crate::backend::Backend::changes`].
pub fn changes(engine: &Engine, query: &ChangesQuery) -> Result<ChangesPage> {
    engine.followers.note_asked(engine.now());
    for _ in 0..TRIES {
        if let Some(page) = changes_now(engine, query)? {
            return Ok(page);
        }
    }
    let dir = engine.options.path.join("log");
    Err(Error::new(ErrorKind::Corrupt, format!("{}: files of the log are gone; run `cellfs check`", dir.display())))
}

/// `None`: a file that it needs is covered meanwhile, and nobody wants to keep it.
fn changes_now(engine: &Engine, query: &ChangesQuery) -> Result<Option<ChangesPage>> {
    // Order: before the files are looked at, so that they have all up to it.
    let limit = engine.log.synced_record();
    let sources = sources(engine)?;
    let gone = sources.first().map_or(engine.log.written(), |first| first.before);
    let names = Names::new(query, &engine.catalogue.load());
    let after = query.after.max(gone);
    let mut page = ChangesPage { upto: after, gone, ..ChangesPage::default() };
    let (mut at, mut offset) = place_of(engine, &sources, after);
    let (mut looked, mut given) = (0, 0);
    while let Some(source) = sources.get(at) {
        let Some(mut tail) = tail_of(engine, source, offset)? else { return Ok(None) };
        let mut is_over = false;
        while let Some(record) = next_of(engine, &mut tail, source, page.upto)? {
            // A bulk load, whose cells are in no record: told by itself.
            let is_load = record.cells.is_empty();
            let is_full = given >= PAGE_BYTES
                || looked + tail.offset - offset >= LOOK_BYTES
                || is_load && !page.committed.is_empty();
            if record.seq > limit || is_full {
                (tail.offset, is_over, page.is_last) = (record.offset, true, !is_full);
                break;
            }
            if record.seq > page.upto {
                page.upto = record.seq;
                if is_load {
                    page.gone = record.seq;
                }
                if let Some(committed) = names.committed(record) {
                    given += bytes_of(&committed);
                    page.committed.push(committed);
                }
            }
        }
        engine.followers.note_place(page.upto, (source.number, tail.offset));
        if is_over {
            return Ok(Some(page));
        }
        looked += tail.offset - offset;
        (at, offset) = (at + 1, HEADER);
    }
    page.is_last = true;
    Ok(Some(page))
}

/// All files of the log and of its past, in the order of their records.
fn sources(engine: &Engine) -> Result<Vec<Source>> {
    let dir = engine.options.path.join("log");
    // Order: what is retired meanwhile is found under one name or the other.
    let written = engine.log.written_files();
    let past = list_past(&*engine.options.env, &dir)?.into_iter();
    let past = past.map(|number| (number, past_path(&dir, number), None));
    let mut all: Vec<_> = past.chain(written.into_iter().map(|file| (file.number, file.path, file.end))).collect();
    all.sort_by_key(|(number, ..)| *number);
    all.dedup_by_key(|(number, ..)| *number);
    let mut sources = Vec::with_capacity(all.len());
    for (number, path, end) in all {
        match before(engine, number, &path)? {
            Some(before) => sources.push(Source { number, path, end, before, upto: SeqNo(u64::MAX) }),
            // What it had is gone, and with it all that was before.
            None => sources.clear(),
        }
    }
    let mut upto = SeqNo(u64::MAX);
    for source in sources.iter_mut().rev() {
        source.upto = upto;
        upto = upto.min(source.before);
    }
    // A power cut may bring back one whose records are in a later file.
    sources.retain(|source| source.before < source.upto);
    Ok(sources)
}

/// The number that a file's records come after; `None`: the file, or its head, is gone.
fn before(engine: &Engine, number: u64, path: &Path) -> Result<Option<SeqNo>> {
    if let Some(before) = engine.followers.before(number) {
        return Ok(Some(before));
    }
    let Some(file) = open_source(engine, number, path)? else { return Ok(None) };
    let before = match header_of(&*file, number, engine.structure.store())? {
        Some(header) => Some(header.before),
        // A power cut has left records without it.
        None => walk_file(engine, &*file, number, None)?.map(|walk| walk.header.before),
    };
    if let Some(before) = before {
        engine.followers.note_before(number, before);
    }
    Ok(before)
}

/// A file of the log under the name that it has now; `None`: under none.
fn open_source(engine: &Engine, number: u64, path: &Path) -> Result<Option<Arc<dyn EnvFile>>> {
    let (env, past) = (&*engine.options.env, past_path(&engine.options.path.join("log"), number));
    for path in [path, &past] {
        match env.open(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            opened => return opened.map(Some).map_err(|e| Error::io(format!("open {}", path.display()), &e)),
        }
    }
    Ok(None)
}

/// The records of a file from an offset on; `None`: it is gone.
fn tail_of(engine: &Engine, source: &Source, offset: u64) -> Result<Option<Tail>> {
    let Some(file) = open_source(engine, source.number, &source.path)? else { return Ok(None) };
    let len = || file.len().map_err(|e| Error::io(format!("measure {}", source.path.display()), &e));
    let end = source.end.map_or_else(len, Ok)?;
    Ok(Some(Tail::new(file, source.number, *engine.structure.store(), offset, end)))
}

/// The next record of a file that counts; `upto`: what was looked at by now.
fn next_of(engine: &Engine, tail: &mut Tail, source: &Source, upto: SeqNo) -> Result<Option<Record>> {
    match tail.next_record() {
        Ok(record) => Ok(record.filter(|record| record.seq <= source.upto)),
        // What a crash has left behind what counts.
        Err(e) if e.kind == ErrorKind::Corrupt && !has_more(engine, source, upto)? => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether a file, which is damaged, has a record that counts behind a number, whole or not. Not every number has one.
fn has_more(engine: &Engine, source: &Source, upto: SeqNo) -> Result<bool> {
    if upto.max(source.before) >= source.upto {
        return Ok(false);
    }
    let Some(file) = open_source(engine, source.number, &source.path)? else { return Ok(true) };
    let Some(mut walk) = walk_file(engine, &*file, source.number, source.end)? else { return Ok(true) };
    let mut numbers = std::iter::from_fn(|| walk.next_found()).map(|found| match found {
        Ok(record) => Some(record.seq),
        Err(damage) => damage.seq,
    });
    // What nobody can tell the number of is torn: of what was synced a head is left.
    Ok(numbers.any(|seq| seq.is_some_and(|seq| upto < seq && seq <= source.upto)))
}

/// All that can be read of a file. Memory: a file of the log.
fn walk_file<'e>(engine: &'e Engine, file: &dyn EnvFile, number: u64, end: Option<u64>) -> Result<Option<Walk<'e>>> {
    let failed = |e: std::io::Error| Error::io(format!("read log file {number}"), &e);
    let len = end.map_or_else(|| file.len().map_err(failed), Ok)?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    Walk::of(bytes, number, engine.structure.store())
}

/// The file, and the offset in it, from which on all records after a number are.
fn place_of(engine: &Engine, sources: &[Source], after: SeqNo) -> (usize, u64) {
    let known = engine.followers.place_of(after).and_then(|(number, offset)| {
        let at = sources.iter().position(|source| source.number == number)?;
        sources[at].end.is_none_or(|end| offset <= end).then_some((at, offset))
    });
    known.unwrap_or_else(|| {
        let at = sources.iter().rposition(|source| source.before <= after);
        (at.unwrap_or(0), HEADER)
    })
}
