//! What is stored, as one immutable value: the runs of each family after an edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::journal::{Held, Reference, State};
use crate::model::{FamilyId, Timestamp};
use crate::segment::{Extent, ExtentFacts, Segment};
use crate::{Error, Result};

/// An open segment file, or why it cannot be read.
pub struct File {
    pub number: u64,
    pub segment: Result<Arc<Segment>>,
}

/// An extent of a run.
#[derive(Clone)]
pub struct RunExtent {
    pub reference: Reference,
    pub file: Arc<File>,
    extent: Option<Arc<Extent>>,
    /// Keys before this one do not count; empty: all do.
    from: Arc<[u8]>,
}

impl RunExtent {
    fn new(reference: Reference, file: Arc<File>, from: Arc<[u8]>) -> Self {
        let extents = file.segment.as_ref().map(|segment| segment.extents()).unwrap_or_default();
        let extent = extents.get(reference.extent as usize).cloned();
        Self { reference, file, extent, from }
    }

    /// The same from a key on, but from no earlier one than now: what is before may not be there any more. `None`: nothing
    /// is left.
    pub fn trimmed(&self, from: &Arc<[u8]>) -> Option<Self> {
        let from = from.max(&self.from);
        (self.last_key() >= &**from).then(|| Self { from: Arc::clone(from), ..self.clone() })
    }

    /// Whether only its keys from some key on count.
    pub fn is_trimmed(&self) -> bool {
        !self.from.is_empty()
    }

    /// The extent, for a read.
    pub fn readable(&self) -> Result<&Arc<Extent>> {
        match (&self.extent, &self.file.segment) {
            (Some(extent), _) => Ok(extent),
            (None, Err(e)) => Err(e.clone()),
            (None, Ok(_)) => {
                let text = format!("segment {} has no extent {}", self.file.number, self.reference.extent);
                Err(Error::new(crate::ErrorKind::Corrupt, text))
            }
        }
    }

    /// What its trailer says, if that can be read.
    pub fn facts(&self) -> Option<&ExtentFacts> {
        self.extent.as_ref().map(|extent| extent.facts())
    }

    /// No key that counts is before this one, which need not be there.
    pub fn first_key(&self) -> &[u8] {
        self.facts().map_or(&[][..], |facts| &facts.first_key).max(&self.from)
    }

    /// The last key; of one that cannot be read nothing is behind it.
    pub fn last_key(&self) -> &[u8] {
        self.facts().map_or(crate::store::layout::far::FAR, |facts| &facts.last_key)
    }
}

/// Extents of a family with disjoint key ranges that one flush or compaction made (HBase: a store file).
pub struct Run {
    pub first_layer: u32,
    pub last_layer: u32,
    /// By their first keys.
    pub extents: Vec<RunExtent>,
    /// The greatest timestamp; the greatest there is where it is not known.
    pub greatest: Timestamp,
    /// Whether any of it cannot be read.
    pub is_damaged: bool,
}

impl Run {
    fn new((first_layer, last_layer): (u32, u32), extents: Vec<RunExtent>) -> Arc<Self> {
        let is_damaged = extents.iter().any(|extent| extent.extent.is_none());
        let known = extents.iter().filter_map(RunExtent::facts).map(|facts| facts.greatest_timestamp).max();
        let greatest = if is_damaged { Timestamp::MAX } else { known.unwrap_or(Timestamp::ZERO) };
        Arc::new(Self { first_layer, last_layer, extents, greatest, is_damaged })
    }

    /// Extents of any runs, whose key ranges are disjoint and ascend.
    pub fn of(extents: Vec<RunExtent>) -> Arc<Self> {
        Self::new((0, 0), extents)
    }

    /// The extents that may have keys with a prefix.
    pub fn near(&self, prefix: &[u8]) -> impl Iterator<Item = &RunExtent> {
        // One that cannot be read may have any key.
        let first = match self.is_damaged {
            true => 0,
            false => self.extents.partition_point(|extent| extent.last_key() < prefix),
        };
        let reaches = move |extent: &&RunExtent| {
            let key = extent.first_key();
            key <= prefix || key.starts_with(prefix)
        };
        self.extents[first..].iter().take_while(reaches).filter(move |extent| extent.last_key() >= prefix)
    }

    /// The first key of any of it.
    pub fn first_key(&self) -> &[u8] {
        self.extents.first().map_or(&[], RunExtent::first_key)
    }

    /// The last key of any of it.
    pub fn last_key(&self) -> &[u8] {
        self.extents.last().map_or(crate::store::layout::far::FAR, RunExtent::last_key)
    }

    /// What the trailers say.
    pub fn facts(&self) -> impl Iterator<Item = &ExtentFacts> {
        self.extents.iter().filter_map(RunExtent::facts)
    }

    /// Whether an extent of it reaches to a prefix of keys, and `may` say that it holds what is looked for.
    pub fn may_hold(&self, prefix: &[u8], may: &dyn Fn(&Extent) -> Result<bool>) -> Result<bool> {
        for extent in self.near(prefix) {
            if may(extent.readable()?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The greatest key in `[from, end)`.
    pub fn last_before(&self, from: &[u8], end: &[u8]) -> Result<Option<Vec<u8>>> {
        for extent in self.extents.iter().rev().filter(|extent| extent.first_key() < end) {
            let mut cursor = extent.readable()?.cursor(crate::segment::Reading::Point);
            if !extent.from.is_empty() {
                // What lies before may not be there any more.
                cursor.seek(&extent.from)?;
                if cursor.key().is_none_or(|key| key >= end) {
                    continue;
                }
            }
            if let Some(key) = cursor.last_before(end)? {
                return Ok((key.as_slice() >= from).then_some(key));
            }
        }
        Ok(None)
    }

    /// A sum over the trailers.
    pub fn sum(&self, of: impl Fn(&ExtentFacts) -> u64) -> u64 {
        self.facts().map(of).sum()
    }

    /// What is left from a key on; `None`: nothing.
    pub fn trimmed(&self, from: &Arc<[u8]>) -> Option<Arc<Self>> {
        let extents: Vec<RunExtent> = self.extents.iter().filter_map(|extent| extent.trimmed(from)).collect();
        (!extents.is_empty()).then(|| Self::new((self.first_layer, self.last_layer), extents))
    }
}

/// The runs of a family.
#[derive(Default)]
pub struct Runs {
    /// By their layers, oldest first.
    pub runs: Vec<Arc<Run>>,
    /// No cell is later.
    pub greatest: Timestamp,
    /// Whether any tombstone of a whole family may be stored.
    pub family_tombstones: bool,
    /// Whether any cell with a TTL of its own may be stored.
    pub expiring: bool,
}

impl Runs {
    /// Whether a compaction has left off in the middle: its run stands beside what is left of those that it merges.
    pub fn is_half_merged(&self) -> bool {
        self.runs.windows(2).any(|pair| pair[1].first_layer <= pair[0].last_layer)
    }

    fn of(extents: impl Iterator<Item = (Held, RunExtent)>) -> Self {
        let mut by_layers: BTreeMap<(u32, u32), Vec<RunExtent>> = BTreeMap::new();
        for (held, extent) in extents {
            by_layers.entry((held.first_layer, held.last_layer)).or_default().push(extent);
        }
        let run = |(layers, mut extents): ((u32, u32), Vec<RunExtent>)| {
            extents.sort_by(|a, b| a.first_key().cmp(b.first_key()));
            Run::new(layers, extents)
        };
        let runs: Vec<Arc<Run>> = by_layers.into_iter().map(run).collect();
        let any = |of: fn(&ExtentFacts) -> bool| runs.iter().any(|run| run.is_damaged || run.facts().any(of));
        Self {
            greatest: runs.iter().map(|run| run.greatest).max().unwrap_or(Timestamp::ZERO),
            family_tombstones: any(|facts| facts.family_tombstones > 0),
            expiring: any(|facts| facts.has_ttl),
            runs,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Layout {
    pub state: Arc<State>,
    families: FxHashMap<FamilyId, Arc<Runs>>,
}

impl Layout {
    /// Bytes of extents that reads can reach, about: without what newer versions hide.
    pub fn live_bytes(&self) -> u64 {
        let of = |facts: &ExtentFacts| {
            let all = (facts.key_bytes + facts.value_bytes).max(1);
            let hidden = u128::from(facts.superseded_bytes) * u128::from(facts.stored_bytes) / u128::from(all);
            facts.stored_bytes.saturating_sub(u64::try_from(hidden).unwrap_or(u64::MAX))
        };
        self.extents().filter_map(|extent| extent.facts()).map(of).sum()
    }

    /// What counts of `families` by `counted`; `open` gives the files.
    pub fn new<'s>(
        state: &Arc<State>,
        (edit, counted): (u64, impl Iterator<Item = (&'s Reference, &'s Held)>),
        open: &mut dyn FnMut(u64) -> Arc<File>,
    ) -> Self {
        let mut by_family: BTreeMap<FamilyId, Vec<(Held, RunExtent)>> = BTreeMap::new();
        for (reference, held) in counted {
            let extent = RunExtent::new(*reference, open(reference.file), held.from_at(edit));
            by_family.entry(reference.family).or_default().push((held.clone(), extent));
        }
        let families = by_family.into_iter().map(|(id, extents)| (id, Arc::new(Runs::of(extents.into_iter()))));
        Self { state: Arc::clone(state), families: families.collect() }
    }

    /// The layout after an edit that changed these families.
    pub fn changed(
        &self,
        state: &Arc<State>,
        families: impl Iterator<Item = FamilyId>,
        open: &mut dyn FnMut(u64) -> Arc<File>,
    ) -> Self {
        let mut all = self.families.clone();
        for family in families {
            let live = state.live_of(family);
            let extents = live
                .map(|(reference, held)| (held.clone(), RunExtent::new(*reference, open(reference.file), held.from())));
            let runs = Runs::of(extents);
            if runs.runs.is_empty() {
                all.remove(&family);
            } else {
                all.insert(family, Arc::new(runs));
            }
        }
        Self { state: Arc::clone(state), families: all }
    }

    /// The same, with families of an older one that are gone: for readers who still look for these.
    pub fn with_gone(&self, older: &Self) -> Self {
        let mut families = older.families.clone();
        families.extend(self.families.iter().map(|(id, runs)| (*id, Arc::clone(runs))));
        Self { state: Arc::clone(&self.state), families }
    }

    /// The runs of a family; `None`: it has none.
    pub fn runs(&self, family: FamilyId) -> Option<&Arc<Runs>> {
        self.families.get(&family)
    }

    /// All families that have runs.
    pub fn families(&self) -> impl Iterator<Item = (FamilyId, &Arc<Runs>)> {
        self.families.iter().map(|(id, runs)| (*id, runs))
    }

    /// All extents.
    pub fn extents(&self) -> impl Iterator<Item = &RunExtent> {
        self.families.values().flat_map(|runs| &runs.runs).flat_map(|run| &run.extents)
    }

    /// Stored cells in extents.
    pub fn cells(&self) -> u64 {
        self.extents().filter_map(RunExtent::facts).map(|facts| facts.cells).sum()
    }
}
