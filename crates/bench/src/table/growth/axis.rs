//! The quantities that a growth benchmark increases, their steps, and the keys of the entities at each step.

use std::fmt;

use lazuli_protocol::table::continuation;

/// Numbers of entities to measure; the last one only with `--long`.
const ENTITIES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Numbers of partitions or tables to measure. The total number of entities is always the largest of these.
const PARTS: [u64; 3] = [1, 1_000, 100_000];
/// Entities per partition if the number of partitions does not grow; also entities per transaction.
const PARTITION_ROWS: u64 = 100;

/// The quantity that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Entities in one table.
    Entities,
    /// Partitions of one table.
    Partitions,
    /// Tables.
    Tables,
}

impl Axis {
    /// All of them.
    pub const ALL: [Axis; 3] = [Axis::Entities, Axis::Partitions, Axis::Tables];

    pub(super) fn sizes(self, is_long: bool) -> &'static [u64] {
        match self {
            Axis::Entities => &ENTITIES[..if is_long { ENTITIES.len() } else { ENTITIES.len() - 1 }],
            Axis::Partitions | Axis::Tables => &PARTS,
        }
    }

    pub(super) fn layout(self, size: u64) -> Layout {
        let most = PARTS[PARTS.len() - 1];
        match self {
            Axis::Entities => Layout { entities: size, table_rows: size, partition_rows: PARTITION_ROWS },
            Axis::Partitions => Layout { entities: most, table_rows: most, partition_rows: most / size },
            Axis::Tables => {
                let table_rows = most / size;
                Layout { entities: most, table_rows, partition_rows: table_rows.min(PARTITION_ROWS) }
            }
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::Entities => "entities",
            Axis::Partitions => "partitions",
            Axis::Tables => "tables",
        })
    }
}

/// The location of entities, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) entities: u64,
    pub(super) table_rows: u64,
    pub(super) partition_rows: u64,
}

impl Layout {
    pub(super) fn table(&self, number: u64) -> String {
        format!("T{:06}", number / self.table_rows)
    }

    pub(super) fn partition(&self, number: u64) -> String {
        format!("p{:08}", number % self.table_rows / self.partition_rows)
    }

    /// Entities that one transaction can hold.
    pub(super) fn group(&self) -> u64 {
        self.partition_rows.min(PARTITION_ROWS)
    }

    /// The start of the last page of the first table.
    pub(super) fn last_page(&self) -> String {
        let number = self.table_rows.saturating_sub(1000);
        let (partition, row) =
            (continuation::encode(&self.partition(number)), continuation::encode(&key(number)));
        format!("&NextPartitionKey={partition}&NextRowKey={row}")
    }
}

pub(super) fn key(number: u64) -> String {
    format!("{number:012}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_laid_out_evenly() {
        for axis in Axis::ALL {
            for &size in axis.sizes(true) {
                let layout = axis.layout(size);
                assert_eq!(layout.entities % layout.table_rows, 0, "{size} {axis}");
                assert_eq!(layout.table_rows % layout.partition_rows, 0, "{size} {axis}");
                assert_eq!(layout.partition_rows % layout.group(), 0, "{size} {axis}");
                let grown = match axis {
                    Axis::Entities => layout.entities,
                    Axis::Partitions => layout.table_rows / layout.partition_rows,
                    Axis::Tables => layout.entities / layout.table_rows,
                };
                assert_eq!(grown, size, "{axis}");
            }
        }
    }

    #[test]
    fn numbers_are_places_in_order() {
        let layout = Axis::Entities.layout(1000);
        assert_eq!((layout.table(999), layout.partition(999)), ("T000000".into(), "p00000009".into()));
        let layout = Axis::Tables.layout(100_000);
        assert_eq!((layout.table(7), layout.partition(7)), ("T000007".into(), "p00000000".into()));
    }
}
