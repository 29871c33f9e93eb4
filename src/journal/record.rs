//! Records of the journal: a header and the bytes of an edit or of a whole state.
//!
//! Header, 20 bytes, little-endian: magic `cEdt`; u32 length of what follows, its top bit set for a base; u64 number of
//! the edit; u32 check of store id, file number, offset, the 16 bytes before and what follows.

use super::edit::Edit;
use super::state::State;
use crate::format::{StoreId, agree, place_check};
use crate::{Error, ErrorKind, Result};

/// Bytes before what a record says.
pub(super) const HEADER: usize = 20;
pub(super) const MAGIC: &[u8; 4] = b"cEdt";
const BASE: u32 = 1 << 31;

/// What a record says.
#[derive(Debug)]
pub(super) enum Body {
    Base(Box<State>),
    Edit(Edit),
}

/// Where a record stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub store: &'a StoreId,
    pub file: u64,
    pub offset: u64,
}

fn encode(place: Place<'_>, number: u64, base: bool, body: &[u8]) -> Result<Vec<u8>> {
    let too_large = || Error::new(ErrorKind::ValueTooLarge, "a change of the store's structure cannot reach 2 GiB");
    let len = u32::try_from(body.len()).ok().filter(|len| *len < BASE).ok_or_else(too_large)?;
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(len | if base { BASE } else { 0 }).to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    let check = place_check(place.store, place.file, place.offset, &[&out, body]);
    out.extend_from_slice(&check.to_le_bytes());
    out.extend_from_slice(body);
    Ok(out)
}

fn unencodable(e: &postcard::Error) -> Error {
    Error::new(ErrorKind::Io, format!("encode a change of the store's structure: {e}"))
}

/// The record of an edit.
pub(super) fn of_edit(place: Place<'_>, number: u64, edit: &Edit) -> Result<Vec<u8>> {
    encode(place, number, false, &postcard::to_stdvec(edit).map_err(|e| unencodable(&e))?)
}

/// The record of a state, which has its number itself.
pub(super) fn of_base(place: Place<'_>, state: &State) -> Result<Vec<u8>> {
    encode(place, state.edit, true, &postcard::to_stdvec(state).map_err(|e| unencodable(&e))?)
}

/// The record at the front of `bytes`: its number, what it says, its length; `None`: there is none that was written here.
pub(super) fn decode(place: Place<'_>, bytes: &[u8]) -> Option<(u64, Body, usize)> {
    let (head, rest) = bytes.split_at_checked(HEADER)?;
    if &head[..4] != MAGIC {
        return None;
    }
    let length = u32::from_le_bytes(head[4..8].try_into().ok()?);
    let body = rest.get(..(length & !BASE) as usize)?;
    let check = u32::from_le_bytes(head[16..].try_into().ok()?);
    if !agree(check, place_check(place.store, place.file, place.offset, &[&head[..16], body])) {
        return None;
    }
    let number = u64::from_le_bytes(head[8..16].try_into().ok()?);
    let said = match length & BASE {
        0 => Body::Edit(postcard::from_bytes(body).ok()?),
        _ => Body::Base(Box::new(postcard::from_bytes(body).ok()?)),
    };
    Some((number, said, HEADER + body.len()))
}
