//! The head of a request: its end, its fields, and the framing of its body.
//!
//! A head that two servers in a row could interpret differently is rejected: a body with both a length and
//! chunks, more than one length, unknown transfer codings, more than one Host.

use lazuli_protocol::http::head::Field;
use memchr::memchr;

/// Number of fields that most heads do not exceed: these need no allocation while the head is parsed.
const FIELDS_USUAL: usize = 32;

/// How the body of a request is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length, which may be zero.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// A head, taken apart.
#[derive(Debug)]
pub struct RequestHead<'a> {
    /// The HTTP verb.
    pub method: &'a str,
    /// The request target.
    pub target: &'a str,
    /// The header fields in order.
    pub fields: Vec<Field<'a>>,
    /// How the body is delimited.
    pub framing: Framing,
    /// May the connection be used again?
    pub keep_alive: bool,
    /// Must the response say so explicitly? Without the header, an HTTP/1.0 client assumes the opposite.
    pub says_keep_alive: bool,
    /// Does the client wait for `100 Continue` before it sends the body?
    pub expects_continue: bool,
}

/// Why a head is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// It is not HTTP/1.x, or could be understood in two ways.
    Malformed,
    /// More header fields than allowed.
    TooManyFields,
    /// A transfer coding other than `chunked`.
    UnknownCoding,
    /// An expectation other than `100-continue`.
    UnknownExpectation,
}

/// The position after the head in `buffer`, just after the empty line, searching from `from`.
pub fn find_head_end(buffer: &[u8], from: usize) -> Option<usize> {
    // Go back far enough to find an empty line that has arrived in part.
    let start = from.saturating_sub(3);
    let mut at = start;
    while let Some(found) = memchr(b'\n', &buffer[at..]) {
        let after = at + found + 1;
        match buffer[after..] {
            [b'\n', ..] => return Some(after + 1),
            [b'\r', b'\n', ..] => return Some(after + 2),
            _ => at = after,
        }
    }
    None
}

impl<'a> RequestHead<'a> {
    /// Parses a whole head.
    pub fn parse(bytes: &'a [u8], fields_max: usize) -> Result<Self, HeadError> {
        let mut few = [httparse::EMPTY_HEADER; FIELDS_USUAL];
        match Self::parse_into(bytes, &mut few[..fields_max.min(FIELDS_USUAL)]) {
            Err(HeadError::TooManyFields) if fields_max > FIELDS_USUAL => {
                Self::parse_into(bytes, &mut vec![httparse::EMPTY_HEADER; fields_max])
            }
            parsed => parsed,
        }
    }

    fn parse_into(bytes: &'a [u8], slots: &mut [httparse::Header<'a>]) -> Result<Self, HeadError> {
        let mut request = httparse::Request::new(slots);
        match request.parse(bytes) {
            // If the parser found a different end than this code, some bytes would never be read.
            Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
            Ok(_) => return Err(HeadError::Malformed),
            Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooManyFields),
            Err(_) => return Err(HeadError::Malformed),
        }
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
        else {
            return Err(HeadError::Malformed);
        };
        // Checking all of it is faster than checking each value. If the check fails, some value may still be valid.
        let text = std::str::from_utf8(bytes).ok();
        let mut fields = Vec::with_capacity(request.headers.len());
        for header in request.headers.iter() {
            let checked = text.and_then(|text| part_of(text, header.value));
            let value = match checked.map_or_else(|| std::str::from_utf8(header.value), Ok) {
                Ok(value) => value,
                Err(_) if is_only_logged(header.name) => continue,
                Err(_) => return Err(HeadError::Malformed),
            };
            // The parser has removed the surrounding white space.
            fields.push(Field { name: header.name, value });
        }
        let framing = framing(&fields, minor)?;
        if all(&fields, "host").count() > 1 {
            return Err(HeadError::Malformed);
        }
        let keep_alive = keep_alive(&fields, minor);
        let expects_continue = expects_continue(&fields, minor)?;
        let says_keep_alive = keep_alive && minor == 0;
        Ok(Self { method, target, fields, framing, keep_alive, says_keep_alive, expects_continue })
    }
}

/// The bytes as a slice of the string that they were taken from; `None` if they are not part of it.
fn part_of<'a>(text: &'a str, bytes: &[u8]) -> Option<&'a str> {
    let start = bytes.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    text.get(start..start.checked_add(bytes.len())?)
}

/// Can an unreadable field be ignored? HTTP allows bytes of any charset in it, so an unreadable value counts as
/// absent and is no reason to reject the request.
fn is_only_logged(name: &str) -> bool {
    ["user-agent", "referer", "x-ms-client-request-id"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn all<'f, 'a>(fields: &'f [Field<'a>], name: &'static str) -> impl Iterator<Item = &'a str> + use<'f, 'a> {
    fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

fn framing(fields: &[Field<'_>], minor: u8) -> Result<Framing, HeadError> {
    let mut codings = all(fields, "transfer-encoding");
    let mut lengths = all(fields, "content-length");
    match (codings.next(), lengths.next()) {
        (None, None) => Ok(Framing::Length(0)),
        (Some(_), Some(_)) => Err(HeadError::Malformed),
        (Some(coding), None) => match codings.next() {
            _ if minor == 0 => Err(HeadError::Malformed),
            None if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
            _ => Err(HeadError::UnknownCoding),
        },
        (None, Some(length)) => {
            if lengths.next().is_some() || !length.bytes().all(|b| b.is_ascii_digit()) {
                return Err(HeadError::Malformed);
            }
            length.parse().map(Framing::Length).map_err(|_| HeadError::Malformed)
        }
    }
}

fn keep_alive(fields: &[Field<'_>], minor: u8) -> bool {
    let says = |word: &str| {
        let mut options = all(fields, "connection").flat_map(|value| value.split(',')).map(str::trim);
        options.any(|option| option.eq_ignore_ascii_case(word))
    };
    !says("close") && (minor >= 1 || says("keep-alive"))
}

fn expects_continue(fields: &[Field<'_>], minor: u8) -> Result<bool, HeadError> {
    match all(fields, "expect").next() {
        None => Ok(false),
        Some(value) if value.eq_ignore_ascii_case("100-continue") => Ok(minor >= 1),
        Some(_) => Err(HeadError::UnknownExpectation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<(Framing, bool), HeadError> {
        RequestHead::parse(head.as_bytes(), 20).map(|head| (head.framing, head.keep_alive))
    }

    #[track_caller]
    fn check(fields: &str, expected: Result<Framing, HeadError>) {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(parse(&head).map(|(framing, _)| framing), expected, "{fields}");
    }

    /// A head that two servers in a row could interpret differently is rejected.
    #[test]
    fn ambiguous_framing_is_rejected() {
        check("", Ok(Framing::Length(0)));
        check("Content-Length: 5\r\n", Ok(Framing::Length(5)));
        check("Content-Length: 5\r\nContent-Length: 5\r\n", Err(HeadError::Malformed));
        check("Content-Length: 5\r\nContent-Length: 6\r\n", Err(HeadError::Malformed));
        check("Content-Length: +5\r\n", Err(HeadError::Malformed));
        check("Content-Length: 5, 5\r\n", Err(HeadError::Malformed));
        check("Content-Length: 99999999999999999999\r\n", Err(HeadError::Malformed));
        check("Content-Length: \r\n", Err(HeadError::Malformed));
        check("Transfer-Encoding: chunked\r\n", Ok(Framing::Chunked));
        check("Transfer-Encoding: Chunked\r\n", Ok(Framing::Chunked));
        check("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Err(HeadError::Malformed));
        check("Transfer-Encoding: gzip, chunked\r\n", Err(HeadError::UnknownCoding));
        check("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", Err(HeadError::UnknownCoding));
        check("Transfer-Encoding : chunked\r\n", Err(HeadError::Malformed));
        check("Transfer-Encoding: \x0bchunked\r\n", Err(HeadError::Malformed));
        check("Host: b\r\n", Err(HeadError::Malformed));
        check(" folded: x\r\n", Err(HeadError::Malformed));
        check("Expect: the-unexpected\r\n", Err(HeadError::UnknownExpectation));
    }

    #[test]
    fn only_what_decides_nothing_may_be_unreadable() {
        let names = |field: &[u8]| {
            let bytes = [b"GET / HTTP/1.1\r\nHost: a\r\n", field, b"\r\n\r\n"].concat();
            RequestHead::parse(&bytes, 20)
                .map(|head| head.fields.iter().map(|field| field.name.to_owned()).collect::<Vec<_>>())
        };
        for field in [&b"User-Agent: caf\xe9"[..], b"referer: \xff", b"x-ms-client-request-id: \xe9"] {
            assert_eq!(names(field), Ok(vec!["Host".to_owned()]));
        }
        assert_eq!(
            names("User-Agent: caf\u{e9}".as_bytes()),
            Ok(vec!["Host".to_owned(), "User-Agent".to_owned()])
        );
        for field in
            [&b"If-Match: \xe9"[..], b"Content-Length: 5\xe9", b"Transfer-Encoding: \xe9", b"Other: \xe9"]
        {
            assert_eq!(names(field), Err(HeadError::Malformed));
        }
    }

    #[test]
    fn values_come_without_the_space_around_them() {
        let bytes = b"GET / HTTP/1.1\r\nHost: \t a b\t \r\nEmpty:\r\nSpaces: \t\r\nEnd:x\r\n\r\n";
        let head = RequestHead::parse(bytes, 20).unwrap();
        let values: Vec<&str> = head.fields.iter().map(|field| field.value).collect();
        assert_eq!(values, ["a b", "", "", "x"]);
    }

    #[test]
    fn a_part_is_found_only_in_its_text() {
        let text = String::from("abcdef");
        assert_eq!(part_of(&text, &text.as_bytes()[2..4]), Some("cd"));
        let parts = [&text[..3], &text[3..]];
        assert_eq!(part_of(parts[1], parts[0].as_bytes()), None);
        assert_eq!(part_of(parts[0], parts[1].as_bytes()), None);
    }

    #[test]
    fn persistence() {
        assert!(parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().1);
        assert!(!parse("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap().1);
        assert!(!parse("GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n").unwrap().1);
        assert!(!parse("GET / HTTP/1.0\r\n\r\n").unwrap().1);
        assert!(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap().1);
        assert!(!parse("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n").unwrap().1);
        assert_eq!(parse("GET / HTTP/2.0\r\n\r\n"), Err(HeadError::Malformed));
        assert_eq!(parse("GET /\r\n\r\n"), Err(HeadError::Malformed));
    }

    #[test]
    fn heads_end_at_the_empty_line() {
        assert_eq!(find_head_end(b"GET / HTTP/1.1\r\n\r\nrest", 0), Some(18));
        assert_eq!(find_head_end(b"GET / HTTP/1.1\n\nrest", 0), Some(16));
        assert_eq!(find_head_end(b"GET / HTTP/1.1\r\n\r", 0), None);
        let whole = b"GET / HTTP/1.1\r\nA: b\r\n\r\n";
        for from in 0..whole.len() {
            assert_eq!(find_head_end(whole, from), Some(whole.len()), "{from}");
        }
    }
}
