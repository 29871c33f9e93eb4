//! The chunks of large values that an extent's roots refer to: for each blob sorted numbers or a bitmap, the shorter.
//!
//! Pure.

use std::collections::HashMap;

use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::format::{put_varint, take, take_varint};

const NUMBERS: u8 = 0;
const BITMAP: u8 = 1;

/// The chunks of one blob that are referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkSet {
    /// Ascending.
    Numbers(Vec<u32>),
    /// Chunk n is bit n % 8 of byte n / 8.
    Bitmap(Vec<u8>),
}

impl ChunkSet {
    /// Their numbers, ascending.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            ChunkSet::Numbers(numbers) => Box::new(numbers.iter().copied()),
            ChunkSet::Bitmap(bytes) => {
                let bits = |(n, byte): (usize, &u8)| {
                    let byte = *byte;
                    (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| n as u32 * 8 + bit)
                };
                Box::new(bytes.iter().enumerate().flat_map(bits))
            }
        }
    }

    /// Adds them to a bitmap, bit n % 64 of word n / 64, which grows.
    pub fn union_into(&self, words: &mut Vec<u64>) {
        for n in self.iter() {
            let at = n as usize / 64;
            if at >= words.len() {
                words.resize(at + 1, 0);
            }
            words[at] |= 1 << (n % 64);
        }
    }
}

/// Gathers them.
#[derive(Default)]
pub(in crate::segment) struct ChunkGatherer(HashMap<u64, FxHashSet<u32>, FxBuildHasher>);

impl ChunkGatherer {
    pub(in crate::segment) fn add(&mut self, blob: u64, chunk: u32) {
        self.0.entry(blob).or_default().insert(chunk);
    }

    /// The section.
    pub(in crate::segment) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.0.len() as u64);
        let mut blobs: Vec<_> = self.0.iter().collect();
        blobs.sort_unstable_by_key(|(blob, _)| **blob);
        for (blob, chunks) in blobs {
            let mut chunks: Vec<u32> = chunks.iter().copied().collect();
            chunks.sort_unstable();
            put_varint(&mut out, *blob);
            put_set(&mut out, &chunks);
        }
        out
    }
}

fn put_set(out: &mut Vec<u8>, chunks: &[u32]) {
    let mut numbers = Vec::new();
    let mut before = 0;
    for chunk in chunks {
        put_varint(&mut numbers, u64::from(chunk - before));
        before = *chunk;
    }
    let bitmap_len = before as usize / 8 + 1;
    if numbers.len() <= bitmap_len {
        out.push(NUMBERS);
        put_varint(out, numbers.len() as u64);
        out.extend_from_slice(&numbers);
        return;
    }
    let mut bitmap = vec![0u8; bitmap_len];
    chunks.iter().for_each(|chunk| bitmap[*chunk as usize / 8] |= 1 << (chunk % 8));
    out.push(BITMAP);
    put_varint(out, bitmap_len as u64);
    out.extend_from_slice(&bitmap);
}

/// Reads the section: blobs ascending.
pub(in crate::segment) fn decode(mut bytes: &[u8]) -> Option<Vec<(u64, ChunkSet)>> {
    let bytes = &mut bytes;
    let count = take_varint(bytes)?;
    let mut all: Vec<(u64, ChunkSet)> = Vec::new();
    for _ in 0..count {
        let blob = take_varint(bytes)?;
        if all.last().is_some_and(|(before, _)| *before >= blob) {
            return None;
        }
        let form = take(bytes, 1)?[0];
        let len = usize::try_from(take_varint(bytes)?).ok()?;
        let set = take(bytes, len)?;
        let set = match form {
            NUMBERS => ChunkSet::Numbers(take_numbers(set)?),
            // Beyond it numbers have more than 32 bits.
            BITMAP if len <= 1 << 29 => ChunkSet::Bitmap(set.to_vec()),
            _ => return None,
        };
        all.push((blob, set));
    }
    bytes.is_empty().then_some(all)
}

fn take_numbers(mut bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    while !bytes.is_empty() {
        let step = u32::try_from(take_varint(&mut bytes)?).ok()?;
        let next = numbers.last().map_or(Some(step), |before| before.checked_add(step))?;
        if step == 0 && !numbers.is_empty() {
            return None;
        }
        numbers.push(next);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_in_the_shorter_form() {
        let mut gatherer = ChunkGatherer::default();
        for n in [0u32, 7, 8, 1_000_000, u32::MAX] {
            gatherer.add(9, n);
            gatherer.add(9, n);
        }
        (100..3_000).for_each(|n| gatherer.add(3, n));
        let bytes = gatherer.encode();
        assert!(bytes.len() < 420, "{}", bytes.len());
        let read = decode(&bytes).unwrap();
        assert_eq!(read[0].0, 3);
        assert!(read[0].1.iter().eq(100..3_000));
        assert_eq!(read[1], (9, ChunkSet::Numbers(vec![0, 7, 8, 1_000_000, u32::MAX])));
        let mut words = Vec::new();
        read[0].1.union_into(&mut words);
        assert_eq!(words.iter().map(|word| word.count_ones()).sum::<u32>(), 2_900);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_none());
        }
        assert_eq!(decode(&ChunkGatherer::default().encode()), Some(vec![]));
    }
}
