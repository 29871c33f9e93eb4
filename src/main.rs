//! Parses the command line, runs it, and exits with its status.

fn main() -> std::process::ExitCode {
    cellfs::cli::main()
}
