//! How often each request was made, and how long it took: a message that the kernel need not send costs nothing.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::env::sync::Mutex;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

macro_rules! operations {
    ($($variant:ident => $name:literal),+ $(,)?) => {
        /// A kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($variant),+
        }

        impl Operation {
            const ALL: &[Operation] = &[$(Operation::$variant),+];

            /// The name that refusals and statistics show.
            pub fn name(self) -> &'static str {
                match self {
                    $(Operation::$variant => $name),+
                }
            }
        }
    };
}

impl Operation {
    /// Whether such a request finds by its place what it tells of or changes. A rename is for itself; reads, which may take
    /// long, look at open files alone, whose states are locked while they move.
    pub fn goes_by_place(self) -> bool {
        match self {
            Self::Lookup | Self::GetAttr | Self::Access | Self::GetXattr | Self::ListXattr => true,
            Self::OpenDir | Self::ReadDir | Self::ReadDirPlus => true,
            Self::Mknod | Self::Mkdir | Self::Create | Self::Open | Self::Unlink | Self::Rmdir => true,
            Self::SetAttr | Self::SetXattr | Self::RemoveXattr | Self::Fallocate => true,
            Self::Write | Self::Flush | Self::Release | Self::Fsync => true,
            Self::Rename | Self::Read | Self::ReleaseDir | Self::FsyncDir | Self::StatFs => false,
            // These two are refused whatever the place.
            Self::Link | Self::Symlink => false,
        }
    }
}

operations! {
    Lookup => "lookup",
    GetAttr => "getattr",
    Access => "access",
    SetAttr => "setattr",
    Mknod => "mknod",
    Mkdir => "mkdir",
    Unlink => "unlink",
    Rmdir => "rmdir",
    Rename => "rename",
    Open => "open",
    Create => "create",
    Read => "read",
    Write => "write",
    Flush => "close",
    Release => "release",
    Fsync => "fsync",
    OpenDir => "opendir",
    ReadDir => "readdir",
    ReadDirPlus => "readdirplus",
    ReleaseDir => "releasedir",
    FsyncDir => "fsyncdir",
    StatFs => "statfs",
    SetXattr => "setxattr",
    GetXattr => "getxattr",
    ListXattr => "listxattr",
    RemoveXattr => "removexattr",
    Fallocate => "fallocate",
    Link => "link",
    Symlink => "symlink",
}

/// Latencies from 128 ns to 100 s, each to one part in a hundred: a histogram of some 24 KiB, made when it is needed.
const LEAST_NANOS: u64 = 128;
const MOST_NANOS: u64 = 100_000_000_000;
const DIGITS: u8 = 2;
/// Histograms a kind of request; threads share them so that they seldom meet.
const SHARDS: usize = 4;
/// What is told of a histogram.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// What was counted of one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationNumbers {
    pub name: String,
    pub count: u64,
    /// Those that were refused, also where a name was only looked for.
    pub failed: u64,
    /// Time in all of them together, nanoseconds.
    pub total_nanos: u64,
    /// Quantile (0 to 1) and latency in nanoseconds.
    pub quantiles: Vec<(f64, u64)>,
    pub max_nanos: u64,
}

#[derive(Default)]
struct Kind {
    count: AtomicU64,
    shards: [Shard; SHARDS],
}

/// Aligned so that threads do not share its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Measured>);

/// What some threads have measured.
#[derive(Default)]
struct Measured {
    failed: u64,
    nanos: u64,
    latencies: Option<Histogram<u64>>,
}

/// What is counted of each kind of request.
pub(in crate::fs) struct Counters([Kind; Operation::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Kind::default()))
    }
}

/// The shard of this thread.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
    OWN.with(|own| *own)
}

impl Counters {
    pub(in crate::fs) fn count(&self, operation: Operation) {
        self.0[operation as usize].count.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps how long a request took.
    pub(in crate::fs) fn measure(&self, operation: Operation, time: Duration, failed: bool) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(MOST_NANOS);
        let mut measured = self.0[operation as usize].shards[shard()].0.lock();
        measured.nanos += nanos;
        measured.failed += u64::from(failed);
        if measured.latencies.is_none() {
            measured.latencies = Histogram::new_with_bounds(LEAST_NANOS, MOST_NANOS, DIGITS).ok();
        }
        if let Some(latencies) = measured.latencies.as_mut() {
            latencies.saturating_record(nanos);
        }
    }

    /// What was counted of each kind that was asked for.
    pub(in crate::fs) fn numbers(&self) -> Vec<OperationNumbers> {
        let asked = Operation::ALL.iter().map(|operation| (operation, &self.0[*operation as usize]));
        let asked = asked.filter(|(_, kind)| kind.count.load(Ordering::Relaxed) > 0);
        asked.map(|(operation, kind)| kind.numbers(operation.name())).collect()
    }

    /// `name count`, a line each, for those that were made.
    pub(in crate::fs) fn text(&self) -> Vec<u8> {
        let mut text = String::new();
        for operation in Operation::ALL {
            let count = self.0[*operation as usize].count.load(Ordering::Relaxed);
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{} {count}", operation.name());
            }
        }
        text.into_bytes()
    }
}

impl Kind {
    fn numbers(&self, name: &str) -> OperationNumbers {
        let (mut all, mut failed, mut total_nanos) = (None::<Histogram<u64>>, 0, 0);
        for shard in &self.shards {
            let measured = shard.0.lock();
            failed += measured.failed;
            total_nanos += measured.nanos;
            match (&mut all, &measured.latencies) {
                // Both have the same bounds.
                (Some(all), Some(latencies)) => drop(all.add(latencies)),
                (None, Some(latencies)) => all = Some(latencies.clone()),
                _ => {}
            }
        }
        let quantile = |q: f64| all.as_ref().map_or(0, |all| all.value_at_quantile(q));
        OperationNumbers {
            name: name.to_owned(),
            count: self.count.load(Ordering::Relaxed),
            failed,
            total_nanos,
            quantiles: QUANTILES.iter().map(|q| (*q, quantile(*q))).collect(),
            max_nanos: all.as_ref().map_or(0, |all| all.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_come_from_all_threads() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..SHARDS {
                scope.spawn(|| {
                    for micros in 1..=100 {
                        counters.count(Operation::Read);
                        counters.measure(Operation::Read, Duration::from_micros(micros), micros == 7);
                    }
                });
            }
        });
        counters.count(Operation::Write);
        counters.measure(Operation::Write, Duration::from_secs(1000), false);
        let numbers = counters.numbers();
        assert_eq!(numbers.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(), ["read", "write"]);
        let read = &numbers[0];
        assert_eq!((read.count, read.failed, read.total_nanos), (400, 4, 4 * 5050 * 1000));
        for (quantile, micros) in [(0, 50.0), (1, 90.0), (2, 99.0)] {
            let is = read.quantiles[quantile].1 as f64 / 1000.0;
            assert!((is / micros - 1.0).abs() < 0.02, "{is} for {micros}");
        }
        assert!((numbers[1].max_nanos as f64 / MOST_NANOS as f64 - 1.0).abs() < 0.02, "kept within the bounds");
    }
}
