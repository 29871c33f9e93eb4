//! What is known of the disk under a store: whether it is short of room, and when there is sense in looking for some.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::sizes::Sizes;
use crate::env::sync::{Condvar, Instant, Mutex};

/// So long a delete waits for room at most,
const DELETE_WAITS: Duration = Duration::from_mins(1);
/// and what takes room itself.
const PUT_WAITS: Duration = Duration::from_secs(10);
/// After room was looked for in vain it is looked for again after so many times the time that it took,
const REST: u32 = 10;
/// but not later than after so long or as long as it took: on a busy machine that says little about the work.
const REST_MAX: Duration = Duration::from_secs(2);

/// After others took what was given back of the reserve little is given for so long,
const TAKEN_REST: Duration = Duration::from_secs(10);
/// and each time that they did so again for twice as long, up to so long.
const TAKEN_REST_MAX: Duration = Duration::from_mins(10);

/// What is known of the disk under a store.
#[derive(Default)]
pub struct DiskRoom {
    pub sizes: Sizes,
    /// Nothing is written that only takes room.
    short: AtomicBool,
    /// Nothing is deleted either.
    out: AtomicBool,
    /// What is given back of the reserve others take at once, as was seen.
    taken: Mutex<Option<Taken>>,
    /// Bytes that were written since the room was looked at.
    unlooked: AtomicU64,
    /// Tombstones that were written.
    tombstones: AtomicU64,
    /// Values that were given up.
    given_up: AtomicU64,
    making: Mutex<Making>,
    made: Condvar,
    /// Held while the reserve is made.
    pub restoring: Mutex<()>,
}

/// That others took what was given back.
struct Taken {
    /// So long nothing is tried,
    until: Instant,
    /// which is after so long.
    rest: Duration,
}

/// How much may be given back for what makes room in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Giving {
    Freely,
    /// Others have taken it, some time ago: a little, to see whether they still do.
    Little,
    /// Others take it: what can be spared.
    Spare,
}

#[derive(Default)]
struct Making {
    /// How often making room has begun, and how often it has ended.
    begun: u64,
    rounds: u64,
    /// When there is sense in it again for what takes room, and for deletes; `None`: now.
    next: Option<Instant>,
    next_for_deletes: Option<Instant>,
    /// Tombstones that there were then.
    tombstones: u64,
}

/// What there was when room was looked for.
pub struct Round {
    pub began: Instant,
    tombstones: u64,
    given_up: u64,
}

/// What there is to wait for.
pub enum Prospect {
    Nothing,
    /// There is room by now.
    Room,
    /// Room is looked for the so manieth time; it is waited for until then at most.
    Round(u64, Instant),
}

impl DiskRoom {
    pub fn new(sizes: Sizes) -> Self {
        Self { sizes, ..Self::default() }
    }

    /// Whether nothing is written that only takes room.
    pub fn is_short(&self) -> bool {
        self.short.load(Ordering::Acquire)
    }

    /// Whether not even a delete is written.
    pub fn is_out(&self) -> bool {
        self.out.load(Ordering::Acquire)
    }

    /// So many bytes were written to the log, and tombstones among them.
    pub fn note_written(&self, bytes: u64, tombstones: u64) {
        self.unlooked.fetch_add(bytes, Ordering::AcqRel);
        self.tombstones.fetch_add(tombstones, Ordering::AcqRel);
    }

    /// Whether so much was written that the room is to be looked at.
    pub fn is_due(&self) -> bool {
        self.unlooked.load(Ordering::Acquire) >= self.sizes.look && self.unlooked.swap(0, Ordering::AcqRel) > 0
    }

    /// Waits a moment, or until room was made; whether there is time left.
    pub fn await_moment(&self, until: Instant) -> bool {
        const MOMENT: Duration = Duration::from_millis(20);
        let now = Instant::now();
        if now < until {
            let _ = self.made.wait_until(&mut self.making.lock(), until.min(now + MOMENT));
        }
        now < until
    }

    /// What was written in vain is given up: there is sense in making room at once.
    pub fn note_given_up(&self) {
        let mut making = self.making.lock();
        self.given_up.fetch_add(1, Ordering::AcqRel);
        making.next = None;
    }

    /// Room is looked for from now on.
    pub fn begin_round(&self) -> Round {
        self.making.lock().begun += 1;
        let count = |of: &AtomicU64| of.load(Ordering::Acquire);
        Round { began: Instant::now(), tombstones: count(&self.tombstones), given_up: count(&self.given_up) }
    }

    /// Room was looked for. What was given up meanwhile it may not have found, and where it found enough there is sense
    /// in looking again as soon as that is used up.
    pub fn end_round(&self, round: &Round) {
        let mut making = self.making.lock();
        making.rounds += 1;
        making.tombstones = round.tombstones;
        let is_known = self.given_up.load(Ordering::Acquire) == round.given_up;
        making.next = (is_known && self.is_short()).then(|| Instant::now() + rest_after(round.began.elapsed()));
        making.next_for_deletes = making.next.filter(|_| self.is_out());
        self.made.notify_all();
    }

    /// What there is to wait for, for who finds no room. `again`: room is looked for whatever was found the last time.
    pub fn prospect(&self, again: bool) -> Prospect {
        let mut making = self.making.lock();
        let (next, wait) =
            if self.is_out() { (making.next_for_deletes, DELETE_WAITS) } else { (making.next, PUT_WAITS) };
        let until = Instant::now() + wait;
        if let Some(next) = next.filter(|next| !again && *next > Instant::now()) {
            // What was deleted meanwhile is worth waiting for.
            if next > until || self.tombstones.load(Ordering::Acquire) == making.tombstones {
                return Prospect::Nothing;
            }
            while self.is_short() && !self.made.wait_until(&mut making, next).timed_out() {}
            if !self.is_short() {
                return Prospect::Room;
            }
        }
        // One that is under way has passed by what was given up or deleted since it began.
        Prospect::Round(making.begun + 1, until)
    }

    /// Waits until room was looked for so often; whether it was.
    pub fn await_round(&self, round: u64, until: Instant) -> bool {
        let mut making = self.making.lock();
        while making.rounds < round && !self.made.wait_until(&mut making, until).timed_out() {}
        making.rounds >= round
    }

    /// From now on nothing is written that only takes room; whether that is new.
    pub fn begins_short(&self) -> bool {
        !self.short.swap(true, Ordering::AcqRel)
    }

    /// There is room for anything.
    pub fn takes_all(&self) {
        *self.taken.lock() = None;
        self.short.store(false, Ordering::Release);
    }

    /// What was given back of the reserve is gone, and was not used.
    pub fn note_taken(&self, now: Instant) {
        let mut taken = self.taken.lock();
        let rest = match &*taken {
            Some(taken) if now < taken.until => return,
            Some(taken) => (taken.rest * 2).min(TAKEN_REST_MAX),
            None => TAKEN_REST,
        };
        *taken = Some(Taken { until: now + rest, rest });
    }

    /// How much of the reserve may be given back now for what makes room in the end.
    pub fn giving(&self, now: Instant) -> Giving {
        match &*self.taken.lock() {
            None => Giving::Freely,
            Some(taken) if now < taken.until => Giving::Spare,
            Some(_) => Giving::Little,
        }
    }

    /// Whether from now on nothing is deleted either.
    pub fn set_out(&self, is_out: bool) {
        self.out.store(is_out, Ordering::Release);
    }
}

/// How long room is not looked for after it was looked for during `elapsed`.
fn rest_after(elapsed: Duration) -> Duration {
    (REST * elapsed).min(elapsed.max(REST_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_took_long_is_not_waited_for_ten_times_as_long() {
        assert_eq!(rest_after(Duration::from_millis(50)), Duration::from_millis(500));
        assert_eq!(rest_after(Duration::from_millis(1500)), REST_MAX);
        assert_eq!(rest_after(Duration::from_secs(9)), Duration::from_secs(9));
    }

    /// Else a program that has filled the disk once keeps flushes from the reserve for good.
    #[test]
    fn who_takes_what_is_given_back_is_asked_again_ever_more_rarely() {
        let (room, start) = (DiskRoom::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(room.giving(start), Giving::Freely);
        room.note_taken(start);
        room.note_taken(after(1));
        assert_eq!([9, 10].map(|seconds| room.giving(after(seconds))), [Giving::Spare, Giving::Little]);
        room.note_taken(after(10));
        assert_eq!([29, 30].map(|seconds| room.giving(after(seconds))), [Giving::Spare, Giving::Little]);
        room.takes_all();
        assert_eq!(room.giving(after(11)), Giving::Freely);
    }

    /// Else who fills in that time what was found is refused, though most of what was written is garbage again.
    #[test]
    fn room_that_was_found_and_used_up_is_looked_for_again_at_once() {
        let room = DiskRoom::default();
        room.end_round(&room.begin_round());
        assert_eq!(room.making.lock().next, None);
    }

    /// Else whoever writes next is refused for ten times as long as the round took, on a disk that has room.
    #[test]
    fn what_is_given_up_while_room_is_made_is_looked_for_at_once() {
        let room = DiskRoom::default();
        room.short.store(true, Ordering::Release);
        room.end_round(&room.begin_round());
        assert!(room.making.lock().next.is_some());
        let round = room.begin_round();
        room.note_given_up();
        room.end_round(&round);
        assert_eq!(room.making.lock().next, None);
    }
}
