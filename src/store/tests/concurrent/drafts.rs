//! Deeds that write values before their cells.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::actor::Actor;
use super::events::{Place, Puts};
use super::world::{World, number_of, table_name};
use crate::backend::Backend;
use crate::env::sync;
use crate::model::*;
use crate::{ErrorKind, Result};

/// Longer values lie in chunks.
const LARGE: u64 = 17_000;

impl Actor {
    /// A value is written in pieces, in any order, over nothing or over what the column shows, and put or given up.
    pub(super) fn put_in_parts(&mut self) {
        let (place, durability, number) = (self.column(), self.durability(), self.world.fresh());
        let len = LARGE + self.chance.below(40_000);
        let bytes = pattern(number, len);
        let begin = self.world.tick();
        let written = self.write_parts(&place, &bytes);
        self.world.judge_failure(written.as_ref().err());
        let Ok(Some(value)) = written else { return };
        let puts = Puts::OneOf(BTreeSet::from([Some(number)]));
        let begun = [self.world.known().oracle.begin(&place, puts, true)];
        let result = self.put_value(&place, value, None, durability);
        let at = result.as_ref().ok().and_then(|done| done.written.first()).map(|cell| cell.timestamp.0);
        self.world.known().oracle.aging().put(number, at);
        log::trace!("put {number} in parts, {place:?}: {}", result.is_ok());
        self.world.end(&begun, (&place.table, begin), World::kept(durability), &result);
    }

    /// `None`: there is no such table, or it was given up.
    fn write_parts(&mut self, place: &Place, bytes: &[u8]) -> Result<Option<Value>> {
        let base = if self.chance.one_in(2) { self.newest(place)? } else { None };
        let begun = self.store.draft(&table_name(&place.table), "f", base.as_ref())?;
        let Some(mut draft) = begun else { return Ok(None) };
        let mut pieces: Vec<(usize, &[u8])> = bytes.chunks(5_000).enumerate().collect();
        while !pieces.is_empty() {
            let in_order = self.chance.one_in(2);
            let (at, piece) = pieces.remove(if in_order { 0 } else { self.chance.below(pieces.len() as u64) as usize });
            draft.write(at as u64 * 5_000, piece)?;
            if self.chance.one_in(4) {
                let read = draft.read(at as u64 * 5_000, piece.len())?;
                assert!(read == piece, "{place:?}: a draft does not have what was written");
            }
            if self.chance.one_in(20) {
                return Ok(None);
            }
        }
        draft.resize(bytes.len() as u64)?;
        let value = draft.value().map(Some);
        self.others_go_on();
        value
    }

    /// What is shown gets longer, unless another puts something meanwhile; pages of it are written as they are.
    pub(super) fn append_to_large(&mut self) {
        let (place, durability) = (self.column(), self.durability());
        let begin = self.world.tick();
        let longer = self.lengthen(&place);
        self.world.judge_failure(longer.as_ref().err().filter(|e| e.kind != ErrorKind::NotFound));
        let Ok(Some((number, version, value))) = longer else { return };
        let begun = [self.world.known().oracle.begin(&place, Puts::OneOf(BTreeSet::from([Some(number)])), true)];
        let condition = Condition::Newest { family: "f".into(), qualifier: place.qualifier.as_str().into(), version };
        let result = match value {
            Longer::Whole(value) => self.put_value(&place, value, Some(condition), durability),
            Longer::By(tail) => self.mutate_if(&place, append_of(&place, tail), Some(condition), durability),
        };
        log::trace!("append to {number}, {place:?}: {:?}", result.as_ref().map(|done| done.applied));
        if result.as_ref().is_ok_and(|done| !done.applied) {
            self.world.known().oracle.refused(&begun[0]);
            return;
        }
        self.world.end(&begun, (&place.table, begin), World::kept(durability), &result);
    }

    #[allow(clippy::type_complexity, reason = "what one deed needs of another")]
    fn lengthen(&mut self, place: &Place) -> Result<Option<(u64, Option<(Timestamp, SeqNo)>, Longer)>> {
        let Some(cell) = self.newest(place)? else { return Ok(None) };
        let begun = self.store.draft(&table_name(&place.table), "f", Some(&cell))?;
        let Some(mut draft) = begun else { return Ok(None) };
        let old = draft.read(0, usize::MAX)?;
        if self.world.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let number = number_of(&old);
        self.others_go_on();
        let version = Some((cell.timestamp, cell.seq));
        if self.chance.one_in(3) && old.len() < 100_000 {
            let tail = pattern(number, old.len() as u64 + LARGE).split_off(old.len());
            return Ok(Some((number, version, Longer::By(tail))));
        }
        let new = pattern(number, old.len() as u64 + 1 + self.chance.below(6_000));
        for _ in 0..self.chance.below(4) {
            let at = self.chance.below(old.len() as u64) as usize;
            draft.write(at as u64, &new[at..(at + 3_000).min(new.len())])?;
        }
        let from = draft.len() as usize;
        draft.write(from as u64, &new[from..])?;
        let value = draft.value()?;
        Ok((new.len() < 200_000).then_some((number, version, Longer::Whole(value))))
    }

    /// What a draft began with may be replaced, compacted and collected meanwhile.
    fn others_go_on(&mut self) {
        if self.chance.one_in(2) {
            sync::sleep(Duration::from_millis(self.chance.below(10_000)));
        }
    }

    fn newest(&self, place: &Place) -> Result<Option<CellInfo>> {
        let column = ColumnKey {
            table: table_name(&place.table),
            row: place.row.as_str().into(),
            family: "f".into(),
            qualifier: place.qualifier.as_str().into(),
        };
        match self.store.newest(&column, TimeRange::ALL) {
            Err(e) if e.kind == ErrorKind::NoSuchTable => Ok(None),
            found => found,
        }
    }

    fn put_value(
        &self,
        place: &Place,
        value: Value,
        condition: Option<Condition>,
        durability: Durability,
    ) -> Result<Mutated> {
        let put = PutCell { value, ..PutCell::new("f", place.qualifier.as_str(), Time::AfterNewest, "") };
        self.mutate_if(place, Mutation::Put(vec![put]), condition, durability)
    }

    fn mutate_if(
        &self,
        place: &Place,
        mutation: Mutation,
        condition: Option<Condition>,
        durability: Durability,
    ) -> Result<Mutated> {
        let mutations = RowMutations {
            table: table_name(&place.table),
            row: place.row.as_str().into(),
            mutations: vec![mutation],
            durability: Some(durability),
            origin: Origin(0),
        };
        self.store.mutate(mutations, condition)
    }
}

/// How a value gets longer.
enum Longer {
    Whole(Value),
    /// By an append that writes all of it anew, with the locks of a write held.
    By(Vec<u8>),
}

fn append_of(place: &Place, delta: Vec<u8>) -> Mutation {
    Mutation::Append(Append::to_newest(vec![ColumnDelta {
        family: "f".into(),
        qualifier: place.qualifier.as_str().into(),
        delta,
    }]))
}

/// So many bytes of a number, or a few more.
fn pattern(number: u64, len: u64) -> Vec<u8> {
    let mut text = format!("{number}.").into_bytes();
    let more = len.saturating_sub(text.len() as u64);
    text.extend((0..more).map(|at| (number.wrapping_mul(31).wrapping_add(at) % 251) as u8));
    text
}
