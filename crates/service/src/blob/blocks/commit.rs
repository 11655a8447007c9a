//! Put Block List.
//!
//! The commit requires that neither the uncommitted blocks nor the blob that blocks were taken from have
//! changed since they were read; otherwise everything starts over. Segments after the first are written
//! earlier, in commits of bounded size. Nothing refers to them until the last commit.

use bytes::{Bytes, BytesMut};
use lazuli_model::blob::block::BlockRef;
use lazuli_model::blob::limits::COMMITTED_BLOCKS_MAX;
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::WriteSettings;
use lazuli_model::blob::{BlobKind, BlockId, Outcome};
use lazuli_model::{ErrorCode, OperationKind};

use super::gather::{BlockContent, Gathered};
use super::segments::slice;
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::guard::Guard;
use crate::blob::keep::Shelf;
use crate::blob::put::{replaced, settled, written};
use crate::blob::record::{Head, Revision, Staged, Stored};
use crate::blob::segment::{Entry, SegmentPart};
use crate::blob::tags::{Pairs, retired};
use crate::blob::upload::{Installed, Loose};
use crate::{Error, Grant, Result};

/// Maximum attempts if uncommitted blocks or the blob change between reading and committing.
const ATTEMPTS_MAX: usize = 16;

/// Content that is ready to be committed.
struct Ready {
    installed: Installed,
    /// Small blocks that were joined.
    loose: Option<Loose>,
}

impl Core {
    /// Put Block List.
    pub async fn put_block_list(
        &self,
        grant: &Grant,
        request: BlobRequest,
        list: Vec<BlockRef>,
        settings: WriteSettings,
    ) -> Result<Outcome> {
        if list.len() > COMMITTED_BLOCKS_MAX {
            return Err(ErrorCode::BlockListTooLong.into());
        }
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::PutBlockList, self.clock());
        let revision = settled(BlobKind::Block, settings, &request);
        for attempt in 0..ATTEMPTS_MAX {
            let gathered = self.gather(&at, &guard, &list).await?;
            let committed = self.commit_list(&at, &guard, revision.clone(), gathered, attempt > 0);
            if let Some(written) = committed.await? {
                return Ok(Outcome::Created(Box::new(written)));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Commits the list; `None` if something has changed since it was assembled.
    async fn commit_list(
        &self,
        at: &At,
        guard: &Guard,
        mut revision: Revision,
        mut gathered: Gathered,
        is_retry: bool,
    ) -> Result<Option<Written>> {
        revision.size = gathered.size;
        let Some(ready) = self.prepare(at, &mut gathered).await? else { return Ok(None) };
        let Ready { installed: Installed { stored, writes, pin }, mut loose } = ready;
        revision.content = stored;
        if let Some(loose) = &mut loose {
            loose.committing(self.clock().ticks());
        }
        let announced = self.announce_tags(at, &revision.tags).await?;
        let shelf = self.shelf(at, is_retry).await?;
        let writes = writes.into_iter().chain(shelf.write()).collect();
        let rule = list_rule(guard.clone(), revision, shelf, &gathered);
        let kind = OperationKind::PutBlockList;
        let decided = self.decide_with_event(at, kind, rule, writes).await;
        drop(pin);
        // Also after a failure, since segments may have been written.
        self.todo.blob(at);
        if let Some(mut loose) = loose {
            match &decided {
                Ok(Decided::Done(_)) => loose.named(),
                Ok(Decided::Rejected)
                | Err(Error::Rejected(_) | Error::Engine(lazuli_engine::Error::Conflict)) => {
                    loose.rejected();
                }
                Err(Error::Engine(_)) => {}
            }
        }
        match decided {
            Ok(Decided::Done((written, retired))) => {
                announced.committed(retired);
                Ok(Some(written))
            }
            Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Prepares the content for the commit; `None` if an uncommitted block no longer exists.
    async fn prepare(&self, at: &At, gathered: &mut Gathered) -> Result<Option<Ready>> {
        if let Some(stored) = inline(gathered, self.content.inline_max()) {
            let installed = Installed { stored, writes: Vec::new(), pin: None };
            return Ok(Some(Ready { installed, loose: None }));
        }
        let Some(loose) = self.join(at, &mut gathered.contents).await? else { return Ok(None) };
        let entries = gathered.blocks.iter().map(|(id, place)| Entry {
            id: Some(id.clone()),
            parts: parts_of(&gathered.contents[*place]).to_vec(),
        });
        let installed = self.write_segments(at, entries).await?;
        Ok(Some(Ready { installed, loose: Some(loose) }))
    }

    /// Moves the bytes of small blocks into one upload, so that segments stay small.
    async fn join(&self, at: &At, contents: &mut [BlockContent]) -> Result<Option<Loose>> {
        let mut offsets = Vec::new();
        let mut written = 0_u64;
        let mut writer = self.content.begin(None, None);
        for (place, content) in contents.iter().enumerate() {
            let bytes = match content {
                BlockContent::Parts(_) => continue,
                BlockContent::Bytes(bytes) => bytes.clone(),
                BlockContent::Row { key, .. } => match self.staged_bytes(at, key).await? {
                    Some(bytes) => bytes,
                    None => return Ok(None),
                },
            };
            offsets.push((place, written, bytes.len() as u64));
            written += bytes.len() as u64;
            if !bytes.is_empty() {
                writer.write(bytes).await?;
            }
        }
        let loose = self.loose(at, writer.seal().await?);
        for (place, start, length) in offsets {
            contents[place] = BlockContent::Parts(slice(loose.pieces(), start, length));
        }
        Ok(Some(loose))
    }

    /// The bytes of a small uncommitted block.
    async fn staged_bytes(&self, at: &At, key: &str) -> Result<Option<Bytes>> {
        let found = self.engine().get(at.tables.staged, &at.name, &[key]).await?;
        let Some(row) = found.into_iter().next().flatten() else { return Ok(None) };
        match Staged::decode(row.value)? {
            Staged::Inline(bytes) => Ok(Some(bytes)),
            Staged::Pieces(_) => Ok(None),
        }
    }
}

/// Decides on the head. Rejects the commit with `Conflict` if the blocks have changed since they were read.
fn list_rule(
    guard: Guard,
    revision: Revision,
    shelf: Shelf,
    gathered: &Gathered,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, (Written, Pairs))> + Send + Sync + 'static {
    let Gathered { fence, horizon, shape, .. } = *gathered;
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let lease = guard.create(&head)?;
        head.blob.as_ref().map_or(Ok(()), |blob| guard.may_replace(blob))?;
        let old = head.marks.staged;
        let is_same =
            old.unwrap_or_default().fence == fence && shape.is_none_or(|shape| head.marks.shape == shape);
        if !is_same {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        let retired = retired(head.blob.as_ref(), &revision.tags);
        shelf.keep(&mut head, version)?;
        let revision = Revision { version: shelf.version(version), ..revision.clone() };
        let written = written(&revision, version);
        let mut next = replaced(head, revision, lease, OperationKind::PutBlockList, version);
        if let Some(marks) = &mut next.marks.staged {
            // Blocks that were uploaded after the list was assembled stay. The next block may have an id of
            // another length: only the ids of uncommitted blocks are compared.
            marks.horizon = horizon;
        }
        Ok((Step::Put(Box::new(next)), (written, retired)))
    }
}

fn parts_of(content: &BlockContent) -> &[SegmentPart] {
    match content {
        BlockContent::Parts(parts) => parts,
        BlockContent::Bytes(_) | BlockContent::Row { .. } => &[],
    }
}

/// The content for the head, if it is small enough to be part of it.
fn inline(gathered: &Gathered, inline_max: usize) -> Option<Stored> {
    let ids: usize = gathered.blocks.iter().map(|(id, _)| id.as_bytes().len() + 2).sum();
    if usize::try_from(gathered.size).ok()?.saturating_add(ids) > inline_max {
        return None;
    }
    let mut bytes = BytesMut::new();
    let mut blocks: Vec<(BlockId, u64)> = Vec::with_capacity(gathered.blocks.len());
    for (id, place) in &gathered.blocks {
        let BlockContent::Bytes(block) = &gathered.contents[*place] else { return None };
        bytes.extend_from_slice(block);
        blocks.push((id.clone(), block.len() as u64));
    }
    Some(Stored::Inline { bytes: bytes.freeze(), blocks })
}
