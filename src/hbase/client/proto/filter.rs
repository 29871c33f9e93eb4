//! Filters and comparators: Filter.proto, Comparator.proto; and how they are named.

use prost::Message;

use super::data::Named;

const FILTERS: &str = "org.apache.hadoop.hbase.filter.";

/// A filter or a comparator of HBase's own package, by the last part of its class name.
pub fn named(class: &str, message: &impl Message) -> Named {
    Named { name: format!("{FILTERS}{class}"), serialized: Some(message.encode_to_vec()) }
}

#[derive(Clone, PartialEq, Message)]
pub struct ByteArrayComparable {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub value: Option<Vec<u8>>,
}

/// Of BinaryComparator and BinaryPrefixComparator.
#[derive(Clone, PartialEq, Message)]
pub struct BinaryComparator {
    #[prost(message, required, tag = "1")]
    pub comparable: ByteArrayComparable,
}

impl BinaryComparator {
    pub fn of(value: &[u8]) -> Self {
        Self { comparable: ByteArrayComparable { value: Some(value.to_vec()) } }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct RegexStringComparator {
    #[prost(string, required, tag = "1")]
    pub pattern: String,
    #[prost(int32, required, tag = "2")]
    pub pattern_flags: i32,
    #[prost(string, required, tag = "3")]
    pub charset: String,
    #[prost(string, optional, tag = "4")]
    pub engine: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SubstringComparator {
    #[prost(string, required, tag = "1")]
    pub substr: String,
}

/// `stored OP given`; of a Row-, Family-, Qualifier- and ValueFilter wrapped in [`Compared`].
#[derive(Clone, PartialEq, Message)]
pub struct CompareFilter {
    #[prost(int32, required, tag = "1")]
    pub compare_op: i32,
    #[prost(message, optional, tag = "2")]
    pub comparator: Option<Named>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Compared {
    #[prost(message, required, tag = "1")]
    pub compare_filter: CompareFilter,
}

#[derive(Clone, PartialEq, Message)]
pub struct DependentColumnFilter {
    #[prost(message, required, tag = "1")]
    pub compare_filter: CompareFilter,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub column_family: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub column_qualifier: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "4")]
    pub drop_dependent_column: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ColumnCountGetFilter {
    #[prost(int32, required, tag = "1")]
    pub limit: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnPaginationFilter {
    #[prost(int32, required, tag = "1")]
    pub limit: i32,
    #[prost(int32, optional, tag = "2")]
    pub offset: Option<i32>,
}

/// Of PrefixFilter, ColumnPrefixFilter and InclusiveStopFilter.
#[derive(Clone, PartialEq, Message)]
pub struct OneKey {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub key: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnRangeFilter {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub min_column: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "2")]
    pub min_column_inclusive: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub max_column: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "4")]
    pub max_column_inclusive: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnValueFilter {
    #[prost(bytes = "vec", required, tag = "1")]
    pub family: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub qualifier: Vec<u8>,
    #[prost(int32, required, tag = "3")]
    pub compare_op: i32,
    #[prost(message, required, tag = "4")]
    pub comparator: Named,
}

/// `operator` 1: all must pass, 2: one must.
#[derive(Clone, PartialEq, Message)]
pub struct FilterList {
    #[prost(int32, required, tag = "1")]
    pub operator: i32,
    #[prost(message, repeated, tag = "2")]
    pub filters: Vec<Named>,
}

/// Of SkipFilter and WhileMatchFilter.
#[derive(Clone, PartialEq, Message)]
pub struct Wrapped {
    #[prost(message, required, tag = "1")]
    pub filter: Named,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct KeyOnlyFilter {
    /// In place of a value its length, 4 bytes.
    #[prost(bool, required, tag = "1")]
    pub len_as_val: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultipleColumnPrefixFilter {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub sorted_prefixes: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct PageFilter {
    #[prost(int64, required, tag = "1")]
    pub page_size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct SingleColumnValueFilter {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub column_family: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub column_qualifier: Option<Vec<u8>>,
    #[prost(int32, required, tag = "3")]
    pub compare_op: i32,
    #[prost(message, required, tag = "4")]
    pub comparator: Named,
    #[prost(bool, optional, tag = "5")]
    pub filter_if_missing: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub latest_version_only: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SingleColumnValueExcludeFilter {
    #[prost(message, required, tag = "1")]
    pub single_column_value_filter: SingleColumnValueFilter,
}

#[derive(Clone, PartialEq, Message)]
pub struct TimestampsFilter {
    #[prost(int64, repeated, packed = "true", tag = "1")]
    pub timestamps: Vec<i64>,
    #[prost(bool, optional, tag = "2")]
    pub can_hint: Option<bool>,
}

/// All of these must pass, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    All,
    Any,
}

/// A list of filters; a single one stands for itself.
pub fn list(join: Join, mut filters: Vec<Named>) -> Named {
    if filters.len() == 1 {
        return filters.remove(0);
    }
    let operator = if join == Join::All { 1 } else { 2 };
    named("FilterList", &FilterList { operator, filters })
}

/// Cells without their values; in place of each its length, as 4 bytes.
pub fn lengths_only() -> Named {
    named("KeyOnlyFilter", &KeyOnlyFilter { len_as_val: true })
}

/// The first cell of a row.
pub fn first_key_only() -> Named {
    named("FirstKeyOnlyFilter", &super::schema::Empty {})
}

/// Columns from one on and before another (empty: to the end).
pub fn column_range(from: &[u8], before: &[u8]) -> Named {
    named(
        "ColumnRangeFilter",
        &ColumnRangeFilter {
            min_column: Some(from.to_vec()),
            min_column_inclusive: Some(true),
            max_column: (!before.is_empty()).then(|| before.to_vec()),
            max_column_inclusive: Some(false),
        },
    )
}

/// `name OP bytes` of a Row-, Family-, Qualifier- or ValueFilter; EQUAL is 2.
pub fn compared(class: &str, compare_op: i32, comparator: Named) -> Named {
    named(class, &Compared { compare_filter: CompareFilter { compare_op, comparator: Some(comparator) } })
}

/// Exactly these bytes.
pub fn binary(value: &[u8]) -> Named {
    named("BinaryComparator", &BinaryComparator::of(value))
}
