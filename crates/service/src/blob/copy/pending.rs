//! Copies that continue in the background.
//!
//! The head of the destination contains everything that the copy needs, so a copy survives a restart by
//! starting over. The final commit requires that the copy is still pending.

use std::sync::Arc;

use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::write::StreamedBody;
use lazuli_model::blob::{BlobKind, BlobName, ContainerName};
use lazuli_model::{ErrorCode, Guid, OperationKind};

use super::Counted;
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::pins::Pin;
use crate::blob::reader::BlobReader;
use crate::blob::record::{CopyTask, Head, Revision, Stored, time};
use crate::blob::upload::Installed;
use crate::stream::{NextChunk, Source};
use crate::{Error, Result};

/// The progress is stored each time this many more bytes were copied.
const PROGRESS_BYTES: u64 = 64 * 1024 * 1024;

/// The background work of copying large blobs.
pub struct Copies {
    core: Arc<Core>,
    is_remote: bool,
}

impl Copies {
    /// Copies within this server, or from other servers. A slow remote source does not delay copies within the
    /// server.
    pub(in crate::blob) fn new(core: Arc<Core>, is_remote: bool) -> Self {
        Self { core, is_remote }
    }

    /// Completes one pending copy; `false` if there is none.
    pub async fn round(&mut self) -> Result<bool> {
        let todo = &self.core.todo;
        let Some(at) = todo.next_copy(self.is_remote) else { return Ok(false) };
        let ended = self.core.end_pending(&at).await;
        if ended.is_err() {
            // Whichever call failed, the copy is still pending.
            todo.copy(at, self.is_remote);
        }
        ended.map(|()| true)
    }
}

impl Core {
    /// Queues a copy whose first commit may have been applied even though the engine failed.
    pub fn queue_if_in_doubt<T>(&self, at: &At, is_remote: bool, begun: &Result<T>) {
        if matches!(begun, Err(Error::Engine(_))) {
            self.todo.copy(at.clone(), is_remote);
        }
    }

    /// Executes a pending copy, or records that it failed. After an error it should be retried.
    async fn end_pending(&self, at: &At) -> Result<()> {
        let Some(Revision { copy: Some(copy), copying: Some(task), .. }) =
            self.head(at).await?.and_then(|head| head.blob)
        else {
            return Ok(());
        };
        match self.copy_pending(at, copy.id, &task).await {
            // The source no longer exists or has changed, or the copy was aborted.
            Err(error) if is_final(&error) => {
                let code = error.failure().code;
                self.fail_copy(at, copy.id, format!("{} {}", code.status(), code.name())).await
            }
            other => other,
        }
    }

    async fn copy_pending(&self, at: &At, id: Guid, task: &CopyTask) -> Result<()> {
        if let Some(remote) = &task.remote {
            return self.copy_pending_remote(at, id, remote).await;
        }
        let container = ContainerName::new(&task.container).map_err(|_| ErrorCode::CopySourceNotFound)?;
        let blob = BlobName::new(&task.blob).map_err(|_| ErrorCode::CopySourceNotFound)?;
        let from = self.locate(&task.account, &container, &blob).await?;
        let which = match (task.snapshot, task.version) {
            (0, 0) => Which::Current,
            (0, version) => Which::Version(time(version)),
            (snapshot, _) => Which::Snapshot(time(snapshot)),
        };
        let (source, pin) = self.open(&from, which).await?;
        if source.changed != task.etag {
            return Err(ErrorCode::SourceConditionNotMet.into());
        }
        if source.kind == BlobKind::Page {
            return self.copy_pages(at, id, &from, &source, pin).await;
        }
        let second = pin.again();
        let mut reader = BlobReader::new(self, &from, source.content.clone(), pin, 0, source.size);
        let mut progress = Progress::new(self, at, id, Counted::new(&mut reader));
        let body = StreamedBody { length: source.size, ..StreamedBody::default() };
        let received = self.receive(at, &mut progress, &body).await?;
        let mut draft = received.body;
        let installed = self.install_copy(at, &draft, &from, &source).await?;
        drop(second);
        draft.committing(self.clock().ticks());
        let finished = self.finish_copy(at, id, source.size, installed).await;
        draft.settle(&finished);
        finished
    }

    /// Copies the pages of a page blob, all or those that differ from the last copy.
    async fn copy_pages(&self, at: &At, id: Guid, from: &At, source: &Revision, pin: Pin) -> Result<()> {
        let target = self.head(at).await?.and_then(|head| head.blob).and_then(|blob| blob.copy);
        let done = if target.is_some_and(|copy| copy.is_incremental) {
            self.copy_increment(at, id, from, source).await
        } else {
            let installed = self.install_pages(at, from, &source.content).await?;
            self.finish_copy(at, id, source.size, installed).await
        };
        drop(pin);
        done
    }

    pub(super) async fn finish_copy(&self, at: &At, id: Guid, size: u64, installed: Installed) -> Result<()> {
        let Installed { stored, writes, pin } = installed;
        let rule = move |head: Option<Head>, version: u64| {
            let mut head = head.unwrap_or_default();
            let blob = pending(&mut head, id)?;
            blob.content = stored.clone();
            blob.size = size;
            ended(blob, CopyStatus::Success, version);
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), ()))
        };
        let decided = self.decide_with_event(at, OperationKind::CopyBlob, rule, writes).await;
        drop(pin);
        // There may be segments that nothing refers to.
        self.todo.blob(at);
        match decided? {
            Decided::Done(()) => Ok(()),
            Decided::Rejected => Err(lazuli_engine::Error::Conflict.into()),
        }
    }

    /// Records that a copy failed, unless it is no longer pending.
    async fn fail_copy(&self, at: &At, id: Guid, why: String) -> Result<()> {
        let failed = self.change(at, move |head, version| {
            let mut head = head.unwrap_or_default();
            let blob = pending(&mut head, id)?;
            ended(blob, CopyStatus::Failed, version);
            if let Some(copy) = &mut blob.copy {
                copy.description = Some(why.clone());
            }
            Ok((Step::Put(Box::new(head)), ()))
        });
        match failed.await {
            Err(Error::Rejected(_)) => Ok(()),
            other => other,
        }
    }

    /// Stores the progress of a copy; fails if it is no longer pending.
    async fn tell_progress(&self, at: &At, id: Guid, copied: u64) -> Result<()> {
        self.change(at, move |head, _| {
            let mut head = head.unwrap_or_default();
            let blob = pending(&mut head, id)?;
            if let Some(copy) = &mut blob.copy {
                copy.copied = copied;
            }
            Ok((Step::Put(Box::new(head)), ()))
        })
        .await
    }
}

/// Would the copy fail again? Not if the cause was that the store or the connections of this server were
/// unavailable.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Rejected(failure) => failure.code != ErrorCode::ServerBusy,
        // Damaged content does not recover, and the copy would be retried forever.
        Error::Engine(error) => {
            matches!(error, lazuli_engine::Error::TooLarge(_) | lazuli_engine::Error::Corrupt(_))
        }
    }
}

/// The destination of a copy that is still pending.
pub fn pending(head: &mut Head, id: Guid) -> Result<&mut Revision> {
    let is_pending = |blob: &Revision| {
        blob.copy.as_ref().is_some_and(|copy| copy.id == id && copy.status == CopyStatus::Pending)
    };
    let blob = head.blob.as_mut().filter(|blob| is_pending(blob));
    Ok(blob.ok_or(ErrorCode::NoPendingCopyOperation)?)
}

/// Notes the end of a copy. The content is set before this, or stays empty.
fn ended(blob: &mut Revision, status: CopyStatus, version: u64) {
    let is_incremental = blob.copy.as_ref().is_some_and(|copy| copy.is_incremental);
    if status != CopyStatus::Success && !is_incremental {
        blob.content = Stored::default();
        blob.size = 0;
        blob.appends = 0;
    }
    if let Some(copy) = &mut blob.copy {
        copy.status = status;
        copy.completed = Some(time(version));
        if status == CopyStatus::Success {
            copy.copied = copy.total;
        }
    }
    blob.copying = None;
    blob.touch(OperationKind::CopyBlob, version);
}

/// Passes bytes on and stores the progress periodically.
pub(super) struct Progress<'a> {
    core: &'a Core,
    at: &'a At,
    id: Guid,
    told: u64,
    counted: Counted<'a>,
}

impl<'a> Progress<'a> {
    pub fn new(core: &'a Core, at: &'a At, id: Guid, counted: Counted<'a>) -> Self {
        Self { core, at, id, told: 0, counted }
    }
}

impl Source for Progress<'_> {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            let passed = self.counted.passed;
            if passed >= self.told + PROGRESS_BYTES {
                self.told = passed;
                self.core.tell_progress(self.at, self.id, passed).await?;
            }
            self.counted.next().await
        })
    }
}
