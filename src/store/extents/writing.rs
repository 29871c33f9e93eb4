//! Writing extents: which file they go to, and what becomes of it when the work is given up.

use crate::blob::Root;
use crate::format::Codec;
use crate::model::{FamilySchema, Timestamp, ValueBytes};
use crate::segment::{ExtentFacts, ExtentOptions, FilterKind, NewCell, SegmentWriter};
use crate::store::engine::Engine;
use crate::store::engine::values::no_root;
use crate::{Error, Result};

/// Bytes of a block where BLOCKSIZE is not set.
const BLOCK_BYTES: usize = 8 << 10;
/// The same with a codec, which larger blocks suit better.
const PACKED_BLOCK_BYTES: usize = 16 << 10;

/// How extents of a family are written, by its attributes.
pub fn options_of(family: &FamilySchema, layers: (u32, u32), made_at: Timestamp, major: bool) -> ExtentOptions {
    let codec = Codec::of(family.rules.compression);
    let default = if codec == Codec::None { BLOCK_BYTES } else { PACKED_BLOCK_BYTES };
    let attribute = |name: &str| family.attributes.get(name).map(String::as_str);
    let filter = match attribute("BLOOMFILTER") {
        Some("NONE") => FilterKind::None,
        Some("ROW" | "ROWPREFIX_FIXED_LENGTH") => FilterKind::Row,
        _ => FilterKind::RowColumn,
    };
    ExtentOptions {
        family: family.id,
        block_bytes: attribute("BLOCKSIZE").and_then(|text| text.parse().ok()).unwrap_or(default),
        filter,
        codec,
        max_versions: family.rules.versions,
        layers,
        made_at,
        major,
    }
}

/// Extents that are on the disk, and that no edit names yet.
pub struct Made {
    /// Each with its file's number.
    pub extents: Vec<(u64, ExtentFacts)>,
    files: Vec<u64>,
}

impl Made {
    /// The work is given up: the files go.
    pub fn give_up(&self, engine: &Engine) {
        remove(engine, &self.files);
    }
}

fn remove(engine: &Engine, files: &[u64]) {
    for number in files {
        // After an outcome that is not known nothing is removed that may count.
        if engine.log.poison().is_none() {
            let _ = engine.options.env.remove(&engine.structure.path(*number));
        }
    }
}

/// See the module.
pub struct Output<'e> {
    engine: &'e Engine,
    writer: Option<(u64, SegmentWriter)>,
    options: Option<ExtentOptions>,
    made: Made,
    /// Bytes of the files that are whole.
    ended: u64,
    finished: bool,
}

impl<'e> Output<'e> {
    pub fn new(engine: &'e Engine) -> Self {
        let made = Made { extents: Vec::new(), files: Vec::new() };
        Self { engine, writer: None, options: None, made, ended: 0, finished: false }
    }

    /// Begins an extent; its file is made with its first cell.
    pub fn begin(&mut self, options: ExtentOptions) -> Result<()> {
        if let Some((_, writer)) = &mut self.writer {
            writer.begin_extent(&options)?;
        }
        self.options = Some(options);
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut SegmentWriter> {
        if self.writer.as_ref().is_some_and(|(_, writer)| writer.bytes_written() >= self.engine.options.segment_bytes) {
            self.end_file()?;
        }
        if self.writer.is_none() {
            let (engine, structure) = (self.engine, &self.engine.structure);
            let number = structure.next_number()?;
            let (path, edit) = (structure.path(number), engine.layout().state.edit);
            self.made.files.push(number);
            let mut writer = SegmentWriter::new(&*engine.options.env, &path, *structure.store(), number, edit)?;
            if let Some(options) = &self.options {
                writer.begin_extent(options)?;
            }
            self.writer = Some((number, writer));
        }
        match &mut self.writer {
            Some((_, writer)) => Ok(writer),
            None => Err(Error::new(crate::ErrorKind::Io, "no segment is being written")),
        }
    }

    /// Bytes that are written.
    pub fn bytes(&self) -> u64 {
        self.ended + self.writer.as_ref().map_or(0, |(_, writer)| writer.bytes_written())
    }

    /// Appends a cell; keys ascend within an extent.
    pub fn add(&mut self, cell: &NewCell<'_>) -> Result<()> {
        let root = if let ValueBytes::Root { bytes, .. } = cell.value { Some(bytes) } else { None };
        self.writer()?.add(cell)?;
        root.map_or(Ok(()), |root| self.refer(root))
    }

    /// As [`Output::add`]; nothing is appended if not all lists of a large value can be read.
    pub fn add_whole(&mut self, cell: &NewCell<'_>) -> Result<()> {
        if let ValueBytes::Root { bytes, .. } = cell.value {
            let root = Root::decode(bytes).ok_or_else(no_root)?;
            self.engine.values.blobs.each_chunk(&root, &mut |_, _| Ok(()))?;
        }
        self.add(cell)
    }

    /// Says of the extent which chunks it needs.
    fn refer(&mut self, root: &[u8]) -> Result<()> {
        let root = Root::decode(root).ok_or_else(no_root)?;
        let blobs = &self.engine.values.blobs;
        // The extent that has the cell, though it may be full now.
        let Some((_, writer)) = &mut self.writer else { return Ok(()) };
        blobs.each_chunk(&root, &mut |blob, chunk| writer.refers_to_chunk(blob, chunk))
    }

    /// Ends the extent.
    pub fn end(&mut self) -> Result<()> {
        self.options = None;
        match &mut self.writer {
            Some((_, writer)) => writer.end_extent(),
            None => Ok(()),
        }
    }

    fn end_file(&mut self) -> Result<()> {
        let Some((number, writer)) = self.writer.take() else { return Ok(()) };
        self.ended += writer.bytes_written();
        let extents = writer.finish()?;
        self.made.extents.extend(extents.into_iter().map(|facts| (number, facts)));
        Ok(())
    }

    /// All of it is on the disk when this returns.
    pub fn finish(mut self) -> Result<Made> {
        self.end_file()?;
        if !self.made.files.is_empty() {
            let dir = self.engine.structure.directory();
            let synced = self.engine.options.env.sync_dir(dir);
            synced.map_err(|e| Error::io(format!("sync {}", dir.display()), &e))?;
        }
        self.finished = true;
        Ok(Made { extents: std::mem::take(&mut self.made.extents), files: std::mem::take(&mut self.made.files) })
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.writer = None;
            remove(self.engine, &self.made.files);
        }
    }
}
