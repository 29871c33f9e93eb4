//! shell: a session of the HBase shell's language.

use super::Answer;
use super::args::ShellArgs;
use crate::daemon::{Absent, open_backend};
use crate::shell::{End, OnError, Source, run};
use crate::{Error, ErrorKind, Result};

pub fn shell(args: &ShellArgs) -> Result<Answer> {
    let backend = open_backend(&args.store, Absent::Make)?;
    let source = match &args.script {
        Some(path) => Source::File(path),
        None if args.execute.is_empty() => Source::Input,
        None => Source::Given(&args.execute),
    };
    let on_error = if args.stop { OnError::Stop } else { OnError::Continue };
    match run(backend, &source, on_error)? {
        End::Status(0) => Ok(Answer::Yes),
        End::Status(1) => Ok(Answer::No),
        End::Status(status) => {
            Err(Error::new(ErrorKind::IllegalArgument, format!("the session ended with status {status}")))
        }
        End::Failed(text) => {
            eprintln!("ERROR: {text}");
            Ok(Answer::No)
        }
    }
}
