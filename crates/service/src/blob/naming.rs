//! Finds the content that the rows of a container refer to.

use bytes::Bytes;
use lazuli_engine::content::See;
use lazuli_engine::{Result, RowView};

use super::codec::corrupt;
use super::keyspace::{RowKind, TABLES};
use super::page::cell::Cell;
use super::record::Staged;
use super::segment::Segment;

/// The kind of rows in an engine table of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Blobs with their content.
    Blobs,
    /// Uncommitted blocks.
    Staged,
    /// The index of tags.
    Tags,
}

impl Holds {
    /// The tables of a container, in their order.
    pub const ALL: [Holds; TABLES] = [Holds::Blobs, Holds::Staged, Holds::Tags];
}

/// Passes to `see` every piece that a row of a container refers to.
///
/// Content that nothing can refer to any more is omitted: it is being released. Invalid uncommitted blocks are
/// released before their rows are deleted, so their pieces may be gone.
pub fn pieces_of(holds: Holds, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
    let value = || Bytes::copy_from_slice(row.value);
    match (holds, RowKind::of(row.row)) {
        (Holds::Tags, _) => {}
        (Holds::Staged, _) => {
            Staged::decode(value())?.pieces().iter().for_each(|piece| see(*piece, false));
        }
        (Holds::Blobs, Some(RowKind::Named(..))) => {
            Segment::decode(value())?.pieces().for_each(|piece| see(*piece, true));
        }
        // Heads, snapshots and versions refer to generations, whose pieces are in separate rows.
        (
            Holds::Blobs,
            Some(
                RowKind::Head
                | RowKind::Event(_)
                | RowKind::Snapshot(_)
                | RowKind::Version(_)
                | RowKind::Unnamed(..),
            ),
        ) => {}
        // Pages are in the row itself.
        (Holds::Blobs, Some(RowKind::Cell(..))) => drop(Cell::decode(value())?),
        (Holds::Blobs, None) => return Err(corrupt("a row has an unknown kind")),
    }
    Ok(())
}
