//! Names of objects: `PREFIX/STREAM/OFFSET` in hexadecimal digits, so that a listing is in the order of positions.

use lazuli_engine::content::Spot;

/// The object with the number of the database that the content belongs to. It sorts after all content.
const MARKER: &str = "lazuli-content";
/// Digits of a stream.
const STREAM_DIGITS: usize = 16;
/// Digits of an offset.
const OFFSET_DIGITS: usize = 10;

/// The names in a bucket.
#[derive(Clone, Debug)]
pub struct Names {
    /// Empty, or with a trailing slash.
    prefix: String,
}

impl Names {
    /// Names below a prefix, which may be empty.
    pub fn new(prefix: &str) -> Self {
        Self { prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") } }
    }

    /// The prefix of all names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The object of a piece.
    pub fn object(&self, spot: Spot) -> String {
        format!("{}{:0STREAM_DIGITS$x}/{:0OFFSET_DIGITS$x}", self.prefix, spot.stream, spot.offset)
    }

    /// The object with the number of the database that the content belongs to.
    pub fn marker(&self) -> String {
        format!("{}{MARKER}", self.prefix)
    }

    /// A name that sorts before that of a position and after those of all earlier positions; empty if there are none.
    pub fn before(&self, spot: Spot) -> String {
        match (spot.stream, spot.offset.checked_sub(1)) {
            (stream, Some(offset)) => self.object(Spot { stream, offset }),
            (0, None) => String::new(),
            (stream, None) => {
                self.object(Spot { stream: stream - 1, offset: (1 << (4 * OFFSET_DIGITS)) - 1 })
            }
        }
    }

    /// The position in a name; `None` for other objects.
    pub fn spot(&self, name: &str) -> Option<Spot> {
        let (stream, offset) = name.strip_prefix(&self.prefix)?.split_once('/')?;
        Some(Spot { stream: digits(stream, STREAM_DIGITS)?, offset: digits(offset, OFFSET_DIGITS)? })
    }
}

fn digits(text: &str, count: usize) -> Option<u64> {
    let is_ours = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == count && text.bytes().all(is_ours)).then(|| u64::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in buckets. Lines may be added here, but never changed.
    #[test]
    fn names_sort_by_position() {
        let names = Names::new("a/b");
        let spot = Spot { stream: 5, offset: 0x2000 };
        assert_eq!(names.object(spot), "a/b/0000000000000005/0000002000");
        assert_eq!(names.before(spot), "a/b/0000000000000005/0000001fff");
        let first = Spot { stream: 5, offset: 0 };
        assert_eq!(names.before(first), "a/b/0000000000000004/ffffffffff");
        assert_eq!(names.before(Spot::START), "");
        assert_eq!(names.marker(), "a/b/lazuli-content");
        assert_eq!(Names::new("").object(spot), "0000000000000005/0000002000");
    }

    #[test]
    fn only_names_of_pieces_have_positions() {
        for prefix in ["", "a", "a/b"] {
            let names = Names::new(prefix);
            let spot = Spot { stream: u64::MAX, offset: 4096 };
            assert_eq!(names.spot(&names.object(spot)), Some(spot), "{prefix}");
            assert_eq!(names.spot(&names.marker()), None);
        }
        let names = Names::new("a");
        for other in ["a/5/10", "a/0000000000000005/00000020zz", "b/0000000000000005/0000002000", "a", ""] {
            assert_eq!(names.spot(other), None, "{other}");
        }
    }
}
