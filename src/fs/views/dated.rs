//! `cp f f@20261122`: a date as a suffix, which names a very old version here.

use std::sync::Arc;

use crate::backend::Versions;
use crate::fs::base::Fs;
use crate::model::{ColumnKey, Timestamp};
use crate::tree::path::name_of;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;
use crate::visibility::past_family_ttl;
use crate::{Error, ErrorKind, Result};

/// Timestamps of so many digits are of our days; fewer are rather meant as a part of a name.
const DIGITS: usize = 11;
/// Versions that are looked at together, at first and at most: each look passes over those before.
const PAGE: (usize, usize) = (64, 1 << 16);
/// The way out.
const OUT: &str = "to have such names as they are, mount with at=plain; or use another separator than `@`";

/// What a program is told, the first time in a family, that makes `NAME@DIGITS` with few digits by open(2).
/// Refused where the family would not keep that version, so that a copy cannot be lost.
pub fn check_dated(fs: &Fs, dir: &NodeKey, key: &NodeKey, name: &[u8]) -> Result<Option<String>> {
    check_masked(fs, key)?;
    let (View::Plain, Place::Family(_), Place::Version(column, timestamp)) = (key.view, &dir.place, &key.place) else {
        return Ok(None);
    };
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if digits >= DIGITS {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(name);
    let stem = &name[..name.len() - digits - 1];
    let text = format!(
        "`{name}` is version {timestamp} of `{stem}`, listed in `{stem}@/` as long as the family keeps it; {OUT}"
    );
    Ok(fs.dated.first(column).then_some(text))
}

/// Refuses a version that its family would not keep, as so many newer ones are there or its TTL is over: what a rename would move there
/// would be lost.
pub fn check_masked(fs: &Fs, key: &NodeKey) -> Result<()> {
    let (View::Plain, Place::Version(column, timestamp)) = (key.view, &key.place) else { return Ok(()) };
    let catalogue = fs.tree.backend.catalogue()?;
    let table = catalogue.tables.get(&column.table);
    let Some(family) = table.and_then(|table| table.families.get(&column.family)) else { return Ok(()) };
    let rules = &family.rules;
    let why = if past_family_ttl(rules, *timestamp, fs.tree.backend.now()) {
        "older than the TTL of its family".to_owned()
    } else if is_masked(fs, column, (*timestamp, rules.versions))? {
        format!("older than the {} that its family keeps", rules.versions)
    } else {
        return Ok(());
    };
    let name = name_of(&fs.tree, key);
    let stem = name_of(&fs.tree, &key.sibling(Place::Cell(Arc::clone(column))));
    let (name, stem) = (String::from_utf8_lossy(&name), String::from_utf8_lossy(&stem));
    let text =
        format!("`{name}` would be version {timestamp} of `{stem}`, {why}, and gone at once: nothing is made; {OUT}");
    Err(Error::new(ErrorKind::Refused, text))
}

/// Whether so many newer versions are there as the family keeps.
fn is_masked(fs: &Fs, column: &ColumnKey, (timestamp, versions): (Timestamp, u32)) -> Result<bool> {
    let (mut left, mut before, mut most) = (usize::try_from(versions).unwrap_or(usize::MAX), None, PAGE.0);
    while left > 0 {
        let page = left.min(most);
        let stored = fs.tree.backend.list_versions(column, Versions::Live, before, page)?;
        let newer = stored.iter().take_while(|cell| cell.timestamp > timestamp).count();
        if newer < page {
            return Ok(false);
        }
        (left, before, most) = (left - page, stored.last().map(|cell| cell.timestamp), (2 * most).min(PAGE.1));
    }
    Ok(true)
}
