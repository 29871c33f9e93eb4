//! A segment and its extents, opened for reading: what they say about themselves, filters, values.
//!
//! Must not know of other segments, nor which cells are visible.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::cache::{Cache, Held};
use super::rebuild;
use super::source::{Source, Unchecked};
use crate::env::Env;
use crate::format::{StoreId, agree, key};
use crate::segment::parts::block::Block;
use crate::segment::parts::cell::{Form, ValuePlace};
use crate::segment::parts::chunks;
use crate::segment::parts::chunks::ChunkSet;
use crate::segment::parts::columns;
use crate::segment::parts::columns::ColumnFacts;
use crate::segment::parts::facts::{ExtentFacts, Place};
use crate::segment::parts::filter;
use crate::segment::parts::filter::FilterKind;
use crate::segment::parts::index::{Group, Groups, Index};
use crate::segment::parts::piece::{HEADER, Header, Kind};
use crate::segment::parts::sketch::Sketch;
use crate::segment::parts::trailer::Trailer;
use crate::segment::write::area::plain_check;
use crate::{ErrorKind, Result};

/// Most bytes that are read in place of two parts: a disk takes as long for a page.
const TOGETHER: u64 = 16 << 10;

/// A segment that is open.
pub struct Segment {
    pub(in crate::segment) source: Arc<Source>,
    extents: Vec<Arc<Extent>>,
    last_edit: u64,
    claims: Vec<(u64, u32)>,
}

/// One sorted run of cells of one family.
pub struct Extent {
    pub(in crate::segment) source: Arc<Source>,
    pub(in crate::segment) cache: Arc<Cache>,
    facts: ExtentFacts,
    /// The list of its groups once it was read: some 50 bytes for each 200 blocks.
    groups: OnceLock<Arc<Groups>>,
    /// Bytes that are a hole in the file.
    given_back: AtomicU64,
}

impl Segment {
    /// Opens a segment by its trailer. `Corrupt`: it is none of this store's, or both of its trailers are damaged.
    pub fn open(env: &dyn Env, path: &Path, store: StoreId, file: u64, cache: &Arc<Cache>) -> Result<Arc<Self>> {
        let source = Source::open(env, path, store, file)?;
        let trailer = Trailer::read(&source)?;
        Ok(Self::of(source, trailer, cache))
    }

    /// Opens a segment by what is known of its extents; the trailer is not read.
    pub fn with_facts(
        env: &dyn Env,
        path: &Path,
        store: StoreId,
        file: u64,
        facts: Vec<ExtentFacts>,
        cache: &Arc<Cache>,
    ) -> Result<Arc<Self>> {
        let source = Source::open(env, path, store, file)?;
        if !facts.iter().all(|facts| facts.fits(source.len)) {
            return Err(source.damaged(0, "the file is shorter than what it should hold"));
        }
        Ok(Self::of(source, Trailer { extents: facts, ..Trailer::default() }, cache))
    }

    fn of(source: Source, trailer: Trailer, cache: &Arc<Cache>) -> Arc<Self> {
        let source = Arc::new(source);
        let extent = |facts| {
            let (source, cache) = (source.clone(), cache.clone());
            Arc::new(Extent { source, cache, facts, groups: OnceLock::new(), given_back: AtomicU64::new(0) })
        };
        let extents = trailer.extents.into_iter().map(extent).collect();
        Arc::new(Self { source, extents, last_edit: trailer.last_edit, claims: trailer.claims })
    }

    /// Its extents, in the order of the file.
    pub fn extents(&self) -> &[Arc<Extent>] {
        &self.extents
    }

    /// Bytes of the file, without what this process has given back of it.
    pub fn bytes(&self) -> u64 {
        let given_back = self.extents.iter().map(|extent| extent.given_back.load(Ordering::Relaxed)).sum();
        self.source.len.saturating_sub(given_back)
    }

    /// The last edit that was made when it was begun.
    pub fn last_edit(&self) -> u64 {
        self.last_edit
    }

    /// The extents (file, number in it) that it was to take the place of.
    pub fn claims(&self) -> &[(u64, u32)] {
        &self.claims
    }
}

impl Extent {
    /// What it says about itself.
    pub fn facts(&self) -> &ExtentFacts {
        &self.facts
    }

    /// Number of its segment's file.
    pub fn file(&self) -> u64 {
        self.source.owner.file
    }

    /// The block in which a walk from a key on begins: its group, its number there, and its offset.
    pub(in crate::segment) fn block_of(&self, from: &[u8]) -> Result<(usize, usize, u64)> {
        let groups = self.groups()?;
        let group = groups.find(from);
        let index = self.index(groups, group, false)?;
        let n = index.find(from);
        let missing = || self.source.damaged(self.facts.groups_at.at, "the list of groups does not make sense");
        let place = index.block(n).ok_or_else(missing)?;
        Ok((group, n, place.at))
    }

    /// Gives back to the disk what no walk from a key on reads; nobody may read it any more. Whether the filesystem can.
    pub fn give_back(&self, from: &[u8]) -> Result<bool> {
        let (_, _, offset) = self.block_of(from)?;
        let bytes = self.source.punch(self.facts.start, offset)?;
        self.given_back.store(bytes.unwrap_or(0), Ordering::Relaxed);
        Ok(bytes.is_some())
    }

    /// The list of its groups.
    pub(in crate::segment) fn groups(&self) -> Result<&Arc<Groups>> {
        if let Some(groups) = self.groups.get() {
            return Ok(groups);
        }
        let groups = match self.read_groups() {
            Err(e) if e.kind == ErrorKind::Corrupt => {
                log::warn!("{e}");
                rebuild::groups(&self.source, &self.facts)?
            }
            groups => groups?,
        };
        Ok(self.groups.get_or_init(|| Arc::new(groups)))
    }

    pub(in crate::segment) fn read_groups(&self) -> Result<Groups> {
        let place = self.facts.groups_at;
        let bytes = self.source.read_piece(Kind::Groups, place)?;
        let groups = Groups::decode(bytes.raw(), self.facts.start, place.at);
        groups.ok_or_else(|| self.source.damaged(place.at, "the list of groups does not make sense"))
    }

    /// The index of a group; `keep`: in the cache.
    pub(in crate::segment) fn index(&self, groups: &Groups, n: usize, keep: bool) -> Result<Arc<Index>> {
        let missing = || self.source.damaged(self.facts.groups_at.at, "the list of groups does not make sense");
        let group = groups.get(n).ok_or_else(missing)?;
        if let Some(Held::Index(index)) = self.cache.get(self.file(), group.index.at) {
            return Ok(index);
        }
        let (index, keep) = match self.read_index(&group) {
            Err(e) if e.kind == ErrorKind::Corrupt => {
                log::warn!("{e}");
                (rebuild::index(&self.source, groups.separator(n), &group)?, true)
            }
            index => (index?, keep),
        };
        let index = Arc::new(index);
        if keep {
            self.cache.put(self.file(), group.index.at, Held::Index(index.clone()));
        }
        Ok(index)
    }

    pub(in crate::segment) fn read_index(&self, group: &Group) -> Result<Index> {
        self.decode_index(group, &self.source.read_piece(Kind::Index, group.index)?)
    }

    fn decode_index(&self, group: &Group, bytes: &Block) -> Result<Index> {
        let index = Index::decode(bytes.raw(), group.start, group.index.at);
        index.ok_or_else(|| self.source.damaged(group.index.at, "the index of a group does not make sense"))
    }

    /// Whether a column may have cells here, by the filter; the prefixes are those of [`crate::format::key`]. A damaged
    /// filter knows nothing.
    pub fn may_hold_column(&self, row_prefix: &[u8], column_prefix: &[u8]) -> Result<bool> {
        match self.facts.filter {
            FilterKind::None => self.may_hold(column_prefix, None),
            FilterKind::Row => self.may_hold(column_prefix, Some((Kind::Filter, filter::hash(row_prefix)))),
            FilterKind::RowColumn => self.may_hold(column_prefix, Some((Kind::Filter, filter::hash(column_prefix)))),
        }
    }

    /// Whether a row may have cells here, by first and last key and a filter over rows.
    pub fn may_hold_row(&self, row_prefix: &[u8]) -> Result<bool> {
        let hash = (self.facts.filter == FilterKind::Row).then(|| (Kind::Filter, filter::hash(row_prefix)));
        self.may_hold(row_prefix, hash)
    }

    /// Whether tombstones of the whole family may be here for a row.
    pub fn may_hold_family_tombstone(&self, row_prefix: &[u8]) -> Result<bool> {
        if self.facts.family_tombstones == 0 {
            return Ok(false);
        }
        // They have an empty qualifier.
        let column = key::column_prefix(row_prefix, b"");
        self.may_hold(&column, Some((Kind::Tombstones, filter::hash(row_prefix))))
    }

    /// Whether keys with a prefix may be here, by the filter of the groups that would have them.
    fn may_hold(&self, prefix: &[u8], filter: Option<(Kind, u64)>) -> Result<bool> {
        let below = prefix > self.facts.last_key.as_slice();
        let above = prefix < self.facts.first_key.as_slice() && !self.facts.first_key.starts_with(prefix);
        if below || above {
            return Ok(false);
        }
        let Some((kind, hash)) = filter else { return Ok(true) };
        let groups = self.groups()?;
        let first = groups.find(prefix);
        for n in first..groups.len() {
            let separator = groups.separator(n);
            if n > first && separator > prefix && !separator.starts_with(prefix) {
                break;
            }
            if let Some(group) = groups.get(n)
                && self.group_may_hold(&group, kind, hash)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn group_may_hold(&self, group: &Group, kind: Kind, hash: u64) -> Result<bool> {
        let tombstones = kind == Kind::Tombstones;
        let lines = if tombstones { group.tombstone_lines } else { group.lines };
        if lines == 0 {
            return Ok(false);
        }
        let before = if tombstones { filter::stored_len(group.lines) } else { 0 };
        let (behind, page_lines, line_at) = filter::page_of(filter::line_of(hash, lines), lines);
        let at = group.index.end() + before + behind;
        let may_have = |page: &Block| {
            let line = page.raw().get(line_at..line_at + filter::LINE);
            line.is_none_or(|line| filter::may_have(line, hash))
        };
        if let Some(Held::Block(page)) = self.cache.get(self.file(), at) {
            return Ok(may_have(&page));
        }
        let (page, index) = match self.read_filter(group, kind, Place { at, stored: page_lines * filter::LINE as u32 })
        {
            Err(e) if e.kind == ErrorKind::Corrupt => {
                log::warn!("{e}");
                return Ok(true);
            }
            read => read?,
        };
        let may_have = may_have(&page);
        self.cache.put(self.file(), at, Held::Block(Arc::new(page)));
        if may_have && let Some(index) = index {
            self.keep_index(group, index);
        }
        Ok(may_have)
    }

    /// A page of a group's filter; and the index as it was read with it, if that is near and not held: it is asked next where
    /// the key may be there.
    fn read_filter(&self, group: &Group, kind: Kind, page: Place) -> Result<(Block, Option<Unchecked>)> {
        if page.end() - group.index.at <= TOGETHER
            && self.cache.get(self.file(), group.index.at).is_none()
            && let Ok([index, page]) = self.source.read_two(group.index, page)
        {
            return Ok((self.source.piece(kind, page)?, Some(index)));
        }
        Ok((self.source.read_piece(kind, page)?, None))
    }

    /// Holds an index that was read. Its damage is told by whoever needs it.
    fn keep_index(&self, group: &Group, index: Unchecked) {
        let index = self.source.piece(Kind::Index, index).and_then(|index| self.decode_index(group, &index));
        if let Ok(index) = index {
            self.cache.put(self.file(), group.index.at, Held::Index(Arc::new(index)));
        }
    }

    /// `len` bytes from `offset` on of a value that stands in the value area; less if it ends before.
    pub fn read_value(&self, place: &ValuePlace, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        self.read_whole_value(place, &mut value)?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(value.len());
        value.drain(..from);
        value.truncate(len);
        Ok(value)
    }

    /// A value of the value area, into a buffer.
    pub(in crate::segment) fn read_whole_value(&self, place: &ValuePlace, out: &mut Vec<u8>) -> Result<()> {
        if place.at.checked_add(place.len).is_none_or(|end| end > self.source.len)
            && matches!(place.form, Form::Plain { .. })
        {
            return Err(self.source.damaged(place.at, "the value would end behind the file"));
        }
        match place.form {
            Form::Plain { block, from, check } => {
                out.clear();
                out.resize(place.len as usize, 0);
                self.source.read(place.at, out)?;
                self.check_plain(block, from, check, place.at, out)
            }
            Form::Packed { from } => {
                let block = self.value_block(place.at, true)?;
                out.clear();
                out.extend_from_slice(self.packed(block.raw(), place, from)?);
                Ok(())
            }
        }
    }

    pub(in crate::segment) fn check_plain(
        &self,
        block: u64,
        from: u64,
        check: u32,
        at: u64,
        value: &[u8],
    ) -> Result<()> {
        match agree(check, plain_check(&self.source.owner, block, from, value)) {
            true => Ok(()),
            false => Err(self.source.damaged(at, "the value is damaged")),
        }
    }

    /// A value in its value block.
    pub(in crate::segment) fn packed<'b>(&self, raw: &'b [u8], place: &ValuePlace, from: u64) -> Result<&'b [u8]> {
        let range = || {
            let end = from.checked_add(place.len)?;
            raw.get(usize::try_from(from).ok()?..usize::try_from(end).ok()?)
        };
        range().ok_or_else(|| self.source.damaged(place.at, "the value block does not have the value"))
    }

    /// The value block at a place; `keep`: in the cache.
    pub(in crate::segment) fn value_block(&self, at: u64, keep: bool) -> Result<Arc<Block>> {
        if let Some(Held::Block(block)) = self.cache.get(self.file(), at) {
            return Ok(block);
        }
        let mut header = [0; HEADER];
        self.source.read(at, &mut header)?;
        let header = Header::take(&header).filter(|header| header.kind == Kind::Packed);
        let header = header.ok_or_else(|| self.source.damaged(at, "the value block is damaged"))?;
        let block = Arc::new(self.source.read_piece(Kind::Packed, Place { at, stored: header.stored })?);
        if keep {
            self.cache.put_block(self.facts.family, (self.file(), at), block.clone());
        }
        Ok(block)
    }

    /// What it knows of its qualifiers. `None`: they were too many.
    pub fn columns(&self) -> Result<Option<Vec<ColumnFacts>>> {
        self.section(Kind::Columns, self.facts.columns_at, columns::decode)
    }

    /// The chunks that its roots refer to, by blob.
    pub fn chunks(&self) -> Result<Vec<(u64, ChunkSet)>> {
        self.section(Kind::Chunks, self.facts.chunks_at, chunks::decode)
    }

    /// The sketch of its columns.
    pub fn sketch(&self) -> Result<Sketch> {
        self.section(Kind::Sketch, self.facts.sketch_at, Sketch::decode)
    }

    fn section<T>(&self, kind: Kind, place: Place, decode: impl FnOnce(&[u8]) -> Option<T>) -> Result<T> {
        let bytes = self.source.read_piece(kind, place)?;
        let nonsense = || self.source.damaged(place.at, &format!("the {} does not make sense", kind.name()));
        decode(bytes.raw()).ok_or_else(nonsense)
    }
}
