//! Continuation tokens: opaque to clients, versioned, safe in a header and in a URL.
//!
//! `1!<n>!<text>`: a version, the length of the text, and the key in Base64 with `=` written as `-`, `+` as `*` and
//! `/` as `_`, so that clients need not escape it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::{ErrorCode, Failure};

/// The token for a key.
pub fn encode(key: &str) -> String {
    let text: String = STANDARD
        .encode(key)
        .chars()
        .map(|c| match c {
            '=' => '-',
            '+' => '*',
            '/' => '_',
            other => other,
        })
        .collect();
    format!("1!{}!{text}", text.len())
}

/// The key in a token. A token that Lazuli did not issue is `InvalidInput`.
pub fn decode(token: &str) -> Result<String, Failure> {
    parse(token).ok_or_else(|| ErrorCode::InvalidInput.into())
}

fn parse(token: &str) -> Option<String> {
    let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse::<usize>().ok()? != text.len() {
        return None;
    }
    let base64: String = text
        .chars()
        .map(|c| match c {
            '-' => '=',
            '*' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors() {
        for (key, token) in [
            ("a", "1!4!YQ--"),
            ("Smith", "1!8!U21pdGg-"),
            ("", "1!0!"),
            ("Ben1898", "1!12!QmVuMTg5OA--"),
            ("pkadca2e0d", "1!16!cGthZGNhMmUwZA--"),
        ] {
            assert_eq!(encode(key), token);
            assert_eq!(decode(token).as_deref(), Ok(key));
        }
    }

    #[test]
    fn foreign_tokens_are_rejected() {
        for token in ["", "a", "1!", "1!4", "1!5!YQ--", "2!4!YQ--", "1!4!YQ~~", "1!x!YQ--", "1!4!//8-"] {
            assert_eq!(decode(token).map_err(|f| f.code), Err(ErrorCode::InvalidInput), "{token}");
        }
    }

    proptest! {
        #[test]
        fn any_key_survives(key in "\\PC{0,30}") {
            let token = encode(&key);
            prop_assert!(token.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(decode(&token), Ok(key));
        }
    }
}
