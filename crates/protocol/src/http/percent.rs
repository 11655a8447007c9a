//! Percent-encoding, read leniently and written as .NET writes it.
//!
//! No library is used, because clients compare generated URLs byte by byte: everything except unreserved
//! characters is escaped in upper-case hex, and the quotes of keys are not escaped.

use std::borrow::Cow;

use memchr::memchr;

/// Decodes `%XX` once. `None` if an escape is broken or the result is not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    let bytes = text.as_bytes();
    if memchr(b'%', bytes).is_none() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let high = char::from(*bytes.get(at + 1)?).to_digit(16)?;
            let low = char::from(*bytes.get(at + 2)?).to_digit(16)?;
            out.push(u8::try_from(high << 4 | low).ok()?);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

/// Decodes a name or value of a query string, where a plus sign may stand for a space.
pub fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        let blanks = text.replace('+', " ");
        return decode(&blanks).map(|decoded| Cow::Owned(decoded.into_owned()));
    }
    decode(text)
}

/// Appends `text`, escaping everything except unreserved characters.
pub fn encode_into(out: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        push_escaped(out, byte);
    }
}

/// Appends a key value as it appears between its quotes in a URL: quotes doubled but not escaped, the rest
/// escaped.
pub fn encode_key_into(out: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        if byte == b'\'' { out.extend_from_slice(b"''") } else { push_escaped(out, byte) }
    }
}

fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        out.push(byte);
    } else {
        out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(text: &str) -> String {
        let mut out = Vec::new();
        encode_key_into(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_are_escaped_as_dotnet_does() {
        assert_eq!(encoded("O'Hare"), "O''Hare");
        assert_eq!(encoded("a b\"@%{}é/"), "a%20b%22%40%25%7B%7D%C3%A9%2F");
        assert_eq!(encoded("-_.~09azAZ"), "-_.~09azAZ");
    }

    #[test]
    fn decodes_once_and_rejects_broken_escapes() {
        assert_eq!(decode("a%2520b").as_deref(), Some("a%20b"));
        assert_eq!(decode("a+b").as_deref(), Some("a+b"));
        assert_eq!(decode_query("a+b%2B").as_deref(), Some("a b+"));
        for broken in ["%", "%2", "%zz", "%ff", "%C3"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn decodes_what_it_encoded(text in "\\PC{0,20}") {
            let mut out = Vec::new();
            encode_into(&mut out, &text);
            let wire = String::from_utf8(out).unwrap();
            prop_assert_eq!(decode(&wire), Some(Cow::Borrowed(text.as_str())));
            prop_assert_eq!(decode_query(&wire), Some(Cow::Borrowed(text.as_str())));
        }
    }
}
