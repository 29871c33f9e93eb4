//! Scan paths: a chain of steps such as `.prefix/P/.first/N/` as one value, and the one scan that it asks for.
//!
//! Pure: no step knows the store. The order of steps is of no account but to the names of directories.

use std::borrow::Cow;

use crate::model::{By, ColumnSlice, Columns, Scan, TableName, TimeRange, Timestamp, after_prefix};
use crate::query::quoted;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// What a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Prefix,
    From,
    To,
    First,
    Last,
    Sample,
    Columns,
    Versions,
    Times,
    Filter,
    At,
    Raw,
    /// `.by`: its argument is the name of an index.
    By,
    /// `.key`: fields of the table's recipe of keys.
    Key,
    /// The values that a row has in its columns, behind the name of an index.
    Value,
    /// `.prefix`, `.from` and `.to` there: of the value of its first column.
    ValuePrefix,
    ValueFrom,
    ValueTo,
}

/// Their words in a table.
const OF_ROWS: [(&str, Kind); 14] = [
    (".prefix", Kind::Prefix),
    (".from", Kind::From),
    (".to", Kind::To),
    (".first", Kind::First),
    (".last", Kind::Last),
    (".sample", Kind::Sample),
    (".columns", Kind::Columns),
    (".versions", Kind::Versions),
    (".times", Kind::Times),
    (".filter", Kind::Filter),
    (".at", Kind::At),
    (".raw", Kind::Raw),
    (".by", Kind::By),
    (".key", Kind::Key),
];

/// Behind the name of an index.
const OF_VALUES: [(&str, Kind); 3] =
    [(".prefix", Kind::ValuePrefix), (".from", Kind::ValueFrom), (".to", Kind::ValueTo)];

impl Kind {
    /// The kind of a word, where rows are.
    pub fn of_rows(word: &[u8]) -> Option<Self> {
        OF_ROWS.iter().find(|(known, _)| known.as_bytes() == word).map(|(_, kind)| *kind)
    }

    /// The kind of a word, where the qualifiers of a row and family are.
    pub fn of_cells(word: &[u8]) -> Option<Self> {
        Self::of_rows(word).filter(|kind| {
            matches!(kind, Kind::Prefix | Kind::From | Kind::To | Kind::First | Kind::Last | Kind::Columns)
        })
    }

    /// The kind of a word, behind the name of an index.
    pub fn of_values(word: &[u8]) -> Option<Self> {
        OF_VALUES.iter().find(|(known, _)| known.as_bytes() == word).map(|(_, kind)| *kind)
    }

    /// Empty for values, which stand there by themselves.
    pub fn word(self) -> &'static str {
        OF_ROWS.iter().chain(&OF_VALUES).find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// Whether it says how many of the answer are wanted.
    fn picks(self) -> bool {
        matches!(self, Kind::First | Kind::Last | Kind::Sample)
    }
}

/// What the argument of a step says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Says {
    /// A row key or a qualifier, or what one begins with.
    Key(Vec<u8>),
    Number(u64),
    Columns(Columns),
    Times(TimeRange),
    /// In HBase's filter language.
    Filter(Vec<u8>),
    /// What keys begin with that have some fields; the key that has all of them.
    Keys {
        prefixes: Vec<Vec<u8>>,
        is_whole: bool,
    },
    /// Of the columns of an index, from the first one on.
    Values(Vec<Vec<u8>>),
    /// It has none, or its view has what it says.
    Nothing,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    pub kind: Kind,
    /// The argument as it was written: the name of a directory.
    pub text: Vec<u8>,
    pub says: Says,
}

/// How many of an answer are wanted, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    All,
    First(u64),
    Last(u64),
    Sample(u64),
}

/// See the module. A part of a node's identity, so its steps are as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Question {
    /// Below the table.
    pub rows: Vec<Step>,
    /// Below a family of a row.
    pub cells: Vec<Step>,
    /// What is later than this is not shown, unless the view has a time of its own: one walk sees one moment.
    pub moment: Option<Timestamp>,
}

impl Question {
    /// Refuses a step of its rows that does not go with the others.
    pub fn check_rows(&self, kind: Kind) -> Result<()> {
        check(&self.rows, kind)
    }

    /// Likewise of the qualifiers.
    pub fn check_cells(&self, kind: Kind) -> Result<()> {
        check(&self.cells, kind)
    }

    /// With one more step of its rows. `IllegalArgument`: it does not go with the others.
    pub fn with_rows(&self, step: Step) -> Result<Self> {
        check(&self.rows, step.kind)?;
        Ok(Self { rows: joined(&self.rows, step), ..self.clone() })
    }

    /// With one more step of the qualifiers.
    pub fn with_cells(&self, step: Step) -> Result<Self> {
        check(&self.cells, step.kind)?;
        Ok(Self { cells: joined(&self.cells, step), ..self.clone() })
    }

    /// The same for the whole of a row's families.
    #[must_use]
    pub fn of_rows(&self) -> Self {
        Self { cells: Vec::new(), ..self.clone() }
    }

    /// Without its last step, and that; `None`: it has no step.
    pub fn split_last(&self) -> Option<(Self, Step)> {
        let mut rest = self.clone();
        let last = rest.cells.pop().or_else(|| rest.rows.pop())?;
        Some((rest, last))
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.cells.is_empty()
    }

    /// Which rows of the answer are wanted.
    pub fn pick(&self) -> Pick {
        pick(&self.rows)
    }

    /// Which qualifiers of a family.
    pub fn pick_of_cells(&self) -> Pick {
        pick(&self.cells)
    }

    /// Whether which rows it has may tell of values: by an index, or a filter that looks at them.
    pub fn tells_values(&self) -> bool {
        let looks = |text: &[u8]| [&b"Value"[..], b"DependentColumn"].iter().any(|name| contains(text, name));
        let looks = |step: &Step| step.kind == Kind::By || matches!(&step.says, Says::Filter(text) if looks(text));
        self.rows.iter().any(looks)
    }

    /// The beginnings that keys have, ascending, where there are several: one for each salt.
    pub fn prefixes(&self) -> Option<&[Vec<u8>]> {
        self.rows.iter().find_map(|step| match &step.says {
            Says::Keys { prefixes, .. } if prefixes.len() > 1 => Some(prefixes.as_slice()),
            _ => None,
        })
    }

    /// Whether tombstones are shown.
    pub fn is_raw(&self) -> bool {
        self.rows.iter().any(|step| step.kind == Kind::Raw)
    }

    /// The one scan that is asked for, whichever of its rows are wanted.
    pub fn scan(&self, table: &TableName, view: View) -> Scan {
        let mut scan = Scan::all(table.clone());
        let rows = slice(&self.rows);
        (scan.start, scan.stop) = (rows.from, rows.before);
        let read = &mut scan.read;
        read.time_range = view.time_range();
        if let (View::Plain, Some(moment)) = (view, self.moment) {
            read.time_range = TimeRange::until(moment);
        }
        let mut filters: Vec<Cow<'_, [u8]>> = Vec::new();
        for step in &self.rows {
            match (&step.says, step.kind) {
                (Says::Columns(columns), _) => read.columns.clone_from(columns),
                (Says::Number(most), Kind::Versions) => read.max_versions = u32::try_from(*most).unwrap_or(u32::MAX),
                (Says::Times(range), _) => read.time_range = read.time_range.and(*range),
                (Says::Filter(text), _) => filters.push(text.into()),
                (Says::Keys { prefixes, .. }, _) => filters.extend(any_of(prefixes).map(Cow::from)),
                (_, Kind::Raw) => read.raw = true,
                _ => {}
            }
        }
        read.filter = all_of(&filters);
        // A listing and a look at one name agree whatever is stored.
        read.heeds_tombstones = true;
        scan.by = self.by();
        scan
    }

    /// Which rows an index is asked for; `None`: none is asked.
    pub fn by(&self) -> Option<By> {
        let name = &self.rows.iter().find(|step| step.kind == Kind::By)?.text;
        let mut by = By { index: String::from_utf8_lossy(name).into_owned(), ..By::default() };
        for step in &self.rows {
            let within = match (&step.says, step.kind) {
                (Says::Values(values), _) => {
                    by.equals.clone_from(values);
                    continue;
                }
                (Says::Key(key), Kind::ValuePrefix) => ColumnSlice { from: key.clone(), before: after_prefix(key) },
                (Says::Key(key), Kind::ValueFrom) => ColumnSlice { from: key.clone(), before: Vec::new() },
                (Says::Key(key), Kind::ValueTo) => before(key),
                _ => continue,
            };
            by.within = by.within.and(&within);
        }
        Some(by)
    }

    /// The step over values that a word is here: `.to` behind `.from`, and `.from` behind `.to`.
    pub fn goes_on_with(&self, word: &[u8]) -> Option<Kind> {
        let kind = Kind::of_values(word)?;
        match (self.rows.last()?.kind, kind) {
            (Kind::ValueFrom, Kind::ValueTo) | (Kind::ValueTo, Kind::ValueFrom) => {
                self.rows.iter().all(|step| step.kind != kind).then_some(kind)
            }
            _ => None,
        }
    }

    /// The qualifiers that are asked for.
    pub fn slice_of_cells(&self) -> ColumnSlice {
        slice(&self.cells)
    }

    /// The columns of a family that are asked for by name; `None`: all.
    pub fn columns_of_cells(&self) -> Option<&Columns> {
        self.cells.iter().find_map(|step| match &step.says {
            Says::Columns(columns) => Some(columns),
            _ => None,
        })
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn joined(steps: &[Step], step: Step) -> Vec<Step> {
    steps.iter().cloned().chain([step]).collect()
}

/// Filters may be given one after the other: all of them must pass.
fn all_of(filters: &[Cow<'_, [u8]>]) -> Option<Vec<u8>> {
    match filters {
        [] => None,
        [one] => Some(one.to_vec()),
        more => Some(more.iter().map(|text| [b"(", &**text, b")"].concat()).collect::<Vec<_>>().join(&b" AND "[..])),
    }
}

/// Several beginnings of keys, as a filter; one is a range.
fn any_of(prefixes: &[Vec<u8>]) -> Option<Vec<u8>> {
    let one = |prefix: &Vec<u8>| [b"PrefixFilter(", quoted(prefix).as_slice(), b")"].concat();
    (prefixes.len() > 1).then(|| prefixes.iter().map(one).collect::<Vec<_>>().join(&b" OR "[..]))
}

fn check(steps: &[Step], kind: Kind) -> Result<()> {
    let word = kind.word();
    if kind != Kind::Filter && steps.iter().any(|other| other.kind == kind) {
        return Err(wrong(format!("`{word}` stands in this path already: each step but .filter is given once")));
    }
    let other = steps.iter().find(|other| other.kind.picks() && kind.picks());
    if let Some(other) = other {
        let text = format!("`{word}` does not go with `{}`: take one of .first, .last and .sample", other.kind.word());
        return Err(wrong(text));
    }
    Ok(())
}

fn pick(steps: &[Step]) -> Pick {
    let number = |step: &Step| if let Says::Number(number) = step.says { number } else { 0 };
    let picks = |step: &Step| match step.kind {
        Kind::First => Some(Pick::First(number(step))),
        Kind::Last => Some(Pick::Last(number(step))),
        Kind::Sample => Some(Pick::Sample(number(step))),
        _ => None,
    };
    steps.iter().find_map(picks).unwrap_or(Pick::All)
}

/// What `.prefix`, `.from` and `.to` leave.
fn slice(steps: &[Step]) -> ColumnSlice {
    let mut slice = ColumnSlice::default();
    for step in steps {
        if let Says::Keys { prefixes, is_whole } = &step.says {
            slice = slice.and(&reach(prefixes, *is_whole));
        }
        let Says::Key(key) = &step.says else { continue };
        let other = match step.kind {
            Kind::Prefix => ColumnSlice { from: key.clone(), before: after_prefix(key) },
            Kind::From => ColumnSlice { from: key.clone(), before: Vec::new() },
            Kind::To => before(key),
            _ => continue,
        };
        slice = slice.and(&other);
    }
    slice
}

/// What lies before a key: before the empty one nothing, where a slice would have no end.
fn before(key: &[u8]) -> ColumnSlice {
    match key {
        [] => ColumnSlice { from: vec![0], before: vec![0] },
        _ => ColumnSlice { from: Vec::new(), before: key.to_vec() },
    }
}

/// From the first key with one of these beginnings to the last; the one key if they are whole.
fn reach(prefixes: &[Vec<u8>], is_whole: bool) -> ColumnSlice {
    match (prefixes, is_whole) {
        ([key], true) => ColumnSlice::of(key),
        ([first, .., last], _) => ColumnSlice { from: first.clone(), before: after_prefix(last) },
        ([one], false) => ColumnSlice { from: one.clone(), before: after_prefix(one) },
        ([], _) => ColumnSlice::default(),
    }
}

/// The refusal of a path that makes no sense.
pub fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}
