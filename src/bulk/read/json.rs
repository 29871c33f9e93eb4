//! `jsonl` and `json`: what an export writes, and what `scan --json` prints.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::change::{Change, Changes, Fault, Terms, shown};
use crate::model::{
    DeleteKind, DeleteMarker, FileAttributes, FileChange, FileTime, MODE_BITS, PutCell, Qualifier, Time, Timestamp,
    Tombstone, Value, split_column_name,
};

type Read<T> = Result<T, Fault>;

const OBJECT: &str = "{\"row\": ..., \"FAMILY:QUALIFIER\": ...}";

/// The members of an object in their order, each as it is written.
struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object: {OBJECT}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(4));
                while let Some(Text(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

/// A text, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// What a line says of all of its cells.
#[derive(Default)]
struct Common {
    row: Option<Vec<u8>>,
    family: Option<String>,
    qualifier: Qualifier,
    timestamp: Option<Timestamp>,
    tombstone: Option<Tombstone>,
    /// What the tombstone hides is not kept.
    erases: bool,
    ttl_ms: Option<u64>,
    ended_at: Option<Timestamp>,
    file: FileChange,
}

/// A cell of the line: its column, its value (null: none), where that stands.
type Named = ((String, Qualifier), Option<Vec<u8>>, u64);

/// Reads one object.
pub fn read(text: &[u8], terms: &Terms) -> Read<Changes> {
    let text = std::str::from_utf8(text).map_err(|e| {
        Fault::new(e.valid_up_to() as u64 + 1, "the line is not UTF-8; bytes go as {\"base64\": \"...\"}")
    })?;
    let members: Members<'_> = serde_json::from_str(text).map_err(|e| {
        if !text.trim_start().starts_with('{') {
            return Fault::new(e.column() as u64, format!("no object: a line is {OBJECT}"));
        }
        let reason = e.to_string();
        // Where it is, is told beside it.
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        Fault::new(e.column() as u64, reason)
    })?;
    let (mut common, mut cells, mut own) = (Common::default(), Vec::new(), None);
    for (name, value) in members.0 {
        // Within the text: it is borrowed from there.
        let column = (value.get().as_ptr() as usize - text.as_ptr() as usize) as u64 + 1;
        match name.as_ref() {
            "value" => own = Some((bytes(value, column)?, column)),
            name if name.contains(':') => {
                let of = split_column_name(name).map_err(|e| Fault::new(column, e))?;
                cells.push((of, bytes(value, column)?, column));
            }
            name => common.take(name, value, column)?,
        }
    }
    if let Some(family) = common.family.take() {
        let (value, column) = own.unwrap_or((None, 1));
        cells.push(((family, std::mem::take(&mut common.qualifier)), value, column));
    } else if own.is_some() {
        return Err(Fault::whole("it has a value and no family"));
    }
    if cells.is_empty() {
        return Err(Fault::whole("it has no column: \"FAMILY:QUALIFIER\": \"value\""));
    }
    let row = common.row.take().ok_or_else(|| Fault::whole("it has no \"row\""))?;
    let row = Terms::row(row, 1)?;
    let changes = cells.into_iter().map(|cell| common.change(cell, terms)).collect::<Read<_>>()?;
    Ok(Changes { row, changes })
}

impl Common {
    fn take(&mut self, name: &str, value: &RawValue, column: u64) -> Read<()> {
        match name {
            "row" => self.row = Some(some(bytes(value, column)?, column)?),
            "family" => self.family = Some(text(value, column)?),
            "qualifier" => self.qualifier = some(bytes(value, column)?, column)?,
            "timestamp" => self.timestamp = Some(Terms::timestamp(value.get(), column)?),
            "deleted" => self.ended_at = Some(Terms::timestamp(value.get(), column)?),
            "ttl" => self.ttl_ms = Some(Terms::ttl(value.get(), column)?),
            "type" => self.tombstone = Some(tombstone(&text(value, column)?, column)?),
            "erases" => self.erases = value.get() == "true",
            "mtime" => self.file.mtime = Some(file_time(&text(value, column)?, column)?),
            "mode" => {
                let text = text(value, column)?;
                let mode = u16::from_str_radix(&text, 8).ok().filter(|mode| mode & !MODE_BITS == 0);
                let wanted = || Fault::new(column, format!("`{}` is no mode in octal", shown(&text)));
                self.file.mode = Some(mode.ok_or_else(wanted)?);
            }
            "uid" => self.file.uid = Some(number(value, column)?),
            "gid" => self.file.gid = Some(number(value, column)?),
            other => {
                let text =
                    format!("`{}` is no member of a line, and no column, which is FAMILY:QUALIFIER", shown(other));
                return Err(Fault::new(column, text));
            }
        }
        Ok(())
    }

    fn change(&self, ((family, qualifier), value, column): Named, terms: &Terms) -> Read<Change> {
        let time = Time::At(self.timestamp.unwrap_or(terms.time));
        let Some(value) = value else {
            let kind = match self.tombstone.unwrap_or(Tombstone::Column) {
                Tombstone::Version if self.timestamp.is_none() => {
                    return Err(Fault::whole("a tombstone of type Delete has a timestamp: that of its version"));
                }
                Tombstone::Version => DeleteKind::Version { family, qualifier },
                Tombstone::Column => DeleteKind::Column { family, qualifier },
                Tombstone::Family => DeleteKind::Family { family },
                Tombstone::FamilyVersion => DeleteKind::FamilyVersion { family },
            };
            let marker = DeleteMarker { kind, time, erases: self.erases };
            return Ok(if self.timestamp.is_some() { Change::Delete(marker) } else { Change::DeleteNow(marker) });
        };
        if self.tombstone.is_some() {
            return Err(Fault::new(column, "a tombstone has no value"));
        }
        terms.check_len(value.len(), column)?;
        let file = if self.timestamp.is_none() { terms.file().and(self.file) } else { self.file };
        let (ttl_ms, ended_at, file) = (self.ttl_ms, self.ended_at, FileAttributes::from(file));
        Ok(Change::Put(PutCell { family, qualifier, time, value: Value::Bytes(value), ttl_ms, file, ended_at }))
    }
}

/// A value: text, `{"base64": ...}`, a number, true or false as they are written; `None` for null.
fn bytes(value: &RawValue, column: u64) -> Read<Option<Vec<u8>>> {
    let raw = value.get();
    let wrong = || {
        Fault::new(column, "a value is a text, a number, true, false, {\"base64\": \"...\"}, or null for a tombstone")
    };
    match raw.as_bytes().first() {
        Some(b'"') => text(value, column).map(|text| Some(text.into_bytes())),
        Some(b'n') => Ok(None),
        Some(b'{') => {
            let members: Members<'_> = serde_json::from_str(raw).map_err(|_| wrong())?;
            let [(name, encoded)] = members.0.as_slice() else { return Err(wrong()) };
            if name != "base64" {
                return Err(wrong());
            }
            let decoded = STANDARD.decode(text(encoded, column)?);
            decoded.map(Some).map_err(|e| Fault::new(column, format!("base64: {e}")))
        }
        Some(b'[') | None => Err(wrong()),
        Some(_) => Ok(Some(raw.as_bytes().to_vec())),
    }
}

fn some(bytes: Option<Vec<u8>>, column: u64) -> Read<Vec<u8>> {
    bytes.ok_or_else(|| Fault::new(column, "it is null; a text belongs there"))
}

fn text(value: &RawValue, column: u64) -> Read<String> {
    serde_json::from_str(value.get()).map_err(|_| Fault::new(column, format!("`{}` is no text", shown(value.get()))))
}

fn number<T: std::str::FromStr>(value: &RawValue, column: u64) -> Read<T> {
    value.get().parse().map_err(|_| Fault::new(column, format!("`{}` is no such number", shown(value.get()))))
}

/// Seconds since 1970, a point, nine digits of nanoseconds.
fn file_time(text: &str, column: u64) -> Read<FileTime> {
    let time = text
        .split_once('.')
        .filter(|(_, nanos)| nanos.len() == 9)
        .and_then(|(seconds, nanos)| Some(FileTime { seconds: seconds.parse().ok()?, nanos: nanos.parse().ok()? }));
    time.ok_or_else(|| Fault::new(column, format!("`{}` is no mtime: SECONDS.NANOSECONDS", shown(text))))
}

fn tombstone(name: &str, column: u64) -> Read<Tombstone> {
    let all = [Tombstone::Version, Tombstone::Column, Tombstone::Family, Tombstone::FamilyVersion];
    let found = all.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Fault::new(column, format!("`{}` is no type of a tombstone", shown(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { time: Timestamp(77), mtime: None, value_limit: 1000 };

    fn one(line: &str) -> (Vec<u8>, Change) {
        let Changes { row, mut changes } = read(line.as_bytes(), &TERMS).unwrap();
        assert_eq!(changes.len(), 1, "{line}");
        (row, changes.remove(0))
    }

    #[test]
    fn both_forms_of_a_cell_say_the_same() {
        for line in [
            r#"{"row":"r","f:q":{"base64":"/wA="},"timestamp":5,"ttl":60}"#,
            r#"{"row":"r","family":"f","qualifier":"q","timestamp":5,"ttl":60,"value":{"base64":"/wA="}}"#,
        ] {
            let (row, Change::Put(put)) = one(line) else { panic!("{line}") };
            assert_eq!((row, put.family.as_str(), put.qualifier), (b"r".to_vec(), "f", b"q".to_vec()));
            assert_eq!((put.time, put.ttl_ms), (Time::At(Timestamp(5)), Some(60)));
            assert!(matches!(put.value, Value::Bytes(bytes) if bytes == [0xFF, 0]));
        }
        for line in [
            r#"{"row":"r","f:q":null,"timestamp":5,"type":"DeleteColumn"}"#,
            r#"{"row":"r","family":"f","qualifier":"q","timestamp":5,"type":"DeleteColumn"}"#,
        ] {
            let (_, Change::Delete(marker)) = one(line) else { panic!("{line}") };
            assert_eq!(marker.kind, DeleteKind::Column { family: "f".into(), qualifier: b"q".to_vec() });
        }
    }

    #[test]
    fn a_line_may_have_a_row_of_cells_and_values_as_they_are_written() {
        let line = r#"{"row":"r","f:a":1.50,"f:b:c":true,"g:base64,/w==":"\u00e9","f:":""}"#;
        let Changes { changes, .. } = read(line.as_bytes(), &TERMS).unwrap();
        let cells: Vec<(String, Vec<u8>, Vec<u8>)> = changes
            .into_iter()
            .map(|change| match change {
                Change::Put(PutCell { family, qualifier, value: Value::Bytes(value), time, .. }) => {
                    assert_eq!(time, Time::At(TERMS.time));
                    (family, qualifier, value)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let wanted: [(&str, &[u8], &[u8]); 4] =
            [("f", b"a", b"1.50"), ("f", b"b:c", b"true"), ("g", b"\xFF", "\u{e9}".as_bytes()), ("f", b"", b"")];
        assert_eq!(cells, wanted.map(|(f, q, v)| (f.to_owned(), q.to_vec(), v.to_vec())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        for (line, column, reason) in [
            (&b"{\"row\":\"r\",\"f:q\":\"v\""[..], Some(20), "EOF"),
            (b"[1]", Some(0), "no object"),
            (b"{\"row\":\"\",\"f:q\":\"v\"}", Some(1), "Row length 0"),
            (b"{\"f:q\":\"v\"}", None, "no \"row\""),
            (b"{\"row\":\"r\"}", None, "no column"),
            (b"{\"row\":\"r\",\"f:q\":[1]}", Some(18), "a value is"),
            (b"{\"row\":\"r\",\"f:q\":{\"base64\":\"%\"}}", Some(18), "base64"),
            (b"{\"row\":\"r\",\"f:q\":\"v\",\"timestamp\":-1}", Some(34), "no timestamp"),
            (b"{\"row\":\"r\",\"f:q\":\"v\",\"time\":1}", Some(29), "`time`"),
            (b"{\"row\":\"r\",\"f:q\":\"v\",\"ttl\":0}", Some(28), "`0` is no TTL"),
            (b"{\"row\":\"r\",\"f:q\":\"v\",\"type\":\"Delete\"}", Some(18), "no value"),
            (b"{\"row\":\"r\",\"f:q\":null,\"type\":\"Delete\"}", None, "has a timestamp"),
            (b"{\"row\":\"\xFF\"}", Some(9), "UTF-8"),
        ] {
            let fault = read(line, &TERMS).unwrap_err();
            assert!(fault.reason.contains(reason), "{}: {fault:?}", line.escape_ascii());
            assert_eq!(fault.column, column, "{}: {fault:?}", line.escape_ascii());
        }
    }
}
