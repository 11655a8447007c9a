//! Ranges of bytes: computes the bytes to send from the header of a request and the size of a blob.

use crate::{ErrorCode, Failure};

/// A range in a request: `bytes=first-last` or `bytes=first-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub first: u64,
    /// The last byte, inclusive; `None` for an open range.
    pub last: Option<u64>,
}

impl ByteRange {
    /// Reads the value of `Range` or `x-ms-range`. `None` for every other form (several ranges, suffixes, other
    /// units), which are ignored.
    ///
    /// ```
    /// use lazuli_model::blob::ByteRange;
    ///
    /// assert_eq!(ByteRange::parse("bytes=0-511"), Some(ByteRange { first: 0, last: Some(511) }));
    /// assert_eq!(ByteRange::parse("bytes=512-"), Some(ByteRange { first: 512, last: None }));
    /// assert_eq!(ByteRange::parse("bytes=-512"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (unit, range) = text.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = range.split_once('-')?;
        let first = number(first.trim())?;
        let last = match last.trim() {
            "" => None,
            text => Some(number(text)?),
        };
        last.is_none_or(|last| first <= last).then_some(Self { first, last })
    }

    /// The number of bytes, if the range is not open.
    pub fn length(self) -> Option<u64> {
        self.last.map(|last| (last - self.first).saturating_add(1))
    }
}

/// A number of any length: one that is too large counts as the largest.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The bytes of a blob that a response contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseExtent {
    /// All of them: 200.
    Full,
    /// Some of them: 206. The last byte is inclusive and exists.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte, included.
        last: u64,
    },
}

impl ResponseExtent {
    /// The bytes of a blob of `size` bytes for a request for `range`; `None` if there are none (416).
    ///
    /// The range of an empty blob is never satisfiable. Clients rely on this to detect empty blobs.
    pub fn resolve(range: Option<ByteRange>, size: u64) -> Option<Self> {
        let Some(range) = range else { return Some(ResponseExtent::Full) };
        let end = size.checked_sub(1)?;
        (range.first <= end).then(|| ResponseExtent::Part {
            first: range.first,
            last: range.last.map_or(end, |last| last.min(end)),
        })
    }

    /// The failure if [`ResponseExtent::resolve`] finds nothing. Its response states the size in
    /// `Content-Range`, which shows clients that a blob is empty.
    pub fn unsatisfiable(size: u64) -> Failure {
        Failure::from(ErrorCode::InvalidRange).detail("Content-Range", format!("bytes */{size}"))
    }

    /// The same range as offset and length, for a blob of `size` bytes.
    pub fn span(self, size: u64) -> (u64, u64) {
        match self {
            ResponseExtent::Full => (0, size),
            ResponseExtent::Part { first, last } => (first, last - first + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_forms() {
        let range = |first, last| Some(ByteRange { first, last });
        for (text, expected) in [
            ("bytes=0-0", range(0, Some(0))),
            ("bytes=0-", range(0, None)),
            ("Bytes = 1 - 2 ", range(1, Some(2))),
            ("bytes=5-99999999999999999999999", range(5, Some(u64::MAX))),
            ("bytes=2-1", None),
            ("bytes=-1", None),
            ("bytes=", None),
            ("bytes=-", None),
            ("bytes=a-b", None),
            ("bytes=+1-2", None),
            ("bytes=0-1,3-4", None),
            ("items=0-1", None),
            ("0-1", None),
            ("", None),
        ] {
            assert_eq!(ByteRange::parse(text), expected, "{text}");
        }
        assert_eq!(ByteRange { first: 0, last: Some(u64::MAX) }.length(), Some(u64::MAX));
    }

    #[test]
    fn resolution() {
        let part = |first, last| Some(ResponseExtent::Part { first, last });
        for (text, size, expected) in [
            ("", 10, Some(ResponseExtent::Full)),
            ("", 0, Some(ResponseExtent::Full)),
            ("bytes=0-", 10, part(0, 9)),
            ("bytes=0-3", 10, part(0, 3)),
            ("bytes=9-9", 10, part(9, 9)),
            ("bytes=5-100", 10, part(5, 9)),
            ("bytes=10-", 10, None),
            ("bytes=11-12", 10, None),
            ("bytes=0-", 0, None),
            ("bytes=0-33554431", 0, None),
            ("bytes=0-99999999999999999999", u64::MAX, part(0, u64::MAX - 1)),
        ] {
            assert_eq!(ResponseExtent::resolve(ByteRange::parse(text), size), expected, "{text} of {size}");
        }
        assert_eq!(ResponseExtent::Full.span(7), (0, 7));
        assert_eq!(ResponseExtent::Part { first: 2, last: 5 }.span(7), (2, 4));
    }
}
