//! Get Block List.
//!
//! The blob and its uncommitted blocks are in two tables, so they are read one after the other. If the uncommitted blocks were
//! committed or dropped in between, they are read again.

use std::sync::{Arc, Mutex, PoisonError};

use lazuli_model::ErrorCode;
use lazuli_model::blob::block::{BlockEntry, BlockListFilter};
use lazuli_model::blob::limits::UNCOMMITTED_BLOCKS_MAX;
use lazuli_model::blob::operation::{BlobRequest, Revision as Which};
use lazuli_model::blob::outcome::BlockList;
use lazuli_model::blob::{BlobKind, Outcome};

use super::StagedRow;
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, of_kind};
use crate::{Grant, Result};

/// Maximum attempts if uncommitted blocks are committed or dropped in between.
const ATTEMPTS_MAX: usize = 16;

impl Core {
    /// Get Block List. A blob without a committed state has a block list, too.
    pub async fn get_block_list(
        &self,
        grant: &Grant,
        request: BlobRequest,
        filter: BlockListFilter,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::of(&request, self.clock());
        for _ in 0..ATTEMPTS_MAX {
            if let Some(list) = self.block_list(&at, &guard, request.revision, filter).await? {
                return Ok(Outcome::BlockList(Box::new(list)));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// `None` if uncommitted blocks were committed or dropped before they were read.
    async fn block_list(
        &self,
        at: &At,
        guard: &Guard,
        which: Which,
        filter: BlockListFilter,
    ) -> Result<Option<BlockList>> {
        let pin = self.pins.blob(at.tables.blobs, &at.name);
        let (blob, staged) = match which {
            Which::Current => {
                let head = self.head(at).await?.ok_or(ErrorCode::BlobNotFound)?;
                if head.blob.is_none() {
                    if !head.marks.staged.is_some_and(|marks| marks.is_live) {
                        return Err(ErrorCode::BlobNotFound.into());
                    }
                    guard.inspect_uncommitted(&head)?;
                }
                (head.blob, head.marks.staged)
            }
            which => (Some(self.find(at, which).await?), None),
        };
        if let Some(blob) = &blob {
            guard.inspect(blob)?;
            of_kind(blob, BlobKind::Block)?;
        }
        let mut list = BlockList {
            blob: blob.as_ref().map(|blob| (blob.stamp(), blob.size)),
            committed: filter.has_committed().then(Vec::new),
            uncommitted: filter.has_uncommitted().then(Vec::new),
        };
        if let (Some(uncommitted), Some(marks)) = (&mut list.uncommitted, staged) {
            *uncommitted = self.uncommitted_blocks(at, marks.horizon).await?;
            let now = self.head(at).await?.and_then(|head| head.marks.staged);
            if now.map(|marks| marks.fence) != Some(marks.fence) {
                return Ok(None);
            }
        }
        if let (Some(committed), Some(blob)) = (&mut list.committed, blob) {
            let blocks = self.blocks_of(at, &blob.content).await?;
            *committed = blocks.into_iter().map(|(id, size)| BlockEntry { id, size }).collect();
        }
        drop(pin);
        Ok(Some(list))
    }

    /// The valid uncommitted blocks, the latest upload of each, up to Azure's limit. Reads one snapshot, so
    /// that a block that is uploaded again at the same time is not missed.
    async fn uncommitted_blocks(&self, at: &At, horizon: u64) -> Result<Vec<BlockEntry>> {
        let shared: Arc<Mutex<Vec<(BlockEntry, u64)>>> = Arc::default();
        let seen = shared.clone();
        let see = move |row: StagedRow| {
            let mut blocks = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = BlockEntry { id: row.id, size: row.block.length() };
            let is_full = blocks.len() >= UNCOMMITTED_BLOCKS_MAX;
            match blocks.last_mut() {
                // Uploads of the same block are adjacent.
                Some((last, version)) if last.id == entry.id => {
                    if row.version > *version {
                        (*last, *version) = (entry, row.version);
                    }
                }
                _ if is_full => {}
                _ => blocks.push((entry, row.version)),
            }
        };
        self.every_staged_row(at, horizon, see).await?;
        let blocks = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(blocks.into_iter().map(|(entry, _)| entry).collect())
    }
}
