//! Modes and owners of directories, which the store does not keep: from when they are set until the directory goes or
//! the mount ends, whatever the kernel forgets meanwhile.

use std::path::Path;

use crate::Result;
use crate::model::{FileChange, TableName};
use crate::spill::{SpillMap, join_key, past_key};
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// Memory that they may take before they are spilled, bytes.
const MEMORY_MAX: usize = 2 << 20;
/// Entries that are looked at together.
const PAGE: usize = 256;
/// What no directory's key begins with.
const ASIDE: &[u8] = &[0xFF];

/// See the module.
pub struct Modes {
    /// By the view and the names of a directory, such that what is below it follows it.
    map: SpillMap,
}

impl Modes {
    pub fn new(spill_dir: &Path) -> Self {
        Self { map: SpillMap::new(spill_dir, MEMORY_MAX) }
    }

    /// Whether what is set on this node is kept here.
    pub fn holds(key: &NodeKey) -> bool {
        Modes::is_level(&key.place) && key.snapshot.is_none() && !matches!(key.view, View::At(_))
    }

    /// Whether it is a directory of the tree, not one that is generated in it.
    pub fn is_level(place: &Place) -> bool {
        matches!(place, Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_))
    }

    /// What was set on a directory.
    pub fn get(&self, key: &NodeKey) -> FileChange {
        if self.map.is_untouched() {
            return FileChange::default();
        }
        let Some(key) = key_of(key) else { return FileChange::default() };
        let found = self.map.get(&key).unwrap_or_else(|e| {
            log::warn!("modes of directories: {e}");
            None
        });
        found.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default()
    }

    /// Sets what a directory has; nothing is left of what it had before.
    pub fn set(&self, key: &NodeKey, access: FileChange) -> Result<()> {
        let Some(key) = key_of(key) else { return Ok(()) };
        let access = FileChange { mtime: None, ..access };
        match postcard::to_allocvec(&access) {
            Ok(bytes) if !access.is_empty() => self.map.insert(key, bytes),
            _ if self.map.is_untouched() => Ok(()),
            _ => self.map.remove(&key).map(|_| ()),
        }
    }

    /// Sets more of what a directory has.
    pub fn change(&self, key: &NodeKey, access: FileChange) -> Result<()> {
        if access.is_empty() { Ok(()) } else { self.set(key, self.get(key).and(access)) }
    }

    /// Forgets a directory with all that is below it.
    pub fn forget(&self, key: &NodeKey) -> Result<()> {
        key_of(key).map_or(Ok(()), |key| self.remove(&key))
    }

    /// As [`Modes::forget`], of a table.
    pub fn forget_table(&self, table: &TableName) -> Result<()> {
        [View::Plain, View::History].iter().try_for_each(|view| self.remove(&table_key(view, table)))
    }

    /// Forgets what is below a table, which stays.
    pub fn forget_rows(&self, table: &TableName) -> Result<()> {
        if self.map.is_untouched() {
            return Ok(());
        }
        [View::Plain, View::History].iter().map(|view| table_key(view, table)).try_for_each(|key| {
            let own = self.map.get(&key)?;
            self.remove(&key)?;
            own.map_or(Ok(()), |access| self.map.insert(key, access))
        })
    }

    /// What is kept of a directory and of what is below it is kept of another, which loses what it had.
    pub fn rename(&self, from: &NodeKey, to: &NodeKey) -> Result<()> {
        let (Some(from), Some(to)) = (key_of(from), key_of(to)) else { return Ok(()) };
        self.remove(&to)?;
        self.carry(&from, &to)
    }

    /// Two directories change names.
    pub fn exchange(&self, one: &NodeKey, other: &NodeKey) -> Result<()> {
        let (Some(one), Some(other)) = (key_of(one), key_of(other)) else { return Ok(()) };
        self.carry(&one, ASIDE)?;
        self.carry(&other, &one)?;
        self.carry(ASIDE, &other)
    }

    fn remove(&self, key: &[u8]) -> Result<()> {
        if self.map.is_untouched() { Ok(()) } else { self.map.remove_range(key, &past_key(key)) }
    }

    fn carry(&self, from: &[u8], to: &[u8]) -> Result<()> {
        if self.map.is_untouched() || from == to {
            return Ok(());
        }
        let end = if from == ASIDE { vec![0xFF, 0xFF] } else { past_key(from) };
        loop {
            let page = self.map.range(from, &end, PAGE)?;
            for (key, access) in &page {
                self.map.insert([to, &key[from.len()..]].concat(), access.clone())?;
                self.map.remove(key)?;
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }
}

fn prefix(view: &View, namespace: &str) -> Option<Vec<u8>> {
    let view = match view {
        View::Plain => 0,
        View::History => 1,
        View::At(_) => return None,
    };
    Some([&[view], join_key(&[namespace.as_bytes()]).as_slice()].concat())
}

fn table_key(view: &View, table: &TableName) -> Vec<u8> {
    let mut key = prefix(view, &table.namespace).unwrap_or_default();
    key.extend(join_key(&[table.name.as_bytes()]));
    key
}

/// `None`: of such a node nothing is kept here.
fn key_of(key: &NodeKey) -> Option<Vec<u8>> {
    if !Modes::holds(key) {
        return None;
    }
    let (table, below) = match &key.place {
        Place::Namespace(name) => return prefix(&key.view, name),
        Place::Table(table) => (table.as_ref(), Vec::new()),
        Place::Row(row) => (&row.table, join_key(&[&row.row])),
        Place::Family(family) => (&family.table, join_key(&[&family.row, family.family.as_bytes()])),
        _ => return None,
    };
    let mut found = prefix(&key.view, &table.namespace)?;
    found.extend(join_key(&[table.name.as_bytes()]));
    found.extend(below);
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tree::place::{FamilyPlace, RowPlace};

    fn table(name: &str) -> NodeKey {
        NodeKey::plain(Place::Table(Arc::new(TableName::parse(name).unwrap())))
    }

    fn row(of: &str, row: &[u8]) -> NodeKey {
        NodeKey::plain(Place::Row(Arc::new(RowPlace { table: TableName::parse(of).unwrap(), row: row.to_vec() })))
    }

    fn family(of: &str, row: &[u8], family: &str) -> NodeKey {
        let table = TableName::parse(of).unwrap();
        NodeKey::plain(Place::Family(Arc::new(FamilyPlace { table, row: row.to_vec(), family: family.to_owned() })))
    }

    fn mode(mode: u16) -> FileChange {
        FileChange { mode: Some(mode), ..FileChange::default() }
    }

    #[test]
    fn modes_follow_their_directories_and_go_with_them() {
        let directory = tempfile::tempdir().unwrap();
        let modes = Modes::new(directory.path());
        assert!(modes.get(&table("t")).is_empty());
        modes.set(&table("t"), mode(0o700)).unwrap();
        for (name, bits) in [(&b"a"[..], 1), (b"a\0", 2), (b"b", 3)] {
            modes.set(&row("t", name), mode(bits)).unwrap();
            modes.set(&family("t", name, "f"), mode(bits + 8)).unwrap();
        }
        modes.rename(&row("t", b"a"), &row("t", b"b")).unwrap();
        let of = |key: NodeKey| modes.get(&key).mode;
        assert_eq!([of(row("t", b"a")), of(row("t", b"b")), of(row("t", b"a\0"))], [None, Some(1), Some(2)]);
        assert_eq!(of(family("t", b"b", "f")), Some(9));
        modes.set(&table("other"), mode(0o711)).unwrap();
        modes.exchange(&table("t"), &table("other")).unwrap();
        assert_eq!([of(table("t")), of(table("other")), of(row("other", b"b"))], [Some(0o711), Some(0o700), Some(1)]);
        modes.forget(&row("other", b"b")).unwrap();
        assert_eq!([of(row("other", b"b")), of(family("other", b"b", "f"))], [None, None]);
        modes.set(&row("other", b"a\0"), FileChange::default()).unwrap();
        assert_eq!([of(row("other", b"a\0")), of(family("other", b"a\0", "f"))], [None, Some(10)]);
        let other = TableName::parse("other").unwrap();
        modes.forget_rows(&other).unwrap();
        assert_eq!([of(table("other")), of(family("other", b"a\0", "f"))], [Some(0o700), None]);
        modes.forget_table(&other).unwrap();
        assert_eq!([of(table("other")), of(family("other", b"a\0", "f")), of(table("t"))], [None, None, Some(0o711)]);
    }

    #[test]
    fn many_modes_take_little_memory() {
        let directory = tempfile::tempdir().unwrap();
        let modes = Modes::new(directory.path());
        let name = |n: u32| [n.to_be_bytes().as_slice(), &[7; 100]].concat();
        for n in 0..20_000 {
            modes.set(&row("t", &name(n)), mode(n as u16 & 0o777)).unwrap();
        }
        modes.rename(&table("t"), &table("u")).unwrap();
        let is_right = |n: &u32| modes.get(&row("u", &name(*n))) == mode(*n as u16 & 0o777);
        assert_eq!((0..20_000).filter(is_right).count(), 20_000);
        assert!(modes.get(&row("t", &name(5))).is_empty());
    }
}
