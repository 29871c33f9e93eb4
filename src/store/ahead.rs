//! Timestamps that ran ahead of the clock: which were given by when.

use crate::env::sync::Mutex;
use crate::model::Timestamp;

/// Moments that are remembered.
const MOMENTS: usize = 1024;

/// See the module. Lock 6: clocks and the greatest timestamp that had been given then, both ascending.
#[derive(Default)]
pub struct Ahead(Mutex<Vec<(Timestamp, Timestamp)>>);

impl Ahead {
    /// A timestamp was given that is later than the clock.
    pub fn note(&self, clock: Timestamp, given: Timestamp) {
        let mut moments = self.0.lock();
        // A clock that was set back: what was given before was given by now.
        while moments.last().is_some_and(|(of, _)| *of > clock) {
            let last = moments.pop().map_or(given, |(_, last)| last);
            let merged = moments.last().map_or(last, |(_, before)| last.max(*before));
            match moments.last_mut() {
                Some(before) if before.0 >= clock => before.1 = merged,
                _ => {
                    moments.push((clock, merged));
                    break;
                }
            }
        }
        match moments.last_mut() {
            Some((_, last)) if *last >= given => return,
            Some((of, last)) if *of == clock => *last = given,
            _ => moments.push((clock, given)),
        }
        if moments.len() > MOMENTS {
            moments.remove(0);
        }
    }

    /// The greatest timestamp that had been given when the clock showed `time`.
    pub fn by(&self, time: Timestamp) -> Timestamp {
        let moments = self.0.lock();
        let given = moments.iter().rev().find(|(clock, _)| *clock <= time);
        given.map_or(time, |(_, given)| time.max(*given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_by_a_time_is_known_whichever_way_the_clock_goes() {
        let ahead = Ahead::default();
        let by = |time| ahead.by(Timestamp(time)).0;
        assert_eq!(by(7), 7);
        for (clock, given) in [(100, 101), (100, 150), (101, 140), (103, 160)] {
            ahead.note(Timestamp(clock), Timestamp(given));
        }
        assert_eq!([99, 100, 102, 103, 155, 161].map(by), [99, 150, 150, 160, 160, 161]);
        ahead.note(Timestamp(50), Timestamp(161));
        assert_eq!([49, 50, 100, 161].map(by), [49, 161, 161, 161]);
        for clock in 200..3000 {
            ahead.note(Timestamp(clock), Timestamp(clock + 10));
        }
        assert_eq!((by(2999), by(150)), (3009, 150), "long ago is forgotten");
    }
}
