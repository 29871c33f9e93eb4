//! Named fields of a key, and how they are written.

use crate::model::{to_bytes_binary, to_string_binary};
use crate::{Error, ErrorKind, Result};

/// Names and values, in the order of the recipe or of who gave them.
pub type Fields = Vec<(String, Vec<u8>)>;

/// `host=cnn.com,time=...`: what is behind the first `=` of each part is its value, bytes as HBase prints them.
pub fn parse_fields(text: &[u8]) -> Result<Fields> {
    parse_fields_by(text, to_bytes_binary)
}

/// As [`parse_fields`], of values that are written in another way.
pub fn parse_fields_by(text: &[u8], read: impl Fn(&[u8]) -> Vec<u8>) -> Result<Fields> {
    let wrong = |text: String| Error::new(ErrorKind::IllegalArgument, text);
    let mut fields = Fields::new();
    for part in text.split(|byte| *byte == b',') {
        let at = part.iter().position(|byte| *byte == b'=');
        let name = at.and_then(|at| std::str::from_utf8(&part[..at]).ok());
        let Some((at, name)) = at.zip(name) else {
            let shown = to_string_binary(part);
            return Err(wrong(format!("`{shown}` is not NAME=VALUE; a comma in a value is written as its byte")));
        };
        if fields.iter().any(|(known, _)| known == name) {
            return Err(wrong(format!("field {name} is given twice")));
        }
        fields.push((name.to_owned(), read(&part[at + 1..])));
    }
    Ok(fields)
}

/// As [`parse_fields`] reads them.
pub fn fields_text(fields: &Fields) -> String {
    let of = |(name, value): &(String, Vec<u8>)| format!("{name}={}", to_string_binary(value).replace(',', "\\x2C"));
    fields.iter().map(of).collect::<Vec<_>>().join(",")
}
