//! The one error type: what failed, where, and what the user can do about it.
//!
//! Must not know errno (that is chosen in `fs::errno`) nor how a message is printed.

use serde::{Deserialize, Serialize};

/// What a handle is told whose write was refused, and again at its close: the reason was told before.
pub const WRITE_REFUSED: &str = "a write to this file was refused: nothing of it is stored; open it again";
/// Between the sentence of a refused rename and the path that was to be renamed.
pub const RENAMED: &str = " (what was to be renamed: ";
/// As [`WRITE_REFUSED`], of a close.
pub const CLOSE_REFUSED: &str = "what its close was refused is not stored";

/// What kind of thing went wrong; decides errno, exit status and the HBase exception that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No namespace of that name.
    NoSuchNamespace,
    /// A namespace of that name exists.
    NamespaceExists,
    /// No table of that name.
    NoSuchTable,
    /// A table of that name exists.
    TableExists,
    /// The table is disabled.
    TableDisabled,
    /// The table must be disabled first.
    TableEnabled,
    /// The table has no family of that name.
    NoSuchFamily,
    /// A family of that name exists.
    FamilyExists,
    /// No row, column, version, snapshot or file of that name.
    NotFound,
    /// What a file that is open belongs to was deleted.
    Stale,
    /// Another change came between the look and the change: look again.
    Overtaken,
    /// The file is a program that runs.
    Executing,
    /// Something of that name exists.
    AlreadyExists,
    /// No extended attribute of that name.
    NoAttribute,
    /// Not empty.
    NotEmpty,
    /// An argument that can never be right (HBase: IllegalArgumentException).
    IllegalArgument,
    /// Well formed, but refused by the rules of a schema or a sanity check (HBase: DoNotRetryIOException).
    Refused,
    /// Explicit timestamp too far in the future (HBase: FailedSanityCheckException).
    FailedSanityCheck,
    /// A reserved name or a rule of namespaces (HBase: ConstraintException).
    Constraint,
    /// A filter or scan option that does not go with another (HBase: IncompatibleFilterException).
    IncompatibleFilter,
    /// A value longer than the store's limit.
    ValueTooLarge,
    /// A row key, qualifier or name longer than its limit.
    NameTooLong,
    /// The table is READONLY.
    ReadOnlyTable,
    /// The store, or the tree, takes no writes.
    ReadOnlyStore,
    /// A quota is used up.
    QuotaExceeded,
    /// The disk under the store is full.
    NoSpace,
    /// A bounded resource of the daemon (handles, connections) is used up.
    TooMany,
    /// Stored bytes that do not match their checksum.
    Corrupt,
    /// A sync failed earlier: nothing is acknowledged until a restart.
    Poisoned,
    /// Another process holds the store.
    Locked,
    /// The store was written by a newer release.
    NewerFormat,
    /// The move cannot be done in one atomic step (see `cellfs mv`).
    CrossDevice,
    /// The tree has no such thing at this level (links, devices, deeper directories).
    NotPermitted,
    /// The caller's process is not allowed to.
    AccessDenied,
    /// Not offered by this backend.
    Unsupported,
    /// Busy: mounted, in use.
    Busy,
    /// The daemon went away.
    Disconnected,
    /// The daemon is there and does not answer.
    TimedOut,
    /// The operating system refused; the message has its words.
    Io,
}

/// The reason at the end of what a library says in several lines, as that of regular expressions draws where it is.
pub fn reason(source: impl std::fmt::Display) -> String {
    let text = source.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Text for one line of a terminal, a log or a list of errors: control characters, which names and arguments may have,
/// are escaped; nothing else is changed.
pub fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

/// Message of the error that says that the reader of our output has gone.
pub const CLOSED: &str = "standard output was closed";

/// A failure: a kind for programs, a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
}

/// Result with the crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What to do about an error number of the operating system that does not say so itself.
fn way_out(errno: i32) -> &'static str {
    match errno {
        libc::EMFILE => {
            ". This process has as many files open as it may: raise that limit (`ulimit -n`, or LimitNOFILE= of the service) and \
             start it anew, and delete snapshots that are not needed, whose segments take one each"
        }
        libc::ENFILE => {
            ". The machine, or what serves this file, has as many files open as it may: close some, or raise fs.file-max (sysctl)"
        }
        _ => "",
    }
}

impl ErrorKind {
    /// Whether it is what a row or a cell has that is refused: others may be taken.
    pub fn is_of_what_is_put(self) -> bool {
        matches!(
            self,
            Self::IllegalArgument
                | Self::FailedSanityCheck
                | Self::Constraint
                | Self::Refused
                | Self::ValueTooLarge
                | Self::NoSuchFamily
                | Self::AlreadyExists
        )
    }
}

impl Error {
    /// An error of `kind`; `message` says what failed, where, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An operating system error met while doing `what` (a phrase such as `write /store/000012.seg`).
    pub fn io(what: impl std::fmt::Display, source: &std::io::Error) -> Self {
        let kind = match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => ErrorKind::NoSpace,
            Some(libc::EROFS) => ErrorKind::ReadOnlyStore,
            Some(libc::EACCES | libc::EPERM) => ErrorKind::AccessDenied,
            Some(libc::ENOENT) => ErrorKind::NotFound,
            Some(libc::EMFILE | libc::ENFILE) => ErrorKind::TooMany,
            _ => ErrorKind::Io,
        };
        let way = source.raw_os_error().map_or("", way_out);
        Self::new(kind, format!("{what}: {source}{way}"))
    }

    /// Same kind, with `context: ` before the message.
    #[must_use]
    pub fn context(mut self, context: impl std::fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}
