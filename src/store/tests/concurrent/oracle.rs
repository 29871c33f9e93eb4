//! What every cell may read as, while operations overlap, fail and are cut off.
//!
//! Each operation is an event with a beginning and an end. A read may show what an event has put unless another event
//! that surely took place began after its end and ended before the read began. What was read is an event too: whatever
//! ended before cannot be seen again. Sound and close to exact, as each put has a value of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::aging::Aging;
use super::events::{Certainty, Content, EXISTS, Event, EventId, Kept, Kind, Place, Puts, Shown, Tick};

/// See the module.
#[derive(Default)]
pub struct Oracle {
    tick: Tick,
    places: BTreeMap<Place, BTreeMap<usize, Event>>,
    next: usize,
    operations: u64,
    operation: u64,
    /// Values that expire, by their numbers, and when: `None` until that is known, `i64::MAX` where a copy may last longer.
    /// They hide nothing for good that was there before.
    fleeting: BTreeMap<u64, Option<i64>>,
    /// Values of a family with a TTL, by their numbers: none outlives what it hides.
    aging: Aging,
}

impl Oracle {
    /// What `begin` begins is one operation; its number.
    pub fn as_one<T>(&mut self, begin: impl FnOnce(&mut Self) -> T) -> (u64, T) {
        self.operations += 1;
        self.operation = self.operations;
        let begun = begin(self);
        self.operation = 0;
        (self.operations, begun)
    }

    pub fn tick(&mut self) -> Tick {
        self.tick += 1;
        self.tick
    }

    fn events(&mut self, place: &Place) -> &mut BTreeMap<usize, Event> {
        let never = Event {
            puts: Puts::OneOf(BTreeSet::from([None])),
            begin: 0,
            end: Some(0),
            certainty: Certainty::Sure,
            kept: Kept::Always,
            what: Kind::Other,
            operation: 0,
            source: None,
        };
        self.places.entry(place.clone()).or_insert_with(|| BTreeMap::from([(0, never)]))
    }

    fn add(&mut self, place: &Place, event: Event) -> EventId {
        self.next += 1;
        let id = self.next;
        self.events(place).insert(id, event);
        (place.clone(), id)
    }

    /// A value that expires; when is said once it is known.
    pub fn expires(&mut self, number: u64, at: Option<i64>) {
        let known = self.fleeting.entry(number).or_default();
        *known = known.or(at);
    }

    /// Whether a value must have expired by then.
    pub fn is_expired(&self, shown: Shown, now: i64) -> bool {
        let by_itself = shown.and_then(|number| self.fleeting.get(&number).copied().flatten());
        by_itself.is_some_and(|at| at < now) || self.aging.must_be_gone(shown, now)
    }

    /// What is known of the values of families with a TTL.
    pub fn aging(&mut self) -> &mut Aging {
        &mut self.aging
    }

    fn is_fleeting(&self, place: &Place, values: &BTreeSet<Shown>) -> bool {
        !place.row.is_empty() && values.iter().flatten().any(|number| self.fleeting.contains_key(number))
    }

    /// Whether what a place shows may expire by itself, and show again once the clock has stepped back.
    pub fn may_expire(&mut self, place: &Place) -> bool {
        self.events(place).clone().values().any(|event| match &event.puts {
            Puts::OneOf(values) => self.is_fleeting(place, values),
            Puts::CopyOf(_) | Puts::SameAs(_) => !self.fleeting.is_empty(),
        })
    }

    /// Copies may expire at another time.
    fn note_copied(&mut self, values: &BTreeSet<Shown>) {
        for number in values.iter().flatten() {
            self.fleeting.entry(*number).and_modify(|at| *at = Some(i64::MAX));
        }
        self.aging.note_copied(values);
    }

    /// An operation begins.
    pub fn begin(&mut self, place: &Place, puts: Puts, is_record: bool) -> EventId {
        let begin = self.tick();
        let what = if is_record { Kind::Record } else { Kind::Other };
        let (certainty, kept, operation) = (Certainty::Unknown, Kept::Always, self.operation);
        if let Puts::OneOf(values) = &puts {
            self.note_copied(values);
            self.aging.begin(values);
        }
        self.add(place, Event { puts, begin, end: None, certainty, kept, what, operation, source: None })
    }

    /// It was acknowledged. A copy is what its source may have shown.
    pub fn done(&mut self, (place, id): &EventId, kept: Kept) {
        let end = self.tick();
        let Some(mut event) = self.events(place).get(id).cloned() else { return };
        event = self.settled(event, end);
        let mut event = Event { end: Some(end), certainty: Certainty::Sure, kept, ..event };
        if let Puts::OneOf(values) = &mut event.puts
            && self.is_fleeting(place, values)
        {
            values.insert(None);
            (event.certainty, event.what) = (Certainty::Unknown, Kind::Other);
        }
        self.events(place).insert(*id, event);
    }

    /// What it copies is known now.
    fn settled(&mut self, mut event: Event, end: Tick) -> Event {
        let values = self.values(&event, end, 0);
        if !matches!(event.puts, Puts::OneOf(_)) {
            self.note_copied(&values);
        }
        let puts = Puts::OneOf(values);
        event.source.get_or_insert(std::mem::replace(&mut event.puts, puts));
        event
    }

    /// Its outcome is not known: what was copied may show, now or after a stop.
    pub fn unknown(&mut self, (place, id): &EventId) {
        let end = self.tick();
        let Some(mut event) = self.events(place).get(id).cloned() else { return };
        event = self.settled(event, end);
        self.events(place).insert(*id, Event { end: Some(end), certainty: Certainty::Unknown, ..event });
    }

    /// It was refused: nothing of it may ever be seen.
    pub fn refused(&mut self, (place, id): &EventId) {
        if let Some(event) = self.events(place).get_mut(id) {
            event.certainty = Certainty::Refused;
        }
    }

    /// What a place may show to a read that begins and ends then.
    fn may_show(&mut self, place: &Place, begin: Tick, end: Tick, depth: usize) -> BTreeSet<Shown> {
        self.may_show_but(0, place, (begin, end), depth)
    }

    /// As [`Oracle::may_show`], but for what one operation does itself.
    fn may_show_but(
        &mut self,
        operation: u64,
        place: &Place,
        (begin, end): (Tick, Tick),
        depth: usize,
    ) -> BTreeSet<Shown> {
        let mut events = self.events(place).clone();
        events.retain(|_, event| event.operation != operation || operation == 0);
        // Of those that are surely over before the read, the latest beginning.
        let is_sure = |e: &&Event| e.certainty == Certainty::Sure;
        let over =
            events.values().filter(is_sure).filter(|e| e.end.is_some_and(|at| at < begin)).map(|e| e.begin).max();
        let shows = |e: &&Event| {
            let covered = over.is_some_and(|later| e.end.is_some_and(|at| at < later));
            e.certainty != Certainty::Refused && e.begin <= end && !covered
        };
        let shown: Vec<&Event> = events.values().filter(shows).collect();
        shown.into_iter().flat_map(|event| self.values(event, end, depth)).collect()
    }

    /// What an event puts, as far as that is known by then.
    fn values(&mut self, event: &Event, end: Tick, depth: usize) -> BTreeSet<Shown> {
        match &event.puts {
            Puts::OneOf(values) => self.aging.aged(values),
            Puts::CopyOf(_) | Puts::SameAs(_) if depth > 4 => BTreeSet::new(),
            Puts::SameAs(source) => self.may_show_but(event.operation, source, (event.begin, end), depth + 1),
            Puts::CopyOf(source) => {
                let copied = self.may_show_but(event.operation, source, (event.begin, end), depth + 1);
                let may_expire = self.is_fleeting(source, &copied);
                copied.into_iter().filter(|shown| shown.is_some() || may_expire).collect()
            }
        }
    }

    /// Judges what a read that began then and ends now has shown.
    pub fn saw(&mut self, place: &Place, begin: Tick, shown: Shown) -> Result<(), String> {
        let end = self.tick();
        let may = self.may_show(place, begin, end, 0);
        if !may.contains(&shown) {
            let events = self.told(place);
            return Err(format!("{place:?} shows {shown:?} in {begin}..{end}, not one of {may:?}:\n{events}"));
        }
        let puts = Puts::OneOf(BTreeSet::from([shown]));
        let certainty = if self.may_expire(place) { Certainty::Unknown } else { Certainty::Sure };
        let kept = Kept::Nowhere;
        self.events(place).retain(|_, e| e.what != Kind::Seen || e.end.is_some_and(|at| at >= begin));
        let operation = 0;
        self.add(
            place,
            Event { puts, begin, end: Some(end), certainty, kept, what: Kind::Seen, operation, source: None },
        );
        Ok(())
    }

    /// What has happened to a place, for people.
    pub fn told(&mut self, place: &Place) -> String {
        let events: Vec<String> = self.events(place).values().map(|e| format!("{e:?}")).collect();
        events.join("\n")
    }

    /// Places of a table with a history.
    fn places_of(&self, table: &str) -> Vec<Place> {
        self.places.keys().filter(|place| place.table == table && !place.row.is_empty()).cloned().collect()
    }

    /// What the columns of a table may show from a moment on until now, but for what one operation does itself.
    pub fn content(&mut self, table: &str, begin: Tick, but: u64) -> Content {
        let end = self.tick();
        self.content_within(table, (begin, end), but)
    }

    /// As [`Oracle::content`], up to a moment.
    pub fn content_within(&mut self, table: &str, (begin, end): (Tick, Tick), but: u64) -> Content {
        let places = self.places_of(table);
        let content = places.into_iter().map(|p| {
            let shown = self.may_show_but(but, &p, (begin, end), 0);
            ((p.row, p.qualifier), shown)
        });
        content.collect()
    }

    /// An operation on all columns of a table begins; columns that are not named get nothing.
    pub fn begin_table(&mut self, table: &str, content: &Content, exists: bool) -> Vec<EventId> {
        let nothing = BTreeSet::from([None]);
        let mut columns: BTreeSet<(String, String)> = content.keys().cloned().collect();
        columns.extend(self.places_of(table).into_iter().map(|p| (p.row, p.qualifier)));
        let mut begun = vec![self.begin_existence(table, exists)];
        for (row, qualifier) in columns {
            let shown = content.get(&(row.clone(), qualifier.clone())).unwrap_or(&nothing).clone();
            begun.push(self.begin(&Place { table: table.into(), row, qualifier }, Puts::OneOf(shown), false));
        }
        begun
    }

    /// A table comes or goes.
    pub fn begin_existence(&mut self, table: &str, exists: bool) -> EventId {
        self.begin(&Place::table(table), Puts::OneOf(BTreeSet::from([exists.then_some(EXISTS)])), false)
    }

    /// All that was acknowledged before a moment is on the disk.
    pub fn synced(&mut self, before: Tick) {
        for event in self.places.values_mut().flat_map(BTreeMap::values_mut) {
            if event.what == Kind::Record && event.kept == Kept::Process && event.end.is_some_and(|end| end < before) {
                event.kept = Kept::Always;
            }
        }
    }

    /// The machine, or the process alone, has stopped: what was under way may have been done or not, and so may what
    /// is not kept. `untold`: what has ended since then may not be kept either.
    pub fn stopped(&mut self, is_power_cut: bool, untold: Option<Tick>) {
        let now = self.tick();
        let under_way = |event: &&Event| event.end.is_none() && !matches!(event.puts, Puts::OneOf(_));
        let copies: Vec<Event> = self.places.values().flat_map(BTreeMap::values).filter(under_way).cloned().collect();
        for copy in copies {
            let values = self.values(&copy, now, 0);
            self.note_copied(&values);
        }
        for events in self.places.values_mut() {
            events.retain(|_, event| event.what != Kind::Seen);
            for event in events.values_mut() {
                let lost = match event.kept {
                    Kept::Always => untold.is_some_and(|since| event.end.is_some_and(|end| end >= since)),
                    Kept::Process => is_power_cut,
                    Kept::Nowhere => true,
                };
                if event.certainty == Certainty::Sure && lost {
                    event.certainty = Certainty::Unknown;
                }
                event.end = event.end.or(Some(now));
            }
        }
        self.lose_copies();
    }

    /// What was copied of what may be lost may be what was there before.
    fn lose_copies(&mut self) {
        let is_copy = |e: &Event| matches!(e.source, Some(Puts::SameAs(_) | Puts::CopyOf(_)));
        let of_place = |(place, events): (&Place, &BTreeMap<usize, Event>)| -> Vec<EventId> {
            events.iter().filter(|(_, e)| is_copy(e)).map(|(id, _)| (place.clone(), *id)).collect()
        };
        let copies: Vec<EventId> = self.places.iter().flat_map(of_place).collect();
        // Copies of copies: as often as they may follow one another.
        for (place, id) in copies.iter().cycle().take(4 * copies.len()) {
            let Some(mut event) = self.events(place).get(id).cloned() else { continue };
            let (Some(source), Some(end)) = (event.source.clone(), event.end) else { continue };
            let more = self.values(&Event { puts: source, ..event.clone() }, end, 0);
            if let Puts::OneOf(values) = &mut event.puts {
                values.extend(more);
            }
            self.events(place).insert(*id, event);
        }
    }

    /// After a stop, of what all columns show: a record is lost although a later one is not.
    pub fn hole(&mut self, shown: &BTreeMap<Place, Shown>) -> Result<(), String> {
        let mut first_lost: Option<(Tick, Place)> = None;
        let mut last_kept: Option<(Tick, Place)> = None;
        for (place, shown) in shown {
            let events = self.events(place).clone();
            let shows = |e: &Event| matches!(&e.puts, Puts::OneOf(values) if self.aging.aged(values).contains(shown));
            for event in events.values().filter(|e| e.what == Kind::Record && e.kept == Kept::Process) {
                let Some(end) = event.end.filter(|_| event.certainty != Certainty::Refused) else { continue };
                let explained = events.values().any(|e| shows(e) && e.end.is_none_or(|at| at >= event.begin));
                if !explained && first_lost.as_ref().is_none_or(|(at, _)| end < *at) {
                    first_lost = Some((end, place.clone()));
                }
                let only = matches!(&event.puts, Puts::OneOf(values) if values.len() == 1) && shown.is_some();
                if only && shows(event) && last_kept.as_ref().is_none_or(|(at, _)| event.begin > *at) {
                    last_kept = Some((event.begin, place.clone()));
                }
            }
        }
        match (first_lost, last_kept) {
            (Some((lost, a)), Some((kept, b))) if kept > lost => {
                Err(format!("a record of {a:?} that ended at {lost} is lost, one of {b:?} that began at {kept} is not"))
            }
            _ => Ok(()),
        }
    }

    /// Forgets what can never be read again.
    pub fn prune(&mut self) {
        for events in self.places.values_mut() {
            let sure = |e: &&Event| e.certainty == Certainty::Sure && e.kept == Kept::Always && e.end.is_some();
            let Some(last) = events.values().filter(sure).map(|e| e.begin).max() else { continue };
            // Refused ones stay: they must never be seen.
            events.retain(|_, e| {
                e.certainty == Certainty::Refused || e.end.is_none_or(|end| end >= last) || e.begin >= last
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(value: u64) -> Puts {
        Puts::OneOf(BTreeSet::from([Some(value)]))
    }

    #[test]
    fn overlapping_puts_show_either_and_what_is_over_shows_no_more() {
        let (mut oracle, place) = (Oracle::default(), Place::column("t", "r", "q"));
        let one = oracle.begin(&place, put(1), true);
        oracle.done(&one, Kept::Always);
        let (two, three) = (oracle.begin(&place, put(2), true), oracle.begin(&place, put(3), true));
        let begin = oracle.tick();
        oracle.done(&three, Kept::Always);
        assert_eq!(oracle.may_show(&place, begin, begin, 0), BTreeSet::from([Some(1), Some(2), Some(3)]));
        oracle.done(&two, Kept::Always);
        let begin = oracle.tick();
        assert!(oracle.saw(&place, begin, Some(1)).is_err());
        assert!(oracle.saw(&place, begin, None).is_err());
        assert!(oracle.saw(&place, begin, Some(2)).is_ok());
        let begin = oracle.tick();
        assert!(oracle.saw(&place, begin, Some(3)).is_err(), "what was seen is over");
    }

    #[test]
    fn a_power_cut_takes_what_was_not_synced_and_a_refused_put_is_never_seen() {
        let (mut oracle, place) = (Oracle::default(), Place::column("t", "r", "q"));
        let one = oracle.begin(&place, put(1), true);
        oracle.done(&one, Kept::Process);
        let refused = oracle.begin(&place, put(2), true);
        oracle.refused(&refused);
        let mut cut = oracle.tick();
        assert!(oracle.saw(&place, cut, Some(2)).is_err());
        oracle.stopped(false, None);
        cut = oracle.tick();
        assert!(oracle.saw(&place, cut, None).is_err());
        oracle.stopped(true, None);
        cut = oracle.tick();
        assert!(oracle.saw(&place, cut, None).is_ok());
    }

    #[test]
    fn a_hole_in_what_is_left_is_found() {
        let mut oracle = Oracle::default();
        let (a, b) = (Place::column("t", "r", "a"), Place::column("t", "r", "b"));
        for (place, value) in [(&a, 1), (&b, 2)] {
            let begun = oracle.begin(place, put(value), true);
            oracle.done(&begun, Kept::Process);
        }
        oracle.stopped(true, None);
        let shown = |x, y| BTreeMap::from([(a.clone(), x), (b.clone(), y)]);
        assert!(oracle.hole(&shown(Some(1), None)).is_ok());
        assert!(oracle.hole(&shown(None, None)).is_ok());
        assert!(oracle.hole(&shown(None, Some(2))).is_err());
    }
}
