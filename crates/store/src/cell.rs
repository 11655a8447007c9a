//! The stored form of a value: the value, its version (8 bytes, big-endian), a CRC-32 of key, value and version.
//!
//! Bytes with a wrong checksum are never served, and the key is part of the checksum, so that a value stored
//! under a wrong key is also detected. The version comes last, so that all but the last few bytes can be
//! prepared before the commit that decides it.

use bytes::{Bytes, BytesMut};
use lazuli_engine::{Error, Version};

const VERSION_BYTES: usize = 8;
const CRC_BYTES: usize = 4;
const SEAL_BYTES: usize = VERSION_BYTES + CRC_BYTES;

/// A row's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The version of the last change.
    pub version: Version,
    /// Its value.
    pub value: Bytes,
}

/// A value to be stored, before its version is known.
#[derive(Debug)]
pub struct CellBuilder {
    bytes: BytesMut,
    crc: crc32fast::Hasher,
}

impl CellBuilder {
    /// Prepares `value` to be stored under `key`.
    pub fn new(key: &[u8], value: &[u8]) -> Self {
        Self { bytes: with_room(value), crc: crc_of(key, value) }
    }

    /// Like `new`, but in the memory of `value` if that is not shared, has room for the rest, and is not much larger.
    pub fn of(key: &[u8], value: Bytes) -> Self {
        let crc = crc_of(key, &value);
        let bytes = match value.try_into_mut() {
            Ok(own) if (SEAL_BYTES..=SEAL_BYTES + own.len() / 8).contains(&(own.capacity() - own.len())) => {
                own
            }
            Ok(own) => with_room(&own),
            Err(shared) => with_room(&shared),
        };
        Self { bytes, crc }
    }

    /// The bytes to store.
    pub fn seal(self, version: Version) -> Bytes {
        let Self { mut bytes, mut crc } = self;
        let version = version.0.to_be_bytes();
        crc.update(&version);
        bytes.extend_from_slice(&version);
        bytes.extend_from_slice(&crc.finalize().to_be_bytes());
        bytes.freeze()
    }
}

fn with_room(value: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(value.len() + SEAL_BYTES);
    bytes.extend_from_slice(value);
    bytes
}

fn crc_of(key: &[u8], value: &[u8]) -> crc32fast::Hasher {
    let mut crc = crc32fast::Hasher::new();
    crc.update(key);
    crc.update(value);
    crc
}

/// The bytes to store for `value` under `key`.
pub fn seal(key: &[u8], value: &[u8], version: Version) -> Bytes {
    CellBuilder::new(key, value).seal(version)
}

/// Checks stored bytes and borrows the value in them.
pub fn view<'a>(key: &[u8], stored: &'a [u8]) -> Result<(Version, &'a [u8]), Error> {
    let (content, crc) = stored.split_last_chunk::<CRC_BYTES>().ok_or_else(|| corrupt(key, "too short"))?;
    let (value, version) =
        content.split_last_chunk::<VERSION_BYTES>().ok_or_else(|| corrupt(key, "too short"))?;
    let mut found = crc32fast::Hasher::new();
    found.update(key);
    found.update(content);
    if found.finalize().to_be_bytes() != *crc {
        return Err(corrupt(key, "the checksum does not match"));
    }
    Ok((Version(u64::from_be_bytes(*version)), value))
}

/// Checks stored bytes and shares the value in them.
pub fn open(key: &[u8], stored: Bytes) -> Result<Cell, Error> {
    let (version, value) = view(key, &stored)?;
    let length = value.len();
    Ok(Cell { version, value: stored.slice(..length) })
}

/// The value in bytes that [`view`] has checked.
pub fn value_of(stored: &Bytes) -> Bytes {
    stored.slice(..stored.len().saturating_sub(SEAL_BYTES))
}

fn corrupt(key: &[u8], why: &str) -> Error {
    Error::Corrupt(format!("the row with the key {}: {why}", key.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_what_it_seals() {
        for value in [&b""[..], b"v", &[7; 5000]] {
            let stored = seal(b"key", value, Version(9));
            assert_eq!(view(b"key", &stored).unwrap(), (Version(9), value));
            assert_eq!(value_of(&stored), value);
            let cell = open(b"key", stored.clone()).unwrap();
            assert_eq!((cell.version, &*cell.value), (Version(9), value));
            assert_eq!(cell.value.as_ptr(), stored.as_ptr(), "nothing is copied");
        }
    }

    #[test]
    fn a_value_with_room_is_sealed_where_it_is() {
        let value = |room| {
            let mut value = Vec::with_capacity(4096 + room);
            value.resize(4096, 7);
            Bytes::from(value)
        };
        for (room, is_same) in [(0, false), (SEAL_BYTES, true), (SEAL_BYTES + 100, true), (4096, false)] {
            let value = value(room);
            let place = value.as_ptr();
            let stored = CellBuilder::of(b"key", value).seal(Version(9));
            assert_eq!(stored, seal(b"key", &[7; 4096], Version(9)));
            assert_eq!(stored.as_ptr() == place, is_same, "{room}");
        }
        let shared = value(SEAL_BYTES);
        let stored = CellBuilder::of(b"key", shared.clone()).seal(Version(9));
        assert_eq!((stored, shared.len()), (seal(b"key", &[7; 4096], Version(9)), 4096));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let stored = seal(b"key", b"some value", Version(9));
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(view(b"key", &flipped), Err(Error::Corrupt(_))), "bit {bit}");
        }
        assert!(view(b"other", &stored).is_err());
        for length in 0..stored.len() {
            assert!(view(b"key", &stored[..length]).is_err());
        }
    }
}
