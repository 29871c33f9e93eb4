//! The tools that mean something for a store, and lists that are empty here.

use super::Command;
use crate::backend::CompactionKind;
use crate::shell::arguments::Arguments;
use crate::shell::eval::failure::{Outcome, refuse};
use crate::shell::eval::value::Value;
use crate::shell::session::Session;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "flush" => flush,
        "compact" => compact,
        "major_compact" => major_compact,
        "compaction_state" => compaction_state,
        "list_quotas" => list_quotas,
        _ => return None,
    })
}

fn flush(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = session.table(&arguments.text(0))?;
    session.backend()?.flush(Some(&table.name))?;
    Ok(Value::Nil)
}

fn compact_as(session: &mut Session<'_>, arguments: &Arguments, kind: CompactionKind) -> Outcome<Value> {
    let table = session.table(&arguments.text(0))?;
    let family = (*arguments.get(1) != Value::Nil).then(|| arguments.text(1));
    if !matches!(arguments.text(2).as_str(), "" | "NORMAL" | "MOB") {
        return refuse("only NORMAL or MOB accepted for type!");
    }
    session.backend()?.compact(&table.name, family.as_deref(), kind)?;
    Ok(Value::Nil)
}

fn compact(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    compact_as(session, arguments, CompactionKind::Minor)
}

fn major_compact(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    compact_as(session, arguments, CompactionKind::Major)
}

fn compaction_state(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = session.table(&arguments.text(0))?;
    let compaction = session.backend()?.status()?.compaction.filter(|compaction| compaction.table == table.name);
    let state = match compaction.map(|compaction| compaction.kind) {
        Some(CompactionKind::Major) => "MAJOR",
        Some(CompactionKind::Minor) => "MINOR",
        None => "NONE",
    };
    session.printer.line(state)?;
    Ok(Value::text(state))
}

fn list_quotas(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    session.printer.heading("OWNER", "QUOTAS")?;
    session.printer.rows(0)?;
    Ok(Value::Nil)
}
