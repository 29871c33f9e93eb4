//! Dead chunks go, live and young ones stay.

use std::collections::BTreeSet;

use super::*;
use crate::env::FailMode;
use crate::format::Codec;

type Live = BTreeSet<(u64, u32)>;

fn live_of<'r>(blobs: &Blobs, roots: impl Iterator<Item = &'r Root>) -> Live {
    let mut live = Live::new();
    for root in roots {
        blobs
            .each_chunk(root, &mut |blob, chunk| {
                live.insert((blob, chunk));
                Ok(())
            })
            .unwrap();
    }
    live
}

fn collect(rig: &Rig, roots: &[(Root, Vec<u8>)]) -> Collected {
    let mark = rig.blobs.mark();
    let live = live_of(&rig.blobs, roots.iter().map(|(root, _)| root));
    let collected = rig.blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark).unwrap();
    for number in &collected.files_gone {
        rig.env.remove(&rig.blobs.path(*number)).unwrap();
        rig.blobs.forget(*number);
        rig.names.files.lock().remove(number);
    }
    collected
}

/// Without what keeps its chunks in hand.
fn stored(root: &Root) -> Root {
    Root::decode(&coded(root)).unwrap()
}

#[test]
fn collections_take_what_is_dead_and_nothing_else() {
    let (mut freed, mut gone) = (0, 0);
    for seed in 0..40u64 {
        let mut rig = Rig::new(small());
        let mut roots: Vec<(Root, Vec<u8>)> = Vec::new();
        let mut random = noise(4000, seed).into_iter();
        let mut draw = |most: usize| random.next().unwrap() as usize % most;
        for step in 0..60 {
            match draw(10) {
                0..=3 => {
                    let bytes = noise(draw(200) * 500, seed * 100 + draw(30) as u64);
                    // A session that lasts over a collection, and shares what others have had.
                    let mut writer = rig.blobs.new_value(Codec::None);
                    writer.write(&bytes[..bytes.len() / 2]).unwrap();
                    if draw(2) == 0 {
                        freed += collect(&rig, &roots).bytes;
                    }
                    writer.write(&bytes[bytes.len() / 2..]).unwrap();
                    let root = writer.finish().unwrap();
                    if draw(2) == 0 {
                        freed += collect(&rig, &roots).bytes;
                    }
                    // From a mark on: what leaves the session's hand meanwhile is in no union and stays all the same.
                    let mark = rig.blobs.mark();
                    let live = live_of(&rig.blobs, roots.iter().map(|(root, _)| root));
                    roots.push((stored(&root), bytes));
                    drop(root);
                    rig.blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark).unwrap();
                }
                4..=5 if !roots.is_empty() => drop(roots.swap_remove(draw(roots.len()))),
                6 if !roots.is_empty() => {
                    let n = draw(roots.len());
                    let (root, bytes) = &mut roots[n];
                    let line = noise(draw(200) * 40, step);
                    let new = rig.blobs.append(root, &line, Codec::None).unwrap();
                    *root = stored(&new);
                    bytes.extend_from_slice(&line);
                }
                7 => {
                    rig.blobs.seal().unwrap();
                    rig.reopen(small());
                }
                _ => {
                    let collected = collect(&rig, &roots);
                    (freed, gone) = (freed + collected.bytes, gone + collected.files_gone.len());
                }
            }
            for (root, bytes) in &roots {
                assert!(all(&rig.blobs, root) == *bytes, "seed {seed}, step {step}");
            }
        }
        rig.blobs.seal().unwrap();
        roots.clear();
        collect(&rig, &roots);
        assert_eq!(rig.blobs.stats(), Stats::default(), "seed {seed}");
    }
    println!("{freed} bytes punched, {gone} files gone");
    assert!(freed > 0 && gone > 0);
}

#[test]
fn what_is_judged_dead_is_neither_there_nor_shared() {
    let rig = Rig::new(Options { cache: 0, ..small() });
    let bytes = noise(60_000, 1);
    let root = stored(&value(&rig.blobs, &bytes, Codec::None));
    let before = rig.blobs.bytes();
    let collected = collect(&rig, &[]);
    assert!(collected.bytes > 50_000 && rig.blobs.bytes() == before - collected.bytes, "{collected:?}");
    assert_eq!(rig.blobs.read(&root, 0, 60_000).unwrap_err().kind, crate::ErrorKind::Corrupt);
    // The same bytes are written anew, though hints of them were there.
    let again = value(&rig.blobs, &bytes, Codec::None);
    assert!(all(&rig.blobs, &again) == bytes);
    assert_eq!(collect(&rig, &[]), Collected::default());
    assert!(all(&rig.blobs, &again) == bytes);
    // What was judged is known to the next process, which does not punch it once more.
    assert!(rig.blobs.dead(1).iter().any(|word| *word != 0));
}

#[test]
fn where_no_room_within_files_can_be_freed_that_is_no_error() {
    // Each call in turn is the first that the filesystem does not know.
    let freed: Vec<_> = (1..10)
        .map(|call| {
            let rig = Rig::new(Options { roll: 2_000_000, ..small() });
            let (kept, gone) = (noise(200_000, 1), noise(200_000, 2));
            let kept = (stored(&value(&rig.blobs, &kept, Codec::None)), kept);
            drop(value(&rig.blobs, &gone, Codec::None));
            rig.blobs.seal().unwrap();
            let mark = rig.blobs.mark();
            let live = live_of(&rig.blobs, [&kept.0].into_iter());
            rig.env.fail_call(call, FailMode::Forever, libc::EOPNOTSUPP);
            let collected = rig.blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark);
            rig.env.heal();
            assert!(all(&rig.blobs, &kept.0) == kept.1);
            collected.map(|collected| collected.bytes)
        })
        .collect();
    assert!(freed.iter().any(|freed| matches!(freed, Ok(0))), "{freed:?}");
    assert!(freed.iter().any(|freed| matches!(freed, Ok(bytes) if *bytes > 100_000)), "{freed:?}");
}

#[test]
fn nothing_is_shared_between_a_mark_and_its_judgement() {
    let rig = Rig::new(small());
    let bytes = noise(60_000, 1);
    let old = stored(&value(&rig.blobs, &bytes, Codec::None));
    let one = rig.blobs.bytes();
    let mark = rig.blobs.mark();
    let new = stored(&value(&rig.blobs, &bytes, Codec::None));
    assert!(rig.blobs.bytes() > one * 2 - 1000);
    rig.blobs.collect(&|_, _| false, mark).unwrap();
    assert!(all(&rig.blobs, &new) == bytes);
    assert!(old != new);
    let two = rig.blobs.bytes();
    let third = value(&rig.blobs, &bytes, Codec::None);
    assert!(rig.blobs.bytes() == two && third == new);
}

#[test]
fn threads_write_read_and_collect_at_once() {
    let rig = Rig::new(small());
    let (table, readers) = (Mutex::new(Vec::<(Root, Vec<u8>)>::new()), Mutex::new(Vec::<Root>::new()));
    let (rig, table, readers) = (&rig, &table, &readers);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            scope.spawn(move || {
                for n in 0..60u64 {
                    let bytes = noise(5000 + (n * 997 % 40_000) as usize, n % 7 + thread % 2);
                    let root = value(&rig.blobs, &bytes, Codec::None);
                    table.lock().push((stored(&root), bytes));
                    drop(root);
                    let (root, bytes) = {
                        let table = table.lock();
                        let one = table[(n * 13) as usize % table.len()].clone();
                        readers.lock().push(one.0.clone());
                        one
                    };
                    assert!(all(&rig.blobs, &root) == bytes);
                    let mut table = table.lock();
                    if table.len() > 5 {
                        table.remove(0);
                    }
                    if n % 10 == 0 {
                        readers.lock().drain(..0);
                        rig.blobs.sync().unwrap();
                    }
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..40 {
                let mark = rig.blobs.mark();
                let mut roots: Vec<Root> = table.lock().iter().map(|(root, _)| root.clone()).collect();
                roots.extend(readers.lock().iter().cloned());
                let live = live_of(&rig.blobs, roots.iter());
                rig.blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark).unwrap();
            }
        });
    });
    for (root, bytes) in table.lock().iter() {
        assert!(all(&rig.blobs, root) == *bytes);
    }
}
