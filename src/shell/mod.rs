//! The HBase shell's language over a [`Backend`]: parser, commands, output.
//!
//! Commands and their output are those of HBase 2.6. Knows no files of a store, no SQLite, no FUSE.

mod arguments;
mod commands;
mod constants;
mod convert;
mod eval;
mod failure;
mod interactive;
mod lines;
mod literal;
mod parse;
mod print;
mod regions;
mod registry;
mod schema;
mod session;
mod syntax;
mod value;

use std::io::{BufReader, BufWriter, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use crate::backend::Backend;
use crate::{Error, Result};

pub use lines::{Echo, Lines, Script};
pub use print::Printer;
pub use session::{End, OnError, Session};

/// Where a session's statements come from.
pub enum Source<'a> {
    /// Texts of `-e`, one after another.
    Given(&'a [String]),
    File(&'a Path),
    /// Standard input: a terminal or a script.
    Input,
}

/// Whether a text is whole statements of the language.
pub fn is_understood(text: &str) -> bool {
    parse::parse(text).is_ok()
}

/// Runs a session of this process; how it ended.
pub fn run(backend: Arc<dyn Backend>, source: &Source<'_>, on_error: OnError) -> Result<End> {
    let at_terminal = matches!(source, Source::Input) && std::io::stdin().is_terminal();
    let lines: Box<dyn Lines> = match source {
        Source::Given(texts) => {
            let text = texts.join("\n");
            Box::new(Script::new(std::io::Cursor::new(text.into_bytes()), "-e", Echo::Silent))
        }
        Source::File(path) => {
            let file = std::fs::File::open(path).map_err(|e| Error::io(format!("open {}", path.display()), &e))?;
            Box::new(Script::new(BufReader::new(file), path.display().to_string(), Echo::Shown))
        }
        Source::Input if at_terminal => Box::new(interactive::Terminal::open(Arc::clone(&backend))?),
        Source::Input => Box::new(Script::new(BufReader::new(std::io::stdin()), "standard input", Echo::Shown)),
    };
    let out = BufWriter::new(std::io::stdout());
    let printer = Printer::new(Box::new(out), interactive::width());
    let mut session = Session::new(backend, lines, printer, on_error);
    if at_terminal {
        session.greet()?;
    }
    session.run()
}
