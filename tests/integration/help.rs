//! Man pages and completions are those of the command line's own grammar.
//!
//! `CELLFS_WRITE_HELP=1` writes them anew instead of comparing.

use std::fs;
use std::path::Path;

use clap_complete::Shell;

fn compare(path: &Path, wanted: &[u8]) {
    if std::env::var_os("CELLFS_WRITE_HELP").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, wanted).unwrap();
    }
    let is = fs::read(path).unwrap_or_default();
    assert!(is == wanted, "{} is not what the command line says; set CELLFS_WRITE_HELP=1 to write it", path.display());
}

#[test]
fn man_pages_equal_the_help() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let mut command = cellfs::cli::grammar();
    command.build();
    let mut pages = vec![("cellfs".to_owned(), command.clone())];
    for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = format!("cellfs-{}", subcommand.get_name());
        pages.push((name.clone(), subcommand.clone().name(name.clone()).display_name(name)));
    }
    for (name, command) in pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).date("").render(&mut page).unwrap();
        compare(&root.join(format!("{name}.1")), &page);
    }
}

#[test]
fn completions_equal_the_help() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/completions");
    for (shell, name) in [(Shell::Bash, "cellfs.bash"), (Shell::Zsh, "_cellfs"), (Shell::Fish, "cellfs.fish")] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut cellfs::cli::grammar(), "cellfs", &mut script);
        compare(&root.join(name), &script);
    }
}
