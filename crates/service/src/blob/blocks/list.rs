//! Get Block List.

use lazuli_model::ErrorCode;
use lazuli_model::blob::block::{BlockEntry, BlockListFilter};
use lazuli_model::blob::limits::UNCOMMITTED_BLOCKS_MAX;
use lazuli_model::blob::operation::{BlobRequest, Revision as Which};
use lazuli_model::blob::outcome::BlockList;
use lazuli_model::blob::{BlobKind, Outcome};

use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, of_kind};
use crate::{Grant, Result};

impl Core {
    /// Get Block List. A blob without a committed state has a list, too.
    pub async fn get_block_list(
        &self,
        grant: &Grant,
        request: BlobRequest,
        filter: BlockListFilter,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let pin = self.pins.blob(at.tables.blobs, &at.name);
        let guard = Guard::of(&request, self.clock());
        let (blob, staged) = match request.revision {
            Which::Current => {
                let head = self.head(&at).await?.ok_or(ErrorCode::BlobNotFound)?;
                if head.blob.is_none() {
                    if !head.marks.staged.is_some_and(|marks| marks.is_live) {
                        return Err(ErrorCode::BlobNotFound.into());
                    }
                    guard.inspect_uncommitted(&head)?;
                }
                (head.blob, head.marks.staged)
            }
            which => (Some(self.find(&at, which).await?), None),
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
        if let (Some(committed), Some(blob)) = (&mut list.committed, blob) {
            let blocks = self.blocks_of(&at, &blob.content).await?;
            *committed = blocks.into_iter().map(|(id, size)| BlockEntry { id, size }).collect();
        }
        if let (Some(uncommitted), Some(marks)) = (&mut list.uncommitted, staged) {
            *uncommitted = self.uncommitted_blocks(&at, marks.horizon).await?;
        }
        drop(pin);
        Ok(Outcome::BlockList(Box::new(list)))
    }

    /// The uncommitted blocks that count, the latest upload of each: as many as Azure can have.
    async fn uncommitted_blocks(&self, at: &At, horizon: u64) -> Result<Vec<BlockEntry>> {
        let mut blocks: Vec<(BlockEntry, u64)> = Vec::new();
        let mut rows = self.staged_rows(at);
        while blocks.len() <= UNCOMMITTED_BLOCKS_MAX
            && let Some(page) = rows.next().await?
        {
            for row in page.into_iter().filter(|row| row.version > horizon) {
                let entry = BlockEntry { id: row.id, size: row.block.length() };
                match blocks.last_mut() {
                    // Uploads of the same block stand together.
                    Some((last, version)) if last.id == entry.id => {
                        if row.version > *version {
                            (*last, *version) = (entry, row.version);
                        }
                    }
                    _ => blocks.push((entry, row.version)),
                }
            }
        }
        blocks.truncate(UNCOMMITTED_BLOCKS_MAX);
        Ok(blocks.into_iter().map(|(entry, _)| entry).collect())
    }
}
