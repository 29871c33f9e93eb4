//! From the hashes of `create` and `alter` to schemas, with the refusals of HBase's shell and master.

use std::collections::BTreeMap;

use super::arguments::Options;
use super::eval::failure::{Outcome, refuse};
use super::eval::value::Value;
use crate::model::declared::attributes::{
    family_defaults, given_family_attribute, parse_seconds, table_attribute, table_defaults,
};
use crate::model::{ConstraintSchema, FamilySchema, TableName, TableSchema, check_family, give_attributes};

const SANITY: &str = "org.apache.hadoop.hbase.DoNotRetryIOException: ";
const BYPASS: &str =
    ". Set hbase.table.sanity.checks to false at conf or table descriptor if you want to bypass sanity checks";

/// A table without families.
pub fn new_table(name: TableName) -> TableSchema {
    TableSchema::new(name, [])
}

/// The family that a name or a hash with NAME describes, beginning with the one that is there, or with the attributes
/// that are the store's `defaults`. What the hash holds besides is left in it.
pub fn family(
    name: &str,
    options: &mut Options,
    known: Option<&FamilySchema>,
    defaults: BTreeMap<String, String>,
) -> Outcome<FamilySchema> {
    let mut family = match known {
        Some(known) => known.clone(),
        None => {
            check_family(name)?;
            FamilySchema::new(name, defaults)
        }
    };
    let mut given = BTreeMap::new();
    for (attribute, default) in family_defaults() {
        if let Some(value) = options.take(attribute) {
            let text = family_text(name, attribute, default, &value)?;
            given.insert(attribute.to_owned(), text);
        }
    }
    if let Some(Value::Hash(pairs)) = options.take("METADATA") {
        for (key, text) in Options::new(&pairs).texts() {
            match family_defaults().find(|(attribute, _)| *attribute == key) {
                Some((attribute, default)) => {
                    let text = family_text(name, attribute, default, &Value::text(text))?;
                    given.insert(key, text);
                }
                None => set(&mut family.metadata, key, text),
            }
        }
    }
    if let Some(Value::Hash(pairs)) = options.take("CONFIGURATION") {
        for (key, text) in Options::new(&pairs).texts() {
            set(&mut family.configuration, key, text);
        }
    }
    give_attributes(&mut family.attributes, given);
    match options.take("CHECK") {
        Some(Value::Hash(pairs)) => set_check(&mut family, Options::new(&pairs))?,
        Some(_) => return refuse("CHECK is a hash: CHECK => {NAME => 'age', COLUMNS => 'age', TYPE => 'i64'}"),
        None => {}
    }
    Ok(family)
}

/// Declares a constraint, or sets attributes of the one of its name; an empty text (nil) unsets one. Ours.
fn set_check(family: &mut FamilySchema, mut options: Options) -> Outcome<()> {
    let Some(name) = options.take("NAME") else { return refuse("NAME parameter missing for CHECK") };
    let name = name.to_text();
    let known = family.constraints.get(&name).cloned();
    let mut constraint = known.unwrap_or_else(|| ConstraintSchema::new(name.as_str()));
    for (attribute, text) in options.texts() {
        constraint.set_attribute(&attribute.to_lowercase(), Some(&text))?;
    }
    constraint.rule()?;
    family.constraints.insert(name, constraint);
    Ok(())
}

/// An empty text (nil) takes the key away.
fn set(map: &mut BTreeMap<String, String>, key: String, text: String) {
    if text.is_empty() {
        map.remove(&key);
    } else {
        map.insert(key, text);
    }
}

fn family_text(family: &str, attribute: &str, default: Option<&str>, value: &Value) -> Outcome<String> {
    let text = value.to_text();
    let text = match attribute {
        _ if matches!(default, Some("true" | "false")) => java_boolean(&text),
        "VERSIONS" if java_integer(&text)? <= 0 => return refuse("Maximum versions must be positive"),
        "MIN_VERSIONS" | "BLOCKSIZE" | "REPLICATION_SCOPE" | "DFS_REPLICATION" | "MOB_THRESHOLD" => {
            let number = java_integer(&text)?;
            if attribute == "BLOCKSIZE" && !(1024..=16 << 20).contains(&number) {
                // HBase has two blanks there.
                return sanity(format!("Block size for column family {family}  must be between 1K and 16MB"));
            }
            text
        }
        "TTL" => match parse_seconds(&text) {
            Ok(Some(0)) | Err(_) => return sanity(format!("TTL for column family {family} must be positive")),
            Ok(_) => text,
        },
        "KEEP_DELETED_CELLS" => one_of(text.to_uppercase(), &["FALSE", "TRUE", "TTL"], "KeepDeletedCells")?,
        "DATA_BLOCK_ENCODING" => {
            let known = ["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"];
            one_of(text, &known, "io.encoding.DataBlockEncoding")?
        }
        "IN_MEMORY_COMPACTION" => one_of(text, &["NONE", "BASIC", "EAGER", "ADAPTIVE"], "MemoryCompactionPolicy")?,
        "COMPRESSION" | "COMPRESSION_COMPACT" => supported(
            "Compression",
            &text.to_uppercase(),
            &["LZO", "LZMA", "GZ", "ZSTD", "LZ4", "NONE", "SNAPPY", "BZIP2"],
        )?,
        "BLOOMFILTER" => {
            let known = ["NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"];
            supported("BloomFilter type", &text.to_uppercase(), &known)?
        }
        _ => text,
    };
    Ok(given_family_attribute(attribute, &text)?)
}

/// java.lang.Boolean.valueOf.
fn java_boolean(text: &str) -> String {
    text.eq_ignore_ascii_case("true").to_string()
}

/// java.lang.Long.valueOf.
fn java_integer(text: &str) -> Outcome<i64> {
    text.parse().or_else(|_| refuse(format!("For input string: \"{text}\"")))
}

fn one_of(text: String, known: &[&str], class: &str) -> Outcome<String> {
    if known.contains(&text.as_str()) {
        return Ok(text);
    }
    refuse(format!("No enum constant org.apache.hadoop.hbase.{class}.{text}"))
}

fn supported(what: &str, text: &str, known: &[&str]) -> Outcome<String> {
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    refuse(format!("{what} {text} is not supported. Use one of {}", known.join(" ")))
}

fn sanity<T>(text: String) -> Outcome<T> {
    refuse(format!("{SANITY}{text}{BYPASS}"))
}

/// Sets the table's attributes of a hash; what is not one is left in it.
pub fn set_table_attributes(table: &mut TableSchema, options: &mut Options) -> Outcome<()> {
    for (attribute, default) in table_defaults() {
        if let Some(value) = options.take(attribute) {
            let text = table_text(attribute, default, &value)?;
            table.attributes.insert(attribute.to_owned(), text);
        }
    }
    if let Some(Value::Hash(pairs)) = options.take("METADATA") {
        for (key, text) in Options::new(&pairs).texts() {
            match table_defaults().find(|(attribute, _)| *attribute == key) {
                Some((attribute, default)) => {
                    let text = table_text(attribute, default, &Value::text(text))?;
                    table.attributes.insert(key, text);
                }
                None => set(&mut table.metadata, key, text),
            }
        }
    }
    if let Some(Value::Hash(pairs)) = options.take("CONFIGURATION") {
        for (key, text) in Options::new(&pairs).texts() {
            set(&mut table.configuration, key, text);
        }
    }
    Ok(())
}

fn table_text(attribute: &str, default: Option<&str>, value: &Value) -> Outcome<String> {
    let text = value.to_text();
    let text = match attribute {
        _ if matches!(default, Some("true" | "false")) => java_boolean(&text),
        "MAX_FILESIZE" if java_integer(&text)? < 2 << 20 => {
            return sanity(format!(
                "MAX_FILESIZE for table descriptor or \"hbase.hregion.max.filesize\" ({text}) is too small, which \
                 might cause over splitting into unmanageable number of regions"
            ));
        }
        "MEMSTORE_FLUSHSIZE" if java_integer(&text)? < 1 << 20 => {
            return sanity(format!(
                "MEMSTORE_FLUSHSIZE for table descriptor or \"hbase.hregion.memstore.flush.size\" ({text}) is too \
                 small, which might cause very frequent flushing"
            ));
        }
        "REGION_REPLICATION" | "PRIORITY" => java_integer(&text)?.to_string(),
        "DURABILITY" => {
            one_of(text, &["USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"], "client.Durability")?
        }
        _ => text,
    };
    Ok(table_attribute(attribute, &text)?)
}

/// What HBase's master checks of a whole table (TableDescriptorChecker).
pub fn check(table: &TableSchema) -> Outcome<()> {
    if table.families.is_empty() {
        return sanity("Table should have at least one column family".to_owned());
    }
    for family in table.families.values() {
        let number = |name: &str, default| {
            family.attributes.get(name).and_then(|text| text.parse::<i64>().ok()).unwrap_or(default)
        };
        if number("MIN_VERSIONS", 0) > number("VERSIONS", 1) {
            let name = &family.name;
            return sanity(format!("Min versions for column family {name} must be less than the Max versions"));
        }
    }
    Ok(())
}
