//! Rows: Client.proto, Cell.proto, Comparator.proto.

use prost::Message;

use super::schema::{ColumnFamilyTimeRange, NameBytesPair, RegionSpecifier, TimeRange};

/// A cell within a message, where it does not come in a cell block.
#[derive(Clone, PartialEq, Message)]
pub struct PbCell {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub row: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub family: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub qualifier: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(int32, optional, tag = "5")]
    pub kind: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub value: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Column {
    #[prost(bytes = "vec", required, tag = "1")]
    pub family: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub qualifier: Vec<Vec<u8>>,
}

/// A filter or a comparator: a Java class, and its own message.
#[derive(Clone, PartialEq, Message)]
pub struct Named {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub serialized: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Get {
    #[prost(bytes = "vec", required, tag = "1")]
    pub row: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub column: Vec<Column>,
    #[prost(message, repeated, tag = "3")]
    pub attribute: Vec<NameBytesPair>,
    #[prost(message, optional, tag = "4")]
    pub filter: Option<Named>,
    #[prost(message, optional, tag = "5")]
    pub time_range: Option<TimeRange>,
    #[prost(uint32, optional, tag = "6")]
    pub max_versions: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub store_limit: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub store_offset: Option<u32>,
    #[prost(message, repeated, tag = "13")]
    pub cf_time_range: Vec<ColumnFamilyTimeRange>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Outcome {
    #[prost(message, repeated, tag = "1")]
    pub cell: Vec<PbCell>,
    #[prost(int32, optional, tag = "2")]
    pub associated_cell_count: Option<i32>,
    #[prost(bool, optional, tag = "3")]
    pub exists: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub get: Get,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Outcome>,
}

#[derive(Clone, PartialEq, Message)]
pub struct QualifierValue {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub qualifier: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub value: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "3")]
    pub timestamp: Option<u64>,
    #[prost(int32, optional, tag = "4")]
    pub delete_type: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnValue {
    #[prost(bytes = "vec", required, tag = "1")]
    pub family: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub qualifier_value: Vec<QualifierValue>,
}

/// Kinds of a [`MutationProto`].
pub mod mutation_type {
    pub const APPEND: i32 = 0;
    pub const INCREMENT: i32 = 1;
    pub const PUT: i32 = 2;
    pub const DELETE: i32 = 3;
}

/// What a delete of a column value takes.
pub mod delete_type {
    pub const ONE_VERSION: i32 = 0;
    pub const COLUMN: i32 = 1;
    pub const FAMILY: i32 = 2;
    pub const FAMILY_VERSION: i32 = 3;
}

#[derive(Clone, PartialEq, Message)]
pub struct MutationProto {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub row: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "2")]
    pub mutate_type: Option<i32>,
    #[prost(message, repeated, tag = "3")]
    pub column_value: Vec<ColumnValue>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<NameBytesPair>,
    /// 0 the table's, 1 SKIP_WAL, 2 ASYNC_WAL, 3 SYNC_WAL, 4 FSYNC_WAL.
    #[prost(int32, optional, tag = "6")]
    pub durability: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub time_range: Option<TimeRange>,
    #[prost(uint64, optional, tag = "9")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Condition {
    #[prost(bytes = "vec", required, tag = "1")]
    pub row: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub family: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub qualifier: Option<Vec<u8>>,
    /// LESS 0, LESS_OR_EQUAL 1, EQUAL 2, NOT_EQUAL 3, GREATER_OR_EQUAL 4, GREATER 5.
    #[prost(int32, optional, tag = "4")]
    pub compare_type: Option<i32>,
    #[prost(message, optional, tag = "5")]
    pub comparator: Option<Named>,
    #[prost(message, optional, tag = "6")]
    pub time_range: Option<TimeRange>,
    #[prost(message, optional, tag = "7")]
    pub filter: Option<Named>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MutateRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub mutation: MutationProto,
    #[prost(message, optional, tag = "3")]
    pub condition: Option<Condition>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce_group: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MutateResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<Outcome>,
    #[prost(bool, optional, tag = "2")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub mutation: Option<MutationProto>,
    #[prost(message, optional, tag = "3")]
    pub get: Option<Get>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionAction {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub atomic: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    pub action: Vec<Action>,
    #[prost(message, optional, tag = "4")]
    pub condition: Option<Condition>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiRequest {
    #[prost(message, repeated, tag = "1")]
    pub region_action: Vec<RegionAction>,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResultOrException {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<Outcome>,
    #[prost(message, optional, tag = "3")]
    pub exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionActionResult {
    #[prost(message, repeated, tag = "1")]
    pub result_or_exception: Vec<ResultOrException>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<NameBytesPair>,
    #[prost(bool, optional, tag = "3")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiResponse {
    #[prost(message, repeated, tag = "1")]
    pub region_action_result: Vec<RegionActionResult>,
    #[prost(bool, optional, tag = "2")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Scan {
    #[prost(message, repeated, tag = "1")]
    pub column: Vec<Column>,
    #[prost(message, repeated, tag = "2")]
    pub attribute: Vec<NameBytesPair>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub start_row: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub stop_row: Option<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub filter: Option<Named>,
    #[prost(message, optional, tag = "6")]
    pub time_range: Option<TimeRange>,
    #[prost(uint32, optional, tag = "7")]
    pub max_versions: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub batch_size: Option<u32>,
    /// Bytes of one answer.
    #[prost(uint64, optional, tag = "10")]
    pub max_result_size: Option<u64>,
    #[prost(uint32, optional, tag = "11")]
    pub store_limit: Option<u32>,
    #[prost(uint32, optional, tag = "12")]
    pub store_offset: Option<u32>,
    #[prost(bool, optional, tag = "15")]
    pub reversed: Option<bool>,
    #[prost(uint32, optional, tag = "17")]
    pub caching: Option<u32>,
    #[prost(message, repeated, tag = "19")]
    pub cf_time_range: Vec<ColumnFamilyTimeRange>,
    #[prost(uint64, optional, tag = "20")]
    pub mvcc_read_point: Option<u64>,
    #[prost(bool, optional, tag = "21")]
    pub include_start_row: Option<bool>,
    #[prost(bool, optional, tag = "22")]
    pub include_stop_row: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    #[prost(message, optional, tag = "2")]
    pub scan: Option<Scan>,
    #[prost(uint64, optional, tag = "3")]
    pub scanner_id: Option<u64>,
    #[prost(uint32, optional, tag = "4")]
    pub number_of_rows: Option<u32>,
    #[prost(bool, optional, tag = "5")]
    pub close_scanner: Option<bool>,
    #[prost(uint64, optional, tag = "6")]
    pub next_call_seq: Option<u64>,
    #[prost(bool, optional, tag = "7")]
    pub client_handles_partials: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    pub client_handles_heartbeats: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    pub track_scan_metrics: Option<bool>,
    #[prost(bool, optional, tag = "10")]
    pub renew: Option<bool>,
    #[prost(uint32, optional, tag = "11")]
    pub limit_of_rows: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    #[prost(uint32, repeated, packed = "false", tag = "1")]
    pub cells_per_result: Vec<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub scanner_id: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub more_results: Option<bool>,
    /// Milliseconds for which the scanner is kept.
    #[prost(uint32, optional, tag = "4")]
    pub ttl: Option<u32>,
    #[prost(message, repeated, tag = "5")]
    pub results: Vec<Outcome>,
    #[prost(bool, repeated, packed = "false", tag = "7")]
    pub partial_flag_per_result: Vec<bool>,
    #[prost(bool, optional, tag = "8")]
    pub more_results_in_region: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    pub heartbeat_message: Option<bool>,
    #[prost(message, optional, tag = "10")]
    pub scan_metrics: Option<ScanMetrics>,
    #[prost(uint64, optional, tag = "11")]
    pub mvcc_read_point: Option<u64>,
}

/// What a server counted for one answer, by name.
#[derive(Clone, PartialEq, Message)]
pub struct ScanMetrics {
    #[prost(message, repeated, tag = "1")]
    pub metrics: Vec<NameInt64Pair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NameInt64Pair {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub value: Option<i64>,
}
