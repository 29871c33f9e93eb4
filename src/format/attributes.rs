//! The record of what was set on a file: its length, then fields by number ascending, each a number, a length
//! and as many bytes. A reader carries the fields that it does not know.

use super::varint::{put_varint, take, take_varint, unzigzag, zigzag};
use crate::model::{FileAttributes, FileRecord, FileTime, Timestamp};

const MTIME: u64 = 1;
const MODE: u64 = 2;
const OWNER: u64 = 3;
const GROUP: u64 = 4;
const CHANGED: u64 = 5;

/// Appends the record.
pub fn put_file(out: &mut Vec<u8>, record: &FileRecord) {
    let mut fields = Vec::with_capacity(32);
    let mut field = Vec::with_capacity(16);
    let mut put = |number: u64, field: &mut Vec<u8>| {
        put_varint(&mut fields, number);
        put_varint(&mut fields, field.len() as u64);
        fields.append(field);
    };
    if let Some(mtime) = record.mtime {
        put_varint(&mut field, zigzag(mtime.seconds));
        put_varint(&mut field, u64::from(mtime.nanos));
        put(MTIME, &mut field);
    }
    let numbers = [(MODE, record.mode.map(u32::from)), (OWNER, record.uid), (GROUP, record.gid)];
    for (number, value) in numbers {
        if let Some(value) = value {
            put_varint(&mut field, u64::from(value));
            put(number, &mut field);
        }
    }
    if let Some(changed) = record.changed {
        put_varint(&mut field, zigzag(changed.0));
        put(CHANGED, &mut field);
    }
    for (number, bytes) in &record.others {
        put(*number, &mut bytes.clone());
    }
    put_varint(out, fields.len() as u64);
    out.extend_from_slice(&fields);
}

/// The inverse of [`put_file`].
pub fn take_file(bytes: &mut &[u8]) -> Option<FileAttributes> {
    let len = usize::try_from(take_varint(bytes)?).ok()?;
    let mut fields = take(bytes, len)?;
    let mut record = FileRecord::default();
    let mut last = 0;
    while !fields.is_empty() {
        let number = take_varint(&mut fields)?;
        let len = usize::try_from(take_varint(&mut fields)?).ok()?;
        let mut field = take(&mut fields, len)?;
        if number <= last {
            return None;
        }
        last = number;
        match number {
            MTIME => {
                let seconds = unzigzag(take_varint(&mut field)?);
                record.mtime = Some(FileTime { seconds, nanos: small(&mut field)? });
            }
            MODE => record.mode = Some(small(&mut field)?),
            OWNER => record.uid = Some(small(&mut field)?),
            GROUP => record.gid = Some(small(&mut field)?),
            CHANGED => record.changed = Some(Timestamp(unzigzag(take_varint(&mut field)?))),
            _ => record.others.push((number, std::mem::take(&mut field).to_vec())),
        }
        if !field.is_empty() {
            return None;
        }
    }
    Some(record.into())
}

/// A varint that fits.
fn small<T: TryFrom<u64>>(field: &mut &[u8]) -> Option<T> {
    T::try_from(take_varint(field)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Option<FileAttributes> {
        take_file(&mut bytes).filter(|_| bytes.is_empty())
    }

    #[test]
    fn file_records_come_back_with_the_fields_of_later_releases() {
        let record = FileRecord {
            mtime: Some(FileTime { seconds: -5, nanos: 999_999_999 }),
            mode: Some(0o6755),
            uid: Some(u32::MAX - 1),
            gid: Some(0),
            changed: Some(Timestamp(-7)),
            others: vec![(6, vec![1]), (900, b"later".to_vec())],
        };
        let mut bytes = Vec::new();
        put_file(&mut bytes, &record);
        assert_eq!(read(&bytes), Some(record.clone().into()));
        for len in 0..bytes.len() {
            assert_eq!(read(&bytes[..len]), None, "cut at {len}");
        }
        // Fields twice, or out of order, have no second meaning.
        let mut doubled = vec![0];
        for _ in 0..2 {
            doubled.extend([2, 1, 7]);
        }
        doubled[0] = (doubled.len() - 1) as u8;
        assert_eq!(read(&doubled), None);
    }
}
