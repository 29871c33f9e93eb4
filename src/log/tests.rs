//! What is appended comes back; what is damaged is told, and costs no neighbour.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::Result;
use crate::env::{CrashMode, Env, FailMode, SimEnv};
use crate::model::{CellKind, FamilyId, SeqNo, Tags, Timestamp, ValueBytes};

const DIR: &str = "/store/log";
const STORE: crate::format::StoreId = [5; 16];

fn begun(env: &SimEnv) -> Log {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    env.create_dir(Path::new(DIR)).unwrap();
    let header = FileHeader { number: 1, before: SeqNo(0), edit: 1 };
    let whole = write_whole(&*env, Path::new(DIR), &STORE, (header, SeqNo(u64::MAX)), &mut |_| Ok(())).unwrap();
    Log::open(env, Path::new(DIR), STORE, (whole, SeqNo(0)), Vec::new())
}

fn cell<'a>(row: &'a [u8], value: &'a [u8], tags: &'a Tags) -> LogCell<'a> {
    let (family, timestamp, kind) = (FamilyId(2), Timestamp(77), CellKind::Put);
    LogCell { family, row, qualifier: b"q", timestamp, kind, tags, value: ValueBytes::Bytes(value) }
}

fn bytes_of(env: &SimEnv, number: u64) -> Vec<u8> {
    env.read_file(&path_of(Path::new(DIR), number)).unwrap()
}

fn walked(bytes: Vec<u8>, number: u64) -> (Vec<Record>, Vec<Damage>) {
    let (mut records, mut damages) = (Vec::new(), Vec::new());
    if let Some(mut walk) = Walk::of(bytes, number, &STORE).unwrap() {
        while let Some(found) = walk.next_found() {
            match found {
                Ok(record) => records.push(record),
                Err(damage) => damages.push(damage),
            }
        }
    }
    (records, damages)
}

/// A batch that nobody looks at.
struct Cells<'c>(&'c [LogCell<'c>]);

impl Batch for Cells<'_> {
    fn each(&self, take: &mut TakeCell<'_>) -> Result<()> {
        self.0.iter().try_for_each(take)
    }

    fn publish(&mut self, _seq: SeqNo) {}
}

fn append(log: &Log, cells: &[LogCell<'_>]) -> Result<SeqNo> {
    log.append(&mut Cells(cells))
}

#[test]
fn a_file_that_is_covered_during_a_sync_is_not_missed() {
    let env = SimEnv::new();
    let log = begun(&env);
    let tags = Tags::default();
    let seq = append(&log, &[cell(b"r", b"v", &tags)]).unwrap();
    let covered = || {
        log.make_spare(2)?;
        log.roll(1, |_| ())?;
        log.remove_covered(seq, Becomes::Gone);
        Ok(())
    };
    log.sync_to(seq, &covered).unwrap();
    assert!(!env.exists(&path_of(Path::new(DIR), 1)).unwrap());
    assert_eq!((log.poison(), log.synced()), (None, seq));
    // What somebody else removes is.
    let seq = append(&log, &[cell(b"r", b"w", &tags)]).unwrap();
    env.remove(&path_of(Path::new(DIR), 2)).unwrap();
    log.sync_to(seq, &|| Ok(())).unwrap_err();
    assert!(log.poison().is_some());
}

/// A log with a record that somebody has cut off, and one before it.
fn cut_by_somebody() -> (SimEnv, Log) {
    let env = SimEnv::new();
    let log = begun(&env);
    append(&log, &[cell(b"r", b"v", &Tags::default())]).unwrap();
    log.sync_to(log.written(), &|| Ok(())).unwrap();
    append(&log, &[cell(b"r", b"w", &Tags::default())]).unwrap();
    let end = log.written_files()[0].end.unwrap();
    env.damage(&path_of(Path::new(DIR), 1), |bytes| bytes.truncate(end as usize - 1)).unwrap();
    (env, log)
}

#[test]
fn what_somebody_cuts_off_is_missed_by_the_next_sync() {
    let (_env, log) = cut_by_somebody();
    log.sync_to(log.written(), &|| Ok(())).unwrap_err();
    assert!(log.poison().is_some_and(|text| text.contains("it was cut short")));
}

#[test]
fn a_file_that_somebody_has_cut_becomes_no_longer_by_what_fits_into_no_window() {
    let (env, log) = cut_by_somebody();
    let len = bytes_of(&env, 1).len();
    append(&log, &[cell(b"r", &[1; 2000], &Tags::default())]).unwrap_err();
    assert!(log.poison().is_some_and(|text| text.contains("it was cut short")));
    assert_eq!(bytes_of(&env, 1).len(), len);
}

#[test]
fn room_that_was_taken_ahead_is_given_back() {
    let env = SimEnv::new();
    let log = begun(&env);
    append(&log, &[cell(b"r", b"v", &Tags::default())]).unwrap();
    let len = |env: &SimEnv| bytes_of(env, 1).len() as u64;
    let end = log.written_files()[0].end.unwrap();
    assert!(len(&env) > end);
    log.trim();
    assert_eq!(len(&env), end);
    append(&log, &[cell(b"r", b"w", &Tags::default())]).unwrap();
    assert_eq!(walked(bytes_of(&env, 1), 1).0.len(), 2);
}

/// The third call removes the file; that it stays is nothing to a later one.
#[test]
fn a_file_for_which_there_is_no_descriptor_is_made_later() {
    let places = [(1, FailMode::Once), (2, FailMode::Once), (1, FailMode::Forever), (2, FailMode::Forever)];
    for ((call, mode), errno) in places.into_iter().flat_map(|place| [libc::EMFILE, libc::ENFILE].map(|e| (place, e))) {
        let env = SimEnv::new();
        let log = begun(&env);
        let tags = Tags::default();
        append(&log, &[cell(b"a", b"v", &tags)]).unwrap();
        env.fail_call(call, mode, errno);
        let refused = log.make_spare(2).unwrap_err();
        assert!(refused.message.contains("limit") || refused.message.contains("fs.file-max"), "{refused}");
        assert_eq!((log.poison(), log.needs_spare()), (None, true), "call {call} fails {mode:?} with {errno}");
        env.heal();
        append(&log, &[cell(b"b", b"v", &tags)]).unwrap();
        log.make_spare(3).unwrap();
        assert_eq!(log.roll(1, |last| last).unwrap(), Some(SeqNo(2)));
        let last = append(&log, &[cell(b"c", b"v", &tags)]).unwrap();
        log.sync_to(last, &|| Ok(())).unwrap();
        env.crash(CrashMode::LoseUnsynced);
        let records = [1, 3].map(|number| walked(bytes_of(&env, number), number).0.len());
        assert_eq!(records, [2, 1], "call {call} fails {mode:?} with {errno}");
    }
    // Any other failure of that sync is one.
    let env = SimEnv::new();
    let log = begun(&env);
    env.fail_call(2, FailMode::Once, libc::EIO);
    log.make_spare(2).unwrap_err();
    assert!(log.poison().is_some());
}

#[test]
fn records_come_back_over_several_files() {
    let env = SimEnv::new();
    let log = begun(&env);
    let tags = Tags { ttl_ms: Some(9), ..Tags::default() };
    for n in 0..20u8 {
        if n == 10 {
            assert!(log.roll(1, |_| ()).unwrap().is_none());
            log.make_spare(2).unwrap();
            assert_eq!(log.roll(1, |last| last).unwrap(), Some(SeqNo(10)));
        }
        append(&log, &[cell(&[n], &[n; 100], &tags), cell(&[n, 1], b"", &tags)]).unwrap();
    }
    log.sync_to(log.written(), &|| Ok(())).unwrap();
    assert_eq!(log.synced(), SeqNo(20));
    for number in [1, 2] {
        let (records, damages) = walked(bytes_of(&env, number), number);
        assert!(damages.is_empty());
        assert_eq!(records.len(), 10);
        assert_eq!(records[3].cells[0].value.len(), 100);
        assert_eq!(records[3].cells[0].tags, tags);
    }
    log.remove_covered(SeqNo(10), Becomes::Gone);
    assert_eq!(list(&env, Path::new(DIR)).unwrap(), [2]);
}

#[test]
fn every_damaged_bit_costs_at_most_its_record() {
    let env = SimEnv::new();
    let log = begun(&env);
    for n in 0..4u8 {
        append(&log, &[cell(&[n], &[n; 9], &Tags::default()), cell(&[n, 1], b"xy", &Tags::default())]).unwrap();
    }
    let bytes = bytes_of(&env, 1);
    let (whole, _) = walked(bytes.clone(), 1);
    // Behind the records there is room.
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(end < bytes.len());
    for at in HEADER as usize * 8..end * 8 {
        let mut damaged = bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        let (records, damages) = walked(damaged, 1);
        assert_eq!((records.len(), damages.len()), (3, 1), "bit {at}");
        assert!(records.iter().all(|record| whole.contains(record)));
        let cells = damages[0].cells.iter().filter(|cell| cell.whole);
        assert!(cells.into_iter().all(|cell| whole.iter().any(|record| record.cells.contains(cell))));
    }
}

#[test]
fn records_of_another_place_are_none() {
    let env = SimEnv::new();
    let log = begun(&env);
    append(&log, &[cell(b"a", b"b", &Tags::default())]).unwrap();
    let bytes = bytes_of(&env, 1);
    let (head, record) = bytes.split_at(HEADER as usize);
    let twice = [head, record, record].concat();
    assert_eq!(walked(twice, 1).0.len(), 1);
    assert!(Walk::of(bytes.clone(), 2, &STORE).unwrap().is_none());
    assert!(Walk::of(bytes, 1, &[6; 16]).unwrap().is_none());
}

proptest! {
    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let header = FileHeader { number: 1, before: SeqNo(0), edit: 1 }.encode(&STORE);
        bytes.splice(0..0, header);
        walked(bytes, 1);
    }
}

/// Forty records in one file, on the disk.
fn forty(env: &SimEnv) {
    let (log, tags) = (begun(env), Tags::default());
    for n in 0..40u8 {
        append(&log, &[cell(&[n], &[n; 90], &tags)]).unwrap();
    }
    log.sync_to(log.written(), &|| Ok(())).unwrap();
}

#[test]
fn a_sector_that_cannot_be_read_costs_the_records_that_it_touches() {
    let env = SimEnv::new();
    forty(&env);
    let (bytes, path) = (bytes_of(&env, 1), path_of(Path::new(DIR), 1));
    let (all, _) = walked(bytes.clone(), 1);
    let ends = all.iter().skip(1).map(|record| record.offset).chain([bytes.len() as u64]);
    let places: Vec<(u64, u64)> = all.iter().map(|record| record.offset).zip(ends).collect();
    for sector in (0..bytes.len() as u64).step_by(512) {
        let env = SimEnv::new();
        forty(&env);
        env.spoil(&path, sector).unwrap();
        let found = Bytes::of(&env, Path::new(DIR), 1).unwrap();
        assert_eq!((found.length(), found.refused()), (bytes.len() as u64, Some(sector)));
        let mut walk = Walk::of(found, 1, &STORE).unwrap().unwrap();
        let found: Vec<_> = std::iter::from_fn(|| walk.next_found()).collect();
        let whole: Vec<&Record> = found.iter().flatten().collect();
        for (record, (begin, end)) in all.iter().zip(&places) {
            let is_apart = *end <= sector || sector + 512 <= *begin;
            assert_eq!(whole.contains(&record), is_apart, "sector {sector}, record at {begin}");
        }
        let refused = found.iter().filter_map(|found| found.as_ref().err()?.unreadable);
        assert_eq!(refused.min(), Some(sector.max(HEADER)), "sector {sector}");
        env.heal_sectors();
        assert_eq!(bytes_of(&env, 1), bytes);
    }
}

#[test]
fn a_read_that_fails_once_costs_nothing_and_a_disk_that_is_gone_has_lost_nothing() {
    let env = SimEnv::new();
    forty(&env);
    let bytes = bytes_of(&env, 1);
    // To open it, and the read.
    for look in 1..=2 {
        env.fail_look(look, crate::env::FailMode::Once, libc::EIO);
        assert_eq!(Bytes::of(&env, Path::new(DIR), 1).unwrap().all(), bytes);
        env.fail_look(look, crate::env::FailMode::Forever, libc::EIO);
        assert_eq!(Bytes::of(&env, Path::new(DIR), 1).err().unwrap().kind, crate::ErrorKind::Io);
        env.heal();
    }
}
