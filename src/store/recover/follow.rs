//! Which records of the log count, and what of it is gone: the files one after the other.

use std::path::Path;

use super::{Found, Read, Written};
use crate::log::{Damage, Record};
use crate::model::SeqNo;

/// What counts of the log.
pub(super) struct Replay {
    /// Records that are in no extent, ascending.
    pub(super) records: Vec<Record>,
    /// The last number of a record that counts, or that is covered.
    pub(super) last: SeqNo,
    /// What was on the disk once and is gone.
    pub(super) lost: Vec<Loss>,
    /// Damage by which nothing is lost.
    pub(super) made_good: Vec<String>,
}

/// A part of the log that was on the disk once and is gone.
pub(super) struct Loss {
    /// The numbers behind `after` up to `upto`.
    pub(super) after: SeqNo,
    pub(super) upto: SeqNo,
    /// Where it was, for people.
    pub(super) text: String,
    /// Whether it is known which columns it was about.
    pub(super) is_named: bool,
    /// Whether `upto` is the least that was lost: the next record that is whole tells.
    pub(super) is_open: bool,
}

impl Replay {
    /// A whole record follows what was lost: how many records stood there is known by its number.
    fn close_loss(&mut self, next: SeqNo) {
        let Some(loss) = self.lost.last_mut().filter(|loss| loss.is_open) else { return };
        loss.is_open = false;
        loss.upto = loss.upto.max(SeqNo(next.0.saturating_sub(1)));
    }

    /// No record follows: what was lost may have been as late as anything that is stored.
    fn end_loss(&mut self, greatest: SeqNo) {
        if let Some(loss) = self.lost.last_mut().filter(|loss| loss.is_open) {
            loss.upto = loss.upto.max(greatest);
        }
    }
}

/// What is known of a log before it is followed.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// In extents.
    pub(super) covered: SeqNo,
    /// Up to where what is gone was there once.
    pub(super) owed: SeqNo,
    /// The greatest number that anything stored has.
    pub(super) greatest: SeqNo,
    pub(super) written: Written,
}

impl Known {
    /// Whether damage behind a record is of something that was there.
    fn was_there(&self, damage: &Damage, last: SeqNo) -> bool {
        last < self.owed || self.written == Written::ThisBoot && !damage.is_cut
    }
}

/// Follows the files. `damaged`: numbers of files that make no sense.
pub(super) fn follow(files: Vec<Read>, damaged: &[u64], known: Known) -> Replay {
    let Known { covered, owed, greatest, written } = known;
    let mut replay = Replay { records: Vec::new(), last: covered, lost: Vec::new(), made_good: Vec::new() };
    let befores: Vec<Option<SeqNo>> = files.iter().map(|file| file.before).collect();
    let mut met_unreadable = false;
    'files: for (at, file) in files.into_iter().enumerate() {
        let later: Vec<SeqNo> = befores[at + 1..].iter().flatten().copied().collect();
        let takes_over = later.iter().min().copied().unwrap_or(SeqNo(u64::MAX));
        let before = file.before.unwrap_or(replay.last);
        // All of it is in a later file.
        if takes_over <= before {
            continue;
        }
        // Without a header, numbers that are missing may never have been written.
        let tells_gaps = !file.is_headless || damaged.iter().any(|number| *number < file.number);
        if before > replay.last && tells_gaps {
            if before > owed && !met_unreadable {
                // What came before was never known to be on the disk, and neither is this.
                break;
            }
            let text = format!("{}: what was written before it is gone", file.path.display());
            replay.lost.push(Loss { after: replay.last, upto: before, text, is_named: false, is_open: false });
        }
        let mut all = file.found.into_iter();
        while let Some(found) = all.next() {
            if let Ok(record) = &found {
                replay.close_loss(record.seq);
            }
            match found {
                Ok(record) if record.seq > takes_over => continue 'files,
                Ok(record) if record.seq <= replay.last => {}
                Ok(record) => {
                    replay.last = record.seq;
                    replay.records.push(record);
                }
                // What follows is in a later file.
                Err(_) if later.iter().any(|before| *before <= replay.last) => continue 'files,
                // A crash leaves nothing that cannot be read: it may have been acknowledged, and so may what follows.
                Err(damage) if damage.unreadable.is_some() => {
                    met_unreadable = true;
                    take_rest(&mut replay, &file.path, damage, SeqNo(u64::MAX));
                }
                Err(damage) if known.was_there(&damage, replay.last) => {
                    let upto = if written == Written::ThisBoot { SeqNo(u64::MAX) } else { owed };
                    take_rest(&mut replay, &file.path, damage, upto);
                }
                Err(damage) => {
                    tell_torn(&file.path, &damage, all);
                    break 'files;
                }
            }
        }
    }
    replay.end_loss(greatest);
    replay
}

/// The log ends with a record that is not whole, as a power cut leaves it. Whole ones behind it were never known to be on the
/// disk and do not count either.
fn tell_torn(path: &Path, damage: &Damage, behind: impl Iterator<Item = Found>) {
    let whole = behind.filter(|found| found.is_ok()).count();
    if whole > 0 {
        let (path, offset) = (path.display(), damage.offset);
        log::warn!(
            "{path}, offset {offset}: the log ends here with a record that is not whole. The {whole} records behind it, \
             written in about the last second, are left out: they were not known to be on the disk"
        );
    }
}

/// What is left of a record that was on the disk.
fn take_rest(replay: &mut Replay, path: &Path, damage: Damage, owed: SeqNo) {
    let Damage { offset, seq, cells, nameless, resume, unreadable, is_cut: _ } = damage;
    let upto = seq.unwrap_or(SeqNo(replay.last.0 + 1)).min(owed);
    let names: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.whole)
        .take(3)
        .map(|cell| format!("{}:{}", cell.row.escape_ascii(), cell.qualifier.escape_ascii()))
        .collect();
    let what = match (nameless, names.is_empty()) {
        (false, false) => format!("the values of {} are damaged", names.join(", ")),
        _ => "a record is damaged".to_owned(),
    };
    let why = unreadable.map(|at| format!(": byte {at} cannot be read")).unwrap_or_default();
    let place = format!("{}, offset {offset}", path.display());
    let what = format!("{what}{why}");
    // Where no record follows, cells of it may be missing at its end.
    if nameless || !names.is_empty() || resume.is_none() {
        let (after, text) = (replay.last, format!("{place}: {what}"));
        replay.lost.push(Loss { after, upto, text, is_named: !nameless, is_open: nameless && seq.is_none() });
    } else {
        replay.made_good.push(format!("{place}: the header of a record is damaged{why}; its cells are used"));
    }
    // Without a header, any number before that of the next record keeps the order.
    let seq = if nameless { seq } else { Some(upto) };
    if let Some(seq) = seq.filter(|seq| *seq > replay.last) {
        replay.records.push(Record { offset, seq, synced: SeqNo(0), cells });
        replay.last = seq;
    }
}
