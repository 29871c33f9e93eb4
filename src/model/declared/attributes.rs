//! Attributes of families and tables: HBase's names, what is accepted, and the rules that follow.
//!
//! Sources: ColumnFamilyDescriptorBuilder, TableDescriptorBuilder, TableDescriptorChecker.

use std::collections::BTreeMap;

use crate::model::{Compression, FamilyRules, KEEP_VERSIONS_FOR, KeepDeleted, TableSchema, has_new_version_behavior};
use crate::{Error, ErrorKind, Result};

/// FOREVER in seconds (HConstants.FOREVER).
const FOREVER: u64 = 2_147_483_647;

/// How many tables a namespace may have.
pub const MAX_TABLES: &str = "hbase.namespace.quota.maxtables";

/// What an attribute does in the embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is honoured.
    Honoured,
    /// It is kept and shown, without effect.
    Kept,
}

#[derive(Clone, Copy)]
enum Form {
    Integer { least: i64, most: i64 },
    Boolean,
    OneOf(&'static [&'static str]),
    Seconds,
    Text,
}

struct Attribute {
    name: &'static str,
    form: Form,
    default: Option<&'static str>,
    effect: Effect,
}

const fn honoured(name: &'static str, form: Form, default: Option<&'static str>) -> Attribute {
    Attribute { name, form, default, effect: Effect::Honoured }
}

const fn kept(name: &'static str, form: Form, default: Option<&'static str>) -> Attribute {
    Attribute { name, form, default, effect: Effect::Kept }
}

const COUNT: Form = Form::Integer { least: 0, most: i32::MAX as i64 };
const COMPRESSIONS: Form = Form::OneOf(&["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD", "LZO", "BZIP2", "LZMA"]);
const OFF: Option<&str> = Some("false");
const ON: Option<&str> = Some("true");

const FAMILY: &[Attribute] = &[
    honoured("VERSIONS", Form::Integer { least: 1, most: i32::MAX as i64 }, Some("1")),
    honoured("MIN_VERSIONS", COUNT, Some("0")),
    honoured("TTL", Form::Seconds, Some("FOREVER")),
    honoured("KEEP_DELETED_CELLS", Form::OneOf(&["FALSE", "TRUE", "TTL"]), Some("FALSE")),
    honoured("NEW_VERSION_BEHAVIOR", Form::Boolean, OFF),
    honoured("PURGE_DELETED_AFTER", Form::Seconds, Some("FOREVER")),
    honoured(KEEP_VERSIONS_FOR, Form::Seconds, Some("0")),
    honoured("COMPRESSION", COMPRESSIONS, Some("NONE")),
    honoured("BLOCKSIZE", Form::Integer { least: 1024, most: 16 << 20 }, Some("65536")),
    honoured("BLOOMFILTER", Form::OneOf(&["NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"]), Some("ROW")),
    honoured("IN_MEMORY", Form::Boolean, OFF),
    honoured("BLOCKCACHE", Form::Boolean, ON),
    kept("DATA_BLOCK_ENCODING", Form::OneOf(&["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"]), Some("NONE")),
    kept("INDEX_BLOCK_ENCODING", Form::OneOf(&["NONE", "PREFIX_TREE"]), Some("NONE")),
    kept("REPLICATION_SCOPE", COUNT, Some("0")),
    kept("COMPRESSION_COMPACT", COMPRESSIONS, None),
    kept("COMPRESSION_COMPACT_MAJOR", COMPRESSIONS, None),
    kept("COMPRESSION_COMPACT_MINOR", COMPRESSIONS, None),
    kept("CACHE_DATA_ON_WRITE", Form::Boolean, OFF),
    kept("CACHE_INDEX_ON_WRITE", Form::Boolean, OFF),
    kept("CACHE_BLOOMS_ON_WRITE", Form::Boolean, OFF),
    kept("EVICT_BLOCKS_ON_CLOSE", Form::Boolean, OFF),
    honoured("PREFETCH_BLOCKS_ON_OPEN", Form::Boolean, OFF),
    kept("COMPRESS_TAGS", Form::Boolean, ON),
    kept("IS_MOB", Form::Boolean, OFF),
    kept("MOB_THRESHOLD", COUNT, Some("102400")),
    kept("MOB_COMPACT_PARTITION_POLICY", Form::OneOf(&["DAILY", "WEEKLY", "MONTHLY"]), Some("DAILY")),
    kept("ENCRYPTION", Form::Text, None),
    kept("ENCRYPTION_KEY", Form::Text, None),
    kept("DFS_REPLICATION", COUNT, Some("0")),
    kept("STORAGE_POLICY", Form::Text, None),
    kept("IN_MEMORY_COMPACTION", Form::OneOf(&["NONE", "BASIC", "EAGER", "ADAPTIVE"]), None),
];

const LONG: Form = Form::Integer { least: i64::MIN, most: i64::MAX };

const TABLE: &[Attribute] = &[
    honoured("READONLY", Form::Boolean, OFF),
    honoured(
        "DURABILITY",
        Form::OneOf(&["USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"]),
        Some("USE_DEFAULT"),
    ),
    honoured("COMPACTION_ENABLED", Form::Boolean, ON),
    kept("MAX_FILESIZE", Form::Integer { least: 2 << 20, most: i64::MAX }, None),
    kept("MEMSTORE_FLUSHSIZE", Form::Integer { least: 1 << 20, most: i64::MAX }, None),
    kept("REGION_REPLICATION", Form::Integer { least: 1, most: i32::MAX as i64 }, Some("1")),
    kept("REGION_MEMSTORE_REPLICATION", Form::Boolean, ON),
    kept("SPLIT_ENABLED", Form::Boolean, ON),
    kept("MERGE_ENABLED", Form::Boolean, ON),
    kept("NORMALIZATION_ENABLED", Form::Boolean, OFF),
    kept("NORMALIZER_TARGET_REGION_COUNT", LONG, None),
    kept("NORMALIZER_TARGET_REGION_SIZE", LONG, None),
    kept("PRIORITY", LONG, Some("0")),
    kept("SPLIT_POLICY", Form::Text, None),
    kept("FLUSH_POLICY", Form::Text, None),
    kept("OWNER", Form::Text, None),
];

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, message)
}

fn find<'a>(table: &'a [Attribute], of: &str, name: &str) -> Result<&'a Attribute> {
    table.iter().find(|a| a.name == name).ok_or_else(|| not_an_attribute(of, name))
}

/// What is said of a name that is no attribute of a column family or a table.
pub fn not_an_attribute(of: &str, name: &str) -> Error {
    refuse(format!("{name} is not an attribute of a {of}; free keys belong in METADATA or CONFIGURATION"))
}

/// Seconds of a duration as HBase's shell takes it: a number, FOREVER, or `1 DAYS 2 HOURS 3 MINUTES 4
/// SECONDS`; `None` = FOREVER, which is what longer ones mean where they are described already.
pub fn parse_seconds(text: &str) -> Result<Option<u64>> {
    Ok(seconds(text)?.filter(|seconds| *seconds < FOREVER))
}

/// As [`parse_seconds`], however many.
fn seconds(text: &str) -> Result<Option<u64>> {
    let bad = || refuse(format!("'{text}' is not a duration: give seconds, FOREVER, or such as '1 DAYS 12 HOURS'"));
    let text = text.trim();
    if text.eq_ignore_ascii_case("FOREVER") {
        return Ok(None);
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Some(text.parse().unwrap_or(u64::MAX)));
    }
    // `86400 SECONDS (1 DAY)` is how describe prints it.
    let plain = text.split('(').next().unwrap_or_default();
    let mut words = plain.split_whitespace();
    let mut total = 0u64;
    let mut any = false;
    while let Some(count) = words.next() {
        let count: u64 = count.parse().map_err(|_| bad())?;
        let unit = match words.next().ok_or_else(bad)?.to_ascii_uppercase().as_str() {
            "DAY" | "DAYS" => 86_400,
            "HOUR" | "HOURS" => 3_600,
            "MINUTE" | "MINUTES" => 60,
            "SECOND" | "SECONDS" => 1,
            _ => return Err(bad()),
        };
        total = total.saturating_add(count.saturating_mul(unit));
        any = true;
    }
    if any { Ok(Some(total)) } else { Err(bad()) }
}

fn canonical(attribute: &Attribute, text: &str) -> Result<String> {
    let (name, text) = (attribute.name, text.trim());
    match attribute.form {
        Form::Text => Ok(text.to_owned()),
        Form::Boolean => match text.to_ascii_lowercase().as_str() {
            word @ ("true" | "false") => Ok(word.to_owned()),
            _ => Err(refuse(format!("{name} is true or false, not '{text}'"))),
        },
        Form::OneOf(words) => {
            let upper = text.to_ascii_uppercase();
            let known = words.contains(&upper.as_str()).then_some(upper);
            known.ok_or_else(|| refuse(format!("{name} is one of {}, not '{text}'", words.join(", "))))
        }
        Form::Seconds => Ok(parse_seconds(text)
            .map_err(|e| e.context(name))?
            .map_or_else(|| "FOREVER".to_owned(), |seconds| seconds.to_string())),
        Form::Integer { least, most } => integer(name, text, least, most),
    }
}

fn integer(name: &str, text: &str, least: i64, most: i64) -> Result<String> {
    let number = text.parse::<i64>().ok();
    if let Some(number) = number.filter(|number| (least..=most).contains(number)) {
        return Ok(number.to_string());
    }
    // What is too little HBase refuses with these words.
    let refusal = match name {
        "VERSIONS" if number.is_some_and(|number| number < least) => "Maximum versions must be positive: ",
        "MIN_VERSIONS" if number.is_some_and(|number| number < least) => "Minimum versions must be >= 0: ",
        "BLOCKSIZE" if number.is_some() => "Block size must be between 1K and 16MB: ",
        _ => "",
    };
    Err(refuse(format!("{refusal}{name} is a whole number from {least} to {most}, not '{text}'")))
}

/// The text under which a family's attribute is kept; refuses what HBase refuses.
pub fn family_attribute(name: &str, text: &str) -> Result<String> {
    canonical(find(FAMILY, "column family", name)?, text)
}

/// As [`family_attribute`], of one that somebody sets now: a duration that HBase has no number for is refused as well.
pub fn given_family_attribute(name: &str, text: &str) -> Result<String> {
    if let Form::Seconds = find(FAMILY, "column family", name)?.form
        && seconds(text).is_ok_and(|seconds| seconds > Some(FOREVER))
    {
        let text = text.trim();
        return Err(refuse(format!("{name} is at most {FOREVER} seconds (68 years), or FOREVER: '{text}' is longer")));
    }
    family_attribute(name, text)
}

/// Whether a table's attribute is one of coprocessors and constraints.
pub fn is_kept_as_it_is(name: &str) -> bool {
    name.starts_with("coprocessor$") || name.starts_with("constraint ") || name == "hbase.constraint.counter"
}

/// The text under which a table's attribute is kept; coprocessors and constraints are kept as they are.
pub fn table_attribute(name: &str, text: &str) -> Result<String> {
    if is_kept_as_it_is(name) {
        return Ok(text.to_owned());
    }
    canonical(find(TABLE, "table", name)?, text)
}

/// Refuses a value that a property of a namespace cannot have.
pub fn namespace_property(name: &str, value: &str) -> Result<()> {
    if name != MAX_TABLES || value.trim().parse::<i64>().is_ok_and(|number| number > 0) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Constraint, format!("{MAX_TABLES} must be a positive whole number")))
}

/// What a family's attribute does here; `None` for an unknown name.
pub fn family_effect(name: &str) -> Option<Effect> {
    FAMILY.iter().find(|a| a.name == name).map(|a| a.effect)
}

/// What a table's attribute does here; `None` for an unknown name.
pub fn table_effect(name: &str) -> Option<Effect> {
    TABLE.iter().find(|a| a.name == name).map(|a| a.effect)
}

/// What to tell somebody who sets an attribute that is kept here and changes nothing; `None` for the others.
pub fn without_effect(effect: Option<Effect>, name: &str, value: &str) -> Option<String> {
    let unknown_codec = name == "COMPRESSION" && ["LZO", "BZIP2", "LZMA"].contains(&value.to_uppercase().as_str());
    let kept = effect == Some(Effect::Kept) || unknown_codec;
    kept.then(|| match name {
        "DATA_BLOCK_ENCODING" => {
            format!("{name}={value} is kept and shown; keys are always stored as what differs from the key before")
        }
        _ => format!("{name}={value} is kept and shown, but has no effect in this store"),
    })
}

/// As [`without_effect`], of a family that has these attributes.
pub fn without_effect_in(family: &BTreeMap<String, String>, name: &str, value: &str) -> Option<String> {
    if name == KEEP_VERSIONS_FOR && has_new_version_behavior(family) != Some(true) {
        let text = "is kept and shown, but has no effect in a family without NEW_VERSION_BEHAVIOR";
        return Some(format!("{name}={value} {text}"));
    }
    without_effect(family_effect(name), name, value)
}

/// What is to be said of a table's attributes that are kept and change nothing.
pub fn all_without_effect(table: &TableSchema) -> Vec<String> {
    let of_table = table.attributes.iter().map(|(name, value)| (table_effect(name), name, value));
    let of_table = of_table.filter_map(|(effect, name, value)| without_effect(effect, name, value));
    let families = table.families.values().map(|family| &family.attributes);
    let each = families.flat_map(|family| family.iter().map(move |(name, value)| (family, name, value)));
    of_table.chain(each.filter_map(|(family, name, value)| without_effect_in(family, name, value))).collect()
}

/// Names and defaults of a family's attributes, in HBase's order.
pub fn family_defaults() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    FAMILY.iter().map(|a| (a.name, a.default))
}

/// Names and defaults of a table's attributes.
pub fn table_defaults() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    TABLE.iter().map(|a| (a.name, a.default))
}

/// Brings a family's attributes into their canonical texts and derives the rules.
pub fn derive_rules(
    attributes: &mut BTreeMap<String, String>,
    metadata: &BTreeMap<String, String>,
    configuration: &BTreeMap<String, String>,
) -> Result<FamilyRules> {
    for (name, text) in attributes.iter_mut() {
        *text = family_attribute(name, text)?;
    }
    let get = |name: &str| attributes.get(name).map(String::as_str);
    let number = |name: &str, default: u32| get(name).and_then(|n| n.parse().ok()).unwrap_or(default);
    let seconds = |name: &str| get(name).map_or(Ok(None), parse_seconds);
    let ttl = seconds("TTL")?;
    if ttl == Some(0) {
        return Err(refuse("TTL for column family must be positive: at least 1 second, or FOREVER".into()));
    }
    let (versions, min_versions) = (number("VERSIONS", 1), number("MIN_VERSIONS", 0));
    if min_versions > versions {
        let text = format!(
            "Set MaxVersion to {versions} while minVersion is {min_versions}. Maximum versions must be >= minimum versions"
        );
        return Err(refuse(text));
    }
    let milliseconds = |key: &str| {
        let text = configuration.get(key).or_else(|| metadata.get(key));
        let number = text.map(|text| text.trim().parse::<u64>()).transpose();
        number.map_err(|_| refuse(format!("{key} is a whole number of milliseconds, 0 or more")))
    };
    Ok(FamilyRules {
        versions,
        min_versions,
        // TTL counts whole seconds, as HBase's does; this key is ours, for finer ones.
        ttl_ms: milliseconds("cellfs.ttl.milliseconds")?.or(ttl.map(|s| s * 1000)),
        keep_deleted: keep_deleted(get("KEEP_DELETED_CELLS")),
        new_version_behavior: get("NEW_VERSION_BEHAVIOR") == Some("true"),
        purge_deleted_after_ms: seconds("PURGE_DELETED_AFTER")?.map(|s| s * 1000),
        keep_versions_for_ms: match get(KEEP_VERSIONS_FOR) {
            None => 0,
            text => parse_seconds(text.unwrap_or_default())?.map_or(u64::MAX, |s| s * 1000),
        },
        time_to_purge_deletes_ms: milliseconds("hbase.hstore.time.to.purge.deletes")?.unwrap_or(0),
        compression: compression(get("COMPRESSION")),
    })
}

fn keep_deleted(text: Option<&str>) -> KeepDeleted {
    match text {
        Some("TRUE") => KeepDeleted::True,
        Some("TTL") => KeepDeleted::Ttl,
        _ => KeepDeleted::False,
    }
}

/// LZO, BZIP2 and LZMA are kept as names; values are then stored as they are.
fn compression(text: Option<&str>) -> Compression {
    match text {
        Some("GZ") => Compression::Gz,
        Some("SNAPPY") => Compression::Snappy,
        Some("LZ4") => Compression::Lz4,
        Some("ZSTD") => Compression::Zstd,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(pairs: &[(&str, &str)]) -> Result<FamilyRules> {
        let mut map = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        derive_rules(&mut map, &BTreeMap::new(), &BTreeMap::new())
    }

    #[test]
    fn durations_are_hbases() {
        assert_eq!(parse_seconds("FOREVER").unwrap(), None);
        assert_eq!(parse_seconds("2147483647").unwrap(), None);
        assert_eq!(parse_seconds("1 DAYS 2 HOURS").unwrap(), Some(93_600));
        assert_eq!(parse_seconds("86400 SECONDS (1 DAY)").unwrap(), Some(86_400));
        assert!(parse_seconds("soon").is_err());
        assert!(parse_seconds("").is_err());
    }

    #[test]
    fn a_duration_that_hbase_has_no_number_for_is_refused_where_it_is_set() {
        for text in ["2147483648", "100000 DAYS", "99999999999999999999", "9999999999999999999 DAYS 1 SECONDS"] {
            let refused = given_family_attribute("TTL", text).unwrap_err().message;
            assert!(refused.contains("TTL is at most 2147483647 seconds") && refused.contains(text), "{refused}");
            assert_eq!(family_attribute("TTL", text).unwrap(), "FOREVER", "of what is described already");
        }
        for (text, kept) in [("2147483647", "FOREVER"), ("forever", "FOREVER"), ("2147483646", "2147483646")] {
            assert_eq!(given_family_attribute("TTL", text).unwrap(), kept);
        }
        assert!(given_family_attribute("TTL", "soon").is_err());
    }

    #[test]
    fn rules_follow_and_bad_ones_are_refused() {
        let good = rules(&[("VERSIONS", "5"), ("KEEP_DELETED_CELLS", "true"), ("TTL", "10")]).unwrap();
        assert_eq!((good.versions, good.keep_deleted, good.ttl_ms), (5, KeepDeleted::True, Some(10_000)));
        assert_eq!(rules(&[]).unwrap(), FamilyRules::default());
        for bad in [("VERSIONS", "0"), ("MIN_VERSIONS", "2"), ("TTL", "0"), ("VERSION", "1"), ("BLOCKSIZE", "1")] {
            assert!(rules(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        for (name, text, range) in [
            ("VERSIONS", "3000000000", "from 1 to 2147483647"),
            ("VERSIONS", "99999999999999999999", "from 1 to 2147483647"),
            ("VERSIONS", "0", "must be positive: VERSIONS is a whole number from 1 to 2147483647"),
            ("MIN_VERSIONS", "3000000000", "from 0 to 2147483647"),
            ("MIN_VERSIONS", "-1", ">= 0: MIN_VERSIONS is a whole number from 0 to 2147483647"),
            ("BLOCKSIZE", "1", "from 1024 to 16777216"),
            ("MOB_THRESHOLD", "many", "from 0 to 2147483647"),
        ] {
            let refused = family_attribute(name, text).unwrap_err().message;
            assert!(refused.contains(range) && refused.contains(&format!("not '{text}'")), "{refused}");
        }
        let refused = family_attribute("VERSIONS", "3000000000").unwrap_err().message;
        assert!(!refused.contains("positive"), "{refused}");
    }
}
