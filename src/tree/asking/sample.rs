//! `.sample/N`: rows of an answer at random, the same ones for the same seed while what is stored is the same.
//!
//! Of a large table blocks are drawn, all equally likely, and of each block that the draw falls on one row of the answer,
//! which is taken as often as the block has rows for each that the fullest one has. So all rows are equally likely as far as
//! no block is fuller than the fullest of those that were looked at first. Where that takes too many draws, as the answer is
//! small or the sample is most of it, each row is looked at, and all of them are equally likely.

use std::collections::{BTreeSet, BinaryHeap};
use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::answer::{Answer, From};
use super::question::Question;
use crate::Result;
use crate::backend::Backend;
use crate::model::{RowKey, TableName};
use crate::tree::view::View;

/// Blocks that are looked at first.
const FIRST: u64 = 16;
/// Draws for each row that is wanted, before all rows are looked at.
const DRAWS: u64 = 16;

/// Rows of a whole table, ascending, at most so many.
pub fn of_table(backend: &dyn Backend, table: &TableName, most: u64) -> Result<BTreeSet<RowKey>> {
    let question = Question::default();
    rows(&Answer::new(backend, table, View::Plain, &question)?, most, 0)
}

/// See the module; at most so many.
pub(in crate::tree) fn rows(answer: &Answer<'_>, most: u64, seed: u64) -> Result<BTreeSet<RowKey>> {
    match drawn(answer, most, seed)? {
        Some(rows) => Ok(rows),
        None => of_all(answer, most, seed),
    }
}

/// `None`: it would take too many draws.
fn drawn(answer: &Answer<'_>, most: u64, seed: u64) -> Result<Option<BTreeSet<RowKey>>> {
    if answer.is_sequential() {
        return Ok(None);
    }
    let draw = |number: u64| {
        let number = hash(seed, &number.to_le_bytes());
        Ok(answer.draw(number)?.map(|piece| (number, piece)))
    };
    let first: Option<Vec<_>> = (0..FIRST).map(draw).collect::<Result<_>>()?;
    let Some(first) = first else { return Ok(None) };
    let mut fullest = first.iter().map(|(_, piece)| piece.len()).max().unwrap_or(0);
    if fullest == 0 {
        return Ok(None);
    }
    let (mut first, mut rows) = (first.into_iter(), BTreeSet::new());
    for next in FIRST..FIRST * 2 + DRAWS * most {
        let piece = match first.next() {
            Some(piece) => Some(piece),
            None => draw(next)?,
        };
        let Some((number, piece)) = piece else { return Ok(None) };
        fullest = fullest.max(piece.len());
        rows.extend(piece.into_iter().nth(hash(number, b"row") as usize % fullest));
        if rows.len() as u64 == most {
            return Ok(Some(rows));
        }
    }
    Ok(None)
}

/// The rows with the least hashes.
fn of_all(answer: &Answer<'_>, most: u64, seed: u64) -> Result<BTreeSet<RowKey>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut least: BinaryHeap<(u64, RowKey)> = BinaryHeap::new();
    answer.rows(From::Start, None, |row| {
        let hash = hash(seed, &row);
        if least.len() < most {
            least.push((hash, row));
        } else if least.peek().is_some_and(|(greatest, _)| hash < *greatest) {
            least.pop();
            least.push((hash, row));
        }
        true
    })?;
    Ok(least.into_iter().map(|(_, row)| row).collect())
}

fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(seed, seed);
    hasher.write(bytes);
    hasher.finish()
}
