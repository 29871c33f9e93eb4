//! Regions: a store has none, but remembers where a table was said to be split, and names the parts as HBase does.

use md5::{Digest, Md5};
use prost::Message;

use super::describe::SPLITS;
use crate::model::{TableName, TableSchema, Timestamp, to_string_binary};

/// As which server a store passes: `HOST:PORT`.
pub const SERVER: &str = "cellfs:0";
/// The same with the time of its start (HBase: ServerName).
pub const SERVER_NAME: &str = "cellfs,0,0";
/// The encoded name of the region of hbase:meta (HBase: RegionInfoBuilder.FIRST_META_REGIONINFO).
const FIRST_META: &str = "1588230740";
/// What HBase writes before a message that is no plain value.
const MAGIC: &[u8] = b"PBUF";

/// A region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its row in hbase:meta: `TABLE,START,ID.ENCODED.`
    pub row: Vec<u8>,
    /// The same as it is printed.
    pub name: String,
    /// MD5 of what stands before it in the name, hexadecimal.
    pub encoded: String,
    /// When the table was made, ms since 1970.
    pub id: Timestamp,
    /// The first key; empty: from the first row on.
    pub start: Vec<u8>,
    /// The key before which it ends; empty: with the last row.
    pub end: Vec<u8>,
}

/// HBase.proto: TableName.
#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(bytes = "vec", tag = "1")]
    namespace: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    qualifier: Vec<u8>,
}

/// HBase.proto: RegionInfo.
#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(uint64, optional, tag = "1")]
    region_id: Option<u64>,
    #[prost(message, optional, tag = "2")]
    table_name: Option<Name>,
    #[prost(bytes = "vec", optional, tag = "3")]
    start_key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    end_key: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    replica_id: Option<i32>,
}

impl Region {
    fn new(table: &TableName, id: Timestamp, start: Vec<u8>, end: Vec<u8>) -> Self {
        let head = [table.to_string().as_bytes(), b",", &start, b",", id.to_string().as_bytes()].concat();
        let encoded = hex::encode(Md5::digest(&head));
        let name = format!("{table},{},{id}.{encoded}.", to_string_binary(&start));
        let row = [head.as_slice(), b".", encoded.as_bytes(), b"."].concat();
        Self { row, name, encoded, id, start, end }
    }

    /// What hbase:meta has of it in `info:regioninfo`.
    pub fn info(&self, table: &TableName) -> Vec<u8> {
        let name = Name { namespace: table.namespace.as_bytes().to_vec(), qualifier: table.name.as_bytes().to_vec() };
        let info = Info {
            region_id: Some(self.id.0.unsigned_abs()),
            table_name: Some(name),
            start_key: Some(self.start.clone()),
            end_key: Some(self.end.clone()),
            offline: Some(false),
            split: Some(false),
            replica_id: Some(0),
        };
        [MAGIC, &info.encode_to_vec()].concat()
    }

    /// The region of an `info:regioninfo`; `None`: it is none.
    pub fn of_info(value: &[u8]) -> Option<Self> {
        let Info { region_id, table_name, start_key, end_key, .. } = Info::decode(value.strip_prefix(MAGIC)?).ok()?;
        let Name { namespace, qualifier } = table_name?;
        let table =
            TableName::new(std::str::from_utf8(&namespace).ok()?, std::str::from_utf8(&qualifier).ok()?).ok()?;
        let id = Timestamp(i64::try_from(region_id?).ok()?);
        Some(Self::new(&table, id, start_key.unwrap_or_default(), end_key.unwrap_or_default()))
    }

    /// `{ENCODED => .., NAME => '..', STARTKEY => '..', ENDKEY => '..'}` (HBase: RegionInfo.toString).
    pub fn shown(&self) -> String {
        let (start, end) = (to_string_binary(&self.start), to_string_binary(&self.end));
        format!("{{ENCODED => {}, NAME => '{}', STARTKEY => '{start}', ENDKEY => '{end}'}}", self.encoded, self.name)
    }
}

/// The split points of a table.
pub fn splits(table: &TableSchema) -> Vec<Vec<u8>> {
    let text = table.configuration.get(SPLITS).map_or("", String::as_str);
    text.split(',').filter(|part| !part.is_empty()).filter_map(|part| hex::decode(part).ok()).collect()
}

/// Remembers split points; none forgets them.
pub fn set_splits(table: &mut TableSchema, mut splits: Vec<Vec<u8>>) {
    splits.sort();
    splits.dedup();
    let text: Vec<String> = splits.iter().filter(|split| !split.is_empty()).map(hex::encode).collect();
    if text.is_empty() {
        table.configuration.remove(SPLITS);
    } else {
        table.configuration.insert(SPLITS.to_owned(), text.join(","));
    }
}

/// The regions that a table of these split points would have.
pub fn regions(table: &TableSchema) -> Vec<Region> {
    let splits = splits(table);
    let starts = std::iter::once(Vec::new()).chain(splits.iter().cloned());
    let ends = splits.iter().cloned().chain(std::iter::once(Vec::new()));
    starts.zip(ends).map(|(start, end)| region(table, start, end)).collect()
}

fn region(table: &TableSchema, start: Vec<u8>, end: Vec<u8>) -> Region {
    if table.name.is_meta() {
        let (name, encoded) = (format!("{},,1.{FIRST_META}", table.name), FIRST_META.to_owned());
        return Region { row: name.clone().into_bytes(), name, encoded, id: Timestamp(1), start, end };
    }
    Region::new(&table.name, table.made_at(), start, end)
}

/// The region that would hold a row.
pub fn region_of(table: &TableSchema, row: &[u8]) -> Option<Region> {
    regions(table).into_iter().rev().find(|region| region.start.as_slice() <= row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FamilySchema, TableName};

    /// As HBase 2.6.4 has named them.
    #[test]
    fn regions_have_the_names_that_hbase_gives() {
        let mut family = FamilySchema::new("f", [].into());
        family.made_at = Timestamp(1_795_466_292_035);
        let mut table = TableSchema::new(TableName::parse("t2").unwrap(), [family]);
        table.configuration.insert(SPLITS.to_owned(), hex::encode("m"));
        let names: Vec<String> = regions(&table).into_iter().map(|region| region.name).collect();
        assert_eq!(
            names,
            [
                "t2,,1795466292035.32b4e257cc737b2e2c1a25aea27dac5b.",
                "t2,m,1795466292035.7da0c8a4cd361ed9298cfe61175fb075."
            ]
        );
        let last = region_of(&table, b"n").unwrap();
        assert_eq!(last.row, names[1].as_bytes());
        assert_eq!(Region::of_info(&last.info(&table.name)), Some(last));
        let meta = TableSchema::new(TableName::parse("hbase:meta").unwrap(), []);
        assert_eq!(regions(&meta)[0].name, "hbase:meta,,1.1588230740");
    }
}
