//! Changes of tables, and what a cluster tells of itself: Master.proto, Admin.proto, Snapshot.proto, ClusterStatus.proto.

use prost::Message;

use super::schema::{NamespaceDescriptor, RegionInfo, RegionSpecifier, ServerName, TableName, TableSchema};

#[derive(Clone, PartialEq, Message)]
pub struct CreateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_schema: TableSchema,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub split_keys: Vec<Vec<u8>>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

/// Of DeleteTable, EnableTable and DisableTable.
#[derive(Clone, PartialEq, Message)]
pub struct TableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TruncateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(bool, optional, tag = "2")]
    pub preserve_splits: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ModifyTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(message, required, tag = "2")]
    pub table_schema: TableSchema,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

/// The answer of what the master does in the background.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Started {
    #[prost(uint64, optional, tag = "1")]
    pub proc_id: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ProcedureRequest {
    #[prost(uint64, required, tag = "1")]
    pub proc_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GenericException {
    #[prost(string, optional, tag = "1")]
    pub class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub message: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ForeignException {
    #[prost(string, optional, tag = "1")]
    pub source: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub generic_exception: Option<GenericException>,
}

/// State 0: not known (any more), 1: it goes on, 2: it has ended.
#[derive(Clone, PartialEq, Message)]
pub struct ProcedureResponse {
    #[prost(int32, optional, tag = "1")]
    pub state: Option<i32>,
    #[prost(message, optional, tag = "5")]
    pub exception: Option<ForeignException>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsRequest {
    #[prost(message, repeated, tag = "1")]
    pub table_names: Vec<TableName>,
    #[prost(bool, optional, tag = "3")]
    pub include_sys_tables: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsResponse {
    #[prost(message, repeated, tag = "1")]
    pub table_schema: Vec<TableSchema>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ListNamespacesResponse {
    #[prost(message, repeated, tag = "1")]
    pub namespace_descriptor: Vec<NamespaceDescriptor>,
}

/// Of CreateNamespace and ModifyNamespace.
#[derive(Clone, PartialEq, Message)]
pub struct NamespaceRequest {
    #[prost(message, required, tag = "1")]
    pub namespace_descriptor: NamespaceDescriptor,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeleteNamespaceRequest {
    #[prost(string, required, tag = "1")]
    pub namespace_name: String,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

/// A snapshot; `kind` 1: what is in memory is flushed first.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotDescription {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "2")]
    pub table: Option<String>,
    /// Milliseconds since 1970.
    #[prost(int64, optional, tag = "3")]
    pub creation_time: Option<i64>,
    #[prost(int32, optional, tag = "4")]
    pub kind: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub version: Option<i32>,
}

/// Of Snapshot, IsSnapshotDone and DeleteSnapshot.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotRequest {
    #[prost(message, required, tag = "1")]
    pub snapshot: SnapshotDescription,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

/// The answer of Snapshot.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct SnapshotStarted {
    #[prost(uint64, optional, tag = "2")]
    pub proc_id: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SnapshotDone {
    #[prost(bool, optional, tag = "1")]
    pub done: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompletedSnapshots {
    #[prost(message, repeated, tag = "1")]
    pub snapshots: Vec<SnapshotDescription>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SplitRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region_info: RegionInfo,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub split_row: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MoveRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, optional, tag = "2")]
    pub dest_server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MergeRegionsRequest {
    #[prost(message, repeated, tag = "1")]
    pub region: Vec<RegionSpecifier>,
    /// Also where they are not neighbours.
    #[prost(bool, optional, tag = "3")]
    pub forcible: Option<bool>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub nonce: Option<u64>,
}

/// Of AssignRegion and UnassignRegion.
#[derive(Clone, PartialEq, Message)]
pub struct RegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct BalanceRequest {
    #[prost(bool, optional, tag = "1")]
    pub ignore_rit: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetBalancerRequest {
    #[prost(bool, required, tag = "1")]
    pub on: bool,
    #[prost(bool, optional, tag = "2")]
    pub synchronous: Option<bool>,
}

/// Kinds: 0 splits, 1 merges.
#[derive(Clone, PartialEq, Message)]
pub struct SetSplitOrMergeRequest {
    #[prost(bool, required, tag = "1")]
    pub enabled: bool,
    #[prost(bool, optional, tag = "2")]
    pub synchronous: Option<bool>,
    #[prost(int32, repeated, packed = "false", tag = "3")]
    pub switch_types: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SplitOrMergeWas {
    #[prost(bool, repeated, packed = "false", tag = "1")]
    pub prev_value: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct IsSplitOrMergeRequest {
    #[prost(int32, required, tag = "1")]
    pub switch_type: i32,
}

/// The answer of Balance (it ran), SetBalancerRunning (it was on), IsBalancerEnabled and IsSplitOrMergeEnabled (it is on).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct BalancerAnswer {
    #[prost(bool, optional, tag = "1")]
    pub is_so: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompactRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub major: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub family: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlushRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
}

#[derive(Clone, PartialEq, Message)]
pub struct VersionFile {
    #[prost(string, required, tag = "1")]
    pub version: String,
}

/// What a server says of one region; sizes in MiB.
#[derive(Clone, PartialEq, Message)]
pub struct RegionLoad {
    #[prost(message, required, tag = "1")]
    pub region_specifier: RegionSpecifier,
    #[prost(uint32, optional, tag = "3")]
    pub storefiles: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub storefile_size_mb: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub mem_store_size_mb: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    pub read_requests: Option<u64>,
    #[prost(uint64, optional, tag = "9")]
    pub write_requests: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServerLoad {
    /// A second.
    #[prost(uint64, optional, tag = "1")]
    pub requests: Option<u64>,
    #[prost(uint32, optional, tag = "3")]
    pub used_heap_mb: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub max_heap_mb: Option<u32>,
    #[prost(message, repeated, tag = "5")]
    pub region_loads: Vec<RegionLoad>,
}

#[derive(Clone, PartialEq, Message)]
pub struct LiveServer {
    #[prost(message, required, tag = "1")]
    pub server: ServerName,
    #[prost(message, required, tag = "2")]
    pub server_load: ServerLoad,
}

#[derive(Clone, PartialEq, Message)]
pub struct ClusterStatus {
    #[prost(message, optional, tag = "1")]
    pub hbase_version: Option<VersionFile>,
    #[prost(message, repeated, tag = "2")]
    pub live_servers: Vec<LiveServer>,
    #[prost(message, repeated, tag = "3")]
    pub dead_servers: Vec<ServerName>,
    #[prost(message, optional, tag = "5")]
    pub cluster_id: Option<super::schema::ClusterId>,
    #[prost(message, optional, tag = "7")]
    pub master: Option<ServerName>,
    #[prost(message, repeated, tag = "8")]
    pub backup_masters: Vec<ServerName>,
}

/// What is wanted of a cluster's status: 0 its release; none: everything.
#[derive(Clone, PartialEq, Message)]
pub struct ClusterStatusRequest {
    #[prost(int32, repeated, packed = "false", tag = "1")]
    pub options: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ClusterStatusResponse {
    #[prost(message, required, tag = "1")]
    pub cluster_status: ClusterStatus,
}
