//! Rows: gets, mutations, atomic mutations of a row, and many rows at once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prost::Message;

use super::cluster::Cluster;
use super::error::{Error, Kind, Result};
use super::find::region::Region;
use super::proto::data::{
    Action, Column, Condition, Get, GetRequest, GetResponse, MultiRequest, MultiResponse, MutateRequest,
    MutateResponse, MutationProto, RegionAction, RegionActionResult, delete_type, mutation_type,
};
use super::proto::schema::{NameBytesPair, TableName};
use super::retry::{Tries, random};
use super::wire::cell::{Cell, of_outcome};
use super::wire::connection::Service;

/// Bytes of mutations that one request takes along.
const MOST_REQUEST: usize = 2 << 20;
/// After so many failures of a region it is asked whether its table is disabled.
const DOUBTFUL: usize = 2;

/// What a mutation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// False: the condition did not hold.
    pub processed: bool,
    /// The new cells of increments and appends.
    pub cells: Vec<Cell>,
}

/// Whether a mutation may be sent again when its answer was lost.
fn is_repeatable(mutation: &MutationProto) -> bool {
    match mutation.mutate_type {
        Some(mutation_type::PUT) => true,
        Some(mutation_type::DELETE) => {
            let mut values = mutation.column_value.iter().flat_map(|column| &column.qualifier_value);
            // Without a time it takes what is newest then.
            values.all(|value| value.timestamp.is_some() || value.delete_type != Some(delete_type::ONE_VERSION))
        }
        _ => mutation.nonce.is_some(),
    }
}

/// Gives increments and appends the number by which a server knows a repetition.
fn with_nonces(mutations: &mut [MutationProto]) {
    for mutation in mutations {
        if matches!(mutation.mutate_type, Some(mutation_type::INCREMENT | mutation_type::APPEND)) {
            mutation.nonce = Some(random());
        }
    }
}

fn doubtful(error: &Error) -> Error {
    let text = format!("{}; whether the change was made is not known: look before you try again", error.text);
    Error::new(Kind::Doubtful, text)
}

fn of_exception(exception: &NameBytesPair) -> Error {
    let text = String::from_utf8_lossy(exception.value.as_deref().unwrap_or_default());
    let name = &exception.name;
    Error::of_class(name, &text, name.contains("DoNotRetry"))
}

impl Cluster {
    /// Does something with the region of a row until it is done, fails for good, or its time is over.
    pub(super) fn on_row<T>(
        &self,
        (table, row): (&TableName, &[u8]),
        (what, is_repeatable): (&str, bool),
        mut act: impl FnMut(&Region, &Tries) -> Result<T>,
    ) -> Result<T> {
        let mut tries = self.tries(what);
        loop {
            let done = self.locate(table, row, &tries).and_then(|region| {
                act(&region, &tries).map_err(|e| {
                    self.blame(&region, &e);
                    if is_repeatable || e.is_undone() || !e.may_pass() { e } else { doubtful(&e) }
                })
            });
            match done {
                Err(e) => {
                    if e.kind == Kind::Location && tries.failures() >= DOUBTFUL {
                        self.check_enabled(table, &tries)?;
                    }
                    tries.again(e)?;
                }
                done => return done,
            }
        }
    }

    /// The cells of a row.
    pub fn get(&self, table: &TableName, get: Get) -> Result<Vec<Cell>> {
        let row = get.row.clone();
        self.on_row((table, &row), ("a get", true), |region, tries| {
            let request = GetRequest { region: region.specifier(), get: get.clone() };
            let to = (&region.server, Service::Client);
            let answer = self.call(to, ("Get", &request), region.priority(), tries.left_to_read())?;
            let outcome = answer.message::<GetResponse>()?.result.unwrap_or_default();
            of_outcome(outcome, &mut answer.cells()?.into_iter())
        })
    }

    /// Applies one mutation if its condition holds.
    pub fn mutate(&self, table: &TableName, mutation: MutationProto, condition: Option<Condition>) -> Result<Applied> {
        let mut mutation = mutation;
        with_nonces(std::slice::from_mut(&mut mutation));
        let row = mutation.row.clone().unwrap_or_default();
        let repeatable = condition.is_none() && is_repeatable(&mutation);
        let is_conditional = condition.is_some();
        let done = self.on_row((table, &row), ("a mutation", repeatable), |region, tries| {
            let request = MutateRequest {
                region: region.specifier(),
                mutation: mutation.clone(),
                condition: condition.clone(),
                nonce_group: Some(self.nonce_group),
            };
            let answer =
                self.call((&region.server, Service::Client), ("Mutate", &request), region.priority(), tries.left())?;
            let done: MutateResponse = answer.message()?;
            let cells = of_outcome(done.result.unwrap_or_default(), &mut answer.cells()?.into_iter())?;
            Ok(Applied { processed: !is_conditional || done.processed.unwrap_or(false), cells })
        })?;
        self.with_cells(table, done, std::slice::from_ref(&mutation))
    }

    /// The answer to a repetition of an increment may be empty: what is there now is read then.
    fn with_cells(&self, table: &TableName, mut done: Applied, mutations: &[MutationProto]) -> Result<Applied> {
        if !done.processed || !done.cells.is_empty() {
            return Ok(done);
        }
        for mutation in mutations.iter().filter(|mutation| mutation.nonce.is_some()) {
            let column = mutation.column_value.iter().map(|column| Column {
                family: column.family.clone(),
                qualifier: column.qualifier_value.iter().filter_map(|value| value.qualifier.clone()).collect(),
            });
            let row = mutation.row.clone().unwrap_or_default();
            done.cells.extend(self.get(table, Get { row, column: column.collect(), ..Get::default() })?);
        }
        Ok(done)
    }

    /// Applies mutations of one row, all or none, if the condition holds.
    pub fn mutate_row(
        &self,
        table: &TableName,
        row: &[u8],
        mut mutations: Vec<MutationProto>,
        condition: Option<Condition>,
    ) -> Result<Applied> {
        with_nonces(&mut mutations);
        let repeatable = condition.is_none() && mutations.iter().all(is_repeatable);
        let is_conditional = condition.is_some();
        let done = self.on_row((table, row), ("mutations of a row", repeatable), |region, tries| {
            let action = region_action(region, &mutations, true, condition.clone());
            let (results, mut cells) = self.multi(region, vec![action], tries)?;
            let Some(result) = results.into_iter().next() else {
                return Err(Error::protocol("an answer without a result"));
            };
            check_whole(&result)?;
            let processed = !is_conditional || result.processed.unwrap_or(false);
            let mut found = Vec::new();
            for outcome in result.result_or_exception.into_iter().filter_map(|one| one.result) {
                found.extend(of_outcome(outcome, &mut cells)?);
            }
            Ok(Applied { processed, cells: found })
        })?;
        self.with_cells(table, done, &mutations)
    }

    fn multi(
        &self,
        region: &Region,
        region_action: Vec<RegionAction>,
        tries: &Tries,
    ) -> Result<(Vec<RegionActionResult>, std::vec::IntoIter<Cell>)> {
        let request = MultiRequest { region_action, nonce_group: Some(self.nonce_group) };
        let to = (&region.server, Service::Client);
        let answer = self.call(to, ("Multi", &request), region.priority(), tries.left())?;
        Ok((answer.message::<MultiResponse>()?.region_action_result, answer.cells()?.into_iter()))
    }

    /// Applies mutations of many rows, each row whole or not at all; rows that share a region go together.
    /// An error may leave rows done; a mutation that cannot be repeated is not taken here.
    pub fn batch(&self, table: &TableName, rows: &[Vec<MutationProto>]) -> Result<()> {
        if rows.iter().flatten().any(|mutation| !is_repeatable(mutation)) {
            return Err(Error::new(Kind::Refused, "only puts and deletes with their times go in a batch"));
        }
        let mut tries = self.tries("a batch of mutations");
        let mut open: Vec<usize> = (0..rows.len()).collect();
        while !open.is_empty() {
            match self.batch_once(table, rows, &open, &tries) {
                (done, None) => {
                    open.retain(|at| !done.contains(at));
                    tries.renew();
                }
                (done, Some(e)) => {
                    open.retain(|at| !done.contains(at));
                    if e.kind == Kind::Location && tries.failures() >= DOUBTFUL {
                        self.check_enabled(table, &tries)?;
                    }
                    if !done.is_empty() {
                        tries.renew();
                    }
                    tries.again(e)?;
                }
            }
        }
        Ok(())
    }

    /// One request to the server of the first open row; what was done, and what went wrong.
    fn batch_once(
        &self,
        table: &TableName,
        rows: &[Vec<MutationProto>],
        open: &[usize],
        tries: &Tries,
    ) -> (HashSet<usize>, Option<Error>) {
        let mut asked = Asked::default();
        for at in open {
            let row = rows[*at].first().and_then(|mutation| mutation.row.clone()).unwrap_or_default();
            match self.locate(table, &row, tries) {
                Ok(region) => asked.add(*at, &rows[*at], &region),
                Err(e) => return (HashSet::new(), Some(e)),
            }
            if asked.bytes >= MOST_REQUEST {
                break;
            }
        }
        let Some(region) = asked.sent.first().map(|(region, _)| Arc::clone(region)) else {
            return (open.iter().copied().collect(), None);
        };
        match self.multi(&region, asked.actions, tries) {
            Ok((results, _)) => {
                let (mut failed, mut done) = (None, HashSet::new());
                for ((region, rows), result) in asked.sent.iter().zip(&results) {
                    let (made, error) = outcome_of(rows, result);
                    done.extend(made);
                    if let Some(e) = error {
                        self.blame(region, &e);
                        failed = Some(e);
                    }
                }
                (done, failed)
            }
            Err(e) => {
                self.blame(&region, &e);
                (HashSet::new(), Some(e))
            }
        }
    }
}

/// A request for many rows of one server. Rows of one mutation go together by their regions: the server writes them
/// down together. A row of more is a step of its own.
#[derive(Default)]
struct Asked {
    actions: Vec<RegionAction>,
    /// Of each action its region, and the rows in the order of their mutations.
    sent: Vec<(Arc<Region>, Vec<usize>)>,
    /// Which action has the rows of one mutation of a region.
    places: HashMap<Vec<u8>, usize>,
    bytes: usize,
}

impl Asked {
    /// Takes a row, unless it is another server's.
    fn add(&mut self, at: usize, mutations: &[MutationProto], region: &Arc<Region>) {
        if self.sent.first().is_some_and(|(first, _)| first.server != region.server) {
            return;
        }
        self.bytes += mutations.iter().map(Message::encoded_len).sum::<usize>();
        match (mutations, self.places.get(&region.name)) {
            ([one], Some(place)) => {
                let actions = &mut self.actions[*place].action;
                let index = u32::try_from(actions.len()).ok();
                actions.push(Action { index, mutation: Some(one.clone()), get: None });
                self.sent[*place].1.push(at);
            }
            _ => {
                if mutations.len() == 1 {
                    self.places.insert(region.name.clone(), self.actions.len());
                }
                self.actions.push(region_action(region, mutations, mutations.len() > 1, None));
                self.sent.push((Arc::clone(region), vec![at]));
            }
        }
    }
}

/// Which rows of an action are done, and how one failed that is not.
fn outcome_of(rows: &[usize], result: &RegionActionResult) -> (Vec<usize>, Option<Error>) {
    if let [row] = rows {
        return match check_whole(result) {
            Ok(()) => (vec![*row], None),
            Err(e) => (Vec::new(), Some(e)),
        };
    }
    if let Some(exception) = &result.exception {
        return (Vec::new(), Some(of_exception(exception)));
    }
    let (mut done, mut failed) = (Vec::new(), None);
    for one in &result.result_or_exception {
        match (&one.exception, rows.get(one.index.unwrap_or(u32::MAX) as usize)) {
            (Some(exception), _) => failed = Some(of_exception(exception)),
            (None, Some(row)) => done.push(*row),
            (None, None) => {}
        }
    }
    if done.len() < rows.len() && failed.is_none() {
        failed = Some(Error::new(Kind::Passing, "the server says nothing of some mutations"));
    }
    (done, failed)
}

fn region_action(
    region: &Region,
    mutations: &[MutationProto],
    is_atomic: bool,
    condition: Option<Condition>,
) -> RegionAction {
    let action = |(at, mutation): (usize, &MutationProto)| Action {
        index: u32::try_from(at).ok(),
        mutation: Some(mutation.clone()),
        get: None,
    };
    RegionAction {
        region: region.specifier(),
        atomic: is_atomic.then_some(true),
        action: mutations.iter().enumerate().map(action).collect(),
        condition,
    }
}

/// Fails as the first action that failed did.
fn check_whole(result: &RegionActionResult) -> Result<()> {
    let of_actions = result.result_or_exception.iter().filter_map(|one| one.exception.as_ref());
    match result.exception.iter().chain(of_actions).next() {
        Some(exception) => Err(of_exception(exception)),
        None => Ok(()),
    }
}
