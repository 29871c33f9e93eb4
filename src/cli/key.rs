//! key encode, decode; rows that are given by fields, and scans in the order of fields.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde_json::{Map, Value as Json};

use super::args::{KeyAction, KeyArgs};
use super::given::{self, no_table};
use super::output::{CellPrinter, Output};
use super::{Answer, advise};
use crate::backend::Backend;
use crate::model::row_key::{Fields, Recipe, fields_text, parse_fields};
use crate::model::{Piece, RowKey, RowResult, Scan, TableName, after_prefix, json_bytes, to_string_binary};
use crate::{Error, ErrorKind, Result};

/// Rows of a salt that are read at once and wait for those of the others.
const WAITING: u64 = 16;

pub fn key(action: KeyAction, json: bool) -> Result<Answer> {
    let mut output = Output::new();
    match action {
        KeyAction::Advise { store, table, sample } => return advise::advise(&store, &table, sample, json),
        KeyAction::Encode { recipe, fields } => {
            let key = Recipe::parse(&recipe)?.encode(&parse_fields(fields.as_bytes())?)?;
            if json { output.json(&json_bytes(&key))? } else { output.line(&to_string_binary(&key))? }
        }
        KeyAction::Decode { recipe, key } => {
            let fields = Recipe::parse(&recipe)?.decode(&given::bytes(&key))?;
            if json { output.json(&Json::Object(object(&fields)))? } else { output.line(&fields_text(&fields))? }
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

/// Fields as a JSON object.
fn object(fields: &Fields) -> Map<String, Json> {
    fields.iter().map(|(name, value)| (name.clone(), json_bytes(value))).collect()
}

/// The recipe of a table.
pub fn recipe(backend: &dyn Backend, table: &TableName) -> Result<Recipe> {
    let catalogue = backend.catalogue()?;
    catalogue.tables.get(table).ok_or_else(|| no_table(table))?.recipe()
}

impl KeyArgs {
    /// The key of a row that is given as it is, or by its fields.
    pub fn row(&self, backend: &dyn Backend, table: &TableName, text: &OsStr) -> Result<RowKey> {
        match self.key {
            true => recipe(backend, table)?.encode(&parse_fields(text.as_bytes())?),
            false => Ok(given::bytes(text)),
        }
    }
}

/// Which rows of a scan in the order of fields are wanted, all of it as fields.
pub struct Wanted {
    /// What all of them have.
    pub first: OsString,
    /// The first fields of the row to begin with, and of the one to stop before.
    pub start: Option<OsString>,
    pub stop: Option<OsString>,
}

/// What keys have behind their salt: from the one on, and less than the other.
struct Range {
    from: Option<Vec<u8>>,
    before: Option<Vec<u8>>,
}

impl Range {
    fn of(recipe: &Recipe, wanted: &Wanted, scan: &Scan) -> Result<Self> {
        let bytes = |fields: Option<&OsString>| {
            fields.map(|fields| recipe.behind_spread(&parse_fields(fields.as_bytes())?)).transpose()
        };
        let (start, stop) = (bytes(wanted.start.as_ref())?, bytes(wanted.stop.as_ref())?);
        // Rows that have the fields of the start are in it, those of the stop are not, whichever way it goes.
        Ok(match scan.reversed {
            false => Self { from: start, before: stop },
            true => {
                Self { from: stop.map(|stop| after_prefix(&stop)), before: start.map(|start| after_prefix(&start)) }
            }
        })
    }

    fn is_all(&self) -> bool {
        self.from.is_none() && self.before.is_none()
    }
}

/// Prints the rows of a scan in the order of their fields, as pages of each salt come: it holds a few rows of each.
/// Rows whose keys the recipe does not make are told, and left out.
pub fn scan(backend: &dyn Backend, scan: Scan, wanted: &Wanted, mut printer: CellPrinter) -> Result<Answer> {
    let recipe = recipe(backend, &scan.table)?;
    let fields = wanted.first.as_bytes();
    let given = if fields.is_empty() { Fields::new() } else { parse_fields(fields)? };
    let range = Range::of(&recipe, wanted, &scan)?;
    let is_whole = given.len() == recipe.names().len();
    let prefixes = recipe.prefixes(&given)?;
    let mut lanes: Vec<Lane> = prefixes.iter().map(|prefix| Lane::new(&scan, prefix, is_whole)).collect();
    for (lane, prefix) in lanes.iter_mut().zip(&prefixes).filter(|_| !range.is_all()) {
        let spread = prefix.get(..recipe.spread_len()).ok_or_else(|| {
            let text = "keys begin with a digest, whose order is not that of the fields: --start and --stop want \
                        --by-key=FIELDS with what it is of";
            Error::new(ErrorKind::IllegalArgument, text)
        })?;
        lane.narrow(spread, &range);
    }
    let (mut left, mut others) = (scan.limit.unwrap_or(u64::MAX), 0_u64);
    while left > 0 {
        for lane in &mut lanes {
            lane.fill(backend)?;
        }
        // Without the salt.
        let key = |lane: &Lane| lane.rows.front().map(|row| row.row[recipe.spread_len().min(row.row.len())..].to_vec());
        let heads = lanes.iter().enumerate().filter_map(|(at, lane)| Some((key(lane)?, at)));
        let next = if scan.reversed { heads.max() } else { heads.min() };
        let Some(row) = next.and_then(|(_, at)| lanes[at].rows.pop_front()) else { break };
        let Ok(shown) = recipe.decode(&row.row) else {
            others += 1;
            continue;
        };
        printer.take(&Piece::Row(fields_text(&shown).into_bytes()))?;
        row.cells.into_iter().try_for_each(|cell| printer.take(&Piece::Cell(cell)))?;
        left -= 1;
    }
    if given.is_empty() && range.is_all() && left > 0 {
        others += behind_salts(backend, &scan, &recipe)?;
    }
    let shown = printer.finish()?;
    if others == 0 {
        return Ok(shown);
    }
    super::complain(&format!("{others} rows have keys that the recipe of table {} does not make", scan.table));
    Ok(Answer::No)
}

/// Rows whose first byte is no salt.
fn behind_salts(backend: &dyn Backend, scan: &Scan, recipe: &Recipe) -> Result<u64> {
    let Some(first) = recipe.buckets().and_then(|buckets| u8::try_from(buckets).ok()) else { return Ok(0) };
    let all = Scan { limit: None, reversed: false, ..scan.clone() };
    let all = Scan { start: vec![first], start_inclusive: true, stop: Vec::new(), ..all };
    backend.scan(&all)?.try_fold(0, |rows, row| row.map(|_| rows + 1))
}

/// The rows of one salt, page by page.
struct Lane {
    scan: Scan,
    rows: VecDeque<RowResult>,
    ended: bool,
}

impl Lane {
    fn new(scan: &Scan, prefix: &[u8], is_whole: bool) -> Self {
        let of = Scan { limit: Some(WAITING), ..scan.clone() };
        let mut scan = if scan.reversed { of.with_prefix_reversed(prefix) } else { of.with_prefix(prefix) };
        if is_whole {
            (scan.start, scan.start_inclusive) = (prefix.to_vec(), true);
            (scan.stop, scan.stop_inclusive) = (prefix.to_vec(), true);
        }
        Self { scan, rows: VecDeque::new(), ended: false }
    }

    /// Only what is in a range, behind what spreads the keys of this one.
    fn narrow(&mut self, spread: &[u8], range: &Range) {
        let key = |end: Option<&Vec<u8>>| end.map(|end| [spread, end.as_slice()].concat());
        let (is_reversed, scan) = (self.scan.reversed, &mut self.scan);
        let (low, high) = match is_reversed {
            false => ((&mut scan.start, &mut scan.start_inclusive), (&mut scan.stop, &mut scan.stop_inclusive)),
            true => ((&mut scan.stop, &mut scan.stop_inclusive), (&mut scan.start, &mut scan.start_inclusive)),
        };
        // Nothing is behind the greatest.
        let is_none = is_reversed && range.from.as_ref().is_some_and(Vec::is_empty);
        if let Some(from) = key(range.from.as_ref()).filter(|from| *from > *low.0) {
            (*low.0, *low.1) = (from, true);
        }
        let before = range.before.as_ref().filter(|before| !(is_reversed && before.is_empty()));
        if let Some(before) = key(before).filter(|before| high.0.is_empty() || *before <= *high.0) {
            (*high.0, *high.1) = (before, false);
        }
        let is_empty = !high.0.is_empty() && (*low.0 > *high.0 || low.0 == high.0 && !(*low.1 && *high.1));
        self.ended = is_none || is_empty;
    }

    fn fill(&mut self, backend: &dyn Backend) -> Result<()> {
        if self.ended || !self.rows.is_empty() {
            return Ok(());
        }
        self.rows = backend.scan(&self.scan)?.collect::<Result<_>>()?;
        self.ended = (self.rows.len() as u64) < WAITING;
        if let Some(last) = self.rows.back() {
            (self.scan.start, self.scan.start_inclusive) = (last.row.clone(), false);
        }
        Ok(())
    }
}
