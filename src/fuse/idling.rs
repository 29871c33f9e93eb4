//! While requests follow each other closely, processors that have nothing to do poll in place of sleeping.
//!
//! A message goes from the processor of a program to one of the daemon's and back, and either sleeps meanwhile: to wake it
//! takes longer than the message, most of all in a virtual machine. While a file of the kernel is open to which was written
//! that a processor may take 0 us to wake, they poll (Linux, Documentation/power/pm_qos_interface.rst). Must not know what
//! is asked.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

use crate::env::sync::Instant;

/// Only root may open it.
const DEVICE: &str = "/dev/cpu_dma_latency";
/// How long a processor may take to wake, us; the second is the kernel's PM_QOS_CPU_LATENCY_DEFAULT_VALUE.
const AT_ONCE: i32 = 0;
const SOME_TIME: i32 = 2_000_000_000;
/// Requests that are close, if they come within this time; a fourth of them keeps the processors awake.
const CLOSE: u64 = 64;
const WITHIN: Duration = Duration::from_millis(20);
/// Processors of which one answers the other: with more, most would poll for nothing.
const FEW: std::ops::RangeInclusive<i64> = 2..=4;

/// What processors do that have nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// They poll while requests are close, where there are few of them.
    #[default]
    Auto,
    /// They poll while requests are close.
    Poll,
    /// As without a mount.
    Halt,
}

/// See the module.
pub struct Idling {
    /// Open from the begin, as a daemon that serves opens no devices. `None`: processors are left alone.
    device: Option<File>,
    requests: AtomicU64,
    began: Instant,
    /// When requests were counted last, us since the begin.
    counted_at: AtomicU64,
    awake: AtomicBool,
}

impl Idling {
    pub fn new(idle: Idle) -> Arc<Self> {
        let online = || sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        let polls = match idle {
            Idle::Auto => online().is_some_and(|all| FEW.contains(&all)),
            Idle::Poll => true,
            Idle::Halt => false,
        };
        // Who has asked for it is told.
        let level = if idle == Idle::Poll { log::Level::Warn } else { log::Level::Debug };
        let told = |e: &std::io::Error| log::log!(level, "open {DEVICE}: {e}; idle processors sleep");
        let open = || File::options().write(true).open(DEVICE).inspect_err(told);
        Arc::new(Self {
            device: polls.then(open).and_then(Result::ok),
            requests: AtomicU64::new(0),
            began: Instant::now(),
            counted_at: AtomicU64::new(0),
            awake: AtomicBool::new(false),
        })
    }

    /// A request has come.
    pub fn request(self: &Arc<Self>) {
        if self.device.is_some() && self.requests.fetch_add(1, Ordering::Relaxed) % CLOSE == CLOSE - 1 {
            self.count();
        }
    }

    fn count(self: &Arc<Self>) {
        let now = self.began.elapsed().as_micros() as u64;
        let before = self.counted_at.swap(now, Ordering::Relaxed);
        let are_close = Duration::from_micros(now.saturating_sub(before)) <= WITHIN;
        if !are_close || self.awake.swap(true, Ordering::Acquire) {
            return;
        }
        let own = Arc::clone(self);
        let thread = std::thread::Builder::new().name("cellfs-idling".to_owned());
        if let Err(e) = thread.spawn(move || own.keep_awake()) {
            log::debug!("start a thread that keeps processors awake: {e}");
            self.awake.store(false, Ordering::Release);
        }
    }

    /// Returns when requests have become rare.
    fn keep_awake(&self) {
        self.may_take(AT_ONCE);
        let mut before = self.requests.load(Ordering::Relaxed);
        loop {
            std::thread::sleep(WITHIN);
            let now = self.requests.load(Ordering::Relaxed);
            if now - before < CLOSE / 4 {
                break;
            }
            before = now;
        }
        self.may_take(SOME_TIME);
        self.awake.store(false, Ordering::Release);
    }

    /// Processors may take so long to wake, us.
    fn may_take(&self, micros: i32) {
        let Some(mut device) = self.device.as_ref() else { return };
        if let Err(e) = device.write_all(&micros.to_ne_bytes()) {
            log::debug!("write {micros} to {DEVICE}: {e}");
        }
    }
}
