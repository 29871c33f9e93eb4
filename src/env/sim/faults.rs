//! A disk that fails: calls that are refused, and writes that go wrong without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::next_random;

/// Bytes that go bad together.
const SECTOR: u64 = 512;

/// What may happen to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error number; a write may have written a part.
    Fails(i32),
    /// A call that changes nothing, to open, list, look for or read, fails with this error number.
    LookFails(i32),
    /// A write says that it was done and was not.
    WriteLost,
    /// A write goes to another place of the file.
    WriteMisdirected,
    /// A write goes to a second place too.
    WriteTwice,
    /// A sector of what is written cannot be read later.
    SectorGoesBad,
}

impl Fault {
    /// Whether nobody is told.
    fn is_silent(self) -> bool {
        !matches!(self, Fault::Fails(_) | Fault::LookFails(_))
    }
}

/// Which faults strike, and how often.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    pub seed: u64,
    /// One call of so many, on the average.
    pub one_in: u64,
    /// One of these.
    pub faults: Vec<Fault>,
    /// What has failed once fails from then on.
    pub lasting: bool,
    /// Where the log is, whose records say of each other, and of other files, what was synced.
    pub log: PathBuf,
}

/// How far the log has come since a write went wrong in silence. It says with each record up to where it was synced when
/// that was written, at the least up to where it was before the last sync but one: a record behind two syncs shows what is
/// missing, once it is on the disk itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Struck,
    Synced,
    SyncedTwice,
    Written,
    Told,
}

impl Since {
    fn synced(self) -> Self {
        match self {
            Since::Struck => Since::Synced,
            Since::Synced | Since::SyncedTwice => Since::SyncedTwice,
            Since::Written | Since::Told => Since::Told,
        }
    }

    fn written(self) -> Self {
        if self == Since::SyncedTwice { Since::Written } else { self }
    }
}

#[derive(Clone, Copy)]
struct Struck {
    node: usize,
    /// What was there before was written over.
    is_elsewhere: bool,
    since: Since,
}

/// A silent fault of which nothing on the disk tells.
#[derive(Clone, Copy, Debug)]
pub struct Untold {
    /// Of all silent faults of the plan; 1: the first.
    pub number: u64,
    /// What was written earlier may be gone too.
    pub is_elsewhere: bool,
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Faults {
    plan: Option<FaultPlan>,
    random: u64,
    lasting: Option<i32>,
    lasting_look: Option<i32>,
    bad: BTreeSet<(usize, u64)>,
    met: u64,
    silent: u64,
    /// Nodes of which writes went wrong in silence, by the number of the fault.
    struck: BTreeMap<u64, Struck>,
}

impl Faults {
    /// From now on the plan's; sectors that have gone bad stay so.
    pub(super) fn begin(&mut self, plan: FaultPlan) {
        let bad = std::mem::take(&mut self.bad);
        *self = Self { random: plan.seed, plan: Some(plan), bad, ..Self::default() };
    }

    /// The sector at a place of a node goes bad.
    pub(super) fn spoil(&mut self, node: usize, offset: u64) {
        self.bad.insert((node, offset / SECTOR));
    }

    pub(super) fn heal_sectors(&mut self) {
        self.bad.clear();
    }

    /// No more faults; sectors that have gone bad stay so.
    pub(super) fn end(&mut self) {
        self.plan = None;
        (self.lasting, self.lasting_look) = (None, None);
    }

    pub(super) fn met(&self) -> (u64, u64) {
        (self.met, self.silent)
    }

    /// The silent faults of the plan in nodes that are meant, of which nothing on the disk tells.
    pub(super) fn untold(&self, is_meant: impl Fn(usize) -> bool) -> Vec<Untold> {
        let untold = self.struck.iter().filter(|(_, struck)| struck.since != Since::Told && is_meant(struck.node));
        untold.map(|(&number, struck)| Untold { number, is_elsewhere: struck.is_elsewhere }).collect()
    }

    /// Whether a write to a node has gone wrong in silence, or a sector of it has gone bad.
    pub(super) fn is_spoilt(&self, node: usize) -> bool {
        let has_bad = self.bad.range((node, 0)..=(node, u64::MAX)).next().is_some();
        has_bad || self.struck.values().any(|struck| struck.node == node)
    }

    /// Whether a write has gone wrong in silence, and in what way the log goes on is of interest.
    pub(super) fn has_struck(&self) -> Option<&Path> {
        self.plan.as_ref().filter(|_| !self.struck.is_empty()).map(|plan| plan.log.as_path())
    }

    /// All files of the log are on the disk as they are.
    pub(super) fn log_synced(&mut self) {
        self.struck.values_mut().for_each(|struck| struck.since = struck.since.synced());
    }

    /// A file of the log is written to.
    pub(super) fn log_written(&mut self) {
        self.struck.values_mut().for_each(|struck| struck.since = struck.since.written());
    }

    fn draw(&mut self, is_meant: impl Fn(Fault) -> bool) -> Option<Fault> {
        let plan = self.plan.as_ref()?;
        if !next_random(&mut self.random).is_multiple_of(plan.one_in.max(1)) {
            return None;
        }
        let fault = *plan.faults.get(next_random(&mut self.random) as usize % plan.faults.len().max(1))?;
        if !is_meant(fault) {
            return None;
        }
        log::trace!("fault: {fault:?}");
        self.met += 1;
        self.silent += u64::from(fault.is_silent());
        Some(fault)
    }

    /// What becomes of a changing call.
    pub(super) fn call(&mut self) -> io::Result<()> {
        if let Some(errno) = self.lasting {
            return Err(io::Error::from_raw_os_error(errno));
        }
        match self.draw(|fault| matches!(fault, Fault::Fails(_))) {
            Some(Fault::Fails(errno)) => {
                self.lasting = self.plan.as_ref().filter(|plan| plan.lasting).map(|_| errno);
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }

    /// What becomes of a call that changes nothing.
    pub(super) fn look(&mut self) -> io::Result<()> {
        if let Some(errno) = self.lasting_look {
            return Err(io::Error::from_raw_os_error(errno));
        }
        match self.draw(|fault| matches!(fault, Fault::LookFails(_))) {
            Some(Fault::LookFails(errno)) => {
                self.lasting_look = self.plan.as_ref().filter(|plan| plan.lasting).map(|_| errno);
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }

    /// Where a write to a node of `len` bytes goes.
    pub(super) fn write(&mut self, node: usize, offset: u64, len: u64) -> Vec<u64> {
        let Some(fault) = self.draw(Fault::is_silent) else { return vec![offset] };
        let is_elsewhere = matches!(fault, Fault::WriteMisdirected | Fault::WriteTwice);
        self.struck.insert(self.silent, Struck { node, is_elsewhere, since: Since::Struck });
        let elsewhere = next_random(&mut self.random) % (len + 1) / SECTOR * SECTOR;
        match fault {
            Fault::Fails(_) | Fault::LookFails(_) => vec![offset],
            Fault::WriteLost => vec![],
            Fault::WriteMisdirected => vec![elsewhere],
            Fault::WriteTwice => vec![offset, elsewhere],
            Fault::SectorGoesBad => {
                self.spoil(node, offset);
                vec![offset]
            }
        }
    }

    /// Whether a read meets a bad sector.
    pub(super) fn read(&self, node: usize, offset: u64, len: usize) -> io::Result<()> {
        let (first, behind) = (offset / SECTOR, (offset + len as u64).div_ceil(SECTOR));
        if self.bad.range((node, first)..(node, behind.max(first))).next().is_some() {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }
}
