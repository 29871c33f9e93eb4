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

/// One draft of a kept value, changed and read at random beside collections, at times on a disk without room.
struct Story {
    rig: Rig,
    random: std::vec::IntoIter<u8>,
    /// What the draft has to be, and what it began with or last became.
    is: Vec<u8>,
    base: Root,
    draft: Draft,
    /// Bytes that collections have freed, and how often there was no room.
    freed: u64,
    refused: u32,
    seed: u64,
}

impl Story {
    fn new(seed: u64) -> Self {
        let rig = Rig::new(small());
        let is = noise(seed as usize * 7_507 % 300_000, seed);
        let base = stored(&value(&rig.blobs, &is, Codec::None));
        let (random, draft) = (noise(20_000, seed + 1).into_iter(), rig.blobs.draft(&base, Codec::None));
        Self { rig, random, is, base, draft, freed: 0, refused: 0, seed }
    }

    fn draw(&mut self, most: usize) -> usize {
        let number = u32::from_le_bytes([(); 4].map(|()| self.random.next().unwrap()));
        number as usize % most
    }

    /// Calls fail from a later one on, or it alone.
    fn run_out_of_room(&mut self) {
        let (call, mode) = (1 + self.draw(4) as u64, [FailMode::Once, FailMode::Forever][self.draw(2)]);
        self.rig.env.fail_call(call, mode, libc::ENOSPC);
    }

    /// What has failed leaves the bytes as they were.
    fn done(&mut self, changed: Result<()>) -> bool {
        self.rig.env.heal();
        let Err(e) = changed else { return true };
        assert_eq!(e.kind, ErrorKind::NoSpace, "seed {}: {}", self.seed, e.message);
        assert!(self.draft.read(0, usize::MAX).unwrap() == self.is, "seed {}: {}", self.seed, e.message);
        self.refused += 1;
        false
    }

    fn step(&mut self, what: usize, at: usize, bytes: &[u8]) {
        match what {
            0..=3 => self.write(at, bytes),
            4..=5 => self.write(self.is.len(), bytes),
            6 => {
                let len = if self.draw(8) == 0 { self.draw(3) * 2_000_000 } else { at }.min(3_000_000);
                let cut = self.draft.resize(len as u64);
                if self.done(cut) {
                    self.is.resize(len, 0);
                }
            }
            7..=8 => {
                // Often what was written last, which is in no chunk yet.
                let last = self.is.len().saturating_sub([1, 2, 100, 5_000][self.draw(4)]);
                let at = if self.draw(2) == 0 { last } else { at };
                let wanted = &self.is[at.min(self.is.len())..(at + bytes.len()).min(self.is.len())];
                let read = self.draft.read(at as u64, bytes.len());
                assert!(read.as_ref().is_ok_and(|read| read == wanted), "seed {}: {:?}", self.seed, read.err());
            }
            9 => {
                let became = self.draft.value();
                self.rig.env.heal();
                if let Ok(root) = &became {
                    assert!(all(&self.rig.blobs, root) == self.is, "seed {}", self.seed);
                    self.base = stored(root);
                }
                self.done(became.map(drop));
            }
            10 => {
                // Another has put other bytes: what the draft began with is nobody else's any more.
                self.base = Root::default();
                self.freed += collect(&self.rig, &[]);
            }
            _ => self.freed += collect(&self.rig, std::slice::from_ref(&self.base)),
        }
        assert_eq!(self.draft.len(), self.is.len() as u64);
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let written = self.draft.write(at as u64, bytes);
        if self.done(written) {
            self.is.resize(self.is.len().max(at + bytes.len()), 0);
            self.is[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// Bytes that were freed, and how often there was no room.
fn run(seed: u64) -> (u64, u32) {
    let mut story = Story::new(seed);
    for step in 0..200 {
        let at = story.draw(story.is.len() + 40_000);
        let bytes = noise([1, 100, 4096, 30_000, 150_000][story.draw(5)], seed * 1000 + step);
        let what = story.draw(12);
        // What is read needs no room.
        if what < 10 && story.draw(4) == 0 {
            story.run_out_of_room();
        }
        story.step(what, at, &bytes);
        story.rig.env.heal();
    }
    let Story { rig, is, draft, freed, refused, .. } = story;
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
