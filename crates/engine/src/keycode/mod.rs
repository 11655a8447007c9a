//! Keys as bytes, in the order of their UTF-16 code units, with the byte 0x00 left free as a separator.
//!
//! Invariants:
//! - for all strings, `encode(a) < encode(b)` as bytes exactly when `a` sorts before `b` by UTF-16 code units;
//! - no encoding contains 0x00, so `partition 0x00 row` sorts by partition, then by row;
//! - each string has one encoding, and `decode` rejects everything else.
//!
//! The encoding is CESU-8 (a character outside the basic plane is its two surrogates, three bytes each), in which U+0000
//! is 01 01 and U+0001 is 01 02. A string without such characters equals its own UTF-8, so most keys are not copied.

use std::borrow::Cow;

use crate::types::{Bound, KeyRange};

/// Separates the partition from the row in a key.
pub const SEPARATOR: u8 = 0x00;
/// Escapes U+0000 and U+0001. It is also the lowest byte that an encoded string can begin with.
const ESCAPE: u8 = 0x01;
/// The lowest first byte of a four-byte UTF-8 character.
const FOUR_BYTES: u8 = 0xF0;

/// Bytes that are not the encoding of any string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedKey;

/// The encoding of one string; borrowed if it equals the string's UTF-8.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if is_plain(text.as_bytes()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() * 2);
    encode_slowly(&mut bytes, text);
    Cow::Owned(bytes)
}

/// Appends the encoding of one string.
pub fn encode_into(bytes: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        encode_slowly(bytes, text);
    }
}

/// Appends the encoding of a whole key: partition, separator, row.
pub fn encode_key_into(bytes: &mut Vec<u8>, partition: &str, row: &str) {
    encode_into(bytes, partition);
    bytes.push(SEPARATOR);
    encode_into(bytes, row);
}

/// Decodes a string; borrows if the encoding equals its UTF-8.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, MalformedKey> {
    if is_plain(bytes)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Ok(Cow::Borrowed(text));
    }
    decode_slowly(bytes).map(Cow::Owned).ok_or(MalformedKey)
}

/// Splits an encoded key into its encoded partition and row.
pub fn split(key: &[u8]) -> Result<(&[u8], &[u8]), MalformedKey> {
    let at = key.iter().position(|&b| b == SEPARATOR).ok_or(MalformedKey)?;
    Ok((&key[..at], &key[at + 1..]))
}

/// The partition and row of an encoded key.
pub fn decode_key(key: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>), MalformedKey> {
    let (partition, row) = split(key)?;
    Ok((decode(partition)?, decode(row)?))
}

/// A range of rows as bytes: every encoded key that is at least `start` and, if there is an `end`, below it.
///
/// Both start with the caller's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest key that can belong to the range.
    pub start: Vec<u8>,
    /// The lowest key after the range; `None` if it has no upper bound, in which case the prefix bounds it.
    pub end: Option<Vec<u8>>,
    /// The range can contain only one key: `start`.
    pub is_point: bool,
}

impl Span {
    /// The bytes of `range`, with `prefix` before each bound.
    pub fn new(prefix: &[u8], range: &KeyRange) -> Self {
        let is_point = matches!(&range.start, Bound::Included(_)) && range.start == range.end;
        Self { start: lower(prefix, &range.start), end: upper(prefix, &range.end), is_point }
    }

    /// No key can belong to it.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }
}

fn lower(prefix: &[u8], bound: &Bound) -> Vec<u8> {
    match bound {
        Bound::Open => prefix.to_vec(),
        Bound::Included(at) => key_with(prefix, &at.partition, &at.row, false),
        Bound::Excluded(at) => key_with(prefix, &at.partition, &at.row, true),
        Bound::AfterPartition(partition) => after_partition(prefix, partition),
    }
}

fn upper(prefix: &[u8], bound: &Bound) -> Option<Vec<u8>> {
    match bound {
        Bound::Open => None,
        Bound::Included(at) => Some(key_with(prefix, &at.partition, &at.row, true)),
        Bound::Excluded(at) => Some(key_with(prefix, &at.partition, &at.row, false)),
        Bound::AfterPartition(partition) => Some(after_partition(prefix, partition)),
    }
}

/// A key, or the lowest bytes after it: 0x00 sorts below any byte that can follow in a longer row.
fn key_with(prefix: &[u8], partition: &str, row: &str, after: bool) -> Vec<u8> {
    let mut key = Vec::with_capacity(prefix.len() + partition.len() + row.len() + 2);
    key.extend_from_slice(prefix);
    encode_key_into(&mut key, partition, row);
    if after {
        key.push(SEPARATOR);
    }
    key
}

/// The lowest bytes after all keys of a partition and before those of the next. In the next partition's key, this
/// position holds either a greater byte of its partition or at least an escape.
fn after_partition(prefix: &[u8], partition: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(prefix.len() + partition.len() + 1);
    key.extend_from_slice(prefix);
    encode_into(&mut key, partition);
    key.push(ESCAPE);
    key
}

/// The bytes are the same in UTF-8 and in this code.
fn is_plain(bytes: &[u8]) -> bool {
    // No early exit, so that the compiler can process many bytes at once.
    bytes.iter().fold(true, |plain, &b| plain & (b > ESCAPE) & (b < FOUR_BYTES))
}

fn encode_slowly(bytes: &mut Vec<u8>, text: &str) {
    let mut utf8 = [0; 4];
    for c in text.chars() {
        match c {
            '\0' => bytes.extend_from_slice(&[ESCAPE, 1]),
            '\u{1}' => bytes.extend_from_slice(&[ESCAPE, 2]),
            '\u{10000}'.. => {
                let mut units = [0; 2];
                for &mut unit in c.encode_utf16(&mut units) {
                    bytes.extend_from_slice(&surrogate_bytes(unit));
                }
            }
            _ => bytes.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
    }
}

fn surrogate_bytes(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]
}

fn decode_slowly(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let (c, length) = match first {
            SEPARATOR | FOUR_BYTES.. => return None,
            ESCAPE => (escaped(rest)?, 2),
            // Either a surrogate or one of U+D000..=U+D7FF.
            0xED if *rest.get(1)? >= 0xA0 => (pair(rest)?, 6),
            _ => {
                let length = 1 + usize::from(first >= 0xC0) + usize::from(first >= 0xE0);
                (std::str::from_utf8(rest.get(..length)?).ok()?.chars().next()?, length)
            }
        };
        text.push(c);
        rest = rest.get(length..)?;
    }
    Some(text)
}

fn escaped(bytes: &[u8]) -> Option<char> {
    match bytes.get(1)? {
        1 => Some('\0'),
        2 => Some('\u{1}'),
        _ => None,
    }
}

fn pair(bytes: &[u8]) -> Option<char> {
    let [0xED, a @ 0xA0..=0xAF, b @ 0x80..=0xBF, 0xED, c @ 0xB0..=0xBF, d @ 0x80..=0xBF] = *bytes.get(..6)?
    else {
        return None;
    };
    let unit = |high: u8, low: u8| 0xD000 | u16::from(high & 0x3F) << 6 | u16::from(low & 0x3F);
    char::decode_utf16([unit(a, b), unit(c, d)]).next()?.ok()
}

#[cfg(test)]
mod tests;
