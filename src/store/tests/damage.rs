//! Every bit of every file of a small store flipped, every file cut at every length: each time all that is read is as it
//! was, or an error, until a repair has said what is lost; never another value, never silence.
//!
//! A part of the places in `cargo test`; all of them with CELLFS_TORTURE=full.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::rig::{Case, Image, Tally, full, image, judge_all};
use super::*;
use crate::format::ignored;

/// Every `step`-th bit of each file, as a file's name and the bit.
fn bits(image: &Image, step: &dyn Fn(&str) -> usize) -> Vec<(String, usize)> {
    let of = |name: String| {
        let all = (0..image.bytes(&name).len() * 8).step_by(step(&name));
        all.map(move |bit| (name.clone(), bit)).collect::<Vec<_>>()
    };
    image.names().into_iter().flat_map(of).collect()
}

fn flip(image: &Image, bits: &[(String, usize)], judge: impl Fn(&mut Tally, &Case) + Sync) -> Tally {
    let flipped = |n: usize| {
        let (name, bit): &(String, usize) = &bits[n];
        let mut image = image.clone();
        image.file(name)[bit / 8] ^= 1 << (bit % 8);
        Case { what: format!("{name}, bit {bit}"), image }
    };
    judge_all(bits.len(), flipped, judge)
}

/// Bits that are passed over in the short form: prime to 8, so that all bits of a byte have their turn.
fn step(name: &str) -> usize {
    match name {
        _ if full() => 1,
        // Two places of 28 bytes, between them nothing.
        _ if name.ends_with("/progress") => 7,
        _ if name.ends_with(".blob") => 601,
        _ if name.ends_with(".seg") => 61,
        _ => 37,
    }
}

fn files_and_bytes(image: &Image) -> String {
    let names = image.names();
    format!("{} bytes of {} files", names.iter().map(|name| image.bytes(name).len()).sum::<usize>(), names.len())
}

#[test]
fn a_flipped_bit_is_mended_reported_or_an_error_never_another_value() {
    let ((image, good), began) = (image(), Instant::now());
    let tally = flip(&image, &bits(&image, &step), |tally, case| tally.judge(&case.what, &case.image, &good));
    tally.print(&format!("bits flipped in {}", files_and_bytes(&image)), began);
    tally.assert_good();
    assert!(tally.tried > 300 && tally.unreadable > 0, "{tally:?}");
}

#[test]
fn after_a_repair_a_flipped_bit_gives_no_other_value_either() {
    let ((image, good), began) = (image(), Instant::now());
    let bits = bits(&image, &|name| if full() { 1 } else { 3 * step(name) });
    let tally = flip(&image, &bits, |tally, case| tally.judge_repaired(&case.what, &case.image, &good));
    tally.print(&format!("bits flipped in {}, then repaired", files_and_bytes(&image)), began);
    tally.assert_good();
    assert!(tally.tried > 100 && tally.unreadable > 0, "{tally:?}");
}

/// Bytes put in or taken out at a place.
fn shifted(bytes: &[u8], at: usize, by: isize) -> Vec<u8> {
    let mut out = bytes[..at].to_vec();
    out.extend((0..by.max(0)).map(|n| (n * 7) as u8));
    out.extend_from_slice(&bytes[(at + (-by).max(0).cast_unsigned()).min(bytes.len())..]);
    out
}

#[test]
#[ignore = "an open and a repair for each of thousands of places: minutes"]
fn bytes_that_came_or_went_are_an_error_or_reported() {
    let ((image, good), began) = (image(), Instant::now());
    let step = if full() { 1 } else { 97 };
    let places = image.names().into_iter().flat_map(|name| {
        let at = (0..image.bytes(&name).len()).step_by(step);
        at.map(|at| (name.clone(), at)).collect::<Vec<_>>()
    });
    let shifts: Vec<_> = places.flat_map(|(name, at)| [1, -1, 9, -9].map(|by| (name.clone(), at, by))).collect();
    let case = |n: usize| {
        let (name, at, by): &(String, usize, isize) = &shifts[n];
        let mut damaged = image.clone();
        *damaged.file(name) = shifted(image.bytes(name), *at, *by);
        Case { what: format!("{name}, {by} bytes at {at}"), image: damaged }
    };
    let tally = judge_all(shifts.len(), case, |tally, case| {
        tally.judge(&case.what, &case.image, &good);
        tally.judge_repaired(&case.what, &case.image, &good);
    });
    tally.print("bytes put in or taken out, then repaired", began);
    tally.assert_good();
    assert!(tally.tried > 100 && tally.intact > 0 && tally.unreadable > 0, "{tally:?}");
}

/// Where no cell of the log is left there is nothing to flush, and the log goes all the same.
#[test]
fn a_log_without_a_whole_cell_is_told_of_once() {
    let (image, good) = image();
    let names = image.names();
    let log = names.iter().filter(|name| name.ends_with(".log")).max().unwrap();
    let first_cell = crate::log::HEADER as usize + crate::log::RECORD_HEADER;
    let (mut tally, mut damaged) = (Tally::default(), image.clone());
    *damaged.file(log) = shifted(image.bytes(log), first_cell + 9, 1);
    tally.judge_repaired("a byte put in", &damaged, &good);
    tally.assert_good();
}

#[test]
fn without_checksums_flipped_bits_give_other_values() {
    let (image, good) = image();
    let bits = bits(&image, &|name| if name.ends_with(".seg") { 37 } else { usize::MAX });
    let tally = flip(&image, &bits, |tally, case| ignored::during(|| tally.judge(&case.what, &case.image, &good)));
    assert!(tally.wrong.len() > 10, "the rig catches nothing: {tally:?}");
}

#[test]
fn a_file_that_is_cut_short_is_mended_reported_or_an_error() {
    let ((image, good), began) = (image(), Instant::now());
    let names = image.names();
    let lens = |name: &String| {
        let step = if full() { 1 } else { step(name).div_ceil(8) };
        (0..image.bytes(name).len()).step_by(step)
    };
    let cuts: Vec<(&String, usize)> = names.iter().flat_map(|name| lens(name).map(move |len| (name, len))).collect();
    let case = |n: usize| {
        let (name, len) = cuts[n];
        let mut cut = image.clone();
        cut.file(name).truncate(len);
        Case { what: format!("{name}, cut to {len}"), image: cut }
    };
    let tally = judge_all(cuts.len(), case, |tally, case| tally.judge(&case.what, &case.image, &good));
    tally.print("files cut", began);
    tally.assert_good();
}

#[test]
fn a_file_that_is_gone_is_mended_reported_or_an_error() {
    let ((image, good), began) = (image(), Instant::now());
    let mut tally = Tally::default();
    for name in image.names() {
        let mut without = image.clone();
        without.files.remove(Path::new(&name));
        tally.judge(&format!("{name} is gone"), &without, &good);
    }
    tally.print("files removed", began);
    tally.assert_good();
}

#[test]
fn what_may_be_in_the_page_cache_alone_is_written_again_before_it_is_served() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "before", b"synced");
    store.sync().unwrap();
    put(&store, "r", "after", b"acknowledged, and the sync of it failed");
    env.fail_syncs();
    // As on Linux: the pages count as clean now, and the process ends before it can say so.
    assert!(store.sync().is_err());
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "after").unwrap(), b"acknowledged, and the sync of it failed");
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    assert_eq!(value(&open(&env), "r", "after").unwrap(), b"acknowledged, and the sync of it failed");
}

/// A store whose column `q` has a damaged value, apart from the keys, beside a good one.
fn with_damaged_value(env: &SimEnv, new_version_behavior: &str) -> Store {
    use crate::env::Env;
    let store = open(env);
    let flavour = ("NEW_VERSION_BEHAVIOR", new_version_behavior);
    create(&store, &[("VERSIONS", "1"), ("KEEP_DELETED_CELLS", "FALSE"), ("KEEP_VERSIONS_FOR", "0"), flavour]);
    put(&store, "r", "other", b"good");
    put(&store, "r", "q", &[b'x'; 800]);
    store.flush(None).unwrap();
    store.close().unwrap();
    let names = env.list("/store/segments".as_ref()).unwrap();
    let name = names.iter().find(|name| name.ends_with(".seg")).unwrap();
    let flip = |bytes: &mut Vec<u8>| {
        let at = bytes.windows(100).position(|part| part == [b'x'; 100]).unwrap();
        bytes[at + 50] ^= 0x20;
    };
    env.damage(format!("/store/segments/{name}").as_ref(), flip).unwrap();
    open(env)
}

type Way<'a> = &'a dyn Fn(&Store) -> crate::Result<()>;

#[test]
fn a_damaged_version_that_nothing_keeps_goes_and_its_damage_with_it() {
    let major = |store: &Store| store.compact(&table(), None, crate::backend::CompactionKind::Major);
    let purge = |store: &Store| {
        let (row, family, qualifier) = (Some("r".into()), Some("f".to_owned()), Some("q".into()));
        store.purge(&crate::backend::PurgeScope { table: table(), row, family, qualifier })
    };
    let ways: [Way<'_>; 2] = [&major, &purge];
    for flavour in ["true", "false"] {
        for (way, deletes) in [(0, true), (0, false), (1, true), (1, false)] {
            let env = SimEnv::new();
            let store = with_damaged_value(&env, flavour);
            assert!(store.newest(&column("r", "q"), TimeRange::ALL).unwrap().is_some());
            let refused = ways[way](&store).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Corrupt, "what must be kept is no reason to lose it in silence");
            if deletes {
                unlink(&store, "r", "q")
            } else {
                drop(put(&store, "r", "q", b"anew"))
            }
            store.flush(None).unwrap();
            ways[way](&store).unwrap();
            assert_eq!(value(&store, "r", "q"), (!deletes).then(|| b"anew".to_vec()));
            assert_eq!(value(&store, "r", "other").unwrap(), b"good");
            assert_eq!(store.status().unwrap().last_error, None);
            store.close().unwrap();
            let disk: Arc<dyn crate::env::Env> = Arc::new(env.clone());
            let checked = crate::store::check::check(&disk, "/store".as_ref(), &mut |_| Ok(())).unwrap();
            assert_eq!(checked.damages, 0, "{flavour} {way} {deletes}");
        }
    }
}

/// The two copies of the journal are cut at the same place, and the note of how far it had come is gone or not.
#[test]
fn a_journal_that_ends_before_an_edit_that_was_on_the_disk_is_told_of_by_every_open_and_loses_no_more() {
    use crate::env::Env;
    for is_noted in [true, false] {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        let edits = |name: &str| format!("/store/edits/00000001.{name}");
        let early = env_bytes(&env, edits("edits").as_ref()).len();
        put(&store, "r", "q", b"flushed");
        store.flush(None).unwrap();
        put(&store, "r", "q", b"in the log");
        store.flush(None).unwrap();
        put(&store, "r", "q", b"in the next file of the log");
        store.sync().unwrap();
        env.crash(CrashMode::ProcessOnly);
        drop(store);
        for name in ["edits", "copy"] {
            env.damage(edits(name).as_ref(), |bytes| bytes.truncate(early)).unwrap();
        }
        if !is_noted {
            env.damage("/store/progress".as_ref(), |bytes| bytes.fill(0)).unwrap();
        }
        let segments = env.list("/store/segments".as_ref()).unwrap();
        for _ in 0..6 {
            let store = open(&env);
            assert!(store.status().unwrap().last_error.unwrap().contains("nothing is written"));
            assert!(
                mutate(&store, "r", Mutation::Put(vec![put_cell("q", b"more", Time::Now)]), Durability::SyncWal)
                    .is_err()
            );
            drop(store);
            env.crash(CrashMode::LoseUnsynced);
            assert_eq!(env.list("/store/segments".as_ref()).unwrap(), segments);
        }
    }
}

/// Whatever the last edit was about, and however little of it is missing.
#[test]
fn a_journal_that_lacks_the_last_edit_alone_is_told_of() {
    use crate::env::Env;
    type Make = fn(&Store);
    let makes: [(&str, Make); 3] = [
        ("a table", |store| create(store, FILES)),
        ("a blob", |store| drop(put(store, "r", "q", &super::rig::large(1)))),
        ("a segment", |store| store.flush(None).unwrap()),
    ];
    let env = SimEnv::new();
    let edits = |name: &str| PathBuf::from(format!("/store/edits/00000001.{name}"));
    for (what, make) in makes {
        let store = open(&env.process());
        let before = env_bytes(&env, &edits("edits")).len();
        make(&store);
        store.sync().unwrap();
        env.crash(CrashMode::ProcessOnly);
        drop(store);
        let all = env_bytes(&env, &edits("edits"));
        let last = all.windows(4).rposition(|four| four == b"cEdt").unwrap();
        assert!(last >= before, "{what}");
        // Within the last edit, and at its edge.
        for ends in [[all.len() - 1, all.len() - 2], [all.len() - 20, all.len() - 21], [last, last]] {
            let disk = env.copy();
            for (name, end) in ["edits", "copy"].into_iter().zip(ends) {
                disk.damage(&edits(name), |bytes| bytes.truncate(end)).unwrap();
            }
            let cut = env_bytes(&disk, &edits("edits"));
            let files = |dir: &str| disk.list(dir.as_ref()).unwrap();
            let kept = [files("/store/segments"), files("/store/blobs")];
            for _ in 0..3 {
                let store = open(&disk.process());
                let told = store.status().unwrap().last_error.unwrap_or_default();
                assert!(told.contains("nothing is written"), "{what}, {ends:?}: {told}");
                disk.crash(CrashMode::ProcessOnly);
                drop(store);
                assert_eq!([files("/store/segments"), files("/store/blobs")], kept, "{what}");
                let aside = edits("edits.damaged");
                assert_eq!(env_bytes(&disk, &aside), cut, "{what}, {ends:?}");
            }
        }
    }
}
