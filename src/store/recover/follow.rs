//! Which records of the log count, and what of it is gone: the files one after the other.

use std::path::Path;

use super::files::{Found, Read, Written};
use crate::log::{Damage, Record};
use crate::model::SeqNo;

/// What counts of the log.
#[derive(Default)]
pub struct Replay {
    /// Records that are in no extent, ascending.
    pub records: Vec<Record>,
    /// The last number of a record that counts, or that is covered.
    pub last: SeqNo,
    /// What was on the disk once and is gone.
    pub lost: Vec<Loss>,
    /// Damage by which nothing is lost.
    pub made_good: Vec<String>,
    /// What is left out behind a record that is not whole, as it never was.
    pub torn: Vec<String>,
    /// A file lacks what another has, which may not be on the disk.
    pub is_made_good_by_another: bool,
}

/// A part of the log that was on the disk once and is gone.
pub struct Loss {
    /// The numbers behind `after` up to `upto`.
    pub after: SeqNo,
    pub upto: SeqNo,
    /// Where it was, for people.
    pub text: String,
    /// Whether it is known which columns it was about.
    pub is_named: bool,
    /// Whether `upto` is the least that was lost: the next record that is whole tells.
    pub is_open: bool,
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
pub struct Known {
    /// In extents.
    pub covered: SeqNo,
    /// Up to where what is gone was there once.
    pub owed: SeqNo,
    /// The greatest number that anything stored has.
    pub greatest: SeqNo,
    pub written: Written,
}

impl Known {
    /// Up to where damage behind a record, all of which can be read, may be of what was there; `None`: it is what a power
    /// cut, or a kill, leaves.
    fn lost_upto(&self, damage: &Damage, last: SeqNo) -> Option<SeqNo> {
        let was_there = self.written == Written::ThisBoot && !damage.is_cut;
        let is_owed = last < self.owed;
        let upto = if was_there || self.written == Written::ThisBoot { SeqNo(u64::MAX) } else { self.owed };
        (was_there || is_owed).then_some(upto)
    }
}

/// A crash leaves nothing that cannot be read: it may have been acknowledged, and so may what is around it.
fn cannot_be_read(damage: &Damage) -> bool {
    damage.unreadable.is_some()
}

/// How many of what was found in each file, from the end, reach back to the last that cannot be read; 0: there is none.
struct Unreadable(Vec<usize>);

impl Unreadable {
    fn of(files: &[Read]) -> Self {
        let reach = |found: &[Found]| {
            let last = found.iter().rposition(|found| found.as_ref().is_err_and(cannot_be_read));
            last.map_or(0, |at| found.len() - at)
        };
        Self(files.iter().map(|file| reach(&file.found)).collect())
    }

    /// Whether something of it is among the `left` last of a file, or in a later one.
    fn is_behind(&self, file: usize, left: usize) -> bool {
        (1..=left).contains(&self.0[file]) || self.0[file + 1..].iter().any(|reach| *reach > 0)
    }
}

/// Follows the files. `damaged`: numbers of files that make no sense.
pub fn follow(files: Vec<Read>, damaged: &[u64], known: Known) -> Replay {
    let Known { covered, owed, greatest, .. } = known;
    let mut replay = Replay { last: covered, ..Replay::default() };
    let befores: Vec<Option<SeqNo>> = files.iter().map(|file| file.before).collect();
    let unreadable = Unreadable::of(&files);
    let (mut met_unreadable, mut is_torn) = (false, false);
    'files: for (at, file) in files.into_iter().enumerate() {
        // One of which not even the header is known may be of a later start, and count.
        if is_torn && !met_unreadable && file.before.is_some() {
            continue;
        }
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
                is_torn = true;
                continue;
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
                Err(damage) => {
                    let is_near = cannot_be_read(&damage) || unreadable.is_behind(at, all.len());
                    met_unreadable |= is_near;
                    let most = if is_near { Some(SeqNo(u64::MAX)) } else { known.lost_upto(&damage, replay.last) };
                    let Some(most) = most else {
                        replay.torn.extend(torn(&file.path, &damage, all));
                        is_torn = true;
                        continue 'files;
                    };
                    take_rest(&mut replay, &file.path, damage, most.min(before_next(all.as_slice())));
                }
            }
        }
    }
    replay.end_loss(greatest);
    replay
}

/// The greatest number that what stands before other records can have.
fn before_next(behind: &[Found]) -> SeqNo {
    let next = behind.iter().find_map(|found| found.as_ref().ok());
    next.map_or(SeqNo(u64::MAX), |record| SeqNo(record.seq.0.saturating_sub(1)))
}

/// The log ends with a record that is not whole, as a power cut leaves it. Whole ones behind it were never known to be on the
/// disk and do not count either.
fn torn(path: &Path, damage: &Damage, behind: impl Iterator<Item = Found>) -> Option<String> {
    let whole = behind.filter(|found| found.is_ok()).count();
    let (path, offset) = (path.display(), damage.offset);
    (whole > 0).then(|| {
        format!(
            "{path}, offset {offset}: the log ends here with a record that is not whole. The {whole} records behind it, \
             written in about the last second, are left out: they were not known to be on the disk"
        )
    })
}

/// What is left of a record that was on the disk, whose number is `most` at the most.
fn take_rest(replay: &mut Replay, path: &Path, damage: Damage, most: SeqNo) {
    let Damage { offset, seq, synced: _, cells, nameless, resume, unreadable, is_cut: _ } = damage;
    let upto = seq.unwrap_or(SeqNo(replay.last.0 + 1)).min(most);
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
    if upto <= replay.last {
        replay.made_good.push(format!("{place}: {what}; what it had is in another file"));
        replay.is_made_good_by_another = true;
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64) -> Record {
        Record { offset: 0, seq: SeqNo(seq), synced: SeqNo(0), cells: Vec::new() }
    }

    fn file(number: u64, before: Option<u64>, found: Vec<Found>) -> Read {
        let path = format!("log/{number:08}.log").into();
        let (before, is_headless) = (before.map(SeqNo), before.is_none());
        Read { number, before, is_headless, is_unreadable: false, path, found }
    }

    #[test]
    fn a_file_that_cannot_be_read_hides_records_behind_a_torn_one() {
        let torn = || Err(Damage { offset: 127, nameless: true, ..Damage::default() });
        let unreadable = || Err(Damage { unreadable: Some(0), nameless: true, ..Damage::default() });
        let known = |owed| Known { covered: SeqNo(0), owed, greatest: SeqNo(4), written: Written::Before };
        let files = |unknown: Vec<Found>| vec![file(1, Some(0), vec![Ok(record(1)), torn()]), file(2, None, unknown)];
        let replay = follow(files(vec![unreadable()]), &[], known(SeqNo(1)));
        assert_eq!(replay.records.len(), 1);
        let lost: Vec<_> = replay.lost.iter().map(|loss| (loss.after.0, loss.upto.0, loss.is_named)).collect();
        assert_eq!(lost, [(1, 2, false), (1, 4, false)]);
        // One that a power cut has torn as well says nothing.
        assert!(follow(files(vec![torn()]), &[], known(SeqNo(1))).lost.is_empty());
    }

    /// Else what was acknowledged goes without a word, where a write before it went astray.
    #[test]
    fn what_cannot_be_read_tells_that_what_is_before_it_was_there() {
        let (torn, offset) = (Damage { offset: 127, resume: Some(254), nameless: true, ..Damage::default() }, 254);
        let behind = |unreadable| Damage { offset, unreadable, nameless: true, ..Damage::default() };
        let known = Known { covered: SeqNo(0), owed: SeqNo(1), greatest: SeqNo(3), written: Written::Before };
        let lost = |behind| {
            let files = vec![file(1, Some(0), vec![Ok(record(1)), Err(torn.clone()), Err(behind)])];
            follow(files, &[], known).lost.len()
        };
        assert_eq!((lost(behind(Some(300))), lost(behind(None))), (2, 0));
        // In the next file.
        let next = |behind| {
            let files =
                vec![file(1, Some(0), vec![Ok(record(1)), Err(torn.clone())]), file(2, Some(2), vec![Err(behind)])];
            follow(files, &[], known).lost.len()
        };
        // And the gap between them.
        assert_eq!((next(behind(Some(300))), next(behind(None))), (3, 0));
    }

    #[test]
    fn a_damaged_record_takes_the_place_of_none_that_is_whole() {
        for nameless in [false, true] {
            // What the first file has too, without its header and that of its file.
            let copy = Damage { resume: Some(127), nameless, ..Damage::default() };
            let files = vec![
                file(1, Some(0), vec![Ok(record(1)), Ok(record(2))]),
                file(2, None, vec![Err(copy), Ok(record(3)), Ok(record(4))]),
            ];
            let known = Known { covered: SeqNo(0), owed: SeqNo(4), greatest: SeqNo(4), written: Written::Before };
            let replay = follow(files, &[], known);
            assert_eq!(replay.records.iter().map(|record| record.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
            assert_eq!((replay.lost.len(), replay.made_good.len()), (0, 1));
        }
    }
}
