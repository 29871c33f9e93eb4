//! mv and the rules of the family at the target: what that would not keep is not moved there.

use super::moving::{Mover, PAGE};
use crate::backend::{HistoryFrom, Versions};
use crate::model::{CellInfo, ColumnKey, FamilyRules, Qualifier};
use crate::tree::place::{FamilyPlace, family_of};
use crate::visibility::{keeps_fewer, past_family_ttl};
use crate::{Error, ErrorKind, Result};

impl Mover {
    fn rules(&self, of: &FamilyPlace) -> Result<Option<FamilyRules>> {
        let catalogue = self.backend.catalogue()?;
        let table = catalogue.tables.get(&of.table);
        Ok(table.and_then(|table| table.families.get(&of.family)).map(|family| family.rules.clone()))
    }

    /// The versions of a column that its family at the target keeps at most, if it keeps fewer than that at the source.
    fn fewer(&self, from: &FamilyPlace, to: &FamilyPlace) -> Result<Option<u32>> {
        let rules = self.rules(to)?.zip(self.rules(from)?);
        Ok(rules.filter(|(to, from)| keeps_fewer(to, from)).map(|(to, _)| to.versions))
    }

    /// Refuses, before anything is moved, columns with more versions than the target's family keeps.
    pub(super) fn check_kept(&self, from: &FamilyPlace, to: &FamilyPlace) -> Result<()> {
        let Some(most) = self.fewer(from, to)? else { return Ok(()) };
        let (mut at, mut count, mut column) = (None::<HistoryFrom>, 0_u32, None::<Qualifier>);
        loop {
            let page = self.history(from, at.as_ref(), PAGE)?;
            for (qualifier, cell) in &page {
                if column.as_ref() != Some(qualifier) {
                    (column, count) = (Some(qualifier.clone()), 0);
                }
                count += u32::from(cell.deleted_at.is_none());
                if count > most {
                    return Err(too_many(qualifier, most, to));
                }
            }
            match page.last() {
                Some((qualifier, cell)) if page.len() == PAGE => {
                    at = Some(HistoryFrom { qualifier: qualifier.clone(), before: Some(cell.timestamp) });
                }
                _ => return Ok(()),
            }
        }
    }

    /// As [`Mover::check_kept`], of one column.
    pub(super) fn check_column_kept(&self, from: &ColumnKey, to: &ColumnKey) -> Result<()> {
        let (target, mut before) = (family_of(to), None);
        let Some(most) = self.fewer(&family_of(from), &target)? else { return Ok(()) };
        let mut count = 0_u32;
        while count <= most {
            let page = self.backend.list_versions(from, Versions::Live, before, PAGE)?;
            count = count.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
            before = page.last().map(|cell| cell.timestamp);
            if page.len() < PAGE {
                break;
            }
        }
        if count > most { Err(too_many(&from.qualifier, most, &target)) } else { Ok(()) }
    }

    /// Refuses to move what the target's family would not keep for its TTL.
    pub(super) fn check_lives(&self, to: &FamilyPlace, cells: &[(Qualifier, CellInfo)]) -> Result<()> {
        let (Some(rules), now) = (self.rules(to)?, self.backend.now()) else { return Ok(()) };
        let is_past = |cell: &CellInfo| cell.deleted_at.is_none() && past_family_ttl(&rules, cell.timestamp, now);
        let Some((qualifier, cell)) = cells.iter().find(|(_, cell)| is_past(cell)) else { return Ok(()) };
        let text = format!(
            "version {} of {} is older than the TTL of family {} of table {}, and would be gone at once: it is left where \
             it is; raise that TTL, or copy what is newest (cp) and delete the rest here",
            cell.timestamp.0,
            qualifier.escape_ascii(),
            to.family,
            to.table
        );
        Err(Error::new(ErrorKind::Refused, text))
    }
}

fn too_many(qualifier: &Qualifier, most: u32, to: &FamilyPlace) -> Error {
    let text = format!(
        "{} has more than the {most} versions that family {} of table {} keeps, and would lose the others: it is left where \
         it is; raise VERSIONS there, or copy what is newest (cp) and delete the rest here",
        qualifier.escape_ascii(),
        to.family,
        to.table
    );
    Error::new(ErrorKind::Refused, text)
}
