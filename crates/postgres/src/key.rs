//! Keys in the database: bytes in the order of UTF-16 code units, and a separate form for keys too long for an index.
//!
//! Invariants:
//! - a key has exactly one address in the table `lazuli_row`, whose primary key keeps keys unique;
//! - rows that are stored by their own key sort as their keys do;
//! - rows whose key is too long for an index entry are stored with the negative id of their table and the hashes of
//!   their key; the key itself is in columns without an index, and scans sort by it.

use lazuli_engine::keycode;
use lazuli_engine::{Bound, Error, KeyPosition, KeyRange, Result, TableId};
use sha2::{Digest as _, Sha256};

/// Maximum total length of an encoded partition and row that are stored by their own key. An entry of
/// PostgreSQL's index holds 2,704 bytes with its header, the table's id and the lengths; this leaves room for
/// those.
pub const INDEXED_BYTES_MAX: usize = 2_600;

/// Sorts after every encoded string, since none contains a byte above 0xEF.
const AFTER_ALL: u8 = 0xFF;
/// Sorts before every byte of an encoded string, since none contains a byte 0x00.
const BEFORE_ALL: u8 = 0x00;

/// The address of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The column `tbl`.
    pub table: i64,
    /// The column `pk`.
    pub partition: Vec<u8>,
    /// The column `rk`.
    pub row: Vec<u8>,
    /// The columns `lpk` and `lrk`, if the key is too long for the index.
    pub long: Option<(Vec<u8>, Vec<u8>)>,
}

/// The number of a table in the database.
pub fn table_number(table: TableId) -> Result<i64> {
    i64::try_from(table.0).map_err(|_| Error::TooLarge("the number of a table".into()))
}

/// The table number for rows whose keys are too long for the index.
pub fn long_table(table: i64) -> i64 {
    -1 - table
}

/// The address of the row with this encoded key.
pub fn address(table: i64, partition: &[u8], row: &[u8]) -> Address {
    if !is_long(partition, row) {
        return Address { table, partition: partition.to_vec(), row: row.to_vec(), long: None };
    }
    let hash = |bytes: &[u8]| Sha256::digest(bytes).to_vec();
    Address {
        table: long_table(table),
        partition: hash(partition),
        row: hash(row),
        long: Some((partition.to_vec(), row.to_vec())),
    }
}

fn is_long(partition: &[u8], row: &[u8]) -> bool {
    partition.len() + row.len() > INDEXED_BYTES_MAX
}

/// Decodes a key column.
pub fn text(bytes: &[u8]) -> Result<String> {
    let text = keycode::decode(bytes)
        .map_err(|_| Error::Corrupt("a key in the database cannot be decoded".into()))?;
    Ok(text.into_owned())
}

/// An encoded partition and row, or bytes between two of them.
pub type Edge = (Vec<u8>, Vec<u8>);

/// Every key from `start` on and before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub start: Edge,
    /// The lowest after it.
    pub end: Edge,
}

impl Span {
    /// The keys of a range.
    pub fn new(range: &KeyRange) -> Self {
        let start = match &range.start {
            Bound::Open => (vec![], vec![]),
            Bound::Included(at) => edge(at),
            Bound::Excluded(at) => after(edge(at)),
            Bound::AfterPartition(partition) => after_partition(partition),
        };
        let end = match &range.end {
            Bound::Open => (vec![AFTER_ALL], vec![]),
            Bound::Included(at) => after(edge(at)),
            Bound::Excluded(at) => edge(at),
            Bound::AfterPartition(partition) => after_partition(partition),
        };
        Self { start, end }
    }

    /// No key belongs to it.
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }

    /// The only key in the range, if there can be no other and it is stored directly.
    pub fn point(&self) -> Option<&Edge> {
        let is_one =
            self.start.0 == self.end.0 && self.end.1.split_last() == Some((&BEFORE_ALL, &self.start.1[..]));
        (is_one && !is_long(&self.start.0, &self.start.1)).then_some(&self.start)
    }
}

/// The lowest bytes after a key.
pub fn after((partition, mut row): Edge) -> Edge {
    row.push(BEFORE_ALL);
    (partition, row)
}

fn edge(place: &KeyPosition) -> Edge {
    (encode(&place.partition), encode(&place.row))
}

fn after_partition(partition: &str) -> Edge {
    let mut bytes = encode(partition);
    bytes.push(BEFORE_ALL);
    (bytes, vec![])
}

/// Encodes a string as a key column.
pub fn encode(text: &str) -> Vec<u8> {
    keycode::encode(text).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(partition: &str, row: &str) -> Bound {
        Bound::Included(KeyPosition { partition: partition.into(), row: row.into() })
    }

    fn holds(span: &Span, partition: &str, row: &str) -> bool {
        let key = (encode(partition), encode(row));
        span.start <= key && key < span.end
    }

    proptest! {
        /// Addresses sort like keys, and each key has exactly one.
        #[test]
        fn addresses_keep_order_and_distinguish_keys(a in ".{0,8}", b in ".{0,8}", c in ".{0,8}", d in ".{0,8}") {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            let one = address(1, &encode(&a), &encode(&b));
            let two = address(1, &encode(&c), &encode(&d));
            prop_assert_eq!(one.cmp(&two), (units(&a), units(&b)).cmp(&(units(&c), units(&d))));
        }
    }

    #[test]
    fn long_keys_have_the_negative_table_number() {
        let (fits, over) = (vec![b'a'; 1300], vec![b'a'; 1301]);
        assert_eq!(address(7, &fits, &fits).long, None);
        let long = address(7, &fits, &over);
        assert_eq!((long.table, long.partition.len(), long.row.len()), (-8, 32, 32));
        assert_eq!(long.long, Some((fits.clone(), over.clone())));
        assert_ne!(long, address(7, &over, &fits));
        assert_eq!(long_table(0), -1, "also for the system's table");
    }

    #[test]
    fn spans() {
        let all = Span::new(&KeyRange::ALL);
        assert!(holds(&all, "", "") && holds(&all, "\u{ffff}", "\u{ffff}") && holds(&all, "\u{10ffff}", ""));
        let one = Span::new(&KeyRange { start: at("p", "r"), end: at("p", "r") });
        assert!(holds(&one, "p", "r") && !holds(&one, "p", "r\0") && !holds(&one, "p", "q"));
        assert_eq!(one.point(), Some(&(b"p".to_vec(), b"r".to_vec())));
        let partition = Span::new(&KeyRange::partition("p"));
        assert!(holds(&partition, "p", "") && holds(&partition, "p", "\u{ffff}"));
        assert!(!holds(&partition, "p\0", "") && !holds(&partition, "o", "z"));
        assert_eq!(partition.point(), None);
        let beside = KeyRange {
            start: Bound::Excluded(KeyPosition { partition: "p".into(), row: "a".into() }),
            end: Bound::Excluded(KeyPosition { partition: "p".into(), row: "a\0".into() }),
        };
        assert!(!holds(&Span::new(&beside), "p", "a") && !holds(&Span::new(&beside), "p", "a\0"));
        assert!(Span::new(&KeyRange { start: at("p", "r"), end: at("p", "q") }).is_empty());
        let long = "ü".repeat(1024);
        assert_eq!(Span::new(&KeyRange { start: at(&long, &long), end: at(&long, &long) }).point(), None);
    }
}
