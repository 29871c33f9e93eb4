//! Cells of a record: a head that verifies itself, then the value, which does too.
//!
//! u32 check of store id, file number, offset of the cell and the rest of the head; length of the head, a varint in three
//! bytes; kind u8; varints: flags, family, timestamp (zigzag), length of row, qualifier, value, and of the value that a
//! root stands for; the tags that the flags name; row; qualifier. Then u32 check of the value, bound as the head's is,
//! and the value.

use super::record::Place;
use super::words::u32_at;
use crate::format::{agree, put_tags, put_varint, tag_flags, take, take_tags, take_varint, unzigzag, zigzag};
use crate::model::{CellKind, FamilyId, Tags, Timestamp, ValueBytes};
use crate::{Error, ErrorKind, Result};

/// The value is a root.
const ROOT: u64 = 32;
/// Check and length of a head.
const OPENING: usize = 7;
/// Longest lost value whose length is kept: values that stand in the log are shorter.
const VALUE_MAX: usize = 1 << 20;
/// Longest head.
const MAX_HEAD: usize = (1 << 21) - 1;

/// A cell to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCell<'a> {
    pub family: FamilyId,
    pub row: &'a [u8],
    pub qualifier: &'a [u8],
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: &'a Tags,
    pub value: ValueBytes<'a>,
}

/// A cell that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCell {
    pub family: FamilyId,
    pub row: Vec<u8>,
    pub qualifier: Vec<u8>,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: Tags,
    /// The value's bytes, or those of a root.
    pub value: Vec<u8>,
    /// `Some`: of a value of so many bytes the root.
    pub root: Option<u64>,
    /// Whether the value is as it was written.
    pub whole: bool,
}

impl FoundCell {
    /// As long as it was, and marked as lost: a reader is refused, who would take an older version for the newest.
    fn without_value(mut self, len: usize) -> Self {
        // Of a root nothing can be read; of what is longer than any value here, the length is not kept.
        let len = if self.root.take().is_some() { 1 } else { len.clamp(1, VALUE_MAX) };
        self.value = vec![0; len];
        self.tags.is_damaged = true;
        self
    }

    /// As it was written.
    pub fn to_write(&self) -> LogCell<'_> {
        let value = match self.root {
            Some(len) => ValueBytes::Root { len, bytes: &self.value },
            None => ValueBytes::Bytes(&self.value),
        };
        let Self { family, row, qualifier, timestamp, kind, tags, .. } = self;
        LogCell { family: *family, row, qualifier, timestamp: *timestamp, kind: *kind, tags, value }
    }
}

/// Appends a cell whose record begins at `place`, at the front of `out`.
pub(in crate::log) fn put_cell(out: &mut Vec<u8>, place: Place<'_>, cell: &LogCell<'_>) -> Result<()> {
    let start = out.len();
    let place = place.at(place.offset + start as u64);
    let (root, len, value) = match cell.value {
        ValueBytes::Bytes(bytes) => (0, None, bytes),
        ValueBytes::Root { len, bytes } => (ROOT, Some(len), bytes),
    };
    out.extend_from_slice(&[0; OPENING]);
    out.push(cell.kind.code());
    let sizes = [cell.row.len() as u64, cell.qualifier.len() as u64, value.len() as u64];
    let numbers = [tag_flags(cell.tags) | root, u64::from(cell.family.0), zigzag(cell.timestamp.0)];
    numbers.into_iter().chain(sizes).chain(len).for_each(|number| put_varint(out, number));
    put_tags(out, cell.tags);
    out.extend_from_slice(cell.row);
    out.extend_from_slice(cell.qualifier);
    let head = out.len() - start;
    if head > MAX_HEAD {
        let text = format!("the keys of a cell take {head} bytes; {MAX_HEAD} is the limit");
        return Err(Error::new(ErrorKind::NameTooLong, text));
    }
    for (at, shift) in [(4, 0), (5, 7), (6, 14)] {
        out[start + at] = ((head >> shift) & 0x7F) as u8 | if at < 6 { 0x80 } else { 0 };
    }
    let check = place.check(&[&out[start + 4..]]);
    out[start..start + 4].copy_from_slice(&check.to_le_bytes());
    out.extend_from_slice(&place.check(&[value]).to_le_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// The cell at the front of `bytes`, which stand at `place`, and its length; `None`: its head is not as it was written.
pub(in crate::log) fn take_cell(bytes: &[u8], place: Place<'_>) -> Option<(FoundCell, usize)> {
    let mut length = bytes.get(4..OPENING)?;
    let head_len = take_varint(&mut length)? as usize;
    let head = bytes.get(..head_len).filter(|_| length.is_empty() && head_len > OPENING)?;
    if !agree(u32_at(head, 0), place.check(&[&head[4..]])) {
        return None;
    }
    let mut rest = &head[OPENING..];
    let kind = CellKind::from_code(take(&mut rest, 1)?[0])?;
    let flags = take_varint(&mut rest)?;
    let family = FamilyId(u32::try_from(take_varint(&mut rest)?).ok()?);
    let timestamp = Timestamp(unzigzag(take_varint(&mut rest)?));
    let mut size = || usize::try_from(take_varint(&mut rest)?).ok();
    let (row_len, qualifier_len, value_len) = (size()?, size()?, size()?);
    let root = if flags & ROOT == 0 { None } else { Some(take_varint(&mut rest)?) };
    let tags = take_tags(&mut rest, flags)?;
    let row = take(&mut rest, row_len)?.to_vec();
    let qualifier = take(&mut rest, qualifier_len)?.to_vec();
    if !rest.is_empty() {
        return None;
    }
    let end = head_len.checked_add(4)?.checked_add(value_len)?;
    // A head that says more than there is: the value is not whole.
    let value = bytes.get(head_len + 4..end);
    let whole = value.is_some_and(|value| agree(u32_at(bytes, head_len), place.check(&[value])));
    let value = value.filter(|_| whole).unwrap_or_default().to_vec();
    let found = FoundCell { family, row, qualifier, timestamp, kind, tags, value, root, whole };
    Some((if whole { found } else { found.without_value(value_len) }, end))
}
