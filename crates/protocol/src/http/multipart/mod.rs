//! Multipart bodies of requests and responses, in all variants that clients have sent over fifteen years.
//!
//! Lines may end in CRLF or in LF alone, boundaries may be quoted, the last one may lack its dashes or be
//! missing, and there may be extra empty lines. A body is split only at its boundaries: a `Content-Length`
//! inside it is ignored, because it is often wrong.
//!
//! Parsing takes linear time: each of the two levels examines every line of its slice once.

use memchr::memchr;

use crate::http::head::Field;

/// Maximum length of a boundary; the standard says 70.
const BOUNDARY_BYTES_MAX: usize = 256;
/// Maximum number of header fields of a part, or of a message in it.
const FIELDS_MAX: usize = 64;
/// Fields that there is room for without growing.
const FIELDS_USUAL: usize = 8;
/// Maximum size of the first line of a message, and of its header fields: the same as for a separate request.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The body is not well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The boundary that a `Content-Type` of `multipart/mixed` declares. Other kinds are rejected: browsers let any
/// web page post `multipart/form-data` without a preflight.
pub fn boundary(content_type: &str) -> Option<&str> {
    let (kind, mut rest) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, next) = parameter_value(after.trim_start())?;
        if name.trim_start_matches(';').trim().eq_ignore_ascii_case("boundary") {
            return Some(value).filter(|value| (1..=BOUNDARY_BYTES_MAX).contains(&value.len()));
        }
        rest = next;
    }
    None
}

/// A value, quoted or not, and the rest of the line.
fn parameter_value(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"'),
        None => {
            let end = text.find(';').unwrap_or(text.len());
            Some((text[..end].trim(), &text[end..]))
        }
    }
}

/// Iterates over the parts of a multipart body.
pub struct Parts<'a> {
    body: &'a [u8],
    boundary: &'a [u8],
    /// Start of the next part; `None` after the last one.
    at: Option<usize>,
}

impl<'a> Parts<'a> {
    /// Finds the first boundary; everything before it is ignored. If the declared boundary does not occur, the
    /// body is split at the boundary in its first line, since some clients do not use the one that they
    /// declare.
    pub fn new(body: &'a [u8], declared: &'a str) -> Result<Self, Malformed> {
        let boundary = declared.as_bytes();
        if let Some(first) = next_delimiter(body, boundary, 0) {
            return Ok(Self { body, boundary, at: first.part_start() });
        }
        let boundary = shown_boundary(body).ok_or(Malformed)?;
        let first = next_delimiter(body, boundary, 0).ok_or(Malformed)?;
        Ok(Self { body, boundary, at: first.part_start() })
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at.take()?;
        let content = match next_delimiter(self.body, self.boundary, start) {
            Some(delimiter) => {
                self.at = delimiter.part_start();
                without_line_end(&self.body[start..delimiter.start])
            }
            None => &self.body[start..],
        };
        // If the last boundary lacks its dashes, nothing follows it.
        if self.at.is_none() && content.trim_ascii().is_empty() {
            return None;
        }
        Some(Part::parse(content))
    }
}

/// A line that separates parts.
struct Delimiter {
    /// Where its line starts.
    start: usize,
    /// The start of the next line.
    end: usize,
    is_last: bool,
}

impl Delimiter {
    fn part_start(&self) -> Option<usize> {
        (!self.is_last).then_some(self.end)
    }
}

fn next_delimiter(body: &[u8], boundary: &[u8], from: usize) -> Option<Delimiter> {
    let mut start = from;
    while start < body.len() {
        let end = memchr(b'\n', &body[start..]).map_or(body.len(), |at| start + at + 1);
        let after = body[start..end].strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary));
        match after.map(<[u8]>::trim_ascii) {
            Some(b"") => return Some(Delimiter { start, end, is_last: false }),
            Some(b"--") => return Some(Delimiter { start, end, is_last: true }),
            _ => start = end,
        }
    }
    None
}

/// The boundary in the first line that is not empty.
fn shown_boundary(body: &[u8]) -> Option<&[u8]> {
    let line = body.trim_ascii_start().split(|&b| b == b'\n').next()?.trim_ascii_end();
    let shown = line.strip_prefix(b"--")?;
    let shown = shown.strip_suffix(b"--").unwrap_or(shown);
    (1..=BOUNDARY_BYTES_MAX).contains(&shown.len()).then_some(shown)
}

/// Removes the line end before a boundary, which is part of the boundary.
fn without_line_end(content: &[u8]) -> &[u8] {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.strip_suffix(b"\r").unwrap_or(content)
}

/// A part of a multipart body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The header fields of the part itself.
    pub fields: Vec<Field<'a>>,
    /// The content.
    pub content: &'a [u8],
}

impl<'a> Part<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, Malformed> {
        let (fields, content) = fields(text)?;
        Ok(Self { fields, content })
    }

    /// The value of a header field.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }
}

/// An HTTP message in a part: its first line, its header fields and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpMessage<'a> {
    /// The request line or the status line.
    pub first_line: &'a str,
    /// The header fields.
    pub fields: Vec<Field<'a>>,
    /// The body, possibly with empty lines around it.
    pub body: &'a [u8],
}

impl<'a> HttpMessage<'a> {
    /// Parses a message.
    pub fn parse(content: &'a [u8]) -> Result<Self, Malformed> {
        let content = content.trim_ascii_start();
        let (line, rest) = split_line(content);
        if line.len() > HEAD_BYTES_MAX {
            return Err(Malformed);
        }
        let first_line = text(line)?.trim_end();
        let (fields, body) = fields(rest)?;
        Ok(Self { first_line, fields, body })
    }

    /// The status of a response.
    pub fn status(&self) -> Result<u16, Malformed> {
        let mut words = self.first_line.split_ascii_whitespace();
        let protocol = words.next().ok_or(Malformed)?;
        let status = words.next().and_then(|word| word.parse().ok());
        status.filter(|_| protocol.starts_with("HTTP/")).ok_or(Malformed)
    }

    /// The value of a header field.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// Verb and target of a request. The target may contain spaces, and the protocol may be missing.
    pub fn request_line(&self) -> Result<(&'a str, &'a str), Malformed> {
        let (method, rest) = self.first_line.split_once(' ').ok_or(Malformed)?;
        let target = match rest.rsplit_once(' ') {
            Some((target, protocol)) if protocol.starts_with("HTTP/") => target,
            _ => rest,
        };
        let target = target.trim();
        if target.is_empty() { Err(Malformed) } else { Ok((method, target)) }
    }
}

/// Reads header fields up to the empty line, and returns the bytes after it.
fn fields(start: &[u8]) -> Result<(Vec<Field<'_>>, &[u8]), Malformed> {
    let mut fields = Vec::with_capacity(FIELDS_USUAL);
    let mut rest = start;
    while !rest.is_empty() {
        let (line, after) = split_folded(rest);
        rest = after;
        if start.len() - rest.len() > HEAD_BYTES_MAX {
            return Err(Malformed);
        }
        let line = text(line)?.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(Malformed)?;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()) || fields.len() == FIELDS_MAX {
            return Err(Malformed);
        }
        fields.push(Field { name, value: value.trim() });
    }
    Ok((fields, rest))
}

/// A line, and the bytes after it.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr(b'\n', text).map_or(text.len(), |at| at + 1))
}

/// A header line with its continuation lines: those that start with a space or tab and are not empty.
fn split_folded(text: &[u8]) -> (&[u8], &[u8]) {
    let (first, mut rest) = split_line(text);
    let mut length = first.len();
    if first.trim_ascii().is_empty() {
        return (first, rest);
    }
    while rest.first().is_some_and(|b| matches!(b, b' ' | b'\t')) {
        let (line, after) = split_line(rest);
        if line.trim_ascii().is_empty() {
            break;
        }
        length += line.len();
        rest = after;
    }
    text.split_at(length)
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests;
