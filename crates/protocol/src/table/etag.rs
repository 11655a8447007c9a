//! ETags: a pure function of an entity's Timestamp, in both directions.

use lazuli_model::table::operation::Match;
use lazuli_model::{DateTime, ErrorCode, Failure};

const OPEN: &str = "W/\"datetime'";
const CLOSE: &str = "'\"";

/// Appends `W/"datetime'2022-05-06T00%3A44%3A26.8056386Z'"`, with `quote` in place of the double quotes, which
/// JSON and Atom escape differently.
pub fn write(out: &mut Vec<u8>, timestamp: DateTime, quote: &str) {
    out.extend_from_slice(b"W/");
    out.extend_from_slice(quote.as_bytes());
    out.extend_from_slice(b"datetime'");
    for (index, part) in timestamp.iso().as_bytes().split(|&byte| byte == b':').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"%3A");
        }
        out.extend_from_slice(part);
    }
    out.push(b'\'');
    out.extend_from_slice(quote.as_bytes());
}

/// The ETag as in a header.
pub fn header(timestamp: DateTime) -> String {
    let mut out = Vec::with_capacity(56);
    write(&mut out, timestamp, "\"");
    String::from_utf8(out).unwrap_or_default()
}

/// Parses `If-Match`. A weak tag that this service did not issue is a condition that no entity meets. Strong
/// tags, which entities never have, tags without quotes and lists of tags are rejected.
pub fn parse(text: &str) -> Result<Match, Failure> {
    if text == "*" {
        return Ok(Match::Any);
    }
    if let Some(time) = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)).and_then(timestamp)
    {
        return Ok(Match::Version(time));
    }
    let quoted = text.strip_prefix("W/\"").and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(inner) if !inner.contains('"') => Ok(Match::Nothing),
        _ => Err(Failure::new(
            ErrorCode::InvalidInput,
            format!(
                "The etag value '{text}' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid."
            ),
        )),
    }
}

/// Some clients send the colons unescaped or in lower-case hex.
fn timestamp(text: &str) -> Option<DateTime> {
    crate::http::percent::decode(text).and_then(|decoded| DateTime::parse(&decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WR-11, WR-12: reference vectors.
    #[test]
    fn prints_the_timestamp_trimmed() {
        for (time, tag) in [
            ("2022-05-06T00:31:05.0707164Z", "W/\"datetime'2022-05-06T00%3A31%3A05.0707164Z'\""),
            ("2022-02-01T19:04:00.6862800Z", "W/\"datetime'2022-02-01T19%3A04%3A00.68628Z'\""),
        ] {
            let time = DateTime::parse(time).unwrap();
            assert_eq!(header(time), tag);
            assert_eq!(parse(tag), Ok(Match::Version(time)));
        }
    }

    #[test]
    fn reads_what_clients_send() {
        let time = DateTime::parse("2022-05-06T00:31:05Z").unwrap();
        for tag in ["W/\"datetime'2022-05-06T00%3a31%3a05Z'\"", "W/\"datetime'2022-05-06T00:31:05Z'\""] {
            assert_eq!(parse(tag), Ok(Match::Version(time)));
        }
        assert_eq!(parse("*"), Ok(Match::Any));
        assert_eq!(parse("W/\"x\""), Ok(Match::Nothing));
        for bad in ["x", "\"x\"", "w/\"x\"", "W/x", "\"a\", \"b\"", "W/\"a"] {
            assert_eq!(parse(bad).map_err(|f| f.code), Err(ErrorCode::InvalidInput), "{bad}");
        }
    }
}
