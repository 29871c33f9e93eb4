//! Reads the cells of an extent in order: seeks, steps, skips rows. Nothing is allocated for a cell.
//!
//! A damaged block is an error where it is met, never passed over in silence. Must not know which cells are visible.

mod seek;
mod value;

use std::sync::Arc;

use super::cache::Held;
use super::extent::Extent;
use super::window::Window;
use crate::format::{Codec, key};
use crate::segment::parts::block::{Block, Shape};
use crate::segment::parts::cell::{CellRef, StoredValue, TagsRef};
use crate::segment::parts::entry::{At, Entry};
use crate::segment::parts::facts::Place;
use crate::segment::parts::index::{Groups, Index};
use crate::segment::parts::piece::{HEADER, Kind};
use crate::{Error, ErrorKind, Result};

/// Cells that a seek steps before it asks the index.
const STEPS: usize = 16;

/// Keys, from the first to before the second, and the group and block behind them.
type DamagedRange = (Vec<u8>, Option<Vec<u8>>, Option<(usize, usize)>);

/// What a cursor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A few cells here and there: block by block, through the cache.
    Point,
    /// Many cells in order: reads ahead, leaves the cache to others.
    Walk,
}

/// Where the bytes of the block are that a cursor is in.
enum Bytes {
    None,
    Shared(Arc<Block>),
    /// In the window.
    Window(std::ops::Range<usize>),
    /// Expanded.
    Own(Vec<u8>),
}

/// The block that a cursor is in.
struct Open {
    bytes: Bytes,
    shape: Shape,
    group: usize,
    n: usize,
    place: Place,
}

/// See the module. It holds what it needs.
pub struct ExtentCursor {
    extent: Arc<Extent>,
    reading: Reading,
    window: Window,
    groups: Option<Arc<Groups>>,
    index: Option<(usize, Arc<Index>)>,
    open: Open,
    /// Whether it is at a cell.
    valid: bool,
    key: Vec<u8>,
    entry: Entry,
    /// See [`ExtentCursor::shared`].
    shared: usize,
    /// Where its entry begins, and where the next row does in the block; 0: not in it.
    at: usize,
    next_row: usize,
    /// What a walk has read ahead of the value areas.
    values: Window,
    /// The value block that was read last, and where it is.
    packed: Option<(u64, Arc<Block>)>,
    /// Used again.
    target: Vec<u8>,
}

impl Extent {
    /// Reads its cells in order; not positioned yet.
    pub fn cursor(self: &Arc<Self>, reading: Reading) -> ExtentCursor {
        ExtentCursor::new(self.clone(), reading)
    }
}

impl ExtentCursor {
    fn new(extent: Arc<Extent>, reading: Reading) -> Self {
        let (shape, place) = (Shape::default(), Place::default());
        Self {
            extent,
            reading,
            window: Window::default(),
            groups: None,
            index: None,
            open: Open { bytes: Bytes::None, shape, group: 0, n: 0, place },
            valid: false,
            key: Vec::new(),
            entry: Entry::default(),
            shared: 0,
            at: 0,
            next_row: 0,
            values: Window::default(),
            packed: None,
            target: Vec::new(),
        }
    }

    /// The extent that it reads.
    pub fn extent(&self) -> &Arc<Extent> {
        &self.extent
    }

    /// The key of the cell that it is at.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.valid.then_some(self.key.as_slice())
    }

    /// After a step, or one to the next row: so many bytes exactly its key shares with the one before, 0: that is not
    /// known.
    #[inline]
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// The cell that it is at.
    #[inline]
    pub fn cell(&self) -> Option<CellRef<'_>> {
        if !self.valid {
            return None;
        }
        let (entry, raw) = (&self.entry, self.raw());
        let value = match entry.value {
            At::None => StoredValue::Inline(&[]),
            At::Here { from, to } => StoredValue::Inline(raw.get(from..to)?),
            At::Root { from, to } => StoredValue::Root { len: entry.len, bytes: raw.get(from..to)? },
            At::Plain { .. } | At::Packed { .. } => StoredValue::Area(self.value_place(entry)?),
        };
        let tags = TagsRef::new(entry.tag_flags, raw.get(entry.tags.clone())?);
        Some(CellRef { key: &self.key, tags, value })
    }

    #[inline]
    fn raw(&self) -> &[u8] {
        match &self.open.bytes {
            Bytes::None => &[],
            Bytes::Shared(block) => block.raw(),
            Bytes::Window(range) => self.window.bytes().get(range.clone()).unwrap_or_default(),
            Bytes::Own(bytes) => bytes,
        }
    }

    fn nonsense(&self) -> Error {
        self.extent.source.damaged(self.open.place.at, "the block does not make sense")
    }

    /// To the entry at a place of the block, whose key builds on the one that the cursor is at.
    #[inline]
    fn enter(&mut self, at: usize) -> Result<()> {
        self.valid = false;
        let shape = self.open.shape;
        let raw = match &self.open.bytes {
            Bytes::None => &[],
            Bytes::Shared(block) => block.raw(),
            Bytes::Window(range) => self.window.bytes().get(range.clone()).unwrap_or_default(),
            Bytes::Own(bytes) => bytes.as_slice(),
        };
        if shape.read_entry(raw, at, &mut self.entry).is_none() {
            return Err(self.nonsense());
        }
        let entry = &self.entry;
        let front = self.key.len().saturating_sub(key::SUFFIX);
        let Some(rest) = raw.get(entry.rest.clone()).filter(|_| entry.shared <= front) else {
            return Err(self.nonsense());
        };
        self.shared = match entry.shared {
            // A restart does not tell; of one column's versions more may be shared.
            0 => Some(key::common(&self.key, rest)).filter(|shared| *shared < rest.len()).unwrap_or(0),
            shared => shared,
        };
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(rest);
        self.key.extend_from_slice(&entry.suffix);
        if let Some(next) = entry.next_row {
            self.next_row = next as usize;
        }
        self.at = at;
        self.valid = true;
        Ok(())
    }

    /// To a restart's entry.
    fn enter_restart(&mut self, at: Option<usize>) -> Result<()> {
        self.valid = false;
        let Some(at) = at else { return Err(self.nonsense()) };
        self.key.clear();
        self.next_row = 0;
        self.enter(at)
    }

    /// Where the next entry of the block begins.
    fn next_at(&self) -> Option<usize> {
        Some(self.entry.end).filter(|end| self.valid && *end < self.open.shape.entries_end)
    }

    /// To the next cell, if it is at one.
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        match self.next_at() {
            Some(at) => {
                let suffix = self.entry.suffix;
                self.enter(at)?;
                // Another version: what the entry tells ends with the column.
                if self.entry.shared > 0 && self.entry.rest.is_empty() {
                    self.shared += key::common(&suffix, &self.entry.suffix);
                }
                Ok(())
            }
            None => self.enter_next_block(),
        }
    }

    /// To the first cell of the next block, or behind the last.
    fn enter_next_block(&mut self) -> Result<()> {
        self.valid = false;
        let (mut group, mut n) = (self.open.group, self.open.n + 1);
        let groups = self.groups()?;
        if n >= self.index(&groups, group)?.len() {
            (group, n) = (group + 1, 0);
        }
        if group >= groups.len() {
            return Ok(());
        }
        self.enter_block(&groups, group, n)
    }

    /// To the first cell of a block, from a cell of the one before: what they share is known.
    fn go_on_in(&mut self, groups: &Groups, group: usize, n: usize) -> Result<()> {
        self.load(groups, group, n)?;
        let Some(first) = self.open.shape.restart(self.raw(), 0) else { return Err(self.nonsense()) };
        self.next_row = 0;
        self.enter(first)?;
        // A block says nothing by what is in another one.
        if self.entry.shared > 0 {
            self.valid = false;
            return Err(self.nonsense());
        }
        Ok(())
    }

    /// To the first cell of a block.
    pub(in crate::segment) fn enter_block(&mut self, groups: &Groups, group: usize, n: usize) -> Result<()> {
        self.load(groups, group, n)?;
        let first = self.open.shape.restart(self.raw(), 0);
        self.enter_restart(first)
    }

    /// To the next cell of the block; whether there is one.
    pub(in crate::segment) fn advance_in_block(&mut self) -> Result<bool> {
        match self.next_at() {
            Some(at) => self.enter(at).map(|()| true),
            None => Ok(false),
        }
    }

    /// After damage was met: to the first cell behind it. The keys that are passed over, from the first to before the
    /// second; `None`: to the end.
    pub fn pass_damage(&mut self) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let mut first = None;
        loop {
            let (from, to, next) = self.damaged_range()?;
            let first = first.get_or_insert(from);
            self.open.bytes = Bytes::None;
            let Some((group, n)) = next else { return Ok((std::mem::take(first), None)) };
            let groups = self.groups()?;
            match self.enter_block(&groups, group, n) {
                // Damage lies beside damage.
                Err(e) if e.kind == ErrorKind::Corrupt => {}
                entered => return entered.map(|()| (std::mem::take(first), to)),
            }
        }
    }

    /// The keys of the block that it is in, or of the group if that has no index; where the next block is.
    fn damaged_range(&mut self) -> Result<DamagedRange> {
        self.valid = false;
        let groups = self.groups()?;
        let (group, n) = (self.open.group, self.open.n);
        let last = group + 1 >= groups.len();
        let (to, next) = ((!last).then(|| groups.separator(group + 1).to_vec()), (!last).then_some((group + 1, 0)));
        Ok(match self.index(&groups, group) {
            Ok(index) if n + 1 < index.len() => {
                (index.separator(n).to_vec(), Some(index.separator(n + 1).to_vec()), Some((group, n + 1)))
            }
            Ok(index) if n < index.len() => (index.separator(n).to_vec(), to, next),
            // The whole group is lost with its index.
            Ok(_) | Err(_) => (groups.separator(group).to_vec(), to, next),
        })
    }

    fn groups(&mut self) -> Result<Arc<Groups>> {
        if let Some(groups) = &self.groups {
            return Ok(groups.clone());
        }
        let groups = self.extent.groups()?.clone();
        self.groups = Some(groups.clone());
        Ok(groups)
    }

    fn index(&mut self, groups: &Groups, group: usize) -> Result<Arc<Index>> {
        if let Some((n, index)) = &self.index
            && *n == group
        {
            return Ok(index.clone());
        }
        // Of a walk, where it begins: many are short.
        let keep = self.reading == Reading::Point || self.index.is_none();
        let index = self.extent.index(groups, group, keep)?;
        self.index = Some((group, index.clone()));
        Ok(index)
    }

    /// Makes a block the one that the cursor is in.
    fn load(&mut self, groups: &Groups, group: usize, n: usize) -> Result<()> {
        self.valid = false;
        if !matches!(self.open.bytes, Bytes::None) && (self.open.group, self.open.n) == (group, n) {
            return Ok(());
        }
        // What is read into is no block any more until it is checked.
        self.open.bytes = Bytes::None;
        (self.open.group, self.open.n) = (group, n);
        let index = self.index(groups, group)?;
        let Some(place) = index.block(n) else { return Err(self.nonsense()) };
        self.open.place = place;
        let (bytes, count) = match self.reading {
            Reading::Point => self.load_shared(place)?,
            Reading::Walk => self.load_window(place)?,
        };
        self.open.bytes = bytes;
        let Some(shape) = Shape::of(self.raw(), count) else {
            self.open.bytes = Bytes::None;
            return Err(self.nonsense());
        };
        self.open.shape = shape;
        Ok(())
    }

    fn load_shared(&self, place: Place) -> Result<(Bytes, u16)> {
        let extent = &self.extent;
        if let Some(Held::Block(block)) = extent.cache.get(extent.file(), place.at) {
            let count = block.header.count;
            return Ok((Bytes::Shared(block), count));
        }
        let block = Arc::new(extent.source.read_piece(Kind::Keys, place)?);
        extent.cache.put_block(extent.facts().family, (extent.file(), place.at), block.clone());
        let count = block.header.count;
        Ok((Bytes::Shared(block), count))
    }

    fn load_window(&mut self, place: Place) -> Result<(Bytes, u16)> {
        let extent = &self.extent;
        let len = HEADER + place.stored as usize;
        let range = match self.window.range(place.at, len) {
            Some(range) => range,
            None => {
                if let Some(Held::Block(block)) = extent.cache.get(extent.file(), place.at) {
                    let count = block.header.count;
                    return Ok((Bytes::Shared(block), count));
                }
                // Values have a window of their own.
                let ahead = extent.facts().area_bytes < extent.facts().stored_bytes / 4;
                self.window.fill(&extent.source, place.at, len, extent.facts().end, ahead)?
            }
        };
        let bytes = self.window.bytes().get(range.clone()).unwrap_or_default();
        let header = extent.source.check(Kind::Keys, place, bytes)?;
        if header.codec == Codec::None {
            return Ok((Bytes::Window(range.start + HEADER..range.end), header.count));
        }
        let bytes = extent.source.expand_bytes(place.at, &header, bytes.get(HEADER..).unwrap_or_default())?;
        Ok((Bytes::Own(bytes), header.count))
    }
}
