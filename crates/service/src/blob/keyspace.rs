//! Every row key of the engine tables of a container, in one place.
//!
//! A container has three tables. The partition of the first two is the name of a blob.
//!
//! | table | row | record |
//! |---|---|---|
//! | blobs | `` | [`Head`](super::record::Head): the blob, and what remains after its deletion |
//! | blobs | `e/<id>` | [`Waiting`](super::event): an event that is not delivered yet |
//! | blobs | `s/<time>` | [`Revision`](super::record::Revision): a snapshot |
//! | blobs | `u/<generation>` | reserved: an upload of one of several processes |
//! | blobs | `v/<time>` | [`Revision`](super::record::Revision): a version that is no longer the current one |
//! | blobs | `x/<generation>/<slot>` | [`Segment`](super::segment::Segment): content of a generation |
//! | blobs | `y/<generation>/<slot>` | [`Segment`](super::segment::Segment): content that nothing can name any more |
//! | blobs | `z/<generation>/<cell>/<epoch>` | [`Cell`](super::page::cell::Cell): pages of a page blob |
//! | staged | `<block id>/<upload>` | [`Staged`](super::record::Staged): an uncommitted block |
//! | tags | see [`tags`](super::tags) | the index of tags: all rows are in one partition |
//!
//! A slot is the number of a segment (8 digits) or, for an append blob, the end offset of a run of bytes (16
//! digits). A scan that starts at an offset therefore finds the run that contains it. A generation of a page
//! blob has one empty segment as a marker: commits that refer to the generation require it, and the sweep
//! removes it last.
//!
//! Invariant: rows that refer to a generation sort before rows that hold content, so that a listing
//! can skip the rest of a blob when it reaches its content.

use std::fmt::{self, Write as _};

use lazuli_engine::{Bound, KeyPosition, KeyRange, TableId};
use lazuli_model::blob::BlockId;

/// The row of the head.
pub const HEAD: &str = "";
/// Rows from here on hold content; rows before it describe the blob.
pub const CONTENT: &str = "w";

const EVENTS: &str = "e/";
const AFTER_EVENTS: &str = "e0";
const SNAPSHOTS: &str = "s/";
const AFTER_SNAPSHOTS: &str = "s0";
const VERSIONS: &str = "v/";
const NAMED: &str = "x/";
const UNNAMED: &str = "y/";
const AFTER_UNNAMED: &str = "y0";
const CELLS: &str = "z/";

/// The engine tables of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tables {
    /// Blobs with their content.
    pub blobs: TableId,
    /// Uncommitted blocks.
    pub staged: TableId,
    /// The index of tags.
    pub tags: TableId,
}

/// Number of engine tables that a container needs.
pub const TABLES: usize = 3;

impl Tables {
    /// The tables by their ids; `None` if the number of ids is wrong.
    pub fn of(ids: &[TableId]) -> Option<Self> {
        let [blobs, staged, tags] = *ids else { return None };
        Some(Self { blobs, staged, tags })
    }
}

/// Identifies one upload. Never reused within a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

/// The position of a row of content within its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeySlot {
    /// A segment, by its number.
    Segment(u32),
    /// A run of an append blob, identified by its end offset.
    Run(u64),
}

impl KeySlot {
    /// The last run of an append blob, which is still growing.
    pub const TAIL: KeySlot = KeySlot::Run(u64::MAX);
}

impl fmt::Display for KeySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySlot::Segment(n) => write!(f, "{n:08x}"),
            KeySlot::Run(end) => write!(f, "{end:016x}"),
        }
    }
}

/// The kinds of rows in the table of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The head of the blob.
    Head,
    /// An event that is not delivered yet.
    Event(Generation),
    /// A snapshot, by its time in ticks.
    Snapshot(u64),
    /// A version, by its time in ticks.
    Version(u64),
    /// Content of a generation.
    Named(Generation, KeySlot),
    /// Content of a generation that nothing can refer to any more.
    Unnamed(Generation, KeySlot),
    /// Pages of a page blob.
    Cell(Generation, CellKey),
}

/// The position of some pages within the generation of a page blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellKey {
    /// The number of the cell.
    pub cell: u32,
    /// The epoch in which its pages were written: the number of snapshots taken before.
    pub epoch: u32,
}

impl RowKind {
    /// The kind of a row by its key; `None` for an unknown kind of key.
    pub fn of(row: &str) -> Option<Self> {
        if row == HEAD {
            return Some(RowKind::Head);
        }
        let (prefix, rest) = row.split_at_checked(2)?;
        match prefix {
            EVENTS => number(rest).map(|id| RowKind::Event(Generation(id))),
            SNAPSHOTS => number(rest).map(RowKind::Snapshot),
            VERSIONS => number(rest).map(RowKind::Version),
            NAMED => content_of(rest).map(|(generation, slot)| RowKind::Named(generation, slot)),
            UNNAMED => content_of(rest).map(|(generation, slot)| RowKind::Unnamed(generation, slot)),
            CELLS => cell_of(rest).map(|(generation, key)| RowKind::Cell(generation, key)),
            _ => None,
        }
    }
}

/// The row of an event.
pub fn event(id: Generation) -> String {
    format!("{EVENTS}{:016x}", id.0)
}

/// The rows of all events of a blob.
pub fn events(name: &str) -> KeyRange {
    rows_between(name, EVENTS, AFTER_EVENTS)
}

/// The row of a snapshot.
pub fn snapshot(ticks: u64) -> String {
    format!("{SNAPSHOTS}{ticks:016x}")
}

/// The row of a version.
pub fn version(ticks: u64) -> String {
    format!("{VERSIONS}{ticks:016x}")
}

/// The rows of all snapshots of a blob.
pub fn snapshots(name: &str) -> KeyRange {
    rows_between(name, SNAPSHOTS, AFTER_SNAPSHOTS)
}

/// The rows of all snapshots and versions of a blob.
pub fn revisions(name: &str) -> KeyRange {
    rows_between(name, SNAPSHOTS, CONTENT)
}

/// The row of content.
pub fn named(generation: Generation, slot: KeySlot) -> String {
    format!("{NAMED}{:016x}/{slot}", generation.0)
}

/// The row of content that nothing can refer to any more.
pub fn unnamed(generation: Generation, slot: KeySlot) -> String {
    format!("{UNNAMED}{:016x}/{slot}", generation.0)
}

/// The row of some pages.
pub fn cell(generation: Generation, key: CellKey) -> String {
    format!("{CELLS}{:016x}/{:08x}/{:08x}", generation.0, key.cell, key.epoch)
}

/// The row of an uncommitted block.
pub fn staged(id: &BlockId, upload: Generation) -> String {
    let mut row = String::with_capacity(id.as_bytes().len() * 2 + 17);
    for byte in id.as_bytes() {
        // Writing to a string cannot fail.
        let _ = write!(row, "{byte:02x}");
    }
    let _ = write!(row, "/{:016x}", upload.0);
    row
}

/// The rows of all uploads of a block.
pub fn uploads(name: &str, id: &BlockId) -> KeyRange {
    let first = staged(id, Generation(0));
    let mut range = rows_between(name, &first, "");
    let last = staged(id, Generation(u64::MAX));
    range.end = Bound::Included(KeyPosition { partition: name.into(), row: last });
    range
}

/// The block id and the upload in the row of an uncommitted block.
pub fn staged_of(row: &str) -> Option<(BlockId, Generation)> {
    let (id, upload) = row.split_once('/')?;
    if id.len() % 2 != 0 || !id.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).ok()).collect();
    Some((BlockId::new(&bytes?)?, Generation(number(upload)?)))
}

/// All segments of all generations of a blob, referenced or not.
pub fn content(name: &str) -> KeyRange {
    rows_between(name, NAMED, AFTER_UNNAMED)
}

/// The runs of an append blob that end beyond an offset, referenced or not.
pub fn runs(name: &str, generation: Generation, offset: u64) -> [KeyRange; 2] {
    let first = KeySlot::Run(offset.saturating_add(1));
    [named as fn(Generation, KeySlot) -> String, unnamed].map(|row| {
        let mut range = rows_between(name, &row(generation, first), "");
        range.end =
            Bound::Included(KeyPosition { partition: name.into(), row: row(generation, KeySlot::TAIL) });
        range
    })
}

/// The rows of a range of cells, both ends included, in all epochs.
pub fn cells(name: &str, generation: Generation, first: u32, last: u32) -> KeyRange {
    let start = cell(generation, CellKey { cell: first, epoch: 0 });
    let end = cell(generation, CellKey { cell: last, epoch: u32::MAX });
    let mut range = rows_between(name, &start, "");
    range.end = Bound::Included(KeyPosition { partition: name.into(), row: end });
    range
}

/// The rows of a blob that describe it: the head, snapshots and versions, and events.
pub fn states(name: &str) -> KeyRange {
    rows_between(name, HEAD, CONTENT)
}

/// All rows of a blob but its pages, of which there can be very many.
pub fn without_cells(name: &str) -> KeyRange {
    rows_between(name, HEAD, CELLS)
}

/// The rows of a partition from one row up to, but not including, another.
fn rows_between(name: &str, first: &str, end: &str) -> KeyRange {
    let place = |row: &str| KeyPosition { partition: name.into(), row: row.into() };
    KeyRange { start: Bound::Included(place(first)), end: Bound::Excluded(place(end)) }
}

fn content_of(text: &str) -> Option<(Generation, KeySlot)> {
    let (generation, slot) = text.split_once('/')?;
    let slot = match slot.len() {
        8 => KeySlot::Segment(small(slot)?),
        _ => KeySlot::Run(number(slot)?),
    };
    Some((Generation(number(generation)?), slot))
}

fn cell_of(text: &str) -> Option<(Generation, CellKey)> {
    let (generation, rest) = text.split_once('/')?;
    let (cell, epoch) = rest.split_once('/')?;
    Some((Generation(number(generation)?), CellKey { cell: small(cell)?, epoch: small(epoch)? }))
}

fn small(text: &str) -> Option<u32> {
    let is_number = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_number.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

fn number(text: &str) -> Option<u64> {
    if text.len() != 16 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored form. Lines may be added here, but never changed.
    #[test]
    fn keys_stay() {
        assert_eq!(event(Generation(0x8d)), "e/000000000000008d");
        assert_eq!(snapshot(0x8d), "s/000000000000008d");
        assert_eq!(version(0x8d), "v/000000000000008d");
        assert_eq!(named(Generation(10), KeySlot::Segment(1)), "x/000000000000000a/00000001");
        assert_eq!(unnamed(Generation(10), KeySlot::Segment(1)), "y/000000000000000a/00000001");
        assert_eq!(named(Generation(10), KeySlot::Run(17)), "x/000000000000000a/0000000000000011");
        assert_eq!(named(Generation(10), KeySlot::TAIL), "x/000000000000000a/ffffffffffffffff");
        let key = CellKey { cell: 3, epoch: 1 };
        assert_eq!(cell(Generation(10), key), "z/000000000000000a/00000003/00000001");
        let id = BlockId::new(b"a0").unwrap();
        assert_eq!(staged(&id, Generation(1)), "6130/0000000000000001");
    }

    #[test]
    fn keys_are_read_back() {
        let generation = Generation(u64::MAX);
        for (row, kind) in [
            (String::new(), RowKind::Head),
            (event(Generation(5)), RowKind::Event(Generation(5))),
            (snapshot(5), RowKind::Snapshot(5)),
            (version(5), RowKind::Version(5)),
            (
                named(generation, KeySlot::Segment(u32::MAX)),
                RowKind::Named(generation, KeySlot::Segment(u32::MAX)),
            ),
            (unnamed(generation, KeySlot::Segment(0)), RowKind::Unnamed(generation, KeySlot::Segment(0))),
            (named(generation, KeySlot::TAIL), RowKind::Named(generation, KeySlot::TAIL)),
            (unnamed(generation, KeySlot::Run(0)), RowKind::Unnamed(generation, KeySlot::Run(0))),
            (
                cell(generation, CellKey { cell: 7, epoch: u32::MAX }),
                RowKind::Cell(generation, CellKey { cell: 7, epoch: u32::MAX }),
            ),
        ] {
            assert_eq!(RowKind::of(&row), Some(kind), "{row}");
        }
        for other in ["s", "s/", "s/1", "s/000000000000000G", "x/000000000000000a", "q/1", "é/", "sé/", "z/1"]
        {
            assert_eq!(RowKind::of(other), None, "{other}");
        }
        let id = BlockId::new(&[0, 0xff]).unwrap();
        assert_eq!(staged_of(&staged(&id, generation)), Some((id, generation)));
        for other in ["", "/", "0/0000000000000001", "zz/0000000000000001", "00", "éé/0000000000000001"] {
            assert_eq!(staged_of(other), None, "{other}");
        }
    }

    #[test]
    fn descriptions_sort_before_content() {
        for description in [
            HEAD.to_owned(),
            event(Generation(u64::MAX)),
            snapshot(u64::MAX),
            version(u64::MAX),
            "u/ffff".into(),
        ] {
            assert!(*description < *CONTENT, "{description}");
        }
        let segment = KeySlot::Segment(0);
        let cell = cell(Generation(0), CellKey { cell: 0, epoch: 0 });
        for content in [named(Generation(0), segment), unnamed(Generation(0), segment), cell] {
            assert!(*content >= *CONTENT, "{content}");
        }
    }
}
