//! Snapshots of tables: HBase's, each of one table.

use std::time::Duration;

use crate::hbase::client::cluster::Cluster;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::admin::{
    CompletedSnapshots, SnapshotDescription, SnapshotDone, SnapshotRequest, SnapshotStarted, Started,
};
use crate::hbase::client::proto::schema::{Empty, TableName};
use crate::hbase::client::retry::Tries;

/// How long a snapshot may take, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(100);
/// Memory is flushed first (SnapshotDescription.Type.FLUSH).
const FLUSH: i32 = 1;

/// `namespace:table`, the namespace `default` left out.
fn text(table: &TableName) -> String {
    let name = String::from_utf8_lossy(&table.qualifier);
    match &table.namespace[..] {
        b"default" => name.into_owned(),
        namespace => format!("{}:{name}", String::from_utf8_lossy(namespace)),
    }
}

impl Cluster {
    pub fn snapshots(&self) -> Result<Vec<SnapshotDescription>> {
        let answer = self.master_call(("GetCompletedSnapshots", &Empty {}), true)?;
        Ok(answer.message::<CompletedSnapshots>()?.snapshots)
    }

    /// Takes a snapshot of a table and waits until it is there.
    pub fn snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        let snapshot = SnapshotDescription {
            name: name.to_owned(),
            table: Some(text(table)),
            kind: Some(FLUSH),
            ..SnapshotDescription::default()
        };
        let (nonce_group, nonce) = self.nonces();
        let request = SnapshotRequest { snapshot: snapshot.clone(), nonce_group, nonce };
        // Releases before 2.6 look at no nonce: asked twice they would say that it exists.
        let started: SnapshotStarted = self.master_call(("Snapshot", &request), false)?.message()?;
        // From 2.6 on it is a procedure, before that it is asked for by its name.
        if let Some(id) = started.proc_id {
            return self.wait_for("Snapshot", id);
        }
        let tries = Tries::new("a snapshot", self.timeout().max(PATIENCE));
        let asked = SnapshotRequest { snapshot, nonce_group: None, nonce: None };
        loop {
            let done: SnapshotDone = self.master_call(("IsSnapshotDone", &asked), true)?.message()?;
            if done.done == Some(true) {
                return Ok(());
            }
            if tries.left().is_zero() {
                return Err(Error::new(Kind::TimedOut, format!("snapshot {name} was not done within {PATIENCE:?}")));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        let snapshot = SnapshotDescription { name: name.to_owned(), ..SnapshotDescription::default() };
        let request = SnapshotRequest { snapshot, nonce_group: None, nonce: None };
        self.master_call(("DeleteSnapshot", &request), false).map(drop)
    }

    /// Makes a table of a snapshot: a new one, or in place of the cells of one that is disabled.
    pub fn restore_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        let snapshot =
            SnapshotDescription { name: name.to_owned(), table: Some(text(table)), ..SnapshotDescription::default() };
        let (nonce_group, nonce) = self.nonces();
        let request = SnapshotRequest { snapshot, nonce_group, nonce };
        let started: Started = self.master_call(("RestoreSnapshot", &request), true)?.message()?;
        let done = started.proc_id.map_or(Ok(()), |id| self.wait_for("RestoreSnapshot", id));
        self.locations.forget_table(table);
        done
    }
}
