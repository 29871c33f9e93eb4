//! status, version, table_help, whoami, processlist; and help.

use super::{Command, meaningless};
use crate::model::TableState;
use crate::shell::arguments::Arguments;
use crate::shell::failure::{Outcome, refuse};
use crate::shell::regions::regions;
use crate::shell::registry::{self, Group};
use crate::shell::session::Session;
use crate::shell::value::Value;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "status" => status,
        "version" => version,
        "table_help" => table_help,
        "whoami" => whoami,
        "processlist" => processlist,
        _ => return None,
    })
}

/// What the shell says of its version.
pub fn version_text() -> String {
    format!("{}, cellfs, with the semantics of HBase 2.6", env!("CARGO_PKG_VERSION"))
}

fn version(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    session.printer.line(&version_text())?;
    Ok(Value::Nil)
}

fn status(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let catalogue = session.backend()?.catalogue()?;
    let enabled = catalogue.tables.values().filter(|table| table.state == TableState::Enabled);
    let count: usize = enabled.map(|table| regions(table).len()).sum();
    let format = if arguments.count() == 0 { "summary".to_owned() } else { arguments.text(0) };
    let backend = session.backend()?;
    let printer = &mut session.printer;
    match format.as_str() {
        "summary" => {
            printer
                .line(&format!("1 active master, 0 backup masters, 1 servers, 0 dead, {count}.0000 average load"))?;
        }
        "simple" | "detailed" => {
            let status = backend.status()?;
            const MB: u64 = 1 << 20;
            printer.line("active master:  cellfs\n0 backup masters\n1 live servers\n    cellfs")?;
            printer.line(&format!(
                "        numberOfOnlineRegions={count}, numberOfStorefiles={}, storefileSizeMB={}, memstoreSizeMB={}, \
                 storefileIndexSizeKB={}",
                status.segments,
                status.segment_bytes / MB,
                status.memtable_bytes / MB,
                status.index_bytes / 1024
            ))?;
            printer.line(&format!("0 dead servers\nAggregate load: 0, regions: {count}"))?;
        }
        other => return refuse(format!("status {other}: give 'summary', 'simple' or 'detailed'")),
    }
    Ok(Value::Nil)
}

fn whoami(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    let id = nix::unistd::geteuid();
    let user = nix::unistd::User::from_uid(id).ok().flatten();
    let name = user.as_ref().map_or_else(|| id.to_string(), |user| user.name.clone());
    session.printer.line(&format!("{name} (auth:SIMPLE)"))?;
    let mut groups: Vec<String> = Vec::new();
    let mut ids = nix::unistd::getgroups().unwrap_or_default();
    ids.insert(0, nix::unistd::getegid());
    for id in ids {
        let group = nix::unistd::Group::from_gid(id).ok().flatten();
        let name = group.map_or_else(|| id.to_string(), |group| group.name);
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    session.printer.line(&format!("    groups: {}", groups.join(", ")))?;
    Ok(Value::Nil)
}

fn processlist(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    let activity = session.backend()?.status()?.activity;
    let text = if activity.is_empty() { "No general tasks currently running.".to_owned() } else { activity };
    session.printer.line(&text)?;
    Ok(Value::Nil)
}

fn table_help(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    let help = registry::find("table_help").map_or("", |entry| entry.help);
    session.printer.line(help)?;
    Ok(Value::Nil)
}

impl Session<'_> {
    /// `help`, `help 'command'`, `help 'group'`.
    pub(in crate::shell) fn help(&mut self, topic: Option<&str>) -> Outcome<()> {
        if let Some(topic) = topic {
            if let Some(entry) = registry::find(topic) {
                return self.printer.line(&help_of(entry));
            }
            if let Some(group) = registry::groups().iter().find(|group| group.name == topic) {
                return self.help_group(group);
            }
            self.printer.line(&format!("ERROR: Invalid command or command group name: {topic}\n"))?;
        }
        self.printer.line(&format!("HBase Shell, version {}", version_text()))?;
        self.printer.line(HEADER)?;
        for group in registry::groups() {
            let mut names: Vec<&str> = group.commands.iter().map(|entry| entry.name).collect();
            names.sort_unstable();
            self.printer.line(&format!("  Group name: {}\n  Commands: {}\n", group.name, names.join(", ")))?;
        }
        if topic.is_none() {
            self.printer.text(include_str!("../help/usage"))?;
        }
        Ok(())
    }

    fn help_group(&mut self, group: &Group) -> Outcome<()> {
        let mut entries: Vec<_> = group.commands.iter().collect();
        entries.sort_unstable_by_key(|entry| entry.name);
        for entry in entries {
            self.printer.line(&format!("Command: {}\n{}\n", entry.name, help_of(entry)))?;
        }
        match group.comment {
            Some(comment) => self.printer.line(&format!("{}\n\n{comment}\n", "-".repeat(80))),
            None => Ok(()),
        }
    }
}

fn help_of(entry: &registry::Entry) -> String {
    if entry.help.is_empty() { meaningless(entry) } else { entry.help.to_owned() }
}

const HEADER: &str = "\
Type 'help \"COMMAND\"', (e.g. 'help \"get\"' -- the quotes are necessary) for help on a specific command.
Commands are grouped. Type 'help \"COMMAND_GROUP\"', (e.g. 'help \"general\"') for help on a command group.

COMMAND GROUPS:";
