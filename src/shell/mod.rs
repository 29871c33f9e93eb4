//! The HBase shell's language over a [`Backend`](crate::backend::Backend): parser, commands, output.
//!
//! Commands and their output are those of HBase 2.6. Knows no files of a store, no SQLite, no FUSE.

mod arguments;
mod commands;
mod eval;
mod input;
mod lease;
mod pace;
mod print;
mod regions;
mod registry;
mod run;
mod schema;
mod session;
mod syntax;

use std::io::{BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{Error, Result};
use input::interactive;
use syntax::parse;

pub use input::lines::{Echo, Line, Lines, Script};
pub use lease::Lease;
pub use print::{Form, Printer};
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

/// Runs a session of this process; how it ended. As in HBase a failed statement of the input gives no status; one of `-e`
/// or of a file does.
pub fn run(lease: Lease, source: &Source<'_>, on_error: OnError, form: Form) -> Result<End> {
    let echo = if form == Form::Full { Echo::Shown } else { Echo::Silent };
    let at_terminal = matches!(source, Source::Input) && std::io::stdin().is_terminal();
    let lines: Box<dyn Lines> = match source {
        Source::Given(texts) => {
            let text = texts.join("\n");
            Box::new(Script::new(std::io::Cursor::new(text.into_bytes()), "-e", Echo::Silent))
        }
        Source::File(path) => {
            let file = std::fs::File::open(path).map_err(|e| Error::io(format!("open {}", path.display()), &e))?;
            Box::new(Script::new(file, path.display().to_string(), echo))
        }
        Source::Input if at_terminal => Box::new(interactive::Terminal::open(lease.clone())?),
        Source::Input => {
            let input = std::io::stdin().as_fd().try_clone_to_owned();
            let input = std::fs::File::from(input.map_err(|e| Error::io("read standard input", &e))?);
            Box::new(Script::awaited(input, "standard input", echo))
        }
    };
    let out = BufWriter::new(std::io::stdout());
    let printer = Printer::new(Box::new(out), interactive::width()).in_form(form);
    let is_input = matches!(source, Source::Input);
    let on_error = if is_input && on_error == OnError::Continue { OnError::Show } else { on_error };
    let mut session = Session::on(lease, lines, printer, on_error);
    if at_terminal {
        session = session.interrupted_by(on_interrupt());
        if form == Form::Full {
            session.greet()?;
        }
    }
    session.run()
}

/// A flag that Ctrl-C sets; pressed again before anything has looked, it ends this process.
fn on_interrupt() -> Arc<AtomicBool> {
    use signal_hook::consts::SIGINT;
    /// As a shell tells of a process that SIGINT has ended.
    const STATUS: i32 = 128 + SIGINT;
    let flag = Arc::new(AtomicBool::new(false));
    // Order: the look at the flag comes before what sets it.
    let again = signal_hook::flag::register_conditional_shutdown(SIGINT, STATUS, Arc::clone(&flag));
    if let Err(e) = again.and_then(|_| signal_hook::flag::register(SIGINT, Arc::clone(&flag))) {
        log::warn!("Ctrl-C ends the session: {e}");
    }
    flag
}
