//! Primitives of the blob records: numbers of variable length, length-prefixed bytes, tagged fields.
//!
//! Invariant: no count or length in a record is trusted beyond the remaining bytes.

use std::ops::Range;

use bytes::Bytes;
use lazuli_engine::content::{PIECE_ENCODED_BYTES, Piece};
use lazuli_engine::{Error, Result};

/// The error for bytes that are not a valid record.
pub fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a record of the blob service cannot be read: {what}"))
}

/// Builds a record.
#[derive(Default)]
pub struct Encoder(Vec<u8>);

/// Spare capacity after a record, so that an engine can store it without copying it.
const SPARE_BYTES: usize = 16;

impl Encoder {
    /// A record that starts with these bytes.
    pub fn starting_with(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// A record of about this many bytes.
    pub fn for_record(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes + SPARE_BYTES))
    }

    /// Seven bits per byte, the lowest first.
    pub fn number(&mut self, mut number: u64) -> &mut Self {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    /// Bytes with a length prefix.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.raw(bytes)
    }

    /// Bytes without their length.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The name of stored bytes.
    pub fn piece(&mut self, piece: &Piece) -> &mut Self {
        self.raw(&piece.encode())
    }

    /// A field: tag, length, value. Callers omit fields with default values.
    pub fn field(&mut self, tag: u8, write: impl FnOnce(&mut Encoder)) -> &mut Self {
        self.0.push(tag);
        // Most lengths take one byte; a longer one moves the value.
        let start = self.0.len();
        self.0.push(0);
        write(self);
        let length = self.0.len() - start - 1;
        if length < 0x80 {
            self.0[start] = length as u8;
        } else {
            let mut encoded = Encoder::default();
            encoded.number(length as u64);
            self.0.splice(start..=start, encoded.0);
        }
        self
    }

    /// A field whose length is known: its value is written once and does not move.
    pub fn field_of(&mut self, tag: u8, length: usize, write: impl FnOnce(&mut Encoder)) -> &mut Self {
        self.0.push(tag);
        self.number(length as u64);
        let start = self.0.len();
        write(self);
        debug_assert_eq!(self.0.len() - start, length, "the length of field {tag}");
        self
    }

    /// Writes a field with a string, if there is one.
    pub fn text_field(&mut self, tag: u8, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.0.push(tag);
            self.bytes(text.as_bytes());
        }
        self
    }

    /// A field with a number, unless it is 0.
    pub fn number_field(&mut self, tag: u8, number: u64) -> &mut Self {
        if number == 0 {
            self
        } else {
            self.field(tag, |value| {
                value.number(number);
            })
        }
    }

    /// Number of bytes written so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The record.
    pub fn finish(self) -> Bytes {
        self.0.into()
    }
}

/// Reads a record. Parts of it share its memory.
#[derive(Clone)]
pub struct Decoder {
    record: Bytes,
    /// The next byte to read, and the end of the part that is being read.
    at: usize,
    end: usize,
}

impl Decoder {
    /// Reads these bytes.
    pub fn new(record: Bytes) -> Self {
        Self { at: 0, end: record.len(), record }
    }

    /// Was everything read?
    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        let byte = self.left().first().copied().ok_or_else(|| corrupt("it is too short"))?;
        self.at += 1;
        Ok(byte)
    }

    /// See [`Encoder::number`].
    pub fn number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(corrupt("a number is too large"))
    }

    /// A number that must fit a smaller type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T> {
        T::try_from(self.number()?).map_err(|_| corrupt("a number is too large"))
    }

    /// A count of items, each of which takes at least one byte.
    pub fn count(&mut self) -> Result<usize> {
        let count: usize = self.small()?;
        if count > self.left().len() { Err(corrupt("a count is too large")) } else { Ok(count) }
    }

    /// See [`Encoder::bytes`].
    pub fn bytes(&mut self) -> Result<Bytes> {
        let length = self.small()?;
        let range = self.take(length)?;
        Ok(self.record.slice(range))
    }

    /// Bytes with a length prefix, as a string.
    pub fn text(&mut self) -> Result<String> {
        let length = self.small()?;
        let range = self.take(length)?;
        let text = std::str::from_utf8(&self.record[range]);
        text.map(str::to_owned).map_err(|_| corrupt("a string is not UTF-8"))
    }

    /// The name of stored bytes.
    pub fn piece(&mut self) -> Result<Piece> {
        let bytes = self.array::<PIECE_ENCODED_BYTES>()?;
        Piece::decode(&bytes).ok_or_else(|| corrupt("the name of a piece is invalid"))
    }

    /// A fixed number of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let range = self.take(N)?;
        self.record[range].first_chunk().copied().ok_or_else(|| corrupt("it is too short"))
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> Bytes {
        let rest = self.record.slice(self.at..self.end);
        self.at = self.end;
        rest
    }

    /// Reads fields up to the end. Each tag occurs once and in ascending order, so that a record has one encoding.
    pub fn fields(&mut self, mut read: impl FnMut(u8, &mut Decoder) -> Result<()>) -> Result<()> {
        let mut last = None;
        while !self.is_empty() {
            let tag = self.byte()?;
            if last.is_some_and(|last| tag <= last) {
                return Err(corrupt("its fields are not in order"));
            }
            last = Some(tag);
            let length: usize = self.small()?;
            if length > self.left().len() {
                return Err(corrupt("it is too short"));
            }
            // Uses the same decoder, limited to the field: a copy would cost more than most fields.
            let end = std::mem::replace(&mut self.end, self.at + length);
            read(tag, self)?;
            self.finish()?;
            self.end = end;
        }
        Ok(())
    }

    /// Fails unless all bytes were read.
    pub fn finish(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(corrupt("it is too long")) }
    }

    fn left(&self) -> &[u8] {
        &self.record[self.at..self.end]
    }

    /// Skips bytes, and returns their position.
    fn take(&mut self, length: usize) -> Result<Range<usize>> {
        if length > self.left().len() {
            return Err(corrupt("it is too short"));
        }
        let start = self.at;
        self.at += length;
        Ok(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut encoder = Encoder::default();
            encoder.number(number);
            let bytes = encoder.finish();
            assert!(bytes.len() <= 10);
            let mut decoder = Decoder::new(bytes.clone());
            assert_eq!(decoder.number(), Ok(number));
            decoder.finish().unwrap();
            assert!(Decoder::new(bytes.slice(..bytes.len() - 1)).number().is_err(), "{number}");
        }
        assert!(Decoder::new(Bytes::from_static(&[0xff; 11])).number().is_err());
    }

    #[test]
    fn fields_occur_once_and_in_order() {
        let record = |tags: &[u8]| {
            let mut encoder = Encoder::default();
            tags.iter().for_each(|tag| {
                encoder.number_field(*tag, 7);
            });
            let mut seen = vec![];
            Decoder::new(encoder.finish()).fields(|tag, value| {
                seen.push((tag, value.number()?));
                Ok(())
            })?;
            Ok::<_, Error>(seen)
        };
        assert_eq!(record(&[1, 3]), Ok(vec![(1, 7), (3, 7)]));
        assert!(record(&[3, 1]).is_err());
        assert!(record(&[1, 1]).is_err());
    }

    #[test]
    fn fields_have_any_length() {
        for length in [0, 1, 0x7e, 0x7f, 0x80, 0x3fff, 0x4000, 70_000] {
            let mut encoder = Encoder::default();
            encoder
                .number_field(1, 5)
                .field(2, |value| {
                    value.raw(&vec![9; length]);
                })
                .text_field(3, Some("after"));
            let mut seen = 0;
            let read = Decoder::new(encoder.finish()).fields(|tag, value| {
                seen += 1;
                match tag {
                    1 => assert_eq!(value.number()?, 5),
                    2 => assert_eq!(value.rest(), vec![9; length]),
                    _ => assert_eq!(value.rest(), "after"),
                }
                Ok(())
            });
            assert_eq!((read, seen), (Ok(()), 3), "{length}");
        }
    }

    #[test]
    fn a_field_is_not_read_beyond_its_end() {
        let mut encoder = Encoder::default();
        encoder.number_field(1, 5).number_field(2, 6);
        let bytes = encoder.finish();
        let read =
            |read: fn(&mut Decoder) -> Result<()>| Decoder::new(bytes.clone()).fields(|_, value| read(value));
        assert!(read(|value| value.number().map(drop)).is_ok());
        assert!(read(|value| value.number().and_then(|_| value.byte()).map(drop)).is_err());
        assert!(read(|value| value.array::<2>().map(drop)).is_err());
        assert!(read(|_| Ok(())).is_err(), "a field must be read to its end");
    }

    #[test]
    fn lengths_are_checked() {
        let mut encoder = Encoder::default();
        encoder.number(u64::MAX);
        let bytes = encoder.finish();
        assert!(Decoder::new(bytes.clone()).bytes().is_err());
        assert!(Decoder::new(bytes).count().is_err());
    }
}
