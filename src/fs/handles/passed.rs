//! Keys of the entries that a directory handle has passed, side by side: none of very many has an allocation of its own.

use std::collections::VecDeque;

/// Keys that go together.
pub const TOGETHER: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub struct Passed {
    /// All but the last one are full.
    pieces: VecDeque<Piece>,
}

#[derive(Debug, Default)]
struct Piece {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl Piece {
    fn key(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }
}

impl Passed {
    pub fn len(&self) -> usize {
        self.pieces.back().map_or(0, |last| (self.pieces.len() - 1) * TOGETHER + last.ends.len())
    }

    /// The key of an entry, counted from the first that is kept.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.pieces.get(index / TOGETHER)?.key(index % TOGETHER)
    }

    /// Adds the next key.
    pub fn push(&mut self, key: &[u8]) {
        match self.pieces.back() {
            None => self.pieces.push_back(Piece::default()),
            // Keys are of about the same length.
            Some(last) if last.ends.len() == TOGETHER => {
                let (bytes, ends) = (Vec::with_capacity(last.bytes.len()), Vec::with_capacity(TOGETHER));
                self.pieces.push_back(Piece { bytes, ends });
            }
            Some(_) => {}
        }
        if let Some(last) = self.pieces.back_mut() {
            last.push(key);
        }
    }

    /// Forgets the [`TOGETHER`] first keys, of more.
    pub fn forget_first(&mut self) {
        self.pieces.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_queue_of_keys() {
        let (mut passed, mut model) = (Passed::default(), VecDeque::new());
        let key = |n: usize| vec![b'k'; n % 7];
        for n in 0..3000 {
            passed.push(&key(n));
            model.push_back(key(n));
            if passed.len() > 5 * TOGETHER {
                passed.forget_first();
                model.drain(..TOGETHER);
            }
            assert_eq!(passed.len(), model.len());
        }
        for (index, key) in model.iter().enumerate() {
            assert_eq!(passed.get(index), Some(key.as_slice()));
        }
        assert_eq!(passed.get(model.len()), None);
    }
}
