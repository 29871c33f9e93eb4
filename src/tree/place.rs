//! What a node of the tree stands for; the identity of an inode.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::asking::question::{Kind, Question};
pub use super::schema::place::{FreeMap, SchemaPlace};
use super::view::View;
use crate::backend::Directory;
use crate::bulk::{Empty, Format};
use crate::model::{ColumnKey, RowKey, TableName, Timestamp};

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowPlace {
    pub table: TableName,
    pub row: RowKey,
}

/// A family of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FamilyPlace {
    pub table: TableName,
    pub row: RowKey,
    pub family: String,
}

/// A directory of the history that waits for the key of its row's shortened name: of the row, or of a family in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaitingPlace {
    pub table: TableName,
    /// The row's shortened name.
    pub name: Vec<u8>,
    pub family: Option<String>,
}

/// A directory of the history that takes scratch files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScratchDir {
    Row(RowPlace),
    Family(FamilyPlace),
    Waiting(WaitingPlace),
}

/// A file of the history that is no version: a program's temporary file, or one that waits for its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScratchPlace {
    pub dir: ScratchDir,
    pub name: Vec<u8>,
}

/// A directory or file of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Root,
    Namespace(Arc<str>),
    Table(Arc<TableName>),
    Row(Arc<RowPlace>),
    Family(Arc<FamilyPlace>),
    /// `q`: the newest version.
    Cell(Arc<ColumnKey>),
    /// `q@ts`.
    Version(Arc<ColumnKey>, Timestamp),
    /// `q@ts.deleted.T` of the history: a deleted version that is kept, and the time of the tombstone that ended it.
    Ended(Arc<ColumnKey>, Timestamp, Timestamp),
    /// `q@`: the directory of versions.
    Versions(Arc<ColumnKey>),
    /// `q@key`: the full qualifier.
    KeyFile(Arc<ColumnKey>),
    /// `row/.key`: the full row key.
    RowKey(Arc<RowPlace>),
    /// See [`ScratchPlace`].
    Scratch(Arc<ScratchPlace>),
    /// See [`WaitingPlace`].
    Waiting(Arc<WaitingPlace>),
    /// `q@counter`: an 8-byte counter as a decimal; a write of `+5` or `-1` increments it.
    Counter(Arc<ColumnKey>),
    /// `row/.json`: the whole row; a write patches it.
    Json(Arc<RowPlace>),
    /// `.prefix` and its like, in a table or a family: the directory whose names are arguments.
    Asking(Arc<Place>, Kind),
    /// `.count` of a table, a row or a family: how many rows, or cells, there are.
    Count(Arc<Place>),
    /// `.changes` of a table: what is committed in it, for whoever follows.
    Changes(Arc<TableName>),
    /// `.export` of one of these, and a file in it.
    Exports(Arc<Place>),
    Export(Arc<Place>, Format),
    /// `.import` of a table, and a file in it, which takes a stream.
    Imports(Arc<Place>),
    Import(Arc<Place>, Format, Empty),
    /// `.at` of the root, of a table or of a row: the directory whose names are times.
    Times(Arc<Place>),
    /// `.snapshot` of the root: the directory of snapshots, each the root of a tree.
    Snapshots,
    /// `.schema` and what is below it.
    Schema(Arc<SchemaPlace>),
    /// `.info/errors` and its like.
    Info(InfoPlace),
    /// `.info` of a namespace or a row: the way to `errors`.
    InfoOf(Arc<Place>),
    /// `TABLE/.info` and what is below it.
    TableInfo(Arc<TableName>, TableNoun),
    /// `complete` in `.schema/FAMILY/.info`.
    FamilyComplete(Arc<TableName>, Arc<str>),
}

/// The mount's own read-only nouns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InfoPlace {
    /// Each request, while somebody follows.
    Access,
    /// `mnt/.info`.
    Dir,
    /// `mnt/.info/errors`: the last refusals.
    Errors,
    /// `mnt/.info/requests`: how often each kind of request was made.
    Requests,
}

/// What is said about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableNoun {
    /// The directory.
    Dir,
    /// From when on `.at` shows all that there was.
    Complete,
    /// As HBase's shell describes it.
    Describe,
    /// Cells and bytes of each family.
    Families,
    /// Cells, bytes and timestamps of each qualifier.
    Qualifiers,
    /// Where each begins and ends, and who serves it.
    Regions,
    /// How many there are.
    Rows,
    /// Bytes.
    Size,
    /// Numbers by name.
    Stats,
}

/// A snapshot, told from one that gets its name later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotId {
    pub name: String,
    pub made_at: Timestamp,
}

/// Identity of a node: a place seen in a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeKey {
    /// The snapshot that it is in; `None`: in the present.
    pub snapshot: Option<Arc<SnapshotId>>,
    pub view: View,
    /// What part of it is shown; `None`: all.
    pub asked: Option<Arc<Question>>,
    pub place: Place,
}

impl Hash for NodeKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { snapshot, view, asked, place } = self;
        (snapshot, view, place).hash(state);
        // Numbers of files are made of it: those of the plain tree stay what they were.
        asked.iter().for_each(|asked| asked.hash(state));
    }
}

impl NodeKey {
    pub fn plain(place: Place) -> Self {
        Self { snapshot: None, view: View::Plain, asked: None, place }
    }

    /// A place of the same view, of which another part is shown.
    pub fn asked(&self, question: Question, place: Place) -> Self {
        let asked = (!question.is_empty()).then(|| Arc::new(question));
        Self { asked, ..self.sibling(place) }
    }

    /// A place of the same view.
    pub fn sibling(&self, place: Place) -> Self {
        self.viewed(self.view, place)
    }

    /// A place in another view, of the same snapshot or the present as this one.
    pub fn viewed(&self, view: View, place: Place) -> Self {
        Self { snapshot: self.snapshot.clone(), view, asked: self.asked.clone(), place }
    }

    /// Whether it is the directory that the last step of a scan path leads to.
    pub fn is_question(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| match self.place {
            Place::Table(_) => true,
            Place::Family(_) => !asked.cells.is_empty(),
            _ => false,
        })
    }

    /// Whether it is the plain tree of the present, which takes writes and is cached.
    pub fn is_present(&self) -> bool {
        self.snapshot.is_none() && self.view == View::Plain && self.asked.is_none()
    }
}

impl Place {
    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        match self {
            Place::Cell(_)
            | Place::Version(..)
            | Place::Ended(..)
            | Place::Scratch(_)
            | Place::KeyFile(_)
            | Place::RowKey(_)
            | Place::Counter(_)
            | Place::Json(_)
            | Place::FamilyComplete(..)
            | Place::Count(_)
            | Place::Changes(_)
            | Place::Export(..)
            | Place::Import(..)
            | Place::Info(InfoPlace::Access | InfoPlace::Errors | InfoPlace::Requests) => false,
            Place::Schema(schema) => schema.is_dir(),
            Place::TableInfo(_, noun) => *noun == TableNoun::Dir,
            _ => true,
        }
    }

    /// Whether it is a file whose bytes a program writes through a session: a cell, a version, a scratch file.
    pub fn is_value(&self) -> bool {
        matches!(self, Place::Cell(_) | Place::Version(..) | Place::Ended(..) | Place::Scratch(_))
    }

    /// The table that a place is or is in.
    pub fn table(&self) -> Option<&TableName> {
        match self {
            Place::Table(table) | Place::Changes(table) => Some(table),
            Place::Row(row) => Some(&row.table),
            Place::Family(family) => Some(&family.table),
            Place::Json(row) | Place::RowKey(row) => Some(&row.table),
            Place::Scratch(scratch) => Some(scratch.dir.table()),
            Place::Waiting(waiting) => Some(&waiting.table),
            Place::Times(base)
            | Place::Asking(base, _)
            | Place::Count(base)
            | Place::Exports(base)
            | Place::Export(base, _)
            | Place::Imports(base)
            | Place::Import(base, ..) => base.table(),
            _ => self.column().map(|column| &column.table),
        }
    }

    /// The same place in another table; schema places stay, they are never cached.
    #[must_use]
    pub fn with_table(&self, to: &TableName) -> Place {
        let table = to.clone();
        let of = |base: &Place| Arc::new(base.with_table(to));
        let moved = |column: &ColumnKey, table| Arc::new(ColumnKey { table, ..column.clone() });
        match self {
            Place::Table(_) => Place::Table(Arc::new(table)),
            Place::Row(row) => Place::Row(Arc::new(RowPlace { table, row: row.row.clone() })),
            Place::Family(family) => Place::Family(Arc::new(FamilyPlace { table, ..family.as_ref().clone() })),
            Place::Cell(column) => Place::Cell(moved(column, table)),
            Place::Version(column, timestamp) => Place::Version(moved(column, table), *timestamp),
            Place::Ended(column, timestamp, end) => Place::Ended(moved(column, table), *timestamp, *end),
            Place::RowKey(row) => Place::RowKey(Arc::new(RowPlace { table, row: row.row.clone() })),
            Place::Versions(column) => Place::Versions(moved(column, table)),
            Place::KeyFile(column) => Place::KeyFile(moved(column, table)),
            Place::Counter(column) => Place::Counter(moved(column, table)),
            Place::Json(row) => Place::Json(Arc::new(RowPlace { table, row: row.row.clone() })),
            Place::Asking(base, kind) => Place::Asking(of(base), *kind),
            Place::Count(base) => Place::Count(of(base)),
            Place::Exports(base) => Place::Exports(of(base)),
            Place::Export(base, format) => Place::Export(of(base), *format),
            Place::Imports(base) => Place::Imports(of(base)),
            Place::Import(base, format, empty) => Place::Import(of(base), *format, *empty),
            Place::Times(base) => Place::Times(of(base)),
            other => other.clone(),
        }
    }

    /// The same place below `to` if it is in the directory `from`.
    pub fn below(&self, from: &Directory, to: &Directory) -> Option<Place> {
        let inside = |table: &TableName, row: &[u8], family: Option<&String>| {
            *table == from.table && *row == from.row && from.family.as_ref().is_none_or(|f| Some(f) == family)
        };
        let family = |own: &String| to.family.as_ref().unwrap_or(own).clone();
        let (table, row) = (to.table.clone(), to.row.clone());
        if let Place::Json(own) | Place::RowKey(own) = self {
            let moves = from.family.is_none() && inside(&own.table, &own.row, None);
            let moved = Arc::new(RowPlace { table, row });
            let place = if matches!(self, Place::Json(_)) { Place::Json(moved) } else { Place::RowKey(moved) };
            return moves.then_some(place);
        }
        if let Place::Family(place) = self {
            let is_inside = inside(&place.table, &place.row, Some(&place.family));
            return is_inside
                .then(|| Place::Family(Arc::new(FamilyPlace { table, row, family: family(&place.family) })));
        }
        let column = self.column().filter(|c| inside(&c.table, &c.row, Some(&c.family)))?;
        let qualifier = column.qualifier.clone();
        let moved = Arc::new(ColumnKey { table, row, family: family(&column.family), qualifier });
        Some(self.of_column(moved))
    }

    /// What the place is of its column, of another column.
    #[must_use]
    pub fn of_column(&self, column: Arc<ColumnKey>) -> Place {
        match self {
            Place::Version(_, timestamp) => Place::Version(column, *timestamp),
            Place::Ended(_, timestamp, end) => Place::Ended(column, *timestamp, *end),
            Place::Versions(_) => Place::Versions(column),
            Place::KeyFile(_) => Place::KeyFile(column),
            Place::Counter(_) => Place::Counter(column),
            _ => Place::Cell(column),
        }
    }

    /// What a table or a family has by a key: a row, a cell. Other directories have nothing by keys, and are answered
    /// themselves.
    #[must_use]
    pub fn below_by_key(&self, key: &[u8]) -> Place {
        match self {
            Place::Table(table) => Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row: key.to_vec() })),
            Place::Family(family) => Place::Cell(Arc::new(family.column(key.to_vec()))),
            other => other.clone(),
        }
    }

    /// The column of a cell, a version, or what else is named after one.
    pub fn column(&self) -> Option<&Arc<ColumnKey>> {
        match self {
            Place::Cell(column)
            | Place::Version(column, _)
            | Place::Ended(column, ..)
            | Place::Versions(column)
            | Place::Counter(column)
            | Place::KeyFile(column) => Some(column),
            _ => None,
        }
    }
}

impl ScratchDir {
    /// The table that it is in.
    pub fn table(&self) -> &TableName {
        match self {
            ScratchDir::Row(row) => &row.table,
            ScratchDir::Family(family) => &family.table,
            ScratchDir::Waiting(waiting) => &waiting.table,
        }
    }

    /// Its place in the tree.
    pub fn place(&self) -> Place {
        match self {
            ScratchDir::Row(row) => Place::Row(Arc::new(row.clone())),
            ScratchDir::Family(family) => Place::Family(Arc::new(family.clone())),
            ScratchDir::Waiting(waiting) => Place::Waiting(Arc::new(waiting.clone())),
        }
    }
}

impl FamilyPlace {
    /// The row that it is in.
    pub fn row_place(&self) -> RowPlace {
        RowPlace { table: self.table.clone(), row: self.row.clone() }
    }

    /// The column of this family with that qualifier.
    pub fn column(&self, qualifier: Vec<u8>) -> ColumnKey {
        ColumnKey { table: self.table.clone(), row: self.row.clone(), family: self.family.clone(), qualifier }
    }
}

/// The family directory that a column's file is in.
pub fn family_of(column: &ColumnKey) -> FamilyPlace {
    FamilyPlace { table: column.table.clone(), row: column.row.clone(), family: column.family.clone() }
}
