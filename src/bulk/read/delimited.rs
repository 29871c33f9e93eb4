//! `csv` and `tsv`: a line a row, whose fields are what the names of columns say (HBase: ImportTsv).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::change::{Change, Changes, Fault, Terms};
use crate::bulk::delimited::{Dialect, KEY};
use crate::model::{FileChange, PutCell, Qualifier, RowKey, Time, column_name};
use crate::{Error, ErrorKind, Result};

/// What a field is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Field {
    Key,
    /// Of all cells of the line, milliseconds since 1970.
    Timestamp,
    /// Of all cells of the line, milliseconds.
    Ttl,
    Cell(String, Qualifier),
}

/// The fields of a line, in their order (HBase: `importtsv.columns`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    fields: Vec<Field>,
    key: usize,
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

impl Columns {
    /// From names: `HBASE_ROW_KEY` once, `HBASE_TS_KEY` and `HBASE_CELL_TTL` at most once, `FAMILY:QUALIFIER` once each,
    /// `FAMILY` for its empty qualifier.
    pub fn parse(names: &[Vec<u8>]) -> Result<Self> {
        let fields = names.iter().map(|name| field(name)).collect::<Result<Vec<_>>>()?;
        let count = |wanted: &Field| fields.iter().filter(|field| *field == wanted).count();
        if count(&Field::Key) != 1 {
            let text =
                "one of the columns, and only one, is HBASE_ROW_KEY: name them with --columns, or in the first line";
            return Err(wrong(text.to_owned()));
        }
        if count(&Field::Timestamp) > 1 || count(&Field::Ttl) > 1 {
            return Err(wrong("HBASE_TS_KEY and HBASE_CELL_TTL each stand once at most among the columns".to_owned()));
        }
        if !fields.iter().any(|field| matches!(field, Field::Cell(..))) {
            return Err(wrong("besides the row key there is no column: name one as FAMILY:QUALIFIER".to_owned()));
        }
        let mut seen = BTreeSet::new();
        for field in &fields {
            if let Field::Cell(family, qualifier) = field
                && !seen.insert((family, qualifier))
            {
                let name = column_name(family, qualifier);
                return Err(wrong(format!("column {name} is named twice: each has one field of a line")));
            }
        }
        let key = fields.iter().position(|field| *field == Field::Key).unwrap_or_default();
        Ok(Self { fields, key })
    }

    /// The families of the columns.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.fields
            .iter()
            .filter_map(|field| if let Field::Cell(family, _) = field { Some(family.as_str()) } else { None })
    }

    /// Fields.
    pub fn count(&self) -> usize {
        self.fields.len()
    }

    /// Whether a field is the timestamp.
    pub fn is_time(&self, at: usize) -> bool {
        self.fields.get(at) == Some(&Field::Timestamp)
    }

    /// The column that a field is.
    pub fn cell(&self, at: usize) -> Option<(String, Qualifier)> {
        if let Field::Cell(family, qualifier) = self.fields.get(at)? {
            return Some((family.clone(), qualifier.clone()));
        }
        None
    }

    /// As lines of `jsonl` have them.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.fields.iter().map(|field| match field {
            Field::Key => "row".to_owned(),
            Field::Timestamp => "timestamp".to_owned(),
            Field::Ttl => "ttl".to_owned(),
            Field::Cell(family, qualifier) => column_name(family, qualifier),
        })
    }

    /// What a row of these fields says; `None`: there is no such cell.
    pub fn changes<'v>(
        &self,
        value: &dyn Fn(usize) -> Option<&'v [u8]>,
        terms: &Terms,
    ) -> std::result::Result<Changes, Fault> {
        let (mut row, mut time, mut ttl_ms) = (RowKey::new(), Time::At(terms.time), None);
        let mut file = terms.file();
        for (at, field) in self.fields.iter().enumerate() {
            let number = at as u64 + 1;
            let text = || String::from_utf8_lossy(value(at).unwrap_or_default()).trim().to_owned();
            match field {
                Field::Key => row = Terms::row(value(at).unwrap_or_default().to_vec(), number)?,
                Field::Timestamp => {
                    time = Time::At(Terms::timestamp(&text(), number)?);
                    file = FileChange::default();
                }
                Field::Ttl if text().is_empty() => {}
                Field::Ttl => ttl_ms = Some(Terms::ttl(&text(), number)?),
                Field::Cell(..) => {}
            }
        }
        let mut changes = Vec::with_capacity(self.fields.len());
        for (at, field) in self.fields.iter().enumerate() {
            let (Field::Cell(family, qualifier), Some(value)) = (field, value(at)) else { continue };
            terms.check_len(value.len(), at as u64 + 1)?;
            changes.push(Change::Put(PutCell {
                ttl_ms,
                file: file.into(),
                ..PutCell::new(family, qualifier.as_slice(), time, value)
            }));
        }
        Ok(Changes { row, changes })
    }
}

fn field(name: &[u8]) -> Result<Field> {
    let shown = || super::change::shown(&String::from_utf8_lossy(name));
    if name == KEY {
        return Ok(Field::Key);
    }
    match name {
        b"HBASE_TS_KEY" => return Ok(Field::Timestamp),
        b"HBASE_CELL_TTL" => return Ok(Field::Ttl),
        b"HBASE_ATTRIBUTES_KEY" | b"HBASE_CELL_VISIBILITY" => {
            return Err(wrong(format!("{} is not kept by this store: leave the column out", shown())));
        }
        _ => {}
    }
    let (family, qualifier) = match name.iter().position(|byte| *byte == b':') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (name, &[][..]),
    };
    let family = std::str::from_utf8(family).ok().filter(|family| !family.is_empty());
    let family = family.ok_or_else(|| wrong(format!("`{}`: a column is FAMILY:QUALIFIER", shown())))?;
    Ok(Field::Cell(family.to_owned(), qualifier.to_vec()))
}

/// Which empty fields are cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Empty {
    /// None: the row has no such column, as an export writes it (HBase: `importtsv.skip.empty.columns`).
    #[default]
    Absent,
    /// All: they have an empty value, as without that setting of HBase's.
    Value,
}

/// Which line may name the columns: the file's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// It is the next one.
    Awaited,
    /// It has this number. While no line feed has come it is read more than once.
    At(u64),
    /// It was read by another run.
    Passed,
}

/// Reads lines.
pub struct Lines {
    dialect: Dialect,
    empty: Empty,
    head: Head,
    columns: Option<Columns>,
    reader: Reader,
    /// The fields of the line: their bytes, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Lines {
    /// `columns`: `None`, the first line says them.
    pub fn new(dialect: Dialect, empty: Empty, columns: Option<Columns>) -> Self {
        // A line feed alone ends a line, as where lines are told apart.
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { dialect, empty, head: Head::Awaited, columns, reader, bytes: Vec::new(), ends: Vec::new() }
    }

    /// The lines before the next one were read by another run.
    pub fn pass_head(&mut self) {
        self.head = Head::Passed;
    }

    pub fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// Whether a line of white space alone has fields.
    pub fn takes_space(&self) -> bool {
        self.dialect == Dialect::Tsv
    }

    /// What a line of this number says; `None`: it names the columns.
    pub fn read(&mut self, (number, line): (u64, &[u8]), terms: &Terms) -> std::result::Result<Option<Changes>, Fault> {
        self.cut(line);
        if self.head == Head::Awaited {
            self.head = Head::At(number);
        }
        let names = (0..self.ends.len()).map(|at| self.field(at));
        if self.columns.is_none() {
            let names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
            self.columns = Some(Columns::parse(&names).map_err(|e| Fault::whole(e.message))?);
            return Ok(None);
        }
        let Some(columns) = &self.columns else { return Ok(None) };
        // The line of names of an export; further down a row may have that key.
        if self.head == Head::At(number) && self.field(columns.key) == KEY {
            return Ok(None);
        }
        self.changes(columns, terms).map(Some)
    }

    fn changes(&self, columns: &Columns, terms: &Terms) -> std::result::Result<Changes, Fault> {
        let (fields, most) = (self.ends.len(), columns.fields.len());
        if fields > most {
            return Err(Fault::new(most as u64 + 1, format!("there are {fields} fields, and names of {most} columns")));
        }
        if fields == 1 && most > 1 {
            return Err(Fault::new(1, "there is no separator in the line"));
        }
        let missing = columns.fields.iter().enumerate().skip(fields).find_map(|(at, field)| {
            let what = match field {
                Field::Key => "the row key",
                Field::Timestamp => "the timestamp",
                Field::Ttl => "the TTL",
                Field::Cell(..) => return None,
            };
            Some(Fault::new(at as u64 + 1, format!("the line ends before {what}")))
        });
        if let Some(missing) = missing {
            return Err(missing);
        }
        let value = |at: usize| {
            let is_there = at < fields && (self.empty == Empty::Value || !self.field(at).is_empty());
            is_there.then(|| self.field(at))
        };
        columns.changes(&value, terms)
    }

    /// A field's bytes; of one that is not there none.
    fn field(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(at).map_or(&[], |end| &self.bytes[start..*end])
    }

    fn cut(&mut self, line: &[u8]) {
        self.ends.clear();
        match self.dialect {
            Dialect::Csv => self.cut_csv(line),
            Dialect::Tsv => {
                self.bytes.clear();
                for field in line.split(|byte| *byte == b'\t') {
                    unescape(field, &mut self.bytes);
                    self.ends.push(self.bytes.len());
                }
            }
        }
    }

    fn cut_csv(&mut self, line: &[u8]) {
        self.reader.reset();
        // It takes three bytes at the beginning of what it reads for a mark of UTF-8, and each line begins anew: an empty
        // line, which is none, comes before it.
        self.reader.read_record(b"\n", &mut [0], &mut [0]);
        // Quotes go, nothing is added.
        self.bytes.resize(line.len().max(1), 0);
        self.ends.resize(line.iter().filter(|byte| **byte == b',').count() + 2, 0);
        let (mut input, mut wrote, mut ended) = (line, 0, 0);
        loop {
            let (result, read, bytes, ends) =
                self.reader.read_record(input, &mut self.bytes[wrote..], &mut self.ends[ended..]);
            (input, wrote, ended) = (&input[read..], wrote + bytes, ended + ends);
            match result {
                // The end of the line is said by nothing more.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        self.ends.truncate(ended);
    }
}

/// Undoes what an export writes with a backslash; any other stands for itself.
fn unescape(field: &[u8], out: &mut Vec<u8>) {
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let byte = match rest.get(at + 1) {
            Some(b't') => Some(b'\t'),
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b'\\') => Some(b'\\'),
            _ => None,
        };
        out.push(byte.unwrap_or(b'\\'));
        rest = &rest[at + if byte.is_some() { 2 } else { 1 }..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests;
