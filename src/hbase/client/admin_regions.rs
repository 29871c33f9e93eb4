//! Regions: flush, compact, split, move.

use super::cluster::Cluster;
use super::connection::Service;
use super::error::{Error, Kind, Result};
use super::locate::Region;
use super::proto::admin::{CompactRegionRequest, FlushRegionRequest, MoveRegionRequest, SplitRegionRequest, Started};
use super::proto::schema::{RegionSpecifier, ServerName, TableName};

impl Cluster {
    /// Does something with each region of a table at its server; regions that move or split meanwhile are looked up again.
    fn each_region(
        &self,
        table: &TableName,
        what: &str,
        act: impl Fn(&Region, std::time::Duration) -> Result<()>,
    ) -> Result<()> {
        let mut from: Option<Vec<u8>> = Some(Vec::new());
        while let Some(start) = from {
            let end = self.on_row((table, &start), (what, true), |region, tries| {
                act(region, tries.left())?;
                Ok(region.end().to_vec())
            })?;
            from = (!end.is_empty()).then_some(end);
        }
        Ok(())
    }

    /// Writes to files what is only in the log and in memory.
    pub fn flush(&self, table: &TableName) -> Result<()> {
        self.each_region(table, "a flush", |region, left| {
            let request = FlushRegionRequest { region: region.specifier() };
            self.call((&region.server, Service::Admin), ("FlushRegion", &request), region.priority(), left).map(drop)
        })
    }

    /// Asks for a compaction, which goes on when this returns.
    pub fn compact(&self, table: &TableName, family: Option<&[u8]>, is_major: bool) -> Result<()> {
        self.each_region(table, "a compaction", |region, left| {
            let request = CompactRegionRequest {
                region: region.specifier(),
                major: Some(is_major),
                family: family.map(<[u8]>::to_vec),
            };
            self.call((&region.server, Service::Admin), ("CompactRegion", &request), region.priority(), left).map(drop)
        })
    }

    /// Splits the region that has a row at that row, and waits until it is done.
    pub fn split(&self, table: &TableName, row: &[u8]) -> Result<()> {
        let tries = self.tries("a split");
        let region = self.locate(table, row, &tries)?;
        let (nonce_group, nonce) = self.nonces();
        let request =
            SplitRegionRequest { region_info: region.info.clone(), split_row: Some(row.to_vec()), nonce_group, nonce };
        let started: Started = self.master_call(("SplitRegion", &request), true)?.message()?;
        started.proc_id.map_or(Ok(()), |id| self.wait_for("SplitRegion", id))
    }

    /// Moves a region to another server (`host,port,start code`), or to any.
    pub fn move_region(&self, region: &Region, to: Option<ServerName>) -> Result<()> {
        let encoded = encoded_name(&region.name).ok_or_else(|| Error::new(Kind::Refused, "a region without a name"))?;
        let request = MoveRegionRequest { region: RegionSpecifier { kind: 2, value: encoded }, dest_server_name: to };
        self.master_call(("MoveRegion", &request), true).map(drop)
    }
}

/// The part of a region's name between its last two dots.
fn encoded_name(name: &[u8]) -> Option<Vec<u8>> {
    let name = name.strip_suffix(b".")?;
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    Some(name[dot + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoded_name_is_what_stands_between_the_last_dots() {
        assert_eq!(encoded_name(b"t.x,k.1,17.0123abcd."), Some(b"0123abcd".to_vec()));
        assert_eq!(encoded_name(b"hbase:meta,,1"), None);
    }
}
