//! Namespaces, tables and families between the words of the client and those of the contract.

use std::collections::BTreeMap;

use crate::hbase::client::proto::schema;
use crate::hbase::client::proto::schema::{BytesBytesPair, NameStringPair, NamespaceDescriptor};
use crate::hbase::convert::{own_name, table_name};
use crate::model::declared::attributes::{derive_rules, family_attribute, family_defaults, table_attribute};
use crate::model::{
    FamilyId, FamilySchema, NamespaceSchema, NewFamilies, TableId, TableSchema, file_family_attributes,
};
use crate::{Error, ErrorKind, Result};

/// Where a table keeps that families may be declared by `mkdir`.
const NEW_FAMILIES: &str = "CELLFS_NEW_FAMILIES";
const AS_THEY_COME: &str = "AS_THEY_COME";
/// Attributes of this program that HBase does not honour.
const OWN: [&str; 2] = ["PURGE_DELETED_AFTER", "KEEP_VERSIONS_FOR"];

pub(in crate::hbase) fn own_namespace(namespace: NamespaceDescriptor) -> NamespaceSchema {
    let properties = namespace.configuration.into_iter().map(|pair| (pair.name, pair.value)).collect();
    NamespaceSchema { name: String::from_utf8_lossy(&namespace.name).into_owned(), properties }
}

/// A namespace for the cluster.
pub(in crate::hbase) fn namespace(of: &NamespaceSchema) -> NamespaceDescriptor {
    NamespaceDescriptor { name: of.name.as_bytes().to_vec(), configuration: pairs(&of.properties) }
}

fn pairs(map: &BTreeMap<String, String>) -> Vec<NameStringPair> {
    map.iter().map(|(name, value)| NameStringPair { name: name.clone(), value: value.clone() }).collect()
}

fn texts(pair: &BytesBytesPair) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&pair.first), text(&pair.second))
}

/// A number that a name always has: of FNV-1a, 32 bits. It is shown to nobody and tells nothing apart on its own.
fn number(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter().copied().chain([0]));
    bytes.fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The table with numbers that its names always have.
pub(in crate::hbase) fn numbered(mut table: TableSchema) -> TableSchema {
    let name = table.name.to_string();
    table.id = TableId(number(&[name.as_bytes()]));
    for family in table.families.values_mut() {
        family.id = FamilyId(number(&[name.as_bytes(), family.name.as_bytes()]));
    }
    table
}

/// A table as the contract has it; `None`: its name is none of ours.
pub(in crate::hbase) fn own_table(table: &schema::TableSchema) -> Option<TableSchema> {
    let families = table.column_families.iter().map(own_family);
    let mut own = TableSchema::new(own_name(table.table_name.as_ref()?)?, families);
    for (name, value) in table.attributes.iter().map(texts) {
        match (name.as_str(), table_attribute(&name, &value)) {
            ("IS_META", _) => {}
            (NEW_FAMILIES, _) if value == AS_THEY_COME => own.new_families = NewFamilies::AsTheyCome,
            (_, Ok(value)) => drop(own.attributes.insert(name, value)),
            (_, Err(_)) => drop(own.metadata.insert(name, value)),
        }
    }
    own.configuration = table.configuration.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect();
    if own.name.is_system() {
        // The cluster's own: they are shown, and changed by its masters and servers alone.
        own.attributes.insert("READONLY".to_owned(), "true".to_owned());
    }
    Some(numbered(own))
}

fn own_family(family: &schema::ColumnFamilySchema) -> FamilySchema {
    let mut own = FamilySchema::new(String::from_utf8_lossy(&family.name), BTreeMap::new());
    for (name, value) in family.attributes.iter().map(texts) {
        match family_attribute(&name, &value) {
            // A cluster says the defaults too.
            Ok(value) if family_defaults().any(|(known, default)| known == name && default == Some(&*value)) => {}
            Ok(value) => drop(own.attributes.insert(name, value)),
            Err(_) => drop(own.metadata.insert(name, value)),
        }
    }
    own.configuration = family.configuration.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect();
    match derive_rules(&mut own.attributes, &own.metadata, &own.configuration) {
        Ok(rules) => own.rules = rules,
        Err(e) => log::warn!("family {}: {}", own.name, e.message),
    }
    own
}

/// A table for the cluster: what it had and is not known here lies in the maps too, so that nothing is lost.
pub(in crate::hbase) fn table(of: &TableSchema) -> Result<schema::TableSchema> {
    if !of.indexes.is_empty() {
        let text = "HBase has no secondary indexes; keep such tables in an embedded store";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut attributes = of.metadata.clone();
    for (name, value) in &of.attributes {
        attributes.insert(name.clone(), table_attribute(name, value)?);
    }
    if of.new_families == NewFamilies::AsTheyCome {
        attributes.insert(NEW_FAMILIES.to_owned(), AS_THEY_COME.to_owned());
    }
    Ok(schema::TableSchema {
        table_name: Some(table_name(&of.name)),
        attributes: byte_pairs(&attributes),
        column_families: of.families.values().map(family).collect::<Result<_>>()?,
        configuration: pairs(&of.configuration),
    })
}

fn family(of: &FamilySchema) -> Result<schema::ColumnFamilySchema> {
    if !of.constraints.is_empty() {
        let text =
            format!("family {}: HBase judges no values; keep tables with constraints in an embedded store", of.name);
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut attributes = of.attributes.clone();
    let usual = file_family_attributes();
    for name in OWN {
        // Those that `mkdir` gives are left out; who asks for another is told.
        if let Some(value) = attributes.remove(name)
            && usual.get(name) != Some(&value)
        {
            let text = format!("family {}: HBase has no {name}; it is kept in embedded stores alone", of.name);
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
    }
    let in_family = |e: Error| e.context(format!("family {}", of.name));
    derive_rules(&mut attributes, &of.metadata, &of.configuration).map_err(in_family)?;
    if let Some(ttl) = attributes.get_mut("TTL").filter(|ttl| *ttl == "FOREVER") {
        *ttl = i32::MAX.to_string();
    }
    attributes.extend(of.metadata.clone());
    Ok(schema::ColumnFamilySchema {
        name: of.name.as_bytes().to_vec(),
        attributes: byte_pairs(&attributes),
        configuration: pairs(&of.configuration),
    })
}

fn byte_pairs(map: &BTreeMap<String, String>) -> Vec<BytesBytesPair> {
    let pair = |(name, value): (&String, &String)| BytesBytesPair {
        first: name.as_bytes().to_vec(),
        second: value.as_bytes().to_vec(),
    };
    map.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_a_table_goes_back_as_it_came() {
        let attribute = |name: &str, value: &str| BytesBytesPair { first: name.into(), second: value.into() };
        let from = schema::TableSchema {
            table_name: Some(schema::TableName { namespace: b"default".to_vec(), qualifier: b"t".to_vec() }),
            attributes: vec![attribute("READONLY", "true"), attribute("strange", "kept")],
            column_families: vec![schema::ColumnFamilySchema {
                name: b"f".to_vec(),
                attributes: vec![attribute("TTL", "60"), attribute("VERSIONS", "1"), attribute("odd", "too")],
                configuration: vec![NameStringPair { name: "a".into(), value: "b".into() }],
            }],
            configuration: Vec::new(),
        };
        let own = own_table(&from).unwrap();
        assert!(own.read_only() && own.metadata["strange"] == "kept");
        let family = &own.families["f"];
        assert_eq!((family.rules.ttl_ms, family.attributes.len()), (Some(60_000), 1));
        let back = table(&own).unwrap();
        assert_eq!((&back.attributes, &back.configuration), (&from.attributes, &from.configuration));
        let family = &back.column_families[0];
        assert_eq!(family.attributes, [attribute("TTL", "60"), attribute("odd", "too")]);
        assert_eq!(family.configuration, from.column_families[0].configuration);
    }

    #[test]
    fn attributes_that_hbase_lacks_are_refused_unless_mkdir_gave_them() {
        let mut one = FamilySchema::new("f", file_family_attributes());
        let sent = family(&one).unwrap();
        assert!(sent.attributes.iter().all(|pair| !OWN.iter().any(|own| own.as_bytes() == pair.first)));
        one.attributes.insert("PURGE_DELETED_AFTER".into(), "5".into());
        assert_eq!(family(&one).unwrap_err().kind, ErrorKind::Unsupported);
    }
}
