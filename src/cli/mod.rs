//! The command line. Together with the shell the only room that prints.
//!
//! Exit status: 0 done, 1 a negative answer (nothing found, a condition that does not hold), 2 an error; a session of
//! the shell may give its own with `exit`.

mod advise;
mod args;
mod bench;
mod beside;
mod bring_back;
mod cells;
mod change;
mod check;
mod columns;
mod config;
mod constraint;
mod copy;
mod counted;
mod demo;
mod examples;
mod expand;
mod export;
mod follow;
mod given;
mod history;
mod import;
mod import_progress;
mod import_source;
mod index;
mod key;
mod logging;
mod mount;
mod mount_options;
mod moved_name;
mod moving;
mod moving_cluster;
mod moving_rules;
mod output;
mod path;
mod profile;
mod progress;
mod prometheus;
mod purge;
mod put_lines;
mod shell;
mod snapshot;
mod stats;
mod status;
mod staying;
mod tables;
mod top;
mod undelete;
mod unfinished;
mod watch;
mod why;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::daemon::Guard;
use crate::env::{admit_other_owners, raise_descriptors};
use crate::error::{CLOSED, printable};
use crate::{ErrorKind, Result};
use args::{Cli, Command};
pub use beside::Beside;
pub use examples::BESIDE;

/// What each exit status means, for the man page.
pub const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "What was asked for was done, or found."),
    (
        "1",
        "A negative answer: get, scan and log found nothing, config asked for an attribute that is not set, profile saw no request, the condition of put or delete (--if-value, \
         --if-absent) did not hold, check found damage, key advise found something to tell, status or check found that the store takes no changes any more after a failed sync, undelete found nothing \
         to bring back, copy found a range of rows that differs, a statement failed in shell with -e, a file or --noninteractive.",
    ),
    ("2", "An error, told in a sentence on standard error; also wrong arguments, and a check that could not be done."),
    ("N", "What a session of shell gave with exit N."),
];

/// What a command found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// Nothing there, or the condition did not hold.
    No,
    /// The status that a session of the shell gave itself.
    Status(u8),
}

/// The command line's grammar, from which man pages and completions are made.
pub fn grammar() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Order: before SQLite makes a file in a store, before a socket is bound: they are this user's alone.
    nix::sys::stat::umask(nix::sys::stat::Mode::S_IRWXG | nix::sys::stat::Mode::S_IRWXO);
    // A limit of the size of files is an error to whoever writes, and not the end of the process.
    let unlimited = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    logging::start();
    // Order: before a store is opened, each segment of which has one.
    if let Err(e) = raise_descriptors() {
        log::debug!("this process keeps its limit of descriptors: {e}");
    }
    if let Err(e) = unlimited {
        log::debug!("a limit of the size of files ends this process: {e}");
    }
    if let Some(guard) = Guard::of_arguments(std::env::args_os()) {
        return status_of(guard.run().map(|()| Answer::Yes));
    }
    let cli = match expand::expanded(std::env::args_os().collect()) {
        Ok(arguments) => match parse(&arguments) {
            Ok(cli) => cli,
            Err(status) => return status,
        },
        Err(e) => {
            complain(&e.message);
            return ExitCode::from(2);
        }
    };
    if cli.other_owner {
        admit_other_owners();
    }
    let status = status_of(run(cli));
    staying::stay_for_others();
    status
}

fn status_of(done: Result<Answer>) -> ExitCode {
    match done {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Status(status)) => ExitCode::from(status),
        // `cellfs scan | head`: the reader has enough.
        Err(e) if e.kind == ErrorKind::Disconnected && e.message == CLOSED => ExitCode::SUCCESS,
        Err(e) => {
            complain(&e.message);
            ExitCode::from(2)
        }
    }
}

/// A sentence on standard error; control characters of names do not reach the terminal.
fn complain(sentence: &str) {
    eprintln!("cellfs: {}", printable(sentence));
}

/// The command line, or the status of what clap says of it instead: a wrong one is told with the names of its arguments.
fn parse(arguments: &[OsString]) -> std::result::Result<Cli, ExitCode> {
    Cli::try_parse_from(arguments).map_err(|e| {
        let harmless = arguments.iter().map(|argument| match argument.to_str() {
            Some(text) => OsString::from(printable(text)),
            None => OsString::from(argument.to_string_lossy().into_owned()),
        });
        say(&Cli::try_parse_from(harmless).err().unwrap_or(e))
    })
}

/// Help and versions go to standard output, and have to come there.
fn say(said: &clap::Error) -> ExitCode {
    match said.print().and_then(|()| std::io::stdout().flush()) {
        Err(e) if !said.use_stderr() => status_of(Err(output::failed(&e))),
        _ => u8::try_from(said.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

fn run(cli: Cli) -> Result<Answer> {
    let json = cli.json;
    match cli.command {
        Command::Mount(args) => mount::mount(args),
        Command::Umount(args) => mount::umount(&args),
        Command::Status(args) => status::status(&args, json),
        Command::Create(args) => tables::create(&args),
        Command::List(args) => tables::list(&args, json),
        Command::Describe(args) => tables::describe(&args, json),
        Command::Alter(args) => change::alter(&args),
        Command::CreateIndex(args) => index::create_index(&args),
        Command::DropIndex(args) => index::drop_index(&args),
        Command::CreateCheck(args) => constraint::create_check(&args),
        Command::DropCheck(args) => constraint::drop_check(&args),
        Command::Key(args) => key::key(args.action, json),
        Command::Truncate(args) => change::truncate(&args),
        Command::Drop(args) => tables::drop(&args),
        Command::Undrop(args) => tables::undrop(&args),
        Command::Undelete(args) => undelete::undelete(&args, json),
        Command::Why(args) => why::why(&args, json),
        Command::Watch(args) => watch::watch(&args, json),
        Command::Purge(args) => purge::purge(&args),
        Command::Config(args) => config::config(&args, json),
        Command::Put(args) => cells::put(args, json),
        Command::Get(args) => cells::get(args, json),
        Command::Delete(args) => cells::delete(args),
        Command::Deleteall(args) => cells::deleteall(args),
        Command::Incr(args) => change::incr(&args, json),
        Command::Append(args) => change::append(&args),
        Command::Scan(args) => cells::scan(args, json),
        Command::Export(args) => export::export(args),
        Command::Import(args) => import::import(&args, json),
        Command::Copy(args) => copy::copy(&args, json),
        Command::Count(args) => cells::count(args, json),
        Command::Snapshot(args) => snapshot::snapshot(args.action, json),
        Command::Flush(args) => tables::flush(&args),
        Command::Compact(args) => tables::compact(&args),
        Command::Stats(args) => stats::stats(&args, json),
        Command::Top(args) => top::top(&args, json),
        Command::Profile(args) => profile::profile(&args, json),
        Command::Log(args) => history::log(&args, json),
        Command::Mv(args) => moving::mv(&args),
        Command::Bench(args) => bench::bench(&args, json),
        Command::Demo(args) => demo::demo(&args),
        Command::Check(args) => check::check(&args, json),
        Command::Shell(args) => shell::shell(&args, json),
    }
}
