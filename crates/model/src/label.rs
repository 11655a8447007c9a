//! The rule for the names of queues and containers: DNS labels without consecutive hyphens.

use std::fmt;

use crate::error::{ErrorCode, Failure};

/// Minimum length of a name. Shorter is `OutOfRangeInput`.
pub const LABEL_CHARS_MIN: usize = 3;
/// Longest name.
pub const LABEL_CHARS_MAX: usize = 63;

/// The reason why a string is not a valid name of a queue or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelError {
    /// Shorter than 3 or longer than 63 characters.
    Length,
    /// A character other than lower-case letters, digits and single hyphens between them.
    Characters,
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LabelError::Length => "the name must have 3 to 63 characters",
            LabelError::Characters => {
                "the name may contain lower-case ASCII letters, digits, and single hyphens between them"
            }
        })
    }
}

impl std::error::Error for LabelError {}

impl From<LabelError> for Failure {
    fn from(error: LabelError) -> Self {
        match error {
            LabelError::Length => Failure::new(
                ErrorCode::OutOfRangeInput,
                "The specified resource name length is not within the permissible limits.",
            ),
            LabelError::Characters => ErrorCode::InvalidResourceName.into(),
        }
    }
}

/// Checks a name. The length is checked first: a name with both errors is reported for its length.
pub fn check(text: &str) -> Result<(), LabelError> {
    let length = text.chars().count();
    if !(LABEL_CHARS_MIN..=LABEL_CHARS_MAX).contains(&length) {
        return Err(LabelError::Length);
    }
    let known = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !known || text.starts_with('-') || text.ends_with('-') || text.contains("--") {
        return Err(LabelError::Characters);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for good in ["abc", "a-b", "0-9", "1a2", &"x".repeat(63)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for length in ["", "ab", "--", "é", &"x".repeat(64)] {
            assert_eq!(check(length), Err(LabelError::Length), "{length}");
        }
        for characters in ["Abc", "a_b", "a--b", "-ab", "ab-", "a.b", "a b", "caf\u{e9}", "$logs"] {
            assert_eq!(check(characters), Err(LabelError::Characters), "{characters}");
        }
    }
}
