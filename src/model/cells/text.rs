//! Bytes as text, and back (HBase: Bytes).

/// HBase's Bytes.toStringBinary: printable ASCII as it is, a backslash and all else `\xNN`.
pub fn to_string_binary(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\x5C"),
            0x20..=0x7E => text.push(char::from(*byte)),
            _ => {
                let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default().to_ascii_uppercase();
                text.extend(['\\', 'x', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    text
}

/// HBase's Bytes.toBytesBinary: undoes `\xNN`, and nothing else.
pub fn to_bytes_binary(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| *byte == b'\\');
        let digits = digits.filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let value =
            digits.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// A value as sentences show it.
pub fn shown_value(bytes: &[u8]) -> String {
    const SHOWN: usize = 64;
    let rest = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{}{rest}`", to_string_binary(&bytes[..bytes.len().min(SHOWN)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escapes_are_undone() {
        assert_eq!(to_string_binary(b"a\\\x00\xffz"), r"a\x5C\x00\xFFz");
        assert_eq!(to_bytes_binary(br"a\x5C\x00\xFFz\xq\"), b"a\\\x00\xffz\\xq\\");
        assert_eq!(to_bytes_binary(br"\x+1"), br"\x+1");
    }
}
