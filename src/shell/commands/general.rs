//! status, version, table_help, whoami, processlist; and help.

use super::{Command, meaningless};
use crate::backend::ClusterNumbers;
use crate::model::TableState;
use crate::shell::arguments::Arguments;
use crate::shell::eval::failure::{Outcome, refuse};
use crate::shell::eval::value::Value;
use crate::shell::regions::regions;
use crate::shell::registry::{self, Group};
use crate::shell::session::Session;

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
    let format = if arguments.count() == 0 { "summary".to_owned() } else { arguments.text(0) };
    let backend = session.backend()?;
    if let Some(cluster) = backend.cluster_numbers()? {
        cluster_status(&cluster, &format)?.iter().try_for_each(|line| session.printer.line(line))?;
        return Ok(Value::Nil);
    }
    let catalogue = backend.catalogue()?;
    let enabled = catalogue.user_tables().filter(|table| table.state == TableState::Enabled);
    let mut count = 0;
    for table in enabled {
        count += regions(&*backend, table)?.len();
    }
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

/// A cluster's servers, as HBase's shell lists them.
fn cluster_status(cluster: &ClusterNumbers, format: &str) -> Outcome<Vec<String>> {
    const MB: u64 = 1 << 20;
    let (servers, dead, backups) = (&cluster.servers, &cluster.dead, &cluster.backup_masters);
    let regions: u64 = servers.iter().map(|server| server.regions).sum();
    let active = usize::from(cluster.master.is_some());
    let place = |name: &str| name.replacen(',', ":", 1).replacen(',', " ", 1);
    match format {
        "summary" => {
            let load = regions as f64 / servers.len().max(1) as f64;
            Ok(vec![format!(
                "{active} active master, {} backup masters, {} servers, {} dead, {load:.4} average load",
                backups.len(),
                servers.len(),
                dead.len()
            )])
        }
        "simple" | "detailed" => {
            let mut lines = vec![format!("version {}", cluster.version)];
            lines.push(format!("active master:  {}", cluster.master.as_deref().map_or("none".to_owned(), place)));
            lines.push(format!("{} backup masters", backups.len()));
            lines.extend(backups.iter().map(|name| format!("    {}", place(name))));
            lines.push(format!("{} live servers", servers.len()));
            for server in servers {
                lines.push(format!("    {}", place(&server.name)));
                lines.push(format!(
                    "        requestsPerSecond={}, numberOfOnlineRegions={}, usedHeapMB={}, maxHeapMB={}, \
                     numberOfStorefiles={}, storefileSizeMB={}, memstoreSizeMB={}",
                    server.requests,
                    server.regions,
                    server.used_heap_bytes / MB,
                    server.most_heap_bytes / MB,
                    server.files,
                    server.file_bytes / MB,
                    server.memory_bytes / MB
                ));
            }
            lines.push(format!("{} dead servers", dead.len()));
            lines.extend(dead.iter().map(|name| format!("    {}", place(name))));
            let requests: u64 = servers.iter().map(|server| server.requests).sum();
            lines.push(format!("Aggregate load: {requests}, regions: {regions}"));
            Ok(lines)
        }
        other => refuse(format!("status {other}: give 'summary', 'simple' or 'detailed'")),
    }
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
