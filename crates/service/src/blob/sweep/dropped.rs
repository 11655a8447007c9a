//! Releases the content of a deleted container, before its rows are erased.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::content::Piece;
use lazuli_engine::{KeyRange, RowView, TableId};

use super::partition::{See, some_rows};
use super::{Progress, release};
use crate::Result;
use crate::blob::Blobs;
use crate::blob::core::Core;
use crate::blob::keyspace::{RowKind, Tables};
use crate::blob::record::Staged;
use crate::blob::segment::Segment;
use crate::sweep::Release;

impl Release for Blobs {
    fn release<'a>(
        &'a self,
        tables: &'a [TableId],
    ) -> Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>> {
        Box::pin(async {
            let Some(Tables { blobs, staged, .. }) = Tables::of(tables) else { return Ok(true) };
            // Downloads in progress end first, and events are delivered.
            let has_events = self.0.outbox.as_ref().is_some_and(|outbox| outbox.needs(blobs));
            // Finding their content reads all rows: wait while none of it can be freed.
            if self.0.pins.has_table(blobs) || has_events || self.0.content.is_held().await? {
                return Ok(false);
            }
            let blobs = release_table(&self.0, blobs, segment_pieces).await?;
            let staged = release_table(&self.0, staged, staged_pieces).await?;
            Ok(blobs.and(staged) == Progress::Done)
        })
    }
}

type PiecesOf = fn(&RowView<'_>) -> lazuli_engine::Result<Vec<Piece>>;

fn segment_pieces(row: &RowView<'_>) -> lazuli_engine::Result<Vec<Piece>> {
    match RowKind::of(row.row) {
        Some(RowKind::Named(..) | RowKind::Unnamed(..)) => {
            Ok(Segment::decode(Bytes::copy_from_slice(row.value))?.pieces().copied().collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn staged_pieces(row: &RowView<'_>) -> lazuli_engine::Result<Vec<Piece>> {
    Ok(Staged::decode(Bytes::copy_from_slice(row.value))?.pieces().to_vec())
}

/// Nothing can reach the rows any more, so all their pieces are released, even shared ones.
async fn release_table(core: &Core, table: TableId, pieces_of: PiecesOf) -> Result<Progress> {
    let pieces: Arc<Mutex<HashSet<Piece>>> = Arc::default();
    let seen = pieces.clone();
    let see: See = Arc::new(move |row: &RowView<'_>| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).extend(pieces_of(row)?);
        Ok(())
    });
    let mut progress = Progress::Done;
    let mut next = Some(KeyRange::ALL);
    while let Some(range) = next {
        next = some_rows(core, table, range, see.clone()).await?;
        let pieces = std::mem::take(&mut *pieces.lock().unwrap_or_else(PoisonError::into_inner));
        progress = progress.and(release(core, pieces.into_iter().collect()).await?);
    }
    Ok(progress)
}
