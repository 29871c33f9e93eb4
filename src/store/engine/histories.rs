//! When the live versions of a column were put, whose versions are read one by one: who has looked at two of them finds the
//! others without passing over all that are newer.
//!
//! Known of a few columns, each until it is written to, but for single versions that are removed, or its family is flushed
//! or altered.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};

use crate::Result;
use crate::env::sync::Mutex;
use crate::format::key;
use crate::log::LogCell;
use crate::model::{FamilyId, FamilyRules, FamilySchema, Qualifier, SeqNo, Timestamp};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::Memtables;
use crate::visibility::{FamilyReader, ReadRules, View};

/// Columns at most.
const COLUMNS: usize = 16;
/// Versions of them all at most, of 8 bytes each.
const VERSIONS: usize = 1 << 20;

/// See the module. The last column that was asked for is the last one.
#[derive(Default)]
pub struct Histories(Mutex<VecDeque<History>>);

/// A column, as a view has it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub view: &'a ReadView,
    pub family: &'a FamilySchema,
    pub row: &'a [u8],
    pub qualifier: &'a Qualifier,
    /// See [`Tracks::written_upto`](super::tracks::Tracks::written_upto).
    pub written_upto: SeqNo,
    pub now: Timestamp,
}

/// The live versions of a column, of which VERSIONS drops none; but for some that were removed since by themselves, as their
/// own tombstones tell whoever looks at them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Their timestamps, falling; without those at which deleted versions are kept as well.
    timestamps: Vec<Timestamp>,
    /// Whether they are all that is shown of the column.
    pub are_all: bool,
}

impl Live {
    pub fn has(&self, timestamp: Timestamp) -> bool {
        self.timestamps.binary_search_by(|other| timestamp.cmp(other)).is_ok()
    }

    /// One of them, and at most `count` on either side of it if they are all that is shown.
    pub fn around(&self, timestamp: Timestamp, count: usize) -> Option<&[Timestamp]> {
        let at = self.timestamps.binary_search_by(|other| timestamp.cmp(other)).ok()?;
        let count = if self.are_all { count } else { 0 };
        self.timestamps.get(at.saturating_sub(count)..self.timestamps.len().min(at + count + 1))
    }

    /// Those before a time.
    pub fn before(&self, time: Timestamp) -> &[Timestamp] {
        &self.timestamps[self.timestamps.partition_point(|timestamp| *timestamp >= time)..]
    }
}

/// What is known of a column.
enum Known {
    /// It was not asked for since it changed.
    Nothing,
    /// It was asked for before.
    Asked,
    Live(Arc<Live>),
}

struct History {
    family: FamilyId,
    /// What the keys of its cells begin with.
    column: Vec<u8>,
    rules: FamilyRules,
    /// All that was written to the column up to this number is known, but for tombstones of single versions.
    upto: SeqNo,
    // Weak ones keep their place: nothing else is taken for them.
    tables: Weak<Memtables>,
    layout: Weak<Layout>,
    live: Option<Arc<Live>>,
}

impl History {
    fn new(of: Asked<'_>, column: Vec<u8>) -> Self {
        Self {
            family: of.family.id,
            column,
            rules: of.family.rules.clone(),
            upto: of.view.read_point,
            tables: Arc::downgrade(&of.view.tables),
            layout: Arc::downgrade(&of.view.layout),
            live: None,
        }
    }

    /// Whether the view has the same cells of the column, judged in the same way.
    fn holds_for(&self, of: Asked<'_>) -> bool {
        of.written_upto <= self.upto
            && self.upto <= of.view.read_point
            && Weak::as_ptr(&self.tables) == Arc::as_ptr(&of.view.tables)
            && Weak::as_ptr(&self.layout) == Arc::as_ptr(&of.view.layout)
            && self.rules == of.family.rules
    }

    fn versions(&self) -> usize {
        self.live.as_ref().map_or(0, |live| live.timestamps.len())
    }
}

impl Histories {
    /// The live versions of a column; `None`: it was not asked for since it changed, or its cells lie among tombstones of the
    /// family, as those of the empty qualifier do.
    ///
    /// Errors: as walks over columns.
    pub fn live(&self, of: Asked<'_>) -> Result<Option<Arc<Live>>> {
        if of.qualifier.is_empty() {
            return Ok(None);
        }
        let column = key::column_prefix(&key::row_prefix(of.row), of.qualifier);
        match self.ask(of, &column) {
            Known::Nothing => Ok(None),
            Known::Asked => Ok(Some(self.learn(of, column, live_of(of)?))),
            Known::Live(live) => Ok(Some(live)),
        }
    }

    /// The tombstone of a version is about to be seen, the only cell of its number: nothing else changes; `before` is as
    /// [`Asked::written_upto`], without it. Order: calls are in that of the numbers.
    pub fn end_version(&self, cell: &LogCell<'_>, before: SeqNo, seq: SeqNo) {
        let column = key::column_prefix(&key::row_prefix(cell.row), cell.qualifier);
        let mut all = self.0.lock();
        let is_it = |history: &&mut History| history.family == cell.family && history.column == column;
        if let Some(history) = all.iter_mut().find(is_it).filter(|history| before <= history.upto) {
            history.upto = seq;
        }
    }

    /// What is known of a column, which is noted as one that was asked for.
    fn ask(&self, of: Asked<'_>, column: &[u8]) -> Known {
        let mut all = self.0.lock();
        let at = all.iter().rposition(|history| history.family == of.family.id && history.column == column);
        let before = at.and_then(|at| all.remove(at)).filter(|history| history.holds_for(of));
        let known = match before.as_ref().map(|history| &history.live) {
            None => Known::Nothing,
            Some(None) => Known::Asked,
            Some(Some(live)) => Known::Live(Arc::clone(live)),
        };
        all.push_back(before.unwrap_or_else(|| History::new(of, column.to_vec())));
        if all.len() > COLUMNS {
            all.pop_front();
        }
        known
    }

    fn learn(&self, of: Asked<'_>, column: Vec<u8>, live: Live) -> Arc<Live> {
        let live = Arc::new(live);
        let mut all = self.0.lock();
        all.retain(|history| history.family != of.family.id || history.column != column);
        all.push_back(History { live: Some(Arc::clone(&live)), ..History::new(of, column) });
        let mut versions: usize = all.iter().map(History::versions).sum();
        while versions > VERSIONS || all.len() > COLUMNS {
            versions -= all.pop_front().map_or(0, |history| history.versions());
        }
        live
    }
}

/// The live versions of a column; none where VERSIONS may drop some: which ones, the time decides as well.
fn live_of(of: Asked<'_>) -> Result<Live> {
    let prefix = key::row_prefix(of.row);
    let mut cursor = Cursor::of_column(of.view, of.family.id, &prefix, &key::column_prefix(&prefix, of.qualifier))?;
    let columns = BTreeSet::from([of.qualifier.clone()]);
    let plain = ReadRules::plain(&of.family.rules, of.now);
    let rules = ReadRules { columns: Some(&columns), max_versions: u32::MAX, view: View::WithKept, ..plain };
    let most = VERSIONS.min(of.family.rules.versions as usize);
    let (mut reader, mut shown) = (FamilyReader::new(cursor.row(prefix), rules), Vec::new());
    loop {
        let visible = reader.next()?;
        if reader.cells_read() > most {
            return Ok(Live::default());
        }
        let Some(visible) = visible else { break };
        shown.push((visible.cell.timestamp, visible.deleted_at.is_none()));
    }
    shown.sort_unstable_by(|one, other| other.cmp(one));
    let is_alone = |at: usize| {
        let differs = |other: Option<&(Timestamp, bool)>| other.is_none_or(|(time, _)| *time != shown[at].0);
        shown[at].1 && differs(shown.get(at + 1)) && differs(at.checked_sub(1).and_then(|before| shown.get(before)))
    };
    let timestamps: Vec<_> = (0..shown.len()).filter(|at| is_alone(*at)).map(|at| shown[at].0).collect();
    Ok(Live { are_all: timestamps.len() == shown.len(), timestamps })
}
