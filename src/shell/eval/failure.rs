//! What can end a statement early, and HBase's words for it.

use super::value::Value;
use crate::model::TableName;
use crate::shell::syntax::tree::Jump;
use crate::{Error, ErrorKind};

/// Why a statement did not come to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// A command refuses: `ERROR: text`.
    Refused(String),
    /// The store refuses; its words depend on the command.
    Store(Error),
    /// One of Ruby's own exceptions: class and message.
    Ruby(&'static str, String),
    /// `break` or `next`, outside of any loop in the end.
    Jump(Jump),
    /// Ctrl-C.
    Interrupted,
    /// `exit`, with a status.
    Exit(u8),
    /// The output cannot be written.
    Output(Error),
    /// The error that ends the session (`-n`).
    Stopped(String),
}

/// Result of a command or an expression.
pub type Outcome<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Store(error)
    }
}

/// A refusal in the command's own words.
pub fn refuse<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Refused(text.into()))
}

/// One of Ruby's own exceptions.
pub fn ruby<T>(class: &'static str, text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Ruby(class, text.into()))
}

/// Ruby's sentence about a method that is not there.
pub fn no_method<T>(name: &str, of: &Value) -> Outcome<T> {
    ruby("NoMethodError", format!("undefined method `{name}' for {}:{}", of.inspect(), of.class()))
}

/// The text after `ERROR: `. `subject` is the command's first argument: a table, mostly.
pub fn words(error: &Error, subject: &str) -> String {
    let message = error.message.as_str();
    let named = |class: &str| {
        let of_cluster = message.strip_prefix(class.rsplit('.').next().unwrap_or(class));
        let said = of_cluster.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        format!("org.apache.hadoop.hbase.{class}: {said}")
    };
    match error.kind {
        ErrorKind::NoSuchTable => format!("Unknown table {subject}!"),
        ErrorKind::TableExists => format!("Table already exists: {subject}!"),
        ErrorKind::TableDisabled => format!("Table {subject} is disabled!"),
        ErrorKind::TableEnabled => format!("Table {subject} should be disabled!"),
        ErrorKind::NoSuchNamespace => format!("Unknown namespace {}!", namespace(subject)),
        ErrorKind::NamespaceExists => named("NamespaceExistException"),
        ErrorKind::Constraint | ErrorKind::NotEmpty => named("constraint.ConstraintException"),
        ErrorKind::QuotaExceeded => named("quotas.QuotaExceededException"),
        ErrorKind::FailedSanityCheck => named("exceptions.FailedSanityCheckException"),
        ErrorKind::ReadOnlyTable => "org.apache.hadoop.hbase.DoNotRetryIOException: region is read only".into(),
        ErrorKind::Refused => {
            let first = message.split("; ").next().unwrap_or(message);
            match first.split_once(": ") {
                // A cluster has said which it is.
                Some((class, _)) if is_exception(class) => format!("org.apache.hadoop.hbase.{first}"),
                _ => format!("org.apache.hadoop.hbase.DoNotRetryIOException: {first}"),
            }
        }
        ErrorKind::IllegalArgument => filter_words(message).unwrap_or(message).to_owned(),
        _ => message.to_owned(),
    }
}

/// Whether a word is the name of one of Java's exceptions.
fn is_exception(word: &str) -> bool {
    word.ends_with("Exception") && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// HBase says less of a filter that it cannot read.
fn filter_words(message: &str) -> Option<&str> {
    if message.starts_with("Incorrect Filter String") {
        return Some("Incorrect Filter String");
    }
    let end = message.strip_prefix("Filter Name ").and_then(|_| message.find(" not supported"))?;
    message.get(..end + " not supported".len())
}

fn namespace(subject: &str) -> &str {
    subject.split_once(':').map_or(subject, |(namespace, _)| namespace)
}

/// Parses a table's name as an argument of a command.
pub fn table_name(text: &str) -> Outcome<TableName> {
    TableName::parse(text).map_err(Failure::from)
}
