//! Where the chunks of a blob lie: in memory, and twice at the end of a sealed file.
//!
//! Table: for each number the bytes between the chunk before and it (varint), and its bytes with its header (varint; 0 for
//! one that is lost). It stands behind the last chunk and again at the next multiple of 4 KiB behind that. Footer, the
//! last 40 bytes of the file: places of both u32 and u32, length of one u32, number of chunks u32, end of the chunks u32,
//! check of the table u32, u32 0, check of the 28 bytes before u32, `CFBT0001`.

use super::header::{FILE_HEADER, u32_at};
use crate::format::{StoreId, agree, place_check, put_varint, take_varint};

/// Bytes of a footer.
pub(in crate::blob) const FOOTER: usize = 40;
const MAGIC: &[u8; 8] = b"CFBT0001";
const ALIGN: u32 = 4096;

/// Where a chunk lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::blob) struct Place {
    pub offset: u32,
    /// With its header; 0: there is no such chunk.
    pub total: u32,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::blob) struct Table {
    places: Vec<Place>,
    /// Nothing of a chunk lies behind it, whole or not; 0: where the last one ends.
    end: u64,
}

/// What a footer says.
pub(in crate::blob) struct Footer {
    /// Of both copies.
    pub at: [u32; 2],
    pub len: u32,
    pub chunks: u32,
    pub end: u32,
    check: u32,
}

impl Table {
    /// Where a chunk lies, if it is there.
    pub(in crate::blob) fn get(&self, chunk: u32) -> Option<Place> {
        self.places.get(chunk as usize).copied().filter(|place| place.total > 0)
    }

    /// The number of the next chunk.
    pub(in crate::blob) fn next(&self) -> u32 {
        self.places.len() as u32
    }

    /// Puts a chunk behind all others; numbers between are those of lost ones.
    pub(in crate::blob) fn put(&mut self, chunk: u32, place: Place) {
        self.places.resize((chunk as usize).max(self.places.len()), Place::default());
        self.places.push(place);
    }

    /// Keeps what lies before this place, though it is no chunk that could be found.
    pub(in crate::blob) fn keep(&mut self, end: u64) {
        self.end = end;
    }

    /// Where the chunks end.
    pub(in crate::blob) fn end(&self) -> u64 {
        let last = self.places.iter().rev().find(|place| place.total > 0);
        last.map_or(FILE_HEADER, |place| u64::from(place.offset) + u64::from(place.total)).max(self.end)
    }

    /// Chunks that are there, with their numbers.
    pub(in crate::blob) fn iter(&self) -> impl Iterator<Item = (u32, Place)> + '_ {
        self.places.iter().enumerate().map(|(n, place)| (n as u32, *place)).filter(|(_, place)| place.total > 0)
    }

    /// Bytes of memory.
    pub(in crate::blob) fn weight(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + 64
    }

    fn body(&self) -> Vec<u8> {
        let (mut out, mut end) = (Vec::with_capacity(self.places.len() * 4), FILE_HEADER as u32);
        for place in &self.places {
            let gap = if place.total > 0 { place.offset - end } else { 0 };
            put_varint(&mut out, u64::from(gap));
            put_varint(&mut out, u64::from(place.total));
            if place.total > 0 {
                end = place.offset + place.total;
            }
        }
        out
    }

    /// What stands behind the chunks of a sealed file.
    pub(in crate::blob) fn encode(&self, store: &StoreId, file: u64) -> Vec<u8> {
        let (body, end) = (self.body(), self.end() as u32);
        let second = (end + body.len() as u32).next_multiple_of(ALIGN);
        let mut out = body.clone();
        out.resize((second - end) as usize, 0);
        out.extend_from_slice(&body);
        let from = out.len();
        for number in [end, second, body.len() as u32, self.next(), end] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&place_check(store, file, u64::from(end), &[&body]).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        let check = place_check(store, file, u64::from(end) + from as u64, &[&out[from..]]);
        out.extend_from_slice(&check.to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }

    /// The table of which a footer speaks; `None` if these bytes are not it.
    pub(in crate::blob) fn decode(footer: &Footer, body: &[u8], store: &StoreId, file: u64) -> Option<Self> {
        if !agree(footer.check, place_check(store, file, u64::from(footer.end), &[body])) {
            return None;
        }
        let (mut rest, mut table, mut end) = (body, Self::default(), FILE_HEADER);
        for _ in 0..footer.chunks {
            let (gap, total) = (take_varint(&mut rest)?, take_varint(&mut rest)?);
            let offset = end.checked_add(gap)?;
            if total > 0 {
                end = offset.checked_add(total).filter(|end| *end <= u64::from(footer.end))?;
            }
            let offset = if total > 0 { offset as u32 } else { 0 };
            table.places.push(Place { offset, total: total as u32 });
        }
        table.end = u64::from(footer.end);
        (rest.is_empty() && end <= table.end).then_some(table)
    }
}

impl Footer {
    /// The footer of a sealed file of `len` bytes; `None` if these bytes are none.
    pub(in crate::blob) fn decode(bytes: &[u8; FOOTER], len: u64, store: &StoreId, file: u64) -> Option<Self> {
        let at = len.checked_sub(FOOTER as u64)?;
        if &bytes[32..] != MAGIC || !agree(u32_at(bytes, 28), place_check(store, file, at, &[&bytes[..28]])) {
            return None;
        }
        let word = |n: usize| u32_at(bytes, n * 4);
        let footer = Self { at: [word(0), word(1)], len: word(2), chunks: word(3), end: word(4), check: word(5) };
        // Two varints a chunk, at least.
        let is_right = u64::from(footer.at[1]) + u64::from(footer.len) <= at
            && footer.at[0] <= footer.at[1]
            && footer.end == footer.at[0]
            && footer.len / 2 >= footer.chunks;
        is_right.then_some(footer)
    }
}
