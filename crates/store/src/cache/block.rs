//! Rows of a range of keys, packed in key order: a scan reads them without accessing the sorted store.

use lazuli_engine::{RowView, TableId, Version};

use crate::keyspace;

/// Memory of a row besides its keys and its value.
const ENTRY_BYTES: usize = std::mem::size_of::<Entry>();

/// Number of processor cache lines that are prefetched of a row: most filters need no more.
const PREFETCHED_LINES: usize = 4;
const LINE_BYTES: usize = 64;

/// Rows in order, as of one view. Never changed after construction.
#[derive(Debug)]
pub struct Block {
    table: TableId,
    built: u64,
    /// Partition and row keys. Consecutive rows of one partition share one copy of its key.
    texts: String,
    values: Vec<u8>,
    entries: Vec<Entry>,
}

/// The position of a row. The start of its value is the end of the previous one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    version: u64,
    partition: (u32, u32),
    row: (u32, u32),
    value_end: u32,
}

impl Block {
    /// An empty block for the rows of `table` in the view `number`.
    pub fn new(table: TableId, number: u64) -> Self {
        Self { table, built: number, texts: String::new(), values: Vec::new(), entries: Vec::new() }
    }

    /// The number of the view that it was read from.
    pub fn built(&self) -> u64 {
        self.built
    }

    /// Appends a row that comes after all others; `false` if there is no room for it.
    pub fn push(&mut self, view: &RowView<'_>) -> bool {
        let place = |end: usize| u32::try_from(end).ok();
        let partition = match self.last_partition() {
            Some((at, text)) if text == view.partition => Some(at),
            _ => {
                let start = self.texts.len();
                self.texts.push_str(view.partition);
                place(start).zip(place(self.texts.len()))
            }
        };
        let start = self.texts.len();
        self.texts.push_str(view.row);
        let row = place(start).zip(place(self.texts.len()));
        self.values.extend_from_slice(view.value);
        let (Some(partition), Some(row), Some(value_end)) = (partition, row, place(self.values.len())) else {
            return false;
        };
        self.entries.push(Entry { version: view.version.0, partition, row, value_end });
        true
    }

    /// Frees memory that is reserved but not used.
    pub fn trim(&mut self) {
        self.texts.shrink_to_fit();
        self.values.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The memory it takes.
    pub fn bytes(&self) -> usize {
        self.texts.capacity() + self.values.capacity() + self.entries.capacity() * ENTRY_BYTES
    }

    /// The position of the first row whose key is not below `key`.
    pub fn position(&self, key: &[u8]) -> usize {
        self.entries.partition_point(|entry| {
            let row = keyspace::row_key(self.table, self.text(entry.partition), self.text(entry.row));
            row.as_slice() < key
        })
    }

    /// The row at a position.
    #[inline]
    pub fn row(&self, at: usize) -> RowView<'_> {
        let entry = &self.entries[at];
        let start = if at == 0 { 0 } else { self.entries[at - 1].value_end };
        RowView {
            partition: self.text(entry.partition),
            row: self.text(entry.row),
            version: Version(entry.version),
            value: &self.values[start as usize..entry.value_end as usize],
        }
    }

    /// Loads the beginning of a row into the processor's cache. A scan does so for a row that it will examine soon: it reads
    /// too little of each row for the processor to predict where it continues.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        let Some(before) = at.checked_sub(1).and_then(|before| self.entries.get(before)) else { return };
        for line in 0..PREFETCHED_LINES {
            std::hint::black_box(self.values.get(before.value_end as usize + line * LINE_BYTES).copied());
        }
    }

    #[inline]
    fn text(&self, (start, end): (u32, u32)) -> &str {
        &self.texts[start as usize..end as usize]
    }

    fn last_partition(&self) -> Option<((u32, u32), &str)> {
        let at = self.entries.last()?.partition;
        Some((at, self.text(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 5] = [("", ""), ("a", "1"), ("a", "2"), ("b", ""), ("\u{1F600}", "\0")];

    fn block() -> Block {
        let mut block = Block::new(TableId(3), 9);
        for (index, (partition, row)) in KEYS.into_iter().enumerate() {
            let value = "v".repeat(index);
            let view = RowView { partition, row, version: Version(index as u64), value: value.as_bytes() };
            assert!(block.push(&view));
        }
        block.trim();
        block
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let block = block();
        assert_eq!((block.len(), block.built()), (KEYS.len(), 9));
        for (index, (partition, row)) in KEYS.into_iter().enumerate() {
            let view = block.row(index);
            assert_eq!((view.partition, view.row), (partition, row));
            assert_eq!((view.version, view.value.len()), (Version(index as u64), index));
        }
    }

    #[test]
    fn positions_are_those_of_the_encoded_keys() {
        let block = block();
        for (index, (partition, row)) in KEYS.into_iter().enumerate() {
            let mut key = keyspace::row_key(TableId(3), partition, row);
            assert_eq!(block.position(&key), index);
            key.push(0);
            assert_eq!(block.position(&key), index + 1);
        }
        assert_eq!(block.position(&keyspace::table_prefix(TableId(3))), 0);
        assert_eq!(block.position(&keyspace::table_end(TableId(3))), KEYS.len());
    }
}
