//! The shell's output: rows of one or two columns, padded on a terminal only.

use std::io::Write;

use super::eval::failure::{Failure, Outcome};
use crate::error::CLOSED;
use crate::{Error, ErrorKind};

/// What a session says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// All that HBase's shell says.
    #[default]
    Full,
    /// What commands find, without greeting, times and values of statements.
    Quiet,
    /// JSON, one object a line: each cell that get and scan find, else one of what a command says, or what puts and print do.
    Json,
}

/// Where the shell prints.
pub struct Printer<'o> {
    form: Form,
    /// What a command has said that is to become one JSON object.
    said: Option<String>,
    /// The same of what else prints, up to the end of a line.
    open: String,
    out: Box<dyn Write + 'o>,
    /// Columns of the terminal; `None` when it is none.
    width: Option<usize>,
}

impl<'o> Printer<'o> {
    /// Prints to `out`, in two padded columns if `width` says how wide the terminal is.
    pub fn new(out: Box<dyn Write + 'o>, width: Option<usize>) -> Self {
        Self { form: Form::Full, said: None, open: String::new(), out, width: width.filter(|width| *width >= 20) }
    }

    /// Says more or less.
    #[must_use]
    pub fn in_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// How much it says.
    pub fn form(&self) -> Form {
        self.form
    }

    /// In JSON, keeps what is said until [`Printer::said`].
    pub(super) fn listen(&mut self) {
        self.said = (self.form == Form::Json).then(String::new);
    }

    /// What was said since [`Printer::listen`].
    pub(super) fn said(&mut self) -> String {
        self.said.take().unwrap_or_default()
    }

    /// An object, as a line.
    pub(super) fn json(&mut self, value: &serde_json::Value) -> Outcome<()> {
        self.close()?;
        writeln!(self.out, "{value}").map_err(|e| failed(&e))
    }

    /// What was printed in no command becomes an object.
    fn close(&mut self) -> Outcome<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.open);
        let lines: Vec<&str> = text.lines().collect();
        writeln!(self.out, "{}", serde_json::json!({ "output": lines })).map_err(|e| failed(&e))
    }

    /// Text without a line end.
    pub fn text(&mut self, text: &str) -> Outcome<()> {
        match &mut self.said {
            Some(said) => said.push_str(text),
            None if self.form == Form::Json => {
                self.open.push_str(text);
                if text.ends_with('\n') {
                    self.close()?;
                }
            }
            None => self.out.write_all(text.as_bytes()).map_err(|e| failed(&e))?,
        }
        Ok(())
    }

    /// A line.
    pub fn line(&mut self, text: &str) -> Outcome<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// A line, whose end the text may have already (Ruby's `puts`).
    pub fn puts(&mut self, text: &str) -> Outcome<()> {
        self.line(text.strip_suffix('\n').unwrap_or(text))
    }

    /// Heading of two columns.
    pub fn heading(&mut self, left: &str, right: &str) -> Outcome<()> {
        self.columns("", left, " ", right)
    }

    /// A row of two columns.
    pub fn row(&mut self, left: &str, right: &str) -> Outcome<()> {
        self.columns(" ", left, "", right)
    }

    fn columns(&mut self, before: &str, left: &str, between: &str, right: &str) -> Outcome<()> {
        let Some(width) = self.width else {
            return self.line(&format!("{before}{left}{between} {right}"));
        };
        let (first, second) = (width / 4, width - width / 4 - 2);
        let (lefts, rights) = (chunks(left, first), chunks(right, second));
        for at in 0..lefts.len().max(rights.len()) {
            let cell = |parts: &[String]| parts.get(at).cloned().unwrap_or_default();
            let text = format!("{before}{:first$}{between} {}", cell(&lefts), cell(&rights));
            self.line(text.trim_end())?;
        }
        Ok(())
    }

    /// `N row(s)`.
    pub fn rows(&mut self, count: u64) -> Outcome<()> {
        self.line(&format!("{count} row(s)"))
    }

    /// Everything so far reaches the reader.
    pub fn flush(&mut self) -> Outcome<()> {
        self.close()?;
        self.out.flush().map_err(|e| failed(&e))
    }
}

fn chunks(text: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(width.max(1)).map(|part| part.iter().collect()).collect()
}

fn failed(source: &std::io::Error) -> Failure {
    Failure::Output(match source.kind() {
        std::io::ErrorKind::BrokenPipe => Error::new(ErrorKind::Disconnected, CLOSED),
        _ => Error::io("standard output", source),
    })
}
