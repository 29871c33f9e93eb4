//! The shell against a recorded session of HBase's own, against examples of documents, and through a pipe.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use cellfs::backend::Backend;
use cellfs::shell::{Echo, End, Form, OnError, Printer, Script, Session};
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

/// Statements of Ruby, and what they print.
const RUBY: &[(&str, &str)] = &[
    ("for i in 1..3 do puts i end", "1\n2\n3\n"),
    ("for i in [1, 2]\n  print i, ' '\nend\nputs", "1 2 \n"),
    ("if 1 > 2\n  puts 'a'\nelsif 2 == 2\n  puts 'b'\nelse\n  puts 'c'\nend", "b\n"),
    ("unless false then puts 'x' end", "x\n"),
    ("i = 0\nwhile i < 3 do\n  i += 1\n  next if i == 2\n  puts i\nend", "1\n3\n"),
    ("i = 5\nuntil i == 3\n  i -= 1\nend\nputs i", "3\n"),
    ("loop do\n  puts 'once'\n  break\nend", "once\n"),
    ("10.times { |i| break if i > 1; puts i }", "0\n1\n"),
    ("x = 3\nputs 'odd' if x.odd? and not x == 5", "odd\n"),
    ("puts(1 > 2 ? 'yes' : 'no')", "no\n"),
    ("puts (1..5).select { |n| n.even? }.join(',')", "2,4\n"),
    ("puts 'row%05d' % 7, format('%-4s|', 'ab'), 'a'.rjust(3, '0')", "row00007\nab  |\n00a\n"),
    ("puts 'Com.Example'.downcase.split('.').reverse.join('.')", "example.com\n"),
    ("puts 'abc'[1], 'abc'[0..1], 'abc'.include?('bc'), 'abc'.sub('b', 'x')", "b\nab\ntrue\naxc\n"),
    ("puts 'abcdef'[1, 3], [1, 2, 3][-2, 2].join, 'abc'.slice(1, 9)", "bcd\n23\nbc\n"),
    ("a = []\na << 1 << 2 if false\na << 3\nputs a.size", "1\n"),
    ("h = {}\nh['k'] = 1\nh['k'] += 1\nputs h['k'], h.key?('z')", "2\nfalse\n"),
    ("%w[a b].each_with_index { |row, at| puts \"#{row}#{at}\" }", "a0\nb1\n"),
    ("n ||= 4\nn ||= 5\nputs n, 2 ** 10, !n.nil?", "4\n1024\ntrue\n"),
    (
        "puts Time.at(0).utc.strftime('%Y-%m-%d'), Time.now.to_i > 1_700_000_000, Time.now - Time.now < 5",
        "1970-01-01\ntrue\ntrue\n",
    ),
    ("3.downto(1) { |i| print i }\nputs", "321\n"),
];

#[test]
fn shell_runs_ruby_as_people_script_it() {
    let directory = tempfile::tempdir().unwrap();
    let backend = store(directory.path());
    for (statements, wanted) in RUBY {
        let mut out = Vec::new();
        let lines = Script::new(Cursor::new(statements.as_bytes()), "the test", Echo::Silent);
        let printer = Printer::new(Box::new(&mut out), None).in_form(Form::Quiet);
        Session::new(Arc::clone(&backend), Box::new(lines), printer, OnError::Continue).run().unwrap();
        assert_eq!(String::from_utf8_lossy(&out), *wanted, "{statements}");
    }
}

#[test]
fn shell_names_what_it_does_not_offer() {
    for (statements, word) in [
        ("def f(x)\n  x + 1\nend\n", "`def` is not offered"),
        ("case 1\nwhen 1 then puts 2\nend\n", "`case` is not offered"),
        ("import org.apache.hadoop.hbase.util.Bytes\n", "`import` is not offered"),
        ("begin\n  list\nrescue => e\nend\n", "`begin` is not offered"),
        ("java.lang.System.currentTimeMillis\n", "Java's classes are not offered"),
        ("break\n", "LocalJumpError"),
    ] {
        let text = output(&format!("{statements}puts 'after'\n"));
        assert!(text.contains(word) && text.ends_with("after\n"), "{statements}: {text}");
        assert_eq!(text.matches("Error").count(), 1, "{statements}: {text}");
    }
}

#[test]
fn shell_refuses_attributes_that_nobody_knows() {
    for (statement, of) in [
        ("create 't', {NAME => 'f', 'VERSION' => 3}", "a column family"),
        ("create 't', 'f', {'OWNR' => 'me'}", "a table"),
        ("create 'old', 'f'\nalter 'old', 'OWNR' => 'me'", "a table"),
        ("create 'old', 'f'\nalter 'old', {NAME => 'f', 'VERSION' => 3}", "a column family"),
    ] {
        let text = output(&format!("{statement}\nexists 't'\n"));
        assert!(text.contains(&format!("is not an attribute of {of}")), "{statement}: {text}");
        assert!(text.contains("Table t does not exist") && !text.contains("ignored"), "{statement}: {text}");
    }
}

/// Statements that follow in one millisecond where nothing holds them back, and what the table `lw` has then.
pub const QUICK: &str = "\
create 'lw', {NAME => 'f', VERSIONS => 5}
200.times { |i| put 'lw', \"r#{i}\", 'f:q', 'old'; deleteall 'lw', \"r#{i}\"; put 'lw', \"r#{i}\", 'f:q', 'new' }
3.times { |i| put 'lw', 'v', 'f:q', i }
put 'lw', 'v', 'f:a', 'x'; deleteall 'lw', 'v', 'f:a'; append 'lw', 'v', 'f:a', 'y'
put 'lw', 'v', 'f:b', 'x'; deleteall 'lw', {ROWPREFIXFILTER => 'w'}; deleteall 'lw', 'v', 'f:b'; incr 'lw', 'v', 'f:b'
put 'lw', 'w', 'f:q', 'x'; deleteall 'lw', {ROWPREFIXFILTER => 'w'}; put 'lw', 'w', 'f:q', 'z'
count 'lw', {STARTROW => 'r', STOPROW => 's'}
scan 'lw', {STARTROW => 'v', VERSIONS => 5}
";

/// Whether the output of [`QUICK`], with `-q`, tells of all that was acknowledged.
pub fn check_quick(said: &str) {
    assert!(said.contains("200 row(s)") && said.contains("COUNTER VALUE = 1"), "{said}");
    let of = |column: &str| said.lines().filter(|line| line.contains(&format!("column=f:{column},"))).count();
    assert_eq!((of("q"), of("a"), of("b")), (4, 1, 1), "{said}");
    assert!(said.contains("value=y\n") && said.contains("value=z\n"), "{said}");
}

#[test]
fn shell_changes_a_row_once_a_millisecond() {
    let began = std::time::Instant::now();
    check_quick(&output(QUICK));
    let script = "create 't', 'f'\n20_000.times { |i| put 't', \"r#{i}\", 'f:q', 'v' }\ncount 't'\n";
    let (rows, others) = (began.elapsed(), std::time::Instant::now());
    assert!(output(script).contains("20000 row(s)"));
    println!("{rows:?}, and {:?} for 20,000 rows", others.elapsed());
    assert!(others.elapsed().as_secs() < 20, "rows wait for others: {:?}", others.elapsed());
}

/// What is in the table `cr` of [`ASKED`].
pub const BEFORE_ASKED: &str = "\
create 'cr', {NAME => 'f', VERSIONS => 3}, 'g'
put 'cr', 'q', 'f:a', '0'
put 'cr', 'r', 'f:a', '1'
put 'cr', 'r', 'f:b', '2'
put 'cr', 'r', 'g:c', '3'
put 'cr', 's', 'f:a', '4'
";

/// Statements, and the values that HBase's shell shows for each, or the number that it counts.
pub const ASKED: &[(&str, &str)] = &[
    ("scan 'cr', {STARTROW => 'r', STOPROW => 'r'}", "123"),
    ("scan 'cr', {STARTROW => 'r', STOPROW => 'r', REVERSED => true}", "123"),
    ("scan 'cr', {STARTROW => 'rr', STOPROW => 'rr'}", ""),
    ("scan 'cr', {STARTROW => '', STOPROW => ''}", "01234"),
    ("scan 'cr', {STARTROW => 'q', STOPROW => 'q', ROWPREFIXFILTER => 'r'}", "123"),
    ("count 'cr', {STARTROW => 'r', STOPROW => 'r'}", "1"),
    ("count 'cr', {STARTROW => 'rr', STOPROW => 'rr'}", "0"),
    ("scan 'cr', {COLUMNS => ['f', 'f:a']}", "014"),
    ("scan 'cr', {COLUMNS => ['f:a', 'f']}", "0124"),
    ("scan 'cr', {COLUMNS => ['f:a', 'f', 'f:b']}", "2"),
    ("get 'cr', 'r', 'f', 'f:a'", "1"),
    ("get 'cr', 'r', ['f', 'f:a', 'g']", "13"),
    ("get 'cr', 'r', 'f:a', 'f'", "12"),
    ("get 'cr', 'r', {COLUMN => ['f', 'f:a']}", "1"),
    ("get 'cr', 'r', {FILTER => \"ColumnRangeFilter('a', false, '', false)\"}", "23"),
    ("get 'cr', 'r', {FILTER => \"ColumnRangeFilter('', true, '', true)\"}", "123"),
    ("get 'cr', 'r', {FILTER => \"ColumnRangeFilter('', false, 'b', true)\"}", "12"),
    ("scan 'cr', {FILTER => \"ColumnRangeFilter('', false, 'b', false)\"}", "014"),
];

/// The values and numbers that a session with `--json` tells of.
pub fn told(said: &str) -> String {
    let value = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(object["error"].is_null(), "{line}");
        match &object["value"] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            other => panic!("{other}: {line}"),
        }
    };
    said.lines().map(value).collect()
}

#[test]
fn shell_finds_the_rows_and_columns_that_hbases_does() {
    let directory = tempfile::tempdir().unwrap();
    let backend = store(directory.path());
    session(&backend, BEFORE_ASKED, Echo::Silent, OnError::Stop);
    for (statement, wanted) in ASKED {
        let mut out = Vec::new();
        let lines = Script::new(Cursor::new(statement.as_bytes()), "the test", Echo::Silent);
        let printer = Printer::new(Box::new(&mut out), None).in_form(Form::Json);
        Session::new(Arc::clone(&backend), Box::new(lines), printer, OnError::Continue).run().unwrap();
        assert_eq!(told(&String::from_utf8(out).unwrap()), *wanted, "{statement}");
    }
}

/// What sets a TTL that HBase has no number for.
pub const TOO_LONG: &[&str] = &[
    "create 'tt', {NAME => 'f', TTL => '100000 DAYS'}",
    "create 'tt', {NAME => 'f', TTL => 3000000000}",
    "create 'tt', {NAME => 'f', TTL => '3000000000'}",
    "create 'tt', {NAME => 'f', TTL => '99999999999999999999'}",
    "create 'tt', {NAME => 'f', METADATA => {'TTL' => '2147483648'}}",
    "alter 'told', {NAME => 'f', TTL => 2147483648}",
    "alter 'told', NAME => 'g', TTL => '100000 DAYS'",
];

#[test]
fn shell_refuses_a_ttl_that_hbase_has_no_number_for() {
    let directory = tempfile::tempdir().unwrap();
    let backend = store(directory.path());
    session(&backend, "create 'told', {NAME => 'f', TTL => 60}", Echo::Silent, OnError::Stop);
    for statement in TOO_LONG {
        let (_, end) = session(&backend, statement, Echo::Silent, OnError::Stop);
        let End::Failed(said) = &end else { panic!("{statement}: {end:?}") };
        assert!(said.contains("TTL is at most 2147483647 seconds (68 years), or FOREVER"), "{statement}: {said}");
    }
    let script = "describe 'told'\nexists 'tt'\ncreate 'most', {NAME => 'f', TTL => 2147483647}\ndescribe 'most'\n";
    let (said, _) = session(&backend, script, Echo::Silent, OnError::Stop);
    assert!(said.contains("TTL => '60 SECONDS (1 MINUTE)'") && said.contains("Table tt does not exist"), "{said}");
    assert!(said.contains("TTL => 'FOREVER'") && !said.contains("NAME => 'g'"), "{said}");
}

/// Runs the program with a script on its input; output and status.
fn piped(directory: &Path, arguments: &[&str], script: &str) -> (String, Option<i32>) {
    let mut command = Command::new(binary());
    command.args(arguments).arg(directory.join("store")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It may have ended before it read.
    let _ = child.stdin.take().unwrap().write_all(script.as_bytes());
    let done = child.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (String::from_utf8(said).unwrap(), done.status.code())
}

#[test]
fn shell_makes_no_store_of_a_mistyped_path() {
    let directory = tempfile::tempdir().unwrap();
    let (said, status) = piped(directory.path(), &["shell"], "list\n");
    assert!(status == Some(2) && said.contains("store"), "{said}");
    assert!(!directory.path().join("store").exists());
    assert_eq!(piped(directory.path(), &["shell", "--make"], "list\n").1, Some(0));
    assert!(directory.path().join("store").exists());
}

#[test]
fn shell_prints_less_or_json() {
    let directory = tempfile::tempdir().unwrap();
    let script = "create 't', 'f'\nput 't', 'r', 'f:q', \"v\\xFF\", 5\nscan 't'\nget 'no', 'r'\ncount 't'\nnonsense\n";
    let (said, status) = piped(directory.path(), &["shell", "-q", "--make"], script);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("column=f:q") && said.contains("ERROR: Unknown table no!"), "{said}");
    assert!(!said.contains("Took") && !said.contains("hbase:") && !said.contains("=> "), "{said}");
    let (said, status) = piped(directory.path(), &["--json", "shell"], script);
    assert_eq!(status, Some(0), "{said}");
    let objects: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cell = objects.iter().find(|object| object["row"] == "r").unwrap();
    assert_eq!((&cell["timestamp"], &cell["value"]["base64"]), (&5.into(), &"dv8=".into()));
    assert!(objects.iter().any(|object| object["command"] == "count" && object["value"] == 1), "{said}");
    assert!(
        objects.iter().any(|object| object["command"] == "get" && object["error"] == "Unknown table no!"),
        "{said}"
    );
    assert!(objects.last().unwrap()["error"].as_str().unwrap().starts_with("NameError"), "{said}");
}

/// What is printed between commands is a line of its own, whatever it ends with.
#[test]
fn shell_prints_json_alone() {
    let directory = tempfile::tempdir().unwrap();
    let script = "create 't', 'f'\nprint 'y'\ncount 't'\n2.times { |i| puts i; put 't', 'r', 'f:q', i }\nputs 'a', \"b\\nc\"\n\
                  p 'q'\nprintf('%d', 7); list\nhelp 'count'\nprint 'end'; exit\n";
    let (said, status) = piped(directory.path(), &["--json", "shell", "--make"], script);
    assert_eq!(status, Some(0), "{said}");
    let objects: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |object: &serde_json::Value| match object.get("command") {
        Some(command) => command.as_str().unwrap().to_owned(),
        None => object["output"][0].as_str().unwrap().to_owned(),
    };
    let told: Vec<String> = objects.iter().map(told).collect();
    let (wanted, rest) = told.split_at(12);
    assert_eq!(wanted, ["create", "y", "count", "0", "put", "1", "put", "a", "b", "\"q\"", "7", "list"], "{said}");
    assert_eq!(objects[8]["output"].as_array().unwrap().len(), 2, "{said}");
    assert_eq!(rest.last().unwrap(), "end", "{said}");
}

/// A session at a terminal, which `script` of util-linux makes; `None` where that is missing.
struct AtTerminal {
    child: std::process::Child,
    out: std::fs::File,
    said: String,
    /// Where the exit status of `cellfs` is written. `script` passes on neither that nor the last words for certain.
    status: PathBuf,
}

impl AtTerminal {
    fn start(store: &Path) -> Option<Self> {
        Command::new("script").arg("--version").stdout(Stdio::null()).status().ok()?;
        let status = store.parent()?.join("status");
        // Ctrl-C goes to the shell around it too: one without a trap (dash; bash goes on) would end then.
        let program = format!("trap : INT; {} shell --make {}", binary().display(), store.display());
        let command = format!("{program}; echo $? >{}", status.display());
        let mut script = Command::new("script");
        script.args(["-q", "-c", &command, "/dev/null"]).env("SHELL", "/bin/sh");
        script.env("TERM", "xterm").env("HOME", store.parent()?);
        let mut child =
            script.env_remove("XDG_STATE_HOME").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let out = std::os::fd::OwnedFd::from(child.stdout.take()?);
        Some(Self { child, out: out.into(), said: String::new(), status })
    }

    fn send(&mut self, keys: &str) {
        let mut input = self.child.stdin.as_ref().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Reads until the words have come; what came since the last words.
    fn until(&mut self, words: &str) -> String {
        use std::io::Read;
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.said.find(words) {
                let rest = self.said.split_off(at + words.len());
                return std::mem::replace(&mut self.said, rest);
            }
            let len = self.out.read(&mut buffer).unwrap_or(0);
            assert!(len > 0, "{words:?} did not come: {}", self.said);
            self.said.push_str(&String::from_utf8_lossy(&buffer[..len]));
        }
    }

    /// The exit status of `cellfs`, which has been told to end.
    fn ended(&mut self) -> String {
        std::io::copy(&mut self.out, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap();
        std::fs::read_to_string(&self.status).unwrap().trim().to_owned()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn shell_at_a_terminal_drops_what_ctrl_c_ends() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut terminal) = AtTerminal::start(&directory.path().join("store")) else {
        println!("skipped: script(1), which makes a terminal, is missing");
        return;
    };
    terminal.until("hbase:001:0> ");
    terminal.send("create 't1', 'f'\r");
    terminal.until("hbase:002:0> ");
    // A statement that was begun: the line after it is one of its own.
    terminal.send("put 't1', 'r', {\r");
    terminal.until("hbase:003:1* ");
    terminal.send("\x03");
    terminal.until("hbase:003:0> ");
    terminal.send("puts 'my' + 'self'\r");
    terminal.until("myself");
    terminal.until(":0> ");
    // What runs ends, and the session goes on.
    terminal.send("loop { sleep 0.01 }\r");
    terminal.until("}");
    std::thread::sleep(std::time::Duration::from_millis(200));
    terminal.send("\x03");
    terminal.until("Interrupted");
    terminal.until(":0> ");
    // Candidates are listed.
    terminal.send("desc\t\t");
    terminal.until("describe_namespace");
    terminal.until(":0> desc");
    terminal.send("\x03");
    terminal.until(":0> ");
    terminal.send("exit\r");
    assert_eq!(terminal.ended(), "0");
}

#[test]
fn shell_at_a_terminal_lets_others_have_the_store_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let Some(mut terminal) = AtTerminal::start(&store) else {
        println!("skipped: script(1), which makes a terminal, is missing");
        return;
    };
    terminal.until("hbase:001:0> ");
    terminal.send("create 't1', 'f'\r");
    terminal.until("hbase:002:0> ");
    let began = std::time::Instant::now();
    let put =
        Command::new(binary()).arg("put").arg(&store).args(["t1", "r", "f:q", "from elsewhere"]).output().unwrap();
    assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    assert!(began.elapsed().as_secs() < 4, "it waited for the lock");
    terminal.send("get 't1', 'r'\r");
    terminal.until("value=from elsewhere");
    terminal.until("hbase:003:0> ");
    // Names are completed, and the store is free again after that.
    terminal.send("get 't1\t");
    terminal.until("get 't1");
    // A mount takes it over, and serves the session.
    let mount = directory.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    let mounted = Command::new(binary()).arg("mount").arg(&store).arg(&mount).stdin(Stdio::null()).output().unwrap();
    assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
    let cell = mount.join("default/t1/r/f/q");
    std::fs::write(&cell, "from the mount").unwrap();
    terminal.send("', 'r'\r");
    terminal.until("value=from the mount");
    terminal.until(":0> ");
    terminal.send("put 't1', 'r', 'f:q', 'from the shell'\r");
    terminal.until("Took");
    terminal.until(":0> ");
    let read = std::fs::read_to_string(&cell);
    let ended = Command::new(binary()).arg("umount").arg(&mount).status().unwrap();
    assert!(ended.success());
    assert_eq!(read.unwrap(), "from the shell");
    terminal.send("get 't1', 'r'\r");
    terminal.until("value=from the shell");
    terminal.send("exit\r");
    assert_eq!(terminal.ended(), "0");
}

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cellfs"))
}

#[test]
fn the_program_reads_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(binary())
        .args(["shell", "--make", "-n"])
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
        Command::new(binary()).args(["shell", "--make"]).arg(store).args(arguments).output().unwrap()
    };
    let done = run(&["-e", "create 't', 'f'", "-e", "put 'nosuch', 'r', 'f:q', 'v'", "-e", "list"]);
    assert_eq!(done.status.code(), Some(1), "a statement has failed");
    assert_eq!(run(&["-e", "list"]).status.code(), Some(0));
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
        // What only a cluster does is tried on one: cluster/regions.rs.
        let is_of_clusters = |line: &str| line.contains("it is about the servers of a cluster");
        let is_wrong =
            |line: &&str| ["ERROR", "Error", "ignored"].iter().any(|word| line.contains(word)) && !is_of_clusters(line);
        if let Some(line) = said.lines().find(is_wrong) {
            wrong.push(format!("{command}: {line}"));
        }
    }
    println!("{} examples of {} commands", commands.iter().map(|(_, e)| e.len()).sum::<usize>(), commands.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The families that an `alter` has added while a `truncate` was under way.
#[test]
fn shell_truncates_a_table_without_undoing_an_alter() {
    let directory = tempfile::tempdir().unwrap();
    let backend = store(directory.path());
    session(&backend, "create 't', 'f', SPLITS => ['m']", Echo::Silent, OnError::Stop);
    let altered: String = (0..150).map(|n| format!("alter 't', 'f{n}'\n")).collect();
    let other = Arc::clone(&backend);
    let altering = std::thread::spawn(move || session(&other, &altered, Echo::Silent, OnError::Stop).1);
    while !altering.is_finished() {
        let (said, end) = session(&backend, "truncate 't'", Echo::Silent, OnError::Stop);
        assert_eq!(end, End::Status(0), "{said}");
    }
    assert_eq!(altering.join().unwrap(), End::Status(0));
    let catalogue = backend.catalogue().unwrap();
    let table = catalogue.tables.values().find(|table| &*table.name.name == "t").unwrap();
    assert_eq!(table.families.len(), 151);
    assert!(!table.configuration.keys().any(|key| key.contains("SPLIT")), "{:?}", table.configuration);
}

/// Lines that came at once, as from a paste or from fast fingers: the terminal gives them in one piece.
#[test]
fn every_line_that_was_typed_ahead_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let backend = store(directory.path());
    session(&backend, "create 't', 'f'", Echo::Silent, OnError::Stop);
    drop(backend);
    let shell = format!("{} shell {}", env!("CARGO_BIN_EXE_cellfs"), directory.path().join("store").display());
    let mut terminal = Command::new("script");
    terminal.args(["-qefc", &shell, "/dev/null"]).env("TERM", "xterm").env("HOME", directory.path());
    terminal.env_remove("XDG_STATE_HOME").stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut terminal) = terminal.spawn() else { return println!("script(1) is missing") };
    let mut lines = String::new();
    for n in 0..5 {
        lines.push_str(&format!("put 't', 'r{n}', 'f:q', 'v'\n"));
    }
    lines.push_str("3.times do |i|\nput 't', \"s#{i}\", 'f:q', 'v'\nend\nexit\n");
    let mut input = terminal.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    let output = terminal.wait_with_output().unwrap();
    drop(input);
    let (counted, _) = session(&store(directory.path()), "count 't'", Echo::Silent, OnError::Stop);
    assert!(counted.contains("8 row(s)"), "{counted}: {}", String::from_utf8_lossy(&output.stdout));
}
