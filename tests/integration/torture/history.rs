//! What writers did to their cells, kept outside of the store: which attempts were acknowledged, and whether what is
//! found after a crash may be there.

use std::collections::BTreeMap;
use std::time::Instant;

/// The value of attempt `n` on a cell: says which it is, and cannot be half of itself.
pub fn value(name: &str, n: u64) -> Vec<u8> {
    let len = [1, 60, 900, 5_000, 70_000][(n % 5) as usize];
    let head = format!("{name} {n} {len} ");
    let rest = (0..len).map(|at: u64| (at.wrapping_mul(31) ^ n.wrapping_mul(17)) as u8);
    head.into_bytes().into_iter().chain(rest).collect()
}

/// Which attempt a value is of.
fn attempt(name: &str, found: &[u8]) -> Option<u64> {
    let n = std::str::from_utf8(found.split(|b| *b == b' ').nth(1)?).ok()?.parse().ok()?;
    (value(name, n) == found).then_some(n)
}

/// One cell: attempts ascend; an odd one of ten is a removal.
#[derive(Clone, Debug, Default)]
struct CellHistory {
    last: u64,
    acknowledged: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct History {
    cells: BTreeMap<String, CellHistory>,
}

/// What a look at all cells found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub rounds: u64,
    pub acknowledged: u64,
    pub read: u64,
    pub lost: u64,
    pub wrong: u64,
    pub first: Option<String>,
}

/// Whether an attempt removes its cell.
pub fn removes(n: u64) -> bool {
    n % 10 == 7
}

impl History {
    /// The number of the next attempt on a cell.
    pub fn begin(&mut self, name: &str) -> u64 {
        let cell = self.cells.entry(name.to_owned()).or_default();
        cell.last += 1;
        cell.last
    }

    pub fn acknowledge(&mut self, name: &str, n: u64) {
        if let Some(cell) = self.cells.get_mut(name) {
            cell.acknowledged = n;
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.cells.keys().cloned().collect()
    }

    /// Judges what a cell is now, and goes on from there.
    pub fn judge(&mut self, name: &str, found: Option<&[u8]>, tally: &mut Tally) {
        let Some(cell) = self.cells.get_mut(name) else { return };
        tally.read += 1;
        let may_be_absent = cell.acknowledged == 0 || (cell.acknowledged..=cell.last).any(removes);
        let verdict = match found {
            None if may_be_absent => Ok(()),
            None => Err((&mut tally.lost, "is gone".to_owned())),
            Some(bytes) => match attempt(name, bytes) {
                Some(n) if n >= cell.acknowledged && n <= cell.last => Ok(()),
                Some(n) => Err((&mut tally.lost, format!("has attempt {n}"))),
                None => Err((&mut tally.wrong, format!("has {} bytes that nobody wrote", bytes.len()))),
            },
        };
        if let Err((count, what)) = verdict {
            *count += 1;
            tally.first.get_or_insert_with(|| {
                format!("{name} {what}; {} was acknowledged, {} tried", cell.acknowledged, cell.last)
            });
        }
        // What was found is the truth from here on.
        cell.last += 1;
        cell.acknowledged = match found {
            Some(bytes) => attempt(name, bytes).unwrap_or(cell.last),
            None => 0,
        };
    }
}

impl Tally {
    /// The line of figures; `began`: when the rig did.
    pub fn print(&self, what: &str, began: Instant) {
        println!(
            "{what}: {} tried, {} writes acknowledged, {} cells read back, {} lost, {} wrong; {} s",
            self.rounds,
            self.acknowledged,
            self.read,
            self.lost,
            self.wrong,
            began.elapsed().as_secs()
        );
    }

    pub fn assert_good(&self) {
        assert!(self.lost == 0 && self.wrong == 0, "{self:?}");
        assert!(self.acknowledged > self.rounds, "nothing was written: {self:?}");
    }
}
