//! The tables that describe the others: hbase:meta and hbase:namespace, made of the catalogue and read as any table is.
//!
//! Their cells are a memtable of an engine that only reads. Memory: a few hundred bytes a region and namespace, and a
//! second catalogue; of the last change of the catalogue alone.

mod cells;

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::engine::Engine;
use super::memory::memtable::{MemCell, Memtable, Memtables};
use super::open::opening::{Reading, open_reading};
use crate::env::sync::Mutex;
use crate::format::key::put_cell_key;
use crate::model::{Catalogue, CatalogueChange, CellInfo, CellKind, SeqNo, TableName, Tags, ValueBytes, ValueRef};
use crate::{Error, ErrorKind, Result};

/// A catalogue, and the same with the tables of this module.
struct Shown {
    declared: Arc<Catalogue>,
    all: Arc<Catalogue>,
}

/// See the module.
pub struct System {
    engine: Engine,
    shown: ArcSwap<Shown>,
    /// Held by the one who makes the catalogue or the cells anew.
    filling: Mutex<()>,
}

impl System {
    /// Of the tables that an engine has.
    pub fn new(of: &Engine) -> Self {
        let engine = open_reading(of, Reading { stopped_at: of.clock.stopped_at(), ..Reading::default() });
        let declared = of.catalogue.load_full();
        Self { engine, shown: ArcSwap::from_pointee(Shown::new(declared)), filling: Mutex::new(()) }
    }

    /// The engine that reads the two tables as the catalogue is now. Their cells are made when somebody reads.
    pub fn engine(&self, declared: &ArcSwap<Catalogue>) -> &Engine {
        self.renew(declared);
        if !self.is_filled() {
            let _one = self.filling.lock();
            if !self.is_filled() {
                self.fill();
            }
        }
        &self.engine
    }

    fn is_filled(&self) -> bool {
        Arc::ptr_eq(&self.engine.catalogue.load(), &self.shown.load().all)
    }

    /// What is declared now, with the two tables.
    pub fn catalogue(&self, declared: &ArcSwap<Catalogue>) -> Arc<Catalogue> {
        self.renew(declared);
        Arc::clone(&self.shown.load().all)
    }

    fn renew(&self, declared: &ArcSwap<Catalogue>) {
        if Arc::ptr_eq(&declared.load(), &self.shown.load().declared) {
            return;
        }
        let _one = self.filling.lock();
        // Order: under the lock, so that no older one takes the place of a newer.
        let declared = declared.load_full();
        if !Arc::ptr_eq(&declared, &self.shown.load().declared) {
            self.shown.store(Arc::new(Shown::new(declared)));
        }
    }

    fn fill(&self) {
        let (shown, active) = (self.shown.load_full(), Memtable::default());
        cells::each(&shown.all, &mut |cell| {
            let column = (cell.row, cell.qualifier.as_bytes());
            let put_key = |out: &mut Vec<u8>| put_cell_key(out, column, (cell.timestamp, CellKind::Put, SeqNo(1)));
            active.insert(cell.family, MemCell::new(put_key, &Tags::default(), ValueBytes::Bytes(&cell.value)));
        });
        // Order: who finds the catalogue finds its cells.
        self.engine.take_memory(Memtables { active: Arc::new(active), frozen: Vec::new() });
        self.engine.catalogue.store(Arc::clone(&shown.all));
    }
}

impl Shown {
    fn new(declared: Arc<Catalogue>) -> Self {
        let mut all = (*declared).clone();
        all.tables.extend(cells::tables().map(|table| (table.name.clone(), table)));
        Self { declared, all: Arc::new(all) }
    }
}

/// Whether the value of a version is made here.
pub fn holds(cell: &CellInfo) -> bool {
    matches!(&cell.value, ValueRef::Of { family, .. } if cells::is_of_system(*family))
}

/// The refusal of a change of one of the two tables.
pub fn check(table: &TableName) -> Result<()> {
    if !table.is_system() {
        return Ok(());
    }
    let text = format!(
        "table {table} tells what the store has and takes no changes: create, alter and drop the tables and namespaces \
         that it tells of"
    );
    Err(Error::new(ErrorKind::ReadOnlyTable, text))
}

/// Refuses a change of the catalogue that is about one of the two tables.
pub fn check_change(change: &CatalogueChange) -> Result<()> {
    use CatalogueChange as C;
    match change {
        C::AlterTable(table) => check(&table.name),
        C::DropTable { name }
        | C::SetTableAside { name }
        | C::ForgetTable { name }
        | C::TruncateTable { name }
        | C::SetCellsAside { name }
        | C::SetTableState { name, .. } => check(name),
        C::SetFamilyAside { table, .. }
        | C::Undrop { table, .. }
        | C::BringBack { table, .. }
        | C::RestoreFamily { table, .. }
        | C::UnsetForRestore { table, .. } => check(table),
        C::RenameTable { from: one, to: other } | C::ExchangeTables { one, other } => check(one).and(check(other)),
        C::At { change, .. } | C::IfEmpty { change, .. } => check_change(change),
        C::CreateNamespace(_)
        | C::AlterNamespace(_)
        | C::DropNamespace { .. }
        | C::RenameNamespace { .. }
        // A name there is refused as any that is taken or reserved.
        | C::CreateTable(_)
        | C::ForgetDropped
        | C::SetAttributeTime { .. }
        | C::Configure { .. } => Ok(()),
    }
}
