//! Escapes of string literals, by Ruby's rules.

/// The bytes of a single-quoted literal: only `\'` and `\\` are escapes.
pub fn bytes_of_single(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        match (byte, rest.peek()) {
            (b'\\', Some(next @ (b'\\' | b'\''))) => {
                bytes.push(*next);
                rest.next();
            }
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// The bytes of a double-quoted literal.
pub fn bytes_of_double(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = escape(&rest[at + 1..], &mut bytes);
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// Reads one escape after its backslash; what is left.
fn escape<'t>(text: &'t str, bytes: &mut Vec<u8>) -> &'t str {
    let Some(first) = text.chars().next() else { return text };
    let rest = &text[first.len_utf8()..];
    match first {
        'x' => numeric(rest, 2, 16, b'x', bytes),
        '0'..='7' => numeric(text, 3, 8, b'0', bytes),
        'u' => unicode(rest, bytes),
        '\n' => rest,
        _ => {
            let control = match first {
                'n' => Some(b'\n'),
                't' => Some(b'\t'),
                'r' => Some(b'\r'),
                'a' => Some(0x07),
                'b' => Some(0x08),
                'v' => Some(0x0B),
                'f' => Some(0x0C),
                'e' => Some(0x1B),
                's' => Some(b' '),
                _ => None,
            };
            match control {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(first.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            rest
        }
    }
}

/// At most `most` digits of one byte; `otherwise` when there is none.
fn numeric<'t>(text: &'t str, most: usize, radix: u32, otherwise: u8, bytes: &mut Vec<u8>) -> &'t str {
    let count = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    match u32::from_str_radix(&text[..count], radix) {
        Ok(value) => bytes.push((value & 0xFF) as u8),
        Err(_) => bytes.push(otherwise),
    }
    &text[count..]
}

/// `XXXX` or `{X...}`.
fn unicode<'t>(text: &'t str, bytes: &mut Vec<u8>) -> &'t str {
    let (digits, rest) = match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        Some(parts) => parts,
        None => {
            let count = text.chars().take(4).take_while(char::is_ascii_hexdigit).count();
            text.split_at(count)
        }
    };
    match u32::from_str_radix(digits.trim(), 16).ok().and_then(char::from_u32) {
        Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => bytes.push(b'u'),
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_double_quotes_have_escapes() {
        assert_eq!(bytes_of_single(r"a\x00\\b\'"), br"a\x00\b'");
        assert_eq!(bytes_of_double(r#"a\x00\xff\x1z\\\"\n\u00e9\u{1F600}\003\8"#), {
            let mut bytes = b"a\x00\xff\x01z\\\"\n".to_vec();
            bytes.extend_from_slice("é😀".as_bytes());
            bytes.extend_from_slice(b"\x038");
            bytes
        });
    }
}
