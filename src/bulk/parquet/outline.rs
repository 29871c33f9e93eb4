//! What the columns of a Parquet file are, and which of them a schema file names.

use std::collections::BTreeMap;

use crate::backend::Backend;
use crate::bulk::delimited::KEY;
use crate::model::{Qualifier, TableName, ValueType, split_column_name};
use crate::{Error, ErrorKind, Result};

/// The timestamp of a row's cells (HBase: ImportTsv).
pub(super) const TIME: &str = "HBASE_TS_KEY";
/// Where a file says which of its numbers are counters: the names of their columns, as JSON.
pub(super) const COUNTERS: &str = "cellfs.counters";

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Any bytes.
    Binary,
    Utf8,
    Json,
    /// Whole numbers of 64 bits, which cells have as decimals.
    I64,
    /// The same, which cells have as eight bytes: counters.
    U64,
}

impl ColumnType {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "binary" => Self::Binary,
            "utf8" => Self::Utf8,
            "json" => Self::Json,
            "i64" => Self::I64,
            "u64" => Self::U64,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Utf8 => "utf8",
            Self::Json => "json",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }
}

/// What is known of the columns of a file before the first row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Of the row key; `None`: what the first rows show.
    pub key: Option<ColumnType>,
    /// Whether the newest timestamp of the cells of a row is a column.
    pub has_time: bool,
    /// Ascending; of columns that are not here it is what the first rows show.
    pub columns: BTreeMap<(String, Qualifier), ColumnType>,
}

impl Outline {
    /// From a schema file: a column and its type a line; what is behind `#` is a comment.
    pub fn parse(text: &str) -> Result<Self> {
        let mut outline = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |reason: String| Error::new(ErrorKind::IllegalArgument, format!("line {number}: {reason}"));
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some((name, kind)) = line.rsplit_once(char::is_whitespace) else {
                return Err(wrong("a line is a column and its type, as `f:q i64`".to_owned()));
            };
            let name = name.trim_end();
            let kind = ColumnType::parse(kind).ok_or_else(|| {
                wrong(format!("`{}` is no type: binary, utf8, json, i64 or u64", kind.escape_debug()))
            })?;
            if outline.take(name, kind).map_err(wrong)? {
                return Err(wrong(format!("{name} stands there twice")));
            }
        }
        Ok(outline)
    }

    /// Whether the column was there already.
    fn take(&mut self, name: &str, kind: ColumnType) -> std::result::Result<bool, String> {
        if name.as_bytes() == KEY {
            if !matches!(kind, ColumnType::Binary | ColumnType::Utf8) {
                return Err("the row key is utf8 or binary".to_owned());
            }
            return Ok(self.key.replace(kind).is_some());
        }
        if name == TIME {
            if kind != ColumnType::I64 {
                return Err(format!("{TIME} is i64"));
            }
            return Ok(std::mem::replace(&mut self.has_time, true));
        }
        Ok(self.columns.insert(split_column_name(name)?, kind).is_some())
    }

    /// What the checks of a table say of columns.
    pub fn of_checks(backend: &dyn Backend, table: &TableName, columns: &[(String, Qualifier)]) -> Result<Self> {
        let catalogue = backend.catalogue()?;
        let mut outline = Self::default();
        for column in columns {
            let family = catalogue.tables.get(table).and_then(|table| table.families.get(&column.0));
            for constraint in family.into_iter().flat_map(|family| family.constraints.values()) {
                let rule = constraint.rule()?;
                let of = rule.value_type.as_ref().filter(|_| rule.is_of(&column.1));
                let kind = match of {
                    Some(ValueType::Utf8) => ColumnType::Utf8,
                    Some(ValueType::Json) => ColumnType::Json,
                    Some(ValueType::I64) => ColumnType::I64,
                    Some(ValueType::U64) => ColumnType::U64,
                    // What matches a pattern need not be text.
                    Some(ValueType::Regex(_)) | None => continue,
                };
                outline.columns.insert(column.clone(), kind);
            }
        }
        Ok(outline)
    }
}
