//! A segment's file while it is read: parts are read whole and checked; damage says where it is and what to do.
//!
//! Must not know what is in the parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Env, EnvFile};
use crate::format::{Codec, StoreId};
use crate::segment::parts::block::Block;
use crate::segment::parts::facts::Place;
use crate::segment::parts::piece::{ALIGN, HEADER, Header, Kind, Owner};
use crate::{Error, ErrorKind, Result};

/// See the module.
pub(in crate::segment) struct Source {
    file: Arc<dyn EnvFile>,
    pub(in crate::segment) path: PathBuf,
    pub(in crate::segment) owner: Owner,
    pub(in crate::segment) len: u64,
}

/// A part as it was read.
pub(in crate::segment) struct Unchecked {
    place: Place,
    bytes: Vec<u8>,
}

impl Source {
    /// Opens the file.
    pub(in crate::segment) fn open(env: &dyn Env, path: &Path, store: StoreId, file: u64) -> Result<Self> {
        let failed = |e| Error::io(format_args!("open {}", path.display()), &e);
        let opened = match env.open(path) {
            // Not `NotFound`: what is in it is not absent.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged(path, 0, "the file is missing"));
            }
            opened => opened.map_err(failed)?,
        };
        let len = opened.len().map_err(failed)?;
        Ok(Self { file: opened, path: path.to_owned(), owner: Owner { store, file }, len })
    }

    /// Gives whole pages of a range back to the disk; how many bytes. `None`: the filesystem cannot.
    pub(in crate::segment) fn punch(&self, from: u64, to: u64) -> Result<Option<u64>> {
        let (from, to) = (from.next_multiple_of(ALIGN), to / ALIGN * ALIGN);
        if from >= to {
            return Ok(Some(0));
        }
        match self.file.punch(from, to - from) {
            Err(e) if e.kind() == std::io::ErrorKind::Unsupported => Ok(None),
            punched => {
                punched.map_err(|e| Error::io(format_args!("free room in {}", self.path.display()), &e))?;
                Ok(Some(to - from))
            }
        }
    }

    /// Damage at a place.
    pub(in crate::segment) fn damaged(&self, offset: u64, what: &str) -> Error {
        damaged(&self.path, offset, what)
    }

    /// Fills `buffer` from a place. Past the end of the file is damage.
    pub(in crate::segment) fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        if at.checked_add(buffer.len() as u64).is_none_or(|end| end > self.len) {
            return Err(self.damaged(at, "the file ends before"));
        }
        self.file.read_at(buffer, at).map_err(|e| self.unread(at, &e))
    }

    /// An error of a read.
    fn unread(&self, at: u64, e: &std::io::Error) -> Error {
        match e.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(at, "the file ends before"),
            _ => Error::io(format_args!("read {}, offset {at}", self.path.display()), e),
        }
    }

    /// The part at a place, checked and expanded.
    pub(in crate::segment) fn read_piece(&self, kind: Kind, place: Place) -> Result<Block> {
        let fits = place.checked_end().is_some_and(|end| end <= self.len);
        if !fits {
            return Err(self.damaged(place.at, &format!("the {} would end behind the file", kind.name())));
        }
        let bytes = self.file.read_new(HEADER + place.stored as usize, place.at);
        let bytes = bytes.map_err(|e| self.unread(place.at, &e))?;
        self.piece(kind, Unchecked { place, bytes })
    }

    /// The bytes of two parts by one read, the second behind the first; nobody has looked at them yet.
    pub(in crate::segment) fn read_two(&self, first: Place, second: Place) -> Result<[Unchecked; 2]> {
        let ends = first.checked_end().zip(second.checked_end());
        let Some((end, last)) = ends.filter(|(end, last)| *end <= second.at && *last <= self.len) else {
            return Err(self.damaged(first.at, "two of its parts do not stand one behind the other"));
        };
        let bytes = self.file.read_new((last - first.at) as usize, first.at);
        let mut bytes = bytes.map_err(|e| self.unread(first.at, &e))?;
        let rest = bytes.split_off((second.at - first.at) as usize);
        bytes.truncate((end - first.at) as usize);
        Ok([Unchecked { place: first, bytes }, Unchecked { place: second, bytes: rest }])
    }

    /// A part that was read, checked and expanded.
    pub(in crate::segment) fn piece(&self, kind: Kind, Unchecked { place, bytes }: Unchecked) -> Result<Block> {
        let header = self.check(kind, place, &bytes)?;
        self.expand(place.at, header, bytes)
    }

    /// Checks the bytes of a part, its header first.
    pub(in crate::segment) fn check(&self, kind: Kind, place: Place, bytes: &[u8]) -> Result<Header> {
        let header = Header::take(bytes).filter(|header| header.kind == kind && header.stored == place.stored);
        let payload = bytes.get(HEADER..).unwrap_or_default();
        header
            .filter(|header| header.agrees(&self.owner, place.at, payload))
            .ok_or_else(|| self.damaged(place.at, &format!("the {} is damaged", kind.name())))
    }

    /// A part that was checked, expanded.
    fn expand(&self, at: u64, header: Header, bytes: Vec<u8>) -> Result<Block> {
        if header.codec == Codec::None {
            return Ok(Block { bytes, from: HEADER, header });
        }
        let bytes = self.expand_bytes(at, &header, &bytes[HEADER..])?;
        Ok(Block { bytes, from: 0, header })
    }

    /// The bytes that the stored ones of a part stand for.
    pub(in crate::segment) fn expand_bytes(&self, at: u64, header: &Header, stored: &[u8]) -> Result<Vec<u8>> {
        let expanded = header.codec.expand(stored, header.raw as usize);
        expanded.ok_or_else(|| self.damaged(at, &format!("the {} cannot be expanded", header.kind.name())))
    }
}

/// Damage at a place of a file.
fn damaged(path: &Path, offset: u64, what: &str) -> Error {
    // Segments are in a directory of their own in the store's.
    let store = path.parent().and_then(Path::parent).unwrap_or(Path::new("STORE"));
    let text = format!("{}, offset {offset}: {what}. Run: cellfs check --repair {}", path.display(), store.display());
    Error::new(ErrorKind::Corrupt, text)
}
