//! Values that are changed piece by piece.

use std::collections::BTreeSet;

use super::*;
use crate::env::FailMode;
use crate::format::Codec;

/// Takes what nothing leads to but these.
fn collect(rig: &Rig, stored: &[Root]) -> u64 {
    let (mark, mut live) = (rig.blobs.mark(), BTreeSet::new());
    for root in stored.iter().chain(&rig.blobs.held()) {
        rig.blobs
            .each_chunk(root, &mut |blob, chunk| {
                live.insert((blob, chunk));
                Ok(())
            })
            .unwrap();
    }
    let collected = rig.blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark).unwrap();
    for number in collected.files_gone {
        rig.env.remove(&rig.blobs.path(number)).unwrap();
        rig.blobs.forget(number);
    }
    collected.bytes
}

/// As a cell has it, which keeps nothing in hand.
fn stored(root: &Root) -> Root {
    Root::decode(&coded(root)).unwrap()
}

/// One draft of a kept value, changed and read at random beside collections, at times on a disk without room; bytes that
/// were freed, and how often there was no room.
fn run(seed: u64) -> (u64, u32) {
    let rig = Rig::new(small());
    let mut random = noise(20_000, seed + 1).into_iter();
    let mut draw = |most: usize| {
        let number = u32::from_le_bytes([(); 4].map(|()| random.next().unwrap()));
        number as usize % most
    };
    let mut is = noise(draw(300_000), seed);
    let mut base = stored(&value(&rig.blobs, &is, Codec::None));
    let mut draft = rig.blobs.draft(&base, Codec::None);
    let (mut freed, mut refused) = (0, 0);
    for step in 0..200 {
        let at = draw(is.len() + 40_000);
        let bytes = noise([1, 100, 4096, 30_000, 150_000][draw(5)], seed * 1000 + step);
        let what = draw(12);
        if what < 10 && draw(4) == 0 {
            rig.env.fail_call(1 + draw(4) as u64, [FailMode::Once, FailMode::Forever][draw(2)], libc::ENOSPC);
        }
        // What fails leaves the bytes as they were.
        let mut done = |changed: Result<()>| {
            rig.env.heal();
            refused += u32::from(changed.is_err());
            changed
                .map_err(|e| assert_eq!(e.kind, ErrorKind::NoSpace, "seed {seed}, step {step}: {}", e.message))
                .is_ok()
        };
        match what {
            0..=3 => {
                if done(draft.write(at as u64, &bytes)) {
                    is.resize(is.len().max(at + bytes.len()), 0);
                    is[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            4..=5 => {
                if done(draft.write(is.len() as u64, &bytes)) {
                    is.extend_from_slice(&bytes);
                }
            }
            6 => {
                let len = if draw(8) == 0 { draw(3) * 2_000_000 } else { at }.min(3_000_000);
                if done(draft.resize(len as u64)) {
                    is.resize(len, 0);
                }
            }
            7..=8 => {
                // Often what was written last, which is in no chunk yet.
                let last = is.len().saturating_sub([1, 2, 100, 5_000][draw(4)]);
                let at = if draw(2) == 0 { last } else { at };
                let wanted = &is[at.min(is.len())..(at + bytes.len()).min(is.len())];
                let is_right = |read: Vec<u8>| assert!(read == wanted, "seed {seed}, step {step}");
                done(draft.read(at as u64, bytes.len()).map(is_right));
            }
            9 => {
                let value = draft.value();
                rig.env.heal();
                let is_right = |root: Arc<Root>| {
                    assert!(all(&rig.blobs, &root) == is, "seed {seed}, step {step}");
                    base = stored(&root);
                };
                done(value.map(is_right));
            }
            10 => {
                // Another has put other bytes: what the draft began with is nobody else's any more.
                base = Root::default();
                freed += collect(&rig, &[]);
            }
            _ => freed += collect(&rig, std::slice::from_ref(&base)),
        }
        assert_eq!(draft.len(), is.len() as u64);
    }
    assert!(draft.read(0, usize::MAX).unwrap() == is, "seed {seed}");
    drop(draft);
    (freed + collect(&rig, &[]), refused)
}

#[test]
fn drafts_are_what_was_written_whatever_is_collected_or_fails_meanwhile() {
    let (freed, refused) = (0..40).map(run).fold((0, 0), |(freed, refused), run| (freed + run.0, refused + run.1));
    println!("{freed} bytes were given back, {refused} changes found no room");
    assert!(freed > 1_000_000 && refused > 100, "{freed} {refused}");
}

#[test]
fn a_draft_costs_what_is_written() {
    let rig = Rig::new(Options::default());
    let base = stored(&value(&rig.blobs, &noise(32 << 20, 1), Codec::None));
    let before = rig.blobs.bytes();
    let mut draft = rig.blobs.draft(&base, Codec::None);
    draft.write(base.len(), b"a line").unwrap();
    assert_eq!(rig.blobs.bytes(), before, "a few bytes stand in the root");
    draft.write(base.len() / 2, &[7; 4096]).unwrap();
    let root = draft.value().unwrap();
    let cost = rig.blobs.bytes() - before;
    assert!(root.len() == base.len() + 6 && cost < 600 << 10, "{cost}");
    // In order, with a read of what was just written now and then: no more than the bytes and their lists.
    let (mut draft, before) = (rig.blobs.draft(&Root::default(), Codec::None), rig.blobs.bytes());
    for (n, piece) in noise(16 << 20, 2).chunks(128 << 10).enumerate() {
        draft.write(draft.len(), piece).unwrap();
        assert!(n % 9 > 0 || draft.read(draft.len() - 1000, 1000).unwrap() == piece[piece.len() - 1000..]);
    }
    draft.value().unwrap();
    let cost = rig.blobs.bytes() - before;
    assert!(cost < 17 << 20, "{cost}");
}

#[test]
fn what_a_draft_began_with_goes_with_it() {
    let rig = Rig::new(Options::default());
    let root = value(&rig.blobs, &noise(1 << 20, 1), Codec::None);
    let mut draft = rig.blobs.draft(&root, Codec::None);
    drop(root);
    assert_eq!(collect(&rig, &[]), 0, "it is all the draft has");
    // Between a mark and its judgement: a cell may have got the chunks that no look at the store has met.
    let (mark, early) = (rig.blobs.mark(), rig.blobs.held());
    let taken = draft.value().unwrap();
    drop(draft);
    let cell = stored(&taken);
    drop(taken);
    assert!(early.len() == 1 && !rig.blobs.held().is_empty());
    drop(mark);
    assert!(rig.blobs.held().is_empty());
    assert!(all(&rig.blobs, &cell) == noise(1 << 20, 1));
    assert!(collect(&rig, &[]) > 1 << 19);
}

#[test]
fn what_takes_room_is_told_without_holes() {
    let rig = Rig::new(Options::default());
    let mut draft = rig.blobs.draft(&Root::default(), Codec::None);
    draft.resize(1 << 30).unwrap();
    assert_eq!((draft.len(), draft.filled().unwrap()), (1 << 30, 0));
    let root = draft.value().unwrap();
    assert_eq!(rig.blobs.filled(&root).unwrap(), 0);
    // Pages here and there, more than the root leads to by itself; then a large part, and an end.
    let mut filled = 0;
    for n in 0..200u64 {
        draft.write(n * (4 << 20) + 5, &noise(4096, n)).unwrap();
        filled += 4096;
    }
    let part = noise(30 << 20, 7);
    draft.write(900 << 20, &part).unwrap();
    draft.write((1 << 30) + 1_000_000, b"the end").unwrap();
    filled += part.len() as u64 + 7;
    let is_near = |told: u64| told >= filled && told <= filled + filled / 20;
    assert!(is_near(draft.filled().unwrap()), "{} of {filled}", draft.filled().unwrap());
    let root = draft.value().unwrap();
    let told = rig.blobs.filled(&root).unwrap();
    assert!(is_near(told), "{told} of {filled}, {root:?}");
    // Without holes it is the length.
    let dense = value(&rig.blobs, &noise(40 << 20, 9), Codec::None);
    assert_eq!(rig.blobs.filled(&dense).unwrap(), dense.len());
}
