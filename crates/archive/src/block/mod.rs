//! Blocks: rows as bytes, with checksums. The format is the same on the wire and in a part.
//!
//! All numbers are little-endian. A block:
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | `LZBK` |
//! | 4 | kind: 1 for rows, 2 for the end, 3 for content, 4 for the end of a backup with content |
//! | 8 | number of the block in the backup, starting at 0 |
//! | 4 | number of rows |
//! | 4 | bytes of content |
//! | 8 | XXH3 (64 bits) of the 24 bytes before and the content |
//! | .. | content |
//!
//! The content of a block of rows is a sequence of rows: table id (8), version (8), bytes of the partition key (4), of the
//! row key (4), of the value (4), then both keys in UTF-8, and the value.
//!
//! The content of the end: the last version and the last table id issued (8 each), rows and bytes of keys and values
//! in the whole backup (8 each), the greatest version of a row (8), XXH3 (128 bits) of the content of all rows.
//!
//! A block of content follows the rows that refer to it: a piece as encoded in rows (24, big-endian), the
//! offset of the bytes in it (4), the bytes. A backup with content ends with a block of kind 4: the end as
//! above, then the number of pieces and of their bytes (8 each), XXH3 (128 bits) of all pieces, each preceded
//! by its name.
//!
//! Invariant: rows are sorted by table, partition and row (keys by UTF-16 code units), each once, so that equal
//! content has an equal digest, regardless of the sizes of the blocks.

mod content;

use bytes::Bytes;
use lazuli_engine::{Marks, Row, Stored, TableId, Version, keycode};
use xxhash_rust::xxh3::Xxh3;

pub use content::{ContentBlock, ContentTotals};

use self::content::ContentTally;
use crate::error::{Error, Result};

/// Size of a block's header.
pub const HEADER_BYTES: usize = 32;
/// Target size of a block's content; the last row may exceed it.
pub const BLOCK_BYTES: usize = 1024 * 1024;
/// Maximum size of a block's content: more than the largest row that an engine accepts.
pub const CONTENT_BYTES_MAX: usize = 64 * 1024 * 1024;

const MAGIC: [u8; 4] = *b"LZBK";
const KIND_ROWS: u32 = 1;
const KIND_END: u32 = 2;
const KIND_CONTENT: u32 = 3;
const KIND_END_WITH_CONTENT: u32 = 4;
const SUMMED_BYTES: usize = 24;
const ROW_HEAD_BYTES: usize = 28;
const END_BYTES: usize = 56;

/// Totals of a whole backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The marks of the engine.
    pub marks: Marks,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// The greatest version of a row.
    pub newest: Version,
    /// A checksum of the content of all rows.
    pub digest: u128,
    /// Totals of the content that rows refer to, if there is any.
    pub content: Option<ContentTotals>,
}

impl Totals {
    /// Bytes of rows and content.
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.content.map_or(0, |content| content.bytes)
    }

    /// The same without content.
    pub fn of_rows(self) -> Self {
        Self { content: None, ..self }
    }
}

/// A decoded block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Rows.
    Rows(Vec<Stored>),
    /// Content that rows name.
    Content(ContentBlock),
    /// The end of the backup.
    End(Totals),
}

/// Counts and checksums rows.
struct Tally {
    blocks: u64,
    rows: u64,
    bytes: u64,
    newest: Version,
    digest: Xxh3,
    content: ContentTally,
}

impl Tally {
    fn new() -> Self {
        let content = ContentTally::default();
        Self { blocks: 0, rows: 0, bytes: 0, newest: Version(0), digest: Xxh3::new(), content }
    }

    fn add(&mut self, row: &Stored) {
        self.rows += 1;
        self.bytes += row.bytes() as u64;
        self.newest = self.newest.max(row.row.version);
    }

    fn totals(&self, marks: Marks) -> Totals {
        let Self { rows, bytes, newest, .. } = *self;
        let content = self.content.totals();
        Totals { marks, rows, bytes, newest, digest: self.digest.digest128(), content }
    }
}

/// Encodes blocks.
pub struct Packer(Tally);

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

impl Packer {
    /// Starts with the first block.
    pub fn new() -> Self {
        Self(Tally::new())
    }

    /// A block of rows, which must sort after those of the previous block.
    pub fn rows(&mut self, rows: &[Stored]) -> Vec<u8> {
        let mut block = vec![0; HEADER_BYTES];
        for row in rows {
            self.0.add(row);
            encode(&mut block, row);
        }
        self.0.digest.update(&block[HEADER_BYTES..]);
        self.seal(block, KIND_ROWS, rows.len())
    }

    /// A block of content. The blocks of a piece must be consecutive, complete and in order.
    pub fn content(&mut self, content: &ContentBlock) -> Result<Vec<u8>> {
        self.0.content.add(content).map_err(Error::damaged)?;
        let mut block = vec![0; HEADER_BYTES];
        content.encode(&mut block);
        Ok(self.seal(block, KIND_CONTENT, 0))
    }

    /// The last block.
    pub fn end(mut self, marks: Marks) -> (Vec<u8>, Totals) {
        let totals = self.0.totals(marks);
        let mut block = vec![0; HEADER_BYTES];
        let numbers = [marks.last_version.0, marks.last_table.0, totals.rows, totals.bytes, totals.newest.0];
        numbers.iter().for_each(|number| block.extend_from_slice(&number.to_le_bytes()));
        block.extend_from_slice(&totals.digest.to_le_bytes());
        let kind = match &totals.content {
            Some(content) => {
                content.encode(&mut block);
                KIND_END_WITH_CONTENT
            }
            None => KIND_END,
        };
        (self.seal(block, kind, 0), totals)
    }

    fn seal(&mut self, mut block: Vec<u8>, kind: u32, rows: usize) -> Vec<u8> {
        let length = block.len() - HEADER_BYTES;
        block[..4].copy_from_slice(&MAGIC);
        block[4..8].copy_from_slice(&kind.to_le_bytes());
        block[8..16].copy_from_slice(&self.0.blocks.to_le_bytes());
        block[16..20].copy_from_slice(&as_u32(rows).to_le_bytes());
        block[20..24].copy_from_slice(&as_u32(length).to_le_bytes());
        let sum = checksum(&block);
        block[SUMMED_BYTES..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
        self.0.blocks += 1;
        block
    }
}

/// Lengths are far below the limit: see [`CONTENT_BYTES_MAX`]. Every reader would reject a larger one.
fn as_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn encode(block: &mut Vec<u8>, Stored { table, row }: &Stored) {
    block.extend_from_slice(&table.0.to_le_bytes());
    block.extend_from_slice(&row.version.0.to_le_bytes());
    for length in [row.partition.len(), row.row.len(), row.value.len()] {
        block.extend_from_slice(&as_u32(length).to_le_bytes());
    }
    block.extend_from_slice(row.partition.as_bytes());
    block.extend_from_slice(row.row.as_bytes());
    block.extend_from_slice(&row.value);
}

fn checksum(block: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    sum.update(&block[..SUMMED_BYTES]);
    sum.update(&block[HEADER_BYTES..]);
    sum.digest()
}

/// Number of bytes after the header of a block. The header's checksum is verified later, with the content.
pub fn content_bytes(header: &[u8; HEADER_BYTES]) -> Result<usize> {
    let length = number(&header[20..24]);
    match usize::try_from(length) {
        Ok(length) if header.starts_with(&MAGIC) && length <= CONTENT_BYTES_MAX => Ok(length),
        _ => Err(Error::damaged("expected the start of a block")),
    }
}

/// Decodes blocks in order and verifies them completely.
pub struct Unpacker {
    tally: Tally,
    last: Option<(TableId, Vec<u8>)>,
    is_over: bool,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self::new()
    }
}

impl Unpacker {
    /// Starts with the first block.
    pub fn new() -> Self {
        Self { tally: Tally::new(), last: None, is_over: false }
    }

    /// Was the end decoded?
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Rows, and bytes of rows and content, so far.
    pub fn so_far(&self) -> (u64, u64) {
        (self.tally.rows, self.tally.bytes + self.tally.content.bytes())
    }

    /// Decodes a whole block, header and content.
    pub fn read(&mut self, block: &[u8]) -> Result<Block> {
        let count = self.tally.blocks;
        let damaged = |what: &str| Error::damaged(format!("block {count}: {what}"));
        let header: &[u8; HEADER_BYTES] = block.first_chunk().ok_or_else(|| damaged("it is truncated"))?;
        let content = &block[HEADER_BYTES..];
        if content_bytes(header)? != content.len() {
            return Err(damaged("it is truncated"));
        }
        if checksum(block) != number(&header[SUMMED_BYTES..]) {
            return Err(damaged("the checksum does not match"));
        }
        if self.is_over || number(&header[8..16]) != count {
            return Err(damaged("its number is out of sequence"));
        }
        self.tally.blocks += 1;
        let rows = number(&header[16..20]);
        let kind = u32::try_from(number(&header[4..8]));
        if kind != Ok(KIND_CONTENT) && !self.tally.content.is_whole() {
            return Err(damaged("a piece is not complete"));
        }
        match kind {
            Ok(KIND_CONTENT) => {
                let found = ContentBlock::decode(&Bytes::copy_from_slice(content))
                    .ok_or_else(|| damaged("a piece cannot be decoded"))?;
                self.tally.content.add(&found).map_err(damaged)?;
                Ok(Block::Content(found))
            }
            Ok(KIND_ROWS) => self.rows(content, rows).map(Block::Rows).map_err(|what| damaged(&what)),
            Ok(KIND_END | KIND_END_WITH_CONTENT) => self.end(content).map(Block::End).ok_or_else(|| {
                damaged("the totals or the digest do not match: blocks are missing or changed")
            }),
            _ => Err(Error::Format("a newer format".into())),
        }
    }

    fn rows(&mut self, content: &[u8], count: u64) -> std::result::Result<Vec<Stored>, String> {
        self.tally.digest.update(content);
        let shared = Bytes::copy_from_slice(content);
        let mut rows = Vec::new();
        let mut at = 0;
        while at < content.len() {
            let row = decode(&shared, &mut at).ok_or("a row cannot be decoded")?;
            self.follow(&row)?;
            self.tally.add(&row);
            rows.push(row);
        }
        if rows.len() as u64 != count { Err("the number of rows does not match".into()) } else { Ok(rows) }
    }

    /// A loader that relies on the order would lose rows that are out of order.
    fn follow(&mut self, row: &Stored) -> std::result::Result<(), String> {
        let mut key = Vec::new();
        keycode::encode_key_into(&mut key, &row.row.partition, &row.row.row);
        let next = Some((row.table, key));
        if self.last >= next {
            return Err("rows are out of order".into());
        }
        self.last = next;
        Ok(())
    }

    fn end(&mut self, content: &[u8]) -> Option<Totals> {
        let (content, rest) = content.split_first_chunk::<END_BYTES>()?;
        let pieces = match rest {
            [] => None,
            _ => Some(ContentTotals::decode(rest.try_into().ok()?)?),
        };
        let marks = Marks {
            last_version: Version(number(&content[..8])),
            last_table: TableId(number(&content[8..16])),
        };
        let totals = self.tally.totals(marks);
        let told = Totals {
            marks,
            rows: number(&content[16..24]),
            bytes: number(&content[24..32]),
            newest: Version(number(&content[32..40])),
            digest: u128::from_le_bytes(*content.last_chunk()?),
            content: pieces,
        };
        self.is_over = true;
        (told == totals && totals.newest <= marks.last_version).then_some(totals)
    }
}

fn decode(content: &Bytes, at: &mut usize) -> Option<Stored> {
    let head = content.get(*at..*at + ROW_HEAD_BYTES)?;
    let length = |from: usize| usize::try_from(number(&head[from..from + 4])).ok();
    let (partition, row, value) = (length(16)?, length(20)?, length(24)?);
    let mut start = *at + ROW_HEAD_BYTES;
    let mut take = |length: usize| {
        let end = start.checked_add(length).filter(|&end| end <= content.len())?;
        let taken = start..end;
        start = end;
        Some(taken)
    };
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Box::<str>::from);
    let (partition, row, value) = (take(partition)?, take(row)?, take(value)?);
    *at = start;
    Some(Stored {
        table: TableId(number(&head[..8])),
        row: Row {
            partition: text(&content[partition])?,
            row: text(&content[row])?,
            version: Version(number(&head[8..16])),
            value: content.slice(value),
        },
    })
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
