//! Regions and servers, where a store has such: a cluster does.

use crate::model::TableName;

/// A part of a table's rows that one server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// `TABLE,FIRST ROW,NUMBER.ENCODED.`
    pub name: Vec<u8>,
    pub encoded: String,
    pub start: Vec<u8>,
    /// The row before which it ends; empty: the last of its table.
    pub end: Vec<u8>,
    /// `HOST,PORT,START CODE`.
    pub server: String,
}

/// What a server says of itself. Bytes are whole MiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNumbers {
    /// `HOST,PORT,START CODE`.
    pub name: String,
    /// A second.
    pub requests: u64,
    pub regions: u64,
    pub files: u64,
    pub file_bytes: u64,
    pub memory_bytes: u64,
    pub used_heap_bytes: u64,
    pub most_heap_bytes: u64,
}

/// What a cluster says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterNumbers {
    /// The release that it runs.
    pub version: String,
    pub master: Option<String>,
    pub backup_masters: Vec<String>,
    pub servers: Vec<ServerNumbers>,
    pub dead: Vec<String>,
}

/// What a cluster does with regions by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionSwitch {
    Split,
    Merge,
}

/// What can be asked of the master about regions; each is named by its name or its encoded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionChange {
    /// All regions of a table that can be, or the one that has the row, at that row.
    SplitTable(TableName, Option<Vec<u8>>),
    SplitRegion(String, Option<Vec<u8>>),
    Merge {
        regions: Vec<String>,
        forcible: bool,
    },
    /// To a server, or to any.
    Move(String, Option<String>),
    Assign(String),
    Unassign(String),
    /// Answered by whether it ran.
    Balance,
    /// Answered by whether it was on.
    SwitchBalancer(bool),
    /// Answered by whether it is on.
    AskBalancer,
    /// What the cluster does by itself; answered by whether it did.
    SwitchRegions(RegionSwitch, bool),
    /// Answered by whether it does.
    AskRegions(RegionSwitch),
}

impl RegionChange {
    /// Whether it changes nothing.
    pub fn is_question(&self) -> bool {
        match self {
            Self::AskBalancer | Self::AskRegions(_) => true,
            Self::SplitTable(..)
            | Self::SplitRegion(..)
            | Self::Merge { .. }
            | Self::Move(..)
            | Self::Assign(_)
            | Self::Unassign(_)
            | Self::Balance
            | Self::SwitchBalancer(_)
            | Self::SwitchRegions(..) => false,
        }
    }
}
