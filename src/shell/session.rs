//! A session: reads statements, runs them, prints what they yield, as HBase's shell (irb) does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jiff::tz::TimeZone;
use serde_json::json;

use super::commands;
use super::failure::{Failure, Outcome, words};
use super::lease::Lease;
use super::lines::{Line, Lines, Progress, progress, without_mark, without_prompt};
use super::parse::parse;
use super::print::{Form, Printer};
use super::registry::Entry;
use super::value::Value;
use crate::backend::Backend;

/// Most lines of one statement: a quote that was left open does not swallow a long script.
const MOST_LINES: u32 = 2_000;

/// What an error does to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// It is printed, and the session goes on.
    Show,
    /// The same, and its status will be 1.
    Continue,
    /// It ends the session with status 1 (`-n`).
    Stop,
}

/// One user's session on one store.
pub struct Session<'o> {
    lease: Lease,
    pub(super) printer: Printer<'o>,
    pub(super) variables: BTreeMap<String, Value>,
    /// Timestamps are shown in it.
    pub(super) zone: TimeZone,
    lines: Box<dyn Lines + 'o>,
    on_error: OnError,
    /// Lines read so far.
    line: u64,
    /// Set by Ctrl-C: what runs ends.
    pub(super) interrupt: Arc<AtomicBool>,
    /// The status with the input's end: 1 once a statement has failed.
    status: u8,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// By `exit`, or with the input; the status.
    Status(u8),
    /// By an error, under [`OnError::Stop`].
    Failed(String),
}

/// What the loop read.
enum Read {
    Statement(String),
    Refused(String),
    End,
}

impl<'o> Session<'o> {
    /// A session on `backend` that reads `lines` and prints to `printer`.
    pub fn new(backend: Arc<dyn Backend>, lines: Box<dyn Lines + 'o>, printer: Printer<'o>, on_error: OnError) -> Self {
        Self::on(Lease::kept(backend), lines, printer, on_error)
    }

    /// As [`Session::new`], on a store that others may have meanwhile.
    pub fn on(lease: Lease, lines: Box<dyn Lines + 'o>, printer: Printer<'o>, on_error: OnError) -> Self {
        let zone = TimeZone::system();
        let interrupt = Arc::default();
        Self { lease, printer, variables: BTreeMap::new(), zone, lines, on_error, line: 0, interrupt, status: 0 }
    }

    /// The store.
    pub(super) fn backend(&self) -> crate::Result<Arc<dyn Backend>> {
        self.lease.get()
    }

    /// Ends what runs when the flag is set, and takes it back.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Arc<AtomicBool>) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Shows timestamps in another time zone than this machine's.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Says what this is, for a person at a terminal.
    pub fn greet(&mut self) -> crate::Result<()> {
        let text = format!(
            "The HBase shell's language on a cellfs store\nUse \"help\" to get list of supported commands.\n\
             Use \"exit\" to quit this interactive shell.\nVersion {}\n",
            commands::version_text()
        );
        match self.printer.line(&text).and_then(|()| self.printer.flush()) {
            Err(Failure::Output(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs until `exit`, the end of the input, or an error that ends it.
    pub fn run(&mut self) -> crate::Result<End> {
        loop {
            let done = self.step();
            match done {
                Ok(true) => {}
                Ok(false) => return self.ended(End::Status(self.status)),
                Err(Failure::Exit(status)) => return self.ended(End::Status(status)),
                Err(Failure::Stopped(text)) => return self.ended(End::Failed(text)),
                Err(Failure::Output(error) | Failure::Store(error)) => return Err(error),
                Err(Failure::Refused(text) | Failure::Ruby(_, text)) => return self.ended(End::Failed(text)),
                Err(Failure::Jump(_) | Failure::Interrupted) => {}
            }
        }
    }

    fn ended(&mut self, end: End) -> crate::Result<End> {
        match self.printer.flush() {
            Err(Failure::Output(error)) => Err(error),
            _ => Ok(end),
        }
    }

    /// Reads and runs one statement; false at the end of the input.
    fn step(&mut self) -> Outcome<bool> {
        let text = match self.read()? {
            Read::End => {
                if self.lines.echoes() {
                    self.printer.line("")?;
                }
                return Ok(false);
            }
            Read::Refused(text) => return self.ruby_error("SyntaxError", &text).map(|()| true),
            Read::Statement(text) => text,
        };
        self.interrupt.store(false, Ordering::Release);
        match self.evaluate(&text) {
            Ok(Value::Nil) => {}
            Ok(_) if self.printer.form() != Form::Full => {}
            Ok(value) => self.printer.line(&format!("=> {}", value.inspect()))?,
            Err(Failure::Ruby(class, message)) => self.ruby_error(class, &message)?,
            Err(Failure::Refused(message)) => self.ruby_error("RuntimeError", &message)?,
            Err(Failure::Store(error)) => self.ruby_error("IOError", &words(&error, ""))?,
            Err(Failure::Jump(_)) => self.ruby_error("LocalJumpError", "break and next are for loops and blocks")?,
            Err(Failure::Interrupted) => {
                self.lines.forget();
                self.printer.said();
                self.printer.line("Interrupted")?;
            }
            Err(other) => return Err(other),
        }
        self.printer.flush()?;
        Ok(true)
    }

    fn evaluate(&mut self, text: &str) -> Outcome<Value> {
        let statements = parse(text).map_err(|message| {
            let line = self.line;
            Failure::Ruby("SyntaxError", format!("(hbase):{line}: {message}"))
        })?;
        let mut last = Value::Nil;
        for statement in &statements {
            last = self.value_of(statement)?;
        }
        Ok(last)
    }

    /// A statement has failed: whether the session goes on.
    fn failed(&mut self, text: impl FnOnce() -> String) -> Outcome<()> {
        match self.on_error {
            OnError::Stop => return Err(Failure::Stopped(text())),
            OnError::Continue => self.status = 1,
            OnError::Show => {}
        }
        Ok(())
    }

    fn ruby_error(&mut self, class: &str, message: &str) -> Outcome<()> {
        self.failed(|| format!("{class}: {message}"))?;
        if self.printer.form() == Form::Json {
            self.printer.said();
            return self.printer.json(&json!({ "error": format!("{class}: {message}") }));
        }
        self.printer.line("Traceback (most recent call last):")?;
        self.printer.line(&format!("{class} ({message})"))
    }

    /// Reads lines until they make a statement.
    fn read(&mut self) -> Outcome<Read> {
        let mut text = String::new();
        let mut state = Progress::Complete;
        let mut count = 0;
        loop {
            self.printer.flush()?;
            let prompt = self.prompt(state);
            let echoes = self.lines.echoes();
            if echoes {
                self.printer.text(&prompt)?;
                self.printer.flush()?;
            }
            if text.is_empty() && self.lines.may_last() {
                self.lease.give_way();
            }
            let line = match self.lines.next(&prompt).map_err(Failure::Output)? {
                Line::Text(line) => line,
                Line::Interrupted => {
                    (text, state, count) = (String::new(), Progress::Complete, 0);
                    continue;
                }
                Line::End if text.trim().is_empty() => return Ok(Read::End),
                Line::End => return Ok(Read::Refused("unexpected end-of-input".into())),
            };
            self.line += 1;
            count += 1;
            if echoes {
                self.printer.line(&line)?;
            }
            if count > MOST_LINES {
                return Ok(Read::Refused(format!("a statement has more than {MOST_LINES} lines")));
            }
            if !text.is_empty() {
                text.push('\n');
            }
            let is_first = text.trim().is_empty();
            text.push_str(match state {
                Progress::InString(..) => &line,
                _ if is_first => without_mark(without_prompt(&line)),
                _ => without_prompt(&line),
            });
            state = progress(&text);
            match state {
                Progress::Complete if text.trim().is_empty() => {
                    text.clear();
                    count = 0;
                }
                Progress::Complete => return Ok(Read::Statement(text)),
                Progress::TooDeep => return Ok(Read::Refused("nested too deeply".into())),
                _ => {}
            }
        }
    }

    /// irb's prompt: the line's number, open brackets, and what the line goes on with.
    fn prompt(&self, state: Progress) -> String {
        let line = self.line + 1;
        match state {
            Progress::InString(quote, depth) => {
                let quote = if matches!(quote, '"' | '“' | '”') { '"' } else { '\'' };
                format!("hbase:{line:03}:{depth}{quote} ")
            }
            Progress::Continued(depth) => format!("hbase:{line:03}:{depth}* "),
            // As HBase's shell echoes a script.
            Progress::Open(_) if self.lines.echoes() => String::new(),
            Progress::Open(depth) => format!("hbase:{line:03}:{depth}* "),
            Progress::Complete | Progress::TooDeep => format!("hbase:{line:03}:0> "),
        }
    }

    /// Asks the user something; `None` at the end of the input.
    pub(super) fn ask(&mut self) -> Outcome<Option<String>> {
        self.printer.flush()?;
        let answer = match self.lines.next("").map_err(Failure::Output)? {
            Line::Text(answer) => Some(answer),
            Line::End => None,
            Line::Interrupted => return Err(Failure::Interrupted),
        };
        self.line += u64::from(answer.is_some());
        if let Some(answer) = answer.as_ref().filter(|_| self.lines.echoes()) {
            self.printer.line(answer)?;
        }
        Ok(answer)
    }

    /// Runs a command, prints its error if it has one, and how long it took, without a line end.
    pub(super) fn command(&mut self, entry: &'static Entry, arguments: Vec<Value>) -> Outcome<Value> {
        let started = Instant::now();
        let subject = arguments.first().map(Value::to_text).unwrap_or_default();
        self.printer.listen();
        let counted = entry.check_count(arguments.len()).map_err(Failure::Refused);
        let done = counted.and_then(|()| commands::run(self, entry, arguments.into()));
        let took = started.elapsed().as_secs_f64();
        if self.printer.form() == Form::Json {
            return self.command_json(entry, done, &subject);
        }
        let value = match done {
            Ok(value) => value,
            Err(failure) => self.command_error(entry, failure, &subject)?,
        };
        if self.printer.form() == Form::Full {
            self.printer.text(&format!("Took {took:.4} seconds"))?;
        }
        Ok(value)
    }

    /// One object of what a command said; the cells that get and scan find are objects of their own.
    fn command_json(&mut self, entry: &Entry, done: Outcome<Value>, subject: &str) -> Outcome<Value> {
        let said = self.printer.said();
        let lines: Vec<&str> = said.lines().collect();
        let (value, error) = match done {
            Ok(value) => (value, None),
            Err(failure) => (Value::Nil, Some(refusal(failure, subject)?)),
        };
        match error {
            Some(text) => {
                self.failed(|| text.clone())?;
                self.printer.json(&json!({ "command": entry.name, "error": text }))?;
            }
            None if matches!(entry.name, "get" | "scan") => {}
            None => {
                self.printer.json(&json!({ "command": entry.name, "value": value.to_json(), "output": lines }))?;
            }
        }
        Ok(value)
    }

    fn command_error(&mut self, entry: &Entry, failure: Failure, subject: &str) -> Outcome<Value> {
        let text = refusal(failure, subject)?;
        self.failed(|| text.clone())?;
        self.printer.puts(&format!("\nERROR: {text}"))?;
        self.printer.line(&format!("\nFor usage try 'help \"{}\"'\n", entry.name))?;
        Ok(Value::Nil)
    }
}

/// What a command says that did not do what it should; what ends more than the command stays an error.
fn refusal(failure: Failure, subject: &str) -> Outcome<String> {
    match failure {
        Failure::Refused(text) | Failure::Ruby(_, text) => Ok(text),
        Failure::Store(error) => Ok(words(&error, subject)),
        other => Err(other),
    }
}
