//! A store in which one small file has any bytes: it opens or is refused with a sentence.
#![no_main]

use std::path::Path;
use std::sync::{Arc, LazyLock};

use cellfs::env::{CrashMode, Env, SimEnv};
use cellfs::store::{Background, Store, StoreOptions};
use libfuzzer_sys::fuzz_target;

/// Of the disk: what is reserved of a small one is small too.
const SPACE: u64 = 40 << 20;

const FILES: [&str; 8] = [
    "edits/00000001.edits",
    "format",
    "progress",
    "lost",
    "damage",
    "log/00000001.log",
    "segments/00000001.seg",
    "blobs/00000001.blob",
];
const DIRECTORIES: [&str; 5] = ["/store", "/store/segments", "/store/log", "/store/blobs", "/store/edits"];

fn options(env: &SimEnv) -> StoreOptions {
    env.set_space(Some(SPACE));
    StoreOptions { env: Arc::new(env.clone()), background: Background::Off, ..StoreOptions::new("/store") }
}

/// The files of a store as they were made.
static MADE: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let env = SimEnv::new();
    Store::open(options(&env)).unwrap().close().unwrap();
    let names = DIRECTORIES
        .iter()
        .flat_map(|dir| env.list(Path::new(dir)).unwrap().into_iter().map(move |n| format!("{dir}/{n}")));
    names.filter_map(|name| Some((name.clone(), env.read_file(Path::new(&name)).ok()?))).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((which, bytes)) = data.split_first() else { return };
    let env = SimEnv::new();
    DIRECTORIES.iter().for_each(|dir| env.create_dir(Path::new(dir)).unwrap());
    for (name, bytes) in MADE.iter() {
        env.create_new(Path::new(name)).unwrap().write_at(bytes, 0).unwrap();
    }
    let path = Path::new("/store").join(FILES[usize::from(*which) % FILES.len()]);
    for path in [path.clone(), path.with_extension("copy"), Path::new(&format!("{}.copy", path.display())).into()] {
        let _ = env.remove(&path);
        env.create_new(&path).unwrap().write_at(bytes, 0).unwrap();
    }
    drop(Store::open(options(&env)));
    env.crash(CrashMode::ProcessOnly);
});
