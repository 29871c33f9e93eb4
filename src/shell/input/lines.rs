//! Lines of input: prompts of pasted sessions taken off, and whether a statement needs more of them.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::sync::LazyLock;

use nix::poll::{PollFd, PollFlags, poll};
use regex::Regex;

use crate::Result;
use crate::shell::registry;

/// Where the shell's lines come from.
pub trait Lines {
    /// The next line. A terminal shows the prompt.
    fn next(&mut self, prompt: &str) -> Result<Line>;
    /// Whether lines are shown as they are read, because no terminal did.
    fn echoes(&self) -> bool;
    /// Whether it may take long until the next line comes.
    fn may_last(&self) -> bool {
        false
    }
    /// Drops lines that were given before the last one has been run.
    fn forget(&mut self) {
        // A script is run to its end.
    }
}

/// What a user gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its end.
    Text(String),
    /// Ctrl-C: what was begun is forgotten.
    Interrupted,
    /// There is no more.
    End,
}

/// Words of Ruby that begin what this language does not have.
const NOT_OFFERED: [&str; 16] = [
    "def",
    "class",
    "module",
    "begin",
    "rescue",
    "retry",
    "redo",
    "return",
    "yield",
    "case",
    "lambda",
    "proc",
    "require",
    "import",
    "java_import",
    "include",
];

/// Those of them that an `end` closes.
const CLOSED_BY_END: [&str; 5] = ["def", "class", "module", "begin", "case"];

/// A word in a text that the grammar has to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopWord {
    /// The `do` of `while`, `until` and `for`, at this byte.
    Do(usize),
    /// A word of Ruby that is none here.
    NotOffered(String),
}

/// The words of a text that the grammar has to be told of, in order.
pub fn loop_words(text: &str) -> Vec<LoopWord> {
    let mut scanner = Scanner::new(text);
    scanner.run();
    scanner.found
}

/// What begins a string.
const QUOTES: [char; 7] = ['\'', '"', '‘', '’', '′', '“', '”'];

/// Deepest nesting in a statement.
const DEEPEST: usize = 64;

/// `hbase(main):001:0> `, `hbase:001:0* `, `hbase> `, also twice, also behind the `+` or `-` of a patch.
static PROMPT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*[-+]?\s*(?:hbase(?:\([\w.:-]*\))?(?::\d+:\d+)?[>*'"]\s*)+"#).ok());

/// The line without the prompt of a pasted session.
pub fn without_prompt(line: &str) -> &str {
    let found = PROMPT.as_ref().and_then(|prompt| prompt.find(line));
    found.map_or(line, |prompt| &line[prompt.end()..])
}

/// The first line of a statement without the `+` or `-` that a patch has before it.
pub fn without_mark(line: &str) -> &str {
    let word =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
    match line.strip_prefix(['+', '-']) {
        Some(rest) if registry::find(&word(rest)).is_some() => rest,
        _ => line,
    }
}

/// How far a text of statements has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Complete,
    /// In a string that this character closes; so many brackets are open.
    InString(char, usize),
    /// The last line asks for more by its end; so many brackets are open.
    Continued(usize),
    /// So many brackets are open.
    Open(usize),
    /// More is nested than the shell reads.
    TooDeep,
}

/// Judges whether a text of statements is complete.
pub fn progress(text: &str) -> Progress {
    if text.matches("#{").count() > DEEPEST {
        return Progress::TooDeep;
    }
    let mut scanner = Scanner::new(text);
    match scanner.run() {
        Some(stopped) => stopped,
        None => {
            let depth = scanner.closers.len();
            let continued = matches!(scanner.last, Some(',' | '\\' | '{' | '[' | '(' | '|' | '+' | '*' | '=' | '&'))
                || text.trim_end().ends_with("=>");
            match (continued, depth) {
                (true, _) => Progress::Continued(depth),
                (false, 0) => Progress::Complete,
                (false, depth) => Progress::Open(depth),
            }
        }
    }
}

struct Scanner<'t> {
    text: &'t str,
    rest: std::iter::Peekable<std::str::CharIndices<'t>>,
    closers: Vec<char>,
    /// Last character that is no blank and in no string.
    last: Option<char>,
    /// `a = b = ...` nests, too.
    assignments: usize,
    /// Whether a statement may begin here.
    at_start: bool,
    /// How many closers there were where a loop began whose `do` has not come.
    header: Option<usize>,
    found: Vec<LoopWord>,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            rest: text.char_indices().peekable(),
            closers: Vec::new(),
            last: None,
            assignments: 0,
            at_start: true,
            header: None,
            found: Vec::new(),
        }
    }

    fn run(&mut self) -> Option<Progress> {
        while let Some((at, c)) = self.rest.next() {
            if QUOTES.contains(&c) && !self.skip_string(c) {
                return Some(Progress::InString(c, self.closers.len()));
            }
            if c.is_alphabetic() || c == '_' {
                self.word(at);
                self.last = Some(c);
                continue;
            }
            match c {
                '#' => while self.rest.next_if(|(_, c)| *c != '\n').is_some() {},
                '(' => self.closers.push(')'),
                '[' => self.closers.push(']'),
                '{' => self.closers.push('}'),
                ')' | ']' | '}' => {
                    // A closer that opens nothing is for the parser to refuse.
                    self.closers.pop();
                }
                _ => {}
            }
            let next = self.rest.peek().map(|(_, c)| *c);
            self.assignments += usize::from(c == '=' && next != Some('>'));
            if self.closers.len() > DEEPEST || self.assignments > DEEPEST {
                return Some(Progress::TooDeep);
            }
            match c {
                '\n' | ';' => (self.at_start, self.header) = (true, None),
                '(' | '{' | '|' | '=' | '!' => self.at_start = true,
                c if c.is_whitespace() || c == '#' => {}
                _ => self.at_start = false,
            }
            if !c.is_whitespace() && c != '#' {
                self.last = Some(c);
            }
        }
        None
    }

    /// Goes behind a word; `do`, `end` and what an `end` closes are brackets.
    fn word(&mut self, at: usize) {
        let mut end = at + self.text[at..].chars().next().map_or(1, char::len_utf8);
        while let Some((at, c)) = self.rest.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
            end = at + c.len_utf8();
        }
        let starts = std::mem::replace(&mut self.at_start, false);
        let (word, next) = (&self.text[at..end], self.text[end..].trim_start_matches([' ', '\t']));
        // A label, a method, a symbol, a variable.
        let is_name = self.text[end..].starts_with([':', '?', '!']) || next.starts_with("= ") || next.starts_with('.');
        match (word, self.last) {
            (_, Some('.' | ':' | '$' | '@')) => {}
            ("end", _) => {
                self.closers.pop();
            }
            _ if is_name => {}
            ("do", _) if self.header == Some(self.closers.len().wrapping_sub(1)) => {
                self.header = None;
                self.found.push(LoopWord::Do(at));
                self.at_start = true;
            }
            ("do", _) => {
                self.closers.push('d');
                self.at_start = true;
            }
            ("then" | "else" | "and" | "or" | "not", _) => self.at_start = true,
            ("while" | "until" | "for", _) if starts => {
                self.header = Some(self.closers.len());
                self.closers.push('e');
            }
            ("if" | "unless", _) if starts => self.closers.push('e'),
            (word, _) if starts && NOT_OFFERED.contains(&word) => {
                self.found.push(LoopWord::NotOffered(word.to_owned()));
                if CLOSED_BY_END.contains(&word) {
                    self.closers.push('e');
                }
            }
            _ => {}
        }
    }

    /// Goes behind the closing quote; false if there is none.
    fn skip_string(&mut self, opener: char) -> bool {
        while let Some((_, c)) = self.rest.next() {
            let closes = match opener {
                '\'' | '"' => c == opener,
                '“' | '”' => matches!(c, '“' | '”' | '"'),
                _ => matches!(c, '‘' | '’' | '′' | '\''),
            };
            if closes {
                return true;
            }
            if c == '\\' && matches!(opener, '\'' | '"' | '“' | '”') {
                self.rest.next();
            }
        }
        false
    }
}

/// A script: a file, standard input, the texts of `-e`.
pub struct Script<R> {
    reader: BufReader<R>,
    name: String,
    echo: Echo,
    /// Whether more can be read of the source now, or in a moment.
    is_ready: fn(&R) -> bool,
}

/// Whether a session shows what it reads, as HBase's shell does of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Shown,
    Silent,
}

impl<R: Read> Script<R> {
    /// Lines of `reader`; `name` is what errors call it.
    pub fn new(reader: R, name: impl Into<String>, echo: Echo) -> Self {
        Self { reader: BufReader::new(reader), name: name.into(), echo, is_ready: |_| true }
    }
}

impl<R: Read + AsFd> Script<R> {
    /// As [`Script::new`], of a source whose lines may come slowly.
    pub fn awaited(reader: R, name: impl Into<String>, echo: Echo) -> Self {
        Self { is_ready: is_ready_soon, ..Self::new(reader, name, echo) }
    }
}

/// Whether a source has something to read, or its end, within a moment.
fn is_ready_soon(source: &impl AsFd) -> bool {
    /// Milliseconds.
    const MOMENT: u8 = 100;
    let mut asked = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
    // What cannot be asked is read.
    !matches!(poll(&mut asked, MOMENT), Ok(0))
}

impl<R: Read> Lines for Script<R> {
    fn next(&mut self, _prompt: &str) -> Result<Line> {
        let mut bytes = Vec::new();
        let read = self.reader.read_until(b'\n', &mut bytes);
        let count = read.map_err(|e| crate::Error::io(format!("read {}", self.name), &e))?;
        if count == 0 {
            return Ok(Line::End);
        }
        let line = String::from_utf8_lossy(&bytes);
        Ok(Line::Text(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    fn echoes(&self) -> bool {
        self.echo == Echo::Shown
    }

    fn may_last(&self) -> bool {
        self.reader.buffer().is_empty() && !(self.is_ready)(self.reader.get_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_taken_off() {
        for line in [
            "hbase(main):001:0> list",
            "hbase> hbase> list",
            "-hbase(main):001:0> list",
            "+hbase> list",
            "hbase:012:0> list",
            "list",
        ] {
            assert_eq!(without_prompt(line), "list", "{line}");
        }
        assert_eq!(without_prompt("hbase_list"), "hbase_list");
        for (line, wanted) in [("+scan 't'", "scan 't'"), ("-list", "list"), ("-5 + 3", "-5 + 3"), ("+x", "+x")] {
            assert_eq!(without_mark(line), wanted);
        }
    }

    #[test]
    fn open_brackets_strings_and_commas_ask_for_more() {
        assert_eq!(progress("scan 't1', {LIMIT => 1} # it's"), Progress::Complete);
        assert_eq!(progress("scan 't1"), Progress::InString('\'', 0));
        assert_eq!(progress("scan 't1', {"), Progress::Continued(1));
        assert_eq!(progress("scan 't1', {\nLIMIT => 1\n"), Progress::Open(1));
        assert_eq!(progress("put 't',\n"), Progress::Continued(0));
        assert_eq!(progress("get ‘t1′, 'r'"), Progress::Complete);
        assert_eq!(progress(r#"put "a\"b""#), Progress::Complete);
        assert_eq!(progress("[1].each do |i|\nputs i"), Progress::Open(1));
        assert_eq!(progress("[1].each do |i|\nputs i\nend"), Progress::Complete);
        assert_eq!(progress(&"[".repeat(100)), Progress::TooDeep);
    }
}
