//! What a cluster declares, as a catalogue; remembered for a second, or longer where it takes long to tell.
//!
//! Tables that `mkdir` has made and that have no family yet exist here alone: HBase has no table without one. They are
//! forgotten when the mount ends, [`MOST_PENDING`] of them are held at most.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::proto::schema::{self, BytesBytesPair, NameStringPair, NamespaceDescriptor};
use super::client::{Cluster, within};
use super::convert::{own_name, table_name};
use crate::env::sync::Mutex;
use crate::model::attributes::{derive_rules, family_attribute, family_defaults, table_attribute};
use crate::model::{
    Catalogue, FamilyId, FamilySchema, NamespaceSchema, NewFamilies, TableId, TableName, TableSchema, TableState,
    file_family_attributes,
};
use crate::{Error, ErrorKind, Result};

/// How long what the cluster said is believed, at least.
const FRESH: Duration = Duration::from_secs(1);
/// And so many times as long as it took to say it: however many tables there are, a mount asks for them a twentieth of the
/// time at most.
const SHARE: u32 = 20;
/// How long it is believed when the master cannot be asked: the servers of regions may well answer.
const STALE: Duration = Duration::from_secs(30);
/// The part of an operation's time that asking anew may take.
const PART: u32 = 4;
const MOST_PENDING: usize = 1000;
/// Where a table keeps that families may be declared by `mkdir`.
const NEW_FAMILIES: &str = "CELLFS_NEW_FAMILIES";
const AS_THEY_COME: &str = "AS_THEY_COME";
/// Attributes of this program that HBase does not honour.
const OWN: [&str; 2] = ["PURGE_DELETED_AFTER", "KEEP_VERSIONS_FOR"];

#[derive(Default)]
struct State {
    /// What was said, and until when it is believed.
    known: Option<(Instant, Arc<Catalogue>)>,
    version: u64,
    pending: BTreeMap<TableName, TableSchema>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Described {
    state: Mutex<State>,
    /// One asks, the others wait for the answer.
    asking: Mutex<()>,
}

impl Described {
    /// What is declared; asked anew if it was asked for longer ago than a second.
    pub fn catalogue(&self, cluster: &Cluster) -> Result<Arc<Catalogue>> {
        if let Some(known) = self.believed() {
            return Ok(known);
        }
        // While one asks, the others go on with what was said before, if anything was.
        let _one = match (self.asking.try_lock(), self.known()) {
            (Some(one), _) => one,
            (None, Some(known)) => return Ok(known),
            (None, None) => self.asking.lock(),
        };
        if let Some(known) = self.believed() {
            return Ok(known);
        }
        if self.known().is_none() {
            return self.ask(cluster);
        }
        within(cluster.timeout() / PART, || self.ask(cluster)).or_else(|e| {
            let mut state = self.state.lock();
            let is_away = matches!(e.kind, ErrorKind::TimedOut | ErrorKind::Disconnected);
            let Some((until, known)) = state.known.as_mut().filter(|_| is_away) else { return Err(e) };
            log::warn!("the tables are believed to be as they were: {}", e.message);
            *until = Instant::now() + STALE;
            Ok(Arc::clone(known))
        })
    }

    fn known(&self) -> Option<Arc<Catalogue>> {
        self.state.lock().known.as_ref().map(|(_, known)| Arc::clone(known))
    }

    fn believed(&self) -> Option<Arc<Catalogue>> {
        let state = self.state.lock();
        let (until, known) = state.known.as_ref()?;
        (Instant::now() < *until).then(|| Arc::clone(known))
    }

    /// What is declared now.
    pub fn ask(&self, cluster: &Cluster) -> Result<Arc<Catalogue>> {
        let started = Instant::now();
        // Order: no lock is held while the cluster is asked.
        let (namespaces, tables, states) = (cluster.namespaces()?, cluster.tables()?, cluster.table_states()?);
        let mut catalogue = Catalogue { version: 1, ..Catalogue::default() };
        for namespace in namespaces {
            let namespace = own_namespace(namespace);
            catalogue.namespaces.insert(namespace.name.clone(), namespace);
        }
        for table in tables {
            let Some(mut own) = own_table(&table) else { continue };
            // Disabled, or about to be.
            if matches!(states.get(own.name.to_string().as_bytes()), Some(1 | 2)) {
                own.state = TableState::Disabled;
            }
            catalogue.tables.insert(own.name.clone(), own);
        }
        let mut state = self.state.lock();
        state.pending.retain(|name, _| !catalogue.tables.contains_key(name));
        catalogue.tables.extend(state.pending.clone());
        catalogue.version = state.version;
        if state.known.as_ref().is_none_or(|(_, known)| **known != catalogue) {
            state.version += 1;
            catalogue.version = state.version;
        }
        let catalogue = Arc::new(catalogue);
        let fresh = (started.elapsed() * SHARE).clamp(FRESH, STALE);
        state.known = Some((Instant::now() + fresh, Arc::clone(&catalogue)));
        Ok(catalogue)
    }

    /// What was said before does not hold any more.
    pub fn forget(&self) {
        self.state.lock().known = None;
    }

    /// Whether a table has no family yet.
    pub fn is_pending(&self, name: &TableName) -> bool {
        self.state.lock().pending.contains_key(name)
    }

    /// Holds a table that has no family yet.
    pub fn hold(&self, table: TableSchema) -> Result<()> {
        let mut state = self.state.lock();
        if state.pending.len() >= MOST_PENDING {
            let text = format!("{MOST_PENDING} tables wait for their first family already: declare one of each");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        state.pending.insert(table.name.clone(), numbered(table));
        state.known = None;
        Ok(())
    }

    /// Gives up a table without a family; whether there was one.
    pub fn drop_pending(&self, name: &TableName) -> bool {
        let mut state = self.state.lock();
        state.known = None;
        state.pending.remove(name).is_some()
    }
}

fn own_namespace(namespace: NamespaceDescriptor) -> NamespaceSchema {
    let properties = namespace.configuration.into_iter().map(|pair| (pair.name, pair.value)).collect();
    NamespaceSchema { name: String::from_utf8_lossy(&namespace.name).into_owned(), properties }
}

/// A namespace for the cluster.
pub(super) fn namespace(of: &NamespaceSchema) -> NamespaceDescriptor {
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

fn numbered(mut table: TableSchema) -> TableSchema {
    let name = table.name.to_string();
    table.id = TableId(number(&[name.as_bytes()]));
    for family in table.families.values_mut() {
        family.id = FamilyId(number(&[name.as_bytes(), family.name.as_bytes()]));
    }
    table
}

/// A table as the contract has it; `None`: its name is none of ours.
fn own_table(table: &schema::TableSchema) -> Option<TableSchema> {
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
pub(super) fn table(of: &TableSchema) -> Result<schema::TableSchema> {
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
