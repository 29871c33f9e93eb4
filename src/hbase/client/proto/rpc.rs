//! Frames of a connection: RPC.proto.

use prost::Message;

/// Who calls.
#[derive(Clone, PartialEq, Message)]
pub struct UserInformation {
    #[prost(string, required, tag = "1")]
    pub effective_user: String,
}

/// What the client says that it is; from 1.3 on cells of a Get come as a cell block.
#[derive(Clone, PartialEq, Message)]
pub struct VersionInfo {
    #[prost(string, required, tag = "1")]
    pub version: String,
    #[prost(string, required, tag = "2")]
    pub url: String,
    #[prost(string, required, tag = "3")]
    pub revision: String,
    #[prost(string, required, tag = "4")]
    pub user: String,
    #[prost(string, required, tag = "5")]
    pub date: String,
    #[prost(string, required, tag = "6")]
    pub src_checksum: String,
    #[prost(uint32, optional, tag = "7")]
    pub major: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub minor: Option<u32>,
}

/// What follows the preamble, once.
#[derive(Clone, PartialEq, Message)]
pub struct ConnectionHeader {
    #[prost(message, optional, tag = "1")]
    pub user_info: Option<UserInformation>,
    #[prost(string, optional, tag = "2")]
    pub service_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub cell_block_codec_class: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub cell_block_compressor_class: Option<String>,
    #[prost(message, optional, tag = "5")]
    pub version_info: Option<VersionInfo>,
}

/// How long the cell block is that follows a message.
#[derive(Clone, PartialEq, Message)]
pub struct CellBlockMeta {
    #[prost(uint32, optional, tag = "1")]
    pub length: Option<u32>,
}

/// Before each call.
#[derive(Clone, PartialEq, Message)]
pub struct RequestHeader {
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    #[prost(string, optional, tag = "3")]
    pub method_name: Option<String>,
    #[prost(bool, optional, tag = "4")]
    pub request_param: Option<bool>,
    #[prost(message, optional, tag = "5")]
    pub cell_block_meta: Option<CellBlockMeta>,
    #[prost(uint32, optional, tag = "6")]
    pub priority: Option<u32>,
    /// Milliseconds that the caller waits.
    #[prost(uint32, optional, tag = "7")]
    pub timeout: Option<u32>,
}

/// A call that failed.
#[derive(Clone, PartialEq, Message)]
pub struct ExceptionResponse {
    #[prost(string, optional, tag = "1")]
    pub exception_class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub stack_trace: Option<String>,
    #[prost(bool, optional, tag = "5")]
    pub do_not_retry: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub server_overloaded: Option<bool>,
}

/// Before each answer.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<ExceptionResponse>,
    #[prost(message, optional, tag = "3")]
    pub cell_block_meta: Option<CellBlockMeta>,
}
