//! Changes of values: bytes behind their end, in their midst, and their length. Each costs the chunks that it touches,
//! the lists above them and a root, whatever the value's size; the old root stays what it was.

use super::lists;
use super::root::{ROOT_MAX, Reference, Root, TAIL_MAX};
use super::writer::{ValueWriter, cut_at};
use crate::Result;
use crate::blob::blobs::Blobs;
use crate::blob::disk::header::Kind;
use crate::blob::shares::Hold;
use crate::format::Codec;

/// Bytes for a place among the references of a value.
struct Patch<'p> {
    bytes: &'p [u8],
    codec: Codec,
    hold: &'p Hold,
}

impl Blobs {
    /// The value with bytes behind its end.
    pub fn append(&self, root: &Root, bytes: &[u8], codec: Codec) -> Result<Root> {
        if root.tail.len() + bytes.len() <= TAIL_MAX {
            let mut root = root.clone();
            root.tail.extend_from_slice(bytes);
            root.len += bytes.len() as u64;
            return Ok(root);
        }
        let mut writer = self.extend(root, codec)?;
        writer.write(bytes)?;
        writer.finish()
    }

    /// The value with bytes from `offset` on replaced; zeros come between its end and a place behind that.
    pub fn write_at(&self, root: &Root, offset: u64, bytes: &[u8], codec: Codec) -> Result<Root> {
        if bytes.is_empty() {
            return Ok(root.clone());
        }
        if offset > root.len {
            let grown = self.truncate(root, offset, codec)?;
            return self.append(&grown, bytes, codec);
        }
        let body = root.body();
        let inside = (body.saturating_sub(offset)).min(bytes.len() as u64) as usize;
        let (inside, behind) = bytes.split_at(inside);
        let mut root = root.clone();
        if !inside.is_empty() {
            root = self.patch(&root, offset, inside, codec)?;
        }
        if behind.is_empty() {
            return Ok(root);
        }
        let at = offset.saturating_sub(body) as usize;
        let in_tail = behind.len().min(root.tail.len() - at);
        root.tail[at..at + in_tail].copy_from_slice(&behind[..in_tail]);
        self.append(&root, &behind[in_tail..], codec)
    }

    /// The value with another length; what it grows by are zeros that take no room.
    pub fn truncate(&self, root: &Root, len: u64, codec: Codec) -> Result<Root> {
        let body = root.body();
        if len < body {
            return ValueWriter::behind(self.clone(), root, len, Vec::new(), codec)?.finish();
        }
        if len - body <= TAIL_MAX as u64 {
            let mut root = root.clone();
            root.tail.resize((len - body) as usize, 0);
            root.len = len;
            return Ok(root);
        }
        let mut writer = self.extend(root, codec)?;
        writer.write_hole(len - root.len)?;
        writer.finish()
    }

    /// The value with bytes replaced that lie below its references.
    fn patch(&self, root: &Root, offset: u64, bytes: &[u8], codec: Codec) -> Result<Root> {
        let hold = self.0.files.shares.hold(root.hold.as_ref());
        let patch = Patch { bytes, codec, hold: &hold };
        let mut refs = self.patch_below(&root.refs, root.height, offset, &patch)?;
        let mut height = root.height;
        while refs.len() > ROOT_MAX {
            refs = self.store_lists(&hold, &refs)?;
            height += 1;
        }
        Root::of(height, refs, root.tail.clone(), hold)
    }

    fn patch_below(&self, refs: &[Reference], height: u8, offset: u64, patch: &Patch<'_>) -> Result<Vec<Reference>> {
        let (first, start) = find(refs, offset);
        let (last, last_start) = find(refs, offset + patch.bytes.len() as u64 - 1);
        let at = offset - start;
        let new = if height == 0 {
            let end = offset + patch.bytes.len() as u64 - last_start;
            self.patch_data(&refs[first], at, &refs[last], end, patch)?
        } else {
            let mut below = self.list_or_hole(&refs[first])?;
            if last > first {
                // What lies between is replaced as a whole, so it need not be read.
                let between = refs[first + 1..last].iter().map(|one| one.len).sum();
                below.extend((between > 0).then(|| Reference::hole(between)));
                below.extend(self.list_or_hole(&refs[last])?);
            }
            let below = self.patch_below(&below, height - 1, at, patch)?;
            self.store_lists(patch.hold, &below)?
        };
        Ok([&refs[..first], &new, &refs[last + 1..]].concat())
    }

    /// Chunks for bytes that begin at `at` in the first of the chunks that they touch and stop at `end` in the last one.
    fn patch_data(
        &self,
        first: &Reference,
        at: u64,
        last: &Reference,
        end: u64,
        patch: &Patch<'_>,
    ) -> Result<Vec<Reference>> {
        let (mut new, mut bytes) = (Vec::new(), Vec::new());
        if first.is_hole() {
            new.extend((at > 0).then(|| Reference::hole(at)));
        } else if at > 0 {
            bytes.extend_from_slice(&self.data(first)?.bytes()[..at as usize]);
        }
        bytes.extend_from_slice(patch.bytes);
        if !last.is_hole() && end < last.len {
            bytes.extend_from_slice(&self.data(last)?.bytes()[end as usize..]);
        }
        let cut = self.0.files.options.cut;
        let is_one = first == last && bytes.len() as u64 == first.len;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (one, more) = rest.split_at(if is_one { rest.len() } else { cut_at(rest, cut) });
            new.push(self.store(patch.hold, one, patch.codec, Kind::Data)?);
            rest = more;
        }
        if last.is_hole() {
            new.extend((end < last.len).then(|| Reference::hole(last.len - end)));
        }
        Ok(new)
    }

    fn list_or_hole(&self, one: &Reference) -> Result<Vec<Reference>> {
        if one.is_hole() { Ok(vec![*one]) } else { self.list(one) }
    }

    fn store_lists(&self, hold: &Hold, refs: &[Reference]) -> Result<Vec<Reference>> {
        lists::part(refs).into_iter().map(|part| self.store_list(hold, part)).collect()
    }
}

/// The reference below which a byte lies, and the first byte below it.
fn find(refs: &[Reference], offset: u64) -> (usize, u64) {
    let mut start = 0;
    for (n, one) in refs.iter().enumerate() {
        if offset < start + one.len {
            return (n, start);
        }
        start += one.len;
    }
    (refs.len().saturating_sub(1), start)
}
