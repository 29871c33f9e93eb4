//! What was measured, and the clocks that it is measured by.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::subjects::Who;

/// Figures by name and subject, one for each round.
#[derive(Default)]
pub struct Figures(BTreeMap<(&'static str, Who), Vec<f64>>);

impl Figures {
    /// Those of one subject.
    pub fn of(&mut self, who: Who) -> Notes<'_> {
        Notes { figures: self, who }
    }

    /// The middle one of the rounds.
    pub fn median(&self, name: &'static str, who: Who) -> Option<f64> {
        let mut sorted = self.0.get(&(name, who))?.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

/// Takes the figures of one subject.
pub struct Notes<'a> {
    figures: &'a mut Figures,
    pub who: Who,
}

impl Notes<'_> {
    pub fn note(&mut self, name: &'static str, figure: f64) {
        self.figures.0.entry((name, self.who)).or_default().push(figure);
    }

    /// What was noted last.
    pub fn last(&self, name: &'static str) -> Option<f64> {
        self.figures.0.get(&(name, self.who))?.last().copied()
    }
}

/// Processor time that the process has used.
pub struct Work(Duration);

impl Work {
    pub fn begin() -> Self {
        Self(Self::used())
    }

    fn used() -> Duration {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock").into()
    }

    pub fn seconds(&self) -> f64 {
        (Self::used() - self.0).as_secs_f64()
    }
}

/// Microseconds of processor time of each.
pub fn cpu_micros(times: u64, mut each: impl FnMut(u64)) -> f64 {
    let work = Work::begin();
    (0..times).for_each(&mut each);
    work.seconds() * 1e6 / times as f64
}

/// Microseconds by the clock of each.
pub fn micros(times: u64, mut each: impl FnMut(u64)) -> f64 {
    let started = Instant::now();
    (0..times).for_each(&mut each);
    started.elapsed().as_secs_f64() * 1e6 / times as f64
}
