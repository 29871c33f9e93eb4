//! How one catalogue differs from another: a change of one table costs that table, whatever else is declared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{
    AttributeKey, Catalogue, Dropped, FamilyId, FileTime, NamespaceSchema, Settings, TableName, TableSchema,
};

/// See the module. `None` stands for what is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogueDelta {
    namespaces: Vec<(String, Option<NamespaceSchema>)>,
    tables: Vec<(TableName, Option<TableSchema>)>,
    times: Vec<(AttributeKey, Option<FileTime>)>,
    restored: Option<BTreeSet<FamilyId>>,
    dropped: Option<Vec<Dropped>>,
    #[serde(default)]
    dropped_namespaces: Vec<(String, Option<NamespaceSchema>)>,
    settings: Option<Settings>,
    next_table_id: u32,
    next_family_id: u32,
    version: u64,
}

fn difference<K: Ord + Clone, V: PartialEq + Clone>(old: &BTreeMap<K, V>, new: &BTreeMap<K, V>) -> Vec<(K, Option<V>)> {
    let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| (key.clone(), None));
    let set = new.iter().filter(|(key, value)| old.get(key) != Some(value));
    gone.chain(set.map(|(key, value)| (key.clone(), Some(value.clone())))).collect()
}

fn apply<K: Ord + Clone, V: Clone>(map: &mut BTreeMap<K, V>, changes: &[(K, Option<V>)]) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(map.insert(key.clone(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
}

impl CatalogueDelta {
    /// What makes `new` of `old`.
    pub fn between(old: &Catalogue, new: &Catalogue) -> Self {
        Self {
            namespaces: difference(&old.namespaces, &new.namespaces),
            tables: difference(&old.tables, &new.tables),
            times: difference(&old.times, &new.times),
            restored: (old.restored != new.restored).then(|| new.restored.clone()),
            dropped_namespaces: difference(&old.dropped_namespaces, &new.dropped_namespaces),
            dropped: (old.dropped != new.dropped).then(|| new.dropped.clone()),
            settings: (old.settings != new.settings).then(|| new.settings.clone()),
            next_table_id: new.next_table_id,
            next_family_id: new.next_family_id,
            version: new.version,
        }
    }

    /// Makes the change.
    pub fn apply(&self, catalogue: &mut Catalogue) {
        apply(&mut catalogue.namespaces, &self.namespaces);
        apply(&mut catalogue.tables, &self.tables);
        apply(&mut catalogue.times, &self.times);
        apply(&mut catalogue.dropped_namespaces, &self.dropped_namespaces);
        if let Some(restored) = &self.restored {
            catalogue.restored.clone_from(restored);
        }
        if let Some(dropped) = &self.dropped {
            catalogue.dropped.clone_from(dropped);
        }
        if let Some(settings) = &self.settings {
            catalogue.settings.clone_from(settings);
        }
        catalogue.next_table_id = self.next_table_id;
        catalogue.next_family_id = self.next_family_id;
        catalogue.version = self.version;
    }
}
