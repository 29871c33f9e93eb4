//! shell: a session of the HBase shell's language.

use super::Answer;
use super::args::ShellArgs;
use crate::Result;
use crate::daemon::{Absent, open_backend};
use crate::error::printable;
use crate::shell::{End, Form, Lease, OnError, Source, run};

pub fn shell(args: &ShellArgs, json: bool) -> Result<Answer> {
    let store = args.store.clone();
    let absent = if args.make { Absent::Make } else { Absent::Refuse };
    let lease = Lease::new(move || open_backend(&store, absent))?;
    let source = match &args.script {
        Some(path) => Source::File(path),
        None if args.execute.is_empty() => Source::Input,
        None => Source::Given(&args.execute),
    };
    let on_error = if args.stop { OnError::Stop } else { OnError::Continue };
    let form = match (json, args.quiet) {
        (true, _) => Form::Json,
        (false, true) => Form::Quiet,
        (false, false) => Form::Full,
    };
    match run(lease, &source, on_error, form)? {
        End::Status(status) => Ok(Answer::Status(status)),
        End::Failed(text) => {
            // HBase's words may have several lines.
            let lines: Vec<String> = text.lines().map(printable).collect();
            eprintln!("ERROR: {}", lines.join("\n"));
            Ok(Answer::No)
        }
    }
}
