//! Schemas as HBase's `describe` prints them.

use std::collections::BTreeMap;

use super::attributes::{family_defaults, parse_seconds};
use crate::model::{ConstraintSchema, FamilySchema, IndexSchema, IndexState, TableSchema, TableState};

/// Key of a table's configuration that holds its split points, in hexadecimal, with commas.
pub const SPLITS: &str = "cellfs.splits";

/// What HBase's descriptor has of its own, in its order; all else it shows as METADATA.
const FAMILY_ORDER: &[&str] = &[
    "INDEX_BLOCK_ENCODING",
    "MOB_THRESHOLD",
    "VERSIONS",
    "KEEP_DELETED_CELLS",
    "DATA_BLOCK_ENCODING",
    "TTL",
    "MIN_VERSIONS",
    "REPLICATION_SCOPE",
    "BLOOMFILTER",
    "IN_MEMORY",
    "IS_MOB",
    "COMPRESSION",
    "BLOCKCACHE",
    "BLOCKSIZE",
];
/// Shown when they were set, and only then.
const ONLY_WHEN_SET: &[&str] = &["MOB_THRESHOLD", "IS_MOB"];
const TABLE_ORDER: &[&str] =
    &["DURABILITY", "MAX_FILESIZE", "MEMSTORE_FLUSHSIZE", "PRIORITY", "READONLY", "REGION_REPLICATION"];
/// How HBase 2.6 marks every table.
const FILE_TRACKER: (&str, &str) = ("hbase.store.file-tracker.impl", "DEFAULT");

fn pair(name: &str, text: &str) -> String {
    format!("{name} => '{text}'")
}

fn map(name: &str, entries: &BTreeMap<&str, &str>) -> Option<String> {
    let pairs: Vec<_> = entries.iter().map(|(key, value)| format!("'{key}' => '{value}'")).collect();
    (!pairs.is_empty()).then(|| format!("{name} => {{{}}}", pairs.join(", ")))
}

/// State, attributes and families of a table, each on a line; an empty one after each family.
pub fn lines(table: &TableSchema) -> Vec<String> {
    let state = if table.state == TableState::Enabled { "ENABLED" } else { "DISABLED" };
    let mut lines = vec![
        format!("Table {} is {state}", table.name),
        format!("{}{}", table.name, table_attributes(table)),
        "COLUMN FAMILIES DESCRIPTION".to_owned(),
    ];
    lines.extend(table.families.values().flat_map(|f| [family(f), String::new()]));
    if !table.indexes.is_empty() {
        lines.push("SECONDARY INDEXES DESCRIPTION".to_owned());
        lines.extend(table.indexes.values().flat_map(|of| [index(of), String::new()]));
    }
    let constraints: Vec<String> =
        table.families.values().flat_map(|of| of.constraints.values().map(|c| constraint(of, c))).collect();
    if !constraints.is_empty() {
        lines.push("CHECKS DESCRIPTION".to_owned());
        lines.extend(constraints.into_iter().flat_map(|text| [text, String::new()]));
    }
    lines
}

/// `{NAME => 'c', FAMILY => 'f', TYPE => 'i64', ...}`, ours.
pub fn constraint(family: &FamilySchema, constraint: &ConstraintSchema) -> String {
    let mut parts = vec![pair("NAME", &constraint.name), pair("FAMILY", &family.name)];
    for (name, text) in constraint.attributes() {
        parts.push(pair(&name.to_ascii_uppercase(), &text.replace('\'', "''")));
    }
    format!("{{{}}}", parts.join(", "))
}

/// `{NAME => 'i', COLUMNS => 'f:q', ..., STATE => 'COMPLETE'}`, ours.
pub fn index(index: &IndexSchema) -> String {
    let mut parts = vec![pair("NAME", &index.name)];
    for (name, text) in index.attributes() {
        parts.push(pair(&name.to_ascii_uppercase(), &text.replace('\'', "''")));
    }
    let state = match &index.state {
        _ if index.columns.is_empty() => "WITHOUT COLUMNS".to_owned(),
        IndexState::Building => "BUILDING".to_owned(),
        IndexState::Complete => "COMPLETE".to_owned(),
        IndexState::Twofold(text) => format!("NOT UNIQUE: {text}"),
    };
    parts.push(pair("STATE", &state));
    format!("{{{}}}", parts.join(", "))
}

/// `{NAME => 'f', ...}`.
pub fn family(family: &FamilySchema) -> String {
    let mut parts = vec![pair("NAME", &family.name)];
    for name in FAMILY_ORDER {
        let default = family_defaults().find(|(known, _)| known == name).and_then(|(_, default)| default);
        let set = family.attributes.get(*name).map(String::as_str);
        if let Some(text) = set.or(default.filter(|_| !ONLY_WHEN_SET.contains(name))) {
            parts.push(pair(name, &shown(name, text)));
        }
    }
    let others = family.attributes.iter().filter(|(name, _)| !FAMILY_ORDER.contains(&name.as_str()));
    let metadata = others.chain(&family.metadata).map(|(key, text)| (key.as_str(), text.as_str())).collect();
    parts.extend(map("METADATA", &metadata));
    let configuration = family.configuration.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    parts.extend(map("CONFIGURATION", &configuration));
    format!("{{{}}}", parts.join(", "))
}

/// `, {TABLE_ATTRIBUTES => {...}}`.
pub fn table_attributes(table: &TableSchema) -> String {
    let mut parts: Vec<String> = Vec::new();
    for name in TABLE_ORDER {
        if let Some(text) = table.attributes.get(*name) {
            parts.push(pair(name, &shown(name, text)));
        }
    }
    let others = table.attributes.iter().filter(|(name, _)| !TABLE_ORDER.contains(&name.as_str()));
    let configuration = table.configuration.iter().filter(|(name, _)| *name != SPLITS);
    let all = others.chain(&table.metadata).chain(configuration);
    let mut metadata: BTreeMap<&str, &str> = all.map(|(key, text)| (key.as_str(), text.as_str())).collect();
    metadata.entry(FILE_TRACKER.0).or_insert(FILE_TRACKER.1);
    parts.extend(map("METADATA", &metadata));
    format!(", {{TABLE_ATTRIBUTES => {{{}}}}}", parts.join(", "))
}

/// `'t', {TABLE_ATTRIBUTES => ..}, {NAME => 'f', ..}`: a table in an error of HBase.
pub fn table(table: &TableSchema) -> String {
    let families: String = table.families.values().map(|f| format!(", {}", family(f))).collect();
    format!("'{}'{}{families}", table.name, table_attributes(table))
}

fn shown(name: &str, text: &str) -> String {
    match name {
        "TTL" => parse_seconds(text).ok().flatten().map_or_else(|| "FOREVER".to_owned(), duration),
        "BLOCKSIZE" | "MAX_FILESIZE" | "MEMSTORE_FLUSHSIZE" => text.parse().map_or_else(|_| text.to_owned(), size),
        _ => text.to_owned(),
    }
}

fn counted(units: &[(u64, &str)], amount: u64, between: &str) -> String {
    let mut rest = amount;
    let mut parts = Vec::new();
    for (unit, name) in units {
        let count = rest / unit;
        rest %= unit;
        if count > 0 {
            let plural = if between == " " && count > 1 { "S" } else { "" };
            parts.push(format!("{count}{between}{name}{plural}"));
        }
    }
    parts.join(" ")
}

/// `93600 SECONDS (1 DAY 2 HOURS)` (PrettyPrinter.humanReadableTTL).
fn duration(seconds: u64) -> String {
    let units = [(86_400, "DAY"), (3_600, "HOUR"), (60, "MINUTE"), (1, "SECOND")];
    match seconds {
        1 => "1 SECOND".into(),
        0..60 => format!("{seconds} SECONDS"),
        _ => format!("{seconds} SECONDS ({})", counted(&units, seconds, " ")),
    }
}

/// `65536 B (64KB)` (PrettyPrinter.humanReadableByte).
fn size(bytes: u64) -> String {
    let units = [(1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"), (1, "B")];
    if bytes < 1024 { format!("{bytes} B") } else { format!("{bytes} B ({})", counted(&units, bytes, "")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_for_people() {
        assert_eq!(duration(86_400), "86400 SECONDS (1 DAY)");
        assert_eq!(duration(1_805), "1805 SECONDS (30 MINUTES 5 SECONDS)");
        assert_eq!(duration(10), "10 SECONDS");
        assert_eq!(size(65_536), "65536 B (64KB)");
        assert_eq!(size(134_217_728), "134217728 B (128MB)");
        assert_eq!(size(1_500), "1500 B (1KB 476B)");
    }
}
