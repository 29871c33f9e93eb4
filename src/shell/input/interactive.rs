//! The terminal: line editing, history, completion of commands, constants, tables and families.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::lines::{Line, Lines};
use crate::shell::eval::constants;
use crate::shell::lease::Lease;
use crate::shell::registry;
use crate::{Error, ErrorKind, Result};

/// Lines from a terminal.
pub struct Terminal {
    editor: Editor<Names, DefaultHistory>,
    history: Option<PathBuf>,
    lease: Lease,
}

impl Terminal {
    /// Takes the terminal and reads the history of earlier sessions.
    pub fn open(lease: Lease) -> Result<Self> {
        let config = Config::builder().completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).map_err(|e| failed(&e))?;
        editor.set_helper(Some(Names { lease: lease.clone() }));
        let history = history_path();
        if let Some(path) = &history
            && path.exists()
        {
            editor.load_history(path).unwrap_or_else(|e| log::warn!("history {}: {e}", path.display()));
        }
        Ok(Self { editor, history, lease })
    }
}

/// `$XDG_STATE_HOME/cellfs/shell_history`, else `~/.cellfs_history`.
fn history_path() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(state) = variable("XDG_STATE_HOME") {
        let directory = state.join("cellfs");
        if std::fs::create_dir_all(&directory).is_ok() {
            return Some(directory.join("shell_history"));
        }
    }
    variable("HOME").map(|home| home.join(".cellfs_history"))
}

fn failed(error: &ReadlineError) -> Error {
    match error {
        ReadlineError::Io(source) => Error::io("the terminal", source),
        other => Error::new(ErrorKind::Io, format!("the terminal: {other}")),
    }
}

impl Lines for Terminal {
    fn next(&mut self, prompt: &str) -> Result<Line> {
        match self.editor.readline(prompt) {
            Ok(line) => {
                if !line.trim().is_empty() && self.editor.add_history_entry(line.as_str()).is_ok() {
                    self.keep();
                }
                Ok(Line::Text(line))
            }
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(other) => Err(failed(&other)),
        }
    }

    fn echoes(&self) -> bool {
        false
    }

    fn may_last(&self) -> bool {
        true
    }

    /// An editor keeps what it has read beyond a line; a new one knows nothing of it.
    fn forget(&mut self) {
        match Self::open(self.lease.clone()) {
            Ok(new) => *self = new,
            Err(e) => log::warn!("what was typed ahead is run: {}", e.message),
        }
    }
}

impl Terminal {
    fn keep(&mut self) {
        let Some(path) = &self.history else { return };
        if let Err(e) = self.editor.append_history(path) {
            log::warn!("history {}: {e}", path.display());
            self.history = None;
        }
    }
}

/// Columns of the terminal on standard output; `None` when it is none.
pub fn width() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Some(columns.unwrap_or(80))
}

/// Names that can be completed.
struct Names {
    lease: Lease,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..pos).unwrap_or(line);
        let stops = |c: char| c.is_whitespace() || "'\"‘’′“”,(){}[]=>|;".contains(c);
        let start = before.rfind(stops).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        let quoted = before[..start].ends_with(['\'', '"', '‘', '’', '“']);
        let mut names: Vec<String> = if quoted { self.stored(word) } else { plain(word, start == 0) };
        names.sort();
        names.dedup();
        Ok((start, names))
    }
}

fn plain(word: &str, first: bool) -> Vec<String> {
    let commands = registry::groups().iter().flat_map(|group| &group.commands).map(|entry| entry.name);
    let names = if first {
        commands.chain(["exit", "help", "puts", "print"]).collect()
    } else {
        constants::all().collect::<Vec<_>>()
    };
    names.into_iter().filter(|name| name.starts_with(word)).map(str::to_owned).collect()
}

impl Names {
    /// Tables, namespaces, and families of all tables with their colon.
    fn stored(&self, word: &str) -> Vec<String> {
        let Ok(Ok(catalogue)) = self.lease.borrow(|backend| backend.catalogue()) else { return Vec::new() };
        let tables = catalogue.tables.keys().map(ToString::to_string);
        let families = catalogue.tables.values().flat_map(|table| table.families.keys().map(|name| format!("{name}:")));
        let namespaces = catalogue.namespaces.keys().cloned();
        tables.chain(families).chain(namespaces).filter(|name| name.starts_with(word)).collect()
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}
