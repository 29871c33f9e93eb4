//! What a check of a store tells.

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// What a crash leaves; the next start deals with it.
    Note,
    /// Something is not as it was written.
    Damage,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    pub file: String,
    /// Bytes from the start of the file, where that is known.
    pub offset: Option<u64>,
    /// The cell that it touches, where that is known.
    pub cell: Option<String>,
    /// A sentence.
    pub text: String,
}

/// Told while a check runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckEvent {
    /// Bytes of segments and rows of the index looked at, and of how many.
    Progress {
        done: u64,
        total: u64,
    },
    Finding(Finding),
    /// A snapshot was looked at; what was found there.
    Snapshot {
        name: String,
        summary: CheckSummary,
    },
    End(CheckSummary),
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSummary {
    pub segments: u64,
    pub bytes: u64,
    pub records: u64,
    pub entries: u64,
    /// Rows of the index.
    pub rows: u64,
    /// Findings that are damage.
    pub damages: u64,
    pub notes: u64,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset}")?;
        }
        write!(f, ": {}", self.text)?;
        match &self.cell {
            Some(cell) => write!(f, " ({cell})"),
            None => Ok(()),
        }
    }
}
