//! The rows of a queue: their keys and their bytes.
//!
//! All rows of a queue are in one partition, so that one commit can take several messages.
//!
//! | row | value |
//! |---|---|
//! | `v/<next visible>/<sequence>` | a message: [`MessageRecord`] |
//! | `c/<shard>` | a part of the number of messages: a signed number |
//! | `t` | the latest time of the queue, if it was ahead of the clock |
//! | `x/<token>` | messages that are being moved to another queue: [`super::transfer`] |
//! | `y/<token>` | messages that were moved here from another queue: [`super::transfer`] |
//!
//! Times are in ticks, with leading zeros, so that messages sort by the time of next visibility, then by insertion.

use bytes::Bytes;
use lazuli_engine::{Bound, Error, KeyPosition, KeyRange, Result, RowView};
use lazuli_model::queue::limits::MESSAGE_BYTES_MAX;
use lazuli_model::queue::{Message, Receipt};
use lazuli_model::{DateTime, Guid};

use super::transfer::{self, Transfer};

/// The partition of all rows of a queue.
pub const PARTITION: &str = "m";
/// Number of rows that share the number of messages, so that front ends do not wait for each other.
pub const COUNTERS: u64 = 16;

/// The row of the latest time of the queue.
pub const TIME: &str = "t";

/// Digits of a number in a key: enough for the largest number.
const DIGITS: usize = 20;
const MESSAGE_KEY_BYTES: usize = 2 + DIGITS + 1 + DIGITS;

const FORMAT: u8 = 1;
/// Format, expiry, insertion, id, dequeue count, nonce.
const HEAD_BYTES: usize = 1 + 8 + 8 + 16 + 4 + 8;

/// The row of a message.
pub fn message_key(next_visible: u64, sequence: u64) -> String {
    let mut key = String::with_capacity(MESSAGE_KEY_BYTES);
    key.push_str("v/");
    push_digits(&mut key, next_visible);
    key.push('/');
    push_digits(&mut key, sequence);
    key
}

/// Appends a number in [`DIGITS`] digits. Each request makes a few keys, and `format` takes several times as long.
fn push_digits(key: &mut String, mut number: u64) {
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    key.push_str(std::str::from_utf8(&digits).unwrap_or_default());
}

/// The time of next visibility and the sequence number in the row of a message.
pub fn parse_key(row: &str) -> Option<(u64, u64)> {
    let (next_visible, sequence) = row.strip_prefix("v/")?.split_once('/')?;
    Some((next_visible.parse().ok()?, sequence.parse().ok()?))
}

/// The row of a counter.
pub fn counter_key(shard: u64) -> String {
    format!("c/{:02}", shard % COUNTERS)
}

/// All messages from a row onwards, visible or not.
pub fn all(from: &str) -> KeyRange {
    let place = |row: String| KeyPosition { partition: PARTITION.into(), row };
    let start = if from.is_empty() { "v/".to_owned() } else { from.to_owned() };
    KeyRange { start: Bound::Included(place(start)), end: Bound::Excluded(place("v0".to_owned())) }
}

/// The messages from a row onwards that are visible at a time.
pub fn visible(from: &str, now: u64) -> KeyRange {
    let place = |row: String| KeyPosition { partition: PARTITION.into(), row };
    let start = if from.is_empty() { "v/".to_owned() } else { from.to_owned() };
    KeyRange { start: Bound::Included(place(start)), end: Bound::Included(place(message_key(now, u64::MAX))) }
}

/// A message as it is stored. Its key has the time of next visibility and the sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// The time at which it expires, in ticks; the largest number means never.
    pub expires: u64,
    /// The time at which it was put, in ticks.
    pub inserted: u64,
    /// Its id.
    pub id: Guid,
    /// Number of times that Get Messages has returned it.
    pub dequeue_count: u32,
    /// The secret part of its receipt.
    pub nonce: u64,
    /// The text.
    pub text: Box<str>,
}

impl MessageRecord {
    /// A message that is not stored yet.
    pub fn new(text: Box<str>) -> Self {
        Self { expires: u64::MAX, inserted: 0, id: Guid([0; 16]), dequeue_count: 0, nonce: 0, text }
    }

    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(HEAD_BYTES + self.text.len());
        out.push(FORMAT);
        out.extend_from_slice(&self.expires.to_le_bytes());
        out.extend_from_slice(&self.inserted.to_le_bytes());
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.dequeue_count.to_le_bytes());
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(self.text.as_bytes());
        out.into()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let MessageHead { expires, inserted, id, dequeue_count, nonce } = MessageHead::decode(bytes)?;
        let text = std::str::from_utf8(&bytes[HEAD_BYTES..]).map_err(|_| corrupt())?.into();
        Ok(Self { expires, inserted, id, dequeue_count, nonce, text })
    }

    /// The expiry time of the message in these bytes, without reading the rest.
    pub fn expiry_of(bytes: &[u8]) -> Result<u64> {
        let expires = bytes.get(1..9).filter(|_| bytes[0] == FORMAT).ok_or_else(corrupt)?;
        expires.try_into().map(u64::from_le_bytes).map_err(|_| corrupt())
    }

    /// The message as clients see it.
    pub fn message(self) -> Result<Message> {
        Ok(Message {
            id: self.id,
            inserted: time(self.inserted)?,
            expires: time(self.expires)?,
            dequeue_count: self.dequeue_count,
            text: self.text,
        })
    }

    /// The receipt of its state, given its key.
    pub fn receipt(&self, next_visible: u64, sequence: u64) -> Result<Receipt> {
        Ok(Receipt { next_visible: time(next_visible)?, sequence, nonce: self.nonce })
    }
}

/// A message as it is stored, without its text: see [`MessageRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    pub expires: u64,
    pub inserted: u64,
    pub id: Guid,
    pub dequeue_count: u32,
    pub nonce: u64,
}

impl MessageHead {
    /// Reads the head of a record, but not its text.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let head = bytes.first_chunk::<HEAD_BYTES>().filter(|head| head[0] == FORMAT).ok_or_else(corrupt)?;
        let number = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).map_err(|_| corrupt());
        Ok(Self {
            expires: number(1)?,
            inserted: number(9)?,
            id: Guid(head[17..33].try_into().map_err(|_| corrupt())?),
            dequeue_count: u32::from_le_bytes(head[33..37].try_into().map_err(|_| corrupt())?),
            nonce: number(37)?,
        })
    }
}

/// A time in ticks; later times than the maximum become the maximum.
pub fn time(ticks: u64) -> Result<DateTime> {
    DateTime::from_ticks(ticks.min(DateTime::MAX.ticks())).ok_or_else(corrupt)
}

/// A counter as bytes.
pub fn encode_count(count: i64) -> Bytes {
    Bytes::copy_from_slice(&count.to_le_bytes())
}

/// A counter from bytes.
pub fn decode_count(bytes: &[u8]) -> Result<i64> {
    bytes.try_into().map(i64::from_le_bytes).map_err(|_| corrupt())
}

/// A time in ticks as bytes.
pub fn encode_time(ticks: u64) -> Bytes {
    Bytes::copy_from_slice(&ticks.to_le_bytes())
}

/// A time in ticks from bytes.
pub fn decode_time(bytes: &[u8]) -> Result<u64> {
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| corrupt())
}

/// The error for a row in an unknown format.
pub fn corrupt() -> Error {
    Error::Corrupt("a row of a queue is in a format that this version cannot read".into())
}

/// Checks a row of a queue; returns the number of messages in it.
pub fn check_row(row: RowView<'_>) -> std::result::Result<u64, String> {
    let told = |error: Error| error.to_string();
    let unknown = || "a row of a queue has an unknown kind".to_owned();
    if row.partition != PARTITION {
        return Err(unknown());
    }
    match row.row.split_at_checked(2) {
        Some(("v/", _)) => {
            parse_key(row.row).ok_or_else(unknown)?;
            let record = MessageRecord::decode(row.value).map_err(told)?;
            if record.text.len() > MESSAGE_BYTES_MAX {
                return Err("its message is too long".into());
            }
            Ok(1)
        }
        Some(("c/", _)) if (0..COUNTERS).any(|shard| counter_key(shard) == row.row) => {
            decode_count(row.value).map(|_| 0).map_err(told)
        }
        Some(("x/", token)) if transfer::origin(token).is_some() => {
            Transfer::decode(row.value).map(|transfer| transfer.count()).map_err(told)
        }
        Some(("y/", token)) if transfer::origin(token).is_some() && row.value.is_empty() => Ok(0),
        None if row.row == TIME => decode_time(row.value).map(|_| 0).map_err(told),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back() {
        let record = MessageRecord {
            expires: u64::MAX,
            inserted: 5,
            id: Guid([7; 16]),
            dequeue_count: 3,
            nonce: 9,
            text: "caf\u{e9}".into(),
        };
        let bytes = record.encode();
        assert_eq!(MessageRecord::decode(&bytes), Ok(record.clone()));
        assert_eq!(MessageRecord::expiry_of(&bytes), Ok(u64::MAX));
        for end in 0..HEAD_BYTES {
            assert!(MessageRecord::decode(&bytes[..end]).is_err(), "{end}");
        }
        assert_eq!(record.message().unwrap().expires, DateTime::MAX);
    }

    /// Messages sort by the time of next visibility, then by insertion.
    #[test]
    fn keys_sort_by_visibility_then_by_insertion() {
        let keys = [(0, 0), (0, 9), (0, 10), (9, 0), (10, 0), (10, 1), (u64::MAX, 0)];
        let texts: Vec<String> =
            keys.iter().map(|&(visible, sequence)| message_key(visible, sequence)).collect();
        assert!(texts.is_sorted());
        let parsed: Vec<(u64, u64)> = texts.iter().filter_map(|text| parse_key(text)).collect();
        assert_eq!(parsed, keys);
        for bad in ["", "v/", "v/1", "c/01", "v/a/b"] {
            assert_eq!(parse_key(bad), None, "{bad}");
        }
    }
}
