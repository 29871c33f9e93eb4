//! Regions, and what is remembered of where they are.
//!
//! What bounds memory: [`MOST`] regions are remembered; past it all are forgotten and asked for anew.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prost::Message;

use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::schema::{RegionInfo, RegionSpecifier, TableName};
use crate::hbase::client::wire::cell::Cell;
use crate::hbase::client::wire::connection::{Priority, Server};

const MOST: usize = 200_000;
/// The one region of hbase:meta.
pub(in crate::hbase::client) const META: &[u8] = b"hbase:meta,,1";
/// Which is not named as others are.
const META_ENCODED: &str = "1588230740";
/// A region, and the server that has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Its row in hbase:meta.
    pub name: Vec<u8>,
    pub info: RegionInfo,
    pub server: Server,
    /// When that server was started, in milliseconds since 1970, which makes its name whole.
    pub started: Option<u64>,
}

impl Region {
    /// First row.
    pub fn start(&self) -> &[u8] {
        self.info.start_key.as_deref().unwrap_or_default()
    }

    /// The row before which it ends; empty: the last of its table.
    pub fn end(&self) -> &[u8] {
        self.info.end_key.as_deref().unwrap_or_default()
    }

    /// The part of its name between the last two dots.
    pub fn encoded(&self) -> String {
        if self.name == META {
            return META_ENCODED.to_owned();
        }
        let name = self.name.strip_suffix(b".").unwrap_or_default();
        let dot = name.iter().rposition(|byte| *byte == b'.').map_or(name.len(), |dot| dot + 1);
        String::from_utf8_lossy(&name[dot..]).into_owned()
    }

    pub(in crate::hbase::client) fn contains(&self, row: &[u8]) -> bool {
        row >= self.start() && (self.end().is_empty() || row < self.end())
    }

    pub(in crate::hbase::client) fn specifier(&self) -> RegionSpecifier {
        RegionSpecifier { kind: 1, value: self.name.clone() }
    }

    pub(in crate::hbase::client) fn priority(&self) -> Priority {
        if self.name == META { Priority::Meta } else { Priority::Normal }
    }
}

/// The table of all regions.
pub(in crate::hbase::client) fn meta_table() -> TableName {
    TableName { namespace: b"hbase".to_vec(), qualifier: b"meta".to_vec() }
}

/// Regions by their first rows.
type Known = BTreeMap<Vec<u8>, Arc<Region>>;

/// See the module.
#[derive(Default)]
pub(in crate::hbase::client) struct Locations(Mutex<HashMap<TableName, Known>>);

impl Locations {
    pub fn find(&self, table: &TableName, row: &[u8]) -> Option<Arc<Region>> {
        let known = self.0.lock();
        let (_, region) = known.get(table)?.range(..=row.to_vec()).next_back()?;
        region.contains(row).then(|| Arc::clone(region))
    }

    pub fn keep(&self, table: &TableName, region: &Arc<Region>) {
        let mut known = self.0.lock();
        if known.values().map(BTreeMap::len).sum::<usize>() >= MOST {
            known.clear();
        }
        known.entry(table.clone()).or_default().insert(region.start().to_vec(), Arc::clone(region));
    }

    pub fn forget(&self, region: &Region) {
        let mut known = self.0.lock();
        if let Some(of_table) = known.get_mut(&region.info.table_name)
            && of_table.get(region.start()).is_some_and(|now| now.name == region.name)
        {
            of_table.remove(region.start());
        }
    }

    pub fn forget_server(&self, server: &Server) {
        self.0.lock().values_mut().for_each(|known| known.retain(|_, region| region.server != *server));
    }

    pub fn forget_table(&self, table: &TableName) {
        self.0.lock().remove(table);
    }
}

/// What stands before the first comma of a region's name.
pub(in crate::hbase::client) fn table_key(table: &TableName) -> Vec<u8> {
    match &table.namespace[..] {
        b"default" | b"" => table.qualifier.clone(),
        namespace => [namespace, b":", &table.qualifier].concat(),
    }
}

/// A region of a row of hbase:meta; `None`: it is a parent that was split, or a copy.
pub(in crate::hbase::client) fn region_of(cells: &[Cell]) -> Result<Option<Region>> {
    let value = |qualifier: &[u8]| cells.iter().find(|cell| cell.qualifier == qualifier).map(|cell| &cell.value[..]);
    let Some(info) = value(b"regioninfo").and_then(super::zookeeper::message) else { return Ok(None) };
    let info = RegionInfo::decode(info).map_err(Error::protocol)?;
    if info.offline == Some(true) || info.split == Some(true) || info.replica_id.unwrap_or(0) != 0 {
        return Ok(None);
    }
    let name = cells.first().map(|cell| cell.row.clone()).unwrap_or_default();
    let server = value(b"server").and_then(|server| std::str::from_utf8(server).ok()).unwrap_or_default();
    let server = server.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    let (host, port) = server.ok_or_else(|| {
        let shown = name.escape_ascii();
        Error::new(Kind::Location, format!("region {shown} is being opened"))
    })?;
    let started = value(b"serverstartcode").and_then(|code| Some(u64::from_be_bytes(code.try_into().ok()?)));
    Ok(Some(Region { name, info, server: Server { host, port }, started }))
}

pub(in crate::hbase::client) fn no_table(table: &TableName) -> Error {
    let shown = table_key(table);
    Error::new(Kind::NoTable, format!("table {} does not exist", String::from_utf8_lossy(&shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of hbase:meta of a table of one region, as a server of 2.6.4 sent it.
    const ROW: &str = concat!(
        "0000007b0000004e0000002500347265632c2c313739353435363730333533302e3736303331356562623962376136306539",
        "3861393836386637636538636138662e04696e666f726567696f6e696e666f000001a2098f1d81045042554608aab8bccca0",
        "34120e0a0764656661756c7412037265631a00220028003000380000000064000000540000000800347265632c2c31373935",
        "3435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e04696e666f7365",
        "716e756d447572696e674f70656e000001a2098f1d81040000000000000002000000610000004a0000000f00347265632c2c",
        "313739353435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e04696e",
        "666f736572766572000001a2098f1d81046c6f63616c686f73743a313730323000000063000000530000000800347265632c",
        "2c313739353435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e0469",
        "6e666f7365727665727374617274636f6465000001a2098f1d8104000001a2095913c50000006b000000460000001d003472",
        "65632c2c313739353435363730333533302e3736303331356562623962376136306539386139383638663763653863613866",
        "2e04696e666f736e000001a2098f1cd6046c6f63616c686f73742c31373032302c3137393534353331363234333700000055",
        "000000490000000400347265632c2c313739353435363730333533302e373630333135656262396237613630653938613938",
        "36386637636538636138662e04696e666f7374617465000001a2098f1d81044f50454e",
    );

    #[test]
    fn a_recorded_row_of_meta_is_a_region() {
        let mut cells = crate::hbase::client::wire::cell::decode(&hex::decode(ROW).unwrap()).unwrap();
        let region = region_of(&cells).unwrap().unwrap();
        assert_eq!(region.name, b"rec,,1795456703530.760315ebb9b7a60e98a9868f7ce8ca8f.");
        assert_eq!(region.server, Server { host: "localhost".into(), port: 17020 });
        assert_eq!((region.start(), region.end()), (&b""[..], &b""[..]));
        assert_eq!(region.info.table_name, TableName { namespace: b"default".to_vec(), qualifier: b"rec".to_vec() });
        assert!(region.contains(b"any"));
        // One that is being opened has no server yet.
        cells.retain(|cell| cell.qualifier != b"server");
        assert_eq!(region_of(&cells).unwrap_err().kind, Kind::Location);
        cells.retain(|cell| cell.qualifier != b"regioninfo");
        assert_eq!(region_of(&cells).unwrap(), None);
    }

    #[test]
    fn the_encoded_name_is_what_stands_between_the_last_dots() {
        let region = |name: &[u8]| {
            let (info, server) = (RegionInfo::default(), Server { host: "h".into(), port: 1 });
            Region { name: name.to_vec(), info, server, started: None }.encoded()
        };
        assert_eq!(region(b"t.x,k.1,17.0123abcd."), "0123abcd");
        assert_eq!(region(b"hbase:meta,,1"), "1588230740");
    }
}
