//! Regular expressions as HBase has them (java.util.regex, with DOTALL, looked for anywhere).

use crate::error::reason;
use crate::{Error, ErrorKind, Result};

/// Before the line terminator that ends a text, or at its end: Java's `$` and `\Z`.
const END: &str = r"(?=\r\n\z|(?<!\r)\n\z|[\r\u{85}\u{2028}\u{2029}]\z|\z)";
/// Steps of a match; what needs more does not match.
const STEPS: usize = 1_000_000;
/// Most bytes of a pattern. What it takes to be matched grows faster than it: one of 80 KiB may take gigabytes.
const LEN_MAX: usize = 16 << 10;

/// A pattern that was understood.
#[derive(Clone, Debug)]
pub(in crate::query) struct Regex(fancy_regex::Regex);

impl Regex {
    /// Refuses what is no pattern.
    pub(in crate::query) fn new(java: &str) -> Result<Self> {
        if java.len() > LEN_MAX {
            let text = format!("Incorrect regular expression: {} bytes, but {LEN_MAX} at most", java.len());
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        let pattern = format!("(?s){}", translated(java));
        let built = fancy_regex::RegexBuilder::new(&pattern).backtrack_limit(STEPS).build();
        built.map(Self).map_err(|e| {
            let text = format!("Incorrect regular expression '{java}': {}", reason(e));
            Error::new(ErrorKind::IllegalArgument, text)
        })
    }

    /// Whether it matches somewhere.
    pub(in crate::query) fn finds(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }
}

/// What means something else in Java: the end, classes of ASCII alone, quotations.
fn translated(java: &str) -> String {
    let mut out = String::with_capacity(java.len() + 16);
    let mut rest = java;
    let mut classes = 0_usize;
    // With (?m) it is the end of each line, as it is here.
    let lines = java.contains("(?m") || java.contains("(?sm") || java.contains("(?im");
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = escape(rest, classes, &mut out),
            '[' => {
                classes += 1;
                out.push(c);
            }
            ']' => {
                classes = classes.saturating_sub(1);
                out.push(c);
            }
            '$' if classes == 0 && !lines => out.push_str(END),
            _ => out.push(c),
        }
    }
    out
}

/// One escape, without its backslash; what is left behind it.
fn escape<'a>(rest: &'a str, classes: usize, out: &mut String) -> &'a str {
    if let Some(quoted) = rest.strip_prefix('Q') {
        let (text, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        out.push_str(&fancy_regex::escape(text));
        return rest;
    }
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let class = match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => r"[ \t\n\x0B\f\r]",
        'S' => r"[^ \t\n\x0B\f\r]",
        'Z' if classes == 0 => END,
        _ => "",
    };
    if class.is_empty() {
        out.push('\\');
        out.push(c);
    } else {
        out.push_str(class);
    }
    &rest[c.len_utf8()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_java() {
        // Each was asked of java.util.regex.Pattern with DOTALL.
        for (pattern, text, found) in [
            ("a$", "a\n", true),
            ("a$", "a\r\n", true),
            ("a$", "a\n\n", false),
            ("a$", "a\nb", false),
            ("a$\n", "a\n", true),
            (r"a\z", "a\n", false),
            (r"a\Z", "a\u{2028}", true),
            ("^$", "\n", true),
            ("\r$", "\r\n", false),
            ("[$]", "$", true),
            (r"\$", "$", true),
            (r"^\w+$", "é", false),
            (r"\d", "\u{0665}", false),
            (r"[\d.]+x", "1.2x", true),
            (r"\Qa.b\E$", "xa.b", true),
            (r"\Qa.b\E", "aXb", false),
            (r"(a)\1", "aa", true),
            ("a(?=b)", "ab", true),
            ("(?m)a$", "a\nb", true),
            ("a.b", "a\nb", true),
        ] {
            assert_eq!(Regex::new(pattern).unwrap().finds(text), found, "{pattern:?} in {text:?}");
        }
        assert!(Regex::new("(").is_err());
    }

    #[test]
    fn a_pattern_that_would_fill_the_memory_is_refused() {
        assert!(Regex::new(&"(a*)*".repeat(LEN_MAX / 5)).unwrap().finds("v"));
        let told = Regex::new(&"(a*)*".repeat(18_000)).unwrap_err();
        assert_eq!(told.message, "Incorrect regular expression: 90000 bytes, but 16384 at most");
        let deep = format!("{}a{}", "(".repeat(8_000), ")".repeat(8_000));
        assert_eq!(Regex::new(&deep).unwrap_err().kind, ErrorKind::IllegalArgument, "too deep");
    }
}
