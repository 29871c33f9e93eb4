//! All large values of a store: the room's front.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::disk::cache::Cache;
use super::disk::chunk::Chunk;
use super::disk::files::Files;
use super::disk::header::Kind;
use super::settings::{BlobState, Naming, Options, Stats};
use super::shares::Mark;
use super::values::root::{Reference, Root};
use crate::Result;
use crate::env::Env;
use crate::format::{StoreId, agree};

/// See the module. Clones are the same.
#[derive(Clone)]
pub struct Blobs(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub files: Files,
    pub chunks: Cache<(u64, u32), Chunk>,
}

impl Blobs {
    /// Damaged chunks of which nobody needs to be told what a repair could do: one has told of them.
    pub fn know_lost(&self, chunks: BTreeSet<(u64, u32)>) {
        *self.0.files.lost.write() = chunks;
    }

    /// For the log: what keeps chunks that nothing leads to.
    pub fn in_hand(&self) -> String {
        self.0.files.shares.in_hand()
    }

    /// The blob files in `dir`, which must exist: those that are sealed are known from the start, those that are not are
    /// given to [`Blobs::recover`] before anything is written.
    pub fn open(
        env: Arc<dyn Env>,
        dir: PathBuf,
        store: StoreId,
        sealed: Vec<BlobState>,
        naming: Arc<dyn Naming>,
    ) -> Result<Self> {
        Self::open_with(env, dir, store, sealed, naming, Options::default())
    }

    /// As [`Blobs::open`], with other limits.
    pub fn open_with(
        env: Arc<dyn Env>,
        dir: PathBuf,
        store: StoreId,
        sealed: Vec<BlobState>,
        naming: Arc<dyn Naming>,
        options: Options,
    ) -> Result<Self> {
        let chunks = Cache::new(options.cache);
        let files = Files::new(env, dir, store, sealed, naming, options);
        Ok(Self(Arc::new(Inner { files, chunks })))
    }

    /// Returns when everything that was written before is on the disk; callers share the work.
    pub fn sync(&self) -> Result<()> {
        self.0.files.sync()
    }

    /// Whether something is written that is not known to be on the disk.
    pub fn unsynced(&self) -> bool {
        self.0.files.has_unsynced()
    }

    /// Bytes of a file that are on the disk; `None` if there is no such file.
    pub fn synced_len(&self, number: u64) -> Option<u64> {
        Some(self.0.files.known.read().get(&number)?.synced.load(Ordering::Acquire))
    }

    /// The file that is written, with its bytes that are on the disk: files of lesser numbers that are not sealed are
    /// synced before it is.
    pub fn unsealed(&self) -> Vec<(u64, u64)> {
        let known = self.0.files.known.read();
        let unsealed = known.values().filter(|blob| !blob.is_sealed.load(Ordering::Acquire));
        unsealed.map(|blob| (blob.number, blob.synced.load(Ordering::Acquire))).collect()
    }

    /// Ends the file that is written and syncs it, so that an open has nothing to recover.
    pub fn seal(&self) -> Result<()> {
        let files = &self.0.files;
        let mut writing = files.writing.lock();
        files.refuse_poisoned()?;
        files.close_active(&mut writing)?;
        writing.written += 1;
        drop(writing);
        self.sync()
    }

    /// See [`Mark`].
    pub fn mark(&self) -> Mark {
        self.0.files.shares.mark()
    }

    /// Length of all files less what was punched out.
    pub fn bytes(&self) -> u64 {
        let stats = self.stats();
        stats.bytes.saturating_sub(stats.punched)
    }

    /// The same root, which keeps its chunks until it is dropped. They must be live until then.
    pub fn hold(&self, root: &Root) -> Root {
        let mut encoded = Vec::new();
        root.encode(&mut encoded);
        Root { hold: Some(self.0.files.shares.hold_root(encoded.into())), ..root.clone() }
    }

    /// Roots that are held by [`Blobs::hold`], and those that were since the oldest mark: what they lead to is live.
    /// To be asked after all else that is live was gathered.
    pub fn held(&self) -> Vec<Root> {
        self.0.files.shares.kept().iter().filter_map(|root| Root::decode(root)).collect()
    }

    /// What the files have, for `status`.
    pub fn stats(&self) -> Stats {
        let known = self.0.files.known.read();
        known.values().fold(Stats::default(), |sum, blob| Stats {
            files: sum.files + 1,
            chunks: sum.chunks + u64::from(blob.chunks.load(Ordering::Acquire)),
            bytes: sum.bytes + blob.bytes.load(Ordering::Acquire),
            punched: sum.punched + blob.punched.load(Ordering::Acquire),
        })
    }

    /// Chunks of a file that were judged dead, as bits: what may be given back at the next open.
    pub fn dead(&self, number: u64) -> Vec<u64> {
        self.0.files.shares.dead(number)
    }

    /// The caller has unlinked a file, after an edit that says that it is gone.
    pub fn forget(&self, number: u64) {
        self.0.files.forget(number);
        self.0.chunks.forget(|(blob, _)| *blob == number);
    }

    /// Where a file lies.
    pub fn path(&self, number: u64) -> PathBuf {
        self.0.files.path(number)
    }

    /// A chunk, from memory or read and checked.
    pub(super) fn chunk(&self, blob: u64, chunk: u32) -> Result<Arc<Chunk>> {
        if let Some(found) = self.0.chunks.get(&(blob, chunk)) {
            return Ok(found);
        }
        let read = self.0.files.read_chunk(blob, chunk).map_err(|e| self.0.files.told_of(e, blob, chunk))?;
        let read = Arc::new(read);
        if read.kind == Kind::Data {
            self.0.files.shares.hint(xxhash_rust::xxh3::xxh3_64(read.bytes()), (blob, chunk));
        }
        self.0.chunks.put((blob, chunk), read.clone(), read.bytes().len() + 128);
        Ok(read)
    }

    /// The chunk that a reference leads to.
    pub(super) fn follow(&self, to: &Reference) -> Result<Arc<Chunk>> {
        let chunk = self.chunk(to.blob, to.chunk)?;
        if !agree(to.check, chunk.check) {
            let what = format!("chunk {} is not the one that a value refers to", to.chunk);
            return Err(self.0.files.corrupt(to.blob, None, &what));
        }
        Ok(chunk)
    }
}
