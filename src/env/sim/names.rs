//! Names of files: those that are there, and those that a power cut leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{CrashMode, next_random};

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Names {
    live: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    /// Changes since their directory was synced, in order.
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Set(PathBuf, usize),
    Unset(PathBuf),
    /// In one step, as a journal has it.
    Rename(PathBuf, PathBuf, usize),
}

impl Change {
    fn dir(&self) -> Option<&Path> {
        match self {
            Change::Set(path, _) | Change::Unset(path) | Change::Rename(_, path, _) => path.parent(),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Change::Set(path, node) => {
                names.insert(path.clone(), *node);
            }
            Change::Unset(path) => {
                names.remove(path);
            }
            Change::Rename(from, to, node) => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<usize> {
        self.live.get(path).copied()
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.live.contains_key(path)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.live.keys()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.live.values().copied()
    }

    /// Those that are in a directory itself.
    pub(super) fn nodes_in(&self, dir: &Path) -> BTreeSet<usize> {
        self.live.iter().filter(|(path, _)| path.parent() == Some(dir)).map(|(_, node)| *node).collect()
    }

    /// The node of the last name in a directory.
    pub(super) fn last_in(&self, dir: &Path) -> Option<usize> {
        self.live.iter().rfind(|(path, _)| path.parent() == Some(dir)).map(|(_, node)| *node)
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    pub(super) fn set(&mut self, path: &Path, node: usize) {
        self.change(Change::Set(path.to_owned(), node));
    }

    pub(super) fn unset(&mut self, path: &Path) {
        self.change(Change::Unset(path.to_owned()));
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path, node: usize) {
        self.change(Change::Rename(from.to_owned(), to.to_owned(), node));
    }

    pub(super) fn unset_below(&mut self, dir: &Path) {
        let below: Vec<PathBuf> = self.live.keys().filter(|path| path.starts_with(dir)).cloned().collect();
        below.into_iter().for_each(|path| self.change(Change::Unset(path)));
    }

    /// What a directory shows is on the disk.
    pub(super) fn sync(&mut self, dir: &Path) {
        let Self { durable, pending, .. } = self;
        pending.retain(|change| {
            let is_inside = change.dir() == Some(dir);
            if is_inside {
                change.apply(durable);
            }
            !is_inside
        });
    }

    /// Of each directory's changes the first few are left, as many as chance has it, or none.
    pub(super) fn crash(&mut self, mode: CrashMode, random: &mut u64) {
        let pending = std::mem::take(&mut self.pending);
        if let CrashMode::KeepSome { .. } = mode {
            let mut kept: BTreeMap<PathBuf, usize> = BTreeMap::new();
            for change in &pending {
                *kept.entry(change.dir().unwrap_or(Path::new("/")).to_owned()).or_default() += 1;
            }
            kept.values_mut().for_each(|count| *count = next_random(random) as usize % (*count + 1));
            for change in &pending {
                let left = kept.entry(change.dir().unwrap_or(Path::new("/")).to_owned()).or_default();
                if *left > 0 {
                    *left -= 1;
                    change.apply(&mut self.durable);
                }
            }
        }
        self.live = self.durable.clone();
    }
}
