//! Regions and servers, as a cluster has them.

use super::HBase;
use super::client::proto::admin::{LiveServer, RegionLoad};
use super::client::proto::schema::ServerName;
use super::client::{self};
use super::convert::table_name;
use super::schema::altering::known;
use crate::backend::{ClusterNumbers, Region, RegionChange, RegionSwitch, ServerNumbers};
use crate::model::TableName;
use crate::{Error, ErrorKind, Result};

/// As HBase writes it: `HOST,PORT,START CODE`.
fn shown(name: &ServerName) -> String {
    format!("{},{},{}", name.host_name, name.port.unwrap_or(0), name.start_code.unwrap_or(0))
}

/// `HOST,PORT,START CODE`.
fn server(text: &str) -> Result<ServerName> {
    let mut parts = text.rsplitn(3, ',');
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u64>().ok());
    let (start_code, port, host) = (number(parts.next()), number(parts.next()), parts.next());
    match (host, port.and_then(|port| u32::try_from(port).ok()), start_code) {
        (Some(host), Some(port), Some(code)) if !host.is_empty() => {
            Ok(ServerName { host_name: host.to_owned(), port: Some(port), start_code: Some(code) })
        }
        _ => {
            let text = format!("{} is no server: write HOST,PORT,STARTCODE as list_regions does", text.escape_debug());
            Err(Error::new(ErrorKind::IllegalArgument, text))
        }
    }
}

/// Of a region's name the part between the last dots; what has none is that part.
fn encoded(name: &str) -> String {
    let within = name.strip_suffix('.').and_then(|name| name.rsplit_once('.'));
    within.map_or(name, |(_, encoded)| encoded).to_owned()
}

/// MasterSwitchType.
fn number_of(switch: RegionSwitch) -> i32 {
    match switch {
        RegionSwitch::Split => 0,
        RegionSwitch::Merge => 1,
    }
}

fn gone(region: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("the cluster has no region {region}"))
}

fn own(region: client::Region) -> Region {
    let started = region.started.unwrap_or(0);
    Region {
        encoded: region.encoded(),
        start: region.start().to_vec(),
        end: region.end().to_vec(),
        server: format!("{},{},{started}", region.server.host, region.server.port),
        name: region.name,
    }
}

fn numbers(server: &LiveServer) -> ServerNumbers {
    let load = &server.server_load;
    let sum = |of: fn(&RegionLoad) -> Option<u32>| {
        load.region_loads.iter().map(|load| u64::from(of(load).unwrap_or(0))).sum::<u64>()
    };
    ServerNumbers {
        name: shown(&server.server),
        requests: load.requests.unwrap_or(0),
        regions: load.region_loads.len() as u64,
        files: sum(|load| load.storefiles),
        file_bytes: sum(|load| load.storefile_size_mb) << 20,
        memory_bytes: sum(|load| load.mem_store_size_mb) << 20,
        used_heap_bytes: u64::from(load.used_heap_mb.unwrap_or(0)) << 20,
        most_heap_bytes: u64::from(load.max_heap_mb.unwrap_or(0)) << 20,
    }
}

impl HBase {
    pub(super) fn regions_of(&self, table: &TableName) -> Result<Vec<Region>> {
        known(&*self.described.catalogue(&self.cluster)?, table)?;
        if self.described.is_pending(table) {
            return Ok(Vec::new());
        }
        Ok(self.cluster.regions(&table_name(table))?.into_iter().map(own).collect())
    }

    pub(super) fn servers(&self) -> Result<ClusterNumbers> {
        let status = self.told()?;
        Ok(ClusterNumbers {
            version: status.hbase_version.as_ref().map(|found| found.version.clone()).unwrap_or_default(),
            master: status.master.as_ref().map(shown),
            backup_masters: status.backup_masters.iter().map(shown).collect(),
            servers: status.live_servers.iter().map(numbers).collect(),
            dead: status.dead_servers.iter().map(shown).collect(),
        })
    }

    pub(super) fn change_places(&self, change: &RegionChange) -> Result<bool> {
        let done = match change {
            RegionChange::SplitTable(table, Some(row)) => self.cluster.split(&table_name(table), row),
            RegionChange::SplitTable(table, None) => return self.split_all(table),
            RegionChange::SplitRegion(region, row) => {
                let found = self.cluster.region_called(&encoded(region))?.ok_or_else(|| gone(region))?;
                self.cluster.split_region(&found, row.clone())
            }
            RegionChange::Merge { regions, forcible } => {
                let names: Vec<String> = regions.iter().map(|region| encoded(region)).collect();
                self.cluster.merge_regions(&names, *forcible)
            }
            RegionChange::Move(region, to) => {
                let to = to.as_deref().map(server).transpose()?;
                self.cluster.move_region(&encoded(region), to)
            }
            RegionChange::Assign(region) => self.cluster.assign(&self.whole_name(region)?),
            RegionChange::Unassign(region) => self.cluster.unassign(&self.whole_name(region)?),
            RegionChange::Balance => return Ok(self.cluster.balance()?),
            RegionChange::SwitchBalancer(on) => return Ok(self.cluster.set_balancer(*on)?),
            RegionChange::SwitchRegions(of, on) => return Ok(self.cluster.set_switch(number_of(*of), *on)?),
            RegionChange::AskRegions(of) => return Ok(self.cluster.is_switch_on(number_of(*of))?),
            RegionChange::AskBalancer => return Ok(self.cluster.is_balancer_on()?),
        };
        done.map_err(Error::from)?;
        Ok(true)
    }

    fn whole_name(&self, region: &str) -> Result<Vec<u8>> {
        self.cluster.region_name(&encoded(region))?.ok_or_else(|| gone(region))
    }

    /// Each region where its server sees the middle; those that are too small stay. Fails if none could be.
    fn split_all(&self, table: &TableName) -> Result<bool> {
        let (mut failed, mut some) = (None, false);
        for region in self.cluster.regions(&table_name(table))? {
            match self.cluster.split_region(&region, None) {
                Ok(()) => some = true,
                Err(e) if e.kind == client::Kind::Refused => failed = Some(e),
                Err(e) => return Err(e.into()),
            }
        }
        match failed.filter(|_| !some) {
            Some(e) => Err(e.into()),
            None => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_and_regions_are_read() {
        assert_eq!(shown(&server("h.x,16020,1700000000000").unwrap()), "h.x,16020,1700000000000");
        for wrong in ["", "h", "h,1", "h,x,1", ",1,2"] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
        for (name, expected) in [("t,a.b,17.0abc.", "0abc"), ("0abc", "0abc"), ("t,,1.f.", "f")] {
            assert_eq!(encoded(name), expected);
        }
    }
}
