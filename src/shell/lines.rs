//! Lines of input: prompts of pasted sessions taken off, and whether a statement needs more of them.

use std::sync::LazyLock;

use regex::Regex;

use crate::Result;

/// Where the shell's lines come from.
pub trait Lines {
    /// The next line without its end; `None` at the end of the input. A terminal shows the prompt.
    fn next(&mut self, prompt: &str) -> Result<Option<String>>;
    /// Whether lines are shown as they are read, because no terminal did.
    fn echoes(&self) -> bool;
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
    let mut scanner = Scanner { rest: text.chars().peekable(), closers: Vec::new(), last: None, assignments: 0 };
    match scanner.run() {
        Some(stopped) => stopped,
        None => {
            let depth = scanner.closers.len();
            let continued = matches!(scanner.last, Some(',' | '\\' | '{' | '[' | '(' | '|' | '+' | '*' | '='))
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
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    closers: Vec<char>,
    /// Last character that is no blank and in no string.
    last: Option<char>,
    /// `a = b = ...` nests, too.
    assignments: usize,
}

impl Scanner<'_> {
    fn run(&mut self) -> Option<Progress> {
        while let Some(c) = self.rest.next() {
            if QUOTES.contains(&c) && !self.skip_string(c) {
                return Some(Progress::InString(c, self.closers.len()));
            }
            if c.is_alphabetic() || c == '_' {
                self.word(c);
            }
            match c {
                '#' => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '(' => self.closers.push(')'),
                '[' => self.closers.push(']'),
                '{' => self.closers.push('}'),
                ')' | ']' | '}' => {
                    // A closer that opens nothing is for the parser to refuse.
                    self.closers.pop();
                }
                _ => {}
            }
            self.assignments += usize::from(c == '=' && self.rest.peek() != Some(&'>'));
            if self.closers.len() > DEEPEST || self.assignments > DEEPEST {
                return Some(Progress::TooDeep);
            }
            if !c.is_whitespace() && c != '#' {
                self.last = Some(c);
            }
        }
        None
    }

    /// Goes behind a word; `do` and `end` are brackets.
    fn word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        match (word.as_str(), self.last) {
            (_, Some('.' | ':')) => {}
            ("do", _) => self.closers.push('d'),
            ("end", _) => {
                self.closers.pop();
            }
            _ => {}
        }
    }

    /// Goes behind the closing quote; false if there is none.
    fn skip_string(&mut self, opener: char) -> bool {
        while let Some(c) = self.rest.next() {
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
    reader: R,
    name: String,
    echo: Echo,
}

/// Whether a session shows what it reads, as HBase's shell does of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Shown,
    Silent,
}

impl<R: std::io::BufRead> Script<R> {
    /// Lines of `reader`; `name` is what errors call it.
    pub fn new(reader: R, name: impl Into<String>, echo: Echo) -> Self {
        Self { reader, name: name.into(), echo }
    }
}

impl<R: std::io::BufRead> Lines for Script<R> {
    fn next(&mut self, _prompt: &str) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self.reader.read_until(b'\n', &mut bytes);
        let count = read.map_err(|e| crate::Error::io(format!("read {}", self.name), &e))?;
        if count == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&bytes);
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    fn echoes(&self) -> bool {
        self.echo == Echo::Shown
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
