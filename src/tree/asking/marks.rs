//! Where the rows or qualifiers begin or end that `.first`, `.last` and `.sample` pick, so that a look-up need not count
//! them each time.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::env::sync::Mutex;
use lru::LruCache;

use crate::Result;
use crate::model::{ColumnSlice, Timestamp};
use crate::tree::place::NodeKey;

/// Questions whose marks are remembered.
const QUESTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);
/// How long a mark holds where what it was made from may change, ms.
const HOLDS_MS: i64 = 1000;

/// Which keys of an answer are picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tree) enum Mark {
    All,
    None,
    /// Up to this one.
    Upto(Vec<u8>),
    /// From this one on.
    From(Vec<u8>),
    These(BTreeSet<Vec<u8>>),
}

impl Mark {
    /// Whether a key of the answer is picked.
    pub fn picks(&self, key: &[u8]) -> bool {
        match self {
            Mark::All => true,
            Mark::None => false,
            Mark::Upto(last) => key <= last.as_slice(),
            Mark::From(first) => key >= first.as_slice(),
            Mark::These(keys) => keys.contains(key),
        }
    }

    /// The columns among which the picked ones are.
    pub fn slice(&self) -> ColumnSlice {
        let to = |last: &[u8]| [last, &[0]].concat();
        match self {
            Mark::All | Mark::None => ColumnSlice::default(),
            Mark::Upto(last) => ColumnSlice { from: Vec::new(), before: to(last) },
            Mark::From(first) => ColumnSlice { from: first.clone(), before: Vec::new() },
            Mark::These(keys) => ColumnSlice {
                from: keys.first().cloned().unwrap_or_default(),
                before: keys.last().map_or_else(|| vec![0], |last| to(last)),
            },
        }
    }
}

struct Known {
    mark: Arc<Mark>,
    at: Timestamp,
}

/// See the module.
pub struct Marks(Mutex<LruCache<NodeKey, Known>>);

impl Default for Marks {
    fn default() -> Self {
        Self(LruCache::new(QUESTIONS).into())
    }
}

impl Marks {
    /// The mark of a directory; made where it is not known, or may have become another.
    pub(in crate::tree) fn of(
        &self,
        dir: &NodeKey,
        (now, is_fixed): (Timestamp, bool),
        make: impl FnOnce() -> Result<Mark>,
    ) -> Result<Arc<Mark>> {
        if let Some(known) = self.0.lock().get(dir)
            && (is_fixed || now.0.abs_diff(known.at.0) < HOLDS_MS.unsigned_abs())
        {
            return Ok(Arc::clone(&known.mark));
        }
        let mark = Arc::new(make()?);
        self.0.lock().put(dir.clone(), Known { mark: Arc::clone(&mark), at: now });
        Ok(mark)
    }
}
