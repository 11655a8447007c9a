//! All kinds of keys in the store.
//!
//! | byte | kind | rest of the key | value |
//! |---|---|---|---|
//! | 01 | the store's state | nothing | the last version, the last table id, 8 bytes each, big-endian |
//! | 02 | a row | table id (8 bytes, big-endian), partition, 00, row | the row's value |
//!
//! Partition and row are in the code of `lazuli_engine::keycode`, in which 00 does not occur. Every value is sealed:
//! see [`crate::cell`]. A number that was ever used for a kind is never used for another.

use lazuli_engine::{TableId, keycode};

const STATE: u8 = 0x01;
const ROW: u8 = 0x02;

/// Number of bytes before a row's partition.
pub const ROW_PREFIX_BYTES: usize = 9;

/// The key of the store's state.
pub const STATE_KEY: [u8; 1] = [STATE];

/// The common prefix of the keys of a table's rows.
pub fn table_prefix(table: TableId) -> [u8; ROW_PREFIX_BYTES] {
    let mut prefix = [ROW; ROW_PREFIX_BYTES];
    prefix[1..].copy_from_slice(&table.0.to_be_bytes());
    prefix
}

/// The lowest bytes after all keys of a table's rows.
pub fn table_end(table: TableId) -> Vec<u8> {
    match table.0.checked_add(1) {
        Some(next) => table_prefix(TableId(next)).to_vec(),
        None => vec![ROW + 1],
    }
}

/// Appends a row's key.
pub fn row_key_into(key: &mut Vec<u8>, table: TableId, partition: &str, row: &str) {
    key.extend_from_slice(&table_prefix(table));
    keycode::encode_key_into(key, partition, row);
}

/// A row's key.
pub fn row_key(table: TableId, partition: &str, row: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(ROW_PREFIX_BYTES + partition.len() + 1 + row.len());
    row_key_into(&mut key, table, partition, row);
    key
}

/// A decoded key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind<'a> {
    /// The store's state.
    State,
    /// A row: its table, and the encoded partition and row.
    Row(TableId, &'a [u8]),
}

/// The kind of a key; `None` if it is unknown.
pub fn kind(key: &[u8]) -> Option<KeyKind<'_>> {
    match key.split_first()? {
        (&STATE, []) => Some(KeyKind::State),
        (&ROW, rest) => {
            let (table, key) = rest.split_first_chunk()?;
            Some(KeyKind::Row(TableId(u64::from_be_bytes(*table)), key))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers on disk. Lines may be added here, but never changed or removed.
    #[test]
    fn kinds_keep_their_numbers() {
        assert_eq!(STATE_KEY, [1]);
        assert_eq!(row_key(TableId(258), "p", "r"), [2, 0, 0, 0, 0, 0, 0, 1, 2, b'p', 0, b'r']);
    }

    #[test]
    fn keys_are_read_back() {
        assert_eq!(kind(&STATE_KEY), Some(KeyKind::State));
        assert_eq!(kind(&row_key(TableId(7), "p", "")), Some(KeyKind::Row(TableId(7), b"p\0")));
        for key in [&[][..], &[1, 0], &[2, 0, 0], &[3], &[0]] {
            assert_eq!(kind(key), None, "{key:?}");
        }
    }

    #[test]
    fn a_table_ends_where_the_next_begins() {
        for table in [0, 1, 255, u64::MAX - 1, u64::MAX] {
            let (table, end) = (TableId(table), table_end(TableId(table)));
            assert!(row_key(table, "\u{ffff}", "\u{ffff}") < end);
            assert!(table_prefix(table)[..] < end[..]);
        }
        assert_eq!(table_end(TableId(1)), table_prefix(TableId(2)));
    }
}
