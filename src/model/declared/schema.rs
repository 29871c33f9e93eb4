//! Families: the attributes that were set, and the rules that follow from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{ConstraintSchema, FamilyId, Timestamp};

/// The attribute of how long families keep what VERSIONS would drop; without effect where NEW_VERSION_BEHAVIOR is not set.
pub const KEEP_VERSIONS_FOR: &str = "KEEP_VERSIONS_FOR";
/// An hour, in seconds, in families that `mkdir` declares.
const FILE_VERSIONS_FOR: &str = "3600";

/// KEEP_DELETED_CELLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeepDeleted {
    #[default]
    False,
    True,
    /// Until the family's TTL passes.
    Ttl,
}

/// COMPRESSION of values in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    #[default]
    None,
    Gz,
    Snappy,
    Lz4,
    Zstd,
}

/// What visibility, flush and compaction need to know of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyRules {
    pub versions: u32,
    pub min_versions: u32,
    /// `None` = FOREVER.
    pub ttl_ms: Option<u64>,
    pub keep_deleted: KeepDeleted,
    pub new_version_behavior: bool,
    /// New-version families: how long deleted cells are kept; `None` = FOREVER, 0 = until the next compaction.
    pub purge_deleted_after_ms: Option<u64>,
    /// New-version families: so long what VERSIONS would drop stays readable after a newer version came, or after it
    /// was deleted.
    pub keep_versions_for_ms: u64,
    /// hbase.hstore.time.to.purge.deletes.
    pub time_to_purge_deletes_ms: u64,
    pub compression: Compression,
}

impl Default for FamilyRules {
    /// HBase's defaults.
    fn default() -> Self {
        Self {
            versions: 1,
            min_versions: 0,
            ttl_ms: None,
            keep_deleted: KeepDeleted::False,
            new_version_behavior: false,
            purge_deleted_after_ms: None,
            keep_versions_for_ms: 0,
            time_to_purge_deletes_ms: 0,
            compression: Compression::None,
        }
    }
}

/// Times that are remembered at which a family was there before it was brought back.
pub const LIVES: usize = 64;

/// A family of a table: its attributes as they were set (HBase's names and texts), and what they mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilySchema {
    pub name: String,
    pub id: FamilyId,
    /// Attribute name to canonical text. What is absent has its default.
    pub attributes: BTreeMap<String, String>,
    pub metadata: BTreeMap<String, String>,
    pub configuration: BTreeMap<String, String>,
    /// Derived from the three maps.
    pub rules: FamilyRules,
    /// `Some`: what its rules keep is all there from then on; they kept less before, or what they kept was purged.
    #[serde(default)]
    pub complete: Option<Complete>,
    /// When it was declared.
    #[serde(default)]
    pub made_at: Timestamp,
    /// When it was last brought back after it had been dropped.
    #[serde(default)]
    pub back_at: Option<Timestamp>,
    /// Before: from when until when it was there, the last `LIVES` times.
    #[serde(default)]
    pub lives: Vec<(Timestamp, Timestamp)>,
    /// By name.
    #[serde(default)]
    pub constraints: BTreeMap<String, ConstraintSchema>,
}

/// From when on nothing lacks, and what has taken the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    pub from: Timestamp,
    pub because: String,
}

impl Complete {
    /// The later of two.
    pub fn later(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).max_by_key(|complete| complete.from)
    }
}

impl FamilySchema {
    /// A family that is not declared yet: the store gives it its number and derives its rules.
    pub fn new(name: impl Into<String>, attributes: BTreeMap<String, String>) -> Self {
        Self {
            name: name.into(),
            id: FamilyId(0),
            attributes,
            metadata: BTreeMap::new(),
            configuration: BTreeMap::new(),
            rules: FamilyRules::default(),
            complete: None,
            made_at: Timestamp::ZERO,
            back_at: None,
            lives: Vec::new(),
            constraints: BTreeMap::new(),
        }
    }

    /// A family that begins anew.
    pub fn forget_past(&mut self) {
        (self.complete, self.made_at, self.back_at) = (None, Timestamp::ZERO, None);
        self.lives.clear();
    }

    /// It was dropped at a time, and is brought back.
    pub fn come_back(&mut self, dropped_at: Timestamp, now: Timestamp) {
        if self.lives.len() == LIVES {
            self.lives.remove(0);
        }
        self.lives.push((self.there_since(), dropped_at));
        self.back_at = Some(now);
    }

    /// Whether it was there at a time before it was dropped.
    pub fn was_there(&self, at: Timestamp, dropped_at: Timestamp) -> bool {
        let last = (self.there_since(), dropped_at);
        self.lives.iter().chain([&last]).any(|(from, to)| (*from..*to).contains(&at))
    }

    /// Since when it is there without a gap.
    pub fn there_since(&self) -> Timestamp {
        self.back_at.unwrap_or(self.made_at)
    }
}

/// Sets attributes of a family that were asked for. Who says that fewer VERSIONS are kept means no more than those: the
/// KEEP_VERSIONS_FOR of `mkdir` goes, unless it is given with them. HBase's own rules do not know of any.
pub fn give_attributes(attributes: &mut BTreeMap<String, String>, given: BTreeMap<String, String>) {
    let versions =
        |map: &BTreeMap<String, String>| map.get("VERSIONS").and_then(|text| text.trim().parse::<u32>().ok());
    let keeps_fewer = given.contains_key("VERSIONS") && versions(&given) < versions(attributes);
    let has_new = |map: &BTreeMap<String, String>| has_new_version_behavior(map).unwrap_or_default();
    let is_of_hbase = has_new(attributes) && has_new_version_behavior(&given) == Some(false);
    let is_of_mkdir = attributes.get(KEEP_VERSIONS_FOR).is_some_and(|text| text.trim() == FILE_VERSIONS_FOR);
    if keeps_fewer && is_of_mkdir || is_of_hbase {
        attributes.remove(KEEP_VERSIONS_FOR);
    }
    attributes.extend(given);
}

/// Whether NEW_VERSION_BEHAVIOR is set to true; `None`: it is not set.
pub fn has_new_version_behavior(attributes: &BTreeMap<String, String>) -> Option<bool> {
    attributes.get("NEW_VERSION_BEHAVIOR").map(|text| text.trim().eq_ignore_ascii_case("true"))
}

/// Attributes of a family that is declared by `mkdir`: the defaults for people who use files.
pub fn file_family_attributes() -> BTreeMap<String, String> {
    [
        ("VERSIONS", "10"),
        (KEEP_VERSIONS_FOR, FILE_VERSIONS_FOR),
        ("KEEP_DELETED_CELLS", "TRUE"),
        ("NEW_VERSION_BEHAVIOR", "true"),
        // 30 days, in seconds.
        ("PURGE_DELETED_AFTER", "2592000"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}
