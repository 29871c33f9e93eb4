//! One extent while it is written: blocks, groups with index and filter, what it says about itself.
//!
//! Must not know of other extents.

use super::area::Area;
use super::gather::{Gatherer, Passing};
use super::output::Output;
use crate::format::{Codec, key};
use crate::model::{Tags, ValueBytes};
use crate::segment::parts::block::BlockBuilder;
use crate::segment::parts::cell::TagsRef;
use crate::segment::parts::chunks::ChunkGatherer;
use crate::segment::parts::entry::{NewAt, NewEntry};
use crate::segment::parts::facts::ExtentFacts;
use crate::segment::parts::filter;
use crate::segment::parts::filter::{FilterKind, LINE, PAGE_LINES};
use crate::segment::parts::index::{GROUP_BLOCKS, Group, Groups, INDEX_BYTES, Index, separator};
use crate::segment::parts::piece::Kind;
use crate::{Error, ErrorKind, Result};

/// Longer values stand behind their block, not in it.
const INLINE: usize = 512;
/// Most bytes of a root.
const ROOT_MAX: usize = 64 << 10;

/// See the module.
pub(in crate::segment) struct ExtentWriter {
    pub(in crate::segment) gatherer: Gatherer,
    pub(in crate::segment) chunks: ChunkGatherer,
    codec: Codec,
    block_bytes: usize,
    filter: FilterKind,
    block: BlockBuilder,
    area: Area,
    /// The key before, how much of it is its row's, and of that and its column's.
    last: Vec<u8>,
    row_len: usize,
    /// Separator of the block that is being made.
    separator: Vec<u8>,
    index: Index,
    group_start: u64,
    group_separator: Vec<u8>,
    hashes: Vec<u64>,
    tombstones: Vec<u64>,
    last_row_hashed: Option<u64>,
    groups: Groups,
}

impl ExtentWriter {
    pub(in crate::segment) fn new(facts: ExtentFacts, codec: Codec) -> Self {
        let block_bytes = facts.block_bytes as usize;
        Self {
            codec,
            block_bytes,
            filter: facts.filter,
            area: Area::new(codec, block_bytes),
            group_start: facts.start,
            gatherer: Gatherer::new(facts),
            chunks: ChunkGatherer::default(),
            block: BlockBuilder::default(),
            last: Vec::new(),
            row_len: 0,
            separator: Vec::new(),
            index: Index::default(),
            group_separator: Vec::new(),
            hashes: Vec::new(),
            tombstones: Vec::new(),
            last_row_hashed: None,
            groups: Groups::default(),
        }
    }

    /// Appends a cell; `decoded`: its tags, where there are any.
    pub(in crate::segment) fn add(
        &mut self,
        output: &mut Output,
        key: &[u8],
        tags: TagsRef<'_>,
        decoded: Option<&Tags>,
        value: ValueBytes<'_>,
    ) -> Result<()> {
        debug_assert!(self.last.is_empty() || self.last.as_slice() < key, "keys must ascend");
        let not_a_key = || Error::new(ErrorKind::IllegalArgument, "this is no key of a cell");
        let (timestamp, kind, seq) = key::decode_suffix(key).ok_or_else(not_a_key)?;
        let front = &key[..key.len() - key::SUFFIX];
        let shared = key::common(self.last_front(), front);
        let new_row = self.last.is_empty() || shared < self.row_len;
        if new_row {
            self.row_len = key::row_prefix_len(front).ok_or_else(not_a_key)?;
        }
        let new_column = new_row || front != self.last_front();
        if self.block.is_empty() {
            self.begin_block(output, key);
        }
        let len = match value {
            ValueBytes::Bytes(bytes) => bytes.len() as u64,
            ValueBytes::Root { len, .. } => len,
        };
        let hash = if new_column { filter::hash(front) } else { 0 };
        let qualifier = &front[self.row_len..];
        let passing = Passing { key, timestamp, kind, seq, tags: decoded, len, new_row, qualifier, new_column, hash };
        self.gatherer.pass(&passing);
        self.count_into_filters(&passing, front);
        let at = self.place(output, value)?;
        let shared = if self.block.restarts_next() { 0 } else { shared };
        let entry = NewEntry {
            shared,
            rest: &front[shared..],
            kind,
            timestamp: timestamp.0,
            seq: seq.0,
            has_pointer: false,
            tag_flags: tags.flags(),
            tags: tags.bytes(),
            len,
            value: at,
        };
        self.block.add(entry, new_row);
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.block.len() >= self.block_bytes || self.block.is_full() || self.area.is_full() {
            self.end_block(output)?;
        }
        Ok(())
    }

    fn last_front(&self) -> &[u8] {
        &self.last[..self.last.len().saturating_sub(key::SUFFIX)]
    }

    fn begin_block(&mut self, output: &Output, key: &[u8]) {
        self.separator.clear();
        if self.last.is_empty() {
            self.gatherer.facts.first_key = key.to_vec();
        } else {
            self.separator.extend_from_slice(separator(&self.last, key));
        }
        if self.index.len() == 0 {
            self.group_start = output.position();
            self.group_separator.clone_from(&self.separator);
        }
    }

    fn count_into_filters(&mut self, cell: &Passing<'_>, front: &[u8]) {
        let tombstone = cell.kind.is_family_tombstone();
        let by_row = self.filter == FilterKind::Row && (cell.new_row || self.last_row_hashed.is_none());
        if by_row || tombstone {
            let row = filter::hash(&front[..self.row_len]);
            if by_row {
                self.hashes.push(row);
            }
            if tombstone && self.tombstones.last() != Some(&row) {
                self.tombstones.push(row);
            }
            self.last_row_hashed = Some(row);
        }
        if self.filter == FilterKind::RowColumn && (cell.new_column || self.hashes.is_empty()) {
            self.hashes.push(if cell.new_column { cell.hash } else { filter::hash(front) });
        }
    }

    /// Where a value goes.
    fn place<'v>(&mut self, output: &Output, value: ValueBytes<'v>) -> Result<NewAt<'v>> {
        Ok(match value {
            ValueBytes::Bytes(bytes) if bytes.len() <= INLINE => NewAt::Here(bytes),
            ValueBytes::Bytes(bytes) if bytes.len() > u32::MAX as usize - (64 << 20) => {
                return Err(Error::new(ErrorKind::ValueTooLarge, "a value of 4 GiB and more is stored in pieces only"));
            }
            ValueBytes::Bytes(bytes) => self.area.add(&output.owner, output.position(), bytes),
            ValueBytes::Root { bytes, .. } if bytes.len() > ROOT_MAX => {
                return Err(Error::new(ErrorKind::IllegalArgument, "the root of a value is too long"));
            }
            ValueBytes::Root { bytes, .. } => NewAt::Root(bytes),
        })
    }

    fn end_block(&mut self, output: &mut Output) -> Result<()> {
        let codec = self.codec;
        let block = self.block.finish(|raw, restarts| output.put_piece(Kind::Keys, codec, restarts, raw))?;
        let area_at = output.position();
        self.area.finish(output)?;
        self.gatherer.facts.blocks += 1;
        self.gatherer.facts.area_bytes += output.position() - area_at;
        self.index.push(&self.separator, block);
        if self.index.len() == GROUP_BLOCKS || self.index.encoded_len() + self.separator.len() >= INDEX_BYTES {
            self.end_group(output)?;
        }
        Ok(())
    }

    fn end_group(&mut self, output: &mut Output) -> Result<()> {
        let index = output.put_piece(Kind::Index, Codec::None, 0, &self.index.encode())?;
        let lines = filter::lines_for(self.hashes.len());
        let tombstone_lines = filter::lines_for(self.tombstones.len());
        for (kind, hashes) in [(Kind::Filter, &self.hashes), (Kind::Tombstones, &self.tombstones)] {
            for page in filter::build(hashes).chunks(PAGE_LINES as usize * LINE) {
                output.put_piece(kind, Codec::None, 0, page)?;
            }
        }
        let group = Group { start: self.group_start, index, lines, tombstone_lines };
        self.groups.push(&self.group_separator, group);
        self.index.clear();
        self.hashes.clear();
        self.tombstones.clear();
        self.last_row_hashed = None;
        Ok(())
    }

    /// Writes what is left, and what the extent says about itself. `None`: it has no cells.
    pub(in crate::segment) fn finish(mut self, output: &mut Output) -> Result<Option<ExtentFacts>> {
        if self.last.is_empty() {
            return Ok(None);
        }
        if !self.block.is_empty() {
            self.end_block(output)?;
        }
        if self.index.len() > 0 {
            self.end_group(output)?;
        }
        let mut facts = self.gatherer.finish();
        facts.groups_at = output.put_piece(Kind::Groups, Codec::None, 0, &self.groups.encode())?;
        facts.columns_at = output.put_piece(Kind::Columns, Codec::None, 0, &self.gatherer.columns.encode())?;
        facts.chunks_at = output.put_piece(Kind::Chunks, Codec::None, 0, &self.chunks.encode())?;
        facts.sketch_at = output.put_piece(Kind::Sketch, Codec::None, 0, &self.gatherer.sketch.encode())?;
        facts.last_key = std::mem::take(&mut self.last);
        facts.end = output.position();
        facts.stored_bytes = facts.end - facts.start;
        Ok(Some(facts))
    }
}
