//! What can go wrong between here and a cluster, and what follows from it.
//!
//! Source of the kinds: the class hierarchy of HBase's exceptions; their texts are kept.

use super::proto::rpc::ExceptionResponse;

/// What a caller, or the retries, make of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The address cannot be read.
    Address,
    /// Nobody listens there, or the connection broke before the call was sent.
    Unreachable,
    /// The connection broke, or nothing came in time, after the call was sent: what it did is not known.
    Lost,
    /// What listens is no ZooKeeper, or no HBase.
    Protocol,
    /// ZooKeeper has no such node.
    NoNode,
    /// A cluster that admits only callers with tickets or tokens.
    Kerberos,
    /// A release that lacks what is needed here.
    TooOld,
    /// The operation took longer than it may.
    TimedOut,
    /// The region is not, or not yet, at that server.
    Location,
    /// The server has too much to do.
    Overloaded,
    /// The server stops or starts.
    ServerAway,
    /// The scanner is gone: open another at its place.
    Scanner,
    /// The master is not ready.
    MasterAway,
    /// Another failure that may pass.
    Passing,
    NoTable,
    TableExists,
    TableDisabled,
    TableEnabled,
    NoNamespace,
    NamespaceExists,
    NoFamily,
    NoSnapshot,
    SnapshotExists,
    AccessDenied,
    /// A cell or a request that is larger than the cluster takes.
    TooLarge,
    Quota,
    /// A rule of namespaces or names.
    Constraint,
    /// Any other refusal that stays one.
    Refused,
    /// Whether it was done is not known, and it must not be asked for twice.
    Doubtful,
}

/// A failure, with the text of the server where it came from one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    pub kind: Kind,
    pub text: String,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// With words on where it was met before its text.
    #[must_use]
    pub fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.text = format!("{place}: {}", self.text);
        self
    }

    /// Bytes that are not what the protocol says.
    pub fn protocol(what: impl std::fmt::Display) -> Self {
        Self::new(Kind::Protocol, format!("the answer cannot be read: {what}"))
    }

    /// Whether the same call may do better later.
    pub fn may_pass(&self) -> bool {
        use Kind::{Location, Lost, MasterAway, Overloaded, Passing, Scanner, ServerAway, Unreachable};
        matches!(self.kind, Location | Lost | MasterAway | Overloaded | Passing | Scanner | ServerAway | Unreachable)
    }

    /// Whether the server surely has not done what it was asked.
    pub fn is_undone(&self) -> bool {
        !matches!(self.kind, Kind::Lost | Kind::Passing | Kind::TimedOut)
    }

    /// Of an exception that a server answered with.
    pub fn remote(exception: &ExceptionResponse) -> Self {
        let class = exception.exception_class_name.as_deref().unwrap_or_default();
        let text = exception.stack_trace.as_deref().unwrap_or_default();
        let mut error = Self::of_class(class, text, exception.do_not_retry.unwrap_or(false));
        if exception.server_overloaded == Some(true) && error.may_pass() {
            error.kind = Kind::Overloaded;
        }
        error
    }

    /// Of a Java class and its text, whose first line tells.
    pub fn of_class(class: &str, text: &str, stays: bool) -> Self {
        let name = class.rsplit(['.', '$']).next().unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let said = line.strip_prefix(class).map_or(line, |rest| rest.trim_start_matches([':', ' ']));
        let shown = if said.is_empty() { name.to_owned() } else { format!("{name}: {said}") };
        let kind = kind_of(name, said).unwrap_or(if stays { Kind::Refused } else { Kind::Passing });
        Self::new(kind, shown)
    }
}

fn kind_of(name: &str, said: &str) -> Option<Kind> {
    Some(match name {
        "NotServingRegionException"
        | "RegionMovedException"
        | "RegionOpeningException"
        | "RegionOfflineException"
        | "WrongRegionException" => Kind::Location,
        // What a put gets that was sent to the wrong region.
        "FailedSanityCheckException" if said.contains("out of range") => Kind::Location,
        "CallQueueTooBigException"
        | "CallDroppedException"
        | "RegionTooBusyException"
        | "RpcThrottlingException"
        | "RetryImmediatelyException"
        | "MultiActionResultTooLarge" => Kind::Overloaded,
        "RegionServerStoppedException"
        | "RegionServerAbortedException"
        | "ServerNotRunningYetException"
        | "StoppedRpcClientException" => Kind::ServerAway,
        "PleaseHoldException" | "MasterNotRunningException" | "MasterStoppedException" => Kind::MasterAway,
        "UnknownScannerException" | "OutOfOrderScannerNextException" | "ScannerResetException" | "LeaseException" => {
            Kind::Scanner
        }
        "TableNotFoundException" => Kind::NoTable,
        "TableExistsException" => Kind::TableExists,
        "TableNotEnabledException" => Kind::TableDisabled,
        "TableNotDisabledException" => Kind::TableEnabled,
        "NamespaceNotFoundException" => Kind::NoNamespace,
        "NamespaceExistException" => Kind::NamespaceExists,
        "NoSuchColumnFamilyException" | "InvalidFamilyOperationException" => Kind::NoFamily,
        "SnapshotDoesNotExistException" => Kind::NoSnapshot,
        "SnapshotExistsException" => Kind::SnapshotExists,
        // A fault of the server's own comes again.
        _ if name == "NullPointerException" || said.contains("NullPointerException") => Kind::Refused,
        "AccessDeniedException" if said.contains("uthentication") => Kind::Kerberos,
        "AccessDeniedException" => Kind::AccessDenied,
        "RequestTooBigException" => Kind::TooLarge,
        "DoNotRetryIOException" if said.contains("exceeds limit") || said.contains("greater than max allowed") => {
            Kind::TooLarge
        }
        "QuotaExceededException" | "SpaceLimitingException" => Kind::Quota,
        "ConstraintException" => Kind::Constraint,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts as a server of 2.6.4 sent them.
    #[test]
    fn exceptions_of_a_server_keep_their_text_and_tell_what_to_do() {
        let cases = [
            (
                "org.apache.hadoop.hbase.NotServingRegionException",
                "org.apache.hadoop.hbase.NotServingRegionException: t,,1.abc. is not online on h,1,2\n\tat x",
                Kind::Location,
                "NotServingRegionException: t,,1.abc. is not online on h,1,2",
            ),
            (
                "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
                "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family nofam does not exist",
                Kind::NoFamily,
                "NoSuchColumnFamilyException: Column family nofam does not exist",
            ),
            (
                "org.apache.hadoop.hbase.DoNotRetryIOException",
                "org.apache.hadoop.hbase.DoNotRetryIOException: Cell[x] with size 11534366 exceeds limit of 10485760 bytes",
                Kind::TooLarge,
                "DoNotRetryIOException: Cell[x] with size 11534366 exceeds limit of 10485760 bytes",
            ),
            ("java.io.IOException", "java.io.IOException: disk", Kind::Passing, "IOException: disk"),
        ];
        for (class, trace, kind, text) in cases {
            assert_eq!(Error::of_class(class, trace, false), Error::new(kind, text));
        }
        assert_eq!(Error::of_class("a.B", "", true), Error::new(Kind::Refused, "B"));
    }
}
