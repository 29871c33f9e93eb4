//! Tests of the room.

mod collection;
mod crash;
mod damage;
mod drafts;
mod sharing;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::env::sync::Mutex;
use crate::env::{Env, SimEnv};
use crate::{Error, ErrorKind, Result};

const STORE: [u8; 16] = [7; 16];
const DIR: &str = "/store/blobs";

/// A journal in memory.
#[derive(Default)]
struct Names {
    last: AtomicU64,
    /// Bytes and chunks of those that are sealed.
    files: Mutex<BTreeMap<u64, Option<(u64, u32)>>>,
    has_no_room: AtomicBool,
}

impl Naming for Names {
    fn begin_blob(&self) -> Result<u64> {
        let number = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        self.files.lock().insert(number, None);
        Ok(number)
    }

    fn sealed(&self, number: u64, bytes: u64, chunks: u32) -> Result<()> {
        if self.has_no_room.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::NoSpace, "no room"));
        }
        self.files.lock().insert(number, Some((bytes, chunks)));
        Ok(())
    }
}

impl Names {
    fn sealed_states(&self) -> Vec<BlobState> {
        let files = self.files.lock();
        let sealed = files.iter().filter_map(|(number, state)| Some((*number, (*state)?)));
        sealed.map(|(number, (bytes, chunks))| BlobState { number, bytes, chunks, dead: Vec::new() }).collect()
    }
}

struct Rig {
    env: SimEnv,
    names: Arc<Names>,
    blobs: Blobs,
}

fn open(env: &dyn Fn() -> Arc<dyn Env>, names: &Arc<Names>, options: Options) -> Blobs {
    Blobs::open_with(env(), DIR.into(), STORE, names.sealed_states(), names.clone(), options).unwrap()
}

impl Rig {
    fn new(options: Options) -> Self {
        let (env, names) = (SimEnv::new(), Arc::new(Names::default()));
        env.create_dir(Path::new(DIR)).unwrap();
        let blobs = open(&|| Arc::new(env.process()), &names, options);
        Self { env, names, blobs }
    }

    /// As a new process.
    fn reopen(&mut self, options: Options) {
        self.blobs = open(&|| Arc::new(self.env.process()), &self.names, options);
    }
}

/// Chunks of 1, 4 and 16 KiB in files of 200 KB.
fn small() -> Options {
    let cut = (1 << 10, 4 << 10, 16 << 10);
    Options { roll: 200_000, roll_unpunched: 200_000, cache: 64 << 10, hints: 1 << 12, cut }
}

/// Bytes that cannot be compressed.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
    out.truncate(len);
    out
}

/// A value written in pieces.
fn value(blobs: &Blobs, bytes: &[u8], codec: crate::format::Codec) -> Root {
    let mut writer = blobs.new_value(codec);
    for piece in bytes.chunks(100_000) {
        writer.write(piece).unwrap();
    }
    writer.finish().unwrap()
}

fn all(blobs: &Blobs, root: &Root) -> Vec<u8> {
    blobs.read(root, 0, root.len() as usize).unwrap()
}

fn coded(root: &Root) -> Vec<u8> {
    let mut out = Vec::new();
    root.encode(&mut out);
    out
}
