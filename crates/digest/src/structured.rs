//! Structured messages: content in segments with a CRC-64 each, so that damage in transit is detected before
//! the end.
//!
//! Clients send and request them with `x-ms-structured-body`. All numbers are little-endian:
//!
//! | part | bytes |
//! |---|---|
//! | head of the message | version 1 (1), length of the message (8), flags (2), number of segments (2) |
//! | head of a segment | number, from 1 on (2), length of its content (8) |
//! | content of the segment | |
//! | CRC-64 of the segment, if the flag is set | (8) |
//! | CRC-64 of all content, after the last segment, if the flag is set | (8) |

use lazuli_model::{ErrorCode, Failure};

/// The value of `x-ms-structured-body`: the only existing version and property.
pub const STRUCTURED: &str = "XSM/1.0; properties=crc64";

const VERSION: u8 = 1;
const HAS_CRC64: u16 = 1;
const HEAD_BYTES: usize = 13;
const SEGMENT_HEAD_BYTES: usize = 10;
const CRC_BYTES: usize = 8;
/// Size of the content of a segment that the server writes, unless that would result in too many segments.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The next part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    SegmentHead,
    /// With the number of remaining bytes.
    Content(u64),
    SegmentCrc,
    MessageCrc,
    End,
}

/// Reads a message piece by piece.
pub struct StructuredReader {
    state: State,
    /// The bytes of a head or checksum that have arrived.
    partial: Vec<u8>,
    /// Length of the whole message, and of the part that was read.
    message: (u64, u64),
    has_crc: bool,
    segments: u16,
    segment: u16,
    segment_crc: crc64fast_nvme::Digest,
    message_crc: crc64fast_nvme::Digest,
}

impl Default for StructuredReader {
    fn default() -> Self {
        Self {
            state: State::Head,
            partial: Vec::with_capacity(HEAD_BYTES),
            message: (0, 0),
            has_crc: false,
            segments: 0,
            segment: 0,
            segment_crc: crc64fast_nvme::Digest::new(),
            message_crc: crc64fast_nvme::Digest::new(),
        }
    }
}

impl StructuredReader {
    /// Takes the next bytes of the message. Returns the content, as ranges of these bytes.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<std::ops::Range<usize>>, Failure> {
        let mut found = Vec::new();
        let mut at = 0;
        self.message.1 += bytes.len() as u64;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if let State::Content(left) = self.state {
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                self.content(&rest[..taken], left - taken as u64);
                found.push(at..at + taken);
                at += taken;
                continue;
            }
            let wanted = match self.state {
                State::Head => HEAD_BYTES,
                State::SegmentHead => SEGMENT_HEAD_BYTES,
                State::SegmentCrc | State::MessageCrc => CRC_BYTES,
                State::Content(_) | State::End => return Err(malformed()),
            };
            let taken = (wanted - self.partial.len()).min(rest.len());
            self.partial.extend_from_slice(&rest[..taken]);
            at += taken;
            if self.partial.len() == wanted {
                let part = std::mem::take(&mut self.partial);
                self.part(&part)?;
            }
        }
        Ok(found)
    }

    /// The message has ended.
    pub fn finish(&self) -> Result<(), Failure> {
        if self.state == State::End && self.message.0 == self.message.1 { Ok(()) } else { Err(malformed()) }
    }

    fn content(&mut self, bytes: &[u8], left: u64) {
        if self.has_crc {
            self.segment_crc.write(bytes);
            self.message_crc.write(bytes);
        }
        self.state = if left > 0 { State::Content(left) } else { self.behind_content() };
    }

    fn behind_content(&self) -> State {
        if self.has_crc { State::SegmentCrc } else { self.behind_segment() }
    }

    fn behind_segment(&self) -> State {
        match (self.segment < self.segments, self.has_crc) {
            (true, _) => State::SegmentHead,
            (false, true) => State::MessageCrc,
            (false, false) => State::End,
        }
    }

    /// A head or a checksum that is complete.
    fn part(&mut self, part: &[u8]) -> Result<(), Failure> {
        match self.state {
            State::Head => {
                let flags = number(&part[9..11]);
                self.segments = u16::try_from(number(&part[11..13])).map_err(|_| malformed())?;
                if part[0] != VERSION || flags & !u64::from(HAS_CRC64) != 0 {
                    return Err(malformed());
                }
                self.message.0 = number(&part[1..9]);
                self.has_crc = flags != 0;
                self.state = self.behind_segment();
            }
            State::SegmentHead => {
                self.segment += 1;
                let length = number(&part[2..10]);
                if number(&part[..2]) != u64::from(self.segment) || length > self.message.0 {
                    return Err(malformed());
                }
                self.segment_crc = crc64fast_nvme::Digest::new();
                self.state = if length > 0 { State::Content(length) } else { self.behind_content() };
            }
            State::SegmentCrc => {
                same(part, &self.segment_crc)?;
                self.state = self.behind_segment();
            }
            State::MessageCrc => {
                same(part, &self.message_crc)?;
                self.state = State::End;
            }
            State::Content(_) | State::End => return Err(malformed()),
        }
        Ok(())
    }
}

/// Writes a message piece by piece.
pub struct StructuredWriter {
    length: u64,
    segment_bytes: u64,
    segments: u16,
    segment: u16,
    /// Remaining content of the current segment.
    left: u64,
    /// Content of all later segments.
    later: u64,
    segment_crc: crc64fast_nvme::Digest,
    message_crc: crc64fast_nvme::Digest,
}

impl StructuredWriter {
    /// A message with this number of bytes of content.
    pub fn new(length: u64) -> Self {
        Self::in_segments(length, SEGMENT_BYTES.max(length.div_ceil(u64::from(u16::MAX))))
    }

    fn in_segments(length: u64, segment_bytes: u64) -> Self {
        // This fits, since the segments are large enough.
        let segments = u16::try_from(length.div_ceil(segment_bytes).max(1)).unwrap_or(u16::MAX);
        Self {
            length,
            segment_bytes,
            segments,
            segment: 0,
            left: 0,
            later: length,
            segment_crc: crc64fast_nvme::Digest::new(),
            message_crc: crc64fast_nvme::Digest::new(),
        }
    }

    /// Length of the message.
    pub fn message_length(&self) -> u64 {
        let per_segment = (SEGMENT_HEAD_BYTES + CRC_BYTES) as u64;
        (HEAD_BYTES + CRC_BYTES) as u64 + u64::from(self.segments) * per_segment + self.length
    }

    /// The part of the message before all content.
    pub fn begin(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + SEGMENT_HEAD_BYTES);
        out.push(VERSION);
        out.extend(self.message_length().to_le_bytes());
        out.extend(HAS_CRC64.to_le_bytes());
        out.extend(self.segments.to_le_bytes());
        self.next_segment(&mut out);
        if self.length == 0 {
            self.end_segment(&mut out);
        }
        out
    }

    /// The next content, with the headers and checksums between and after its segments.
    pub fn write(&mut self, mut content: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(content.len() + 2 * (SEGMENT_HEAD_BYTES + CRC_BYTES));
        while !content.is_empty() && self.left > 0 {
            let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(content.len());
            let (now, rest) = content.split_at(taken);
            self.segment_crc.write(now);
            self.message_crc.write(now);
            out.extend_from_slice(now);
            self.left -= taken as u64;
            content = rest;
            if self.left == 0 {
                self.end_segment(&mut out);
            }
        }
        out
    }

    fn next_segment(&mut self, out: &mut Vec<u8>) {
        self.segment += 1;
        self.left = self.later.min(self.segment_bytes);
        self.later -= self.left;
        self.segment_crc = crc64fast_nvme::Digest::new();
        out.extend(self.segment.to_le_bytes());
        out.extend(self.left.to_le_bytes());
    }

    fn end_segment(&mut self, out: &mut Vec<u8>) {
        out.extend(self.segment_crc.sum64().to_le_bytes());
        if self.segment < self.segments {
            self.next_segment(out);
        } else {
            out.extend(self.message_crc.sum64().to_le_bytes());
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn same(part: &[u8], crc: &crc64fast_nvme::Digest) -> Result<(), Failure> {
    if number(part) == crc.sum64() { Ok(()) } else { Err(ErrorCode::Crc64Mismatch.into()) }
}

fn malformed() -> Failure {
    ErrorCode::InvalidInput.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(content: &[u8], segment_bytes: u64, piece: usize) -> Vec<u8> {
        let mut writer = StructuredWriter::in_segments(content.len() as u64, segment_bytes);
        let mut message = writer.begin();
        content.chunks(piece).for_each(|piece| message.extend(writer.write(piece)));
        assert_eq!(writer.message_length(), message.len() as u64);
        message
    }

    fn read(message: &[u8], piece: usize) -> Result<Vec<u8>, ErrorCode> {
        let mut reader = StructuredReader::default();
        let mut content = Vec::new();
        for piece in message.chunks(piece) {
            for range in reader.read(piece).map_err(|failure| failure.code)? {
                content.extend_from_slice(&piece[range]);
            }
        }
        reader.finish().map_err(|failure| failure.code)?;
        Ok(content)
    }

    /// The bytes of a small message, by hand.
    #[test]
    fn a_message_byte_by_byte() {
        let crc = [0x61, 0xE2, 0x4B, 0x7E, 0xCB, 0x32, 0x96, 0x65];
        let mut expected = vec![1, 50, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 11, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(b"Hello World");
        expected.extend(crc);
        expected.extend(crc);
        assert_eq!(written(b"Hello World", 100, 3), expected);
        assert_eq!(read(&expected, 7).unwrap(), b"Hello World");
    }

    #[test]
    fn a_message_without_checksums_is_read() {
        let message = [1, 25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'h', b'i'];
        assert_eq!(read(&message, 4).unwrap(), b"hi");
    }

    #[test]
    fn no_content_is_one_empty_segment() {
        let message = written(b"", 100, 1);
        assert_eq!(message.len(), HEAD_BYTES + SEGMENT_HEAD_BYTES + 2 * CRC_BYTES);
        assert_eq!(read(&message, 5).unwrap(), b"");
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let message = written(b"some content in segments", 10, 5);
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            assert!(read(&changed, 8).is_err(), "{at}");
            assert!(read(&message[..at], 8).is_err(), "{at}");
        }
        let longer = [&message[..], b"x"].concat();
        assert_eq!(read(&longer, 8), Err(ErrorCode::InvalidInput));
        let mut changed = message.clone();
        changed[HEAD_BYTES + SEGMENT_HEAD_BYTES] ^= 1;
        assert_eq!(read(&changed, 8), Err(ErrorCode::Crc64Mismatch));
    }

    proptest! {
        #[test]
        fn written_messages_are_read_back(content: Vec<u8>, segment in 1_u64..40, one in 1_usize..50, other in 1_usize..50) {
            prop_assert_eq!(read(&written(&content, segment, one), other).unwrap(), content);
        }

        #[test]
        fn arbitrary_bytes_are_rejected_or_read(bytes: Vec<u8>, piece in 1_usize..50) {
            let _ = read(&bytes, piece);
        }
    }
}
