//! How long an operation may take, and how long to wait between its tries.

use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use super::deadline::bounded;
use super::error::{Error, Kind};

/// HBase's table of pauses (HConstants.RETRY_BACKOFF), in units of [`PAUSE`].
const BACKOFF: [u32; 13] = [1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200];
/// `hbase.client.pause`.
const PAUSE: Duration = Duration::from_millis(100);
/// The pause of an overloaded server is so many times longer.
const OVERLOADED: u32 = 3;

/// With so little left of its time an operation is not tried again.
const SHORT: Duration = Duration::from_millis(50);
/// A read is given no less, where there is so much: its answer may be late rather than lost.
const LATE: Duration = Duration::from_secs(2);
/// A try that had no more time than this may have failed for the lack of it.
const HASTY: Duration = Duration::from_secs(1);

/// A number that nobody else takes: each is the hash of nothing under a key of its own.
pub fn random() -> u64 {
    // No server takes zero, which stands for none.
    std::hash::RandomState::new().build_hasher().finish().max(1)
}

/// The tries of one operation.
pub struct Tries {
    what: String,
    until: Instant,
    allowed: Duration,
    /// What of it the work has that it is part of.
    given: Duration,
    tried: usize,
    /// What the try under way may take.
    part: Duration,
    /// How the last try failed that had time enough, or that a server has answered.
    cause: Option<Error>,
}

impl Tries {
    /// An operation that may take so long, all tries together.
    pub fn new(what: impl Into<String>, allowed: Duration) -> Self {
        let now = Instant::now();
        let until = bounded(now + allowed);
        let given = until.saturating_duration_since(now);
        Self { what: what.into(), until, allowed, given, tried: 0, part: given, cause: None }
    }

    /// What is left of its time.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// What the next call may take if it may be made twice, whatever it did. The first one leaves time for another, by a
    /// new connection: the way to a server may be cut, or an answer be lost, without a word.
    pub fn left_to_read(&self) -> Duration {
        let left = self.left();
        if self.tried == 0 { left.min((left / 3).max(LATE)) } else { left }
    }

    /// Its time begins anew: it has made progress.
    pub fn renew(&mut self) {
        (self.until, self.tried, self.cause) = (bounded(Instant::now() + self.allowed), 0, None);
        self.part = self.left();
    }

    /// How often it has failed.
    pub fn failures(&self) -> usize {
        self.tried
    }

    /// After a failure: waits for the next try, or gives the error that ends the operation.
    pub fn again(&mut self, error: Error) -> Result<(), Error> {
        if !error.may_pass() {
            return Err(error);
        }
        // A long pause leaves time for another try.
        let pause = pause(self.tried, error.kind).min(self.left() / 2);
        self.tried += 1;
        log::debug!("{}: {}; again in {pause:?}", self.what, error.text);
        let is_hasty = self.part < HASTY && matches!(error.kind, Kind::Lost | Kind::Unreachable);
        if self.cause.is_none() || !is_hasty {
            self.cause = Some(error);
        }
        if self.left() <= 2 * SHORT {
            let (what, tries, allowed) = (&self.what, self.tried, self.given);
            let cause = self.cause.as_ref().map_or("", |cause| &cause.text);
            let text = format!("{what} failed {tries} times within {allowed:.1?}, the last time so: {cause}");
            return Err(Error::new(Kind::TimedOut, text));
        }
        std::thread::sleep(pause);
        self.part = self.left();
        Ok(())
    }
}

/// Of the n-th failure; a region that has moved is asked for at once.
fn pause(tried: usize, kind: Kind) -> Duration {
    if tried == 0 && kind == Kind::Location || kind == Kind::Scanner {
        return Duration::from_millis(2);
    }
    let factor = BACKOFF[tried.min(BACKOFF.len() - 1)];
    let pause = PAUSE * factor * if kind == Kind::Overloaded { OVERLOADED } else { 1 };
    // One in a hundred, so that many clients do not come back at once.
    pause + pause.mul_f64((random() % 100) as f64 / 10_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_as_hbase_has_them_and_the_time_is_held() {
        let near = |tried, kind, ms: u64| {
            let found = pause(tried, kind);
            assert!((ms..=ms + ms / 90 + 1).contains(&(found.as_millis() as u64)), "{tried}: {found:?}");
        };
        near(0, Kind::Passing, 100);
        near(4, Kind::Lost, 1000);
        near(40, Kind::Location, 20_000);
        near(1, Kind::Overloaded, 600);
        let mut tries = Tries::new("a try", Duration::from_millis(250));
        let failed = || Error::new(Kind::Unreachable, "nobody");
        let started = Instant::now();
        let end = loop {
            match tries.again(failed()) {
                Ok(()) => assert!(started.elapsed() < Duration::from_millis(400)),
                Err(e) => break e,
            }
        };
        assert_eq!(end.kind, Kind::TimedOut);
        assert!(started.elapsed() >= Duration::from_millis(150), "{:?}", started.elapsed());
        assert!(end.text.starts_with("a try failed ") && end.text.ends_with("nobody"), "{}", end.text);
        assert_eq!(tries.again(Error::new(Kind::Refused, "no")).unwrap_err().kind, Kind::Refused);
    }

    #[test]
    fn a_read_leaves_time_to_ask_again_once() {
        let about = |tries: &Tries, ms: u64| {
            let left = tries.left_to_read().as_millis() as u64;
            assert!((ms - 50..=ms).contains(&left), "{left} for {ms}");
        };
        let mut tries = Tries::new("a read", Duration::from_secs(30));
        about(&tries, 10_000);
        tries.again(Error::new(Kind::Scanner, "gone")).unwrap();
        about(&tries, 30_000);
        tries.renew();
        about(&tries, 10_000);
        about(&Tries::new("a short read", Duration::from_secs(3)), 2000);
        about(&Tries::new("a shorter read", Duration::from_secs(1)), 1000);
    }

    #[test]
    fn what_the_server_has_said_is_told_rather_than_that_time_was_short() {
        let mut tries = Tries::new("a try", Duration::from_millis(500));
        tries.again(Error::new(Kind::Passing, "no room")).unwrap();
        let end = loop {
            if let Err(e) = tries.again(Error::new(Kind::Lost, "no answer within 1ms")) {
                break e;
            }
        };
        assert!(end.text.ends_with("no room"), "{}", end.text);
    }
}
