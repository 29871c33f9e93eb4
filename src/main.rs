//! Parses the command line, runs it, and exits with its status.

/// Listings and scans allocate for every name and cell: the system's allocator takes half of their time, and keeps
/// what a large listing has needed.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    cellfs::cli::main()
}
