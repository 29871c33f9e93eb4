//! Header, trailer and footer of a segment. The trailer stands twice: the footer says where the first one is, the second
//! ends where the footer begins.
//!
//! ```text
//! header 40:  "CELLFSEG"  version u32  file number u64  store id 16  check u32
//! footer 32:  where the first trailer is u64  bytes of each behind its header u32  file number u64  check u32  "CFSG0001"
//! ```

use serde::{Deserialize, Serialize};

use super::facts::{ExtentFacts, Place};
use super::piece::{ALIGN, HEADER, Header, Kind, Owner};
use crate::format::{Codec, agree};
use crate::segment::read::source::Source;
use crate::segment::write::output::Output;
use crate::{Error, ErrorKind, Result};

const MAGIC: &[u8; 8] = b"CELLFSEG";
const VERSION: u32 = 1;
const FOOTER_MAGIC: &[u8; 8] = b"CFSG0001";
/// What all releases' footers end with, before their number.
const FOOTER_FAMILY: &[u8; 4] = b"CFSG";
/// Bytes of header and footer.
pub(in crate::segment) const HEAD: usize = 40;
pub(in crate::segment) const FOOTER: usize = 32;
/// How far from the end a trailer is looked for when the footer is damaged.
const SEARCH: u64 = 64 << 20;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::segment) struct Trailer {
    /// The last edit that was made when the segment was begun.
    pub(in crate::segment) last_edit: u64,
    /// Extents (file, number) that it is to take the place of.
    pub(in crate::segment) claims: Vec<(u64, u32)>,
    pub(in crate::segment) extents: Vec<ExtentFacts>,
}

/// The header of a file.
pub(in crate::segment) fn header(owner: &Owner) -> [u8; HEAD] {
    let mut out = [0; HEAD];
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..20].copy_from_slice(&owner.file.to_le_bytes());
    out[20..36].copy_from_slice(&owner.store);
    let check = owner.check(0, &[&out[..36]]);
    out[36..].copy_from_slice(&check.to_le_bytes());
    out
}

fn footer(owner: &Owner, at: u64, first: Place) -> [u8; FOOTER] {
    let mut out = [0; FOOTER];
    out[..8].copy_from_slice(&first.at.to_le_bytes());
    out[8..12].copy_from_slice(&first.stored.to_le_bytes());
    out[12..20].copy_from_slice(&owner.file.to_le_bytes());
    let check = owner.check(at, &[&out[..20], FOOTER_MAGIC]);
    out[20..24].copy_from_slice(&check.to_le_bytes());
    out[24..].copy_from_slice(FOOTER_MAGIC);
    out
}

impl Trailer {
    /// Appends it twice, and the footer.
    pub(in crate::segment) fn put(&self, output: &mut Output) -> Result<()> {
        let bytes = postcard::to_stdvec(self)
            .map_err(|e| Error::new(ErrorKind::Io, format!("a trailer cannot be encoded: {e}")))?;
        let first = output.put_piece(Kind::Trailer, Codec::None, 0, &bytes)?;
        output.align(ALIGN)?;
        output.put_piece(Kind::Trailer, Codec::None, 0, &bytes)?;
        let footer = footer(&output.owner, output.position(), first);
        output.put(&footer)
    }

    /// Reads it: the first, else the second; else it is looked for.
    pub(in crate::segment) fn read(source: &Source) -> Result<Self> {
        let places = match Self::footer(source)? {
            Some(first) => {
                let second = (source.len - FOOTER as u64).checked_sub(HEADER as u64 + u64::from(first.stored));
                [Some(first), second.map(|at| Place { at, stored: first.stored })]
            }
            None => [Self::search(source)?, None],
        };
        for place in places.into_iter().flatten() {
            match Self::at(source, place) {
                Ok(trailer) => return Ok(trailer),
                Err(e) if e.kind == ErrorKind::Corrupt => log::warn!("{e}"),
                Err(e) => return Err(e),
            }
        }
        let what = "it is no segment of this store, or its end is damaged";
        Err(source.damaged(source.len.saturating_sub(FOOTER as u64), what))
    }

    /// The trailer at a place.
    pub(in crate::segment) fn at(source: &Source, place: Place) -> Result<Self> {
        let bytes = source.read_piece(Kind::Trailer, place)?;
        let trailer: Option<Self> = postcard::from_bytes(bytes.raw()).ok();
        let fits = |trailer: &Self| {
            let mut facts = trailer.extents.iter().enumerate();
            facts.all(|(n, facts)| facts.number as usize == n && facts.fits(source.len))
        };
        let nonsense = || source.damaged(place.at, "the trailer does not make sense");
        trailer.filter(fits).ok_or_else(nonsense)
    }

    /// Where the footer says that the first trailer is. `None`: it is damaged.
    pub(in crate::segment) fn footer(source: &Source) -> Result<Option<Place>> {
        let Some(at) = source.len.checked_sub(FOOTER as u64) else { return Ok(None) };
        let mut bytes = [0; FOOTER];
        source.read(at, &mut bytes)?;
        let mut first = [0; 8];
        first.copy_from_slice(&bytes[..8]);
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let magic = &bytes[24..];
        if !agree(word(20), source.owner.check(at, &[&bytes[..20], magic])) {
            log::warn!("{}", source.damaged(at, "the footer is damaged"));
            return Ok(None);
        }
        if magic != FOOTER_MAGIC && magic.starts_with(FOOTER_FAMILY) {
            let text = format!("{} was written by a newer release of cellfs", source.path.display());
            return Err(Error::new(ErrorKind::NewerFormat, text));
        }
        Ok(Some(Place { at: u64::from_le_bytes(first), stored: word(8) }))
    }

    /// Looks for the second trailer, which begins at a multiple of [`ALIGN`] and ends where the footer begins.
    fn search(source: &Source) -> Result<Option<Place>> {
        let Some(end) = source.len.checked_sub(FOOTER as u64) else { return Ok(None) };
        let mut at = end / ALIGN * ALIGN;
        let lowest = end.saturating_sub(SEARCH);
        loop {
            let mut bytes = [0; HEADER];
            if end - at >= HEADER as u64 {
                source.read(at, &mut bytes)?;
                let header = Header::take(&bytes).filter(|header| header.kind == Kind::Trailer);
                let place = header.map(|header| Place { at, stored: header.stored });
                if let Some(place) = place.filter(|place| place.end() == end) {
                    return Ok(Some(place));
                }
            }
            if at <= lowest {
                return Ok(None);
            }
            at = at.saturating_sub(ALIGN);
        }
    }

    /// Whether the file's header is as it was written.
    pub(in crate::segment) fn header_agrees(source: &Source) -> Result<bool> {
        let mut bytes = [0; HEAD];
        source.read(0, &mut bytes)?;
        let check = u32::from_le_bytes([bytes[36], bytes[37], bytes[38], bytes[39]]);
        Ok(agree(check, source.owner.check(0, &[&bytes[..36]])))
    }
}
