//! Regions: flush, compact, split, move.

use crate::hbase::client::cluster::Cluster;
use crate::hbase::client::error::{Error, Result};
use crate::hbase::client::find::region::Region;
use crate::hbase::client::proto::admin::{
    BalanceRequest, BalancerAnswer, CompactRegionRequest, FlushRegionRequest, IsSplitOrMergeRequest,
    MergeRegionsRequest, MoveRegionRequest, RegionRequest, SetBalancerRequest, SetSplitOrMergeRequest, SplitOrMergeWas,
    SplitRegionRequest, Started,
};
use crate::hbase::client::proto::schema::{Empty, RegionSpecifier, ServerName, TableName};
use crate::hbase::client::wire::connection::Service;

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
        self.split_region(&region, Some(row.to_vec()))
    }

    /// Splits a region at a row, or where its server sees the middle, and waits until it is done.
    pub fn split_region(&self, region: &Region, split_row: Option<Vec<u8>>) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        let request = SplitRegionRequest { region_info: region.info.clone(), split_row, nonce_group, nonce };
        let started: Started = self.master_call(("SplitRegion", &request), true)?.message()?;
        started.proc_id.map_or(Ok(()), |id| self.wait_for("SplitRegion", id))
    }

    /// Moves a region (its encoded name) to another server, or to any; returns when it is open there.
    pub fn move_region(&self, encoded: &str, to: Option<ServerName>) -> Result<()> {
        let request = MoveRegionRequest { region: by_encoded(encoded), dest_server_name: to };
        self.master_call(("MoveRegion", &request), true).map(drop)
    }

    /// Makes one region of some, given by their encoded names, and waits until it is done.
    pub fn merge_regions(&self, encoded: &[String], forcible: bool) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        let region = encoded.iter().map(|name| by_encoded(name)).collect();
        let request = MergeRegionsRequest { region, forcible: Some(forcible), nonce_group, nonce };
        let started: Started = self.master_call(("MergeTableRegions", &request), true)?.message()?;
        started.proc_id.map_or(Ok(()), |id| self.wait_for("MergeTableRegions", id))
    }

    /// Has a region (its whole name) opened at a server of the master's choice.
    pub fn assign(&self, name: &[u8]) -> Result<()> {
        let region = RegionSpecifier { kind: 1, value: name.to_vec() };
        self.master_call(("AssignRegion", &RegionRequest { region }), true).map(drop)
    }

    /// Has a region (its whole name) closed; its rows are served by nobody then.
    pub fn unassign(&self, name: &[u8]) -> Result<()> {
        let region = RegionSpecifier { kind: 1, value: name.to_vec() };
        self.master_call(("UnassignRegion", &RegionRequest { region }), true).map(drop)
    }

    /// Runs the balancer; false: it is off, or regions are on their way.
    pub fn balance(&self) -> Result<bool> {
        self.balancer("Balance", &BalanceRequest::default())
    }

    /// Switches the balancer; whether it was on.
    pub fn set_balancer(&self, on: bool) -> Result<bool> {
        self.balancer("SetBalancerRunning", &SetBalancerRequest { on, synchronous: Some(true) })
    }

    pub fn is_balancer_on(&self) -> Result<bool> {
        self.balancer("IsBalancerEnabled", &Empty {})
    }

    /// Lets regions be split (0) or merged (1) or not; whether they were let.
    pub fn set_switch(&self, switch: i32, enabled: bool) -> Result<bool> {
        let request = SetSplitOrMergeRequest { enabled, synchronous: Some(true), switch_types: vec![switch] };
        let answer: SplitOrMergeWas = self.master_call(("SetSplitOrMergeEnabled", &request), true)?.message()?;
        answer.prev_value.first().copied().ok_or_else(|| Error::protocol("it does not say what was before"))
    }

    /// Whether regions may be split (0) or merged (1).
    pub fn is_switch_on(&self, switch_type: i32) -> Result<bool> {
        self.balancer("IsSplitOrMergeEnabled", &IsSplitOrMergeRequest { switch_type })
    }

    fn balancer(&self, method: &'static str, request: &impl prost::Message) -> Result<bool> {
        let answer: BalancerAnswer = self.master_call((method, request), true)?.message()?;
        Ok(answer.is_so.unwrap_or(false))
    }
}

fn by_encoded(encoded: &str) -> RegionSpecifier {
    RegionSpecifier { kind: 2, value: encoded.as_bytes().to_vec() }
}
