//! Put Block.
//!
//! The block is stored first and announced in the head afterwards. If the second step fails, the request fails
//! and a scan finds the block.
//!
//! Invariant: an upload can take long, so the head that announces a block decides again whether the blob accepts
//! it. A block that is rejected there is withdrawn.

use std::sync::Arc;

use lazuli_engine::Applied;
use lazuli_engine::content::Piece;
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::write::StreamedBody;
use lazuli_model::blob::{BlobKind, BlockId, Outcome};
use lazuli_model::{ErrorCode, Failure, OperationKind};

use crate::blob::commit::{Step, insert, remove};
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, not_pending, of_kind};
use crate::blob::keyspace;
use crate::blob::record::Head;
use crate::blob::upload::{Received, UploadedContent};
use crate::stream::Source;
use crate::{Grant, Result};

impl Core {
    /// Put Block with a body.
    pub async fn put_block(
        self: &Arc<Self>,
        grant: &Grant,
        request: BlobRequest,
        id: BlockId,
        body: StreamedBody,
        source: &mut dyn Source,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::PutBlock, self.clock());
        self.may_stage(&at, &guard, &id).await?;
        let received = self.receive(&at, source, &body).await?;
        self.still_there(&grant.home, &request.container, &at).await?;
        let digested = received.digested;
        self.stage(&at, &guard, &id, received).await?;
        Ok(Outcome::BlockPut(digested, request.encryption.view()))
    }

    /// Can a block be uploaded to this blob? Checked before the body is read.
    pub async fn may_stage(&self, at: &At, guard: &Guard, id: &BlockId) -> Result<()> {
        let head = self.head(at).await?.unwrap_or_default();
        accepts(&head, guard, id)?;
        self.has_room(at, &head, id).await
    }

    /// Stores a received block and announces it, in a separate task: even if the caller gives up in between, a
    /// rejected block must be withdrawn.
    pub async fn stage(
        self: &Arc<Self>,
        at: &At,
        guard: &Guard,
        id: &BlockId,
        received: Received,
    ) -> Result<()> {
        if matches!(received.body, UploadedContent::Pieces(_)) {
            // The blob is most likely to change during a long upload. Until a block is withdrawn, a list can
            // commit it.
            accepts(&self.head(at).await?.unwrap_or_default(), guard, id)?;
        }
        let (core, at, guard, id) = (Arc::clone(self), at.clone(), guard.clone(), id.clone());
        let staged = tokio::spawn(async move { core.stage_now(&at, &guard, &id, received).await });
        staged.await.unwrap_or_else(|_| {
            Err(lazuli_engine::Error::Unknown("the task that stores a block has ended".into()).into())
        })
    }

    async fn stage_now(&self, at: &At, guard: &Guard, id: &BlockId, received: Received) -> Result<()> {
        // The sweep must not mistake a withdrawn block for one that replaces another.
        let _pin = self.pins.blob(at.tables.blobs, &at.name);
        let Received { mut body, .. } = received;
        let row = keyspace::staged(id, self.fresh_generation());
        let staged = body.staged();
        let pieces = staged.pieces().to_vec();
        let writes = vec![insert(row.clone(), staged.encode())];
        body.committing(self.clock().ticks());
        let applied = self.engine().apply(at.tables.staged, &at.name, writes).await;
        let applied = match applied {
            Ok(Applied::Done { .. }) => Ok(()),
            Ok(Applied::Rejected { .. }) => Err(Failure::from(ErrorCode::ServerBusy).into()),
            Err(error) => Err(error.into()),
        };
        body.settle(&applied);
        applied?;
        let announced = self.announce(at, guard, id).await;
        if matches!(announced, Err(crate::Error::Rejected(_))) {
            self.withdraw(at, row, pieces).await?;
        }
        announced
    }

    /// Ensures that the head records the existence of uncommitted blocks, and that the blob still accepts this one.
    async fn announce(&self, at: &At, guard: &Guard, id: &BlockId) -> Result<()> {
        let head = self.head(at).await?.unwrap_or_default();
        accepts(&head, guard, id)?;
        if is_announced(&head, id) {
            return Ok(());
        }
        let (guard, id) = (guard.clone(), id.clone());
        self.change(at, move |head, _| {
            let mut head = head.unwrap_or_default();
            accepts(&head, &guard, &id)?;
            if is_announced(&head, &id) {
                return Ok((Step::Keep, ()));
            }
            let mut marks = head.marks.staged.unwrap_or_default();
            marks.is_live = head.blob.is_none();
            marks.id_bytes = length(&id);
            head.marks.staged = Some(marks);
            Ok((Step::Put(Box::new(head)), ()))
        })
        .await
    }

    /// Removes a block that was stored but rejected. A list that has already read it must no longer be
    /// committed, since the content is freed.
    async fn withdraw(&self, at: &At, row: String, pieces: Vec<Piece>) -> Result<()> {
        self.engine().apply(at.tables.staged, &at.name, vec![remove(row)]).await?;
        self.change(at, |head, version| {
            let mut head = head.unwrap_or_default();
            head.marks.staged.get_or_insert_default().fence = version;
            Ok((Step::Put(Box::new(head)), ()))
        })
        .await?;
        // A list that was committed earlier may refer to the pieces; the sweep keeps those.
        drop(self.loose(at, pieces));
        // The head may contain only the fence.
        self.todo.blob(at);
        Ok(())
    }
}

/// Can this block be added to a blob with this head?
fn accepts(head: &Head, guard: &Guard, id: &BlockId) -> Result<()> {
    guard.stage(head)?;
    if let Some(blob) = &head.blob {
        not_pending(blob)?;
        of_kind(blob, BlobKind::Block)?;
    }
    fits(head, id)
}

/// All ids of uncommitted blocks have the same length.
fn fits(head: &Head, id: &BlockId) -> Result<()> {
    match head.marks.staged {
        Some(marks) if ![0, length(id)].contains(&marks.id_bytes) => {
            Err(ErrorCode::InvalidBlobOrBlock.into())
        }
        _ => Ok(()),
    }
}

fn is_announced(head: &Head, id: &BlockId) -> bool {
    head.marks
        .staged
        .is_some_and(|marks| marks.id_bytes == length(id) && (marks.is_live || head.blob.is_some()))
}

/// Ids have at most 64 bytes.
fn length(id: &BlockId) -> u8 {
    u8::try_from(id.as_bytes().len()).unwrap_or(u8::MAX)
}
