//! A large value: written, read, appended to, changed by pages, written once more, given back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cellfs::blob::{Blobs, Naming, Root};
use cellfs::env::RealEnv;
use cellfs::format::Codec;

const STORE: [u8; 16] = [7; 16];
const PIECE: usize = 128 << 10;
const PAGE: usize = 4096;

/// Gives numbers; nobody opens these files again.
#[derive(Default)]
struct Numbers(AtomicU64);

impl Naming for Numbers {
    fn begin_blob(&self) -> cellfs::Result<u64> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn sealed(&self, _number: u64, _bytes: u64, _chunks: u32) -> cellfs::Result<()> {
        Ok(())
    }
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(len).collect()
}

fn write(blobs: &Blobs, bytes: &[u8]) -> Root {
    let mut writer = blobs.new_value(Codec::None);
    bytes.chunks(PIECE).for_each(|piece| writer.write(piece).unwrap());
    writer.finish().unwrap()
}

/// Megabytes a second of an action over so many bytes.
fn rate<T>(what: &str, bytes: usize, action: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = action();
    println!("  {what:<28}{:>10.0} MB/s", bytes as f64 / 1e6 / start.elapsed().as_secs_f64());
    done
}

/// Microseconds and bytes of each of `count` changes.
fn changes(what: &str, blobs: &Blobs, count: usize, mut change: impl FnMut(usize)) {
    let (before, start) = (blobs.stats().bytes, Instant::now());
    (0..count).for_each(&mut change);
    let micros = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("  {what:<28}{micros:>10.1} us, {} bytes", (blobs.stats().bytes - before) / count as u64);
}

/// Prints the figures.
pub fn run(dir: &Path, mib: u64) {
    let blobs = Blobs::open(Arc::new(RealEnv::default()), dir.into(), STORE, Vec::new(), Arc::new(Numbers::default()));
    let (blobs, bytes) = (blobs.unwrap(), noise((mib as usize) << 20));
    println!("a value of {mib} MiB");
    let mut root = rate("written", bytes.len(), || write(&blobs, &bytes));
    rate("synced", bytes.len(), || blobs.sync().unwrap());
    rate("read", bytes.len(), || {
        for at in (0..bytes.len()).step_by(PIECE) {
            assert!(!blobs.read(&root, at as u64, PIECE).unwrap().is_empty());
        }
    });
    changes("100 bytes appended", &blobs, 10_000, |n| {
        let at = n * 100 % (bytes.len() - 100);
        root = blobs.append(&root, &bytes[at..at + 100], Codec::None).unwrap();
    });
    changes("a page written", &blobs, 1000, |n| {
        let (at, from) = (n * 524_287 % (bytes.len() - PAGE), n * PAGE % (bytes.len() - PAGE));
        root = blobs.write_at(&root, at as u64, &bytes[from..from + PAGE], Codec::None).unwrap();
    });
    rate("written once more, shared", bytes.len(), || write(&blobs, &bytes));
    let (mark, start) = (blobs.mark(), Instant::now());
    let collected = blobs.collect(&|_, chunk| chunk % 2 == 0, mark).unwrap();
    let millis = start.elapsed().as_secs_f64() * 1e3;
    println!("  {:<28}{:>10.0} MB in {millis:.0} ms", "punched", collected.bytes as f64 / 1e6);
}
