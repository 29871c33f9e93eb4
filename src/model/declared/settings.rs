//! Settings of a store: their names, what is accepted, and what follows from them. They are the store's, whoever mounts
//! it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attributes::{derive_rules, family_attribute, family_defaults, given_family_attribute};
use super::schema::{file_family_attributes, give_attributes};
use crate::{Error, ErrorKind, Result};

/// The setting of the longest value, bytes.
pub const VALUE_LIMIT: &str = "value_limit";
/// The setting of how many bytes of the log stay for those who follow changes, beyond what a crash needs.
pub const CHANGES_RETAIN: &str = "changes_retain";
/// Before the name of a family's attribute: what it is in families that are declared without it.
pub const DEFAULT: &str = "default.";
/// Longest value where nothing else is set, bytes.
const VALUE_LIMIT_UNSET: u64 = 16 << 30;
/// No value is longer, whatever is set: 1 TiB.
const VALUE_LIMIT_MOST: u64 = 1 << 40;

/// What was set, by name, in canonical texts. A name that this release does not know is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings(BTreeMap<String, String>);

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    Set,
    /// Set by a release that knows it; this one does not.
    Unknown,
}

/// A setting as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    /// `None`: an attribute that families do not have unless it is set.
    pub value: Option<String>,
    pub origin: SettingOrigin,
}

impl Settings {
    /// Longest value that is taken, bytes.
    pub fn value_limit(&self) -> u64 {
        self.0.get(VALUE_LIMIT).and_then(|text| text.parse().ok()).unwrap_or(VALUE_LIMIT_UNSET)
    }

    /// Bytes of the covered log that stay for those who follow changes.
    pub fn changes_retain(&self) -> u64 {
        self.0.get(CHANGES_RETAIN).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Attributes of a family that is declared with HBase's defaults: those that are set here.
    pub fn family_attributes(&self) -> BTreeMap<String, String> {
        let set = self.0.iter().filter_map(|(name, text)| Some((name.strip_prefix(DEFAULT)?, text)));
        // One that this release does not know stays a setting.
        let known = set.filter(|(name, text)| family_attribute(name, text).is_ok());
        known.map(|(name, text)| (name.to_owned(), text.clone())).collect()
    }

    /// Attributes of a family that is declared with the defaults for people who use files.
    pub fn file_family_attributes(&self) -> BTreeMap<String, String> {
        let mut attributes = file_family_attributes();
        give_attributes(&mut attributes, self.family_attributes());
        attributes
    }

    /// Sets one, or with `None` makes it what it is by default. Refused: a name or a value that this release does not
    /// know, and what no family could be declared with.
    pub fn change(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let mut changed = self.clone();
        match value {
            Some(text) => drop(changed.0.insert(name.to_owned(), canonical(name, text)?)),
            None if self.0.contains_key(name) => drop(changed.0.remove(name)),
            None => return known(name),
        }
        for mut attributes in [changed.family_attributes(), changed.file_family_attributes()] {
            let unset = BTreeMap::new();
            derive_rules(&mut attributes, &unset, &unset).map_err(|e| e.context(name))?;
        }
        *self = changed;
        Ok(())
    }

    /// Every setting, known ones first.
    pub fn list(&self) -> Vec<Setting> {
        let of_files = file_family_attributes();
        let default = |attribute: &str, text: Option<&str>| {
            of_files.get(attribute).map(String::as_str).or(text).map(str::to_owned)
        };
        let attributes = family_defaults().map(|(name, text)| (format!("{DEFAULT}{name}"), default(name, text)));
        let limit = (VALUE_LIMIT.to_owned(), Some(VALUE_LIMIT_UNSET.to_string()));
        let retain = (CHANGES_RETAIN.to_owned(), Some("0".to_owned()));
        let mut list: Vec<Setting> = [limit, retain]
            .into_iter()
            .chain(attributes)
            .map(|(name, default)| match self.0.get(&name) {
                Some(set) => Setting { name, value: Some(set.clone()), origin: SettingOrigin::Set },
                None => Setting { name, value: default, origin: SettingOrigin::Default },
            })
            .collect();
        let unknown = self.0.iter().filter(|(name, _)| known(name).is_err());
        list.extend(unknown.map(|(name, text)| Setting {
            name: name.clone(),
            value: Some(text.clone()),
            origin: SettingOrigin::Unknown,
        }));
        list
    }

    /// One setting.
    pub fn find(&self, name: &str) -> Result<Setting> {
        self.list().into_iter().find(|setting| setting.name == name).ok_or_else(|| no_setting(name))
    }
}

fn known(name: &str) -> Result<()> {
    let attribute = name.strip_prefix(DEFAULT);
    let is_attribute = attribute.is_some_and(|attribute| family_defaults().any(|(known, _)| known == attribute));
    if matches!(name, VALUE_LIMIT | CHANGES_RETAIN) || is_attribute { Ok(()) } else { Err(no_setting(name)) }
}

fn no_setting(name: &str) -> Error {
    let text = format!(
        "there is no setting {name}: there are {VALUE_LIMIT}, {CHANGES_RETAIN}, and {DEFAULT}ATTRIBUTE for each attribute of a family, such \
         as {DEFAULT}VERSIONS; `cellfs config STORE` lists them"
    );
    Error::new(ErrorKind::IllegalArgument, text)
}

fn canonical(name: &str, text: &str) -> Result<String> {
    known(name)?;
    match name.strip_prefix(DEFAULT) {
        Some(attribute) => given_family_attribute(attribute, text),
        None => {
            let (least, most) = if name == VALUE_LIMIT { (1, VALUE_LIMIT_MOST) } else { (0, i64::MAX as u64) };
            let wrong = || format!("{name} is a number of bytes from {least} to {most}, such as 16G, not '{text}'");
            let found = bytes(text.trim()).filter(|found| (least..=most).contains(found));
            found.map(|found| found.to_string()).ok_or_else(|| Error::new(ErrorKind::IllegalArgument, wrong()))
        }
    }
}

/// A number, also of binary kilobytes, megabytes, gigabytes or terabytes: `65536`, `64K`, `16GiB`.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.strip_suffix("iB").unwrap_or(unit) {
        "" if unit.is_empty() => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<()> {
        settings.change(name, Some(value))
    }

    #[test]
    fn values_are_kept_in_one_form_and_wrong_ones_change_nothing() {
        let mut settings = Settings::default();
        for (given, bytes) in [("1", 1), ("64K", 65_536), ("3MiB", 3 << 20), (" 16G ", 16 << 30), ("1T", 1 << 40)] {
            set(&mut settings, VALUE_LIMIT, given).unwrap();
            assert_eq!(settings.value_limit(), bytes);
        }
        set(&mut settings, "default.TTL", "1 DAYS").unwrap();
        assert_eq!(settings.find("default.TTL").unwrap().value.as_deref(), Some("86400"));
        let before = settings.clone();
        for (name, value) in [
            (VALUE_LIMIT, "0"),
            (VALUE_LIMIT, "-1"),
            (VALUE_LIMIT, "2T"),
            (VALUE_LIMIT, "iB"),
            (VALUE_LIMIT, "99999999999G"),
            ("default.VERSIONS", "0"),
            ("default.TTL", "0"),
            ("default.TTL", "100000 DAYS"),
            ("default.versions", "3"),
            ("default.", "3"),
            ("VERSIONS", "3"),
            // Families that are declared with HBase's defaults have one version.
            ("default.MIN_VERSIONS", "2"),
        ] {
            assert!(set(&mut settings, name, value).is_err(), "{name}={value}");
            assert_eq!(settings, before);
        }
    }

    #[test]
    fn attributes_of_new_families_are_those_set_over_those_of_their_kind() {
        let mut settings = Settings::default();
        assert_eq!(settings.file_family_attributes(), file_family_attributes());
        assert!(settings.family_attributes().is_empty());
        set(&mut settings, "default.VERSIONS", "3").unwrap();
        assert_eq!(settings.family_attributes(), BTreeMap::from([("VERSIONS".to_owned(), "3".to_owned())]));
        let files = settings.file_family_attributes();
        assert_eq!((files["VERSIONS"].as_str(), files["KEEP_DELETED_CELLS"].as_str()), ("3", "TRUE"));
        settings.change("default.VERSIONS", None).unwrap();
        settings.change("default.VERSIONS", None).unwrap();
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_a_later_release_has_set_is_kept_and_can_be_unset() {
        let map = [("compress_log", "yes"), ("default.FLAVOUR", "sour"), ("value_limit", "7")];
        let mut settings = Settings(map.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
        set(&mut settings, "default.VERSIONS", "3").unwrap();
        let unknown: Vec<_> = settings.list().into_iter().filter(|s| s.origin == SettingOrigin::Unknown).collect();
        assert_eq!(unknown.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["compress_log", "default.FLAVOUR"]);
        assert!(!settings.file_family_attributes().contains_key("FLAVOUR"));
        assert!(set(&mut settings, "compress_log", "no").is_err());
        settings.change("compress_log", None).unwrap();
        assert!(settings.find("compress_log").is_err());
        assert_eq!(settings.value_limit(), 7);
    }
}
