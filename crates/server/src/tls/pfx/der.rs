//! Reads DER, and the few forms of BER that programs write into PFX files, without indefinite lengths.

/// Tags of the elements that are used.
pub const INTEGER: u8 = 0x02;
pub const OCTET_STRING: u8 = 0x04;
pub const OID: u8 = 0x06;
pub const SEQUENCE: u8 = 0x30;
/// `[0]`, with an element inside.
pub const CONTEXT_0: u8 = 0xa0;
/// `[0]`, in place of an OCTET STRING, whole or in parts.
pub const IMPLICIT_0: u8 = 0x80;
/// An OCTET STRING in parts.
const OCTET_STRINGS: u8 = 0x24;

/// Elements that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct DerReader<'a>(pub &'a [u8]);

impl<'a> DerReader<'a> {
    /// The next element, with its tag; `None` at the end, or if it is truncated.
    pub fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let [tag, first, rest @ ..] = self.0 else { return None };
        let (length, rest) = match *first {
            short @ 0..=0x7f => (usize::from(short), rest),
            // At most four bytes: no file is that large.
            long @ 0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The content of the next element if it has this tag.
    pub fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (found, content) = ahead.next()?;
        if found != tag {
            return None;
        }
        *self = ahead;
        Some(content)
    }

    /// The elements in the next element if it has this tag.
    pub fn enter(&mut self, tag: u8) -> Option<DerReader<'a>> {
        self.take(tag).map(DerReader)
    }

    /// A number that fits 32 bits.
    pub fn number(&mut self) -> Option<u32> {
        let bytes = self.take(INTEGER)?;
        let significant = bytes.iter().position(|byte| *byte != 0).map_or(&[][..], |at| &bytes[at..]);
        let is_negative = bytes.first().is_none_or(|first| *first >= 0x80);
        (!is_negative && significant.len() <= 4)
            .then(|| significant.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    /// An OCTET STRING, whole or in parts, or one that is tagged `[0]`.
    pub fn octets(&mut self) -> Option<Vec<u8>> {
        match self.next()? {
            (OCTET_STRING | IMPLICIT_0, whole) => Some(whole.to_vec()),
            (OCTET_STRINGS | CONTEXT_0, parts) => {
                let (mut parts, mut whole) = (DerReader(parts), Vec::new());
                while !parts.0.is_empty() {
                    whole.extend_from_slice(parts.take(OCTET_STRING)?);
                }
                Some(whole)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_numbers() {
        let mut reader = DerReader(&[SEQUENCE, 6, INTEGER, 2, 0, 200, OID, 0, OCTET_STRING, 1, 7]);
        let mut inner = reader.enter(SEQUENCE).unwrap();
        assert_eq!(inner.number(), Some(200));
        assert_eq!(inner.take(OCTET_STRING), None);
        assert_eq!(inner.take(OID), Some(&[][..]));
        assert_eq!((inner.next(), reader.octets()), (None, Some(vec![7])));
        for bad in [&[INTEGER, 0][..], &[INTEGER, 1, 0x80], &[INTEGER, 6, 1, 1, 1, 1, 1, 1], &[OID, 1, 1]] {
            assert_eq!(DerReader(bad).number(), None);
        }
    }

    #[test]
    fn lengths_are_checked() {
        let long = [&[OCTET_STRING, 0x82, 1, 0][..], &[9; 256]].concat();
        assert_eq!(DerReader(&long).octets(), Some(vec![9; 256]));
        for end in 0..long.len() {
            assert_eq!(DerReader(&long[..end]).octets(), None, "{end}");
        }
        for bad in [&[OCTET_STRING, 0x80, 0, 0][..], &[OCTET_STRING, 0x85, 0, 0, 0, 0, 1, 1], &[OCTET_STRING]]
        {
            assert_eq!(DerReader(bad).octets(), None);
        }
        let parts = [CONTEXT_0, 6, OCTET_STRING, 1, 1, OCTET_STRING, 1, 2];
        assert_eq!(DerReader(&parts).octets(), Some(vec![1, 2]));
    }
}
