//! Words that HBase's shell knows without quotes; each stands for its own name.

use crate::model::declared::attributes::{family_defaults, table_defaults};

const CONSTANTS: &[&str] = &[
    "ALLOW_PARTIAL_RESULTS",
    "ALL_METRICS",
    "ATTRIBUTES",
    "AUTHORIZATIONS",
    "BATCH",
    "CACHE",
    "CACHE_BLOCKS",
    "CHECK",
    "CLUSTER_KEY",
    "COLUMN",
    "COLUMNS",
    "CONFIG",
    "CONFIGURATION",
    "CONSISTENCY",
    "DATA",
    "ENDPOINT_CLASSNAME",
    "FILTER",
    "FORMATTER",
    "FORMATTER_CLASS",
    "INTERVAL",
    "ISOLATION_LEVEL",
    "IS_ROOT",
    "LENGTH",
    "LIMIT",
    "LOCALITY_THRESHOLD",
    "MAXLENGTH",
    "MAX_RESULT_SIZE",
    "METADATA",
    "METHOD",
    "METRICS",
    "NAME",
    "NAMESPACE",
    "NAMESPACES",
    "NONE",
    "NUMREGIONS",
    "POLICY",
    "RAW",
    "READ_TYPE",
    "REFERENCES",
    "REGEX",
    "REGIONSERVER",
    "REGION_REPLICA_ID",
    "REQUIRED",
    "RESTORE_ACL",
    "REVERSED",
    "ROWPREFIXFILTER",
    "SERIAL",
    "SERVER_NAME",
    "SKIP_FLUSH",
    "SPLITALGO",
    "SPLITS",
    "SPLITS_FILE",
    "STARTROW",
    "STATE",
    "STOPROW",
    "TABLE",
    "TABLE_CFS",
    "TABLE_NAME",
    "TABLE_NAMES",
    "TIMERANGE",
    "TIMESTAMP",
    "TYPE",
    "USER",
    "VALUE",
    "VISIBILITY",
];

/// All constants: those of HBaseConstants and the names of all attributes.
pub fn all() -> impl Iterator<Item = &'static str> {
    let attributes = family_defaults().map(|(name, _)| name).chain(table_defaults().map(|(name, _)| name));
    CONSTANTS.iter().copied().chain(attributes)
}

/// Whether the word is one of them.
pub fn is_constant(word: &str) -> bool {
    all().any(|name| name == word)
}
