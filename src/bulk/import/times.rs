//! The timestamps of records that say none, where a null came before them. Pure.
//!
//! All of an import has one timestamp, and a tombstone of HBase's rules hides what has its time, whenever that is put. So
//! what comes behind a null has the next one. Which one it is follows from the stream alone.

use std::collections::BTreeMap;

use crate::bulk::read::change::Change;
use crate::model::{DeleteKind, Qualifier, RowKey, Time, Timestamp};

/// Columns that are remembered at most, and bytes of their names; then all that follows has a time behind those of all of
/// them.
const MOST: usize = 100_000;
const MOST_BYTES: usize = 16 << 20;

/// A column, or a family (`None`), in which a null has come.
type Place = (RowKey, String, Option<Qualifier>);

/// What comes behind a null.
struct After {
    /// So many milliseconds behind the time of the import.
    by: i64,
    /// It has come.
    is_put: bool,
}

/// See the module.
#[derive(Default)]
pub struct Times {
    after: BTreeMap<Place, After>,
    /// Of the names in it.
    bytes: usize,
    least: i64,
}

impl Times {
    /// Sets the time of a change of a family of HBase's rules; `own` is that of the import.
    pub fn set(&mut self, row: &RowKey, change: &mut Change, own: Timestamp) {
        let time = |by: i64| Time::At(Timestamp(own.0.saturating_add(by).min(Timestamp::MAX.0)));
        match change {
            Change::DeleteNow(marker) => {
                let place = match &marker.kind {
                    DeleteKind::Column { family, qualifier } | DeleteKind::Version { family, qualifier } => {
                        (row.clone(), family.clone(), Some(qualifier.clone()))
                    }
                    DeleteKind::Family { family } | DeleteKind::FamilyVersion { family } => {
                        (row.clone(), family.clone(), None)
                    }
                    DeleteKind::Row => return,
                };
                marker.time = time(self.hide(place));
            }
            Change::Put(put) if put.time == Time::At(own) && !(self.after.is_empty() && self.least == 0) => {
                put.time = time(self.put((row.clone(), put.family.clone(), Some(put.qualifier.clone()))));
            }
            Change::Put(_) | Change::Delete(_) => {}
        }
    }

    /// How far behind the time of the import a null stands.
    fn hide(&mut self, place: Place) -> i64 {
        if let Some(same) = self.after.get(&place).filter(|same| !same.is_put && place.2.is_some()) {
            return same.by - 1;
        }
        let by = match &place.2 {
            Some(_) => self.by(&place),
            None => {
                let (row, family) = (&place.0, &place.1);
                let of_family = self.after.range(place.clone()..);
                let of_family = of_family.take_while(|(other, _)| (&other.0, &other.1) == (row, family));
                of_family.map(|(_, after)| after.by).fold(self.least, i64::max)
            }
        };
        if self.after.len() >= MOST || self.bytes >= MOST_BYTES {
            self.least = self.after.values().map(|after| after.by).fold(by, i64::max) + 1;
            self.after.clear();
            self.bytes = 0;
        }
        self.bytes += place.0.len() + place.1.len() + place.2.as_ref().map_or(0, Vec::len);
        self.after.insert(place, After { by: by + 1, is_put: false });
        by
    }

    /// The same of a put.
    fn put(&mut self, place: Place) -> i64 {
        let by = self.by(&place);
        if let Some(after) = self.after.get_mut(&place) {
            after.is_put = true;
        }
        by
    }

    fn by(&self, place: &Place) -> i64 {
        let of = |place: &Place| self.after.get(place).map_or(0, |after| after.by);
        self.least.max(of(place)).max(of(&(place.0.clone(), place.1.clone(), None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeleteMarker, PutCell};

    const OWN: Timestamp = Timestamp(100);

    fn put(times: &mut Times, qualifier: &str) -> Time {
        let cell = PutCell::new("f", qualifier.as_bytes(), Time::At(OWN), Vec::new());
        let mut change = Change::Put(cell);
        times.set(&b"r".to_vec(), &mut change, OWN);
        let Change::Put(put) = change else { panic!() };
        put.time
    }

    fn null(times: &mut Times, qualifier: Option<&str>) -> Time {
        let family = "f".to_owned();
        let kind = match qualifier {
            Some(qualifier) => DeleteKind::Column { family, qualifier: qualifier.into() },
            None => DeleteKind::Family { family },
        };
        let mut change = Change::DeleteNow(DeleteMarker { kind, time: Time::At(OWN), erases: false });
        times.set(&b"r".to_vec(), &mut change, OWN);
        let Change::DeleteNow(marker) = change else { panic!() };
        marker.time
    }

    #[test]
    fn what_comes_behind_a_null_is_later_and_nothing_else() {
        let (mut times, at) = (Times::default(), |time: i64| Time::At(Timestamp(time)));
        assert_eq!(
            (put(&mut times, "a"), null(&mut times, Some("a")), put(&mut times, "a")),
            (at(100), at(100), at(101))
        );
        assert_eq!(put(&mut times, "b"), at(100), "another column");
        assert_eq!((null(&mut times, Some("a")), null(&mut times, Some("a"))), (at(101), at(101)));
        assert_eq!((put(&mut times, "a"), put(&mut times, "a")), (at(102), at(102)));
        assert_eq!((null(&mut times, None), put(&mut times, "b"), put(&mut times, "a")), (at(102), at(103), at(103)));
        assert_eq!(
            (null(&mut times, Some("b")), put(&mut times, "b"), put(&mut times, "a")),
            (at(103), at(104), at(103))
        );
    }

    #[test]
    fn as_many_columns_are_remembered_as_there_is_room_for() {
        let mut times = Times::default();
        for n in 0..=MOST {
            null(&mut times, Some(&n.to_string()));
        }
        assert!(times.after.len() <= MOST);
        assert_eq!(put(&mut times, "0"), Time::At(Timestamp(102)));
    }
}
