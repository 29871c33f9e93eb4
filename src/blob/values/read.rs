//! Reading values: ranges of bytes, and the chunks that they are made of.

use super::lists;
use super::root::{Reference, Root};
use crate::blob::blobs::Blobs;
use crate::blob::disk::chunk::Chunk;
use crate::blob::disk::header::Kind;
use crate::{ErrorKind, Result};

/// Takes bytes of a value in order.
pub(super) type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

impl Blobs {
    /// The bytes of a value from `offset` on, at most `len` and fewer at its end. Damage is [`ErrorKind::Corrupt`], with
    /// file and place.
    pub fn read(&self, root: &Root, offset: u64, len: usize) -> Result<Vec<u8>> {
        let end = offset.saturating_add(len as u64).min(root.len);
        let mut out = Vec::with_capacity(end.saturating_sub(offset) as usize);
        if offset >= end {
            return Ok(out);
        }
        let (body, mut put) = (root.body(), |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        self.read_below(&root.refs, root.height, offset, end.min(body), &mut put)?;
        if end > body {
            put(&root.tail[offset.saturating_sub(body) as usize..(end - body) as usize])?;
        }
        Ok(out)
    }

    /// Bytes `from..to` of what lies below references.
    pub(super) fn read_below(&self, refs: &[Reference], height: u8, from: u64, to: u64, put: Take<'_>) -> Result<()> {
        let mut start = 0u64;
        for one in refs {
            let end = start + one.len;
            let (first, last) = (from.max(start), to.min(end));
            if first < last {
                let (first, last) = (first - start, last - start);
                match height {
                    _ if one.is_hole() => put_zeros(last - first, put)?,
                    0 => put(&self.data(one)?.bytes()[first as usize..last as usize])?,
                    _ => self.read_below(&self.list(one)?, height - 1, first, last, put)?,
                }
            }
            if end >= to {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// The chunk of data that a reference leads to, with as many bytes as that says.
    pub(in crate::blob) fn data(&self, to: &Reference) -> Result<std::sync::Arc<Chunk>> {
        let chunk = self.follow(to)?;
        if chunk.kind == Kind::Data && chunk.bytes().len() as u64 == to.len {
            return Ok(chunk);
        }
        let what = format!("chunk {} has not the {} bytes of a value that refer to it", to.chunk, to.len);
        Err(self.0.files.corrupt(to.blob, None, &what))
    }

    /// The references of the list that a reference leads to.
    pub(in crate::blob) fn list(&self, to: &Reference) -> Result<Vec<Reference>> {
        let chunk = self.follow(to)?;
        let refs = (chunk.kind == Kind::List).then(|| lists::decode(chunk.bytes(), to.len)).flatten();
        refs.ok_or_else(|| {
            self.0.files.corrupt(to.blob, None, &format!("chunk {} is not the list that a value needs", to.chunk))
        })
    }

    /// Bytes of a value without its holes. Of lists those alone are read that cover more than so many chunks mostly have:
    /// a smaller hole in one of the others counts as data.
    pub fn filled(&self, root: &Root) -> Result<u64> {
        Ok(self.filled_below(&root.refs, root.height)? + root.tail.len() as u64)
    }

    /// As [`Blobs::filled`], of what lies below references.
    pub(in crate::blob) fn filled_below(&self, refs: &[Reference], height: u8) -> Result<u64> {
        let chunk = self.0.files.options.cut.1 as u64;
        let dense = (0..height).fold(chunk + chunk / 2, |bytes, _| bytes.saturating_mul(lists::LIST_MAX as u64));
        refs.iter().filter(|one| !one.is_hole()).try_fold(0, |sum, one| {
            let inside = height > 0 && one.len > dense;
            Ok(sum + if inside { self.filled_below(&self.list(one)?, height - 1)? } else { one.len })
        })
    }

    /// Calls `each` with the file and number of every chunk that a value refers to, lists too; lists are read once each.
    pub fn each_chunk(&self, root: &Root, each: &mut dyn FnMut(u64, u32) -> Result<()>) -> Result<()> {
        self.each_below(&root.refs, root.height, each)
    }

    fn each_below(&self, refs: &[Reference], height: u8, each: &mut dyn FnMut(u64, u32) -> Result<()>) -> Result<()> {
        for one in refs.iter().filter(|one| !one.is_hole()) {
            each(one.blob, one.chunk)?;
            if height > 0 {
                self.each_below(&self.list(one)?, height - 1, each)?;
            }
        }
        Ok(())
    }

    /// An error where a file has no such chunk, unless a repair has told of it; it is not read.
    pub fn find(&self, blob: u64, chunk: u32) -> Result<()> {
        match self.0.files.place(blob, chunk) {
            Err(_) if self.0.files.lost.read().contains(&(blob, chunk)) => Ok(()),
            found => found.map(drop),
        }
    }

    /// Whether every chunk of a value has come to the disk: the table of its file has it, which is made of whole ones, or
    /// `was_there` (file, number) says so. What is wrong with it since is damage, which is not told here.
    pub fn has_come(&self, root: &Root, was_there: &dyn Fn(u64, u32) -> bool) -> Result<bool> {
        self.have_come(&root.refs, root.height, was_there)
    }

    fn have_come(&self, refs: &[Reference], height: u8, was_there: &dyn Fn(u64, u32) -> bool) -> Result<bool> {
        for one in refs.iter().filter(|one| !one.is_hole()) {
            match self.0.files.place(one.blob, one.chunk) {
                Err(e) if e.kind != ErrorKind::Corrupt => return Err(e),
                Err(_) if !was_there(one.blob, one.chunk) => return Ok(false),
                _ if height == 0 => continue,
                _ => {}
            }
            match self.list(one) {
                Ok(refs) if !self.have_come(&refs, height - 1, was_there)? => return Ok(false),
                Err(e) if e.kind != ErrorKind::Corrupt => return Err(e),
                _ => {}
            }
        }
        Ok(true)
    }
}

fn put_zeros(mut len: u64, put: Take<'_>) -> Result<()> {
    const ZEROS: [u8; 4096] = [0; 4096];
    while len > 0 {
        let part = len.min(ZEROS.len() as u64);
        put(&ZEROS[..part as usize])?;
        len -= part;
    }
    Ok(())
}
