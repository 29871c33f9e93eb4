//! A path of a mount in the place of STORE TABLE ROW FAMILY:QUALIFIER, for commands that change a row, and of STORE TABLE for
//! those about tables.
//!
//! Their arguments have an order that tells them apart, so the path is spelt out before they are read.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::args::Cli;
use super::given::{self, wrong};
use super::path::{is_inside, resolve_present};
use crate::Result;
use crate::backend::Backend;
use crate::env::admit_other_owners;
use crate::model::{RowKey, TableName, to_string_binary};
use crate::tree::place::Place;

const OF_ROWS: [&str; 5] = ["put", "delete", "deleteall", "incr", "append"];
const OF_TABLES: [&str; 10] = [
    "describe",
    "alter",
    "truncate",
    "drop",
    "flush",
    "compact",
    "create-index",
    "drop-index",
    "create-check",
    "drop-check",
];

const OTHER_OWNER: &str = "--other-owner";

/// The command line, the program's name first, with such a path spelt out.
pub fn expanded(mut arguments: Vec<OsString>) -> Result<Vec<OsString>> {
    let cli = Cli::command();
    let Some(at) = positionals(&arguments, 1, &cli).next() else { return Ok(arguments) };
    let is_of = |names: &[&str]| names.iter().any(|name| arguments[at] == *name);
    let is_of_table = is_of(&OF_TABLES);
    let Some(command) = cli.find_subcommand(&arguments[at]).filter(|_| is_of_table || is_of(&OF_ROWS)) else {
        return Ok(arguments);
    };
    let given: Vec<usize> = positionals(&arguments, at + 1, command).collect();
    // What cannot be asked is told by the command itself.
    let Some(&at) = given.first().filter(|at| is_inside(Path::new(&arguments[**at])).unwrap_or(false)) else {
        return Ok(arguments);
    };
    // The option is read when the arguments are; the mount is asked before that.
    if (1..arguments.len()).take_while(|at| arguments[*at] != "--").any(|at| arguments[at] == OTHER_OWNER) {
        admit_other_owners();
    }
    let behind: Vec<&OsStr> = given[1..].iter().map(|at| arguments[*at].as_os_str()).collect();
    let (mount, backend, place) = match resolve_present(Path::new(&arguments[at])) {
        // A store is meant, which has a present wherever in it the path leads.
        Err(_) if is_of_table && !misses_one(command, &behind) => return Ok(arguments),
        resolved => resolved?,
    };
    if is_of_table && !stands_for_table(command, backend.as_ref(), &place, &behind)? {
        return Ok(arguments);
    }
    if let Some(parts) = parts(&place)? {
        arguments.splice(at..=at, std::iter::once(mount.into_os_string()).chain(parts));
    }
    Ok(arguments)
}

/// Whether a path is of the table that a command is about; otherwise it stands for the store, and the table follows.
fn stands_for_table(command: &Command, backend: &dyn Backend, place: &Place, behind: &[&OsStr]) -> Result<bool> {
    let Place::Table(of) = place else {
        return match behind.first() {
            None if misses_one(command, behind) => {
                Err(wrong("a table is missing: STORE TABLE, or the path of a table in a mount"))
            }
            _ => Ok(false),
        };
    };
    let Some(next) = behind.first().filter(|_| !misses_one(command, behind)) else { return Ok(true) };
    let catalogue = backend.catalogue()?;
    if is_inside(Path::new(next)).unwrap_or(false)
        && let Ok((.., Place::Table(other))) = resolve_present(Path::new(next))
        && catalogue.tables.contains_key(other.as_ref())
    {
        return Err(wrong(&format!("give one table: these are paths of two, {of} and {other}")));
    }
    // A family may follow.
    if !["alter", "compact"].contains(&command.get_name()) {
        return Ok(false);
    }
    let named = next.to_str().and_then(|name| given::table(name).ok());
    let is_table = named.is_some_and(|name| catalogue.tables.contains_key(&name));
    let is_family = catalogue.tables.get(of.as_ref()).is_some_and(|of| of.families.keys().any(|name| **next == **name));
    if is_table && is_family {
        let next = next.display();
        return Err(wrong(&format!("{next} is a table and a family of {of}: say which, with STORE TABLE")));
    }
    Ok(!is_table)
}

/// Where the arguments from `from` on are that are no options and no options' values.
fn positionals<'a>(arguments: &'a [OsString], from: usize, command: &'a Command) -> impl Iterator<Item = usize> + 'a {
    let is_option = |at: usize| arguments[at].as_encoded_bytes().starts_with(b"-");
    (from..arguments.len()).filter(move |at| !is_option(*at) && !takes_next(command, &arguments[at - 1]))
}

/// Whether what follows is the value of this argument.
fn takes_next(command: &Command, argument: &OsStr) -> bool {
    command.get_opts().any(|option| {
        let long = option.get_long().is_some_and(|name| argument == format!("--{name}").as_str());
        let short = option.get_short().is_some_and(|name| argument == format!("-{name}").as_str());
        (long || short) && option.get_action().takes_values() && !option.is_require_equals_set()
    })
}

/// Whether of the arguments behind STORE one is missing.
fn misses_one(command: &Command, behind: &[&OsStr]) -> bool {
    let needed = command.get_positionals().skip(1).filter(|argument| argument.is_required_set()).count();
    behind.len() < needed
}

/// TABLE, ROW and FAMILY:QUALIFIER as far as the place says; `None`: it is a part of the store, whose table follows.
fn parts(place: &Place) -> Result<Option<Vec<OsString>>> {
    let row_of = |table: &TableName, row: &RowKey| vec![table.to_string().into(), spelt(row)];
    Ok(Some(match place {
        Place::Root | Place::Namespace(_) => return Ok(None),
        Place::Table(table) => vec![table.to_string().into()],
        Place::Row(row) => row_of(&row.table, &row.row),
        Place::Family(family) => [row_of(&family.table, &family.row), vec![family.family.clone().into()]].concat(),
        Place::Cell(column) | Place::Versions(column) => {
            let mut name = OsString::from(format!("{}:", column.family));
            name.push(spelt(&column.qualifier));
            [row_of(&column.table, &column.row), vec![name]].concat()
        }
        _ => return Err(wrong("give the path of a table, a row, a family of a row or a cell; a timestamp goes last")),
    }))
}

/// A key as an argument: no option, and the same bytes when it is read.
fn spelt(key: &[u8]) -> OsString {
    match key {
        [b'-', rest @ ..] => OsString::from(format!("\\x2D{}", to_string_binary(rest))),
        _ => OsString::from_vec(to_string_binary(key).into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> (Vec<String>, bool) {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let cli = Cli::command();
        let command = cli.find_subcommand(&arguments[1]).unwrap();
        let given: Vec<&OsStr> = positionals(&arguments, 2, command).map(|at| arguments[at].as_os_str()).collect();
        let names = given.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        (names, misses_one(command, given.get(1..).unwrap_or_default()))
    }

    #[test]
    fn the_path_is_what_is_no_option_and_no_value_of_one() {
        let first = |line: &str| given(line).0.first().cloned();
        assert_eq!(first("cellfs put --ttl 5 --if-absent PATH VALUE").as_deref(), Some("PATH"));
        assert_eq!(first("cellfs put PATH --ttl 5 VALUE").as_deref(), Some("PATH"));
        assert_eq!(first("cellfs put --if-absent"), None);
        assert_eq!(first("cellfs describe --columns PATH").as_deref(), Some("PATH"));
        assert_eq!(first("cellfs create-index --columns f:q PATH NAME").as_deref(), Some("PATH"));
        assert_eq!(spelt(b"-1 \xFF"), "\\x2D1 \\xFF");
    }

    #[test]
    fn a_path_is_of_a_table_where_none_follows() {
        let misses = |line: &str| given(&format!("cellfs {line}")).1;
        for line in ["describe P", "drop --now P", "compact P --major", "alter P --set A=B", "drop-check P f name"] {
            assert!(misses(line), "{line}");
        }
        for line in ["describe P t", "compact P t f", "drop P t", "alter P t --set A=B", "drop-check P t f name"] {
            assert!(!misses(line), "{line}");
        }
        assert!(!misses("flush P") && !misses("flush P t"));
        assert!(misses("create-index P name --columns f:q") && !misses("create-index P t name --columns f:q"));
    }
}
