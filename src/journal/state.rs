//! What the journal's records come to: the fold over edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::edit::{Edit, Item, Reference, SnapshotRecord};
use crate::model::{Catalogue, FamilyId, SeqNo};

/// For how long an extent has counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub first_layer: u32,
    pub last_layer: u32,
    /// The edit that added it.
    pub came: u64,
    /// The one that removed it; only snapshots have it since.
    pub gone: Option<u64>,
    /// After which edit it counts from which key on; ascending, and only what now or a snapshot needs.
    trims: Vec<(u64, Arc<[u8]>)>,
}

impl Held {
    /// The key from which on it counts now; empty: all of it.
    pub fn from(&self) -> Arc<[u8]> {
        self.from_at(u64::MAX)
    }

    /// As [`Held::from`], as it was after an edit.
    pub fn from_at(&self, edit: u64) -> Arc<[u8]> {
        let trim = self.trims.iter().rev().find(|(since, _)| *since <= edit);
        trim.map_or_else(|| Arc::from([]), |(_, from)| Arc::clone(from))
    }

    fn trim(&mut self, edit: u64, from: &Arc<[u8]>, moments: &BTreeSet<u64>) {
        // What no snapshot saw is forgotten: there are no more of them than of snapshots.
        let mut until = edit;
        let mut kept: Vec<(u64, Arc<[u8]>)> = vec![(edit, Arc::clone(from))];
        for (since, from) in std::mem::take(&mut self.trims).into_iter().rev() {
            if moments.range(since..until).next().is_some() {
                kept.push((since, from));
            }
            until = since;
        }
        kept.reverse();
        self.trims = kept;
    }
}

/// What is known of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRecord {
    /// Bytes and chunks, once it takes no more.
    pub sealed: Option<(u64, u32)>,
}

/// Everything that counts after an edit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Number of the last edit.
    pub edit: u64,
    #[serde(with = "super::named")]
    pub catalogue: Arc<Catalogue>,
    pub references: BTreeMap<Reference, Held>,
    /// By name: the edit that made it, and what it says.
    pub snapshots: BTreeMap<String, (u64, Arc<SnapshotRecord>)>,
    pub blobs: BTreeMap<u64, BlobRecord>,
    /// What the log has up to this number is in extents.
    pub covered: SeqNo,
    /// Numbers of files up to this one may have been given out.
    pub numbers: u64,
    /// The greatest layer of a flush.
    pub layer: u32,
    pub flushes: u64,
    pub compactions: u64,
}

impl State {
    /// The state after an edit.
    pub fn after(&self, edit: &Edit) -> Self {
        let mut state = self.clone();
        state.edit += 1;
        edit.items.iter().for_each(|item| state.apply(item));
        state
    }

    /// As [`State::after`], in place.
    pub fn fold(&mut self, edit: &Edit) {
        self.edit += 1;
        edit.items.iter().for_each(|item| self.apply(item));
    }

    fn apply(&mut self, item: &Item) {
        match item {
            Item::Add { reference, first_layer, last_layer } => {
                let held = Held {
                    first_layer: *first_layer,
                    last_layer: *last_layer,
                    came: self.edit,
                    gone: None,
                    trims: vec![],
                };
                self.references.insert(*reference, held);
            }
            Item::Remove(reference) => self.remove(*reference),
            Item::Trim { reference, from } => {
                let (edit, moments) = (self.edit, self.moments());
                if let Some(held) = self.references.get_mut(reference) {
                    held.trim(edit, from, &moments);
                }
            }
            Item::Covered(seq) => self.covered = self.covered.max(*seq),
            Item::Catalogue(delta) => delta.apply(Arc::make_mut(&mut self.catalogue)),
            Item::Snapshot { name, record } => {
                self.snapshots.insert(name.clone(), (self.edit, Arc::clone(record)));
            }
            Item::SnapshotGone { name } => {
                self.snapshots.remove(name);
                let moments = self.moments();
                self.references.retain(|_, held| held.gone.is_none() || is_kept(held, &moments));
            }
            Item::BlobMade { file } => drop(self.blobs.insert(*file, BlobRecord::default())),
            Item::BlobSealed { file, bytes, chunks } => {
                self.blobs.insert(*file, BlobRecord { sealed: Some((*bytes, *chunks)) });
            }
            Item::BlobGone { file } => drop(self.blobs.remove(file)),
            Item::NumbersUpTo(number) => self.numbers = self.numbers.max(*number),
            Item::Layer(layer) => self.layer = self.layer.max(*layer),
            Item::Repaired { was, now } => {
                if let Some(held) = self.references.remove(was) {
                    self.references.extend(now.iter().map(|reference| (*reference, held.clone())));
                }
            }
            Item::Flushed => self.flushes += 1,
            Item::Compacted => self.compactions += 1,
        }
    }

    fn remove(&mut self, reference: Reference) {
        let (edit, moments) = (self.edit, self.moments());
        let Some(held) = self.references.get_mut(&reference) else { return };
        held.gone = Some(edit);
        if !is_kept(held, &moments) {
            self.references.remove(&reference);
        }
    }

    /// The edits at which snapshots were made.
    fn moments(&self) -> BTreeSet<u64> {
        self.snapshots.values().map(|(edit, _)| *edit).collect()
    }

    /// What counts now.
    pub fn live(&self) -> impl Iterator<Item = (&Reference, &Held)> {
        self.references.iter().filter(|(_, held)| held.gone.is_none())
    }

    /// What counts now of a family.
    pub fn live_of(&self, family: FamilyId) -> impl Iterator<Item = (&Reference, &Held)> {
        let first = Reference { family, file: 0, extent: 0 };
        let last = Reference { family, file: u64::MAX, extent: u32::MAX };
        self.references.range(first..=last).filter(|(_, held)| held.gone.is_none())
    }

    /// What counted after an edit, which a snapshot names.
    pub fn counted_at(&self, edit: u64) -> impl Iterator<Item = (&Reference, &Held)> {
        self.references.iter().filter(move |(_, held)| counts_at(held, edit))
    }

    /// The key from which on anyone needs an extent of a file, now or in a snapshot; empty: all of it, `None`: nobody does.
    pub fn needed_from(&self, file: u64, extent: u32) -> Option<Arc<[u8]>> {
        let moments = self.moments();
        let of = |held: &Held| {
            let until = held.gone.unwrap_or(u64::MAX);
            let seen = moments.range(held.came..until).copied();
            seen.chain(held.gone.is_none().then_some(u64::MAX)).map(|edit| held.from_at(edit)).min()
        };
        let of_it = self.references.iter().filter(|(of, _)| of.file == file && of.extent == extent);
        of_it.filter_map(|(_, held)| of(held)).min()
    }

    /// Whether any snapshot shows an extent.
    pub fn is_in_snapshot(&self, reference: &Reference) -> bool {
        self.references.get(reference).is_some_and(|held| is_kept(held, &self.moments()))
    }

    /// Numbers of the segment files that anything refers to.
    pub fn files(&self) -> BTreeSet<u64> {
        self.references.keys().map(|reference| reference.file).collect()
    }
}

fn counts_at(held: &Held, edit: u64) -> bool {
    held.came <= edit && held.gone.is_none_or(|gone| gone > edit)
}

fn is_kept(held: &Held, moments: &BTreeSet<u64>) -> bool {
    let until = held.gone.unwrap_or(u64::MAX);
    moments.range(held.came..until).next().is_some()
}
