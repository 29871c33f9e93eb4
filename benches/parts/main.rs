//! What the store's parts cost by themselves: segments and blobs, on the real disk below target/.
//!
//! `CELLFS_BENCH_ROWS` and `CELLFS_BENCH_MIB` say how much (100,000 rows of ten columns; 512 MiB of a value).
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod blob;
mod segment;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    segment::run(dir.path(), setting("CELLFS_BENCH_ROWS", 100_000));
    blob::run(dir.path(), setting("CELLFS_BENCH_MIB", 512));
}
