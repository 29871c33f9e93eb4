//! Namespaces and tables: what the master changes, and waiting until it has.

use std::time::Duration;

use prost::Message;

use crate::hbase::client::cluster::Cluster;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::admin::{
    ClusterStatus, ClusterStatusRequest, ClusterStatusResponse, CreateTableRequest, DeleteNamespaceRequest,
    GetTableDescriptorsRequest, GetTableDescriptorsResponse, ListNamespacesResponse, ModifyTableRequest,
    NamespaceRequest, ProcedureRequest, ProcedureResponse, Started, TableRequest, TruncateTableRequest,
};
use crate::hbase::client::proto::schema::{Empty, NamespaceDescriptor, TableName, TableSchema};
use crate::hbase::client::retry::{Tries, random};
use crate::hbase::client::wire::connection::{Answer, Priority, Service};

/// How long the master may work on one change, at least.
const PROCEDURE: Duration = Duration::from_secs(300);
/// Between looks at a procedure: at first, and at most.
const LOOK: Duration = Duration::from_millis(10);
const MOST_LOOK: Duration = Duration::from_millis(500);
/// States of a procedure.
const RUNNING: i32 = 1;

impl Cluster {
    /// Calls the master until it answers; a call that is not repeatable only until it may have been heard.
    pub(in crate::hbase::client) fn master_call(
        &self,
        (method, message): (&'static str, &impl Message),
        is_repeatable: bool,
    ) -> Result<Answer> {
        let mut tries = self.tries(method);
        loop {
            match self.master_once((method, message), &tries) {
                Err(e) if e.kind == Kind::Lost && !is_repeatable => {
                    let text = format!("{}; whether the master has done it is not known", e.text);
                    return Err(Error::new(Kind::Doubtful, text));
                }
                Err(e) => tries.again(e)?,
                answered => return answered,
            }
        }
    }

    fn master_once(&self, call: (&'static str, &impl Message), tries: &Tries) -> Result<Answer> {
        let server = self.master(tries.left())?;
        let answer = self.call((&server, Service::Master), call, Priority::Normal, tries.left());
        answer.inspect_err(|e| {
            if matches!(e.kind, Kind::Unreachable | Kind::Lost | Kind::ServerAway | Kind::MasterAway) {
                self.forget_master();
            }
            self.note(&server, e);
        })
    }

    /// Starts a change that has a nonce, so that it may be asked for again, and waits until it is made.
    fn change(&self, method: &'static str, message: &impl Message) -> Result<()> {
        let started: Started = self.master_call((method, message), true)?.message()?;
        started.proc_id.map_or(Ok(()), |id| self.wait_for(method, id))
    }

    /// Waits for the end of a procedure.
    pub(in crate::hbase::client) fn wait_for(&self, what: &str, proc_id: u64) -> Result<()> {
        let mut tries = Tries::new(format!("waiting for {what}"), self.timeout().max(PROCEDURE));
        let mut pause = LOOK;
        loop {
            let answer = self.master_once(("getProcedureResult", &ProcedureRequest { proc_id }), &tries);
            match answer.and_then(|answer| answer.message::<ProcedureResponse>()) {
                Err(e) => tries.again(e)?,
                // What the master does not know any more has ended long ago.
                Ok(found) if found.state.unwrap_or(0) != RUNNING => return outcome(found),
                Ok(_) if tries.left().is_zero() => {
                    let text = format!("{what} (procedure {proc_id}) goes on; the cluster did not end it in time");
                    return Err(Error::new(Kind::TimedOut, text));
                }
                Ok(_) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(MOST_LOOK);
                }
            }
        }
    }

    /// Numbers of the cluster.
    pub fn status(&self) -> Result<ClusterStatus> {
        self.status_of(Vec::new())
    }

    /// The release that the cluster runs.
    pub fn version(&self) -> Result<String> {
        // Of a large cluster the whole of its status is large.
        let version = self.status_of(vec![0])?.hbase_version.map(|found| found.version);
        version.ok_or_else(|| Error::protocol("the cluster does not say its release"))
    }

    fn status_of(&self, options: Vec<i32>) -> Result<ClusterStatus> {
        let answer = self.master_call(("GetClusterStatus", &ClusterStatusRequest { options }), true)?;
        Ok(answer.message::<ClusterStatusResponse>()?.cluster_status)
    }

    pub fn namespaces(&self) -> Result<Vec<NamespaceDescriptor>> {
        let answer = self.master_call(("ListNamespaceDescriptors", &Empty {}), true)?;
        Ok(answer.message::<ListNamespacesResponse>()?.namespace_descriptor)
    }

    /// Descriptors of all tables but the system's.
    pub fn tables(&self) -> Result<Vec<TableSchema>> {
        let request = GetTableDescriptorsRequest { include_sys_tables: Some(true), ..Default::default() };
        let answer = self.master_call(("GetTableDescriptors", &request), true)?;
        Ok(answer.message::<GetTableDescriptorsResponse>()?.table_schema)
    }

    /// Makes a table, with a region up to each of the keys and one behind the last.
    pub fn create_table(&self, table_schema: TableSchema, split_keys: Vec<Vec<u8>>) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        self.change("CreateTable", &CreateTableRequest { table_schema, split_keys, nonce_group, nonce })
    }

    /// Gives a table another descriptor, as a whole.
    pub fn modify_table(&self, table_schema: TableSchema) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        let table_name = table_schema.table_name.clone().unwrap_or_default();
        self.change("ModifyTable", &ModifyTableRequest { table_name, table_schema, nonce_group, nonce })
    }

    fn table_change(&self, method: &'static str, table: &TableName) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        let done = self.change(method, &TableRequest { table_name: table.clone(), nonce_group, nonce });
        self.locations.forget_table(table);
        done
    }

    pub fn disable_table(&self, table: &TableName) -> Result<()> {
        self.table_change("DisableTable", table)
    }

    pub fn enable_table(&self, table: &TableName) -> Result<()> {
        self.table_change("EnableTable", table)
    }

    /// Of a table that is disabled.
    pub fn delete_table(&self, table: &TableName) -> Result<()> {
        self.table_change("DeleteTable", table)
    }

    /// Of a table that is disabled; it is enabled afterwards.
    pub fn truncate_table(&self, table: &TableName, preserve_splits: bool) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        let request = TruncateTableRequest {
            table_name: table.clone(),
            preserve_splits: Some(preserve_splits),
            nonce_group,
            nonce,
        };
        let done = self.change("truncateTable", &request);
        self.locations.forget_table(table);
        done
    }

    pub fn create_namespace(&self, namespace_descriptor: NamespaceDescriptor) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        self.change("CreateNamespace", &NamespaceRequest { namespace_descriptor, nonce_group, nonce })
    }

    pub fn modify_namespace(&self, namespace_descriptor: NamespaceDescriptor) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        self.change("ModifyNamespace", &NamespaceRequest { namespace_descriptor, nonce_group, nonce })
    }

    pub fn delete_namespace(&self, name: &str) -> Result<()> {
        let (nonce_group, nonce) = self.nonces();
        self.change("DeleteNamespace", &DeleteNamespaceRequest { namespace_name: name.to_owned(), nonce_group, nonce })
    }

    pub(in crate::hbase::client) fn nonces(&self) -> (Option<u64>, Option<u64>) {
        (Some(self.nonce_group), Some(random()))
    }
}

/// A failure lies in the answer of a procedure that has ended.
fn outcome(found: ProcedureResponse) -> Result<()> {
    let Some(exception) = found.exception else { return Ok(()) };
    let generic = exception.generic_exception.unwrap_or_default();
    let (class, message) = (generic.class_name.unwrap_or_default(), generic.message.unwrap_or_default());
    Err(Error::of_class(&class, &message, true))
}
