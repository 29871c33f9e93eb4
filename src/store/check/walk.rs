//! The check itself: every block and value of every extent, every chunk; [`super::logs`] has the records of the log.
//!
//! Needs no more memory than a few blocks and what a start reads of the log. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::rewrite::{Names, name_of, names};
use super::{Tell, damage};
use crate::blob::Blobs;
use crate::journal::State;
use crate::log::Record;
use crate::model::{CheckEvent, CheckSummary, FamilyId, Finding};
use crate::segment::Extent;
use crate::store::jobs::collect::{Chunks, kept_families};
use crate::store::layout::runs::File;
use crate::{Error, ErrorKind, Result};

/// Bytes between two reports of progress.
const REPORT: u64 = 4 << 20;

/// See the module.
pub struct Checker<'f> {
    pub(super) tell: &'f mut Tell<'f>,
    pub summary: CheckSummary,
    /// Segments that were found damaged.
    pub damaged: BTreeSet<u64>,
    /// Chunks that were, and that something refers to: their file, and a sentence.
    pub chunks: BTreeMap<(u64, u32), (String, String)>,
    /// Names of families, for findings.
    pub(super) names: Names,
    /// Families whose cells are kept.
    pub(super) kept: BTreeSet<FamilyId>,
    /// Which parts of extents anyone needs.
    state: Arc<State>,
    done: u64,
    reported: u64,
    total: u64,
}

impl<'f> Checker<'f> {
    pub fn new(tell: &'f mut Tell<'f>) -> Self {
        let (summary, names, state) = (CheckSummary::default(), Names::default(), Arc::default());
        let (damaged, chunks) = (BTreeSet::new(), BTreeMap::new());
        let kept = BTreeSet::new();
        Self { tell, summary, damaged, chunks, names, kept, state, done: 0, reported: 0, total: 0 }
    }

    /// Takes what is stored, and the names of families.
    pub fn name_by(&mut self, state: &Arc<State>) {
        (self.names, self.kept) = (names(state), kept_families(state));
        self.state = Arc::clone(state);
    }

    /// How much there is to look at.
    pub fn expect(&mut self, files: &[Arc<File>]) {
        self.total = files.iter().filter_map(|file| file.segment.as_ref().ok()).map(|segment| segment.bytes()).sum();
    }

    /// Counts a record of the log, and what is kept of it.
    pub(super) fn count(&mut self, record: &Record) {
        self.summary.records += 1;
        self.summary.entries += record.cells.iter().filter(|cell| self.kept.contains(&cell.family)).count() as u64;
    }

    /// Tells of damage.
    pub fn damage(&mut self, file: String, offset: Option<u64>, text: String) -> Result<()> {
        self.summary.damages += 1;
        (self.tell)(damage(file, offset, None, text))
    }

    /// Tells of what cannot be read; where this user may not, nothing is known of it, and the check ends.
    pub fn unread(&mut self, file: String, e: Error) -> Result<()> {
        if e.kind == ErrorKind::AccessDenied {
            let way = "a check reads every file of the store: run it as a user who may";
            return Err(Error::new(e.kind, format!("the check could not be done: {}; {way}", e.message)));
        }
        self.damage(file, None, e.message)
    }

    /// Counts bytes that were read.
    fn count_read(&mut self, bytes: u64) -> Result<()> {
        self.summary.bytes += bytes;
        self.advance(bytes)
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        self.done += bytes;
        if self.done - self.reported < REPORT {
            return Ok(());
        }
        self.reported = self.done;
        (self.tell)(CheckEvent::Progress { done: self.done, total: self.total.max(self.done) })
    }

    /// Reads all of these segments.
    pub fn segments(&mut self, dir: &Path, files: &[Arc<File>]) -> Result<()> {
        for file in files {
            let before = self.summary.damages;
            self.summary.segments += 1;
            let path = crate::store::layout::structure::segment_path(dir, file.number).display().to_string();
            match &file.segment {
                Ok(segment) => {
                    let mut found = Vec::new();
                    segment.verify(&mut |finding| found.push(finding))?;
                    for finding in found {
                        self.summary.damages += 1;
                        (self.tell)(CheckEvent::Finding(finding))?;
                    }
                    for extent in segment.extents() {
                        // What was merged away may have been given back in part.
                        match self.state.needed_from(file.number, extent.facts().number) {
                            Some(from) => self.extent(extent, &from)?,
                            None => self.advance(extent.facts().stored_bytes)?,
                        }
                    }
                }
                Err(e) => self.unread(path, e.clone())?,
            }
            if self.summary.damages > before {
                self.damaged.insert(file.number);
            }
        }
        Ok(())
    }

    fn extent(&mut self, extent: &Arc<Extent>, from: &[u8]) -> Result<()> {
        let mut found = Vec::new();
        extent.verify(from, &mut |finding| found.push(finding))?;
        let facts = extent.facts();
        let name = name_of(&self.names, facts.family).to_owned();
        for finding in found {
            self.summary.damages += 1;
            let cell = Some(finding.cell.map_or_else(|| name.clone(), |cell| format!("{name}, {cell}")));
            (self.tell)(CheckEvent::Finding(Finding { cell, ..finding }))?;
        }
        self.summary.entries += facts.cells;
        self.summary.rows += facts.rows;
        self.count_read(facts.stored_bytes)
    }

    /// Reads all large values; what nothing leads to does not matter. Damaged chunks are told by [`Checker::large`].
    pub fn blobs(&mut self, dir: &Path, blobs: &Blobs, live: &Chunks) -> Result<()> {
        let known: BTreeSet<u64> = blobs.numbers().into_iter().collect();
        for number in known.iter().copied() {
            let path = dir.join(format!("{number:08}.blob")).display().to_string();
            let mut found = Vec::new();
            let next = match blobs.verify(number, &mut |finding| found.push(finding)) {
                Ok(verified) => {
                    self.count_read(verified.bytes)?;
                    verified.next
                }
                Err(e) if blobs.is_known(number) => {
                    self.unread(path.clone(), e)?;
                    u32::MAX
                }
                Err(_) => u32::MAX,
            };
            if !blobs.is_known(number) {
                // Collection has removed it meanwhile: nothing leads to it, damaged or not.
                continue;
            }
            for (_, chunk) in live.iter().filter(|(blob, chunk)| *blob == number && *chunk >= next) {
                let text = format!("chunk {chunk} is not there, and values need it");
                self.chunks.insert((number, *chunk), (path.clone(), text));
            }
            let matters = |chunk: Option<u32>| chunk.is_none_or(|chunk| live.contains(&(number, chunk)));
            for finding in found.into_iter().filter(|finding| matters(finding.chunk)) {
                match finding.chunk {
                    Some(chunk) => drop(self.chunks.insert((number, chunk), (path.clone(), finding.error.message))),
                    None => self.damage(path.clone(), None, finding.error.message)?,
                }
            }
        }
        let gone: BTreeSet<u64> = live.iter().map(|(blob, _)| *blob).filter(|blob| !known.contains(blob)).collect();
        for number in gone {
            let path = dir.join(format!("{number:08}.blob")).display().to_string();
            let text = |chunk| format!("values need chunk {chunk} of this file, and the store does not have it");
            let of_it = live.iter().filter(|(blob, _)| *blob == number);
            self.chunks.extend(of_it.map(|(_, chunk)| ((number, *chunk), (path.clone(), text(*chunk)))));
        }
        Ok(())
    }
}
