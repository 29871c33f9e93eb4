//! Names, groups and argument counts of all commands of HBase's shell (release 2.4), and what help says of them here.

use std::sync::LazyLock;

/// A command of HBase's shell.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub name: &'static str,
    pub group: &'static str,
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments; `None` = any number.
    pub most: Option<usize>,
    /// Empty for commands that mean nothing here.
    pub help: &'static str,
}

/// A group of commands, in HBase's order.
pub struct Group {
    pub name: &'static str,
    pub comment: Option<&'static str>,
    pub commands: Vec<Entry>,
}

const TEXTS: &[(&str, &str)] = &[
    ("general", include_str!("help/general.txt")),
    ("ddl", include_str!("help/ddl.txt")),
    ("namespace", include_str!("help/namespace.txt")),
    ("dml", include_str!("help/dml.txt")),
    ("tools", include_str!("help/tools.txt")),
    ("replication", include_str!("help/replication.txt")),
    ("snapshots", include_str!("help/snapshots.txt")),
    ("configuration", include_str!("help/configuration.txt")),
    ("quotas", include_str!("help/quotas.txt")),
    ("security", include_str!("help/security.txt")),
    ("procedures", include_str!("help/procedures.txt")),
    ("visibility labels", include_str!("help/visibility_labels.txt")),
    ("rsgroup", include_str!("help/rsgroup.txt")),
];

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| TEXTS.iter().map(|(name, text)| group(name, text)).collect());

/// All groups.
pub fn groups() -> &'static [Group] {
    &GROUPS
}

/// The command of that name, or of that other name.
pub fn find(name: &str) -> Option<&'static Entry> {
    let name = match name {
        "desc" => "describe",
        "hlog_roll" => "wal_roll",
        name => name,
    };
    GROUPS.iter().flat_map(|group| &group.commands).find(|entry| entry.name == name)
}

/// `@comment TEXT`, then for each command `@command NAME LEAST MOST` and its help.
fn group(name: &'static str, text: &'static str) -> Group {
    let mut sections = text.split("@command ");
    let comment = sections.next().and_then(|head| head.strip_prefix("@comment "));
    let commands = sections.filter_map(|section| entry(name, section)).collect();
    Group { name, comment: comment.map(str::trim_end), commands }
}

fn entry(group: &'static str, section: &'static str) -> Option<Entry> {
    let (head, help) = section.split_once('\n')?;
    let mut words = head.split_whitespace();
    let (name, least) = (words.next()?, words.next()?.parse().ok()?);
    Some(Entry { name, group, least, most: words.next()?.parse().ok(), help: help.strip_suffix('\n').unwrap_or(help) })
}

impl Entry {
    /// Ruby's sentence about a wrong number of arguments.
    pub fn check_count(&self, given: usize) -> Result<(), String> {
        if given >= self.least && self.most.is_none_or(|most| given <= most) {
            return Ok(());
        }
        let expected = match self.most {
            None => format!("{}+", self.least),
            Some(most) if most == self.least => most.to_string(),
            Some(most) => format!("{}..{most}", self.least),
        };
        Err(format!("wrong number of arguments (given {given}, expected {expected})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read() {
        assert_eq!(groups().iter().map(|g| g.commands.len()).sum::<usize>(), 168);
        let put = find("put").unwrap();
        assert_eq!((put.group, put.least, put.most), ("dml", 4, Some(6)));
        assert!(put.help.starts_with("Puts a value") && put.help.ends_with("'value'"));
        assert_eq!(find("desc").unwrap().name, "describe");
        assert_eq!(
            find("get").unwrap().check_count(1).unwrap_err(),
            "wrong number of arguments (given 1, expected 2+)"
        );
    }
}
