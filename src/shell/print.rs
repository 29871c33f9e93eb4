//! The shell's output: rows of one or two columns, padded on a terminal only.

use std::io::Write;

use super::failure::{Failure, Outcome};
use crate::error::CLOSED;
use crate::{Error, ErrorKind};

/// Where the shell prints.
pub struct Printer<'o> {
    out: Box<dyn Write + 'o>,
    /// Columns of the terminal; `None` when it is none.
    width: Option<usize>,
}

impl<'o> Printer<'o> {
    /// Prints to `out`, in two padded columns if `width` says how wide the terminal is.
    pub fn new(out: Box<dyn Write + 'o>, width: Option<usize>) -> Self {
        Self { out, width: width.filter(|width| *width >= 20) }
    }

    /// Text without a line end.
    pub fn text(&mut self, text: &str) -> Outcome<()> {
        self.out.write_all(text.as_bytes()).map_err(|e| failed(&e))
    }

    /// A line.
    pub fn line(&mut self, text: &str) -> Outcome<()> {
        writeln!(self.out, "{text}").map_err(|e| failed(&e))
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
