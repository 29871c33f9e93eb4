//! Cuts a stream of bytes, given in pieces of any length, into records.

use std::ops::Range;

use super::array::Array;

/// How records are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line each.
    Lines,
    /// A line each, and line feeds in quoted fields are theirs (RFC 4180).
    Quoted { separator: u8 },
    /// Objects, in an array or one after the other.
    Objects,
}

/// A record: its bytes in [`Splitter::bytes`], without the line feed, and the line that it begins in, from 1.
/// One that the end of the stream has cut off within quotes says so: what it has swallowed may be other records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub range: Range<usize>,
    pub line: u64,
    pub is_cut: bool,
    /// Of objects: what of an array stands before it.
    pub array: Array,
}

impl Span {
    /// Why it cannot be taken, whatever it says.
    pub fn fault(&self, record: &[u8]) -> Option<&'static str> {
        let cut = "a quote is open up to the end, with all that follows in it: close it, or the line is cut off";
        if self.is_cut { Some(cut) } else { self.array.fault(record) }
    }
}

/// Where in a record the look has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before its first byte, or that of a field.
    Start,
    Within,
    /// In quotes: of a field, or of a text in an object.
    Quotes,
    /// Behind a backslash in a text.
    Escaped,
    /// Behind a quote in quotes: it has ended them, or is one of two.
    Quoted,
}

/// See the module. Holds what is given and not yet taken: a record and a piece.
pub struct Splitter {
    shape: Shape,
    buffer: Vec<u8>,
    /// Where the record begins, and how far it was looked at.
    begin: usize,
    looked: usize,
    at: At,
    /// Of objects: how many are open, and what of an array has passed.
    depth: u32,
    array: Array,
    /// Of the record's first byte, and of the next one to be looked at.
    begin_line: u64,
    line: u64,
    /// Bytes of all records that were taken, with what stands between them.
    passed: u64,
}

/// What UTF-8 files of some programs begin with.
const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Splitter {
    /// From the beginning of a stream, or from a place where a record has ended.
    pub fn new(shape: Shape, (passed, lines): (u64, u64)) -> Self {
        let line = lines + 1;
        let (buffer, array) = (Vec::new(), Array::Closed);
        Self { shape, buffer, begin: 0, looked: 0, at: At::Start, depth: 0, array, begin_line: line, line, passed }
    }

    /// With what of an array stands before that place.
    #[must_use]
    pub fn within(self, array: Array) -> Self {
        Self { array, ..self }
    }

    /// The bytes that spans are of; until the next [`Splitter::push`].
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Bytes and lines of the stream that records which were taken have.
    pub fn passed(&self) -> (u64, u64) {
        (self.passed, self.begin_line - 1)
    }

    /// What of an array is in there.
    pub fn array(&self) -> Array {
        self.array
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.begin
    }

    /// The next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.begin);
        self.looked -= self.begin;
        self.begin = 0;
        self.buffer.extend_from_slice(bytes);
        self.pass_between();
    }

    /// The next record that is whole.
    pub fn next(&mut self) -> Option<Span> {
        while let Some(&byte) = self.buffer.get(self.looked) {
            self.looked += 1;
            let ends = match self.shape {
                Shape::Lines => byte == b'\n',
                Shape::Quoted { separator } => self.quoted(byte, separator),
                Shape::Objects => self.objects(byte),
            };
            self.line += u64::from(byte == b'\n');
            if ends {
                return Some(self.take());
            }
        }
        None
    }

    /// What stands behind the last line feed; `None`: nothing.
    pub fn rest(&self) -> Option<Span> {
        let span = self.trimmed(self.begin..self.buffer.len());
        (!span.range.is_empty()).then_some(span)
    }

    /// The stream has ended: the rest is a record.
    pub fn take_rest(&mut self) -> Option<Span> {
        self.looked = self.buffer.len();
        Some(self.take()).filter(|span| !span.range.is_empty())
    }

    /// What stands between objects is of none: a line that has ended behind one was passed with it.
    fn pass_between(&mut self) {
        if self.shape != Shape::Objects || self.looked > self.begin {
            return;
        }
        let between = self.buffer[self.begin..].iter().take_while(|byte| is_between(**byte));
        let (bytes, lines) =
            between.fold((0, 0), |(bytes, lines), byte| (bytes + 1, lines + u64::from(*byte == b'\n')));
        (self.begin, self.looked) = (self.begin + bytes, self.begin + bytes);
        (self.begin_line, self.line) = (self.begin_line + lines, self.line + lines);
        self.passed += bytes as u64;
        let passed = &self.buffer[self.begin - bytes..self.begin];
        self.array = passed.iter().fold(self.array, |array, byte| array.behind_byte(*byte));
    }

    fn take(&mut self) -> Span {
        let span = self.trimmed(self.begin..self.looked);
        self.passed += (self.looked - self.begin) as u64;
        (self.begin, self.begin_line) = (self.looked, self.line);
        (self.at, self.depth) = (At::Start, 0);
        self.array = span.array.behind_record(&self.buffer[span.range.clone()]);
        self.pass_between();
        span
    }

    /// Without the end of the line, a mark at the beginning of the stream, and what stands between objects.
    fn trimmed(&self, range: Range<usize>) -> Span {
        let (mut start, mut end, mut line, mut array) = (range.start, range.end, self.begin_line, self.array);
        if self.passed == 0 && self.buffer[start..end].starts_with(MARK) {
            start += MARK.len();
        }
        if self.shape == Shape::Objects {
            while start < end && is_between(self.buffer[start]) {
                line += u64::from(self.buffer[start] == b'\n');
                array = array.behind_byte(self.buffer[start]);
                start += 1;
            }
        }
        while start < end && matches!(self.buffer[end - 1], b'\n' | b'\r') {
            end -= 1;
        }
        let is_cut = self.at == At::Quotes && matches!(self.shape, Shape::Quoted { .. });
        Span { range: start..end, line, is_cut, array }
    }

    fn quoted(&mut self, byte: u8, separator: u8) -> bool {
        self.at = match (self.at, byte) {
            (At::Quotes, b'"') => At::Quoted,
            (At::Quotes, _) | (At::Start | At::Quoted, b'"') => At::Quotes,
            (_, b'\n') => return true,
            (_, byte) if byte == separator => At::Start,
            _ => At::Within,
        };
        false
    }

    fn objects(&mut self, byte: u8) -> bool {
        self.at = match (self.at, byte) {
            (At::Escaped, _) => At::Quotes,
            (At::Quotes, b'\\') => At::Escaped,
            (At::Quotes, b'"') => At::Within,
            (At::Quotes, _) => At::Quotes,
            (_, b'"') if self.depth > 0 => At::Quotes,
            (_, b'{') => {
                self.depth += 1;
                At::Within
            }
            (_, b'}') if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return true;
                }
                At::Within
            }
            // What is no object is a record to its line's end, which nobody can read.
            (At::Within, b'\n') if self.depth == 0 => return true,
            (at, byte) if self.depth == 0 && is_between(byte) => at,
            _ => At::Within,
        };
        false
    }
}

/// Whether a byte stands between objects.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All records of a stream that comes in pieces of `piece` bytes, each with its line.
    fn records(shape: Shape, text: &str, piece: usize) -> Vec<(u64, String)> {
        let (mut splitter, mut found) = (Splitter::new(shape, (0, 0)), Vec::new());
        let text_of = |splitter: &Splitter, span: &Span| {
            (span.line, String::from_utf8(splitter.bytes()[span.range.clone()].to_vec()).unwrap())
        };
        for bytes in text.as_bytes().chunks(piece) {
            splitter.push(bytes);
            while let Some(span) = splitter.next() {
                found.push(text_of(&splitter, &span));
            }
        }
        if let Some(span) = splitter.take_rest() {
            found.push(text_of(&splitter, &span));
        }
        assert_eq!(splitter.passed().0, text.len() as u64);
        found
    }

    fn check(shape: Shape, text: &str, wanted: &[(u64, &str)]) {
        for piece in [1, 2, 3, 7, 1000] {
            let found = records(shape, text, piece);
            let found: Vec<(u64, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!(found, wanted, "{text:?} in pieces of {piece}");
        }
    }

    #[test]
    fn records_are_the_same_however_they_come() {
        check(Shape::Lines, "a\r\n\nb", &[(1, "a"), (2, ""), (3, "b")]);
        check(Shape::Lines, "\u{FEFF}a\n", &[(1, "a")]);
        let quoted = Shape::Quoted { separator: b',' };
        assert!([("a,\"b", true), ("a,\"b\"", false), ("a\"b", false)].into_iter().all(|(text, is_cut)| {
            let mut splitter = Splitter::new(quoted, (0, 0));
            splitter.push(text.as_bytes());
            let rest = splitter.next().is_none().then(|| splitter.rest()).flatten();
            rest.is_some_and(|rest| rest.is_cut == is_cut)
                && splitter.take_rest().is_some_and(|rest| rest.is_cut == is_cut)
        }));
        check(quoted, "a,\"x\ny\"\nb\"c,d\n\"e\"\"\n\",f", &[(1, "a,\"x\ny\""), (3, "b\"c,d"), (4, "\"e\"\"\n\",f")]);
        let array = "[\n{\"a\": \"}\\\"\"},\n{\"b\":{\"c\":1}}\n]\n";
        check(Shape::Objects, array, &[(2, "{\"a\": \"}\\\"\"}"), (3, "{\"b\":{\"c\":1}}")]);
        check(Shape::Objects, "{}{\n}\nx\n{}", &[(1, "{}"), (1, "{\n}"), (3, "x"), (4, "{}")]);
        check(Shape::Objects, "{\"cut", &[(1, "{\"cut")]);
    }

    /// Which records of a stream are at fault, and whether its end is.
    fn faults(text: &str, piece: usize) -> (Vec<bool>, bool) {
        let (mut splitter, mut faults) = (Splitter::new(Shape::Objects, (0, 0)), Vec::new());
        for bytes in text.as_bytes().chunks(piece) {
            // As one that goes on where another was stopped.
            if splitter.held() == 0 {
                splitter = Splitter::new(Shape::Objects, splitter.passed()).within(splitter.array());
            }
            splitter.push(bytes);
            while let Some(span) = splitter.next() {
                faults.push(span.fault(&splitter.bytes()[span.range.clone()]).is_some());
            }
        }
        assert!(splitter.take_rest().is_none(), "{text}");
        (faults, splitter.array().fault_at_end().is_some())
    }

    #[test]
    fn an_array_has_commas_and_an_end() {
        for (text, wanted) in [
            ("[\n{\"a\":[1]},\n{\"b\":\"]\"}\n]\n", (&[false, false][..], false)),
            ("[]", (&[], false)),
            ("[", (&[], true)),
            ("[{}", (&[false], true)),
            ("[{},\n", (&[false], true)),
            ("[{},{}\n{}]", (&[false, false, true], false)),
            ("{}{}\n{}", (&[false, false, false], false)),
            ("[{}][{}]{}", (&[false, false, false], false)),
            ("[{},\nnull,\n{}]\n", (&[false, false, false], false)),
            ("[null]\n{}", (&[false, false], false)),
            ("[{},\nnull,\n", (&[false, false], true)),
            ("{},\n{}]", (&[false, true], true)),
            ("{}]\n{}{}", (&[false, true, false], false)),
            ("[{},,{},{}]", (&[false, true, false], false)),
            ("[,{}]", (&[true], false)),
            ("[[{}]", (&[true], false)),
            ("[[{}]]", (&[true], true)),
            ("[{},]", (&[false], true)),
            ("[{}],", (&[false], true)),
            ("]", (&[], true)),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                let found = faults(text, piece);
                assert_eq!((found.0.as_slice(), found.1), wanted, "{text:?} in pieces of {piece}");
                let marked = faults(&format!("\u{FEFF}{text}"), 1000);
                assert!(marked.1 == wanted.1 && marked.0.ends_with(wanted.0), "{text:?} behind a mark");
            }
        }
    }

    #[test]
    fn a_line_has_passed_with_the_last_object_in_it() {
        let mut splitter = Splitter::new(Shape::Objects, (0, 0));
        splitter.push(b"[\n{}, {}");
        assert_eq!(splitter.passed(), (2, 1));
        assert!(splitter.next().is_some());
        assert_eq!(splitter.passed(), (6, 1), "another one follows");
        assert!(splitter.next().is_some() && splitter.next().is_none());
        assert_eq!(splitter.passed(), (8, 1));
        splitter.push(b",\n{\"");
        assert_eq!(splitter.passed(), (10, 2));
        assert!(splitter.next().is_none());
        splitter.push(b"\":1}\n]\n");
        assert!(splitter.next().is_some_and(|span| span.line == 3));
        assert_eq!(splitter.passed(), (19, 4));
    }
}
