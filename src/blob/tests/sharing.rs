//! What versions share, and what a change costs.

use super::*;
use crate::format::Codec;

fn written(blobs: &Blobs) -> u64 {
    blobs.stats().bytes
}

#[test]
fn versions_with_an_insertion_share_nearly_everything() {
    let rig = Rig::new(Options::default());
    let mut bytes = noise(16 << 20, 1);
    let first = value(&rig.blobs, &bytes, Codec::None);
    let one = written(&rig.blobs);
    let mut roots = vec![(first, bytes.clone())];
    for n in 0..10 {
        let at = (n * 7_919_993) % bytes.len();
        bytes.splice(at..at, noise(100, n as u64 + 2));
        roots.push((value(&rig.blobs, &bytes, Codec::None), bytes.clone()));
    }
    let more = written(&rig.blobs) - one;
    println!("16 MiB: {one} bytes; ten more versions: {more}");
    assert!(one < (16 << 20) + (64 << 10) && more < 3 << 20, "{one} {more}");
    assert!(roots.iter().all(|(root, bytes)| all(&rig.blobs, root) == *bytes));
}

#[test]
fn an_append_costs_the_same_whatever_the_value_has() {
    for size in [100_000usize, 8 << 20] {
        let rig = Rig::new(Options::default());
        let mut bytes = noise(size, 1);
        let mut root = value(&rig.blobs, &bytes, Codec::None);
        let before = written(&rig.blobs);
        for n in 0..10_000u64 {
            let line = noise(100, n);
            root = rig.blobs.append(&root, &line, Codec::None).unwrap();
            bytes.extend_from_slice(&line);
        }
        let each = (written(&rig.blobs) - before) / 10_000;
        println!("{size}: {each} bytes an append of 100");
        assert!(each < 1000, "{each}");
        assert!(all(&rig.blobs, &root) == bytes);
    }
}

#[test]
fn a_page_costs_its_chunk_and_the_lists_above() {
    let rig = Rig::new(Options::default());
    let mut bytes = noise(32 << 20, 1);
    let mut root = value(&rig.blobs, &bytes, Codec::None);
    let before = written(&rig.blobs);
    for n in 0..100usize {
        let (at, page) = (n * 331_777 % (bytes.len() - 4096), noise(4096, n as u64));
        root = rig.blobs.write_at(&root, at as u64, &page, Codec::None).unwrap();
        bytes[at..at + 4096].copy_from_slice(&page);
    }
    let each = (written(&rig.blobs) - before) / 100;
    println!("{each} bytes a page");
    assert!(each < 120_000, "{each}");
    assert!(all(&rig.blobs, &root) == bytes);
}

#[test]
fn growth_by_zeros_takes_no_room() {
    let rig = Rig::new(Options::default());
    let mut root = value(&rig.blobs, b"begin", Codec::None);
    root = rig.blobs.truncate(&root, 1 << 40, Codec::None).unwrap();
    root = rig.blobs.write_at(&root, 1 << 39, b"midst", Codec::None).unwrap();
    root = rig.blobs.append(&root, b"end", Codec::None).unwrap();
    assert!(written(&rig.blobs) < 10_000 && root.len() == (1 << 40) + 3);
    let mut midst = vec![0; 105];
    midst[50..55].copy_from_slice(b"midst");
    assert_eq!(rig.blobs.read(&root, (1 << 39) - 50, 105).unwrap(), midst);
    assert_eq!(rig.blobs.read(&root, 0, 7).unwrap(), b"begin\0\0");
    assert_eq!(rig.blobs.read(&root, (1 << 40) - 1, 9).unwrap(), b"\0end");
    root = rig.blobs.truncate(&root, (1 << 39) + 2, Codec::None).unwrap();
    assert_eq!(rig.blobs.read(&root, (1 << 39) - 1, 9).unwrap(), b"\0mi");
    let too_long = rig.blobs.truncate(&root, u64::MAX, Codec::None).unwrap_err();
    assert_eq!(too_long.kind, crate::ErrorKind::ValueTooLarge);
}

#[test]
fn reading_on_reads_each_chunk_once() {
    let rig = Rig::new(Options::default());
    let bytes = noise(4 << 20, 1);
    let root = value(&rig.blobs, &bytes, Codec::Lz4);
    // Damage behind the reader's back is not seen where nothing is read again.
    let path = rig.blobs.path(1);
    rig.blobs.read(&root, 0, 300_000).unwrap();
    rig.env.damage(&path, |file| file[60..200_000].fill(7)).unwrap();
    assert!(rig.blobs.read(&root, 100_000, 1000).unwrap() == bytes[100_000..101_000]);
}
