//! Between the words of the client and those of the store's contract.

use super::client::proto::{data, schema};
use super::client::{self, Kind};
use crate::model::{
    Cell, CellInfo, CellKind, ColumnKey, FamilyId, FamilySchema, SeqNo, TableName, Tags, TimeRange, Timestamp, ValueRef,
};
use crate::{Error, ErrorKind, Result};

impl From<client::Error> for Error {
    fn from(e: client::Error) -> Self {
        let kind = match e.kind {
            Kind::Address => ErrorKind::IllegalArgument,
            Kind::Unreachable | Kind::Lost | Kind::ServerAway | Kind::MasterAway => ErrorKind::Disconnected,
            Kind::TimedOut => ErrorKind::TimedOut,
            Kind::NoNode | Kind::NoSnapshot => ErrorKind::NotFound,
            Kind::Kerberos | Kind::AccessDenied => ErrorKind::AccessDenied,
            Kind::TooOld => ErrorKind::Unsupported,
            Kind::Location | Kind::Overloaded | Kind::Scanner => ErrorKind::Busy,
            Kind::Protocol | Kind::Passing | Kind::Doubtful => ErrorKind::Io,
            Kind::NoTable => ErrorKind::NoSuchTable,
            Kind::TableExists => ErrorKind::TableExists,
            Kind::TableDisabled => ErrorKind::TableDisabled,
            Kind::TableEnabled => ErrorKind::TableEnabled,
            Kind::NoNamespace => ErrorKind::NoSuchNamespace,
            Kind::NamespaceExists => ErrorKind::NamespaceExists,
            Kind::NoFamily => ErrorKind::NoSuchFamily,
            Kind::SnapshotExists => ErrorKind::AlreadyExists,
            Kind::TooLarge => ErrorKind::ValueTooLarge,
            Kind::Quota => ErrorKind::QuotaExceeded,
            Kind::Constraint => ErrorKind::Constraint,
            Kind::Refused => ErrorKind::Refused,
        };
        let text = match e.kind {
            Kind::Kerberos => format!(
                "{}; the cluster admits only callers with Kerberos tickets, which cellfs does not speak: ask for a \
                 cluster, or a gateway, with simple authentication",
                e.text
            ),
            Kind::TooLarge => format!(
                "{}; hbase.server.keyvalue.maxsize of the cluster is the most that a cell has there with its names, \
                 hbase.ipc.max.request.size a request",
                e.text
            ),
            _ => e.text,
        };
        Self::new(kind, text)
    }
}

/// What a cluster cannot give, and what to do instead.
pub(super) fn unsupported<T>(text: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, text))
}

pub(super) fn table_name(name: &TableName) -> schema::TableName {
    schema::TableName { namespace: name.namespace.as_bytes().to_vec(), qualifier: name.name.as_bytes().to_vec() }
}

/// `None` for a name that is no text.
pub(super) fn own_name(name: &schema::TableName) -> Option<TableName> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    TableName::new(&text(&name.namespace)?, &text(&name.qualifier)?).ok()
}

/// `None`: everything. When a version was written is not known of a cluster: its timestamp stands for that.
pub(super) fn time_range(range: TimeRange) -> Option<schema::TimeRange> {
    let max = range.max.min(range.as_of.saturating_add(1)).max(range.min);
    let limits = || schema::TimeRange { from: Some(range.min.cast_unsigned()), to: Some(max.cast_unsigned()) };
    (range != TimeRange::ALL).then(limits)
}

pub(super) fn column(key: &ColumnKey) -> Vec<data::Column> {
    vec![data::Column { family: key.family.as_bytes().to_vec(), qualifier: vec![key.qualifier.clone()] }]
}

/// A cell of an answer.
pub(super) fn cell(cell: client::Cell) -> Cell {
    Cell {
        family: String::from_utf8_lossy(&cell.family).into_owned(),
        qualifier: cell.qualifier,
        timestamp: Timestamp(cell.timestamp),
        kind: CellKind::from_code(cell.kind).unwrap_or(CellKind::Put),
        // A client is shown no tags.
        tags: Tags::default(),
        value: cell.value,
    }
}

/// A version of a column, its value to be read by its key and timestamp. A cluster numbers no writes for its clients:
/// the timestamp, by which versions of a column are ordered, stands for the number.
pub(super) fn info(key: &ColumnKey, timestamp: Timestamp, len: u64, family: Option<&FamilySchema>) -> CellInfo {
    let ttl = family.and_then(|family| family.rules.ttl_ms).and_then(|ttl| i64::try_from(ttl).ok());
    CellInfo {
        timestamp,
        seq: SeqNo(timestamp.0.cast_unsigned()),
        tags: Tags::default(),
        value: value_ref(key, len),
        deleted_at: None,
        hidden_from: None,
        expires_at: ttl.map(|ttl| Timestamp(timestamp.0.saturating_add(ttl))),
    }
}

fn value_ref(key: &ColumnKey, len: u64) -> ValueRef {
    match postcard::to_allocvec(key) {
        Ok(key) if len > 0 => ValueRef::Of { len, family: FamilyId(0), key: key.into() },
        _ => ValueRef::default(),
    }
}

/// The length that stands in place of a value, see [`super::client::proto::filter::lengths_only`].
pub(super) fn length(value: &[u8]) -> Result<u64> {
    let bytes = value.try_into().map_err(|_| Error::new(ErrorKind::Io, "the cluster answered with values unasked"))?;
    Ok(u64::from(u32::from_be_bytes(bytes)))
}
