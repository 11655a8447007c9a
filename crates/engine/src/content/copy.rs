//! A snapshot of an engine, with rows and the content that they refer to, to be copied elsewhere.
//!
//! Invariant: everything is held, in all processes that use the store, before the snapshot of the rows is
//! taken. So each piece that a row of the snapshot refers to can be read until the copy is dropped.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::{Content, ContentHold, ContentReader, Naming, Piece};
use crate::dump::{Dump, Marks, Stored};
use crate::{Engine, Error, Result, TableId};

/// A part of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The next rows.
    Rows(Vec<Stored>),
    /// The next bytes of a piece. All bytes of a piece come before those of the next, and at most once for each
    /// partition that refers to it.
    Content {
        /// The piece.
        piece: Piece,
        /// The offset of the bytes in it.
        offset: u32,
        /// The bytes, verified.
        bytes: Bytes,
    },
    /// That was all.
    End(Marks),
}

/// A copy in progress.
pub struct Copy {
    dump: Box<dyn Dump>,
    content: Option<(Arc<dyn Content>, Box<dyn ContentHold>)>,
    naming: Box<dyn Naming>,
    /// Pieces that rows have referred to and that are not copied yet, and whether each must be stored.
    pending: VecDeque<(Piece, bool)>,
    reading: Option<Reading>,
    /// Parts that were read ahead.
    ready: VecDeque<Copied>,
    /// The partition of the last row, and the pieces that it has referred to so far.
    partition: Option<(TableId, Box<str>)>,
    named: HashSet<Piece>,
}

/// A piece being read.
struct Reading {
    piece: Piece,
    is_certain: bool,
    reader: Box<dyn ContentReader>,
    offset: u32,
}

impl Copy {
    /// Begins a copy.
    pub async fn begin(engine: &dyn Engine, naming: Box<dyn Naming>) -> Result<Self> {
        let content = match engine.content() {
            Some(content) => {
                let hold = content.hold_all().await?;
                Some((content, hold))
            }
            None => None,
        };
        let dump = engine.dump().await?;
        let (pending, ready, named) = Default::default();
        Ok(Self { dump, content, naming, pending, reading: None, ready, partition: None, named })
    }

    /// The next part. Rows end when they reach `bytes_max`; content comes in chunks of the store's size.
    pub async fn next(&mut self, bytes_max: usize) -> Result<Copied> {
        let next = self.next_part(bytes_max).await;
        if let Err(Error::Corrupt(_)) = next {
            // Without the hold, missing content is not damage.
            self.check_hold().await?;
        }
        next
    }

    /// Takes `&mut self` because a shared reference could not be sent to another thread while it waits.
    async fn check_hold(&mut self) -> Result<()> {
        match &self.content {
            Some((_, hold)) => hold.check().await,
            None => Ok(()),
        }
    }

    async fn next_part(&mut self, bytes_max: usize) -> Result<Copied> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(part);
            }
            if let Some(reading) = &mut self.reading {
                match reading.reader.next().await {
                    Ok(Some(bytes)) => {
                        let (piece, offset) = (reading.piece, reading.offset);
                        // A piece is shorter than 2^32 bytes.
                        reading.offset += bytes.len() as u32;
                        return Ok(Copied::Content { piece, offset, bytes });
                    }
                    Ok(None) => {}
                    // It was released before everything was pinned.
                    Err(Error::Corrupt(_)) if !reading.is_certain && reading.offset == 0 => {}
                    Err(error) => return Err(error),
                }
                self.reading = None;
            }
            let Some((piece, is_certain)) = self.pending.pop_front() else { break };
            let Some((content, hold)) = &self.content else { continue };
            if hold.is_shared() && !is_certain {
                self.ready = read_ahead(&**content, piece).await?;
            } else {
                let reader = content.read(&piece, 0..u64::MAX);
                self.reading = Some(Reading { piece, is_certain, reader, offset: 0 });
            }
        }
        let rows = self.dump.next(bytes_max).await?;
        if rows.is_empty() {
            self.check_hold().await?;
            return Ok(Copied::End(self.dump.marks()));
        }
        rows.iter().try_for_each(|row| self.note(row))?;
        Ok(Copied::Rows(rows))
    }

    /// Records the pieces that a row refers to.
    fn note(&mut self, row: &Stored) -> Result<()> {
        let is_same =
            |(table, partition): &(TableId, Box<str>)| *table == row.table && *partition == row.row.partition;
        if !self.partition.as_ref().is_some_and(is_same) {
            self.partition = Some((row.table, row.row.partition.clone()));
            self.named.clear();
        }
        let (named, pending) = (&mut self.named, &mut self.pending);
        self.naming.pieces(row.table, row.row.view(), &mut |piece, is_certain| {
            if named.insert(piece) {
                pending.push_back((piece, is_certain));
            }
        })
    }
}

/// All parts of a piece that may have been released; none if it was. Another process that started to release it
/// before the hold may remove it at any time, so no part is returned before all of them were read.
async fn read_ahead(content: &dyn Content, piece: Piece) -> Result<VecDeque<Copied>> {
    let (mut parts, mut offset) = (VecDeque::new(), 0);
    let mut reader = content.read(&piece, 0..u64::MAX);
    loop {
        match reader.next().await {
            Ok(Some(bytes)) => {
                parts.push_back(Copied::Content { piece, offset, bytes: bytes.clone() });
                // A piece is shorter than 2^32 bytes.
                offset += bytes.len() as u32;
            }
            Ok(None) => return Ok(parts),
            // If its beginning is missing, too, it is not damaged.
            Err(error @ Error::Corrupt(_)) => match content.read(&piece, 0..1).next().await {
                Err(Error::Corrupt(_)) => return Ok(VecDeque::new()),
                other => return Err(other.err().unwrap_or(error)),
            },
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::upsert;
    use crate::content::conformance::{bytes_of, read_all, write_all};
    use crate::content::{MemoryContent, PIECE_ENCODED_BYTES, See, sweep};
    use crate::types::{Change, Condition, RowView, Write};
    use crate::{Clock, Memory};

    /// Rows whose values are encoded pieces, in one table.
    struct Encoded;

    impl Naming for Encoded {
        fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
            if table != TableId(7) {
                return Ok(());
            }
            let (pieces, rest) = row.value.as_chunks::<PIECE_ENCODED_BYTES>();
            if !rest.is_empty() {
                return Err(Error::Corrupt("not a piece".into()));
            }
            // Rows of one partition refer to content that may have been released.
            let is_certain = row.partition != "gone";
            pieces.iter().filter_map(Piece::decode).for_each(|piece| see(piece, is_certain));
            Ok(())
        }
    }

    async fn name(engine: &Memory, partition: &str, row: &str, pieces: &[Piece]) {
        let value: Vec<u8> = pieces.iter().flat_map(Piece::encode).collect();
        let change = Change::Put(value.into());
        let write = Write { row: row.into(), condition: Condition::Any, change };
        engine.apply(TableId(7), partition, vec![write]).await.unwrap();
    }

    /// Rows come with their content, each piece once, even if it is released in the meantime. Loading the copy
    /// elsewhere results in the same store.
    #[tokio::test]
    async fn a_copy_has_all_content_of_its_moment() {
        let engine = Memory::new(Clock::system());
        let content = engine.content().unwrap();
        let (small, large) = (bytes_of(1, 10), bytes_of(2, 700_000));
        let pieces = [write_all(&*content, &small).await[0], write_all(&*content, &large).await[0]];
        name(&engine, "a", "1", &pieces).await;
        name(&engine, "a", "2", &pieces[1..]).await;
        name(&engine, "b", "1", &[]).await;
        engine.apply(TableId(8), "x", vec![upsert("r", "not a piece")]).await.unwrap();
        let mut copy = Copy::begin(&engine, Box::new(Encoded)).await.unwrap();
        name(&engine, "a", "1", &[]).await;
        assert_eq!(content.release(pieces.to_vec()).await, Ok(pieces.to_vec()), "the copy has pinned them");
        let target = MemoryContent::default();
        let (mut rows, mut open, mut seen) = (0, Vec::new(), Vec::new());
        loop {
            match copy.next(1).await.unwrap() {
                Copied::Rows(some) => rows += some.len(),
                Copied::Content { piece, offset, bytes } => {
                    assert_eq!(offset as usize, open.len(), "a piece comes completely");
                    open.extend_from_slice(&bytes);
                    if open.len() == piece.length as usize {
                        target.adopt(piece, std::mem::take(&mut open).into()).await.unwrap();
                        seen.push(piece);
                    }
                }
                Copied::End(marks) => {
                    assert!(marks.last_version.0 > 0);
                    break;
                }
            }
        }
        drop(copy);
        assert_eq!((rows, &seen[..]), (4, &pieces[..]));
        assert_eq!(read_all(&target, &pieces).await.unwrap().len(), small.len() + large.len());
        assert_eq!(content.release(pieces.to_vec()).await, Ok(vec![]));
    }

    /// A row that is about to be removed may refer to released content; any other row must not.
    #[tokio::test]
    async fn a_copy_fails_only_if_a_piece_must_be_there() {
        let engine = Memory::new(Clock::system());
        let content = engine.content().unwrap();
        let pieces = write_all(&*content, &bytes_of(1, 10_000)).await;
        content.release(pieces.clone()).await.unwrap();
        name(&engine, "gone", "1", &pieces).await;
        let mut copy = Copy::begin(&engine, Box::new(Encoded)).await.unwrap();
        assert!(matches!(copy.next(1000).await, Ok(Copied::Rows(_))));
        assert!(matches!(copy.next(1000).await, Ok(Copied::End(_))));
        drop(copy);
        name(&engine, "here", "1", &pieces).await;
        let mut copy = Copy::begin(&engine, Box::new(Encoded)).await.unwrap();
        assert!(matches!(copy.next(1000).await, Ok(Copied::Rows(_))));
        assert!(matches!(copy.next(1000).await, Err(Error::Corrupt(_))));
    }

    /// A row that cannot be decoded ends a sweep before anything is freed.
    #[tokio::test]
    async fn a_sweep_stops_at_a_row_that_it_does_not_understand() {
        let engine = Memory::new(Clock::system());
        let content = MemoryContent::default();
        let pieces = write_all(&content, &bytes_of(1, 10_000)).await;
        let unnamed = write_all(&content, &bytes_of(2, 10_000)).await;
        let content = content.reopened();
        name(&engine, "a", "1", &pieces).await;
        engine.apply(TableId(7), "b", vec![upsert("1", "damaged")]).await.unwrap();
        assert!(sweep(&engine, &content, &mut Encoded).await.is_err());
        assert!(read_all(&content, &unnamed).await.is_ok());
        engine.apply(TableId(7), "b", vec![upsert("1", "")]).await.unwrap();
        let swept = sweep(&engine, &content, &mut Encoded).await.unwrap();
        assert_eq!((swept.kept_bytes, swept.freed_bytes), (pieces[0].footprint(), unnamed[0].footprint()));
        assert!(read_all(&content, &pieces).await.is_ok());
    }
}
