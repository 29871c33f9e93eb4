//! What a filter is asked while a row is read (HBase: Filter), and its answers.

use std::cmp::Ordering;

use crate::Result;
use crate::model::{StoredCell, Timestamp};
use crate::query::lent::LentCell;

/// Bytes of values, read when a filter looks at them or a cell is returned.
pub trait ValueLoader {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>>;
    /// At most `len` bytes from `offset`; fewer only at the end.
    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>>;
}

/// Which version of a row it is.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct Version<'a> {
    pub family: &'a str,
    pub qualifier: &'a [u8],
    pub timestamp: Timestamp,
}

impl Version<'_> {
    pub fn is_column(&self, family: &str, qualifier: &[u8]) -> bool {
        self.qualifier == qualifier && self.family == family
    }
}

/// A visible cell that a filter judges.
pub(in crate::query) struct Candidate<'a> {
    pub version: Version<'a>,
    value: CandidateValue<'a>,
}

enum CandidateValue<'a> {
    Lent(&'a [u8]),
    /// Loaded at most once.
    Stored {
        cell: &'a StoredCell,
        loader: &'a mut dyn ValueLoader,
        loaded: Option<Vec<u8>>,
    },
}

impl<'a> Candidate<'a> {
    /// One whose value is read once it is looked at.
    pub fn stored(family: &'a str, cell: &'a StoredCell, loader: &'a mut dyn ValueLoader) -> Self {
        let version = Version { family, qualifier: &cell.qualifier, timestamp: cell.timestamp };
        Self { version, value: CandidateValue::Stored { cell, loader, loaded: None } }
    }

    /// One whose value is at hand.
    pub fn lent(family: &'a str, cell: &LentCell<'a>) -> Self {
        let version = Version { family, qualifier: cell.qualifier, timestamp: cell.timestamp };
        Self { version, value: CandidateValue::Lent(cell.value) }
    }

    pub fn value(&mut self) -> Result<&[u8]> {
        match &mut self.value {
            CandidateValue::Lent(value) => Ok(value),
            CandidateValue::Stored { cell, loader, loaded } => {
                if loaded.is_none() {
                    *loaded = Some(if cell.kind.is_put() { loader.load(cell)? } else { Vec::new() });
                }
                Ok(loaded.as_deref().unwrap_or_default())
            }
        }
    }

    /// The value, if it was loaded.
    pub fn into_loaded(self) -> Option<Vec<u8>> {
        match self.value {
            CandidateValue::Lent(_) => None,
            CandidateValue::Stored { loaded, .. } => loaded,
        }
    }

    pub fn qualifier(&self) -> &'a [u8] {
        self.version.qualifier
    }
}

/// A cell that was included, as filters of whole rows see it.
pub(in crate::query) struct Included {
    pub family: String,
    pub cell: StoredCell,
    pub value: Option<Vec<u8>>,
    /// The value is shown empty.
    pub key_only: bool,
    /// When it expires, where infos are told.
    pub expires_at: Option<Timestamp>,
}

impl Included {
    /// Which version it is.
    pub fn version(&self) -> Version<'_> {
        let StoredCell { qualifier, timestamp, .. } = &self.cell;
        Version { family: &self.family, qualifier, timestamp: *timestamp }
    }

    /// A cell of a family that is shown with its value, which was not read yet.
    pub fn whole(family: &str, cell: StoredCell) -> Self {
        Self { family: family.to_owned(), cell, value: None, key_only: false, expires_at: None }
    }
}

/// Where to read on (HBase: SEEK_NEXT_USING_HINT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::query) enum Hint {
    /// First cell of a column of the same row and family.
    Column(Vec<u8>),
    /// This row, or where it would be.
    Row(Vec<u8>),
}

impl Hint {
    /// Whether a cell of this column has still to be passed over. As in HBase a reversed scan compares
    /// columns the other way round, although the cells of a row come in the usual order.
    pub fn is_ahead_of(&self, qualifier: &[u8], direction: Direction) -> bool {
        match (self, direction) {
            (Hint::Column(column), Direction::Forward) => qualifier < column.as_slice(),
            (Hint::Column(column), Direction::Reversed) => qualifier >= column.as_slice(),
            (Hint::Row(_), _) => true,
        }
    }

    /// Which of two is further away from where the scan is.
    pub fn compare(&self, other: &Self, direction: Direction) -> Ordering {
        match (self, other) {
            (Hint::Row(_), Hint::Column(_)) => Ordering::Greater,
            (Hint::Column(_), Hint::Row(_)) => Ordering::Less,
            (Hint::Column(a), Hint::Column(b)) | (Hint::Row(a), Hint::Row(b)) => direction.compare(a, b),
        }
    }
}

/// The way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Direction {
    Forward,
    Reversed,
}

impl Direction {
    /// Compares two places: what is reached later is greater.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Direction::Forward => a.cmp(b),
            Direction::Reversed => b.cmp(a),
        }
    }

    /// Whether something that stands so to the wanted place lies behind it.
    pub fn is_past(self, to_wanted: Ordering) -> bool {
        match self {
            Direction::Forward => to_wanted.is_gt(),
            Direction::Reversed => to_wanted.is_lt(),
        }
    }
}

/// HBase's ReturnCode, by length of the step forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::query) enum Decision {
    Include,
    Skip,
    IncludeNextColumn,
    NextColumn,
    /// The rest of the row is not wanted in this family.
    NextRow,
    /// Ask [`Filter::hint`].
    Seek,
}

impl Decision {
    pub fn includes(self) -> bool {
        matches!(self, Decision::Include | Decision::IncludeNextColumn)
    }
}

/// A filter. Each row: `is_done`, `excludes_key`, `judge` for each cell, `keeps` for each that it included,
/// `excludes_row`, `reset`.
pub(in crate::query) trait Filter: Send {
    /// A new row begins.
    fn reset(&mut self) {}

    /// Nothing can pass any more: the scan is over (filterAllRemaining).
    fn is_done(&self) -> bool {
        false
    }

    /// The row is excluded by its key alone (filterRowKey). Asked of every row.
    fn excludes_key(&mut self, _row: &[u8]) -> bool {
        self.is_done()
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(Decision::Include)
    }

    /// Where to go after [`Decision::Seek`]; `None` = to the next cell.
    fn hint(&self) -> Option<Hint> {
        None
    }

    /// May answer [`Decision::Seek`] (HBase: HintingFilter).
    fn is_hinting(&self) -> bool {
        false
    }

    /// Values of the cells that it included are shown empty (transformCell).
    fn empties_values(&self) -> bool {
        false
    }

    /// Has to see the cells of a family to judge a row; the others are read once it has passed
    /// (isFamilyEssential).
    fn needs_family(&self, _family: &str) -> bool {
        true
    }

    /// Needs whole rows (hasFilterRow).
    fn judges_rows(&self) -> bool {
        false
    }

    /// Whether a cell stays in a row that was read (filterRowCells).
    fn keeps(&self, _version: &Version<'_>) -> bool {
        true
    }

    /// The row is excluded after all (filterRow).
    fn excludes_row(&mut self) -> bool {
        false
    }
}
