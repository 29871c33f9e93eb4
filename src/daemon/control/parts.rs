//! Large values of puts on their way to a daemon: in parts behind their request, in files while they wait.

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::protocol::{LargeValue, PART, Part, receive, send};
use crate::backend::Backend;
use crate::fs::{Beyond, Content};
use crate::model::{ColumnKey, Mutation, PutCell, RowMutations, Value};
use crate::{Error, ErrorKind, Result};

/// A value that was taken out of its request.
pub struct Large {
    pub place: LargeValue,
    value: Value,
}

fn cells(mutation: &mut Mutation) -> &mut [PutCell] {
    match mutation {
        Mutation::Put(cells) => cells,
        Mutation::Restore(cell) => std::slice::from_mut(cell),
        Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => &mut [],
    }
}

/// Takes the large values out of a request, and those that lie in files.
pub fn take_out(mutations: &mut RowMutations) -> Vec<Large> {
    let mut taken = Vec::new();
    for (mutation, at) in mutations.mutations.iter_mut().zip(0..) {
        for (cell, number) in cells(mutation).iter_mut().zip(0..) {
            let in_file = matches!(cell.value, Value::Spilled { .. });
            if in_file || cell.value.len() > PART as u64 {
                let value = std::mem::replace(&mut cell.value, Value::Bytes(Vec::new()));
                taken.push(Large { place: (at, number, value.len()), value });
            }
        }
    }
    taken
}

impl Large {
    /// Sends the value in parts.
    pub fn send(&self, stream: &mut impl Write) -> Result<()> {
        match &self.value {
            Value::Bytes(bytes) => {
                bytes.chunks(PART).try_for_each(|part| send(stream, &Part(part.to_vec())))?;
            }
            Value::Spilled { file, len } => {
                for offset in (0..*len).step_by(PART) {
                    let mut part = vec![0; PART.min((len - offset) as usize)];
                    let read = file.read_exact_at(&mut part, offset);
                    read.map_err(|e| Error::io("read the temporary file of a large value", &e))?;
                    send(stream, &Part(part))?;
                }
            }
            Value::Shared(_) | Value::Written(_) => return Err(out_of_place()),
        }
        Ok(())
    }
}

/// Reads the large values of a request and puts them where they belong. The error inside is the request's: all that was
/// announced has been read.
pub fn put_back(
    stream: &mut impl Read,
    mutations: &mut RowMutations,
    places: &[LargeValue],
    (limit, spill_dir): (u64, &Path),
    backend: &dyn Backend,
) -> Result<Result<()>> {
    let (mut done, table) = (Ok(()), mutations.table.clone());
    for (mutation, cell, len) in places {
        // Order: a client that was built from another source may announce anything.
        if *len > limit {
            return Err(out_of_place());
        }
        let place = mutations.mutations.get_mut(*mutation as usize).map(cells);
        let cell = place.and_then(|cells| cells.get_mut(*cell as usize)).ok_or_else(out_of_place)?;
        let draft = || backend.draft(&table, &cell.family, None);
        let content = receive_value(stream, *len, &Beyond { draft: &draft, spill_dir })?;
        match content.and_then(|mut content| content.value()) {
            Ok(value) => cell.value = value,
            Err(e) => done = Err(e),
        }
    }
    Ok(done)
}

/// The error inside is that of the file that takes the value.
fn receive_value(stream: &mut impl Read, len: u64, beyond: &Beyond<'_>) -> Result<Result<Content>> {
    // Before the first byte: a small start would be copied later.
    let (mut content, mut at) = (Content::of_len(len, beyond), 0);
    while at < len {
        let part: Option<Part> = receive(stream)?;
        let Part(bytes) = part.ok_or_else(out_of_place)?;
        if bytes.is_empty() || bytes.len() as u64 > len - at {
            return Err(out_of_place());
        }
        content = content.and_then(|mut content| content.write(at, &bytes, beyond).map(|()| content));
        at += bytes.len() as u64;
    }
    Ok(content)
}

fn out_of_place() -> Error {
    Error::new(ErrorKind::Disconnected, "a large value does not come as its request has announced it")
}

/// What is set on files stays where puts that set nothing are their next versions.
pub(super) fn keep_files(backend: &dyn Backend, row: &mut RowMutations) -> Result<()> {
    for mutation in &mut row.mutations {
        let Mutation::Put(cells) = mutation else { continue };
        for cell in cells.iter_mut().filter(|cell| cell.sets_nothing()) {
            let (table, row) = (row.table.clone(), row.row.clone());
            let (family, qualifier) = (cell.family.clone(), cell.qualifier.clone());
            cell.keep(&backend.kept_attributes(&ColumnKey { table, row, family, qualifier })?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Origin, TableName, Time};

    fn mutations(values: &[&[u8]]) -> RowMutations {
        let put = |value: &&[u8]| PutCell::new("f", *b"q", Time::Now, *value);
        RowMutations {
            table: TableName::parse("t").unwrap(),
            row: b"r".to_vec(),
            mutations: vec![Mutation::Put(values.iter().map(put).collect())],
            durability: None,
            origin: Origin::default(),
        }
    }

    fn values(mutations: &RowMutations) -> Vec<Vec<u8>> {
        let [Mutation::Put(cells)] = mutations.mutations.as_slice() else { panic!("one Put") };
        let bytes = |cell: &PutCell| match &cell.value {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Spilled { file, len } => {
                let mut bytes = vec![0; *len as usize];
                file.read_exact_at(&mut bytes, 0).unwrap();
                bytes
            }
            Value::Shared(_) | Value::Written(_) => panic!("shared"),
        };
        cells.iter().map(bytes).collect()
    }

    #[test]
    fn large_values_come_in_parts_and_false_ones_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let large: Vec<u8> = (0..5 * PART + 7).map(|at| at as u8).collect();
        let all: [&[u8]; 3] = [b"small", &large, &large[..PART + 1]];
        let mut sent = mutations(&all);
        let taken = take_out(&mut sent);
        let places: Vec<LargeValue> = taken.iter().map(|large| large.place).collect();
        assert_eq!(places, [(0, 1, large.len() as u64), (0, 2, PART as u64 + 1)]);
        let mut wire = Vec::new();
        taken.iter().for_each(|large| large.send(&mut wire).unwrap());
        let store = crate::store::Store::open(crate::store::StoreOptions::new(directory.path().join("store"))).unwrap();
        let put = |places: &[LargeValue], limit| {
            let mut received = sent.clone();
            put_back(&mut wire.as_slice(), &mut received, places, (limit, directory.path()), &store)??;
            Ok::<_, Error>(values(&received))
        };
        assert_eq!(put(&places, 1 << 30).unwrap(), all);
        assert!(put(&places, large.len() as u64 - 1).is_err());
        assert!(put(&[(0, 1, 3)], 1 << 30).is_err());
        assert!(put(&[(1, 0, large.len() as u64)], 1 << 30).is_err());
        assert!(put(&[(0, 1, 1 << 29)], 1 << 30).is_err());
    }
}
