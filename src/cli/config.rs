//! config: the settings of a store.

use serde_json::json;

use super::Answer;
use super::args::ConfigArgs;
use super::output::Output;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, open_backend};
use crate::model::declared::attributes::{family_effect, without_effect};
use crate::model::{CatalogueChange, DEFAULT, Origin, Setting, SettingOrigin};
use crate::{Error, ErrorKind, Result};

pub fn config(args: &ConfigArgs, json: bool) -> Result<Answer> {
    if locate::is_cluster(&args.store) {
        let text = "a cluster has no settings of this program; its own are in hbase-site.xml of its servers";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    match (&args.name, &args.value) {
        (Some(name), Some(value)) => set(args, name, Some(value.clone())),
        (Some(name), None) if args.unset => set(args, name, None),
        (Some(name), None) => show(args, name, json),
        _ => list(args, json),
    }
}

fn set(args: &ConfigArgs, name: &str, value: Option<String>) -> Result<Answer> {
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let change = CatalogueChange::Configure { setting: name.to_owned(), value: value.clone() };
    backend.alter(change, Origin::default())?;
    let attribute = name.strip_prefix(DEFAULT).zip(value.as_deref());
    let said = attribute.and_then(|(attribute, text)| without_effect(family_effect(attribute), attribute, text));
    said.iter().for_each(|sentence| super::complain(sentence));
    Ok(Answer::Yes)
}

fn show(args: &ConfigArgs, name: &str, json: bool) -> Result<Answer> {
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let settings = backend.catalogue()?.settings.clone();
    let setting = settings.find(name)?;
    let mut output = Output::new();
    match &setting.value {
        _ if json => output.json(&as_json(&setting))?,
        Some(value) => output.line(value)?,
        None => {}
    }
    output.finish()?;
    Ok(if setting.value.is_some() { Answer::Yes } else { Answer::No })
}

fn list(args: &ConfigArgs, json: bool) -> Result<Answer> {
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let settings = backend.catalogue()?.settings.clone();
    let list = settings.list();
    let width = |of: fn(&Setting) -> usize| list.iter().map(of).max().unwrap_or_default();
    let (name, value) = (width(|s| s.name.len()), width(|s| s.value.as_ref().map_or(1, String::len)));
    let mut output = Output::new();
    for setting in &list {
        if json {
            output.json(&as_json(setting))?;
            continue;
        }
        let (text, origin) = (setting.value.as_deref().unwrap_or("-"), origin(setting.origin));
        output.line(&format!("{:<name$}  {text:<value$}  {origin}", setting.name))?;
    }
    output.finish()?;
    Ok(Answer::Yes)
}

fn origin(origin: SettingOrigin) -> &'static str {
    match origin {
        SettingOrigin::Default => "default",
        SettingOrigin::Set => "set",
        SettingOrigin::Unknown => "set, not known to this release",
    }
}

fn as_json(setting: &Setting) -> serde_json::Value {
    let word = match setting.origin {
        SettingOrigin::Default => "default",
        SettingOrigin::Set => "set",
        SettingOrigin::Unknown => "unknown",
    };
    json!({ "name": setting.name, "value": setting.value, "origin": word })
}
