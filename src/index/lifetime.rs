//! How long what is in a segment lives, as far as it is known without reading it.

use serde::{Deserialize, Serialize};

use super::key;
use crate::model::{FamilyId, Tags, Timestamp};

/// Families of one segment that are told apart; a segment with more never counts as expired.
const FAMILIES: usize = 4;

/// Cells of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    pub family: FamilyId,
    /// No cell has a greater timestamp.
    pub newest: Timestamp,
    /// Last millisecond at which any is alive by its own TTL; `i64::MAX` where one has none, or ends others.
    pub alive_until: i64,
}

/// See the module. Never less than what is there: what was dropped may still count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    families: Vec<Lifetime>,
    too_many: bool,
}

impl Lifetimes {
    /// Counts a cell.
    pub fn add(&mut self, key: &[u8], tags: &Tags) {
        let (Some(family), Some((timestamp, ..))) = (key::family_of(key), key::decode_suffix(key)) else { return };
        // A put that erases takes others with it when it is judged, not before.
        let alive_until = tags.alive_until(timestamp).filter(|_| !tags.erases).unwrap_or(i64::MAX);
        if let Some(known) = self.families.iter_mut().find(|known| known.family == family) {
            known.newest = known.newest.max(timestamp);
            known.alive_until = known.alive_until.max(alive_until);
        } else if self.families.len() < FAMILIES {
            self.families.push(Lifetime { family, newest: timestamp, alive_until });
        } else {
            self.too_many = true;
        }
    }

    /// What is known of each family; `None` if there are too many.
    pub fn of_families(&self) -> Option<&[Lifetime]> {
        (!self.too_many).then_some(&self.families)
    }
}
