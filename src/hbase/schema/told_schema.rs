//! A table's descriptor in the words of a region server: `'t', {TABLE_ATTRIBUTES => {..}}, {NAME => 'f', VERSIONS => '1',
//! METADATA => {'a' => 'b'}, ..}, ..` (TableDescriptorBuilder.toString). Pure.

use super::schemas::own_table;
use crate::hbase::client::proto::schema;
use crate::hbase::client::proto::schema::{BytesBytesPair, ColumnFamilySchema, NameStringPair};
use crate::hbase::convert::table_name;
use crate::model::{TableName, TableSchema};
use crate::{Error, ErrorKind, Result};

/// Maps within maps that are read.
const DEEPEST: usize = 3;
const OF_TABLE: &str = "TABLE_ATTRIBUTES";
const METADATA: &str = "METADATA";
const CONFIGURATION: &str = "CONFIGURATION";

type Map = Vec<(String, Told)>;

enum Told {
    Text(String),
    Map(Map),
}

/// The table of that name.
pub(in crate::hbase) fn read(name: &TableName, text: &str) -> Result<TableSchema> {
    let foreign = || Error::new(ErrorKind::Io, "a server's words on it cannot be read");
    let mut proto = schema::TableSchema { table_name: Some(table_name(name)), ..schema::TableSchema::default() };
    // Behind the table's own name.
    let mut rest = text.split_once("', {").map(|(_, rest)| &text[text.len() - rest.len() - 1..]).ok_or_else(foreign)?;
    loop {
        let (map, behind) = read_map(rest, DEEPEST).ok_or_else(foreign)?;
        add(&mut proto, map).ok_or_else(foreign)?;
        match behind.strip_prefix(", ") {
            Some(more) => rest = more,
            None => break,
        }
    }
    own_table(&proto).ok_or_else(foreign)
}

/// Puts what stands between two braces into the descriptor.
fn add(proto: &mut schema::TableSchema, mut map: Map) -> Option<()> {
    let (key, first) = (!map.is_empty()).then(|| map.remove(0))?;
    match first {
        Told::Map(of) if key == OF_TABLE => (proto.attributes, proto.configuration) = parts(of),
        Told::Text(name) if key == "NAME" => {
            let (attributes, configuration) = parts(map);
            proto.column_families.push(ColumnFamilySchema { name: name.into_bytes(), attributes, configuration });
        }
        _ => return None,
    }
    Some(())
}

/// Attributes and free keys together, as the protocol has them; and the configuration.
fn parts(map: Map) -> (Vec<BytesBytesPair>, Vec<NameStringPair>) {
    let (mut attributes, mut configuration) = (Vec::new(), Vec::new());
    for (key, told) in map {
        match told {
            Told::Text(text) => attributes.push(pair(key, plain(&text))),
            Told::Map(of) if key == CONFIGURATION => configuration.extend(texts(of)),
            Told::Map(of) if key == METADATA => {
                attributes.extend(texts(of).map(|of| pair(of.name, &of.value)));
            }
            Told::Map(_) => {}
        }
    }
    (attributes, configuration)
}

fn texts(map: Map) -> impl Iterator<Item = NameStringPair> {
    map.into_iter().filter_map(|(name, told)| match told {
        Told::Text(value) => Some(NameStringPair { name, value }),
        Told::Map(_) => None,
    })
}

fn pair(name: String, value: &str) -> BytesBytesPair {
    BytesBytesPair { first: name.into_bytes(), second: value.as_bytes().to_vec() }
}

/// Without what is written for readers: `65536 B (64KB)`.
fn plain(text: &str) -> &str {
    text.split_once(" B (").map_or(text, |(bytes, _)| bytes)
}

/// `{KEY => 'text', 'key' => {..}}`, and what follows.
fn read_map(text: &str, deepest: usize) -> Option<(Map, &str)> {
    let mut rest = text.strip_prefix('{')?;
    let mut map = Map::new();
    loop {
        let (key, value) = rest.split_once(" => ")?;
        let told;
        (told, rest) = match value.strip_prefix('\'') {
            Some(quoted) => {
                let end = end_of(quoted)?;
                (Told::Text(quoted[..end].to_owned()), &quoted[end + 1..])
            }
            None => {
                let (of, behind) = read_map(value, deepest.checked_sub(1)?)?;
                (Told::Map(of), behind)
            }
        };
        map.push((key.trim_matches('\'').to_owned(), told));
        match rest.strip_prefix(", ") {
            Some(more) => rest = more,
            None => return Some((map, rest.strip_prefix('}')?)),
        }
    }
}

/// Where a text ends: nothing is escaped in it, so at the first quote behind which a text may end.
fn end_of(quoted: &str) -> Option<usize> {
    let ends = |at: usize| quoted[at + 1..].starts_with(", ") || quoted[at + 1..].starts_with('}');
    quoted.match_indices('\'').map(|(at, _)| at).find(|at| ends(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a server of 2.6.4 said it, shortened.
    const TOLD: &str = "'n:t', {TABLE_ATTRIBUTES => {READONLY => 'true', METADATA => {'hbase.store.file-tracker.impl' => \
                        'DEFAULT'}}}, {NAME => 'f', VERSIONS => '3', TTL => '60 SECONDS (1 MINUTE)', BLOCKSIZE => \
                        '4096 B (4KB)', METADATA => {'a' => 'it's', 'NEW_VERSION_BEHAVIOR' => 'true'}, CONFIGURATION => \
                        {'c' => 'd'}}, {NAME => 'g', TTL => 'FOREVER'}";

    #[test]
    fn a_descriptor_is_read_from_what_a_server_says() {
        let table = read(&TableName::parse("n:t").unwrap(), TOLD).unwrap();
        assert!(table.read_only());
        assert_eq!(table.metadata["hbase.store.file-tracker.impl"], "DEFAULT");
        assert_eq!(table.families.keys().collect::<Vec<_>>(), ["f", "g"]);
        let family = &table.families["f"];
        assert_eq!((family.rules.ttl_ms, family.rules.new_version_behavior), (Some(60_000), true));
        assert_eq!((&*family.attributes["VERSIONS"], &*family.attributes["BLOCKSIZE"]), ("3", "4096"));
        assert_eq!((&*family.metadata["a"], &*family.configuration["c"]), ("it's", "d"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let name = TableName::parse("t").unwrap();
        for text in
            ["", "'t'", "'t', {", "'t', {NAME => 'f'", "'t', {A => {B => {C => {D => {E => 'f'}}}}}", "'t', {X => 'f'}"]
        {
            assert!(read(&name, text).is_err(), "{text}");
        }
    }
}
