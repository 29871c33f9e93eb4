//! Secondary indexes of a table: what is declared of one, and what is asked by one.
//!
//! Its attributes as texts: `columns` and `include` are lists `fam:qual,fam:qual` (of `include` also `fam`), bytes of
//! qualifiers written as HBase prints them, a comma as `\x2C`; `unique` is `true` or `false`; `where` is in HBase's filter
//! language.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{
    ColumnSlice, Columns, FamilyId, FamilySchema, Qualifier, Scan, TableSchema, check_family, to_bytes_binary,
    to_string_binary,
};
use crate::{Error, ErrorKind, Result};

/// The attributes of an index: names of its files.
pub const INDEX_ATTRIBUTES: [&str; 4] = ["columns", "include", "unique", "where"];
/// Most columns of an index.
const COLUMNS_MAX: usize = 16;
/// Longest name, bytes: that of a directory.
const NAME_MAX: usize = 255;

/// A column that is indexed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IndexColumn {
    pub family: String,
    pub qualifier: Qualifier,
}

/// How far an index is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Entries of what was stored before it was declared are missing: it is answered by a walk over the table.
    #[default]
    Building,
    Complete,
    /// Complete, but a value that is to be unique is not, or is too long to be judged: which, and where. New writes are
    /// judged all the same.
    Twofold(String),
}

/// A secondary index of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSchema {
    pub name: String,
    /// None: it waits for them, and has no entries. Entries are of the first one; the others are looked at in the rows.
    pub columns: Vec<IndexColumn>,
    /// What answers show beside the indexed columns; none: everything.
    pub include: Columns,
    /// Whether no two rows may have the same values in its columns.
    pub unique: bool,
    /// Rows that do not pass this filter are in no answer.
    pub condition: Option<Vec<u8>>,
    pub state: IndexState,
    /// Where its entries are: a family that no table shows.
    pub entries: FamilySchema,
}

/// Which rows an index is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct By {
    /// Its name.
    pub index: String,
    /// Values of its columns, from the first one on.
    pub equals: Vec<Vec<u8>>,
    /// Of the value of the first column, where `equals` says nothing: from one on and before another.
    pub within: ColumnSlice,
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

impl IndexSchema {
    /// An index that waits for its columns; the store gives its entries their number.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            entries: entries_of(&name),
            name,
            columns: Vec::new(),
            include: Columns::new(),
            unique: false,
            condition: None,
            state: IndexState::default(),
        }
    }

    /// Whether all that is stored has its entries.
    pub fn is_complete(&self) -> bool {
        self.state != IndexState::Building && !self.columns.is_empty()
    }

    /// The text of an attribute; `None`: it is not set.
    pub fn attribute(&self, name: &str) -> Option<String> {
        match name {
            "columns" if !self.columns.is_empty() => {
                let text = |column: &IndexColumn| column_text(Some(&column.family), &column.qualifier);
                Some(self.columns.iter().map(text).collect::<Vec<_>>().join(","))
            }
            "include" if !self.include.is_empty() => Some(columns_text(&self.include)),
            "unique" if self.unique => Some("true".to_owned()),
            "where" => self.condition.as_deref().map(to_string_binary),
            _ => None,
        }
    }

    /// Sets an attribute, or with `None` unsets it. `IllegalArgument`: the text makes no sense.
    pub fn set_attribute(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        match name {
            "columns" => self.columns = text.map(parse_indexed).transpose()?.unwrap_or_default(),
            "include" => self.include = text.map(parse_columns).transpose()?.unwrap_or_default(),
            "unique" => self.unique = text.map(parse_bool).transpose()?.unwrap_or_default(),
            "where" => self.condition = text.map(|text| to_bytes_binary(text.as_bytes())),
            other => {
                let all = INDEX_ATTRIBUTES.join(", ");
                return Err(wrong(format!("an index has no attribute {}; it has {all}", other.escape_debug())));
            }
        }
        Ok(())
    }

    /// The families that it names: of its columns, then of what it includes.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.family.as_str()).chain(self.include.keys().map(String::as_str))
    }

    /// Has a scan of its table show what the index includes, unless it says itself which columns it shows. A family that
    /// is not there, as it was dropped for example, has nothing to show.
    pub fn narrow(&self, table: &TableSchema, scan: &mut Scan) {
        if self.include.is_empty() || !scan.read.columns.is_empty() {
            return;
        }
        let is_there = |family: &str| table.families.contains_key(family);
        scan.read.columns.clone_from(&self.include);
        scan.read.columns.retain(|family, _| is_there(family));
        // Without the first one no row is found.
        for IndexColumn { family, qualifier } in self.columns.iter().filter(|column| is_there(&column.family)) {
            let names = scan.read.columns.entry(family.clone()).or_insert_with(|| Some(BTreeSet::new()));
            if let Some(names) = names {
                names.insert(qualifier.clone());
            }
        }
    }

    /// Brings what is given into the form that is stored. `IllegalArgument`: it makes no sense.
    pub fn check(&mut self) -> Result<()> {
        check_index_name(&self.name)?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.columns.iter().find(|column| !seen.insert(*column)) {
            let twice = column_text(Some(&twice.family), &twice.qualifier);
            return Err(wrong(format!("index {}: column {twice} stands in it twice", self.name)));
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(wrong(format!("index {}: it can have {COLUMNS_MAX} columns at most", self.name)));
        }
        if self.unique && self.condition.is_some() {
            let text =
                format!("index {}: what is unique is so in the whole table: leave `where` or `unique` away", self.name);
            return Err(wrong(text));
        }
        Ok(())
    }

    /// All attributes that are set, with their texts.
    pub fn attributes(&self) -> BTreeMap<String, String> {
        let of = |name: &&str| Some(((*name).to_owned(), self.attribute(name)?));
        INDEX_ATTRIBUTES.iter().filter_map(of).collect()
    }

    /// Gives it a family for its entries, whose attributes are its own texts: so the times are kept when they were set.
    pub fn set_entries(&mut self, id: FamilyId) {
        let mut attributes = self.attributes();
        attributes.insert("BLOOMFILTER".to_owned(), "NONE".to_owned());
        self.entries = FamilySchema { id, attributes, ..entries_of(&self.name) };
    }

    /// Whether its entries are those of another declaration of it.
    pub fn has_entries_of(&self, other: &Self) -> bool {
        self.columns.first() == other.columns.first() && !self.columns.is_empty()
    }
}

impl TableSchema {
    /// The index that is asked. `IllegalArgument`: there is none, or it cannot be asked so.
    pub fn index_asked(&self, by: &By) -> Result<&IndexSchema> {
        let index = self.indexes.get(&by.index).ok_or_else(|| self.no_index(&by.index))?;
        let refused = |text: String| Err(Error::new(ErrorKind::IllegalArgument, text));
        if index.columns.is_empty() {
            return refused(format!(
                "index {} of table {} has no columns yet: write FAMILY:QUALIFIER into .schema/.index/{}/columns",
                index.name, self.name, index.name
            ));
        }
        if by.equals.len() > index.columns.len() {
            let (asked, has) = (by.equals.len(), index.columns.len());
            return refused(format!(
                "{asked} values are asked for, and index {} has {has} columns; a comma in a value is written %2C in a \
                 path, \\x2C on the command line",
                index.name
            ));
        }
        Ok(index)
    }

    /// The refusal of an index that is none of its own.
    pub fn no_index(&self, name: &str) -> Error {
        let known: Vec<&str> = self.indexes.keys().map(String::as_str).collect();
        let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let text = format!(
            "table {} has no index {}; it has {has}. `cellfs create-index` makes one",
            self.name,
            name.escape_debug()
        );
        Error::new(ErrorKind::IllegalArgument, text)
    }
}

/// What holds the entries of an index: puts without values that are never deleted by name.
fn entries_of(index: &str) -> FamilySchema {
    FamilySchema::new(format!(".index/{index}"), BTreeMap::new())
}

/// Refuses what cannot name an index.
pub fn check_index_name(name: &str) -> Result<()> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > NAME_MAX || name.starts_with('.') || !name.chars().all(is_word) {
        return Err(wrong(format!(
            "`{}` cannot name an index: letters, digits, `_`, `-` and `.`, no `.` in front, {NAME_MAX} bytes at most",
            name.escape_debug()
        )));
    }
    Ok(())
}

fn parse_bool(text: &str) -> Result<bool> {
    match text {
        "true" | "TRUE" => Ok(true),
        "false" | "FALSE" => Ok(false),
        _ => Err(wrong(format!("`{}`: `unique` is true or false", text.escape_debug()))),
    }
}

pub(in crate::model) fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty())
}

fn parse_column(text: &str) -> Result<(String, Option<Qualifier>)> {
    let (family, qualifier) = match text.split_once(':') {
        Some((family, qualifier)) => (family, Some(to_bytes_binary(qualifier.as_bytes()))),
        None => (text, None),
    };
    check_family(family).map_err(|e| wrong(e.message))?;
    Ok((family.to_owned(), qualifier))
}

pub(in crate::model) fn parse_indexed(text: &str) -> Result<Vec<IndexColumn>> {
    let column = |text| {
        let (family, qualifier) = parse_column(text)?;
        let qualifier = qualifier.ok_or_else(|| wrong(format!("`{text}`: write FAMILY:QUALIFIER")))?;
        Ok(IndexColumn { family, qualifier })
    };
    parts(text).map(column).collect()
}

fn parse_columns(text: &str) -> Result<Columns> {
    let mut columns = Columns::new();
    for part in parts(text) {
        let (family, qualifier) = parse_column(part)?;
        match (columns.get_mut(&family), qualifier) {
            (Some(Some(known)), Some(qualifier)) => drop(known.insert(qualifier)),
            // All of a family has each of its columns.
            (Some(None), _) => {}
            (_, qualifier) => drop(columns.insert(family, qualifier.map(|qualifier| BTreeSet::from([qualifier])))),
        }
    }
    Ok(columns)
}

/// A column as lists have it; without a family its qualifier alone.
pub(in crate::model) fn column_text(family: Option<&str>, qualifier: &[u8]) -> String {
    let qualifier = to_string_binary(qualifier).replace(',', "\\x2C");
    family.map_or_else(|| qualifier.clone(), |family| format!("{family}:{qualifier}"))
}

fn columns_text(columns: &Columns) -> String {
    let of = |(family, names): (&String, &Option<BTreeSet<Qualifier>>)| match names {
        None => vec![family.clone()],
        Some(names) => names.iter().map(|name| column_text(Some(family), name)).collect(),
    };
    columns.iter().flat_map(of).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_as_they_were_set() {
        let mut index = IndexSchema::new("mail");
        for (name, text) in [
            ("columns", r"f:e\x2Cmail,g:\x00"),
            ("include", "f:name,f:tel,h"),
            ("where", "SingleColumnValueFilter('f','on',=,'binary:1')"),
        ] {
            index.set_attribute(name, Some(&format!("{text}\n"))).unwrap();
            assert_eq!(index.attribute(name).as_deref(), Some(text));
        }
        assert_eq!(index.columns[0].qualifier, b"e,mail");
        index.check().unwrap();
        index.set_attribute("unique", Some("true")).unwrap();
        assert!(index.check().is_err(), "unique and where");
        index.set_attribute("where", None).unwrap();
        index.check().unwrap();
        assert_eq!(index.attribute("where"), None);
        for (name, text) in [("columns", "f"), ("columns", "a/b:c"), ("unique", "yes"), ("other", "1")] {
            assert!(index.set_attribute(name, Some(text)).is_err(), "{name} {text}");
        }
    }

    #[test]
    fn an_index_shows_what_it_includes_and_what_it_is_of() {
        let mut index = IndexSchema::new("i");
        index.set_attribute("columns", Some("f:q")).unwrap();
        let name = crate::model::TableName::parse("t").unwrap();
        let families = ["f", "g"].map(|family| FamilySchema::new(family, BTreeMap::new()));
        let mut table = TableSchema::new(name.clone(), families);
        let shown = |index: &IndexSchema, table: &TableSchema| {
            let mut scan = Scan::all(name.clone());
            index.narrow(table, &mut scan);
            columns_text(&scan.read.columns)
        };
        assert_eq!(shown(&index, &table), "");
        index.set_attribute("include", Some("g:a")).unwrap();
        assert_eq!(shown(&index, &table), "f:q,g:a");
        table.families.remove("g");
        assert_eq!(shown(&index, &table), "f:q", "of a family that is not there nothing");
    }
}
