//! Matches a string against a template, and finds the first difference.
//!
//! Matching never backtracks: the kind of a capture determines its end, and `{any}` ends where the next literal
//! begins.

use lazuli_model::DateTime;

use crate::values::{Capture, Piece, Values};

/// The position and the reason of a mismatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Bytes of the string that match.
    pub(crate) at: usize,
    /// Lines of the template that match.
    pub(crate) line: usize,
    /// The expected rest.
    pub(crate) expected: String,
    /// The reason why a captured value was rejected, if the mismatch is in a capture.
    pub(crate) reason: Option<String>,
}

/// Compares a whole string with a template, and stores the values of its named captures.
pub(crate) fn fit(pieces: &[Piece], text: &str, values: &mut Values) -> Result<(), Mismatch> {
    let mut at = 0;
    let mut line = 0;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(expected) => {
                let common = common_prefix(expected, &text[at..]);
                if common < expected.len() {
                    line += expected[..common].matches('\n').count();
                    let rest = shown(&expected[common..], &pieces[index + 1..]);
                    return Err(Mismatch { at: at + common, line, expected: rest, reason: None });
                }
                line += expected.matches('\n').count();
                at += expected.len();
            }
            Piece::Capture(kind, name, capture_line) => {
                let length = capture(*kind, name.as_deref(), &text[at..], pieces.get(index + 1), values)
                    .map_err(|reason| Mismatch {
                        at,
                        line: *capture_line,
                        expected: shown("", &pieces[index..]),
                        reason: Some(reason),
                    })?;
                at += length;
            }
        }
    }
    if at < text.len() {
        return Err(Mismatch { at, line, expected: "(the end)".to_owned(), reason: None });
    }
    Ok(())
}

/// The common prefix, truncated at a character boundary.
fn common_prefix(left: &str, right: &str) -> usize {
    let same = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|&at| left.is_char_boundary(at) && right.is_char_boundary(at)).unwrap_or(0)
}

/// The rest of a template, shortened, for a report.
pub(crate) fn shown(text: &str, pieces: &[Piece]) -> String {
    const CHARS_MAX: usize = 160;
    let mut out = text.to_owned();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Capture(kind, None, _) => out.push_str(&format!("{{{kind:?}}}").to_lowercase()),
            Piece::Capture(kind, Some(name), _) => {
                out.push_str(&format!("{{{}:{name}}}", format!("{kind:?}").to_lowercase()));
            }
        }
        if out.chars().count() > CHARS_MAX {
            break;
        }
    }
    out.chars().take(CHARS_MAX).collect()
}

/// The length of the value of a capture, if it is valid.
fn capture(
    kind: Capture,
    name: Option<&str>,
    text: &str,
    next: Option<&Piece>,
    values: &mut Values,
) -> Result<usize, String> {
    let (length, value) = match kind {
        Capture::Any => any(text, next).map(|length| (length, text[..length].to_owned())),
        Capture::Etag => etag(text),
        Capture::Stamp | Capture::Time => time(text, is_trimmed),
        Capture::Time7 => time(text, |fraction| fraction.len() == 7),
        Capture::Seconds => time(text, str::is_empty),
        Capture::Date => date(text),
        Capture::Id => guid(text).map(|length| (length, text[..length].to_owned())),
        Capture::RequestId => return request_id(text, values),
        Capture::Token => token(text).map(|length| (length, text[..length].to_owned())),
    }
    .ok_or_else(|| format!("not {}", describe(kind)))?;
    if let Some(name) = name {
        values.settle(kind, name, &value)?;
    }
    Ok(length)
}

fn describe(kind: Capture) -> &'static str {
    match kind {
        Capture::Any => "followed by the expected text",
        Capture::Etag => "an ETag",
        Capture::Stamp | Capture::Time => "a time with a trimmed fraction",
        Capture::Time7 => "a time with seven digits of fraction",
        Capture::Seconds => "a time without fraction",
        Capture::Date => "an HTTP date",
        Capture::Id => "a GUID in lower case",
        Capture::RequestId => "the request id",
        Capture::Token => "a continuation token",
    }
}

/// Ends where the next literal starts. If the literal is not found, ends at its first character, so that the report
/// points at the actual difference.
fn any(text: &str, next: Option<&Piece>) -> Option<usize> {
    let Some(Piece::Text(stop)) = next else { return Some(text.len()) };
    let first = stop.char_indices().nth(1).map_or(stop.as_str(), |(at, _)| &stop[..at]);
    text.find(stop.as_str()).or_else(|| text.find(first))
}

fn request_id(text: &str, values: &Values) -> Result<usize, String> {
    match &values.request_id {
        Some(id) if text.starts_with(id.as_str()) => Ok(id.len()),
        Some(id) => Err(format!("not the x-ms-request-id of the response, {id}")),
        None => Err("the response has no x-ms-request-id".to_owned()),
    }
}

/// An ETag. For an entity, it has one of three kinds of quotes, and its value is the Timestamp. For a blob or
/// container, it is a number, quoted or not, and its value is that number.
fn etag(text: &str) -> Option<(usize, String)> {
    if !text.starts_with("W/") {
        return number_etag(text);
    }
    let rest = text.strip_prefix("W/")?;
    let quote = ["\\\"", "&quot;", "\""].into_iter().find(|quote| rest.starts_with(quote))?;
    let rest = rest[quote.len()..].strip_prefix("datetime'")?;
    let end = rest.find('\'')?;
    let stamp = rest[..end].replace("%3A", ":");
    let (length, value) = time(&stamp, is_trimmed)?;
    if length != stamp.len() || stamp.replace(':', "%3A") != rest[..end] {
        return None;
    }
    let after = rest[end + 1..].strip_prefix(quote)?;
    Some((text.len() - after.len(), value))
}

/// `"0x8DC2F6A1B2C3D4E"`.
fn number_etag(text: &str) -> Option<(usize, String)> {
    let quote = ["&quot;", "\""].into_iter().find(|quote| text.starts_with(quote)).unwrap_or("");
    let rest = &text[quote.len()..];
    let digits = rest.strip_prefix("0x")?;
    let length = digits.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F')).count();
    let end = "0x".len() + length;
    let closed = length > 0 && rest[end..].starts_with(quote);
    closed.then(|| (quote.len() * 2 + end, rest[..end].to_owned()))
}

/// `2022-05-06T00:44:26.8056386Z`, with the required kind of fraction.
fn time(text: &str, fraction_is_good: impl Fn(&str) -> bool) -> Option<(usize, String)> {
    let end = text.find('Z').filter(|&end| (19..=27).contains(&end))?;
    let value = text.get(..=end)?;
    let fraction = match value.get(19..end)? {
        "" => "",
        given => given.strip_prefix('.').filter(|digits| !digits.is_empty())?,
    };
    let good = fraction.bytes().all(|b| b.is_ascii_digit())
        && fraction_is_good(fraction)
        && value.get(10..11) == Some("T")
        && DateTime::parse(value).is_some();
    good.then(|| (end + 1, value.to_owned()))
}

fn is_trimmed(fraction: &str) -> bool {
    !fraction.ends_with('0')
}

fn date(text: &str) -> Option<(usize, String)> {
    let value = text.get(..29)?;
    DateTime::parse_http(value).map(|_| (29, value.to_owned()))
}

fn guid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..36)?;
    let good = bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    });
    good.then_some(36)
}

fn token(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_graphic() || c == '"').unwrap_or(text.len());
    (end > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[track_caller]
    fn fits(template: &str, text: &str) -> Result<(), Mismatch> {
        let mut values = Values::new("http://h/dev", "dev");
        values.request_id = Some("11111111-2222-3333-4444-555555555555".to_owned());
        let pieces = values.fill(&Template::parse(template)).unwrap();
        fit(&pieces, text, &mut values)
    }

    #[track_caller]
    fn good(template: &str, text: &str) {
        assert_eq!(fits(template, text), Ok(()), "{template}");
    }

    #[track_caller]
    fn bad(template: &str, text: &str, at: usize, line: usize) {
        let mismatch = fits(template, text).unwrap_err();
        assert_eq!((mismatch.at, mismatch.line), (at, line), "{mismatch:?}");
    }

    const STAMP: &str = "2022-05-06T00:31:05.07Z";
    const TAG: &str = "W/\"datetime'2022-05-06T00%3A31%3A05.07Z'\"";

    #[test]
    fn captures_by_kind() {
        good("{any}", "");
        good("a{any}c", "abbbc");
        good("{etag:1} {stamp:1}", &format!("{TAG} {STAMP}"));
        good("{\"e\":\"{etag}\"}", "{\"e\":\"W/\\\"datetime'2022-05-06T00%3A31%3A05.07Z'\\\"\"}");
        good("m:etag=\"{etag}\"", "m:etag=\"W/&quot;datetime'2022-05-06T00%3A31%3A05.07Z'&quot;\"");
        good("{etag:1} {etag:1}", "\"0x8DC2F6A1B2C3D4E\" 0x8DC2F6A1B2C3D4E");
        good("{time}", "2022-05-06T00:31:05Z");
        good("{time7}", "2022-05-06T00:31:05.0700000Z");
        good("{seconds}", "2022-05-06T00:31:05Z");
        good("{date}", "Mon, 27 Jun 2022 20:11:08 GMT");
        good("{id}", "01234567-89ab-cdef-0123-456789abcdef");
        good("<{requestid}>", "<11111111-2222-3333-4444-555555555555>");
        good("{token}", "1!8!U21pdGg-");
    }

    #[test]
    fn captures_reject_other_values() {
        for (template, text) in [
            ("{time}", "2022-05-06T00:31:05.070Z"),
            ("{time}", "2022-05-06 00:31:05Z"),
            ("{time}", "2022-05-06T00:31:05.Z"),
            ("{time7}", "2022-05-06T00:31:05.07Z"),
            ("{seconds}", "2022-05-06T00:31:05.07Z"),
            ("{etag}", "\"0x\""),
            ("{etag}", "\"0x8DC2F6A1B2C3D4E"),
            ("{etag}", "\"datetime'2022-05-06T00%3A31%3A05.07Z'\""),
            ("{etag}", "W/\"datetime'2022-05-06T00%3a31%3a05.07Z'\""),
            ("{etag}", "W/\"datetime'2022-05-06T00:31:05.07Z'\""),
            ("{id}", "01234567-89AB-cdef-0123-456789abcdef"),
            ("{requestid}", "01234567-89ab-cdef-0123-456789abcdef"),
            ("{token}", ""),
            ("{date}", "yesterday"),
        ] {
            bad(template, text, 0, 0);
        }
        assert!(fits("{stamp:1} {stamp:1}", &format!("{STAMP} 2022-05-06T00:31:06Z")).is_err());
        assert!(fits("{etag:1} {etag:2}", &format!("{TAG} {TAG}")).is_err());
    }

    #[test]
    fn the_first_difference_is_found() {
        bad("abc", "abd", 2, 0);
        bad("abc", "ab", 2, 0);
        bad("ab", "abc", 2, 0);
        bad("a\nb{any}\nc\nd", "a\nbx\nc\ne", 7, 3);
        bad("aé", "aè", 1, 0);
        bad("a\n{id}", "a\nx", 2, 1);
    }
}
