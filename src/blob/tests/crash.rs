//! Power cuts and failing disks.

use super::*;
use crate::ErrorKind;
use crate::env::{CarelessEnv, CrashMode, Forgets};
use crate::format::Codec;

/// Values written, some of them synced, then a power cut: how many synced ones are not what they were.
fn cut_power(seed: u64, careless: bool) -> usize {
    let rig = Rig::new(small());
    let env = rig.env.clone();
    let process = || -> Arc<dyn Env> {
        let env: Arc<dyn Env> = Arc::new(env.process());
        if careless { Arc::new(CarelessEnv::new(env, Forgets::Sync)) } else { env }
    };
    let blobs = open(&process, &rig.names, small());
    let (mut kept, mut synced, mut known) = (Vec::new(), 0, BTreeMap::new());
    for n in 0..12u64 {
        let bytes = noise(1000 + (seed * 7919 + n * 31_337) as usize % 60_000, seed + n);
        let root = value(&blobs, &bytes, if n % 2 == 0 { Codec::None } else { Codec::Lz4 });
        kept.push((coded(&root), bytes));
        if (seed + n).is_multiple_of(5) {
            blobs.sync().unwrap();
            (synced, known) = (kept.len(), blobs.unsealed().into_iter().collect());
        }
    }
    env.crash(CrashMode::KeepSome { seed });
    let blobs = open(&process, &rig.names, small());
    let open_files: Vec<u64> =
        rig.names.files.lock().iter().filter(|(_, state)| state.is_none()).map(|(number, _)| *number).collect();
    let mut damaged = 0;
    for number in open_files {
        match blobs.recover(number, known.get(&number).copied().unwrap_or(0)) {
            Ok(_) => {}
            Err(e) if careless && e.kind == ErrorKind::Corrupt => damaged += 1,
            Err(e) => panic!("{e}"),
        }
    }
    for (n, (root, bytes)) in kept.into_iter().enumerate() {
        let root = Root::decode(&root).unwrap();
        let has_come = blobs.has_come(&root, &|_, _| false).unwrap();
        let reads = blobs.read(&root, 0, bytes.len());
        if n < synced {
            assert!(has_come || careless, "synced value {n} after power cut {seed}");
            damaged += usize::from(!reads.is_ok_and(|read| read == bytes));
        } else if has_come && !careless {
            // A record with such a root stays; one with another ends the log.
            assert!(reads.unwrap() == bytes, "value {n} after power cut {seed}");
        }
    }
    // The next process writes on.
    if !careless {
        let bytes = noise(50_000, seed);
        assert!(all(&blobs, &value(&blobs, &bytes, Codec::None)) == bytes);
    }
    damaged
}

#[test]
fn what_was_synced_outlives_a_power_cut() {
    for seed in 0..150 {
        assert_eq!(cut_power(seed, false), 0, "power cut {seed}");
    }
    let lost: usize = (0..30).map(|seed| cut_power(seed, true)).sum();
    println!("without syncs {lost} values were lost");
    assert!(lost > 0);
}

#[test]
fn a_file_that_was_named_and_not_made_is_gone() {
    let rig = Rig::new(small());
    let number = rig.names.begin_blob().unwrap();
    let recovered = rig.blobs.recover(number, 0).unwrap();
    assert!(recovered.is_gone);
    rig.env.create_new(&rig.blobs.path(2)).unwrap();
    assert!(rig.blobs.recover(2, 0).unwrap().is_gone && !rig.env.exists(&rig.blobs.path(2)).unwrap());
    let e = rig.blobs.recover(3, 4000).unwrap_err();
    assert_eq!(e.kind, ErrorKind::Corrupt);
}

#[test]
fn a_torn_chunk_is_cut_and_a_look_changes_nothing() {
    let mut rig = Rig::new(small());
    let root = coded(&value(&rig.blobs, &noise(3000, 1), Codec::None));
    let root2 = value(&rig.blobs, &noise(9000, 2), Codec::None);
    rig.blobs.sync().unwrap();
    drop(root2);
    let path = rig.blobs.path(1);
    rig.env.damage(&path, |file| file.truncate(file.len() - 10)).unwrap();
    rig.reopen(small());
    let before = rig.env.read_file(&path).unwrap();
    let looked = rig.blobs.look(1, 0).unwrap();
    assert!(rig.env.read_file(&path).unwrap() == before && looked.cut > 0);
    assert!(all(&rig.blobs, &Root::decode(&root).unwrap()) == noise(3000, 1));
    rig.reopen(small());
    let recovered = rig.blobs.recover(1, 0).unwrap();
    assert_eq!((recovered.cut, recovered.chunks), (looked.cut, looked.chunks));
    rig.reopen(small());
    assert!(all(&rig.blobs, &Root::decode(&root).unwrap()) == noise(3000, 1));
    rig.blobs.verify(1, &mut |finding| panic!("{finding:?}")).unwrap();
    let e = rig.blobs.recover(1, 1 << 30).unwrap_err();
    assert!(e.kind == ErrorKind::Corrupt && e.message.contains("cut off"), "{e}");
}

#[test]
fn after_a_failed_sync_nothing_is_written_or_synced() {
    let rig = Rig::new(small());
    let bytes = noise(20_000, 1);
    let root = value(&rig.blobs, &bytes, Codec::None);
    assert!(rig.blobs.unsynced());
    rig.env.fail_syncs();
    assert_eq!(rig.blobs.sync().unwrap_err().kind, ErrorKind::Poisoned);
    rig.env.heal();
    let calls = rig.env.calls();
    assert_eq!(rig.blobs.sync().unwrap_err().kind, ErrorKind::Poisoned);
    let mut writer = rig.blobs.new_value(Codec::None);
    let e = writer.write(&bytes[..19_000]).and_then(|()| writer.finish().map(|_| ())).unwrap_err();
    assert_eq!(e.kind, ErrorKind::Poisoned);
    assert_eq!(rig.env.calls(), calls);
    assert!(all(&rig.blobs, &root) == bytes);
}

#[test]
fn a_full_disk_refuses_and_leaves_no_doubt() {
    let rig = Rig::new(small());
    let bytes = noise(150_000, 1);
    let root = value(&rig.blobs, &bytes, Codec::None);
    rig.env.set_space(Some(180_000));
    let mut writer = rig.blobs.new_value(Codec::None);
    let e = writer.write(&noise(150_000, 2)).unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoSpace);
    drop(writer);
    rig.env.set_space(None);
    let more = noise(300_000, 3);
    let second = value(&rig.blobs, &more, Codec::None);
    rig.blobs.sync().unwrap();
    assert!(!rig.blobs.unsynced());
    assert!(all(&rig.blobs, &root) == bytes && all(&rig.blobs, &second) == more);
}
