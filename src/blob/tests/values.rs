//! Values: written, read, changed, against vectors of bytes.

use proptest::prelude::*;

use super::*;
use crate::format::Codec;

#[test]
fn values_of_all_sizes_read_back() {
    let rig = Rig::new(Options::default());
    for size in [0, 1, 4095, 4096, 4097, 16384, 16385, 65536, 262_143, 262_144, 262_145, 3_000_000] {
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            let mut bytes = noise(size, size as u64);
            bytes[size / 2..].fill(b'x');
            let root = value(&rig.blobs, &bytes, codec);
            assert_eq!(root.len(), size as u64);
            let coded = coded(&root);
            assert!(coded.len() <= TAIL_MAX + 32 * 30 + 16, "{} bytes", coded.len());
            assert_eq!(Root::decode(&coded), Some(root.clone()));
            assert!(all(&rig.blobs, &root) == bytes, "{size} {codec:?}");
            for (from, len) in [(0, 1), (size / 3, 5000), (size, 1), (size.saturating_sub(1), 10)] {
                let read = rig.blobs.read(&root, from as u64, len).unwrap();
                assert!(read == bytes[from.min(size)..(from + len).min(size)], "{size} {from} {len}");
            }
        }
    }
}

#[test]
fn a_file_that_the_journal_has_no_room_to_end_is_told_of_later() {
    let rig = Rig::new(small());
    let bytes = noise(50_000, 1);
    let root = value(&rig.blobs, &bytes, Codec::None);
    rig.names.has_no_room.store(true, Ordering::SeqCst);
    rig.blobs.seal().unwrap();
    assert!(rig.names.sealed_states().is_empty());
    assert!(all(&rig.blobs, &root) == bytes);
    let more = noise(60_000, 2);
    let second = value(&rig.blobs, &more, Codec::None);
    rig.blobs.sync().unwrap();
    rig.names.has_no_room.store(false, Ordering::SeqCst);
    rig.blobs.seal().unwrap();
    assert_eq!(rig.names.sealed_states().len(), 2);
    assert!(all(&rig.blobs, &root) == bytes && all(&rig.blobs, &second) == more);
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Write(f64, usize),
    Truncate(f64),
    /// Drops everything that is in memory.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let size =
        || prop_oneof![1..200usize, 3000..6000usize, 15_000..18_000usize, 60_000..70_000usize, 100_000..400_000usize];
    prop_oneof![
        4 => size().prop_map(Step::Append),
        4 => (0.0..1.1, size()).prop_map(|(at, len)| Step::Write(at, len)),
        2 => (0.0..1.5).prop_map(Step::Truncate),
        1 => Just(Step::Reopen),
    ]
}

fn follow(options: Options, codec: Codec, first: usize, steps: Vec<Step>) {
    let mut rig = Rig::new(options.clone());
    let mut bytes = noise(first, 1);
    let mut root = value(&rig.blobs, &bytes, codec);
    for (n, step) in steps.into_iter().enumerate() {
        match step {
            Step::Append(len) => {
                let new = noise(len, n as u64);
                root = rig.blobs.append(&root, &new, codec).unwrap();
                bytes.extend_from_slice(&new);
            }
            Step::Write(at, len) => {
                let (at, new) = ((at * bytes.len() as f64) as usize, noise(len, n as u64));
                root = rig.blobs.write_at(&root, at as u64, &new, codec).unwrap();
                bytes.resize(bytes.len().max(at + len), 0);
                bytes[at..at + len].copy_from_slice(&new);
            }
            Step::Truncate(to) => {
                let to = (to * bytes.len() as f64) as usize;
                root = rig.blobs.truncate(&root, to as u64, codec).unwrap();
                bytes.resize(to, 0);
            }
            Step::Reopen => {
                rig.blobs.seal().unwrap();
                rig.reopen(options.clone());
            }
        }
        let coded = coded(&root);
        assert!(coded.len() <= TAIL_MAX + 32 * 30 + 16);
        root = Root::decode(&coded).unwrap();
        assert_eq!(root.len(), bytes.len() as u64);
        assert!(all(&rig.blobs, &root) == bytes, "after step {n}");
        let from = bytes.len() / 3;
        assert!(rig.blobs.read(&root, from as u64, 70_000).unwrap() == bytes[from..(from + 70_000).min(bytes.len())]);
    }
    for number in rig.blobs.numbers() {
        rig.blobs.verify(number, &mut |finding| panic!("{finding:?}")).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn changes_of_values_are_those_of_bytes(steps in prop::collection::vec(step(), 1..20), first in 0..600_000usize) {
        follow(small(), Codec::None, first, steps);
    }

    #[test]
    fn changes_with_lists_of_lists_are_those_of_bytes(steps in prop::collection::vec(step(), 1..8)) {
        // Chunks of 256 bytes: a few MB have lists of lists.
        let options = Options { cut: (64, 256, 1024), roll: 2_000_000, cache: 1 << 20, ..small() };
        follow(options, Codec::Lz4, 5_000_000, steps);
    }
}
