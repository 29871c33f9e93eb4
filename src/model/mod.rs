//! The nouns of the store: names, cells and their order, schema, mutations, queries.
//!
//! Pure data. Must not do I/O, read a clock, or know how anything is stored.

pub mod attributes;
mod catalogue;
mod cell;
mod check;
pub mod constraint;
pub mod describe;
mod draft;
mod file;
mod index;
mod json;
mod key_list;
mod mutation;
mod name;
mod piece;
mod query;
pub mod region;
pub mod row_key;
mod schema;
mod settings;
mod shared;
mod text;
mod time;
mod value_type;

pub use catalogue::{
    AttributeKey, AttributeMap, AttributeOwner, Catalogue, CatalogueChange, Dropped, DroppedThing, NamespaceSchema,
    NewFamilies, TableSchema, TableState,
};
pub use cell::{
    Cell, CellInfo, CellKind, Generation, RowResult, SeqNo, StoredCell, Tags, Tombstone, ValueBytes, ValueRef,
};
pub use check::{CheckEvent, CheckSummary, Finding, Severity};
pub use constraint::{CONSTRAINT_ATTRIBUTES, ConstraintSchema, Rule, check_constraint_name};
pub use draft::Draft;
pub use file::{AttributeChange, FileAttributes, FileChange, FileRecord, FileTime, MODE_BITS};
pub use index::{By, INDEX_ATTRIBUTES, IndexColumn, IndexSchema, IndexState, check_index_name};
pub use json::{cell_json, column_name, json_bytes, split_column_name};
pub use key_list::KeyList;
pub use mutation::{
    Append, ColumnDelta, CompareOp, Condition, DeleteKind, DeleteMarker, Durability, Increment, ManyRows, Mutated,
    Mutation, Origin, PutCell, RowMutations, Time, Value, Written, check_value_len,
};
pub use name::{
    ColumnKey, FamilyId, MAX_ROW_BYTES, Qualifier, RowKey, TableId, TableName, check_family, check_namespace, check_row,
};
pub use piece::{Cells, FoundCell, Piece, Results, TakePiece, VALUE_PIECE};
pub use query::{ColumnSlice, Columns, Get, ReadSpec, Scan, Tells, after_prefix};
pub use schema::{
    Complete, Compression, FamilyRules, FamilySchema, KEEP_VERSIONS_FOR, KeepDeleted, file_family_attributes,
    give_attributes, has_new_version_behavior,
};
pub use settings::{CHANGES_RETAIN, DEFAULT, Setting, SettingOrigin, Settings, VALUE_LIMIT};
pub use shared::Shared;
pub use text::{to_bytes_binary, to_string_binary};
pub use time::{AHEAD_MS, TimeRange, Timestamp};
pub use value_type::ValueType;
