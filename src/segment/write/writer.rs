//! Writes a segment: extents one after the other, the trailer twice, the footer.
//!
//! Must not know why it is written, nor name or remove the file.

use std::path::Path;

use super::extent_writer::ExtentWriter;
use super::output::Output;
use crate::env::Env;
use crate::format::{Codec, StoreId};
use crate::model::{FamilyId, Tags, Timestamp, ValueBytes};
use crate::segment::parts::cell::{CellRef, NewCell, TagsRef};
use crate::segment::parts::facts::ExtentFacts;
use crate::segment::parts::filter::FilterKind;
use crate::segment::parts::piece::{ALIGN, Owner};
use crate::segment::parts::trailer;
use crate::segment::parts::trailer::Trailer;
use crate::{Error, ErrorKind, Result};

/// Extents that are not smaller, and what follows them, begin at a multiple of [`ALIGN`], so that one can be punched out.
const ALIGNED: u64 = 64 << 10;
/// Bounds of a family's BLOCKSIZE.
const BLOCK_BYTES: std::ops::RangeInclusive<usize> = 1024..=16 << 20;

/// How an extent is to be written.
#[derive(Clone, Debug)]
pub struct ExtentOptions {
    pub family: FamilyId,
    /// Bytes of a block before compression: 1 KiB to 16 MiB; others are made to fit.
    pub block_bytes: usize,
    pub filter: FilterKind,
    pub codec: Codec,
    /// VERSIONS, for the estimate of superseded bytes.
    pub max_versions: u32,
    pub layers: (u32, u32),
    pub made_at: Timestamp,
    pub major: bool,
}

impl Default for ExtentOptions {
    fn default() -> Self {
        Self {
            family: FamilyId::default(),
            block_bytes: 8 << 10,
            filter: FilterKind::RowColumn,
            codec: Codec::None,
            max_versions: 1,
            layers: (0, 0),
            made_at: Timestamp::ZERO,
            major: false,
        }
    }
}

/// See the module.
pub struct SegmentWriter {
    output: Output,
    trailer: Trailer,
    extent: Option<ExtentWriter>,
    tags: Vec<u8>,
}

impl SegmentWriter {
    /// Makes the file, which must not be there. `last_edit`: the last edit that was made when it is begun.
    pub fn new(env: &dyn Env, path: &Path, store: StoreId, file: u64, last_edit: u64) -> Result<Self> {
        let owner = Owner { store, file };
        let mut output = Output::create(env, path, owner)?;
        output.put(&trailer::header(&owner))?;
        output.align(ALIGN)?;
        let trailer = Trailer { last_edit, ..Trailer::default() };
        Ok(Self { output, trailer, extent: None, tags: Vec::new() })
    }

    /// The extents (file, number in it) that this segment is to take the place of; for salvage.
    pub fn claims(&mut self, inputs: &[(u64, u32)]) {
        self.trailer.claims.extend_from_slice(inputs);
    }

    /// Begins an extent. `IllegalArgument` if another is not ended.
    pub fn begin_extent(&mut self, options: &ExtentOptions) -> Result<()> {
        if self.extent.is_some() {
            return Err(Error::new(ErrorKind::IllegalArgument, "an extent is being written"));
        }
        if self.trailer.extents.last().is_some_and(|before| before.stored_bytes >= ALIGNED) {
            self.output.align(ALIGN)?;
        }
        let facts = ExtentFacts {
            number: self.trailer.extents.len() as u32,
            family: options.family,
            block_bytes: options.block_bytes.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end()) as u32,
            filter: options.filter,
            codec: options.codec as u8,
            max_versions: options.max_versions,
            layers: options.layers,
            made_at: options.made_at,
            major: options.major,
            start: self.output.position(),
            ..ExtentFacts::default()
        };
        self.extent = Some(ExtentWriter::new(facts, options.codec));
        Ok(())
    }

    fn extent(&mut self) -> Result<(&mut ExtentWriter, &mut Output)> {
        match &mut self.extent {
            Some(extent) => Ok((extent, &mut self.output)),
            None => Err(Error::new(ErrorKind::IllegalArgument, "no extent was begun")),
        }
    }

    /// Appends a cell; keys ascend.
    pub fn add(&mut self, cell: &NewCell<'_>) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.tags);
        let tags = TagsRef::encode(cell.tags, &mut buffer);
        let decoded = (!tags.is_empty()).then_some(cell.tags);
        let (extent, output) = self.extent()?;
        let done = extent.add(output, cell.key, tags, decoded, cell.value);
        self.tags = buffer;
        done
    }

    /// Appends a cell that was read; `value` is its value, wherever that was.
    pub fn copy(&mut self, cell: &CellRef<'_>, value: ValueBytes<'_>) -> Result<()> {
        let decoded: Option<Tags> = if cell.tags.is_empty() { None } else { cell.tags.decode() };
        let (extent, output) = self.extent()?;
        extent.add(output, cell.key, cell.tags, decoded.as_ref(), value)
    }

    /// A root of this extent refers to a chunk, by itself or by its lists.
    pub fn refers_to_chunk(&mut self, blob: u64, chunk: u32) -> Result<()> {
        self.extent()?.0.chunks.add(blob, chunk);
        Ok(())
    }

    /// A deleted cell of this extent is due to be purged at a moment.
    pub fn due_purge(&mut self, moment: Timestamp) -> Result<()> {
        self.extent()?.0.gatherer.due_purge(moment);
        Ok(())
    }

    /// Something superseded of so many bytes had to be kept.
    pub fn kept(&mut self, bytes: u64) -> Result<()> {
        let facts = &mut self.extent()?.0.gatherer.facts;
        facts.kept_cells += 1;
        facts.kept_bytes += bytes;
        Ok(())
    }

    /// A version of this timestamp took the place of one that is dropped.
    pub fn lacks_before(&mut self, timestamp: Timestamp) -> Result<()> {
        let facts = &mut self.extent()?.0.gatherer.facts;
        facts.lacks_before = facts.lacks_before.max(Some(timestamp));
        Ok(())
    }

    /// Ends the extent; one without cells is left out.
    pub fn end_extent(&mut self) -> Result<()> {
        let extent = self.extent.take();
        let extent = extent.ok_or_else(|| Error::new(ErrorKind::IllegalArgument, "no extent was begun"))?;
        self.trailer.extents.extend(extent.finish(&mut self.output)?);
        Ok(())
    }

    /// Bytes of the file so far.
    pub fn bytes_written(&self) -> u64 {
        self.output.position()
    }

    /// Writes trailer and footer and syncs the file; what the extents say about themselves. The directory is the
    /// caller's to sync.
    pub fn finish(mut self) -> Result<Vec<ExtentFacts>> {
        if self.extent.is_some() {
            self.end_extent()?;
        }
        self.trailer.put(&mut self.output)?;
        self.output.finish()?;
        Ok(self.trailer.extents)
    }
}
