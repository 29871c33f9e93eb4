//! Random writes against a model of the rules that checks set, and against stores that lack one of them.

use super::constraints::{append, check, declare, deletes, of_row, parents, two_tables};
use super::*;

const ROWS: [&str; 4] = ["a", "b", "c", "d"];
const NAMES: [&str; 4] = ["name", "age", "of", "x"];
const VALUES: [&str; 7] = ["1", "-20", "x", "long", "p1", "p2", ""];

type Rows = BTreeMap<&'static str, BTreeMap<&'static str, Vec<u8>>>;

/// The rules, said once more: ages are numbers, `of` is a row of p, rows with anything have a name of three bytes at the
/// most.
fn obeys(rows: &Rows, parents: &[&str], row: &str, put: &[(&'static str, Vec<u8>)]) -> bool {
    let is_right = |(name, value): &(&str, Vec<u8>)| {
        let text = String::from_utf8_lossy(value);
        match *name {
            "age" => text.parse::<i64>().is_ok(),
            "name" => value.len() <= 3,
            "of" => parents.contains(&&*text),
            _ => true,
        }
    };
    put.iter().all(is_right) && (put.is_empty() || rows.get(row).is_some_and(|row| row.contains_key("name")))
}

/// The checks that set them.
fn checks() -> [ConstraintSchema; 4] {
    [
        check("age", &[("columns", "age"), ("type", "i64")]),
        check("length", &[("columns", "name"), ("length", "..3")]),
        check("name", &[("required", "f:name")]),
        check("of", &[("columns", "of"), ("references", "p")]),
    ]
}

/// A store and what it should have.
struct Run {
    seed: u64,
    state: u64,
    store: Store,
    model: Rows,
    /// Rows of the table that is referred to.
    parents: Vec<&'static str>,
    taken: usize,
    refused: usize,
}

/// A step of one row, as the model sees it.
#[derive(Default)]
struct Step {
    next: Rows,
    put: Vec<(&'static str, Vec<u8>)>,
    mutations: Vec<Mutation>,
}

impl Run {
    /// `without`: the check that the store lacks.
    fn new(seed: u64, without: Option<&str>) -> Self {
        let store = two_tables(&SimEnv::new());
        for constraint in checks().into_iter().filter(|check| Some(check.name.as_str()) != without) {
            declare(&store, "f", constraint).unwrap();
        }
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self { seed, state, store, model: Rows::new(), parents: Vec::new(), taken: 0, refused: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    /// What was done, if the store did not answer as the model says.
    fn step(&mut self) -> Result<(), String> {
        let row = ROWS[self.below(4)];
        let mut step = Step { next: self.model.clone(), ..Step::default() };
        match self.below(8) {
            0 => {
                step.next.remove(row);
                step.mutations.push(deletes(DeleteKind::Row));
            }
            1 => self.change_parent(),
            2 => self.append(row, &mut step),
            3 => return self.rename(row),
            _ => self.put(row, &mut step),
        }
        if step.mutations.is_empty() { Ok(()) } else { self.apply(row, step) }
    }

    fn change_parent(&mut self) {
        let parent = ["p1", "p2"][self.below(2)];
        let change = match self.parents.iter().position(|of| *of == parent) {
            Some(at) => {
                self.parents.remove(at);
                deletes(DeleteKind::Row)
            }
            None => {
                self.parents.push(parent);
                Mutation::Put(vec![put_cell("q", b"", Time::AfterNewest)])
            }
        };
        self.store.mutate(of_row(&parents(), parent, vec![change]), None).unwrap();
    }

    fn append(&mut self, row: &'static str, step: &mut Step) {
        let (name, more) = (NAMES[self.below(4)], VALUES[self.below(7)].as_bytes());
        let value = step.next.entry(row).or_default().entry(name).or_default();
        value.extend_from_slice(more);
        step.put.push((name, value.clone()));
        step.mutations.push(append(name, more));
    }

    fn put(&mut self, row: &'static str, step: &mut Step) {
        for name in NAMES {
            let of = step.next.entry(row).or_default();
            match self.below(5) {
                0 | 1 => {
                    let value = VALUES[self.below(7)].as_bytes().to_vec();
                    of.insert(name, value.clone());
                    step.mutations.push(Mutation::Put(vec![put_cell(name, &value, Time::AfterNewest)]));
                    step.put.push((name, value));
                }
                2 => {
                    of.remove(name);
                    let kind = DeleteKind::Column { family: "f".into(), qualifier: name.into() };
                    step.mutations.push(deletes(kind));
                }
                _ => {}
            }
        }
    }

    fn apply(&mut self, row: &'static str, step: Step) -> Result<(), String> {
        let may = obeys(&step.next, &self.parents, row, &step.put);
        let done = self.store.mutate(of_row(&table(), row, step.mutations), None);
        if done.is_ok() != may {
            return Err(format!("seed {}: {row} {:?} {:?}: {done:?}", self.seed, step.put, self.model.get(row)));
        }
        (self.taken, self.refused) = (self.taken + usize::from(may), self.refused + usize::from(!may));
        if may {
            self.model = step.next;
        }
        Ok(())
    }

    fn rename(&mut self, row: &'static str) -> Result<(), String> {
        let (from, to, other) = (NAMES[self.below(4)], NAMES[self.below(4)], ROWS[self.below(4)]);
        let mut next = self.model.clone();
        let Some(value) = next.get_mut(row).and_then(|of| of.remove(from)) else { return Ok(()) };
        next.entry(other).or_default().insert(to, value.clone());
        let rename = RenameCell::newest(column(row, from), column(other, to), RenameMode::Replace);
        let done = self.store.rename_cell(&rename);
        let may = obeys(&next, &self.parents, other, &[(to, value)]);
        if done.is_ok() != may {
            return Err(format!("seed {}: {row} {from} to {other} {to}: {done:?}", self.seed));
        }
        if may && (row, from) != (other, to) {
            self.model = next;
        }
        Ok(())
    }

    fn look(&self) {
        for (row, name) in ROWS.iter().flat_map(|row| NAMES.map(|name| (*row, name))) {
            let wanted = self.model.get(row).and_then(|of| of.get(name)).cloned();
            assert_eq!(value(&self.store, row, name), wanted, "seed {}: {row} {name}", self.seed);
        }
    }
}

/// How many writes were taken and refused, as the model says; or the first one that was not.
fn random_writes(without: Option<&str>) -> Result<(usize, usize), String> {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..60 {
        let mut run = Run::new(seed, without);
        for _ in 0..60 {
            run.step()?;
            if run.below(15) == 0 {
                run.store.flush(None).unwrap();
            }
            run.look();
        }
        (taken, refused) = (taken + run.taken, refused + run.refused);
    }
    Ok((taken, refused))
}

#[test]
fn random_writes_are_refused_as_a_model_of_the_rules_does() {
    let (taken, refused) = random_writes(None).unwrap();
    assert!(taken > 300 && refused > 300, "{taken} taken, {refused} refused");
}

/// The negative control: a store that lacks one of the rules is found out, whichever it is.
#[test]
fn random_writes_find_out_a_store_that_lacks_a_rule() {
    for missing in checks() {
        let found = random_writes(Some(&missing.name));
        assert!(found.is_err(), "nobody has missed the check {}", missing.name);
    }
}
