//! A path of a mount in the place of STORE TABLE ROW FAMILY:QUALIFIER, for commands that change a row.
//!
//! Their arguments have an order that tells them apart, so the path is spelt out before they are read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::given::wrong;
use super::path::{is_inside, mount_and_place};
use crate::Result;
use crate::env::admit_other_owners;
use crate::model::{RowKey, TableName, to_string_binary};
use crate::tree::place::Place;

const COMMANDS: [&str; 5] = ["put", "delete", "deleteall", "incr", "append"];
/// Options of these that have a value.
const VALUED: [&str; 3] = ["--ttl", "--if-value", "--if-column"];

const OTHER_OWNER: &str = "--other-owner";

/// The command line, the program's name first, with such a path spelt out.
pub fn expanded(mut arguments: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(command) = positional(&arguments, 1) else { return Ok(arguments) };
    if !COMMANDS.iter().any(|name| arguments[command] == *name) {
        return Ok(arguments);
    }
    let Some(at) = positional(&arguments, command + 1) else { return Ok(arguments) };
    let path = Path::new(&arguments[at]);
    // What cannot be asked is told by the command itself.
    if !is_inside(path).unwrap_or(false) {
        return Ok(arguments);
    }
    // The option is read when the arguments are; the mount is asked before that.
    if (1..arguments.len()).take_while(|at| arguments[*at] != "--").any(|at| arguments[at] == OTHER_OWNER) {
        admit_other_owners();
    }
    let (mount, place) = mount_and_place(path)?;
    if let Some(parts) = parts(&place)? {
        arguments.splice(at..=at, std::iter::once(mount.into_os_string()).chain(parts));
    }
    Ok(arguments)
}

/// Where the first argument from `from` on is that is no option and no option's value.
fn positional(arguments: &[OsString], from: usize) -> Option<usize> {
    let is_option = |at: &usize| arguments[*at].as_encoded_bytes().starts_with(b"-");
    let is_valued = |at: usize| VALUED.iter().any(|option| arguments[at] == *option);
    (from..arguments.len()).find(|at| !is_option(at) && !is_valued(at - 1))
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

    #[test]
    fn the_path_is_what_is_no_option_and_no_value_of_one() {
        let of = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            positional(&arguments, 2).map(|at| arguments[at].clone())
        };
        assert_eq!(of("cellfs put --ttl 5 --if-absent PATH VALUE"), Some("PATH".into()));
        assert_eq!(of("cellfs put PATH --ttl 5 VALUE"), Some("PATH".into()));
        assert_eq!(of("cellfs put --if-absent"), None);
        assert_eq!(spelt(b"-1 \xFF"), "\\x2D1 \\xFF");
    }
}
