//! shell: a session of the HBase shell's language.

use super::Answer;
use super::args::ShellArgs;
use crate::Result;
use crate::daemon::{Absent, open_backend};
use crate::error::printable;
use crate::shell::{End, OnError, Source, run};

pub fn shell(args: &ShellArgs) -> Result<Answer> {
    let backend = open_backend(&args.store, Absent::Make)?;
    let source = match &args.script {
        Some(path) => Source::File(path),
        None if args.execute.is_empty() => Source::Input,
        None => Source::Given(&args.execute),
    };
    let on_error = if args.stop { OnError::Stop } else { OnError::Continue };
    match run(backend, &source, on_error)? {
        End::Status(status) => Ok(Answer::Status(status)),
        End::Failed(text) => {
            // HBase's words may have several lines.
            let lines: Vec<String> = text.lines().map(printable).collect();
            eprintln!("ERROR: {}", lines.join("\n"));
            Ok(Answer::No)
        }
    }
}
