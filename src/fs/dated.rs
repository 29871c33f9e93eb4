//! `cp f f@20261122`: a date as a suffix, which names a very old version here.

use super::Fs;
use crate::backend::Versions;
use crate::env::sync::Mutex;
use crate::model::{ColumnKey, TableName, Timestamp};
use crate::tree::place::{NodeKey, Place, View};
use crate::{Error, ErrorKind, Result};

/// Timestamps of so many digits are of our days; fewer are rather meant as a part of a name.
const DIGITS: usize = 11;
/// Families that are remembered as told.
const TOLD_MAX: usize = 1000;

/// Families in which somebody was told what such a name means.
#[derive(Default)]
pub(super) struct Told(Mutex<Vec<(TableName, String)>>);

impl Told {
    /// Whether this is the first time.
    fn first(&self, column: &ColumnKey) -> bool {
        let mut told = self.0.lock();
        let known = told.iter().any(|(table, family)| *table == column.table && *family == column.family);
        if !known && told.len() < TOLD_MAX {
            told.push((column.table.clone(), column.family.clone()));
        }
        !known
    }
}

impl Fs {
    /// What a program is told, the first time in a family, that makes `NAME@DIGITS` with few digits by open(2).
    /// Refused where the family would not keep that version, so that a copy cannot be lost.
    pub(super) fn check_dated(&self, dir: &NodeKey, key: &NodeKey, name: &[u8]) -> Result<Option<String>> {
        let (View::Plain, Place::Family(_), Place::Version(column, timestamp)) = (key.view, &dir.place, &key.place)
        else {
            return Ok(None);
        };
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if digits >= DIGITS {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(name);
        let out = "to have such names as they are, mount with at=plain; or use another separator than `@`";
        let stem = &name[..name.len() - digits - 1];
        if let Some(versions) = self.is_masked(column, *timestamp)? {
            let text = format!(
                "`{name}` would be version {timestamp} of `{stem}`, older than the {versions} that its family keeps, and \
                 gone at once: nothing is made; {out}"
            );
            return Err(Error::new(ErrorKind::Refused, text));
        }
        let text = format!(
            "`{name}` is version {timestamp} of `{stem}`, listed in `{stem}@/` as long as the family keeps it; {out}"
        );
        Ok(self.dated.first(column).then_some(text))
    }

    /// How many versions the family keeps, where so many newer ones are there.
    fn is_masked(&self, column: &ColumnKey, timestamp: Timestamp) -> Result<Option<u32>> {
        let catalogue = self.tree.backend.catalogue()?;
        let family = catalogue.tables.get(&column.table).and_then(|table| table.families.get(&column.family));
        let Some(rules) = family.map(|family| &family.rules) else { return Ok(None) };
        let stored = self.tree.backend.list_versions(column, Versions::Live, None, 1000)?;
        let newer = stored.iter().take_while(|cell| cell.timestamp > timestamp);
        let (mut count, mut least) = (0, Timestamp::MAX);
        newer.for_each(|cell| (count, least) = (count + 1, cell.timestamp));
        let is_masked = crate::visibility::is_outranked(rules, count, least, self.tree.backend.now());
        Ok(is_masked.then_some(rules.versions))
    }
}
