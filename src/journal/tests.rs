//! Whatever stops it, the journal comes back with every edit that was answered, and with each as a whole.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::env::{CrashMode, Env, FailMode, SimEnv};
use crate::model::{FamilyId, SeqNo};

const DIR: &str = "/store/edits";

fn item(n: u64) -> Item {
    let reference = Reference { family: FamilyId(n as u32 % 7), file: n, extent: 0 };
    Item::Add { reference, first_layer: n as u32, last_layer: n as u32 }
}

fn open(env: &SimEnv) -> Opened {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    env.create_dir(Path::new(DIR)).unwrap();
    Journal::open(&env, Path::new(DIR), [3; 16], Found::default(), State::default).unwrap()
}

fn covered(n: u64) -> Edit {
    Edit::from(item(n)).with(Item::Covered(SeqNo(n)))
}

#[test]
fn edits_come_back_after_any_power_cut() {
    for crash in 1..200 {
        let env = SimEnv::new();
        let mut opened = open(&env);
        let mut done = 0;
        env.fail_call(crash, FailMode::Forever, libc::EIO);
        for n in 1..40 {
            match opened.journal.commit(&opened.state, &covered(n)) {
                Ok(state) => (opened.state, done) = (state, n),
                Err(_) => break,
            }
        }
        let mode = if crash % 2 == 0 { CrashMode::LoseUnsynced } else { CrashMode::KeepSome { seed: crash } };
        env.crash(mode);
        let again = open(&env);
        let found = again.state.covered.0;
        assert!(found == done || found == done + 1, "{found} of {done} after {crash} calls");
        assert_eq!(again.state.references.len() as u64, found);
    }
}

#[test]
fn a_refused_edit_does_not_come_back() {
    for call in 1..200 {
        for seed in 0..8 {
            let env = SimEnv::new();
            let mut opened = open(&env);
            let mut done = 0;
            env.fail_call(call, FailMode::Once, libc::ENOSPC);
            for n in 1..40 {
                match opened.journal.commit(&opened.state, &covered(n)) {
                    Ok(state) => (opened.state, done) = (state, n),
                    Err(unsaved) if unsaved.is_unknown => done = u64::MAX,
                    Err(_) => {}
                }
                if done < n {
                    break;
                }
            }
            // The disk keeps other parts of the refused write after each call.
            env.crash(CrashMode::KeepSome { seed: call * 8 + seed });
            let found = open(&env).state.covered.0;
            assert!(done == u64::MAX || found == done, "{found} instead of {done}: call {call}, seed {seed}");
        }
    }
}

#[test]
fn every_damaged_bit_of_either_file_is_made_good() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    let len = |env: &SimEnv| env.read_file(Path::new(&format!("{DIR}/00000001.edits"))).unwrap().len();
    let mut before = 0;
    for n in 1..4 {
        before = len(&env);
        opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
    }
    let bytes = len(&env);
    for name in ["edits", "copy"] {
        for at in (0..bytes * 8).step_by(3) {
            let copy = env.copy();
            let path = format!("{DIR}/00000001.{name}");
            copy.damage(Path::new(&path), |bytes| bytes[at / 8] ^= 1 << (at % 8)).unwrap();
            let again = open(&copy);
            assert_eq!(again.state.covered, SeqNo(3), "bit {at} of {name}");
            assert_eq!(again.state.references, opened.state.references);
            assert!(at / 8 >= before || !again.problems.is_empty(), "bit {at} of {name} is not told");
            let third = open(&copy);
            assert!(third.problems.is_empty());
        }
    }
}

#[test]
fn a_record_that_one_file_has_in_part_counts_and_is_no_damage() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    opened.state = opened.journal.commit(&opened.state, &covered(1)).unwrap();
    let path = |name: &str| Path::new(DIR).join(format!("00000001.{name}"));
    let before = env.read_file(&path("copy")).unwrap().len();
    opened.state = opened.journal.commit(&opened.state, &covered(2)).unwrap();
    let after = env.read_file(&path("copy")).unwrap().len();
    for len in before..after {
        let copy = env.copy();
        copy.damage(&path("copy"), |bytes| bytes.truncate(len)).unwrap();
        let again = open(&copy);
        assert_eq!((again.state.covered, again.problems.len()), (SeqNo(2), 0), "{len} bytes");
    }
}

#[test]
fn a_journal_whose_beginnings_are_both_damaged_is_refused_and_stays() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    opened.state = opened.journal.commit(&opened.state, &covered(1)).unwrap();
    let paths = ["edits", "copy"].map(|name| Path::new(DIR).join(format!("00000001.{name}")));
    for path in &paths {
        env.damage(path, |bytes| bytes[20..40].fill(0xA5)).unwrap();
    }
    let damaged = paths.each_ref().map(|path| env.read_file(path).unwrap());
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let again = Journal::open(&shared, Path::new(DIR), [3; 16], Found::default(), || panic!("a new one is begun"));
    assert_eq!(again.err().map(|e| e.kind), Some(crate::ErrorKind::Corrupt));
    assert_eq!(paths.each_ref().map(|path| env.read_file(path).unwrap()), damaged);
}

#[test]
fn what_a_snapshot_holds_counts_until_it_goes() {
    let mut state = State::default();
    let of = |n| Reference { family: FamilyId(n as u32 % 7), file: n, extent: 0 };
    state.fold(&item(1).into());
    state.fold(&item(2).into());
    let record = SnapshotRecord {
        made_at: crate::model::Timestamp(1),
        table: None,
        catalogue: crate::model::Catalogue::default(),
        cells: 0,
        bytes: 0,
    };
    state.fold(&Item::Snapshot { name: "s".into(), record: Arc::new(record) }.into());
    state.fold(&Edit::from(Item::Remove(of(1))).with(item(3)));
    state.fold(&Item::Remove(of(3)).into());
    let at = state.snapshots["s"].0;
    assert_eq!(state.counted_at(at).map(|(r, _)| r.file).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(state.live().map(|(r, _)| r.file).collect::<Vec<_>>(), [2]);
    assert_eq!(state.files().into_iter().collect::<Vec<_>>(), [1, 2]);
    state.fold(&Item::SnapshotGone { name: "s".into() }.into());
    assert_eq!(state.files().into_iter().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_new_base_takes_the_place_of_many_edits() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    let text = "x".repeat(10_000);
    for n in 1..300 {
        let edit = covered(n).with(Item::SnapshotGone { name: text.clone() });
        opened.state = opened.journal.commit(&opened.state, &edit).unwrap();
    }
    let names = env.list(Path::new(DIR)).unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(!names.contains(&"00000001.edits".to_owned()));
    env.crash(CrashMode::LoseUnsynced);
    assert_eq!(open(&env).state.covered, SeqNo(299));
}

/// A sequence that looks random (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

/// What a snapshot has of an extent stays what it was, however often a compaction trims it later, and however many
/// snapshots come and go.
#[test]
fn a_snapshot_has_an_extent_from_the_key_on_that_it_counted_from() {
    for mut seed in 0..200 {
        let of = Reference { family: FamilyId(1), file: 1, extent: 0 };
        let mut state = State::default();
        state.fold(&Item::Add { reference: of, first_layer: 1, last_layer: 1 }.into());
        let record = Arc::new(SnapshotRecord {
            made_at: crate::model::Timestamp(1),
            table: None,
            catalogue: crate::model::Catalogue::default(),
            cells: 0,
            bytes: 0,
        });
        let (mut from, mut seen) = (Vec::new(), std::collections::BTreeMap::new());
        for step in 0..40_u8 {
            match random(&mut seed) % 4 {
                0 => {
                    let name = format!("s{step}");
                    state.fold(&Item::Snapshot { name: name.clone(), record: Arc::clone(&record) }.into());
                    seen.insert(name, from.clone());
                }
                1 if !seen.is_empty() => {
                    let at = random(&mut seed) as usize % seen.len();
                    let name = seen.keys().nth(at).unwrap().clone();
                    seen.remove(&name);
                    state.fold(&Item::SnapshotGone { name }.into());
                }
                _ => {
                    from = vec![step + 1];
                    state.fold(&Item::Trim { reference: of, from: from.as_slice().into() }.into());
                }
            }
            assert_eq!(*state.references[&of].from(), *from);
            for (name, from) in &seen {
                let at = state.snapshots[name].0;
                let held: Vec<Vec<u8>> = state.counted_at(at).map(|(_, held)| held.from_at(at).to_vec()).collect();
                assert_eq!(held, std::slice::from_ref(from), "{name}");
            }
            let needed = seen.values().chain([&from]).min().unwrap();
            assert_eq!(state.needed_from(1, 0).as_deref(), Some(needed.as_slice()));
        }
    }
}

#[test]
fn sectors_that_cannot_be_read_in_both_files_cost_no_edit_unless_they_are_the_same() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    for n in 1..60 {
        opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
    }
    let path = |name: &str| Path::new(DIR).join(format!("00000001.{name}"));
    let sectors = env.read_file(&path("edits")).unwrap().len().div_ceil(512);
    assert!(sectors > 3);
    for (main, copied) in (0..sectors).flat_map(|main| (0..sectors).map(move |copied| (main, copied))) {
        let disk = env.copy();
        disk.spoil(&path("edits"), main as u64 * 512).unwrap();
        disk.spoil(&path("copy"), copied as u64 * 512).unwrap();
        let shared: Arc<dyn Env> = Arc::new(disk.clone());
        match Journal::open(&shared, Path::new(DIR), [3; 16], Found::default(), State::default) {
            Ok(again) => {
                assert_eq!((again.state.covered, again.problems.len()), (SeqNo(59), 2), "{main}, {copied}");
                assert!(open(&disk).problems.is_empty());
            }
            // A record may reach from the one into the other.
            Err(e) => {
                assert!(main.abs_diff(copied) < 2, "{main}, {copied}: {e}");
                disk.heal_sectors();
                assert_eq!(open(&disk).state.covered, SeqNo(59), "{main}, {copied}");
            }
        }
    }
}

#[test]
fn files_that_end_before_an_edit_that_was_on_the_disk_are_kept_aside() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    for n in 1..4 {
        opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
    }
    let (edit, mut cut) = (opened.state.edit, Vec::new());
    for (name, by) in [("edits", 1), ("copy", 2)] {
        let path = Path::new(DIR).join(format!("00000001.{name}"));
        env.damage(&path, |bytes| bytes.truncate(bytes.len() - by)).unwrap();
        cut.push((format!("00000001.{name}.damaged"), env.read_file(&path).unwrap()));
    }
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let known = Found { is_young: false, owed: edit };
    for _ in 0..3 {
        let again = Journal::open(&shared, Path::new(DIR), [3; 16], known, State::default).unwrap();
        assert_eq!((again.state.covered, again.state.edit), (SeqNo(2), edit - 1));
        // Somebody puts files of the same names there; what was kept is not replaced by them.
        for (name, _) in &cut {
            let put = env.create_new(&Path::new(DIR).join(name.trim_end_matches(".damaged"))).unwrap();
            put.write_at(b"another", 0).unwrap();
        }
        for (name, bytes) in &cut {
            assert_eq!(&env.read_file(&Path::new(DIR).join(name)).unwrap(), bytes);
        }
    }
}

#[test]
fn edits_behind_one_that_both_files_have_lost_show_that_it_was_there() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    let path = |name: &str| Path::new(DIR).join(format!("00000001.{name}"));
    let mut ends = Vec::new();
    for n in 1..6 {
        ends.push(env.read_file(&path("edits")).unwrap().len());
        opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
    }
    for (name, at) in [("edits", ends[2] + 3), ("copy", ends[2] + 21)] {
        env.damage(&path(name), |bytes| bytes[at] ^= 1).unwrap();
    }
    let last = opened.state.edit;
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let seen = Journal::look(&*shared, Path::new(DIR), &[3; 16]).unwrap().unwrap();
    assert_eq!((seen.state.covered, seen.shown), (SeqNo(2), last));
    let again = open(&env);
    assert_eq!((again.state.covered, again.shown), (SeqNo(2), last));
    // What was kept aside tells of it from then on.
    let again = open(&env);
    assert_eq!((again.state.covered, again.shown), (SeqNo(2), u64::MAX));
    assert!(env.exists(&path("edits.damaged")).unwrap() && env.exists(&path("copy.damaged")).unwrap());
}

#[test]
fn an_edit_that_one_file_has_lost_and_that_cannot_be_read_in_the_other_shows_that_it_was_there() {
    for (lacks, unreadable) in [("edits", "copy"), ("copy", "edits")] {
        let env = SimEnv::new();
        let mut opened = open(&env);
        let path = |name: &str| Path::new(DIR).join(format!("00000001.{name}"));
        let len = |env: &SimEnv| env.read_file(&path("edits")).unwrap().len();
        let mut before = len(&env);
        for n in 1..60 {
            before = len(&env);
            opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
        }
        let last = opened.state.edit;
        drop(opened);
        env.damage(&path(lacks), |bytes| bytes.truncate(before)).unwrap();
        env.spoil(&path(unreadable), before as u64).unwrap();
        let again = open(&env);
        assert_eq!((again.state.covered, again.shown), (SeqNo(58), last), "{lacks}");
    }
}

/// Else an older one, whose removal a power cut took back, counts without a word.
#[test]
fn edits_of_a_file_whose_beginnings_are_both_damaged_show_that_they_were_there() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    let path = |number: u64, name: &str| Path::new(DIR).join(format!("{number:08}.{name}"));
    opened.state = opened.journal.commit(&opened.state, &covered(1)).unwrap();
    drop(opened);
    let older = ["edits", "copy"].map(|name| (path(1, name), env.read_file(&path(1, name)).unwrap()));
    env.damage(&path(1, "copy"), |bytes| bytes[25] ^= 1).unwrap();
    let mut opened = open(&env);
    for n in 2..5 {
        opened.state = opened.journal.commit(&opened.state, &covered(n)).unwrap();
    }
    let last = opened.state.edit;
    drop(opened);
    for (path, bytes) in &older {
        env.create_new(path).unwrap().write_at(bytes, 0).unwrap();
    }
    ["edits", "copy"].iter().for_each(|name| env.damage(&path(2, name), |bytes| bytes[25] ^= 1).unwrap());
    let again = open(&env);
    assert_eq!((again.state.covered, again.shown), (SeqNo(1), last));
    assert!(env.exists(&path(2, "edits.damaged")).unwrap() && env.exists(&path(2, "copy.damaged")).unwrap());
}

/// A disk that stays full refuses the cut, too: who waits for room would wait for ever.
#[test]
fn a_journal_that_takes_no_more_says_so_whatever_the_cause_was() {
    let env = SimEnv::new();
    let mut opened = open(&env);
    env.fail_call(1, FailMode::Forever, libc::ENOSPC);
    let unsaved = opened.journal.commit(&opened.state, &covered(1)).err().unwrap();
    assert!(unsaved.is_unknown);
    assert_eq!(unsaved.error.kind, crate::ErrorKind::Poisoned);
    env.heal();
    let unsaved = opened.journal.commit(&opened.state, &covered(1)).err().unwrap();
    assert_eq!((unsaved.is_unknown, unsaved.error.kind), (false, crate::ErrorKind::Poisoned));
}
