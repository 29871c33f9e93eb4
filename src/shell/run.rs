//! Runs a session: reads statements, runs them, prints what they yield, as HBase's shell (irb) does.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;

use super::commands;
use super::eval::failure::{Failure, Outcome, words};
use super::eval::value::Value;
use super::input::lines::{Line, Progress, progress, without_mark, without_prompt};
use super::print::Form;
use super::registry::Entry;
use super::session::{End, OnError, Session};
use super::syntax::parse::parse;

/// Most lines of one statement: a quote that was left open does not swallow a long script.
const MOST_LINES: u32 = 2_000;

/// What the loop read.
enum Read {
    Statement(String),
    Refused(String),
    End,
}

impl Session<'_> {
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
