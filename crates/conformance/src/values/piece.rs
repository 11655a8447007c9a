//! A partly filled template: literals, and captures: placeholders that the response fills.

/// Maximum length that one template may expand to; transcripts test limits of a few megabytes.
pub(super) const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The kind of value that a capture accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// Anything up to the next literal.
    Any,
    /// An ETag, with quotes as in a header, in JSON or in XML.
    Etag,
    /// The Timestamp that corresponds to the ETag of the same name.
    Stamp,
    /// A time with its fraction trimmed.
    Time,
    /// A time with seven digits of fraction.
    Time7,
    /// A time without fraction.
    Seconds,
    /// An HTTP date.
    Date,
    /// A GUID in lower case.
    Id,
    /// The `x-ms-request-id` of this response.
    RequestId,
    /// A continuation token.
    Token,
}

/// A template in which everything that is known before the response is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A literal.
    Text(String),
    /// A placeholder that the response fills, with its name if it has one, and its line in the template.
    Capture(Capture, Option<String>, usize),
}

/// The ETag for a Timestamp, or for the number of a blob's version, as in a header.
pub(crate) fn etag_of(stamp: &str) -> String {
    if stamp.starts_with("0x") {
        return format!("\"{stamp}\"");
    }
    format!("W/\"datetime'{}'\"", stamp.replace(':', "%3A"))
}

/// The ETag and the Timestamp of the same name are two formats of one value.
pub(super) fn key_of(kind: Capture, name: &str) -> String {
    let kind = match kind {
        Capture::Any => "any",
        Capture::Etag | Capture::Stamp => "etag",
        Capture::Time | Capture::Time7 | Capture::Seconds => "time",
        Capture::Date => "date",
        Capture::Id | Capture::RequestId => "id",
        Capture::Token => "token",
    };
    format!("{kind}:{name}")
}

/// The kind of value for the placeholder with this name; `None` if the response does not fill it.
pub(super) fn capture_of(name: &str) -> Option<Capture> {
    Some(match name {
        "any" => Capture::Any,
        "etag" => Capture::Etag,
        "stamp" => Capture::Stamp,
        "time" => Capture::Time,
        "time7" => Capture::Time7,
        "seconds" => Capture::Seconds,
        "date" => Capture::Date,
        "id" => Capture::Id,
        "requestid" => Capture::RequestId,
        "token" => Capture::Token,
        _ => return None,
    })
}

/// Pieces with adjacent literals joined, and a limit on their total size.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    bytes: usize,
}

impl Pieces {
    pub(super) fn text(&mut self, text: &str) -> Result<(), String> {
        self.bytes += text.len();
        if self.bytes > TEXT_BYTES_MAX {
            return Err("the template expands to too much text".to_owned());
        }
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
        Ok(())
    }
}
