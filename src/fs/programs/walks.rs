//! Scan paths: whoever walks below one sees one moment of the store, and everybody else the present.
//!
//! A walk begins when the directory of a question is listed. It is told by its process group and that directory, as programs
//! look the whole path up again and again. It ends when it pauses, when the directory is listed anew, and when its own process
//! group changes the table: a script reads what it has written. A process that walks goes on with its walk even then, unless
//! it has written itself: a copy stays whole beside a writer in the background of its script.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Result;
use crate::env::sync::Mutex;
use crate::fs::caller::Caller;
use crate::model::{TableName, Timestamp};

mod asked;

pub(in crate::fs) use asked::AskedDir;

/// Walks that are remembered, and tables of which it is known since when nothing has changed.
const WALKS: usize = 256;
const TABLES: usize = 1024;
/// Directories that are remembered of a walk.
const LISTED: usize = 256;
/// A look so long after the last one, ms, is no part of the walk, unless it still has a file open.
const PAUSE_MS: i64 = 2_000;
/// For so long, ms, a group is given the same moment before it lists: rsync(1) goes to a directory, looks at `.`, and opens
/// it by its path.
const GIVEN_MS: u64 = 100;
/// For so long a group is not told again to look again.
const TOLD_MS: u64 = 250;

/// One walk.
struct Walk {
    /// Where it began.
    root: AskedDir,
    group: u32,
    /// The process that began it.
    first: u32,
    /// Whether it goes on for that process alone: others of the group, or nobody knows who, have written.
    is_alone: bool,
    moment: Timestamp,
    last_look: Timestamp,
    /// Directories of questions that it has listed.
    listed: Vec<AskedDir>,
}

impl Walk {
    fn is_of(&self, who: Who) -> bool {
        if self.is_alone { self.first == who.pid } else { self.group == who.group }
    }

    fn goes_on(&self, now: Timestamp) -> bool {
        now.0.abs_diff(self.last_look.0) < PAUSE_MS.unsigned_abs()
    }
}

/// A moment that shows all that there is, and whether each change that comes behind it is told.
pub(in crate::fs) struct Fresh {
    pub moment: Timestamp,
    pub is_told: bool,
}

/// Who looks, and when.
#[derive(Clone, Copy)]
pub(in crate::fs) struct Who {
    group: u32,
    pid: u32,
    now: Timestamp,
}

impl Who {
    pub(in crate::fs) fn of(caller: Caller, now: Timestamp) -> Self {
        Self { group: group_of(caller), pid: caller.pid, now }
    }
}

/// A moment that a group was given.
struct Given {
    dir: AskedDir,
    /// The process that was given it first.
    pid: u32,
    /// Whether others of the group have written since: that process may still list what it has found, and no more.
    is_alone: bool,
    moment: Timestamp,
    /// When it was for the first time, and the last.
    since: Timestamp,
    last: Timestamp,
}

#[derive(Default)]
struct State {
    walks: Vec<Walk>,
    /// A moment since which nothing of the table has changed.
    quiet: BTreeMap<TableName, Timestamp>,
    /// Process groups that were told lately to look again, from which moment on.
    told: BTreeMap<u32, (Timestamp, Timestamp)>,
    /// What a group was given last.
    given: BTreeMap<u32, Given>,
}

impl State {
    /// Whether a group may be told to look again: it was not told a moment ago.
    fn tell(&mut self, group: u32, (moment, now): (Timestamp, Timestamp)) -> bool {
        self.told.retain(|_, (_, at)| now.0.abs_diff(at.0) < TOLD_MS);
        let is_new = !self.told.contains_key(&group) && self.told.len() < WALKS;
        if is_new {
            self.told.insert(group, (moment, now));
        }
        is_new
    }

    fn give(&mut self, dir: &AskedDir, Who { group, pid, now }: Who, moment: Timestamp) {
        let same = |given: &&mut Given| given.dir == *dir && given.moment == moment;
        if let Some(given) = self.given.get_mut(&group).filter(same) {
            given.last = now;
            return;
        }
        if self.given.len() >= WALKS {
            self.given.retain(|_, given| now.0.abs_diff(given.last.0) < PAUSE_MS.unsigned_abs());
        }
        if self.given.len() >= WALKS {
            self.given.pop_first();
        }
        let dir = dir.clone();
        self.given.insert(group, Given { dir, pid, is_alone: false, moment, since: now, last: now });
    }

    /// By what a group that lists what is of a moment has come there along its path just now: not by a directory that it
    /// stays in, which it was even told to leave.
    fn comes_by_path(&self, Who { group, pid, now }: Who, moment: Timestamp) -> Option<&Given> {
        let is_it = |given: &&Given| {
            let is_new = now.0.abs_diff(given.last.0) < PAUSE_MS.unsigned_abs();
            is_new && given.moment == moment && (!given.is_alone || given.pid == pid)
        };
        self.given.get(&group).filter(is_it).filter(|_| !self.was_told(group, moment))
    }

    /// Whether a group was told to leave this moment.
    fn was_told(&self, group: u32, moment: Timestamp) -> bool {
        self.told.get(&group).is_some_and(|(told, _)| *told == moment)
    }
}

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Walks {
    state: Mutex<State>,
    /// Entries of the state: most mounts have none.
    count: AtomicUsize,
}

impl Walks {
    /// Whether there is one that a change may end.
    pub(in crate::fs) fn are_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// The moment of what is asked for: of the walk that it belongs to; of none: `inherited`, which what it is asked below
    /// has, or one that shows all that is there.
    pub(in crate::fs) fn moment(
        &self,
        (dir, inherited): (&AskedDir, Option<Timestamp>),
        who: Who,
        is_open: impl Fn(Timestamp) -> bool,
        fresh: impl FnOnce() -> Result<Fresh>,
    ) -> Result<Timestamp> {
        let mut state = self.state.lock();
        let is_it = |walk: &Walk| {
            let goes_on = || walk.goes_on(who.now) || is_open(walk.moment);
            walk.is_of(who) && dir.is_within(&walk.root) && goes_on()
        };
        // Of several the process's own, or the last one.
        let own = state.walks.iter().rposition(|walk| walk.first == who.pid && is_it(walk));
        if let Some(at) = own.or_else(|| state.walks.iter().rposition(is_it)) {
            state.walks[at].last_look = who.now;
            let moment = state.walks[at].moment;
            state.give(dir, who, moment);
            return Ok(moment);
        }
        match inherited {
            Some(moment) => Ok(moment),
            None => self.fresh(&mut state, dir, who, fresh),
        }
    }

    /// What the group was given just now, or a moment that shows all that is there.
    fn fresh(
        &self,
        state: &mut State,
        dir: &AskedDir,
        who: Who,
        fresh: impl FnOnce() -> Result<Fresh>,
    ) -> Result<Timestamp> {
        let Who { group, now, .. } = who;
        let is_new = |given: &&Given| {
            let is_new = now.0.abs_diff(given.since.0) < GIVEN_MS;
            is_new && !given.is_alone && given.dir == *dir && !state.was_told(group, given.moment)
        };
        if let Some(given) = state.given.get(&group).filter(is_new) {
            return Ok(given.moment);
        }
        let table = dir.table();
        if let Some(moment) = state.quiet.get(table).copied() {
            state.give(dir, who, moment);
            return Ok(moment);
        }
        if state.quiet.len() == TABLES {
            state.quiet.clear();
        }
        // Order: under the lock, so that a change that is not seen takes away again what is put in.
        let Fresh { moment, is_told } = fresh()?;
        if is_told {
            state.quiet.insert(table.clone(), moment);
        }
        state.give(dir, who, moment);
        self.note_count(state);
        Ok(moment)
    }

    /// A directory of some moment is listed; false: its walk has listed it before, and is over, and there is more to see by
    /// now.
    pub(in crate::fs) fn list(&self, (dir, moment): (&AskedDir, Timestamp), who: Who) -> bool {
        let Who { group, pid, now } = who;
        let mut state = self.state.lock();
        let is_quiet = state.quiet.get(dir.table()) == Some(&moment);
        // What goes on for one process alone is over when that pauses.
        state.walks.retain(|walk| !walk.is_alone || walk.goes_on(now));
        let is_it = |walk: &Walk| walk.is_of(who) && dir.is_within(&walk.root);
        let same = state.walks.iter().rposition(|walk| is_it(walk) && walk.moment == moment);
        if let Some(at) = same.or_else(|| state.walks.iter().rposition(is_it)) {
            let walk = &mut state.walks[at];
            let again = walk.moment == moment && walk.listed.contains(dir);
            if walk.moment == moment && !again {
                if walk.listed.len() == LISTED {
                    walk.listed.remove(0);
                }
                walk.listed.push(dir.clone());
            }
            if walk.moment == moment && (!again || is_quiet) {
                walk.last_look = now;
                return true;
            }
            // The kernel looks again once: of several processes of a group one may be in between. It goes on then.
            if again && !state.tell(group, (moment, now)) {
                state.walks[at].last_look = now;
                return true;
            }
            if again {
                state.walks.remove(at);
                return false;
            }
            if moment < state.walks[at].moment {
                return true;
            }
            state.walks.remove(at);
        }
        let Some(is_alone) = state.comes_by_path(who, moment).map(|given| given.is_alone) else { return true };
        // Paused ones have looked longest ago.
        if state.walks.len() == WALKS
            && let Some(at) = (0..WALKS).min_by_key(|at| state.walks[*at].last_look)
        {
            state.walks.remove(at);
        }
        let (root, listed) = (dir.clone(), vec![dir.clone()]);
        state.walks.push(Walk { root, group, first: pid, is_alone, moment, last_look: now, listed });
        self.note_count(&state);
        true
    }

    /// Something of a table was changed by a process; `None`: it is not known by whom.
    pub(in crate::fs) fn changed(&self, table: &TableName, who: Option<Who>) {
        if !self.are_any() {
            return;
        }
        let mut state = self.state.lock();
        state.quiet.remove(table);
        let is_others = |of: u32| who.is_some_and(|who| who.group != of);
        state.walks.retain(|walk| walk.root.table() != table || who.is_none_or(|who| who.pid != walk.first));
        for walk in state.walks.iter_mut().filter(|walk| walk.root.table() == table) {
            walk.is_alone |= !is_others(walk.group);
        }
        state.given.retain(|_, given| given.dir.table() != table || who.is_some_and(|who| who.pid != given.pid));
        for (of, given) in state.given.iter_mut().filter(|(_, given)| given.dir.table() == table) {
            given.is_alone |= !is_others(*of);
        }
        self.note_count(&state);
    }

    fn note_count(&self, state: &State) {
        self.count.store(state.walks.len() + state.quiet.len() + state.given.len(), Ordering::Release);
    }
}

/// The process group of a caller.
pub(in crate::fs) fn group_of(caller: Caller) -> u32 {
    let pid = i32::try_from(caller.pid).ok().filter(|pid| *pid > 0).map(nix::unistd::Pid::from_raw);
    let group = pid.and_then(|pid| nix::unistd::getpgid(Some(pid)).ok());
    group.map_or(caller.pid, |group| group.as_raw().cast_unsigned())
}

#[cfg(test)]
mod tests;
