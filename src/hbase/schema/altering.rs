//! Changes of the catalogue, as calls of the master.

use super::described::is_away;
use super::schemas;
use crate::backend::Event;
use crate::hbase::HBase;
use crate::hbase::convert::{table_name, unsupported};
use crate::model::declared::region;
use crate::model::declared::region::set_splits;
use crate::model::{
    Catalogue, CatalogueChange, Origin, TableName, TableSchema, TableState, check_family, check_namespace,
};
use crate::{Error, ErrorKind, Result};

impl HBase {
    /// Makes one change of the catalogue; what has many steps at the cluster may be left half-way by its end.
    pub(in crate::hbase) fn change(&self, change: CatalogueChange, origin: Origin) -> Result<()> {
        let catalogue = self.described.ask(&self.cluster).map_err(away)?;
        let events = self.apply(&catalogue, change, origin);
        self.described.forget();
        self.announce(&events?);
        Ok(())
    }

    fn apply(&self, catalogue: &Catalogue, change: CatalogueChange, origin: Origin) -> Result<Vec<Event>> {
        let of_table = |table: &TableName| vec![Event::Table { table: table.clone(), origin }];
        let of_namespace = |name: &str| vec![Event::Namespace { name: name.to_owned(), origin }];
        changed_tables(&change).into_iter().try_for_each(check_own)?;
        match change {
            CatalogueChange::At { version, .. } if version != catalogue.version => {
                Err(Error::new(ErrorKind::Overtaken, "another change of the schema came between; try again"))
            }
            // Regions are never without writers: that it was empty was looked at before.
            CatalogueChange::At { change, .. } | CatalogueChange::IfEmpty { change, .. } => {
                self.apply(catalogue, *change, origin)
            }
            CatalogueChange::CreateNamespace(new) => {
                check_namespace(&new.name)?;
                self.cluster.create_namespace(schemas::namespace(&new))?;
                Ok(of_namespace(&new.name))
            }
            CatalogueChange::AlterNamespace(new) => {
                self.cluster.modify_namespace(schemas::namespace(&new))?;
                Ok(of_namespace(&new.name))
            }
            CatalogueChange::DropNamespace { name } => {
                if catalogue.tables.keys().any(|table| *table.namespace == *name) {
                    let text = format!("Only empty namespaces can be removed. Namespace {name} has tables");
                    return Err(Error::new(ErrorKind::NotEmpty, text));
                }
                self.cluster.delete_namespace(&name)?;
                Ok(of_namespace(&name))
            }
            CatalogueChange::CreateTable(new) => self.create(catalogue, new, origin),
            CatalogueChange::AlterTable(new) => self.alter_table(catalogue, new, origin),
            CatalogueChange::DropTable { name } | CatalogueChange::SetTableAside { name } => {
                self.drop_table(catalogue, &name)?;
                Ok(of_table(&name))
            }
            CatalogueChange::SetFamilyAside { table, family } => {
                let mut left = known(catalogue, &table)?.clone();
                if left.families.remove(&family).is_none() {
                    return Err(Error::new(ErrorKind::NoSuchFamily, format!("table {table} has no family {family}")));
                }
                self.alter_table(catalogue, left, origin)
            }
            CatalogueChange::TruncateTable { name } | CatalogueChange::SetCellsAside { name } => {
                self.truncate(catalogue, &name)?;
                Ok([vec![Event::Replaced { table: name.clone() }], of_table(&name)].concat())
            }
            CatalogueChange::SetTableState { name, state } => {
                self.set_state(catalogue, &name, state)?;
                Ok(of_table(&name))
            }
            // HBase forgets what was dropped at once, and keeps no mtimes.
            CatalogueChange::ForgetDropped
            | CatalogueChange::ForgetTable { .. }
            | CatalogueChange::SetAttributeTime { .. } => Ok(Vec::new()),
            other => refuse(&other),
        }
    }

    fn create(&self, catalogue: &Catalogue, mut new: TableSchema, origin: Origin) -> Result<Vec<Event>> {
        let (name, splits) = (new.name.clone(), take_splits(&mut new));
        if !catalogue.namespaces.contains_key(&*name.namespace) {
            let text = format!("namespace {} does not exist", name.namespace);
            return Err(Error::new(ErrorKind::NoSuchNamespace, text));
        }
        if catalogue.tables.contains_key(&name) {
            return Err(Error::new(ErrorKind::TableExists, format!("Table already exists: {name}")));
        }
        new.families.keys().try_for_each(|family| check_family(family))?;
        if new.families.is_empty() {
            set_splits(&mut new, splits);
            self.described.hold(new)?;
        } else {
            self.cluster.create_table(schemas::table(&new)?, splits)?;
        }
        Ok(vec![Event::Table { table: name, origin }])
    }

    fn alter_table(&self, catalogue: &Catalogue, mut new: TableSchema, origin: Origin) -> Result<Vec<Event>> {
        let (name, splits) = (new.name.clone(), take_splits(&mut new));
        let old = known(catalogue, &name)?;
        new.families.keys().try_for_each(|family| check_family(family))?;
        let is_pending = self.described.is_pending(&name);
        match (is_pending, new.families.is_empty()) {
            (true, true) => {
                set_splits(&mut new, splits);
                self.described.hold(new)?;
            }
            (true, false) => {
                self.cluster.create_table(schemas::table(&new)?, splits)?;
                self.described.drop_pending(&name);
            }
            (false, true) => {
                let text =
                    format!("the last family of {name} cannot go: HBase has no table without one; drop the table");
                return Err(Error::new(ErrorKind::Refused, text));
            }
            (false, false) => {
                let schema = schemas::table(&new)?;
                // Each change of a descriptor opens every region anew.
                if schema != schemas::table(old)? {
                    self.cluster.modify_table(schema)?;
                }
                self.split_at(&name, &splits)?;
            }
        }
        Ok(vec![Event::Table { table: name, origin }])
    }

    /// Splits regions so that one begins at each of the keys.
    fn split_at(&self, name: &TableName, keys: &[Vec<u8>]) -> Result<()> {
        let table = table_name(name);
        for key in keys {
            let regions = self.cluster.regions(&table)?;
            if !regions.iter().any(|region| region.start() == key) {
                self.cluster.split(&table, key)?;
            }
        }
        Ok(())
    }

    fn drop_table(&self, catalogue: &Catalogue, name: &TableName) -> Result<()> {
        let table = known(catalogue, name)?;
        if self.described.drop_pending(name) {
            return Ok(());
        }
        self.disable(table)?;
        Ok(self.cluster.delete_table(&table_name(name))?)
    }

    pub(in crate::hbase) fn disable(&self, table: &TableSchema) -> Result<()> {
        match self.cluster.disable_table(&table_name(&table.name)) {
            // Somebody else has done it.
            Err(e) if e.kind == crate::hbase::client::Kind::TableDisabled => Ok(()),
            done => Ok(done?),
        }
    }

    fn truncate(&self, catalogue: &Catalogue, name: &TableName) -> Result<()> {
        let table = known(catalogue, name)?;
        if self.described.is_pending(name) {
            return Ok(());
        }
        self.disable(table)?;
        Ok(self.cluster.truncate_table(&table_name(name), true)?)
    }

    fn set_state(&self, catalogue: &Catalogue, name: &TableName, state: TableState) -> Result<()> {
        let table = known(catalogue, name)?;
        if self.described.is_pending(name) {
            return unsupported("a table without a family is not at the cluster yet: declare one first");
        }
        match (state, table.state == state) {
            (TableState::Disabled, true) => {
                Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled already")))
            }
            (TableState::Enabled, true) => {
                Err(Error::new(ErrorKind::TableEnabled, format!("table {name} is enabled already")))
            }
            (TableState::Disabled, false) => Ok(self.cluster.disable_table(&table_name(name))?),
            (TableState::Enabled, false) => Ok(self.cluster.enable_table(&table_name(name))?),
        }
    }
}

/// Where regions are asked to begin: that is kept beside the table, a cluster makes regions of it.
fn take_splits(table: &mut TableSchema) -> Vec<Vec<u8>> {
    let splits = region::splits(table);
    set_splits(table, Vec::new());
    splits
}

/// A table of the catalogue.
pub(in crate::hbase) fn known<'a>(catalogue: &'a Catalogue, name: &TableName) -> Result<&'a TableSchema> {
    let gone = || Error::new(ErrorKind::NoSuchTable, format!("Unknown table {name}!"));
    catalogue.tables.get(name).ok_or_else(gone)
}

/// Refuses to change one of the cluster's own tables.
pub(in crate::hbase) fn check_own(name: &TableName) -> Result<()> {
    if !name.is_system() {
        return Ok(());
    }
    let text = format!("table {name} is the cluster's own and takes no changes from here: HBase's own tools change it");
    Err(Error::new(ErrorKind::ReadOnlyTable, text))
}

/// The tables that a change is about; new ones in the system's namespace are refused by the master.
fn changed_tables(change: &CatalogueChange) -> Vec<&TableName> {
    use CatalogueChange as C;
    match change {
        C::AlterTable(table) => vec![&table.name],
        C::DropTable { name }
        | C::SetTableAside { name }
        | C::TruncateTable { name }
        | C::SetCellsAside { name }
        | C::SetTableState { name, .. } => vec![name],
        C::SetFamilyAside { table, .. } => vec![table],
        _ => Vec::new(),
    }
}

/// The master makes all changes of schemas.
pub(in crate::hbase) fn away(error: Error) -> Error {
    if is_away(&error) {
        error.context("schemas are changed by the cluster's master, which cannot be asked now")
    } else {
        error
    }
}

fn refuse(change: &CatalogueChange) -> Result<Vec<Event>> {
    match change {
        CatalogueChange::RenameTable { .. } | CatalogueChange::RenameNamespace { .. } => Err(Error::new(
            ErrorKind::CrossDevice,
            "HBase renames no tables and namespaces: copy with `cellfs snapshot create` and `snapshot clone`, then drop",
        )),
        CatalogueChange::ExchangeTables { .. } => unsupported("HBase cannot exchange two tables"),
        CatalogueChange::Undrop { .. } => {
            unsupported("HBase keeps nothing of what was dropped: take a snapshot before you drop")
        }
        CatalogueChange::RestoreFamily { .. } | CatalogueChange::UnsetForRestore { .. } => {
            unsupported("a family that keeps all while it is restored is not HBase's: declare it with create or alter")
        }
        CatalogueChange::Configure { .. } => {
            unsupported("a cluster has no settings of cellfs; its own are in its hbase-site.xml")
        }
        _ => unsupported("HBase has no such change"),
    }
}
