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
    let beside = cellfs::cli::BESIDE.iter().find(|beside| beside.page == name);
    let beside = beside.unwrap_or_else(|| panic!("{name} has no examples"));
    page = page.replace(".SH VERSION\n", &format!("{}.SH VERSION\n", shown_beside(beside)));
    if name == "cellfs" {
        let codes = cellfs::cli::EXIT_STATUS.map(|(code, text)| format!(".TP\n{code}\n{}\n", text.replace('-', "\\-")));
        page = page.replace(".SH VERSION\n", &format!(".SH \"EXIT STATUS\"\n{}.SH VERSION\n", codes.concat()));
    }
    page
}

/// EXAMPLES and SEE ALSO of a page.
fn shown_beside(beside: &cellfs::cli::Beside) -> String {
    let safe = |text: &str| text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let mut text = ".SH EXAMPLES\n".to_owned();
    for (what, line) in beside.examples {
        text += &format!("{}\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n.PP\n", safe(what), safe(line));
    }
    text = text.trim_end_matches(".PP\n").to_owned();
    let main: &[&str] = if beside.page == "cellfs" { &[] } else { &["cellfs(1)"] };
    let pages: Vec<String> = [main, beside.see_also].concat().iter().map(|page| safe(page)).collect();
    text + &format!(".SH \"SEE ALSO\"\n{}\n", pages.join(",\n"))
}

/// Words of a line, with the quotes of a shell taken off.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut word) = (Vec::new(), None, None::<String>);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => (quote, word) = (Some(c), Some(word.unwrap_or_default())),
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[test]
fn examples_of_the_man_pages_are_of_the_grammar() {
    let mut lines = 0;
    for beside in cellfs::cli::BESIDE {
        assert!(!beside.examples.is_empty() && !beside.see_also.is_empty(), "{}", beside.page);
        for (_, line) in beside.examples {
            let parsed = cellfs::cli::grammar().try_get_matches_from(words_of(line));
            assert!(parsed.is_ok(), "{}: {line}: {}", beside.page, parsed.unwrap_err());
            lines += 1;
        }
        for page in beside.see_also {
            let file = page.trim_end_matches(')').replace('(', ".");
            assert!(pages().iter().any(|path| path.ends_with(&file)), "{}: {page} is no page", beside.page);
        }
    }
    assert!(lines > 40, "{lines} examples");
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

/// The script that is installed for a shell, in a file.
fn installed(shell: &str) -> tempfile::NamedTempFile {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/completions/whole.sh");
    let output = std::process::Command::new(whole).arg(shell).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), output.stdout).unwrap();
    file
}

/// What a shell completes behind these words by the script that is installed for it; `None` where it is missing.
fn completed_by(shell: &str, program: &str, words: &[&str]) -> Option<Vec<String>> {
    let script = installed(shell);
    let output =
        std::process::Command::new(shell).args(["-c", program]).arg(script.path()).args(words).output().ok()?;
    let said = String::from_utf8(output.stdout).unwrap();
    Some(said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// What bash completes behind these words.
fn completed(words: &[&str]) -> Vec<String> {
    let program = r#"source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _cellfs_names "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; printf '%s\n' "${COMPREPLY[@]}""#;
    completed_by("bash", program, words).unwrap()
}

/// What zsh is given to choose from behind these words, and what it is told to put before it.
fn offered_by_zsh(words: &[&str]) -> Option<Vec<String>> {
    let program = r#"compdef() { : }
        compadd() { local before=; while [[ $1 != -- ]]; do [[ $1 != -p ]] || before=$2; shift; done; shift
            for word; do print -r -- "$before$word"; done }
        source "$0"; words=("$@"); CURRENT=$#; _cellfs"#;
    completed_by("zsh", program, words)
}

/// What fish completes behind this line.
fn completed_by_fish(words: &[&str]) -> Option<Vec<String>> {
    let program = "source $argv[1]; complete -C (string join ' ' -- $argv[2..])";
    let script = installed("fish");
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut fish = std::process::Command::new("fish");
    let path = Path::new(words[0].as_str()).parent()?;
    let search = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());
    let line = ["cellfs".to_owned()].into_iter().chain(words[1..].iter().cloned());
    let output = fish.env("PATH", search).args(["-c", program]).arg(script.path()).args(line).output().ok()?;
    let said = String::from_utf8(output.stdout).unwrap();
    Some(said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect())
}

#[test]
fn completions_know_tables_snapshots_and_mount_options() {
    let directory = tempfile::tempdir().unwrap();
    let (store, cellfs) = (directory.path().join("store"), env!("CARGO_BIN_EXE_cellfs"));
    let store = store.to_str().unwrap();
    for args in [
        &["create", "--make", store, "tall", "f"][..],
        &["create", store, "ns/wide", "f"],
        &["snapshot", "create", store, "monday"],
    ] {
        let _ = std::process::Command::new(cellfs).args(args).output().unwrap();
    }
    assert_eq!(completed(&[cellfs, "get", store, "ta"]), ["tall"]);
    assert_eq!(completed(&[cellfs, "--json", "scan", store, ""]), ["tall"]);
    assert_eq!(completed(&[cellfs, "snapshot", "restore", store, ""]), ["monday"]);
    assert_eq!(completed(&[cellfs, "mount", "-o", "ro,names"]), ["ro,names=raw"]);
    assert!(completed(&[cellfs, "sca"]).contains(&"scan".to_owned()));
    for (words, wanted) in [
        (&[cellfs, "get", store, ""][..], "tall"),
        (&[cellfs, "snapshot", "restore", store, ""], "monday"),
        (&[cellfs, "mount", "-o", "ro,"], "ro,names=raw"),
    ] {
        match offered_by_zsh(words) {
            Some(offered) => assert!(offered.contains(&wanted.to_owned()), "{words:?}: {offered:?}"),
            None => println!("skipped: zsh is not installed"),
        }
        match completed_by_fish(words) {
            Some(_) if words[1] == "mount" => {}
            Some(found) => assert!(found.contains(&wanted.to_owned()), "{words:?}: {found:?}"),
            None => println!("skipped: fish is not installed"),
        }
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

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for argument in ["--help", "--version"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(crate::mount::fixture::CELLFS);
        let output = command.arg(argument).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("No space left"), "{argument}: {said}");
    }
}
