//! Which rows are in the answer of a secondary index: the row decides, as the reader sees it.

use crate::Result;
use crate::model::{By, FamilySchema, IndexColumn, IndexSchema, Qualifier, ReadSpec, TableSchema, TimeRange};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::store::read::lookup::read_reference;
use crate::store::read::{get, point};

/// A column that is looked at.
struct Looked {
    /// `None`: the table has no such family; nothing is in it.
    family: Option<FamilySchema>,
    qualifier: Qualifier,
    range: TimeRange,
}

/// See the module.
pub struct Gate {
    by: By,
    columns: Vec<Looked>,
    /// The table and what is read of a row to judge it.
    condition: Option<(TableSchema, ReadSpec)>,
}

impl Gate {
    /// For a question to a table, of which this is read.
    pub fn new(table: &TableSchema, by: &By, read: &ReadSpec) -> Result<Self> {
        let index = table.index_asked(by)?;
        let condition = index.condition.as_ref().map(|filter| {
            let (filter, time_range) = (Some(filter.clone()), read.time_range);
            (table.clone(), ReadSpec { filter, time_range, ..ReadSpec::default() })
        });
        let looked = |IndexColumn { family, qualifier }: &IndexColumn| Looked {
            range: read.family_time_ranges.get(family).copied().unwrap_or(read.time_range),
            family: table.families.get(family).cloned(),
            qualifier: qualifier.clone(),
        };
        let columns = index.columns.iter().take(by.equals.len().max(1)).map(looked).collect();
        Ok(Self { by: by.clone(), columns, condition })
    }

    /// Whether a row is in the answer, as a view has it.
    pub fn admits(&self, engine: &Engine, view: &ReadView, row: &[u8]) -> Result<bool> {
        for (at, column) in self.columns.iter().enumerate() {
            if !self.admits_column(engine, view, row, (at, column))? {
                return Ok(false);
            }
        }
        let Some((table, read)) = &self.condition else { return Ok(true) };
        let mut passes = false;
        get::get_in(engine, view, table, (row, read), &mut |_| {
            passes = true;
            Ok(())
        })?;
        Ok(passes)
    }

    fn admits_column(
        &self,
        engine: &Engine,
        view: &ReadView,
        row: &[u8],
        (at, column): (usize, &Looked),
    ) -> Result<bool> {
        let Some(family) = &column.family else { return Ok(false) };
        let Some(cell) = point::newest_in(engine, view, family, row, &column.qualifier, column.range)? else {
            return Ok(false);
        };
        if let Some(wanted) = self.by.equals.get(at) {
            let is_as_long = cell.len() == wanted.len() as u64;
            return Ok(is_as_long && read_reference(engine, view, &cell.value, 0, wanted.len())? == *wanted);
        }
        let within = &self.by.within;
        // What is behind so many bytes decides nothing.
        let most = within.from.len().max(within.before.len()) + 1;
        Ok(within.contains(&read_reference(engine, view, &cell.value, 0, most)?))
    }
}

/// The index that a table's question may be answered by: only one that is complete.
pub fn usable_index<'t>(table: &'t TableSchema, by: &By) -> Result<Option<&'t IndexSchema>> {
    Ok(Some(table.index_asked(by)?).filter(|index| index.is_complete()))
}
