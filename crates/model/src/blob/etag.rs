//! ETags of blobs and containers, and the pair of ETag and modification time that every change renews.

use std::fmt;

use crate::DateTime;

/// An ETag: a number that every change of a blob or container replaces.
///
/// It looks like a time in ticks and is usually one, but only its uniqueness matters. Whether it is quoted
/// depends on the protocol version and the position.
///
/// ```
/// use lazuli_model::blob::ETag;
///
/// let tag = ETag::new(0x8DC_1234_5678_9ABC);
/// assert_eq!(tag.to_string(), "0x8DC123456789ABC");
/// assert_eq!(ETag::parse("\"0x8DC123456789ABC\""), Some(tag));
/// assert_eq!(ETag::parse("0x8dc123456789abc"), Some(tag));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ETag(u64);

impl ETag {
    /// The ETag with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Reads an ETag with or without quotes. `None` for strings that cannot be an ETag of this service.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let digits = bare.strip_prefix("0x").or_else(|| bare.strip_prefix("0X"))?;
        let is_hex = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(Self)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:X}", self.0)
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The state of a resource, as compared by clients: both parts change together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The ETag.
    pub etag: ETag,
    /// The time of the last change. Conditions and headers use whole seconds of it.
    pub last_modified: DateTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BL-01: the string survives a round trip, with and without quotes.
    #[test]
    fn texts() {
        for number in [0, 1, 0x8DC_0000_0000_0001, u64::MAX] {
            let tag = ETag::new(number);
            assert_eq!(ETag::parse(&tag.to_string()), Some(tag));
            assert_eq!(ETag::parse(&format!(" \"{tag}\" ")), Some(tag));
        }
        for foreign in ["", "*", "\"\"", "0x", "abc", "\"0x8D", "0x10000000000000000", "0x+1", "W/\"0x1\""] {
            assert_eq!(ETag::parse(foreign), None, "{foreign}");
        }
    }
}
