//! A session: the store it is on, its variables, where its statements come from and where its answers go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::tz::TimeZone;

use super::eval::failure::{Failure, Outcome};
use super::eval::value::Value;
use super::input::lines::{Line, Lines};
use super::lease::Lease;
use super::pace::Pace;
use super::print::Printer;
use crate::backend::Backend;

/// What an error does to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// It is printed, and the session goes on.
    Show,
    /// The same, and its status will be 1.
    Continue,
    /// It ends the session with status 1 (`-n`).
    Stop,
}

/// One user's session on one store.
pub struct Session<'o> {
    pub(super) lease: Lease,
    pub(super) pace: Pace,
    pub(super) printer: Printer<'o>,
    pub(super) variables: BTreeMap<String, Value>,
    /// Timestamps are shown in it.
    pub(super) zone: TimeZone,
    pub(super) lines: Box<dyn Lines + 'o>,
    pub(super) on_error: OnError,
    /// Lines read so far.
    pub(super) line: u64,
    /// Set by Ctrl-C: what runs ends.
    pub(super) interrupt: Arc<AtomicBool>,
    /// The status with the input's end: 1 once a statement has failed.
    pub(super) status: u8,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// By `exit`, or with the input; the status.
    Status(u8),
    /// By an error, under [`OnError::Stop`].
    Failed(String),
}

impl<'o> Session<'o> {
    /// A session on `backend` that reads `lines` and prints to `printer`.
    pub fn new(backend: Arc<dyn Backend>, lines: Box<dyn Lines + 'o>, printer: Printer<'o>, on_error: OnError) -> Self {
        Self::on(Lease::kept(backend), lines, printer, on_error)
    }

    /// As [`Session::new`], on a store that others may have meanwhile.
    pub fn on(lease: Lease, lines: Box<dyn Lines + 'o>, printer: Printer<'o>, on_error: OnError) -> Self {
        let zone = TimeZone::system();
        let interrupt = Arc::default();
        let (pace, variables) = (Pace::default(), BTreeMap::new());
        Self { lease, pace, printer, variables, zone, lines, on_error, line: 0, interrupt, status: 0 }
    }

    /// The store.
    pub(super) fn backend(&self) -> crate::Result<Arc<dyn Backend>> {
        self.lease.get()
    }

    /// Ends what runs when the flag is set, and takes it back.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Arc<AtomicBool>) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Shows timestamps in another time zone than this machine's.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Asks the user something; `None` at the end of the input.
    pub(super) fn ask(&mut self) -> Outcome<Option<String>> {
        self.printer.flush()?;
        let answer = match self.lines.next("").map_err(Failure::Output)? {
            Line::Text(answer) => Some(answer),
            Line::End => None,
            Line::Interrupted => return Err(Failure::Interrupted),
        };
        self.line += u64::from(answer.is_some());
        if let Some(answer) = answer.as_ref().filter(|_| self.lines.echoes()) {
            self.printer.line(answer)?;
        }
        Ok(answer)
    }
}
