//! The log, record by record: of a store that nobody has open, and of one that writes it.

use std::path::Path;

use super::walk::Checker;
use super::{Known, damage, note};
use crate::env::Env;
use crate::format::StoreId;
use crate::log::{self, Bytes, Damage, FoundCell, Log, Record, Walk, Written};
use crate::model::{SeqNo, to_string_binary};
use crate::store::health::lost::Lost;
use crate::store::health::{boot, lost};
use crate::store::recover::chunks::LeftOut;
use crate::{Result, error};

const NEVER_WHOLE: &str = "what was written last was never whole; the next start leaves it out";

/// What of a file has to be whole.
#[derive(Clone, Copy)]
enum Owed {
    /// What is known to have been on the disk: a crash may have left less than was written.
    Synced(Known),
    /// All behind a number but a record within which a file ends: nothing but a kill has ended what wrote it.
    Written(SeqNo),
    /// The records behind the one number up to the other: what a crash has left behind them was read by the start that
    /// came after, and is in a later file.
    UpTo(SeqNo, SeqNo),
    /// All of it.
    Everything,
}

/// What is done with each record that is whole, of a file.
type Take<'t, 'f> = &'t mut dyn FnMut(&mut Checker<'f>, &str, &Record) -> Result<()>;

impl<'f> Checker<'f> {
    /// Reads the log of a store that nobody has open; what a start takes from it is counted elsewhere.
    pub fn log(
        &mut self,
        env: &dyn Env,
        dir: &Path,
        store: &StoreId,
        known: Known,
        left_out: Option<LeftOut>,
    ) -> Result<()> {
        let mut last = known.0;
        let is_as_written = boot::is_same(env, dir.parent().unwrap_or(dir));
        let owed = |upto: SeqNo| match upto.0 {
            u64::MAX if is_as_written => Owed::Written(known.0),
            u64::MAX => Owed::Synced(known),
            _ => Owed::UpTo(known.0, upto.min(known.1)),
        };
        for (number, upto) in log::counting(env, dir, store)? {
            let path = log::path_of(dir, number).display().to_string();
            let bytes = match Bytes::of(env, dir, number) {
                Ok(bytes) => bytes,
                Err(e) => {
                    self.unread(path, e)?;
                    continue;
                }
            };
            let (is_void, unreadable) = (bytes.is_void(), bytes.refused());
            match Walk::of(bytes, number, store) {
                Ok(Some(walk)) => {
                    let mut take = |checker: &mut Self, path: &str, record: &Record| match left_out {
                        Some(left) if record.seq == left.first && record.seq <= upto => {
                            checker.left_out(path, record, left.records)
                        }
                        _ => Ok(()),
                    };
                    last = last.max(self.records(path, walk, owed(upto), &mut take)?.min(upto));
                }
                Ok(None) if is_void => {}
                // Nothing of it is needed: a power cut has brought back the name of one that was removed.
                Ok(None) if upto <= known.0 => {}
                Ok(None) => self.damage(path, unreadable, nothing_whole(unreadable))?,
                Err(e) => self.unread(path, e)?,
            }
        }
        let is_known = |lost: &Lost| lost.explains(last, known.1);
        if last < known.1 && !lost::read(env, dir.parent().unwrap_or(dir))?.iter().any(is_known) {
            let text = format!("it ends with number {}, though up to {} it was on the disk once", last.0, known.1.0);
            self.damage(dir.display().to_string(), None, text)?;
        }
        Ok(())
    }

    /// Tells of whole records that never were, as something that they need has not come to the disk.
    fn left_out(&mut self, path: &str, first: &Record, records: usize) -> Result<()> {
        self.summary.notes += 1;
        let text = format!(
            "{NEVER_WHOLE}: {records} records from here on, the first of which leads to a large value that has not come to \
             the disk"
        );
        (self.tell)(note(path.to_owned(), Some(first.offset), text))
    }

    /// Reads what an open store has written to its log, up to the last whole record of each file. What is behind
    /// `counted` is in no extent that was read; `covered` asks up to where files may have gone meanwhile.
    pub fn open_log(
        &mut self,
        env: &dyn Env,
        store: &StoreId,
        log: &Log,
        (counted, covered): (SeqNo, &dyn Fn() -> SeqNo),
    ) -> Result<()> {
        let is_poisoned = log.poison().is_some();
        // After a failed sync the disk may have less than was written, as after a crash.
        let mut upto = if is_poisoned { log.synced_record() } else { SeqNo(u64::MAX) };
        // From the newest to the oldest: a later file takes over from the number that its header names.
        for file in log.written_files().into_iter().rev() {
            let path = file.path.display().to_string();
            let Some(bytes) = self.written(env, &file, covered)? else { continue };
            let all = log.has_begun(file.number) && !is_poisoned;
            let owed = if all { Owed::Everything } else { Owed::UpTo(covered(), upto) };
            let unreadable = bytes.refused();
            match Walk::of(bytes, file.number, store) {
                Ok(Some(walk)) => {
                    let before = upto.min(walk.header.before);
                    let mut take = |checker: &mut Self, _: &str, record: &Record| {
                        if record.seq > counted && record.seq <= upto {
                            checker.count(record);
                        }
                        Ok(())
                    };
                    self.records(path, walk, owed, &mut take)?;
                    upto = before;
                }
                Ok(None) => self.damage(path, unreadable, nothing_whole(unreadable))?,
                Err(e) => self.unread(path, e)?,
            }
        }
        Ok(())
    }

    /// What is written of a file; `None`: it cannot be read, which is told, or has gone.
    fn written(&mut self, env: &dyn Env, file: &Written, covered: &dyn Fn() -> SeqNo) -> Result<Option<Bytes>> {
        let shown = || file.path.display().to_string();
        let mut bytes = match Bytes::at(env, &file.path) {
            Ok(bytes) => bytes,
            // All of it is in extents.
            Err(_) if file.last <= covered() => return Ok(None),
            Err(e) => return self.unread(shown(), e).map(|()| None),
        };
        let end = file.end.unwrap_or(bytes.length());
        if bytes.length() < end {
            let text = format!("it has {} bytes, and {end} were written", bytes.length());
            self.damage(shown(), None, text)?;
        }
        // Behind it somebody writes.
        bytes.truncate(end);
        Ok(Some(bytes))
    }

    /// The number of the last record.
    fn records(&mut self, path: String, mut walk: Walk<'_>, owed: Owed, take: Take<'_, 'f>) -> Result<SeqNo> {
        if walk.is_headless && owed.has_header(walk.header.before) {
            let text = "the header is damaged; the records are whole without it".to_owned();
            self.damage(path.clone(), Some(0), text)?;
        }
        let mut last = walk.header.before;
        let mut found = std::iter::from_fn(|| walk.next_found()).peekable();
        while let Some(one) = found.next() {
            match one {
                Ok(record) => {
                    last = record.seq;
                    take(self, &path, &record)?;
                }
                Err(broken) if owed.has(&broken, last, found.peek().and_then(number_of)) => {
                    self.summary.damages += 1;
                    let cell = damaged_cells(&broken.cells, broken.nameless);
                    let why = broken.unreadable.map(|at| format!(": byte {at} cannot be read")).unwrap_or_default();
                    let text = format!("a record is not whole{why}");
                    (self.tell)(damage(path.clone(), Some(broken.offset), cell, text))?;
                }
                Err(broken) if matches!(owed, Owed::Synced(_) | Owed::Written(_)) => {
                    self.summary.notes += 1;
                    (self.tell)(note(path.clone(), Some(broken.offset), NEVER_WHOLE.to_owned()))?;
                }
                Err(_) => {}
            }
        }
        Ok(last)
    }
}

impl Owed {
    /// Whether the header of a file has to be whole whose first record follows `before`.
    fn has_header(self, before: SeqNo) -> bool {
        if let Self::UpTo(covered, upto) = self { before.max(covered) < upto } else { true }
    }

    /// Whether what is not whole, between the records `last` and `next`, has to be.
    fn has(self, found: &Damage, last: SeqNo, next: Option<SeqNo>) -> bool {
        match (self, found.seq) {
            (Self::Everything, _) => true,
            (Self::Written(covered), seq) => !found.is_cut && seq.is_none_or(|seq| seq > covered),
            (Self::UpTo(covered, upto), Some(seq)) => seq > covered && seq <= upto,
            (Self::UpTo(covered, upto), None) => {
                last.max(covered) < upto.min(next.map_or(upto, |next| SeqNo(next.0.saturating_sub(1))))
            }
            (Self::Synced((covered, synced)), _) => {
                let is_refused = found.unreadable.is_some() && found.seq.is_none_or(|seq| seq > covered);
                found.seq.is_some_and(|seq| seq <= synced && seq > covered) || found.resume.is_some() || is_refused
            }
        }
    }
}

/// What is told of a file of which no record is whole.
fn nothing_whole(unreadable: Option<u64>) -> String {
    match unreadable {
        Some(at) => format!("byte {at} cannot be read, and no record of it is whole"),
        None => "it is no file of this log, or damaged all over".to_owned(),
    }
}

/// The number of a record, damaged or not, if it is known.
fn number_of(found: &std::result::Result<Record, Damage>) -> Option<SeqNo> {
    found.as_ref().map_or_else(|damage| damage.seq, |record| Some(record.seq))
}

/// The cells of a record that are not whole, for people; `None`: nothing is known of them.
fn damaged_cells(cells: &[FoundCell], nameless: bool) -> Option<String> {
    let name = |bytes: &[u8]| error::printable(&to_string_binary(bytes));
    let damaged = cells.iter().filter(|cell| !cell.whole);
    let mut names: Vec<String> =
        damaged.map(|cell| format!("row {}, column {}", name(&cell.row), name(&cell.qualifier))).collect();
    if nameless && !names.is_empty() {
        names.push("others".to_owned());
    }
    (!names.is_empty()).then(|| names.join("; "))
}
