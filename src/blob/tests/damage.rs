//! Damage is told, and costs no neighbours.

use super::*;
use crate::ErrorKind;
use crate::format::{Codec, ignored};

fn tiny() -> Options {
    Options { cut: (64, 256, 1024), roll: 12_000, cache: 0, ..small() }
}

/// A sealed file with values, and what they are.
fn filled() -> (Rig, Vec<(Root, Vec<u8>)>) {
    let mut rig = Rig::new(tiny());
    let mut values = Vec::new();
    for (n, codec) in [Codec::None, Codec::Lz4, Codec::None].into_iter().enumerate() {
        let mut bytes = noise(1500 + n * 3000, n as u64);
        bytes[500..1400].fill(b'x');
        let mut root = value(&rig.blobs, &bytes, codec);
        if n == 2 {
            root = rig.blobs.write_at(&root, 2000, b"patched", codec).unwrap();
            bytes[2000..2007].copy_from_slice(b"patched");
        }
        values.push((Root::decode(&coded(&root)).unwrap(), bytes));
    }
    rig.blobs.seal().unwrap();
    rig.reopen(tiny());
    (rig, values)
}

/// How many reads were wrong, and how many were refused.
fn outcome(rig: &Rig, values: &[(Root, Vec<u8>)]) -> (usize, usize) {
    let (mut wrong, mut refused) = (0, 0);
    for (root, bytes) in values {
        match rig.blobs.read(root, 0, bytes.len()) {
            Ok(read) => wrong += usize::from(read != *bytes),
            Err(e) => {
                assert!(e.kind == ErrorKind::Corrupt && e.message.contains(".blob"), "{e}");
                refused += 1;
            }
        }
    }
    (wrong, refused)
}

#[test]
fn every_flipped_bit_is_told_or_harmless() {
    let (mut rig, values) = filled();
    let path = rig.blobs.path(1);
    let len = rig.env.read_file(&path).unwrap().len();
    let (mut refused, mut wrong, mut told) = (0, 0, 0);
    for bit in 0..len * 8 {
        rig.env.damage(&path, |file| file[bit / 8] ^= 1 << (bit % 8)).unwrap();
        rig.reopen(tiny());
        let (bad, no) = outcome(&rig, &values);
        assert_eq!(bad, 0, "bit {bit}");
        refused += no;
        if bit % 8 == 3 {
            let mut findings = 0;
            rig.blobs.verify(1, &mut |_| findings += 1).unwrap();
            told += usize::from(findings > 0);
            let unheeded = ignored::during(|| {
                rig.reopen(tiny());
                values
                    .iter()
                    .filter(|(root, bytes)| rig.blobs.read(root, 0, bytes.len()).is_ok_and(|is| is != *bytes))
                    .count()
            });
            wrong += unheeded;
        }
        rig.env.damage(&path, |file| file[bit / 8] ^= 1 << (bit % 8)).unwrap();
    }
    println!("{len} bytes: {refused} reads refused, check told of {told} bytes; without checks {wrong} wrong reads");
    assert!(refused > 0 && wrong > 0 && told * 2 > len, "{refused} {wrong} {told}");
}

#[test]
fn damage_of_one_chunk_costs_its_bytes_alone() {
    let (mut rig, values) = filled();
    let (root, bytes) = &values[2];
    let mut chunks = Vec::new();
    let mut each = |blob, chunk| {
        chunks.push((blob, chunk));
        Ok(())
    };
    rig.blobs.each_chunk(root, &mut each).unwrap();
    let place = rig.blobs.0.files.place(1, chunks[0].1).unwrap();
    rig.env.damage(&rig.blobs.path(1), |file| file[place.offset as usize + 40] ^= 1).unwrap();
    rig.reopen(tiny());
    let e = rig.blobs.read(root, 0, 10).unwrap_err();
    assert!(e.message.contains(&format!("at byte {}", place.offset)), "{e}");
    assert!(e.message.ends_with("Run: cellfs check --repair /store"), "{e}");
    let from = bytes.len() - 500;
    assert!(rig.blobs.read(root, from as u64, 500).unwrap() == bytes[from..]);
}

#[test]
fn chunks_are_found_without_their_table() {
    let (mut rig, values) = filled();
    rig.env
        .damage(&rig.blobs.path(1), |file| {
            let len = file.len();
            file[len - 5000..].fill(0xFF);
        })
        .unwrap();
    rig.reopen(tiny());
    assert_eq!(outcome(&rig, &values[..1]), (0, 0));
    let mut findings = Vec::new();
    rig.blobs.verify(1, &mut |finding| findings.push(finding)).unwrap();
    assert!(findings[0].chunk.is_none(), "{findings:?}");
}

#[test]
fn chunks_behind_a_wide_damage_are_found_without_their_table() {
    let options = Options { roll: 2_000_000, ..tiny() };
    let mut rig = Rig::new(options.clone());
    let (first, second) = (noise(800_000, 1), noise(5000, 2));
    let roots = [&first, &second].map(|bytes| Root::decode(&coded(&value(&rig.blobs, bytes, Codec::None))).unwrap());
    rig.blobs.seal().unwrap();
    // More than is read at once, and what says where the table is.
    rig.env
        .damage(&rig.blobs.path(1), |file| {
            let len = file.len();
            file[len - 40..].fill(0xFF);
            file[100..600_000].fill(0xA5);
        })
        .unwrap();
    rig.reopen(options);
    assert_eq!(rig.blobs.read(&roots[0], 0, 10).unwrap_err().kind, ErrorKind::Corrupt);
    assert!(rig.blobs.read(&roots[0], 700_000, 50_000).unwrap() == first[700_000..750_000]);
    assert!(all(&rig.blobs, &roots[1]) == second);
}

#[test]
fn a_missing_or_foreign_file_is_told() {
    let (mut rig, values) = filled();
    let path = rig.blobs.path(1);
    rig.env.damage(&path, |file| file.truncate(30)).unwrap();
    rig.reopen(tiny());
    assert_eq!(outcome(&rig, &values[..1]), (0, 1));
    rig.env.remove(&path).unwrap();
    rig.reopen(tiny());
    let e = rig.blobs.read(&values[0].0, 0, 10).unwrap_err();
    assert!(e.kind == ErrorKind::Corrupt && e.message.contains("not there"), "{e}");
    assert_eq!(rig.blobs.numbers()[0], 1);
}

#[test]
fn a_file_that_goes_while_it_is_read_is_no_damage() {
    let (mut rig, _) = filled();
    let (blobs, path) = (rig.blobs.clone(), rig.blobs.path(1));
    let all = blobs.verify(1, &mut |finding| panic!("{finding:?}")).unwrap().chunks;
    assert!(all > 2, "{all}");
    let place = blobs.0.files.place(1, 0).unwrap();
    rig.env.damage(&path, |file| file[place.offset as usize + 40] ^= 1).unwrap();
    rig.reopen(tiny());
    let (blobs, mut told) = (rig.blobs.clone(), 0);
    blobs
        .verify(1, &mut |_| {
            told += 1;
            // As collection does it.
            blobs.forget(1);
            rig.env.remove(&path).unwrap();
        })
        .unwrap();
    assert_eq!(told, 1, "what is missing of a file that is gone was told as damage");
    assert!(!blobs.is_known(1));
}

/// The format: fixed for good. `CELLFS_GOLDEN=write` writes it.
#[test]
fn the_format_is_that_of_the_golden_file() {
    let (rig, values) = filled();
    let bytes = rig.env.read_file(&rig.blobs.path(1)).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/blob");
    if std::env::var_os("CELLFS_GOLDEN").is_some() {
        std::fs::write(&golden, &bytes).unwrap();
        for (n, (root, _)) in values.iter().enumerate() {
            std::fs::write(golden.with_file_name(format!("blob.root{n}")), coded(root)).unwrap();
        }
    }
    let kept = std::fs::read(&golden).unwrap();
    rig.env.damage(&rig.blobs.path(1), |file| *file = kept.clone()).unwrap();
    for (n, (root, bytes)) in values.iter().enumerate() {
        let kept = std::fs::read(golden.with_file_name(format!("blob.root{n}"))).unwrap();
        let old = Root::decode(&kept).unwrap();
        assert!(all(&rig.blobs, &old) == *bytes && *root == old);
    }
    // What a later release of a codec makes of the same bytes may differ.
    assert!(bytes == kept, "the bytes of a blob file have changed");
}
