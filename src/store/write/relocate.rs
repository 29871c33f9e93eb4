//! Renaming a row or a family of a row: all its versions in one atomic batch.

use crate::backend::{Directory, Event};
use crate::format::key;
use crate::model::{
    CellKind, DeleteKind, DeleteMarker, FamilyRules, FamilySchema, Mutation, Origin, Qualifier, Tags, Time, Timestamp,
    Value, check_row,
};
use crate::store::engine::values::INLINE;
use crate::store::engine::{Engine, family};
use crate::store::plan::batch::RowCell;
use crate::store::plan::planned;
use crate::store::plan::planned::Planned;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::secondary::constraint::Judged;
use crate::store::space::backlog;
use crate::store::write::apply;
use crate::visibility::{FamilyReader, ReadRules, View, VisibleCell, keeps_fewer, past_family_ttl};
use crate::{Error, ErrorKind, Result};

/// Most cells and most bytes of values that move in one step.
const CELLS_MAX: usize = 100_000;
const BYTES_MAX: u64 = 64 << 20;
/// Bytes that move of a value in chunks, at most about.
const ROOT: u64 = 5 << 10;

/// Moves everything that a directory shows, newest versions and history, to another one of the same level; whether there
/// was anything.
///
/// `CrossDevice` where it is too large for one batch, or where the target could not show it.
pub fn rename_directory(engine: &Engine, from: &Directory, to: &Directory, origin: Origin) -> Result<bool> {
    check_row(&to.row)?;
    engine.log.check_poison()?;
    backlog::make_room(engine, false)?;
    let declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let from_table = apply::writable(engine.table(&catalogue, &from.table)?)?;
    let to_table = apply::writable(engine.table(&catalogue, &to.table)?)?;
    let locks = engine.row_locks.lock_two((from_table, &from.row), (to_table, &to.row));
    let (view, now) = (Lazily::of(engine), engine.now());
    let planner = Planner { engine, view, table: from_table, row: &from.row, now, least: Timestamp::ZERO };
    let names: Vec<&String> = from.family.as_ref().map_or_else(|| from_table.families.keys().collect(), |f| vec![f]);
    let mut cells = Vec::new();
    let mut markers = Vec::new();
    for name in names {
        let (before, mut lives) = (cells.len(), Lives::default());
        let source = family(from_table, name)?;
        let target = family(to_table, to.family.as_ref().unwrap_or(name));
        for visible in everything(engine, &planner, source)? {
            // Not EXDEV: copying would end half-way.
            let target = target.as_ref().map_err(|e| Error::new(ErrorKind::NotPermitted, &*e.message))?;
            if visible.deleted_at.is_none() {
                lives.check(&visible, (&source.rules, &target.rules), now)?;
            }
            cells.push(RowCell { table: to_table, row: &to.row, cell: moved(visible, target, now) });
        }
        if cells.len() > before {
            check_target(engine, &planner, target?, to)?;
            let kind = DeleteKind::Family { family: name.clone() };
            markers.push(DeleteMarker { kind, time: Time::AfterNewest, erases: true });
        }
    }
    check_size(&cells)?;
    if cells.is_empty() {
        return Ok(false);
    }
    let plan = planner.plan(vec![Mutation::Delete(markers)])?;
    cells.extend(plan.cells.into_iter().map(|cell| RowCell { table: from_table, row: &from.row, cell }));
    let ttl = cells.iter().find_map(|cell| planned::first_ttl(engine, to_table, std::slice::from_ref(&cell.cell)));
    let (seq, _) = apply::commit(&planner.view, cells.into_iter(), Judged::Newest, None)?;
    drop((locks, declared));
    apply::settle(engine, seq, apply::durability(engine, to_table).max(apply::durability(engine, from_table)))?;
    let event =
        |of: &Directory| Event::Row { table: of.table.clone(), row: of.row.clone(), family: of.family.clone(), origin };
    engine.subscribers.announce(&[event(from), event(to)]);
    engine.subscribers.announce(ttl.as_slice());
    Ok(true)
}

/// Live and kept versions of a row and family; one more than may move at the most.
fn everything(engine: &Engine, planner: &Planner<'_>, family: &FamilySchema) -> Result<Vec<VisibleCell>> {
    let prefix = key::row_prefix(planner.row);
    let mut cursor = engine.row_cursor(&planner.view, family.id, &prefix, 1024)?;
    let plain = ReadRules::plain(&family.rules, planner.now);
    let rules = ReadRules { max_versions: u32::MAX, view: View::WithKept, ..plain };
    let mut reader = FamilyReader::new(cursor.row(prefix), rules);
    let mut found = Vec::new();
    while found.len() <= CELLS_MAX
        && let Some(visible) = reader.next()?
    {
        found.push(visible);
    }
    Ok(found)
}

/// The live versions of a column, newest first: all of them are to live at the target.
#[derive(Default)]
struct Lives {
    column: Option<Qualifier>,
    count: u32,
}

impl Lives {
    fn check(&mut self, next: &VisibleCell, (from, to): (&FamilyRules, &FamilyRules), now: Timestamp) -> Result<()> {
        if self.column.as_ref() != Some(&next.cell.qualifier) {
            *self = Self { column: Some(next.cell.qualifier.clone()), count: 0 };
        }
        self.count += 1;
        if past_family_ttl(to, next.cell.timestamp, now) {
            let text = "what is moved is older than the TTL of its family at the target, and would be gone at once";
            return Err(cross(text));
        }
        if self.count > to.versions && keeps_fewer(to, from) {
            return Err(cross("a file has more versions than its family at the target keeps, and would lose them"));
        }
        Ok(())
    }
}

/// In classic families a tombstone at the target would hide what arrives.
fn check_target(engine: &Engine, planner: &Planner<'_>, target: &FamilySchema, to: &Directory) -> Result<()> {
    if target.rules.new_version_behavior {
        return Ok(());
    }
    let prefix = key::row_prefix(&to.row);
    let mut cursor = engine.row_cursor(&planner.view, target.id, &prefix, 4)?;
    let rules = ReadRules { view: View::Raw, ..ReadRules::plain(&target.rules, planner.now) };
    match FamilyReader::new(cursor.row(prefix), rules).next()? {
        Some(_) => Err(cross("tombstones at the target would hide what is moved")),
        None => Ok(()),
    }
}

/// The same version at the target, sharing its bytes.
fn moved<'a>(visible: VisibleCell, target: &'a FamilySchema, now: Timestamp) -> Planned<'a> {
    let family = &target.rules;
    let (qualifier, timestamp) = (visible.cell.qualifier.clone(), visible.cell.timestamp);
    let ended_at = visible.deleted_at;
    let info = crate::visibility::version_info(visible, family, now);
    let tags = Tags {
        file: info.tags.file.clone(),
        ttl_ms: info.tags.ttl_ms,
        ended_at,
        written_at: if ended_at.is_some() { Some(now) } else { info.tags.written_at },
        ..Tags::default()
    };
    Planned { family: target, qualifier, timestamp, kind: CellKind::Put, tags, value: Value::Shared(info) }
}

fn check_size(cells: &[RowCell<'_>]) -> Result<()> {
    let moves = |len: u64| if len > INLINE { ROOT } else { len };
    let bytes: u64 = cells.iter().map(|cell| moves(cell.cell.value.len())).sum();
    if cells.len() > CELLS_MAX || bytes > BYTES_MAX {
        let text = format!(
            "more than {CELLS_MAX} versions or {BYTES_MAX} bytes of small values do not move in one step; `cellfs mv \
             STORE FROM TO` moves them in parts, with their history"
        );
        return Err(cross(&text));
    }
    Ok(())
}

fn cross(text: &str) -> Error {
    Error::new(ErrorKind::CrossDevice, format!("{text}; `mv` then copies and removes"))
}
