//! JSON strings, written directly into the output.
//!
//! No library is used: this is the innermost loop for every page that is sent.

/// Number of bytes that are examined and copied at once: a string with an escape is copied byte by byte only
/// near the escape.
const CHUNK_BYTES: usize = 128;

/// Appends the UTF-8 of a string as a JSON string with its quotes.
pub fn push_string(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends the UTF-8 of a string, escaped for JSON.
pub fn push_escaped(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    for chunk in text.as_ref().chunks(CHUNK_BYTES) {
        if is_plain(chunk) {
            out.extend_from_slice(chunk);
        } else {
            push_bytewise(out, chunk);
        }
    }
}

/// Is the string free of characters that need escapes? Most strings are. The compiler examines a long chunk
/// many bytes at a time. A short string is examined as two blocks that may overlap, so that no byte is examined
/// on its own.
fn is_plain(bytes: &[u8]) -> bool {
    if bytes.len() >= 16 {
        return !bytes.iter().fold(false, |any, &byte| any | needs_escape(byte));
    }
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => is_plain_block(first) & is_plain_block(last),
        _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            (Some(first), Some(last)) => is_plain_block(first) & is_plain_block(last),
            _ => bytes.iter().all(|&byte| !needs_escape(byte)),
        },
    }
}

#[inline]
fn is_plain_block<const N: usize>(block: &[u8; N]) -> bool {
    !block.iter().fold(false, |any, &byte| any | needs_escape(byte))
}

fn push_bytewise(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        if needs_escape(byte) {
            push_escape(out, byte);
        } else {
            out.push(byte);
        }
    }
}

#[inline]
fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        other => out.extend_from_slice(&[
            b'\\',
            b'u',
            b'0',
            b'0',
            HEX[usize::from(other >> 4)],
            HEX[usize::from(other & 15)],
        ]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_reads_back(text in ".{0,40}", filler in 0_usize..300, control in proptest::char::range('\u{0}', '\u{7f}')) {
            let text = format!("{text}{}{control}", "x".repeat(filler));
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
