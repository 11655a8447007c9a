//! Incremental Copy Blob from another server.
//!
//! The snapshot is fetched as a whole and compared with the destination while it is streamed. Only pages that
//! differ are written, so the snapshots of the destination share the rest.

use bytes::BytesMut;
use lazuli_model::blob::copy::{CopySource, CopyStatus, without_query, without_signature};
use lazuli_model::blob::limits::{PAGE_BLOB_BYTES_MAX, PAGE_BYTES};
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{DateTime, ErrorCode, Failure, Guid};

use super::cell::Cell;
use super::copy::{COMMIT_BYTES, take_cells, written};
use super::incremental::{Begin, differences, info};
use crate::Result;
use crate::blob::commit::Decided;
use crate::blob::copy::Opener;
use crate::blob::core::{At, Core};
use crate::blob::guard::Guard;
use crate::blob::record::{CopyTask, Pages, RemoteTask, Revision, Stored};
use crate::stream::Source;

impl Core {
    /// Starts a copy from another server. A large one continues in the background.
    pub(super) async fn incremental_remote(
        &self,
        at: At,
        guard: Guard,
        source: &CopySource,
        snapshot: DateTime,
        opener: Box<dyn Opener + '_>,
    ) -> Result<Outcome> {
        let mut remote = opener.open().await?;
        let state = remote.revision();
        if !is_page_blob(&state) {
            return Err(ErrorCode::InvalidSourceBlobType.into());
        }
        let (target, id) = (self.page_target(&at).await?, self.fresh_id());
        let writes = target.writes();
        let etag = remote.etag.clone().unwrap_or_default();
        let task = CopyTask {
            // The next copy must be of the same blob.
            blob: without_query(&source.url).to_owned(),
            snapshot: snapshot.ticks(),
            remote: Some(RemoteTask { url: source.url.clone(), etag }),
            ..CopyTask::default()
        };
        let info = info(id, &without_signature(&source.url), remote.length);
        let begun = Begin { guard, target, task, info, source: state.clone() };
        let decided = self.decide(&at, move |head, version| begun.rule(head, version), writes).await;
        self.queue_if_in_doubt(&at, true, &decided);
        let Decided::Done(written) = decided? else { return Err(lazuli_engine::Error::Conflict.into()) };
        if remote.length > self.options.copy_at_once_max
            || self.land_increment(&at, id, &mut *remote.body, &state).await.is_err()
        {
            // The background work completes the copy, or records why it fails.
            self.todo.copy(at, true);
        }
        let written = Box::new(written);
        Ok(Outcome::Copied { written, id, status: CopyStatus::Pending, is_sync: false })
    }

    /// Completes a copy in the background; `None` if the destination does not belong to an incremental copy.
    pub(in crate::blob) async fn increment_pending(
        &self,
        at: &At,
        id: Guid,
        state: &Revision,
        source: &mut dyn Source,
    ) -> Result<Option<()>> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        if !blob.and_then(|blob| blob.copy).is_some_and(|copy| copy.is_incremental) {
            return Ok(None);
        }
        if !is_page_blob(state) {
            return Err(ErrorCode::InvalidSourceBlobType.into());
        }
        self.land_increment(at, id, source, state).await.map(Some)
    }

    /// Receives the snapshot, and takes one of the destination.
    async fn land_increment(
        &self,
        at: &At,
        id: Guid,
        source: &mut dyn Source,
        state: &Revision,
    ) -> Result<()> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        let Some(Stored::Pages(target)) = blob.map(|blob| blob.content) else {
            return Err(ErrorCode::NoPendingCopyOperation.into());
        };
        let pin = self.pins.generation(at.tables.blobs, &at.name, target.generation);
        self.synchronize_stream(at, &target, source, state.size).await?;
        let sealed = self.seal_increment(at, id, state, &target).await;
        drop(pin);
        sealed
    }

    /// Writes the pages in which the destination differs from the received bytes.
    async fn synchronize_stream(
        &self,
        at: &At,
        target: &Pages,
        source: &mut dyn Source,
        length: u64,
    ) -> Result<()> {
        let (mut left, mut next, mut gathered) = (length, 0_u32, BytesMut::new());
        loop {
            if left > 0 {
                let bytes = source.next().await?.ok_or_else(Failure::unreadable_body)?;
                left = left.checked_sub(bytes.len() as u64).ok_or_else(Failure::unreadable_body)?;
                gathered.extend_from_slice(&bytes);
            }
            let is_end = left == 0;
            if gathered.len() < COMMIT_BYTES && !is_end {
                continue;
            }
            let first = next;
            let mut cells: Vec<(u32, Cell)> = Vec::new();
            for bytes in take_cells(target.grid, &mut gathered, is_end) {
                cells.extend(written(&bytes).map(|cell| (next, cell)));
                next += 1;
            }
            // The source has no pages beyond its end.
            let last = if is_end { u32::MAX } else { next - 1 };
            let old = self.old_cells(at, target, first, last).await?;
            self.put_cells(at, target.generation, differences(target, cells, old)).await?;
            if is_end {
                return Ok(());
            }
        }
    }
}

fn is_page_blob(state: &Revision) -> bool {
    state.kind == BlobKind::Page && state.size.is_multiple_of(PAGE_BYTES) && state.size <= PAGE_BLOB_BYTES_MAX
}
