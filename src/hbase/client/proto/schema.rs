//! Names, descriptors, servers and regions: HBase.proto, and what the registries answer.

use prost::Message;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Message)]
pub struct TableName {
    #[prost(bytes = "vec", required, tag = "1")]
    pub namespace: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub qualifier: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ServerName {
    #[prost(string, required, tag = "1")]
    pub host_name: String,
    #[prost(uint32, optional, tag = "2")]
    pub port: Option<u32>,
    #[prost(uint64, optional, tag = "3")]
    pub start_code: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionInfo {
    #[prost(uint64, required, tag = "1")]
    pub region_id: u64,
    #[prost(message, required, tag = "2")]
    pub table_name: TableName,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub start_key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub end_key: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    pub offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    pub replica_id: Option<i32>,
}

/// How a request names its region; `kind` 1: by its full name, 2: by its encoded name.
#[derive(Clone, PartialEq, Message)]
pub struct RegionSpecifier {
    #[prost(int32, required, tag = "1")]
    pub kind: i32,
    #[prost(bytes = "vec", required, tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct TimeRange {
    #[prost(uint64, optional, tag = "1")]
    pub from: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub to: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnFamilyTimeRange {
    #[prost(bytes = "vec", required, tag = "1")]
    pub column_family: Vec<u8>,
    #[prost(message, required, tag = "2")]
    pub time_range: TimeRange,
}

#[derive(Clone, PartialEq, Message)]
pub struct NameStringPair {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(string, required, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct NameBytesPair {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub value: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BytesBytesPair {
    #[prost(bytes = "vec", required, tag = "1")]
    pub first: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub second: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnFamilySchema {
    #[prost(bytes = "vec", required, tag = "1")]
    pub name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub configuration: Vec<NameStringPair>,
}

/// A whole descriptor: what is sent takes the place of what was.
#[derive(Clone, PartialEq, Message)]
pub struct TableSchema {
    #[prost(message, optional, tag = "1")]
    pub table_name: Option<TableName>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub column_families: Vec<ColumnFamilySchema>,
    #[prost(message, repeated, tag = "4")]
    pub configuration: Vec<NameStringPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NamespaceDescriptor {
    #[prost(bytes = "vec", required, tag = "1")]
    pub name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub configuration: Vec<NameStringPair>,
}

/// 0 enabled, 1 disabled, 2 disabling, 3 enabling.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct TableState {
    #[prost(int32, required, tag = "1")]
    pub state: i32,
}

/// Node `meta-region-server` of ZooKeeper.
#[derive(Clone, PartialEq, Message)]
pub struct MetaRegionServer {
    #[prost(message, required, tag = "1")]
    pub server: ServerName,
    #[prost(uint32, optional, tag = "2")]
    pub rpc_version: Option<u32>,
    #[prost(int32, optional, tag = "3")]
    pub state: Option<i32>,
}

/// Node `master` of ZooKeeper.
#[derive(Clone, PartialEq, Message)]
pub struct Master {
    #[prost(message, required, tag = "1")]
    pub master: ServerName,
}

/// Node `hbaseid` of ZooKeeper, and the answer of GetClusterId.
#[derive(Clone, PartialEq, Message)]
pub struct ClusterId {
    #[prost(string, optional, tag = "1")]
    pub cluster_id: Option<String>,
}

/// Answer of GetActiveMaster.
#[derive(Clone, PartialEq, Message)]
pub struct ActiveMaster {
    #[prost(message, optional, tag = "1")]
    pub server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionLocation {
    #[prost(message, required, tag = "1")]
    pub region_info: RegionInfo,
    #[prost(message, optional, tag = "2")]
    pub server_name: Option<ServerName>,
}

/// Answer of GetMetaRegionLocations.
#[derive(Clone, PartialEq, Message)]
pub struct MetaLocations {
    #[prost(message, repeated, tag = "1")]
    pub locations: Vec<RegionLocation>,
}

/// A request or an answer without fields.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Empty {}
