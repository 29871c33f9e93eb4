//! The shell against a recorded session of HBase's own, against examples of documents, and through a pipe.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use cellfs::backend::Backend;
use cellfs::shell::{Echo, End, OnError, Printer, Script, Session};
use cellfs::store::{Background, Store, StoreOptions};
use jiff::tz::TimeZone;
use regex::Regex;

/// Commands of the recorded session whose output differs, with what ours has instead, and why.
const DIFFERENT: &[(usize, &str, &str)] = &[
    (1, ", cellfs, with the semantics of HBase 2.6\n", "the version is our own"),
    (158, "ERROR: BloomFilter type SOMETHING is not supported.", "an error in HBase's error"),
    (159, "Use one of LZO LZMA GZ ZSTD LZ4 NONE SNAPPY BZIP2\n", "EnumDesc is no compression"),
    (205, "ERROR: one column at a time: \"f:b\"", "an error of JRuby"),
    (229, "=> [\"DependentColumnFilter\", ", "HBase shows a Java object"),
    (238, "Puts a value into a column of a row", "help is in words of our own"),
    (239, " (auth:SIMPLE)\n    groups: ", "the user is not the recorded one"),
    (240, "active master:  cellfs\n0 backup masters\n1 live servers\n", "numbers of servers"),
    (241, "A table can be held in a variable", "help is in words of our own"),
];

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn store(directory: &Path) -> Arc<dyn Backend> {
    let options = StoreOptions { background: Background::Off, ..StoreOptions::new(directory.join("store")) };
    Arc::new(Store::open(options).unwrap())
}

/// Output of a script, and how it ended.
fn session(backend: &Arc<dyn Backend>, script: &str, echo: Echo, on_error: OnError) -> (String, End) {
    let mut out = Vec::new();
    let lines = Script::new(Cursor::new(script.as_bytes().to_vec()), "the test", echo);
    let printer = Printer::new(Box::new(&mut out), None);
    let mut session = Session::new(Arc::clone(backend), Box::new(lines), printer, on_error).in_zone(TimeZone::UTC);
    let end = session.run().unwrap();
    drop(session);
    (String::from_utf8(out).unwrap(), end)
}

fn output(script: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    session(&store(directory.path()), script, Echo::Silent, OnError::Continue).0
}

/// The output of each command by its number, without what varies from run to run.
fn by_command(transcript: &str) -> BTreeMap<usize, String> {
    let variable = [
        (r"Took [0-9.]+ seconds", "Took S seconds"),
        (r",[0-9]+\.[0-9a-f]{32}\.", ",ID."),
        (r"0x[0-9a-f]+>", "0xID>"),
        (r"\(20[0-9-]+ [0-9:]+ \+0000\)", "(TIME)"),
        (r"timestamp=20(2[4-9]|[3-9]\d)-[^,]*,", "timestamp=NOW,"),
    ];
    let mut text = transcript.to_owned();
    for (pattern, word) in variable {
        text = Regex::new(pattern).unwrap().replace_all(&text, word).into_owned();
    }
    let prompt = Regex::new(r"hbase:(\d{3}):\d[>*'] ").unwrap();
    let mut commands = BTreeMap::new();
    let starts: Vec<_> = prompt.captures_iter(&text).map(|c| (c.get(0).unwrap(), c[1].parse().unwrap())).collect();
    for (at, (found, number)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(text.len(), |(next, _)| next.start());
        commands.insert(*number, text[found.start()..end].to_owned());
    }
    commands
}

#[test]
fn a_recorded_session_of_hbase_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, end) = session(&store(directory.path()), &data("shell-commands.txt"), Echo::Shown, OnError::Continue);
    assert_eq!(end, End::Status(0));
    let (ours, theirs) = (by_command(&ours), by_command(&data("shell-transcript.txt")));
    assert_eq!(theirs.len(), 242);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (number, theirs) in &theirs {
        let ours = &ours[number];
        match DIFFERENT.iter().find(|(known, ..)| known == number) {
            Some((_, words, why)) => {
                assert!(ours.contains(words), "command {number} ({why}) lacks {words:?}:\n{ours}");
            }
            None => assert_eq!(ours, theirs, "command {number}"),
        }
    }
}

/// One example of a document.
#[derive(Default)]
struct Example {
    source: String,
    setup: Vec<String>,
    run: Vec<String>,
    expect: Vec<String>,
}

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in data("seeds.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (kind, text) = line.split_once(' ').unwrap_or((line, ""));
        let text = text.to_owned();
        if kind == "@" {
            examples.push(Example { source: text, ..Example::default() });
            continue;
        }
        let example = examples.last_mut().unwrap();
        match kind {
            "setup" => example.setup.push(text),
            "run" => example.run.push(text),
            "expect" => example.expect.push(text),
            other => panic!("{other}: no such kind of line"),
        }
    }
    examples
}

#[test]
fn examples_of_documents_run_as_written() {
    let examples = examples();
    assert!(examples.len() > 20);
    for Example { source, setup, run, expect } in &examples {
        let directory = tempfile::tempdir().unwrap();
        let backend = store(directory.path());
        let (_, end) = session(&backend, &setup.join("\n"), Echo::Silent, OnError::Stop);
        assert_eq!(end, End::Status(0), "{source}: what was there before");
        let (text, _) = session(&backend, &run.join("\n"), Echo::Silent, OnError::Continue);
        for words in expect {
            assert!(text.contains(words), "{source} lacks {words:?}:\n{text}");
        }
        let refused = expect.iter().any(|words| words.contains("ERROR") || words.contains("Error"));
        let fails = text.contains("ERROR: ") || text.contains("Traceback");
        let both = expect.iter().any(|words| words.starts_with("Only empty namespaces"));
        assert_eq!(fails, refused || both, "{source}:\n{text}");
    }
}

#[test]
fn the_first_error_ends_a_strict_session() {
    let directory = tempfile::tempdir().unwrap();
    let script = "create 't', 'f'\nput 'nosuch', 'r', 'f:q', 'v'\nput 't', 'r', 'f:q', 'v'\n";
    let (_, end) = session(&store(directory.path()), script, Echo::Silent, OnError::Stop);
    assert_eq!(end, End::Failed("Unknown table nosuch!".into()));
}

#[test]
fn statements_may_span_lines_and_share_one() {
    let text = output(
        "create 't',\n  {NAME => 'f',\n   VERSIONS => 2}; put('t', 'r', 'f:q', 1 + 1)\nscan('t',\n{LIMIT => 1\n})\n",
    );
    assert!(text.contains("value=2\n1 row(s)"), "{text}");
    assert!(!text.contains("ERROR") && !text.contains("Traceback"), "{text}");
}

#[test]
fn variables_blocks_and_references_work() {
    let script = "t = create 't', 'f'\n3.times { |i| t.put \"r#{i}\", 'f:q', i }\nn = t.count\nn * 2\n\
                  ['a', 'b'].each do |row|\n  t.put row, 'f:q', 'x'\nend\nlist.first\nt.name\n";
    let text = output(script);
    assert!(text.contains("=> 6\n"), "{text}");
    assert!(text.contains("=> [\"a\", \"b\"]\n") && !text.contains("Traceback"), "{text}");
    assert!(text.ends_with("=> \"t\"\n=> \"t\"\n"), "{text}");
}

#[test]
fn questions_take_the_next_line() {
    let text = output("create 'a1', 'f'\ncreate 'a2', 'f'\ndisable_all 'a.*'\ny\ndrop_all 'a.*'\nn\nlist\n");
    assert!(text.contains("2 tables successfully disabled"), "{text}");
    assert!(!text.contains("dropped"), "{text}");
    assert!(text.ends_with("=> [\"a1\", \"a2\"]\n"), "{text}");
}

#[test]
fn what_cannot_be_read_is_refused_and_the_session_goes_on() {
    let text = output("put 't' 'r' )\n1 / 0\n[[[\n");
    assert!(text.contains("SyntaxError"), "{text}");
    assert!(text.contains("ZeroDivisionError (divided by 0)"), "{text}");
    let deep = output(&format!("{}\n1 + 1\n", "[".repeat(10_000)));
    assert!(deep.contains("nested too deeply") && deep.contains("=> 2"), "{deep}");
}

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cellfs"))
}

#[test]
fn the_program_reads_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(binary())
        .args(["shell", "-n"])
        .arg(directory.path().join("store"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"create 't', 'f'\nput 't', 'r', 'f:q', \"\\x00v\"\nscan 't'\nlist 'a'\nget 't'\nlist\n").unwrap();
    drop(input);
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("hbase:001:0> create 't', 'f'\nCreated table t\nTook "), "{text}");
    assert!(text.contains("value=\\x00v\n1 row(s)"), "{text}");
    assert!(text.ends_with("hbase:005:0> get 't'\n"), "{text}");
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn the_program_runs_statements_of_its_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let store = directory.path().join("store");
        Command::new(binary()).arg("shell").arg(store).args(arguments).output().unwrap()
    };
    let done = run(&["-e", "create 't', 'f'", "-e", "put 'nosuch', 'r', 'f:q', 'v'", "-e", "list"]);
    assert_eq!(done.status.code(), Some(0));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("ERROR: Unknown table nosuch!") && text.contains("=> [\"t\"]"), "{text}");
    std::fs::write(directory.path().join("script"), "count 't'\nexit 3\n").unwrap();
    let done = run(&[directory.path().join("script").to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(3));
    assert!(String::from_utf8(done.stdout).unwrap().contains("=> 0\n"));
}

/// What every example may count on.
const BEFORE_EXAMPLES: &str = "\
create_namespace 'ns1'
create 't1', {NAME => 'f1', VERSIONS => 5}, 'f2'
create 'ns1:t1', 'f1'
put 't1', 'r1', 'f1:c1', 'old', 1416300000123
put 't1', 'r1', 'f1:c1', 'value'
put 't1', 'r1', 'f1:c2', 'value'
put 't1', 'r2', 'f2:c', 'value'
incr 't1', 'r1', 'f1:n', 5
snapshot 't1', 's1'
t = get_table 't1'
";

/// The examples of each command's help, with the answers to what it asks.
fn examples_of_help() -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shell/help");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.display().to_string(), Vec::new()));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let (_, examples) = found.last_mut().unwrap();
            if let Some(head) = line.strip_prefix("@command ") {
                found.push((head.to_owned(), Vec::new()));
            } else if let Some(example) = line.trim_start().strip_prefix("hbase> ") {
                examples.push(example.to_owned());
            } else if line == "  y" {
                examples.push("y".to_owned());
            }
        }
    }
    found.retain(|(_, examples)| !examples.is_empty());
    found
}

#[test]
fn every_example_of_every_help_text_works() {
    let commands = examples_of_help();
    assert!(commands.len() >= 50, "{} commands have examples", commands.len());
    let mut wrong = Vec::new();
    for (command, examples) in &commands {
        let said = output(&format!("{BEFORE_EXAMPLES}{}\n", examples.join("\n")));
        let is_wrong = |line: &&str| line.contains("ERROR") || line.contains("Error") || line.contains("ignored");
        if let Some(line) = said.lines().find(is_wrong) {
            wrong.push(format!("{command}: {line}"));
        }
    }
    println!("{} examples of {} commands", commands.iter().map(|(_, e)| e.len()).sum::<usize>(), commands.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
