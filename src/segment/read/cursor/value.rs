//! The value of the cell at which a cursor is.

use super::{ExtentCursor, Reading};
use crate::Result;
use crate::segment::parts::cell::{Form, StoredValue, ValuePlace};
use crate::segment::parts::entry::{At, Entry};
use crate::segment::parts::piece::HEADER;
use crate::segment::read::window::MOST;

impl ExtentCursor {
    /// Whether anything rides along with the cell that it is at.
    #[inline]
    pub fn has_tags(&self) -> bool {
        self.valid && self.entry.tag_flags != 0
    }

    /// The value of the cell that it is at, if it stands beside its key and the cell has no tags.
    #[inline]
    pub fn bare_value(&self) -> Option<&[u8]> {
        match self.entry.value {
            At::Here { from, to } if self.valid && self.entry.tag_flags == 0 => self.raw().get(from..to),
            _ => None,
        }
    }

    pub(super) fn value_place(&self, entry: &Entry) -> Option<ValuePlace> {
        let area = self.open.place.end();
        let (at, form) = match entry.value {
            At::Plain { from, check } => (
                area.saturating_add(HEADER as u64).saturating_add(from),
                Form::Plain { block: self.open.place.at, from, check },
            ),
            At::Packed { block, from } => (area.saturating_add(block), Form::Packed { from }),
            _ => return None,
        };
        Some(ValuePlace { at, len: entry.len, form })
    }

    /// The value of the cell that it is at, wherever it stands, into a buffer; of a root the root's bytes.
    pub fn read_value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let place = match self.cell().map(|cell| cell.value) {
            None => {
                out.clear();
                return Ok(());
            }
            Some(StoredValue::Inline(bytes) | StoredValue::Root { bytes, .. }) => {
                out.clear();
                out.extend_from_slice(bytes);
                return Ok(());
            }
            Some(StoredValue::Area(place)) => place,
        };
        if let Form::Plain { block, from, check } = place.form
            && self.reading == Reading::Walk
            && place.len <= MOST as u64
        {
            let len = place.len as usize;
            let range = match self.values.range(place.at, len) {
                Some(range) => range,
                None => self.values.fill(&self.extent.source, place.at, len, self.extent.facts().end, true)?,
            };
            let value = self.values.bytes().get(range).unwrap_or_default();
            self.extent.check_plain(block, from, check, place.at, value)?;
            out.clear();
            out.extend_from_slice(value);
            return Ok(());
        }
        let Form::Packed { from } = place.form else { return self.extent.read_whole_value(&place, out) };
        let block = match &self.packed {
            Some((at, block)) if *at == place.at => block.clone(),
            _ => self.extent.value_block(place.at, self.reading == Reading::Point)?,
        };
        out.clear();
        out.extend_from_slice(self.extent.packed(block.raw(), &place, from)?);
        self.packed = Some((place.at, block));
        Ok(())
    }
}
