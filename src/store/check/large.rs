//! Damaged chunks of large values, told with the cells that need them. What a repair has told of is a note from then on:
//! nothing has a second copy of it, and the rest of such a value can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rewrite::{Names, cell_name, name_of};
use super::walk::Checker;
use crate::blob::{Blobs, Root};
use crate::format::key;
use crate::journal::State;
use crate::log::Record;
use crate::model::{CheckEvent, FamilyId, Finding, SeqNo, Severity, ValueBytes};
use crate::segment::{Extent, Reading, StoredValue};
use crate::store::layout::runs::File;
use crate::store::memory::memtable::Memtables;
use crate::{ErrorKind, Result};

/// Cells that one finding names; how many more there are is said.
const NAMED: usize = 3;
/// Names of cells that are gathered.
const NAMES: usize = 10_000;

/// Finds the cells that lead to damaged chunks.
pub(super) struct Needing<'a> {
    blobs: &'a Blobs,
    names: &'a Names,
    chunks: BTreeSet<(u64, u32)>,
    /// Names of cells, by chunk.
    cells: BTreeMap<(u64, u32), BTreeSet<String>>,
    named: usize,
    /// Segments with roots whose lists cannot be read.
    pub lists: BTreeSet<u64>,
}

/// What a look at a root comes to.
#[derive(PartialEq, Eq)]
enum Walked {
    Whole,
    /// A list of it cannot be read.
    Cut,
}

impl<'a> Needing<'a> {
    pub fn new(blobs: &'a Blobs, names: &'a Names, chunks: BTreeSet<(u64, u32)>) -> Self {
        Self { blobs, names, chunks, cells: BTreeMap::new(), named: 0, lists: BTreeSet::new() }
    }

    /// Looks at what counts of extents.
    pub fn extents(&mut self, state: &State, file: &dyn Fn(u64) -> Option<Arc<File>>) -> Result<()> {
        if self.chunks.is_empty() {
            return Ok(());
        }
        for reference in state.references.keys() {
            let Some(file) = file(reference.file) else { continue };
            let Ok(segment) = &file.segment else { continue };
            let Some(extent) = segment.extents().get(reference.extent as usize) else { continue };
            let from = state.needed_from(reference.file, reference.extent).unwrap_or_default();
            match self.extent(extent, reference.family, reference.file, &from) {
                // It is told where segments are checked.
                Err(e) if e.kind == ErrorKind::Corrupt => {}
                looked => looked?,
            }
        }
        Ok(())
    }

    fn extent(&mut self, extent: &Arc<Extent>, family: FamilyId, file: u64, from: &[u8]) -> Result<()> {
        let mut cursor = extent.cursor(Reading::Walk);
        cursor.seek(from)?;
        while let Some(cell) = cursor.cell() {
            if let StoredValue::Root { bytes, .. } = cell.value
                && let Some(root) = Root::decode(bytes)
                && self.root(family, cell.key, &root)? == Walked::Cut
            {
                self.lists.insert(file);
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Looks at what is in memory alone.
    pub fn memory(&mut self, tables: &Memtables, kept: &BTreeSet<FamilyId>) -> Result<()> {
        for (family, table) in tables.all().flat_map(|table| table.families()).filter(|(id, _)| kept.contains(id)) {
            table.all(|cell| match cell.value() {
                ValueBytes::Root { bytes, .. } => {
                    Root::decode(bytes).map_or(Ok(()), |root| self.root(family, cell.key(), &root).map(drop))
                }
                ValueBytes::Bytes(_) => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Looks at what a start takes from the log.
    pub fn log(&mut self, records: &[Record], kept: &BTreeSet<FamilyId>) -> Result<()> {
        if self.chunks.is_empty() {
            return Ok(());
        }
        let cells = records.iter().flat_map(|record| &record.cells);
        for cell in cells.filter(|cell| cell.root.is_some() && kept.contains(&cell.family)) {
            let key = key::cell_key(&cell.row, &cell.qualifier, cell.timestamp, cell.kind, SeqNo(0));
            if let Some(root) = Root::decode(&cell.value) {
                self.root(cell.family, &key, &root)?;
            }
        }
        Ok(())
    }

    fn root(&mut self, family: FamilyId, key: &[u8], root: &Root) -> Result<Walked> {
        let mut needed = Vec::new();
        let walked = self.blobs.each_chunk(root, &mut |blob, chunk| {
            needed.extend(self.chunks.get(&(blob, chunk)).copied());
            Ok(())
        });
        needed.truncate(NAMES - self.named);
        self.named += needed.len();
        for chunk in needed {
            let cell = cell_name(key).unwrap_or_default();
            self.cells.entry(chunk).or_default().insert(format!("{}, {cell}", name_of(self.names, family)));
        }
        match walked {
            Err(e) if e.kind == ErrorKind::Corrupt => Ok(Walked::Cut),
            walked => walked.map(|()| Walked::Whole),
        }
    }

    /// A sentence for each cell.
    pub fn sentences(&self) -> Vec<String> {
        let cells: BTreeSet<&String> = self.cells.values().flatten().collect();
        let sentence = |cell: &String| {
            format!(
                "a part of a large value is damaged: {cell}. It is noted as lost, write the cell again or restore it"
            )
        };
        cells.into_iter().map(sentence).collect()
    }

    /// For findings; `None`: no cell was found.
    fn told_of(&self, chunks: &[(u64, u32)]) -> Option<String> {
        let cells: BTreeSet<&String> = chunks.iter().filter_map(|chunk| self.cells.get(chunk)).flatten().collect();
        let mut names: Vec<String> = cells.iter().take(NAMED).map(|cell| (*cell).clone()).collect();
        if cells.len() > NAMED {
            names.push(format!("{} more", cells.len() - NAMED));
        }
        (!names.is_empty()).then(|| names.join("; "))
    }
}

impl Checker<'_> {
    /// Tells of the damaged chunks that were found; `known`: those that a repair has told of.
    pub(super) fn large(&mut self, needing: &Needing<'_>, known: &BTreeSet<(u64, u32)>) -> Result<()> {
        // Of a file that is gone all chunks have one sentence.
        let mut found: BTreeMap<_, Vec<(u64, u32)>> = BTreeMap::new();
        for (chunk, (file, text)) in &self.chunks {
            found.entry((file, text, known.contains(chunk))).or_default().push(*chunk);
        }
        for ((file, text, is_known), chunks) in found {
            let what = text.split(". Run: ").next().unwrap_or(text);
            let what = what.strip_prefix(file.as_str()).map_or(what, |what| what.trim_start_matches(": "));
            let (severity, end) = match is_known {
                true => (Severity::Note, "which a repair has told of; it goes with that version"),
                false => {
                    (Severity::Damage, "nothing has a second copy of it; `cellfs check --repair` notes it as lost")
                }
            };
            match severity {
                Severity::Note => self.summary.notes += 1,
                Severity::Damage => self.summary.damages += 1,
            }
            let text = format!("{what}, {end}. Write the cell again, or restore it from a backup");
            let finding = Finding { severity, file: file.clone(), offset: None, cell: needing.told_of(&chunks), text };
            (self.tell)(CheckEvent::Finding(finding))?;
        }
        Ok(())
    }
}
