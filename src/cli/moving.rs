//! mv: moves what is too large for one step, with its history, in parts.
//!
//! A part is copied and synced before it is erased at its old place: whenever the process or the machine ends, each
//! cell is at the one place, at the other, or at both with the same versions. A second run goes on. A column that is
//! written meanwhile is copied again: what was not copied is never erased.

use std::path::Path;
use std::sync::Arc;

use super::Answer;
use super::args::MvArgs;
use super::moved_name;
use super::path::{named, resolve_present};
use super::progress::Progress;
use crate::backend::{Backend, Directory, HistoryFrom, Versions};
use crate::daemon::{Absent, check_writable, open_backend};
use crate::fs::{Beyond, Content};
use crate::model::{
    CatalogueChange, CellInfo, ColumnKey, Mutation, Origin, PutCell, Qualifier, RowMutations, SeqNo, TableName, Time,
    TimeRange, Value,
};
use crate::tree::place::{FamilyPlace, Place, RowPlace, family_of};
use crate::{Error, ErrorKind, Result};

/// Versions that are looked at at once.
pub(super) const PAGE: usize = 2000;
/// Times that a column is copied while others write it.
pub(super) const TRIES: u32 = 100;
/// Bytes of names and values that are copied at once; a single value may be larger,
const BATCH_BYTES: u64 = 16 << 20;
/// and is read in pieces of so many.
const PIECE: usize = 1 << 20;

/// Why a directory is not moved in one step: it is too large, has what was never judged by a check of now, or gets a name
/// of which the mount shows an empty directory.
const PARTED: [ErrorKind; 4] = [ErrorKind::CrossDevice, ErrorKind::Refused, ErrorKind::Constraint, ErrorKind::NotEmpty];

/// What moves where: `STORE FROM TO`, or two paths of one mount.
fn places(args: &MvArgs) -> Result<(Arc<dyn Backend>, Place, Place)> {
    let Some(to) = &args.to else {
        let ((_, backend, from), (_, other, to)) =
            (resolve_present(&args.store)?, resolve_present(Path::new(&args.from))?);
        if backend.hash_key() != other.hash_key() {
            let text = "the two paths are in different stores; copy what is to move, and remove it";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        check_writable(Path::new(&args.from))?;
        return Ok((backend, from, to));
    };
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let from = named(&backend, Path::new(&args.from))?;
    let to = named(&backend, Path::new(to))?;
    Ok((backend, from, to))
}

pub fn mv(args: &MvArgs) -> Result<Answer> {
    let (backend, from, to) = places(args)?;
    let target = args.to.as_ref().unwrap_or(&args.from);
    if from == to {
        return Err(Error::new(ErrorKind::IllegalArgument, "both names stand for the same place"));
    }
    let is_cluster = backend.cluster_numbers().map_or(true, |numbers| numbers.is_some());
    let mover = Mover {
        backend: Arc::clone(&backend),
        resume: args.resume,
        is_cluster,
        progress: Progress::counting("versions"),
    };
    match (&from, &to) {
        (Place::Table(one), Place::Table(other)) => mover.table(one, other)?,
        (Place::Row(one), Place::Row(other)) => mover.row(one, other)?,
        (Place::Family(one), Place::Family(other)) => {
            mover.check(&one.table, &other.table)?;
            mover.check_constraints(&other.table, &other.family)?;
            mover.refuse_present(!mover.history(other, None, 1)?.is_empty(), target)?;
            let ends = [&one, &other].map(|place| directory(&place.row_place(), Some(&place.family)));
            mover.directory(&ends[0], &ends[1], || mover.family(one, other))?;
        }
        (Place::Cell(one), Place::Cell(other)) => {
            mover.check(&one.table, &other.table)?;
            mover.check_constraints(&other.table, &other.family)?;
            let present = mover.backend.list_versions(other, Versions::LiveAndKept, None, 1)?;
            mover.refuse_present(!present.is_empty(), target)?;
            mover.found(mover.cell(one, other)?)?;
        }
        _ => {
            let text = "a table moves to a table, a row to a row, a family of a row to one, a cell to a cell; a name with \
                        a namespace before it is a table's only where that namespace is declared";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
    }
    moved_name::look_up(&args.store, backend, to);
    Ok(Answer::Yes)
}

fn directory(row: &RowPlace, family: Option<&str>) -> Directory {
    Directory { table: row.table.clone(), row: row.row.clone(), family: family.map(str::to_owned) }
}

/// A column that was copied whole, and the sequence number of its last put.
type Copied = (Qualifier, SeqNo);

pub(super) struct Mover {
    pub(super) backend: Arc<dyn Backend>,
    resume: bool,
    /// It restores no deleted versions as such.
    is_cluster: bool,
    pub(super) progress: Progress,
}

impl Mover {
    /// A change of the catalogue, however large the table is.
    fn table(&self, from: &TableName, to: &TableName) -> Result<()> {
        let change = CatalogueChange::RenameTable { from: from.clone(), to: to.clone() };
        self.backend.alter(change, Origin::default())
    }

    fn row(&self, from: &RowPlace, to: &RowPlace) -> Result<()> {
        self.check(&from.table, &to.table)?;
        let families =
            |row: &RowPlace| self.backend.list_families(&row.table, &row.row, TimeRange::ALL, Versions::LiveAndKept);
        self.refuse_present(!families(to)?.is_empty(), std::ffi::OsStr::new("the target row"))?;
        let of = |row: &RowPlace, family: &str| FamilyPlace {
            table: row.table.clone(),
            row: row.row.clone(),
            family: family.to_owned(),
        };
        // Within a table a row takes along what was judged.
        let check = |family: &String| match from.table == to.table {
            true => Ok(()),
            false => self.check_constraints(&to.table, family),
        };
        families(from)?.iter().try_for_each(check)?;
        self.directory(&directory(from, None), &directory(to, None), || {
            let mut moved = 0;
            for family in families(from)? {
                check(&family)?;
                moved += self.family(&of(from, &family), &of(to, &family))?;
            }
            Ok(moved)
        })
    }

    /// In one step, or by `parts`.
    fn directory(&self, from: &Directory, to: &Directory, parts: impl Fn() -> Result<u64>) -> Result<()> {
        if !self.resume && !self.is_cluster {
            match self.backend.rename_directory(from, to, Origin::default()) {
                Err(e) if PARTED.contains(&e.kind) => {}
                moved => return self.found(u64::from(moved?)),
            }
        }
        let mut moved = 0;
        for _ in 0..TRIES {
            moved += parts()?;
            self.found(moved)?;
            // Files that were open have left something, or it is used again already.
            if self.backend.leave(from, to)? {
                return Ok(());
            }
        }
        let text = "what moves is being written all the time, and some of it is where it was; end its writers, then mv --resume";
        Err(Error::new(ErrorKind::Refused, text))
    }

    /// Both tables must take writes: a restore would pass by READONLY.
    fn check(&self, from: &TableName, to: &TableName) -> Result<()> {
        let catalogue = self.backend.catalogue()?;
        for name in [from, to] {
            if catalogue.tables.get(name).is_some_and(|table| table.read_only()) {
                let text = format!("table {name} is READONLY; alter it to move cells from it or into it");
                return Err(Error::new(ErrorKind::ReadOnlyTable, text));
            }
        }
        Ok(())
    }

    /// Refuses a family with constraints: what is copied with its history passes by them.
    fn check_constraints(&self, table: &TableName, family: &str) -> Result<()> {
        let catalogue = self.backend.catalogue()?;
        let of = catalogue.tables.get(table).and_then(|table| table.families.get(family));
        if of.is_some_and(|family| !family.constraints.is_empty()) {
            let text = format!(
                "family {family} of table {table} has checks, which this move would not ask: rename it in the mount, \
                 which does, or copy what is newest (cp -r) and delete the rest here"
            );
            return Err(Error::new(ErrorKind::Refused, text));
        }
        Ok(())
    }

    fn refuse_present(&self, present: bool, shown: &std::ffi::OsStr) -> Result<()> {
        if present && !self.resume {
            let text = format!(
                "{} exists; choose another name. If a move to it was interrupted, go on with --resume",
                shown.to_string_lossy()
            );
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        Ok(())
    }

    fn found(&self, moved: u64) -> Result<()> {
        if moved == 0 && !self.resume {
            return Err(Error::new(ErrorKind::NotFound, "there is nothing at the place to move from"));
        }
        Ok(())
    }

    pub(super) fn history(
        &self,
        of: &FamilyPlace,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.backend.list_history(&of.table, &of.row, &of.family, from, limit)
    }

    /// Moves all columns; how many versions that were.
    fn family(&self, from: &FamilyPlace, to: &FamilyPlace) -> Result<u64> {
        if self.is_cluster {
            return self.family_on_cluster(from, to);
        }
        self.check_kept(from, to)?;
        let (mut at, mut open, mut moved) = (None, None::<Copied>, 0);
        loop {
            let page = self.history(from, at.as_ref(), PAGE)?;
            let ended = page.len() < PAGE;
            let mut done = Vec::new();
            for (qualifier, cell) in &page {
                match &mut open {
                    Some((same, last)) if same == qualifier => *last = cell.seq.max(*last),
                    _ => done.extend(open.replace((qualifier.clone(), cell.seq))),
                }
            }
            if ended {
                done.extend(open.take());
            }
            self.copy(from, to, &page)?;
            self.erase(from, to, done)?;
            moved += page.len() as u64;
            match page.last() {
                Some((qualifier, cell)) if !ended => {
                    at = Some(HistoryFrom { qualifier: qualifier.clone(), before: Some(cell.timestamp) });
                }
                _ => return Ok(moved),
            }
        }
    }

    /// Moves one column.
    fn cell(&self, from: &ColumnKey, to: &ColumnKey) -> Result<u64> {
        if self.is_cluster {
            return self.cell_on_cluster(from, to);
        }
        self.check_column_kept(from, to)?;
        let mut moved = 0;
        for _ in 0..TRIES {
            let (versions, last) = self.copy_column(from, to)?;
            moved += versions;
            if versions > 0 {
                self.backend.sync()?;
            }
            // Of a file that was never committed there is something from then on.
            if self.erase_column(from, to, (versions > 0).then_some(last))? {
                return Ok(moved);
            }
        }
        let shown = String::from_utf8_lossy(&from.qualifier);
        let text = format!("cell {shown} is being written all the time; end its writers, then mv --resume");
        Err(Error::new(ErrorKind::Refused, text))
    }

    /// Copies one column: versions, and the sequence number of the last that was put.
    fn copy_column(&self, from: &ColumnKey, to: &ColumnKey) -> Result<(u64, SeqNo)> {
        let (mut before, mut copied, mut last) = (None, 0, SeqNo(0));
        loop {
            let page = self.backend.list_versions(from, Versions::LiveAndKept, before, PAGE)?;
            let named: Vec<_> = page.iter().map(|cell| (to.qualifier.clone(), cell.clone())).collect();
            self.copy(&family_of(from), &family_of(to), &named)?;
            copied += page.len() as u64;
            last = page.iter().map(|cell| cell.seq).fold(last, SeqNo::max);
            before = page.last().map(|cell| cell.timestamp);
            if page.len() < PAGE {
                return Ok((copied, last));
            }
        }
    }

    /// Puts versions at the target as they are; those that are there already are put again.
    fn copy(&self, from: &FamilyPlace, to: &FamilyPlace, cells: &[(Qualifier, CellInfo)]) -> Result<()> {
        self.check_lives(to, cells)?;
        let mut rest = cells;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(qualifier, cell): &&(Qualifier, CellInfo)| {
                bytes += cell.len() + qualifier.len() as u64;
                bytes <= BATCH_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (batch, later) = rest.split_at(count);
            let mutations = batch.iter().map(|(qualifier, cell)| self.restored(to, qualifier, cell));
            let mutations =
                mutations.collect::<Result<Vec<_>>>().map_err(|e| e.context(format!("move {}", from.table)))?;
            self.put(to, mutations)?;
            self.progress.add(count as u64);
            rest = later;
        }
        Ok(())
    }

    fn restored(&self, to: &FamilyPlace, qualifier: &Qualifier, cell: &CellInfo) -> Result<Mutation> {
        Ok(Mutation::Restore(Box::new(PutCell {
            family: to.family.clone(),
            qualifier: qualifier.clone(),
            time: Time::At(cell.timestamp),
            value: copied(self.backend.as_ref(), (&to.table, &to.family), cell)?,
            ttl_ms: cell.tags.ttl_ms,
            file: cell.tags.file.clone(),
            ended_at: cell.deleted_at,
        })))
    }

    fn put(&self, at: &FamilyPlace, mutations: Vec<Mutation>) -> Result<()> {
        let (table, row, origin) = (at.table.clone(), at.row.clone(), Origin::default());
        let mutations = RowMutations { table, row, mutations, durability: None, origin };
        self.backend.mutate(mutations, None).map(drop)
    }

    /// Erases columns of which every version is at the target.
    fn erase(&self, from: &FamilyPlace, to: &FamilyPlace, columns: Vec<Copied>) -> Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        // Order: on the disk at the target before it goes at the source.
        self.backend.sync()?;
        for (qualifier, last) in columns {
            let (one, other) = (from.column(qualifier.clone()), to.column(qualifier));
            if !self.erase_column(&one, &other, Some(last))? {
                self.cell(&one, &other)?;
            }
        }
        Ok(())
    }

    /// Erases a column unless something was put into it after `last`; whether it did.
    pub(super) fn erase_column(&self, from: &ColumnKey, to: &ColumnKey, last: Option<SeqNo>) -> Result<bool> {
        let newest = self.backend.newest(from, TimeRange::ALL)?;
        if newest.as_ref().is_some_and(|cell| last.is_none_or(|last| cell.seq > last)) {
            return Ok(false);
        }
        self.check_shown(newest, to)?;
        self.backend.erase_copied(from, to, last)
    }

    /// A tombstone at the target may hide what was copied there: then nothing is erased.
    fn check_shown(&self, wanted: Option<CellInfo>, to: &ColumnKey) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        if self.backend.newest(to, TimeRange::ALL)?.is_some_and(|is| is.timestamp >= wanted.timestamp) {
            return Ok(());
        }
        let text = format!(
            "a tombstone in table {} hides what was moved there; run: cellfs compact --major STORE {}, then mv --resume",
            to.table, to.table
        );
        Err(Error::new(ErrorKind::Refused, text))
    }
}

/// The bytes of a version, for a family: few of them in memory.
pub(super) fn copied(backend: &dyn Backend, (table, family): (&TableName, &str), cell: &CellInfo) -> Result<Value> {
    let (draft, spill_dir) = (|| backend.draft(table, family, None), std::env::temp_dir());
    let beyond = Beyond { draft: &draft, spill_dir: &spill_dir };
    let mut content = Content::of_len(cell.len(), &beyond)?;
    while content.len() < cell.len() {
        let piece = backend.read_value(cell, content.len(), PIECE)?;
        if piece.is_empty() {
            return Err(Error::new(ErrorKind::Corrupt, "a stored value ends too early"));
        }
        content.write(content.len(), &piece, &beyond)?;
    }
    content.value()
}
