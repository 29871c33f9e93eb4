//! The entries of a page of a listing. Rows, of which there are very many, have no allocation each.

use super::entry::{Entry, Listed};
use crate::model::KeyList;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    Each(Vec<Entry>),
    Rows(Rows),
}

/// Rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    keys: KeyList,
    /// Of each; `None`: all keys are their own names.
    names: Option<KeyList>,
}

impl Rows {
    /// Rows by their keys, with as many names.
    pub fn new(keys: KeyList, names: Option<KeyList>) -> Self {
        Self { keys, names }
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self::Each(Vec::new())
    }
}

impl Entries {
    pub fn len(&self) -> usize {
        match self {
            Self::Each(entries) => entries.len(),
            Self::Rows(rows) => rows.keys.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<Listed<'_>> {
        match self {
            Self::Each(entries) => entries.get(at).map(Entry::listed),
            Self::Rows(Rows { keys, names }) => {
                let key = keys.get(at)?;
                let name = names.as_ref().and_then(|names| names.get(at));
                Some(Listed::below(name, key))
            }
        }
    }

    pub fn last(&self) -> Option<Listed<'_>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Bytes that they take, about.
    pub fn held(&self) -> usize {
        match self {
            Self::Each(entries) => entries.iter().map(Entry::held).sum(),
            Self::Rows(rows) => rows.keys.held() + rows.names.as_ref().map_or(0, KeyList::held),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_keys_as_names_unless_there_are_others() {
        let keys: KeyList = ["a", "b/c"].into_iter().collect();
        let shown = |entries: &Entries| {
            let one = |entry: Listed<'_>| (entry.name().to_vec(), entry.cursor.to_vec());
            entries.iter().map(one).collect::<Vec<_>>()
        };
        let plain = Entries::Rows(Rows::new(keys.clone(), None));
        let named = Entries::Rows(Rows::new(keys.clone(), Some(["a", "b%2Fc"].into_iter().collect())));
        let each = keys.iter().map(|key| Entry::below(None, key.to_vec())).collect();
        assert_eq!(shown(&plain), shown(&Entries::Each(each)));
        let second = (b"b%2Fc".to_vec(), b"b/c".to_vec());
        assert_eq!(shown(&named), [(b"a".to_vec(), b"a".to_vec()), second.clone()]);
        assert_eq!(named.last().map(|entry| entry.name()), Some(&*second.0));
        assert!(named.get(2).is_none() && Entries::default().last().is_none());
    }
}
