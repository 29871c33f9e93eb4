//! The command line. Together with the shell the only room that prints.
//!
//! Exit status: 0 done, 1 a negative answer (nothing found, a condition that does not hold), 2 an error.

mod args;
mod bench;
mod cells;
mod change;
mod check;
mod columns;
mod demo;
mod history;
mod logging;
mod mount;
mod mount_options;
mod moving;
mod output;
mod path;
mod progress;
mod prometheus;
mod purge;
mod shell;
mod snapshot;
mod stats;
mod status;
mod tables;

use std::process::ExitCode;

use clap::Parser;

use crate::error::CLOSED;
use crate::{Error, ErrorKind, Result};
use args::{Cli, Command};

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
    let cli = Cli::parse();
    // Order: before SQLite makes a file in a store, before a socket is bound: they are this user's alone.
    nix::sys::stat::umask(nix::sys::stat::Mode::S_IRWXG | nix::sys::stat::Mode::S_IRWXO);
    logging::start();
    match run(cli) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Status(status)) => ExitCode::from(status),
        // `cellfs scan | head`: the reader has enough.
        Err(e) if e.kind == ErrorKind::Disconnected && e.message == CLOSED => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("cellfs: {}", printable(&e));
            ExitCode::from(2)
        }
    }
}

/// Messages may name keys: control characters do not reach the terminal.
fn printable(error: &Error) -> String {
    printed(&error.message)
}

fn printed(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.into() };
    text.chars().map(shown).collect()
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
        Command::Truncate(args) => change::truncate(&args),
        Command::Drop(args) => tables::drop(&args),
        Command::Undrop(args) => tables::undrop(&args),
        Command::Purge(args) => purge::purge(&args),
        Command::Put(args) => cells::put(args),
        Command::Get(args) => cells::get(args, json),
        Command::Delete(args) => cells::delete(args),
        Command::Deleteall(args) => cells::deleteall(args),
        Command::Incr(args) => change::incr(&args, json),
        Command::Append(args) => change::append(&args),
        Command::Scan(args) => cells::scan(args, json),
        Command::Count(args) => cells::count(args, json),
        Command::Snapshot(args) => snapshot::snapshot(args.action, json),
        Command::Flush(args) => tables::flush(&args),
        Command::Compact(args) => tables::compact(&args),
        Command::Stats(args) => stats::stats(&args, json),
        Command::Log(args) => history::log(&args, json),
        Command::Mv(args) => moving::mv(&args),
        Command::Bench(args) => bench::bench(&args, json),
        Command::Demo(args) => demo::demo(&args),
        Command::Check(args) => check::check(&args, json),
        Command::Shell(args) => shell::shell(&args),
    }
}
