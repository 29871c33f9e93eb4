//! Makes the index of a group, or the list of groups, again from the headers of parts, where they are damaged.
//!
//! Must not take a part for whole whose check does not match: then there is no way to know where the next one is.

use super::source::Source;
use crate::Result;
use crate::segment::parts::block::Shape;
use crate::segment::parts::facts::{ExtentFacts, Place};
use crate::segment::parts::filter::{LINE, stored_len};
use crate::segment::parts::index::{Group, Groups, Index};
use crate::segment::parts::piece::{HEADER, Header, Kind};

/// The header at a place of an extent, and where its part is.
fn header_at(source: &Source, at: u64) -> Result<(Header, Place)> {
    let mut bytes = [0; HEADER];
    source.read(at, &mut bytes)?;
    let header = Header::take(&bytes).ok_or_else(|| source.damaged(at, "no part of an extent begins here"))?;
    let place = Place { at, stored: header.stored };
    if header.kind == Kind::Plain && !header.agrees(&source.owner, at, &[]) {
        return Err(source.damaged(at, "the value area is damaged"));
    }
    Ok((header, place))
}

/// The first key of a block.
fn first_key(source: &Source, place: Place) -> Result<Vec<u8>> {
    let block = source.read_piece(Kind::Keys, place)?;
    let raw = block.raw();
    let key = || {
        let shape = Shape::of(raw, block.header.count)?;
        let entry = shape.entry(raw, shape.restart(raw, 0)?)?;
        Some([raw.get(entry.rest.clone())?, &entry.suffix].concat())
    };
    key().ok_or_else(|| source.damaged(place.at, "the block does not make sense"))
}

/// The index of a group whose first separator is known.
pub(in crate::segment) fn index(source: &Source, separator: &[u8], group: &Group) -> Result<Index> {
    let mut index = Index::default();
    let mut at = group.start;
    while at < group.index.at {
        let (header, place) = header_at(source, at)?;
        match header.kind {
            Kind::Keys => {
                let first = first_key(source, place)?;
                index.push(if index.len() == 0 { separator } else { &first }, place);
            }
            Kind::Plain => {}
            _ => {
                source.read_piece(Kind::Packed, place)?;
            }
        }
        at = place.end();
    }
    if at == group.index.at && index.len() > 0 {
        return Ok(index.complete());
    }
    Err(source.damaged(group.start, "the index of a group is damaged, and so is what lies before it"))
}

/// The list of groups.
pub(in crate::segment) fn groups(source: &Source, facts: &ExtentFacts) -> Result<Groups> {
    let (start, end) = (facts.start, facts.groups_at.at);
    let mut groups = Groups::default();
    let mut at = start;
    let mut group: Option<(u64, Vec<u8>)> = None;
    let mut open: Option<Group> = None;
    while at < end {
        let (header, place) = header_at(source, at)?;
        let damaged = || source.damaged(at, "the list of groups is damaged, and so is the extent here");
        match header.kind {
            Kind::Keys => {
                if let Some(done) = open.take() {
                    let (_, separator) = group.take().ok_or_else(damaged)?;
                    groups.push(&separator, done);
                }
                if group.is_none() {
                    let separator = if groups.len() == 0 { Vec::new() } else { first_key(source, place)? };
                    group = Some((at, separator));
                } else {
                    source.read_piece(Kind::Keys, place)?;
                }
            }
            Kind::Plain => {}
            Kind::Packed => {
                source.read_piece(Kind::Packed, place)?;
            }
            Kind::Index => {
                source.read_piece(Kind::Index, place)?;
                let start = group.as_ref().ok_or_else(damaged)?.0;
                open = Some(Group { start, index: place, lines: 0, tombstone_lines: 0 });
            }
            Kind::Filter | Kind::Tombstones => {
                let group = open.as_mut().ok_or_else(damaged)?;
                let lines = header.stored / LINE as u32;
                if header.kind == Kind::Filter { group.lines += lines } else { group.tombstone_lines += lines }
            }
            _ => return Err(damaged()),
        }
        at = place.end();
    }
    if let (Some(done), Some((_, separator))) = (open, group) {
        groups.push(&separator, done);
    }
    let last = groups.len().checked_sub(1).and_then(|last| groups.get(last));
    let whole = last.is_some_and(|last| {
        last.index.end() + stored_len(last.lines) + stored_len(last.tombstone_lines) == end && at == end
    });
    if whole {
        Ok(groups.complete())
    } else {
        Err(source.damaged(end, "the list of groups is damaged, and the extent"))
    }
}
