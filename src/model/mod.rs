//! The nouns of the store: names, cells and their order, schema, mutations, queries.
//!
//! Pure data. Must not do I/O, read a clock, or know how anything is stored.

mod asked;
mod cells;
pub mod declared;
pub mod row_key;

pub use asked::check::{CheckEvent, CheckSummary, Finding, Severity};
pub use asked::draft::Draft;
pub use asked::mutation::{
    Append, ColumnDelta, CompareOp, Condition, DeleteKind, DeleteMarker, Durability, Increment, ManyRows, Mutated,
    Mutation, Origin, PutCell, RowMutations, Time, Value, Written, check_value_len, hidden_for_good, overtaken,
};
pub use asked::piece::{Cells, FoundCell, Piece, Results, TakePiece, VALUE_PIECE};
pub use asked::query::{ColumnSlice, Columns, Get, ReadSpec, Scan, Tells, after_prefix};
pub use asked::ttl::parse_cell_ttl;
pub use cells::cell::{
    Cell, CellInfo, CellKind, Generation, RowResult, SeqNo, StoredCell, Tags, Tombstone, ValueBytes, ValueRef,
};
pub use cells::file::{AttributeChange, FileAttributes, FileChange, FileRecord, FileTime, MODE_BITS};
pub use cells::json::{cell_json, column_name, json_bytes, json_text, split_column_name};
pub use cells::key_list::KeyList;
pub use cells::name::{
    ColumnKey, FamilyId, MAX_ROW_BYTES, Qualifier, RowKey, TableId, TableName, check_family, check_namespace, check_row,
};
pub use cells::shared::Shared;
pub use cells::text::{to_bytes_binary, to_string_binary};
pub use cells::time::{AHEAD_MS, TimeRange, Timestamp};
pub use declared::catalogue::{
    AttributeKey, AttributeMap, AttributeOwner, Catalogue, CatalogueChange, Dropped, DroppedThing, NamespaceSchema,
    NewFamilies, TableSchema, TableState,
};
pub use declared::constraint::{CONSTRAINT_ATTRIBUTES, ConstraintSchema, Rule, check_constraint_name};
pub use declared::index::{By, INDEX_ATTRIBUTES, IndexColumn, IndexSchema, IndexState, check_index_name};
pub use declared::schema::{
    Complete, Compression, FamilyRules, FamilySchema, KEEP_VERSIONS_FOR, KeepDeleted, file_family_attributes,
    give_attributes, has_new_version_behavior,
};
pub use declared::settings::{CHANGES_RETAIN, DEFAULT, Setting, SettingOrigin, Settings, VALUE_LIMIT};
pub use declared::value_type::ValueType;
