//! The parts of XML parsing that all documents share: the text of a body, and character references.

use std::borrow::Cow;

use quick_xml::events::BytesRef;

use super::text::find_forbidden;

/// The reason why bytes cannot be decoded as a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextError {
    /// They are not UTF-8.
    Encoding,
    /// A character that XML does not allow, at this offset in bytes.
    Character(usize),
}

/// The body as text, without its byte order mark.
pub fn text(body: &[u8]) -> Result<&str, TextError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|_| TextError::Encoding)?;
    find_forbidden(text).map_or(Ok(text), |at| Err(TextError::Character(at)))
}

/// A character by number, or one of the five predefined entities.
pub fn resolve(reference: &BytesRef<'_>) -> Option<char> {
    let name: Cow<'_, str> = reference.xml10_content();
    match name.as_ref() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        other => other.strip_prefix('#').and_then(character),
    }
}

/// Any Unicode character, even one that XML cannot represent directly: our own responses contain such
/// references.
fn character(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)
}
