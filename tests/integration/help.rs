//! Man pages and completions are those of the command line's own grammar.
//!
//! `CELLFS_WRITE_HELP=1` writes them anew instead of comparing.

use std::fs;
use std::path::Path;

use clap_complete::Shell;

/// The date on the pages.
const RELEASED: &str = "2026-11-21";

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
    add_pages(&mut pages, &command, "cellfs");
    let mut names: Vec<String> = pages.iter().map(|(name, _)| format!("{name}.1")).collect();
    for (name, command) in pages {
        compare(&root.join(format!("{name}.1")), rendered(&name, command).as_bytes());
    }
    names.sort();
    let mut found: Vec<String> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.retain(|name| name.ends_with(".1"));
    found.sort();
    assert_eq!(found, names, "pages of commands that are no more");
}

/// The pages of all subcommands, and of theirs.
fn add_pages(pages: &mut Vec<(String, clap::Command)>, command: &clap::Command, prefix: &str) {
    for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = format!("{prefix}-{}", subcommand.get_name());
        pages.push((name.clone(), subcommand.clone().name(name.clone()).display_name(name.clone())));
        add_pages(pages, subcommand, &name);
    }
}

fn rendered(name: &str, command: clap::Command) -> String {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).date(RELEASED).render(&mut page).unwrap();
    let mut page = String::from_utf8(page).unwrap();
    // Operands that may be given again, as the help marks them.
    for operand in command.get_positionals().filter(|operand| matches!(operand.get_action(), clap::ArgAction::Append)) {
        let name = operand.get_value_names().unwrap()[0].as_str();
        for (open, close) in [("<", ">"), ("[", "]")] {
            let shown = format!("{open}\\fI{name}\\fR{close}");
            page = page.replace(&shown, &format!("{shown}..."));
        }
    }
    // The command `help` has no page.
    let help = format!(".TP\n{}\\-help(1)\n", name.replace('-', "\\-"));
    if let Some(at) = page.find(&help) {
        let end = page[at + 1..].find("\n.SH").unwrap() + at + 2;
        page.replace_range(at..end, "");
    }
    if name == "cellfs" {
        let codes = cellfs::cli::EXIT_STATUS.map(|(code, text)| format!(".TP\n{code}\n{}\n", text.replace('-', "\\-")));
        page = page.replace(".SH VERSION\n", &format!(".SH \"EXIT STATUS\"\n{}.SH VERSION\n", codes.concat()));
    }
    page
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

/// Pages of `man/`, generated or not.
fn pages() -> Vec<std::path::PathBuf> {
    let directory = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("man")).unwrap();
    let mut pages: Vec<_> = directory.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

#[test]
fn man_pages_are_clean() {
    if std::env::var_os("CELLFS_WRITE_HELP").is_some() {
        println!("skipped: the pages are being written");
        return;
    }
    if std::process::Command::new("mandoc").arg("-V").output().is_err() {
        println!("skipped: mandoc is not installed; the man pages are not checked");
        return;
    }
    let mut lint = std::process::Command::new("mandoc");
    let output = lint.args(["-T", "lint", "-W", "warning"]).args(pages()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(name)).unwrap()
}

/// The parts of a source that stand between two texts.
fn between<'a>(source: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    source.split(before).skip(1).filter_map(|rest| rest.split(after).next()).collect()
}

#[test]
fn man_page_of_the_tree_names_every_errno() {
    let source = include_str!("../../src/fs/errno.rs");
    let page = page("cellfs-tree.7");
    let mut names = between(source, "libc::", ",");
    names.extend(between(source, "libc::", "\n"));
    let names: Vec<_> = names.into_iter().filter(|name| name.chars().all(|c| c.is_ascii_uppercase())).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!(".It Bq Er {name}\n")), "{name}");
    }
}

#[test]
fn man_page_of_the_mount_names_every_option() {
    let source = include_str!("../../src/cli/mount_options.rs");
    let page = page("mount.cellfs.8");
    let names = between(source, "        (\"", "\"");
    assert!(names.len() > 15, "{names:?}");
    for name in names.iter().flat_map(|names| names.split(" | ")) {
        assert!(page.contains(name), "{name}");
    }
}
