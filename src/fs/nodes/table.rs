//! The inode table: the held nodes, their numbers and identities.
//!
//! Bounded by what the kernel holds (forget) and by the option `max_nodes`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::env::sync::Mutex;
use crate::fs::nodes::astray::Astray;
use crate::fs::nodes::identities::Identities;
use crate::fs::nodes::node::Node;
use crate::fs::nodes::numbers::{Numbers, NumbersBelow, ROOT_INO};
use crate::model::ColumnKey;
use crate::tree::place::{NodeKey, Place};

/// Room for so many nodes is kept.
const SPARSE: usize = 16_384;
/// While too many nodes are held, the oldest are asked back once in so many look-ups, and so many at once.
const LOOK_UPS: usize = 256;
const ASKED_BACK: usize = 2 * LOOK_UPS;
/// Nodes that are passed, to find files among them, for each that is asked back.
const PASSED: usize = 4;

#[derive(Default)]
struct Maps {
    by_ino: FxHashMap<u64, Arc<Node>>,
    identities: Identities,
    /// Numbers in the order in which they came, to give the oldest back; may name forgotten ones.
    order: VecDeque<u64>,
    /// Those that were asked back: the kernel has yet to forget them, or holds them all the same.
    asked: VecDeque<u64>,
    astray: Arc<Astray>,
}

impl Maps {
    /// The node that has an identity, whose number is `number`.
    fn find(&self, key: &NodeKey, number: u64) -> Option<&Arc<Node>> {
        let is_its = |node: &&Arc<Node>| node.has_identity() && *node.key.read() == *key;
        if let Some(node) = self.by_ino.get(&number).filter(is_its) {
            return Some(node);
        }
        self.identities.elsewhere(key).and_then(|ino| self.by_ino.get(&ino))
    }

    /// Gives a node an identity; the node that had it keeps its number without one.
    fn give(&mut self, node: &Arc<Node>, key: NodeKey, number: u64) -> Option<Arc<Node>> {
        if node.has_identity() {
            self.identities.forget(&node.key.read(), node.ino);
        }
        let before = self.find(&key, number).filter(|before| !Arc::ptr_eq(before, node)).cloned();
        if let Some(before) = &before {
            self.take_away(before);
        }
        self.identities.note(&key, number, node.ino);
        *node.key.write() = key;
        self.set_own(node, number);
        before
    }

    /// Takes away a node's identity; whether it had one.
    fn take_away(&mut self, node: &Node) -> bool {
        let had = node.has_identity();
        if had {
            self.identities.forget(&node.key.read(), node.ino);
        }
        self.set_own(node, 0);
        had
    }

    fn set_own(&self, node: &Node, own: u64) {
        let before = node.own.swap(own, Ordering::Relaxed);
        // One that the kernel has forgotten meanwhile concerns nobody.
        if self.by_ino.get(&node.ino).is_some_and(|held| std::ptr::eq(&**held, node)) {
            self.astray.note(node.ino, before, own);
        }
    }

    /// Gives back what a listing of very many names has needed.
    fn shrink(&mut self) {
        let held = self.by_ino.len();
        if self.by_ino.capacity() > SPARSE.max(8 * held) {
            self.by_ino.shrink_to(2 * held);
            self.identities.shrink_to(2 * held);
            self.order.shrink_to(2 * held);
            self.asked.shrink_to(2 * held);
        }
    }

    /// Sweeps out numbers that were forgotten, or have come twice, before they outnumber the held ones.
    fn sweep(&mut self) {
        if self.order.len() + self.asked.len() > 2 * self.by_ino.len() + 1024 {
            let mut seen = FxHashSet::default();
            let mut stays = |ino: &u64| self.by_ino.contains_key(ino) && seen.insert(*ino);
            self.order.retain(&mut stays);
            self.asked.retain(stays);
        }
    }
}

pub struct NodeTable {
    numbers: Numbers,
    maps: Mutex<Maps>,
    /// That of [`Maps`], to be asked without their lock.
    astray: Arc<Astray>,
    /// Look-ups while too many nodes were held.
    beyond: AtomicUsize,
}

impl NodeTable {
    pub fn new(hash_key: [u8; 16], root: NodeKey) -> Self {
        let maps = Maps::default();
        let astray = Arc::clone(&maps.astray);
        let table =
            Self { numbers: Numbers::new(&hash_key), maps: Mutex::new(maps), astray, beyond: AtomicUsize::new(0) };
        let node = Node::new(ROOT_INO, root, ROOT_INO);
        // The kernel never forgets the root.
        node.lookups.store(1, Ordering::Relaxed);
        table.maps.lock().by_ino.insert(ROOT_INO, node);
        table
    }

    pub fn get(&self, ino: u64) -> Option<Arc<Node>> {
        self.maps.lock().by_ino.get(&ino).cloned()
    }

    /// The held node of an identity.
    pub fn find(&self, key: &NodeKey) -> Option<Arc<Node>> {
        let number = self.own_number(key);
        self.maps.lock().find(key, number).cloned()
    }

    /// Whether a number is that of the node of a cell.
    pub fn is_of_cell(&self, ino: u64, column: &ColumnKey) -> bool {
        let maps = self.maps.lock();
        let Some(node) = maps.by_ino.get(&ino).filter(|node| node.has_identity()) else {
            return false;
        };
        let key = node.key.read();
        key.is_present() && matches!(&key.place, Place::Cell(of) if **of == *column)
    }

    /// The node of an identity, made if it is not held, with one more look-up counted.
    pub fn look_up(&self, key: &NodeKey) -> Arc<Node> {
        let number = self.own_number(key);
        let mut maps = self.maps.lock();
        let node = match maps.find(key, number) {
            Some(node) => Arc::clone(node),
            None => {
                let ino = free_number(&maps, number);
                let node = Node::new(ino, key.clone(), number);
                maps.by_ino.insert(ino, Arc::clone(&node));
                maps.identities.note(key, number, ino);
                maps.astray.note(ino, ino, number);
                maps.order.push_back(ino);
                node
            }
        };
        node.lookups.fetch_add(1, Ordering::Relaxed);
        node
    }

    /// Held nodes of the history that are versions of a column.
    pub fn versions_of(&self, column: &ColumnKey) -> Vec<Arc<Node>> {
        let maps = self.maps.lock();
        let held = maps.identities.versions_of(column).iter().filter_map(|ino| maps.by_ino.get(ino));
        held.filter(|node| node.key.read().place.column().is_some_and(|of| **of == *column)).cloned().collect()
    }

    /// The number by which an identity is found: that of the root is not made of it.
    fn own_number(&self, key: &NodeKey) -> u64 {
        if matches!(key.place, Place::Root) && key.is_present() { ROOT_INO } else { self.number(key) }
    }

    /// The number that a listing tells of an identity: that of the held node, or what it would have if it were held.
    pub fn told(&self, key: &NodeKey) -> u64 {
        self.told_as(self.own_number(key), || key.clone())
    }

    /// As [`NodeTable::told`], of an identity with this number, which is made only where that does not tell.
    pub fn told_as(&self, number: u64, key: impl FnOnce() -> NodeKey) -> u64 {
        if !self.astray.concerns(number) {
            return number;
        }
        let (key, maps) = (key(), self.maps.lock());
        maps.find(&key, number).map_or_else(|| free_number(&maps, number), |node| node.ino)
    }

    /// The number that an identity has unless the kernel still holds it for another node.
    pub fn number(&self, key: &NodeKey) -> u64 {
        self.numbers.of(key)
    }

    /// As [`NodeTable::number`], of what a directory has by keys.
    pub fn numbers_below(&self, dir: &NodeKey) -> Option<NumbersBelow> {
        self.numbers.below(dir)
    }

    /// Subtracts look-ups; the node goes with the last of them unless a handle is open.
    pub fn forget(&self, ino: u64, count: u64) {
        let mut maps = self.maps.lock();
        let Some(node) = maps.by_ino.get(&ino).cloned() else { return };
        let before = node.lookups.fetch_sub(count.min(node.lookups.load(Ordering::Relaxed)), Ordering::Relaxed);
        if before <= count {
            drop_if_unused(&mut maps, &node);
        }
    }

    /// Counts a handle that was closed.
    pub fn closed(&self, node: &Arc<Node>) {
        node.closed();
        if node.lookups.load(Ordering::Relaxed) == 0 {
            drop_if_unused(&mut self.maps.lock(), node);
        }
    }

    /// Gives a node the identity `to`; a node that had it keeps its number without an identity.
    pub fn rename(&self, node: &Arc<Node>, to: NodeKey) -> Option<Arc<Node>> {
        let number = self.own_number(&to);
        self.maps.lock().give(node, to, number)
    }

    /// Gives every node of the present whose place `moved` answers the new place.
    pub fn rename_all(&self, moved: impl Fn(&Place) -> Option<Place>) {
        let mut maps = self.maps.lock();
        let nodes: Vec<_> = maps.by_ino.values().cloned().collect();
        let present = nodes.iter().filter(|node| node.key().snapshot.is_none() && node.key().asked.is_none());
        let renamed = present.filter_map(|node| moved(&node.key().place).map(|place| (node, place)));
        let renamed: Vec<_> = renamed.collect();
        // What has lost its name gets none.
        let named: Vec<bool> = renamed.iter().map(|(node, _)| maps.take_away(node)).collect();
        for ((node, place), named) in renamed.into_iter().zip(named) {
            let key = node.key().sibling(place);
            if named {
                let number = self.own_number(&key);
                maps.give(node, key, number);
            } else {
                *node.key.write() = key;
            }
        }
    }

    /// Takes a node's identity away: its name is gone, the number stays while it is held.
    pub fn detach(&self, node: &Arc<Node>) {
        self.maps.lock().take_away(node);
    }

    /// A look-up was answered: the nodes that are asked back from the kernel now, if more than `keep` are held.
    pub fn to_ask_back(&self, keep: usize) -> Vec<Arc<Node>> {
        let is_due = self.len() > keep && self.beyond.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_UPS);
        if is_due { self.oldest_beyond(keep, ASKED_BACK) } else { Vec::new() }
    }

    /// Held nodes that nobody has open, oldest first. Directories only where there are too few files: with the name of one
    /// the kernel unmounts what is mounted there.
    fn oldest_beyond(&self, keep: usize, most: usize) -> Vec<Arc<Node>> {
        let mut maps = self.maps.lock();
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let asked_before = maps.asked.len();
        for _ in 0..maps.order.len().min(PASSED * most) {
            if files.len() == most || maps.order.len() <= keep {
                break;
            }
            let Some(ino) = maps.order.pop_front() else { break };
            let Some(node) = maps.by_ino.get(&ino).cloned() else { continue };
            let is_dir = node.key.read().place.is_dir();
            if node.opens() == 0 && !is_dir {
                maps.asked.push_back(ino);
                files.push(node);
                continue;
            }
            maps.order.push_back(ino);
            if node.opens() == 0 {
                directories.push(node);
            }
        }
        // Who was asked already is only where there are few others.
        for _ in 0..asked_before {
            if files.len() >= most / 2 {
                break;
            }
            let Some(ino) = maps.asked.pop_front() else { break };
            let Some(node) = maps.by_ino.get(&ino).cloned() else { continue };
            maps.asked.push_back(ino);
            files.extend((node.opens() == 0).then_some(node));
        }
        if files.len() >= most {
            directories.clear();
        } else if !directories.is_empty() {
            // No directory goes for what is open, which stays anyway.
            let unused = maps.by_ino.values().filter(|node| node.opens() == 0).count();
            directories.truncate(unused.saturating_sub(keep).min(most).saturating_sub(files.len()));
        }
        files.into_iter().chain(directories).collect()
    }

    pub fn len(&self) -> usize {
        self.maps.lock().by_ino.len()
    }

    /// Held nodes of the present, not of answers to questions, whose identity satisfies `wanted`.
    pub fn select(&self, wanted: impl Fn(&NodeKey) -> bool) -> Vec<Arc<Node>> {
        let maps = self.maps.lock();
        let matches = |key: &NodeKey| key.snapshot.is_none() && key.asked.is_none() && wanted(key);
        maps.by_ino.values().filter(|node| matches(&node.key.read())).cloned().collect()
    }
}

fn free_number(maps: &Maps, mut ino: u64) -> u64 {
    while ino <= ROOT_INO || maps.by_ino.contains_key(&ino) {
        ino = ino.wrapping_add(1);
    }
    ino
}

fn drop_if_unused(maps: &mut Maps, node: &Arc<Node>) {
    if node.ino == ROOT_INO || node.lookups.load(Ordering::Relaxed) > 0 || node.opens() > 0 {
        return;
    }
    maps.take_away(node);
    // It is not there any more, so that nobody has to look.
    maps.set_own(node, node.ino);
    maps.by_ino.remove(&node.ino);
    maps.shrink();
    maps.sweep();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;

    fn key(name: &str) -> NodeKey {
        NodeKey::plain(Place::Namespace(name.into()))
    }

    fn table() -> NodeTable {
        NodeTable::new([1; 16], NodeKey::plain(Place::Root))
    }

    #[test]
    fn numbers_are_stable_and_given_back() {
        let table = table();
        let first = table.look_up(&key("a")).ino;
        assert_eq!(table.look_up(&key("a")).ino, first);
        table.forget(first, 1);
        assert!(table.find(&key("a")).is_some());
        table.forget(first, 1);
        assert!(table.find(&key("a")).is_none());
        assert_eq!(table.look_up(&key("a")).ino, first);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_renamed_node_keeps_its_number_and_the_old_name_gets_another() {
        let table = table();
        let moved = table.look_up(&key("a"));
        let target = table.look_up(&key("b"));
        let replaced = table.rename(&moved, key("b"));
        assert_eq!(replaced.map(|n| n.ino), Some(target.ino));
        assert_eq!(table.look_up(&key("b")).ino, moved.ino);
        let fresh = table.look_up(&key("a"));
        assert_ne!(fresh.ino, moved.ino);
    }

    #[test]
    fn identities_go_where_they_are_given() {
        let names = ["a", "b", "c", "d"];
        let (table, mut model) = (table(), FxHashMap::<&str, u64>::default());
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        let mut random = 7_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (name, other, choice) = (names[(random >> 33) as usize % 4], (random >> 40) as usize, random >> 60);
            let node = nodes.get(other % nodes.len().max(1)).cloned();
            match (choice, node) {
                (0..8, _) | (_, None) => {
                    let node = table.look_up(&key(name));
                    assert_eq!(node.ino, *model.entry(name).or_insert(node.ino), "{name}");
                    nodes.push(node);
                }
                (8..11, Some(node)) => {
                    let replaced = table.rename(&node, key(name)).map(|other| other.ino);
                    let had = model.get(name).copied().filter(|ino| *ino != node.ino);
                    assert_eq!(replaced, had, "{name}");
                    model.retain(|_, ino| *ino != node.ino);
                    model.insert(name, node.ino);
                }
                (11..13, Some(node)) => {
                    table.detach(&node);
                    model.retain(|_, ino| *ino != node.ino);
                }
                (_, Some(node)) => {
                    let at = other % nodes.len();
                    nodes.swap_remove(at);
                    table.forget(node.ino, 1);
                    if table.get(node.ino).is_none() {
                        model.retain(|_, ino| *ino != node.ino);
                    }
                }
            }
            for name in names {
                assert_eq!(table.find(&key(name)).map(|node| node.ino), model.get(name).copied(), "{name}");
                let told = table.told(&key(name));
                match model.get(name) {
                    Some(ino) => assert_eq!(told, *ino, "{name} is listed"),
                    None => assert!(table.get(told).is_none(), "{name} is listed with the number of another"),
                }
            }
        }
        nodes.iter().for_each(|node| table.forget(node.ino, u64::MAX));
        assert!(table.astray.is_empty(), "all that were astray are gone");
    }

    #[test]
    fn a_node_that_is_forgotten_before_its_name_goes_concerns_nobody() {
        let table = table();
        let node = table.look_up(&key("a"));
        table.forget(node.ino, 1);
        table.detach(&node);
        assert!(table.astray.is_empty());
    }

    #[test]
    fn files_are_asked_back_before_directories_and_both_once_too_many_are_held() {
        let table = table();
        let cell = |n: usize| {
            let (table, row) = (TableName::parse("t").unwrap(), b"r".to_vec());
            let column = ColumnKey { table, row, family: "f".to_owned(), qualifier: n.to_string().into_bytes() };
            NodeKey::plain(Place::Cell(Arc::new(column)))
        };
        let directories: Vec<u64> = (0..600).map(|n| table.look_up(&key(&n.to_string())).ino).collect();
        let files: Vec<u64> = (0..1000).map(|n| table.look_up(&cell(n)).ino).collect();
        let asked = |keep: usize| table.to_ask_back(keep).iter().map(|node| node.ino).collect::<Vec<_>>();
        assert!(asked(2000).is_empty(), "there is room");
        assert_eq!(asked(900), files[..ASKED_BACK], "the oldest files");
        assert!((1..LOOK_UPS).all(|_| asked(900).is_empty()), "the kernel has yet to answer");
        let rest = &files[ASKED_BACK..700];
        let twice = asked(900);
        assert_eq!((&twice[..rest.len()], twice.len()), (rest, LOOK_UPS), "those that were not asked come first");
        files.iter().for_each(|ino| table.forget(*ino, 1));
        let excess = table.len() - 500;
        assert!((1..LOOK_UPS).all(|_| asked(500).is_empty()));
        assert_eq!(asked(500), directories[..excess], "no more of them than are too many");
        for n in 0..1000 {
            table.look_up(&cell(n)).opened();
        }
        assert!((1..LOOK_UPS).all(|_| asked(700).is_empty()));
        assert!(asked(700).is_empty(), "none goes for what is open");
    }

    #[test]
    fn open_nodes_outlive_the_kernels_forget() {
        let table = table();
        let node = table.look_up(&key("a"));
        node.opened();
        table.forget(node.ino, 1);
        assert!(table.get(node.ino).is_some());
        table.closed(&node);
        assert!(table.get(node.ino).is_none());
    }
}
