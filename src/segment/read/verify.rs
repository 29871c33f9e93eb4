//! Reads all of a segment and tells of each damage, where it is and which keys it hits.
//!
//! Must not mend anything, nor stop at the first damage.

use std::sync::Arc;

use super::cursor::Reading;
use super::extent::{Extent, Segment};
use super::source::Source;
use crate::format::key;
use crate::model::{Finding, Severity};
use crate::segment::parts::facts::Place;
use crate::segment::parts::filter::{LINE, PAGE_LINES};
use crate::segment::parts::index::{Group, Groups};
use crate::segment::parts::piece::{HEADER, Header, Kind};
use crate::segment::parts::trailer::Trailer;
use crate::{ErrorKind, Result, error};

/// Damage as a finding.
fn finding(source: &Source, offset: u64, cell: Option<String>, text: String) -> Finding {
    let file = source.path.display().to_string();
    Finding { severity: Severity::Damage, file, offset: Some(offset), cell, text }
}

/// Passes on what was read; damage is told and `None`.
fn tell<T>(source: &Source, at: u64, what: &str, read: Result<T>, each: &mut dyn FnMut(Finding)) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(e) if e.kind == ErrorKind::Corrupt => {
            each(finding(source, at, None, format!("the {what} is damaged")));
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

impl Segment {
    /// Tells of each damage of header, trailers and footer; the extents have a [`Extent::verify`] of their own.
    pub fn verify(&self, each: &mut dyn FnMut(Finding)) -> Result<()> {
        let source = &self.source;
        if !Trailer::header_agrees(source)? {
            each(finding(source, 0, None, "the header is damaged; nothing is lost by that".to_owned()));
        }
        let footer = source.len.saturating_sub(crate::segment::parts::trailer::FOOTER as u64);
        let Some(first) = Trailer::footer(source)? else {
            each(finding(
                source,
                footer,
                None,
                "the footer is damaged; the second trailer is found without it".to_owned(),
            ));
            return Ok(());
        };
        let second = footer.saturating_sub(HEADER as u64 + u64::from(first.stored));
        for (at, what) in [(first.at, "first trailer"), (second, "second trailer")] {
            let read = Trailer::at(source, Place { at, stored: first.stored });
            tell(source, at, what, read, each)?;
        }
        Ok(())
    }
}

impl Extent {
    /// Reads and checks every block, value, index and filter, and tells of each damage; goes on behind it. Blocks that
    /// have no key from `from` on may have been given back, and are passed by.
    pub fn verify(self: &Arc<Self>, from: &[u8], each: &mut dyn FnMut(Finding)) -> Result<()> {
        let (source, facts) = (&self.source, self.facts());
        tell(source, facts.groups_at.at, Kind::Groups.name(), self.read_groups(), each)?;
        let groups =
            tell(source, facts.groups_at.at, "extent beyond repair of its list of groups, which", self.groups(), each)?;
        let mut cells = Some(0);
        if let Some(groups) = groups {
            let (first, block) = if from.is_empty() { (0, 0) } else { begin(self, from, each)? };
            for n in first..groups.len() {
                let found = self::group(self, groups, (n, if n == first { block } else { 0 }), each)?;
                cells = cells.zip(found).map(|(before, found)| before + found);
            }
        }
        tell(source, facts.columns_at.at, Kind::Columns.name(), self.columns(), each)?;
        tell(source, facts.chunks_at.at, Kind::Chunks.name(), self.chunks(), each)?;
        tell(source, facts.sketch_at.at, Kind::Sketch.name(), self.sketch(), each)?;
        if let Some(cells) = cells.filter(|cells| *cells != facts.cells && from.is_empty()) {
            let text = format!("the extent has {cells} cells instead of {}", facts.cells);
            each(finding(source, facts.start, None, text));
        }
        Ok(())
    }
}

/// Group and block in which a walk from a key on begins; of damage there is told.
fn begin(extent: &Extent, from: &[u8], each: &mut dyn FnMut(Finding)) -> Result<(usize, usize)> {
    let at = extent.facts().groups_at.at;
    let begins =
        tell(&extent.source, at, "group in which what is left of the extent begins", extent.block_of(from), each)?;
    Ok(begins.map_or((usize::MAX, 0), |(group, block, _)| (group, block)))
}

/// A group from a block on; its cells, if all of them could be read.
fn group(
    extent: &Arc<Extent>,
    groups: &Groups,
    (n, first): (usize, usize),
    each: &mut dyn FnMut(Finding),
) -> Result<Option<u64>> {
    let source = &extent.source;
    let Some(group) = groups.get(n) else { return Ok(None) };
    tell(source, group.index.at, Kind::Index.name(), extent.read_index(&group), each)?;
    filters(extent, &group, each)?;
    let index = tell(source, group.start, "group with its index", extent.index(groups, n, false), each)?;
    let Some(index) = index else { return Ok(None) };
    let mut cells = Some(0);
    for block in first..index.len() {
        let Some(place) = index.block(block) else { continue };
        let end = index.block(block + 1).map_or(group.index.at, |next| next.at);
        area(extent, place.end(), end, each)?;
        let found = match self::block(extent, groups, n, block, each) {
            Err(e) if e.kind == ErrorKind::Corrupt => {
                each(finding(source, place.at, lost(index.separator(block)), e.message));
                None
            }
            found => Some(found?),
        };
        cells = cells.zip(found).map(|(before, found)| before + found);
    }
    Ok(cells)
}

/// The cells that are lost with a block, for people.
fn lost(separator: &[u8]) -> Option<String> {
    let row = key::row_of(separator).unwrap_or_else(|| separator.to_vec());
    Some(format!("cells from row {} on", error::printable(&crate::model::to_string_binary(&row))))
}

/// The pages of a group's filters.
fn filters(extent: &Extent, group: &Group, each: &mut dyn FnMut(Finding)) -> Result<()> {
    let mut at = group.index.end();
    for (kind, lines) in [(Kind::Filter, group.lines), (Kind::Tombstones, group.tombstone_lines)] {
        let mut left = lines;
        while left > 0 {
            let page = left.min(PAGE_LINES);
            let place = Place { at, stored: page * LINE as u32 };
            let read = extent.source.read_piece(kind, place);
            tell(&extent.source, at, kind.name(), read, each)?;
            at = place.end();
            left -= page;
        }
    }
    Ok(())
}

/// The value area behind a block: its headers, and value blocks.
fn area(extent: &Extent, mut at: u64, end: u64, each: &mut dyn FnMut(Finding)) -> Result<()> {
    while at < end {
        let mut bytes = [0; HEADER];
        let read = extent.source.read(at, &mut bytes);
        let header = Header::take(&bytes).filter(|_| read.is_ok());
        let place = header.map(|header| (header, Place { at, stored: header.stored }));
        let Some((header, place)) = place.filter(|(_, place)| place.end() <= end) else {
            each(finding(&extent.source, at, None, "the value area is damaged".to_owned()));
            return Ok(());
        };
        if header.kind == Kind::Plain {
            if !header.agrees(&extent.source.owner, at, &[]) {
                each(finding(&extent.source, at, None, "the header of the value area is damaged".to_owned()));
            }
        } else {
            let read = extent.source.read_piece(Kind::Packed, place);
            tell(&extent.source, at, Kind::Packed.name(), read, each)?;
        }
        at = place.end();
    }
    Ok(())
}

/// Reads the cells of a block and their values; how many.
fn block(extent: &Arc<Extent>, groups: &Groups, group: usize, n: usize, each: &mut dyn FnMut(Finding)) -> Result<u64> {
    let source = &extent.source;
    let mut cursor = extent.cursor(Reading::Walk);
    cursor.enter_block(groups, group, n)?;
    let (mut cells, mut before, mut value) = (0, Vec::new(), Vec::new());
    loop {
        let Some(cell) = cursor.cell() else { return Err(source.damaged(extent.facts().start, "a cell is missing")) };
        cells += 1;
        let (place, key) = (cell.value, cell.key);
        let told = key::decode(key).map(|key| {
            let name = |bytes: &[u8]| error::printable(&crate::model::to_string_binary(bytes));
            format!("row {}, column {}, version {}", name(&key.row), name(&key.qualifier), key.timestamp)
        });
        let sound = told.is_some() && cell.tags.decode().is_some() && (cells == 1 || before.as_slice() < key);
        before.clear();
        before.extend_from_slice(key);
        let at =
            if let crate::segment::StoredValue::Area(place) = place { place.offset() } else { extent.facts().start };
        if !sound {
            each(finding(source, at, told.clone(), "a cell does not make sense".to_owned()));
        }
        if cell.tags.is_damaged() {
            each(finding(source, at, told.clone(), "the value is lost: the log was damaged where it stood".to_owned()));
        }
        match cursor.read_value(&mut value) {
            Err(e) if e.kind == ErrorKind::Corrupt => {
                each(finding(source, at, told, "the value is damaged".to_owned()))
            }
            read => read?,
        }
        if !cursor.advance_in_block()? {
            return Ok(cells);
        }
    }
}
