//! PartitionKey and RowKey values, and their order.
//!
//! Keys sort as UTF-16 code units ([`utf16_cmp`]).

use std::cmp::Ordering;
use std::fmt;

use crate::table::limits::KEY_UNITS_MAX;
use crate::utf16_cmp;

/// A checked PartitionKey or RowKey: not too long, without forbidden characters. The empty string is a legal
/// key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

/// The reason why a string is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// More than [`KEY_UNITS_MAX`] UTF-16 code units.
    TooLong,
    /// Contains `/`, `\`, `#`, `?` or a control character.
    Character(char),
}

impl Key {
    /// Checks `text` and keeps it.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, KeyError> {
        let text = text.into();
        if let Some(found) = text.chars().find(|&c| is_forbidden(c)) {
            return Err(KeyError::Character(found));
        }
        if utf16_len(&text) > KEY_UNITS_MAX {
            return Err(KeyError::TooLong);
        }
        Ok(Self(text))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Characters that are not allowed in keys.
pub fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

/// Length in UTF-16 code units, the unit of every length limit of the service.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        utf16_cmp(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DM-12, HT-06.
    #[test]
    fn limits_and_forbidden_characters() {
        assert!(Key::new("").is_ok());
        assert!(Key::new("a".repeat(1024)).is_ok());
        assert_eq!(Key::new("a".repeat(1025)), Err(KeyError::TooLong));
        assert!(Key::new("\u{10000}".repeat(512)).is_ok());
        assert_eq!(Key::new("\u{10000}".repeat(513)), Err(KeyError::TooLong));
        for c in ['/', '\\', '#', '?', '\0', '\u{1f}', '\u{7f}', '\u{9f}'] {
            assert_eq!(Key::new(c.to_string()), Err(KeyError::Character(c)));
        }
        for c in ['%', '+', '\'', ' ', '"', '\u{a0}', '{'] {
            assert!(Key::new(c.to_string()).is_ok());
        }
    }

    /// DM-26.
    #[test]
    fn numbers_sort_as_text() {
        let key = |text: &str| Key::new(text).unwrap();
        assert!(key("92") > key("10000"));
        assert!(key("00092") < key("10000"));
    }
}
