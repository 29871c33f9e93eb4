//! Regions: where they are, and what the master is asked to do with them. A store has neither servers nor a master.

use super::change::change_splits;
use super::{Command, meaningless};
use crate::ErrorKind;
use crate::backend::{RegionChange, RegionSwitch};
use crate::shell::arguments::Arguments;
use crate::shell::eval::failure::{Failure, Outcome, refuse, table_name};
use crate::shell::eval::value::Value;
use crate::shell::regions::regions;
use crate::shell::registry;
use crate::shell::session::Session;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "split" => split,
        "merge_region" => merge,
        "move" => move_region,
        "assign" => assign,
        "unassign" => unassign,
        "balancer" => balancer,
        "balance_switch" => balance_switch,
        "balancer_enabled" => balancer_enabled,
        "splitormerge_switch" => region_switch,
        "splitormerge_enabled" => region_switch_enabled,
        _ => return None,
    })
}

/// Asks the master; `None`: there is none.
fn ask(session: &Session<'_>, change: &RegionChange) -> Outcome<Option<bool>> {
    match session.backend()?.change_regions(change) {
        Err(e) if e.kind == ErrorKind::Unsupported => Ok(None),
        done => Ok(Some(done?)),
    }
}

/// Asks what only a master can do.
fn ask_master(session: &Session<'_>, name: &str, change: &RegionChange) -> Outcome<Value> {
    match (ask(session, change)?, registry::find(name)) {
        (None, Some(entry)) => refuse(meaningless(entry)),
        _ => Ok(Value::Nil),
    }
}

/// A region's name has commas, its encoded name is 32 hexadecimal digits; else it is a table's.
fn is_region(text: &str) -> bool {
    text.contains(',') || text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// In a store splits are remembered for `get_splits`, and nothing moves.
fn split(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let (subject, point) = (arguments.text(0), arguments.bytes(1));
    let row = (!point.is_empty()).then(|| point.clone());
    let known = session.backend()?.catalogue()?;
    let is_table = table_name(&subject).is_ok_and(|name| known.tables.contains_key(&name));
    let change = match is_table || !is_region(&subject) {
        true => RegionChange::SplitTable(session.table(&subject)?.name, row),
        false => RegionChange::SplitRegion(subject.clone(), row),
    };
    if ask(session, &change)?.is_some() {
        return Ok(Value::Nil);
    }
    let table = session.table(&subject)?;
    if point.is_empty() {
        return refuse(
            "org.apache.hadoop.hbase.DoNotRetryIOException: Region not splittable because bestSplitPoint = null, maybe \
             table is too small for auto split. For force split, try specifying split row",
        );
    }
    change_splits(session, &table.name, &|points| [points, vec![point.clone()]].concat())?;
    Ok(Value::Nil)
}

/// `merge_region R1, R2[, ..][, true]`, or an array of them.
fn merge(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let mut given = arguments.flat_from(0);
    let forcible = matches!(given.last(), Some(Value::Boolean(_)));
    let forcible = forcible && given.pop() == Some(Value::Boolean(true));
    if given.len() < 2 {
        return refuse("give two regions at least, by their names or encoded names");
    }
    let regions = given.iter().map(Value::to_text).collect();
    ask_master(session, "merge_region", &RegionChange::Merge { regions, forcible })
}

fn move_region(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let to = (*arguments.get(1) != Value::Nil).then(|| arguments.text(1)).filter(|to| !to.is_empty());
    ask_master(session, "move", &RegionChange::Move(arguments.text(0), to))
}

fn assign(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    ask_master(session, "assign", &RegionChange::Assign(arguments.text(0)))
}

fn unassign(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    ask_master(session, "unassign", &RegionChange::Unassign(arguments.text(0)))
}

/// One server that has everything is always balanced.
fn told(session: &mut Session<'_>, change: &RegionChange) -> Outcome<Value> {
    let is_so = ask(session, change)?.unwrap_or(true);
    session.printer.line(if is_so { "true" } else { "false" })?;
    Ok(Value::Boolean(is_so))
}

fn balancer(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    told(session, &RegionChange::Balance)
}

fn balance_switch(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let on = !matches!(arguments.get(0), Value::Boolean(false) | Value::Nil);
    let before = ask(session, &RegionChange::SwitchBalancer(on))?.unwrap_or(true);
    session.printer.line(&format!("Previous balancer state : {before}"))?;
    Ok(Value::Boolean(before))
}

fn balancer_enabled(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    told(session, &RegionChange::AskBalancer)
}

fn switch_named(arguments: &Arguments) -> Outcome<RegionSwitch> {
    match &*arguments.text(0) {
        "SPLIT" => Ok(RegionSwitch::Split),
        "MERGE" => Ok(RegionSwitch::Merge),
        _ => refuse("only SPLIT or MERGE accepted for type!"),
    }
}

/// A store neither splits nor merges, whatever it is asked.
fn told_of_cluster(session: &mut Session<'_>, name: &str, change: &RegionChange) -> Outcome<Value> {
    match (ask(session, change)?, registry::find(name)) {
        (None, Some(entry)) => refuse(meaningless(entry)),
        (is_so, _) => {
            let is_so = is_so.unwrap_or(false);
            session.printer.line(if is_so { "true" } else { "false" })?;
            Ok(Value::Boolean(is_so))
        }
    }
}

fn region_switch(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let on = !matches!(arguments.get(1), Value::Boolean(false) | Value::Nil);
    let change = RegionChange::SwitchRegions(switch_named(arguments)?, on);
    told_of_cluster(session, "splitormerge_switch", &change)
}

fn region_switch_enabled(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let change = RegionChange::AskRegions(switch_named(arguments)?);
    told_of_cluster(session, "splitormerge_enabled", &change)
}

/// How many regions a table has.
pub(super) fn count(session: &Session<'_>, table: &crate::model::TableSchema) -> Result<usize, Failure> {
    Ok(regions(&*session.backend()?, table)?.len())
}
