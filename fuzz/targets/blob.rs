//! A blob file of any bytes, and a root of any bytes: both walks end, and what is read is as long as the root says.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use cellfs::blob::{Blobs, Naming, Root};
use cellfs::env::{Env, SimEnv};
use libfuzzer_sys::fuzz_target;

const STORE: [u8; 16] = [7; 16];
/// A list that leads to itself has no end of references.
const CHUNKS_MAX: u32 = 1000;

struct Names;

impl Naming for Names {
    fn begin_blob(&self) -> cellfs::Result<u64> {
        Ok(1)
    }

    fn sealed(&self, _: u64, _: u64, _: u32) -> cellfs::Result<()> {
        Ok(())
    }
}

fuzz_target!(|data: &[u8]| {
    let env = SimEnv::new();
    let dir = Path::new("/store/blobs");
    env.create_dir(dir).unwrap();
    let open = || Blobs::open(Arc::new(env.clone()), dir.into(), STORE, Vec::new(), Arc::new(Names)).unwrap();
    // The first bytes are a root, the rest is a file.
    let Some((len, rest)) = data.split_first() else { return };
    let (root, file) = rest.split_at(rest.len().min(usize::from(*len)));
    let path = open().path(1);
    env.create_new(&path).unwrap();
    env.damage(&path, |bytes| *bytes = file.to_vec()).unwrap();
    let blobs = open();
    let known = file.len() as u64 / 2;
    if blobs.look(1, known).is_err() || blobs.recover(1, known).is_err() {
        return;
    }
    let _ = blobs.verify(1, &mut |_| ());
    let Some(root) = Root::decode(root) else { return };
    let mut coded = Vec::new();
    root.encode(&mut coded);
    assert!(Root::decode(&coded).is_some_and(|again| again == root));
    if let Ok(read) = blobs.read(&root, 0, 1 << 16) {
        assert_eq!(read.len() as u64, root.len().min(1 << 16));
    }
    let mut count = 0;
    let _ = blobs.each_chunk(&root, &mut |_, _| {
        count += 1;
        if count < CHUNKS_MAX { Ok(()) } else { Err(cellfs::Error::new(cellfs::ErrorKind::TooMany, "enough")) }
    });
});
