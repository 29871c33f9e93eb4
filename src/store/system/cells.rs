//! What hbase:meta and hbase:namespace say, made of the catalogue (HBase: MetaTableAccessor, TableNamespaceManager).

use std::collections::BTreeMap;

use prost::Message;

use crate::model::declared::region::{SERVER, SERVER_NAME, regions};
use crate::model::{
    Catalogue, FamilyId, FamilySchema, NamespaceSchema, TableId, TableName, TableSchema, TableState, Timestamp,
};
use crate::store::catalogue::events::{META, NAMESPACE};

/// Families and tables of a store never come to these numbers.
const INFO: FamilyId = FamilyId(u32::MAX);
const TABLE: FamilyId = FamilyId(u32::MAX - 1);
const NAMES: FamilyId = FamilyId(u32::MAX - 2);

/// Whether cells of a family are made here.
pub(super) fn is_of_system(family: FamilyId) -> bool {
    [INFO, TABLE, NAMES].contains(&family)
}

/// A cell of one of the tables: the newest and only version of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SystemCell<'c> {
    pub family: FamilyId,
    pub row: &'c [u8],
    pub qualifier: &'static str,
    /// When the table that it tells of was made; zero where that is not known.
    pub timestamp: Timestamp,
    pub value: Vec<u8>,
}

/// HBase.proto: TableState; 0 enabled, 1 disabled.
#[derive(Clone, PartialEq, Message)]
struct State {
    #[prost(int32, optional, tag = "1")]
    state: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// HBase.proto: NamespaceDescriptor.
#[derive(Clone, PartialEq, Message)]
struct Descriptor {
    #[prost(bytes = "vec", optional, tag = "1")]
    name: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "2")]
    configuration: Vec<Pair>,
}

/// The two tables, with the attributes that HBase 2.6 gives them; they take no changes.
pub(super) fn tables() -> [TableSchema; 2] {
    let family = |name: &str, id, attributes: &[(&str, &str)]| {
        let attributes = attributes.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let mut family = FamilySchema::new(name, attributes);
        family.id = id;
        family
    };
    let in_memory = [("BLOCKSIZE", "8192"), ("IN_MEMORY", "true")];
    let of_meta = [in_memory[0], in_memory[1], ("BLOOMFILTER", "ROWCOL"), ("DATA_BLOCK_ENCODING", "ROW_INDEX_V1")];
    let of_meta = [&of_meta[..], &[("VERSIONS", "3")]].concat();
    let of_namespace = [&in_memory[..], &[("VERSIONS", "10")]].concat();
    let table = |name: &str, id, families: Vec<FamilySchema>| {
        let name = TableName { namespace: TableName::SYSTEM_NAMESPACE.into(), name: name.into() };
        let attributes = BTreeMap::from([("READONLY".to_owned(), "true".to_owned())]);
        TableSchema { id: TableId(id), attributes, ..TableSchema::new(name, families) }
    };
    [
        table(META, u32::MAX, vec![family("info", INFO, &of_meta), family("table", TABLE, &of_meta)]),
        table(NAMESPACE, u32::MAX - 1, vec![family("info", NAMES, &of_namespace)]),
    ]
}

/// Tells all cells of the two tables. `catalogue`: with them in it.
pub(super) fn each(catalogue: &Catalogue, take: &mut dyn FnMut(SystemCell<'_>)) {
    // As in HBase, hbase:meta does not tell of itself.
    for table in catalogue.tables.values().filter(|table| !table.name.is_meta()) {
        let (name, timestamp) = (table.name.to_string(), table.made_at());
        let state = State { state: Some(i32::from(table.state == TableState::Disabled)) };
        let value = state.encode_to_vec();
        take(SystemCell { family: TABLE, row: name.as_bytes(), qualifier: "state", timestamp, value });
        for region in regions(table) {
            let state = if table.state == TableState::Enabled { "OPEN" } else { "CLOSED" };
            let mut cell = |qualifier, value| {
                take(SystemCell { family: INFO, row: &region.row, qualifier, timestamp, value });
            };
            cell("regioninfo", region.info(&table.name));
            cell("server", SERVER.into());
            cell("sn", SERVER_NAME.into());
            cell("state", state.into());
        }
    }
    for namespace in catalogue.namespaces.values() {
        let (row, value) = (namespace.name.as_bytes(), descriptor(namespace));
        take(SystemCell { family: NAMES, row, qualifier: "d", timestamp: Timestamp::ZERO, value });
    }
}

fn descriptor(of: &NamespaceSchema) -> Vec<u8> {
    let pair = |(name, value): (&String, &String)| Pair { name: Some(name.clone()), value: Some(value.clone()) };
    let configuration = of.properties.iter().map(pair).collect();
    Descriptor { name: Some(of.name.as_bytes().to_vec()), configuration }.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What HBase 2.6.4 has stored of the same.
    #[test]
    fn system_cells_have_the_bytes_that_hbase_stores() {
        let mut family = FamilySchema::new("f", BTreeMap::new());
        family.made_at = Timestamp(1_795_456_703_530);
        let mut table = TableSchema::new(TableName::parse("rec").unwrap(), [family]);
        let mut catalogue = Catalogue::default();
        let properties = [("hbase.namespace.quota.maxtables".to_owned(), "5".to_owned())].into();
        catalogue.namespaces.insert("n1".into(), NamespaceSchema { name: "n1".into(), properties });
        let all = |catalogue: &Catalogue| {
            let mut found = Vec::new();
            each(catalogue, &mut |cell| {
                found.push((String::from_utf8_lossy(cell.row).into_owned(), cell.qualifier, cell.value));
            });
            found
        };
        let region = "rec,,1795456703530.760315ebb9b7a60e98a9868f7ce8ca8f.".to_owned();
        let info = "5042554608aab8bccca034120e0a0764656661756c7412037265631a002200280030003800";
        let namespace = b"\x0a\x02n1\x12$\x0a\x1fhbase.namespace.quota.maxtables\x12\x015".to_vec();
        for (state, number, open) in [(TableState::Enabled, 0, "OPEN"), (TableState::Disabled, 1, "CLOSED")] {
            table.state = state;
            catalogue.tables.insert(table.name.clone(), table.clone());
            let expected = vec![
                ("rec".to_owned(), "state", vec![8, number]),
                (region.clone(), "regioninfo", hex::decode(info).unwrap()),
                (region.clone(), "server", SERVER.into()),
                (region.clone(), "sn", SERVER_NAME.into()),
                (region.clone(), "state", open.into()),
                ("n1".to_owned(), "d", namespace.clone()),
            ];
            assert_eq!(all(&catalogue), expected);
        }
    }
}
