//! Copy Blob: synchronous, or asynchronous with small blobs copied immediately.

use lazuli_model::blob::copy::{CopyInfo, CopyStatus, SourceBlob, without_signature};
use lazuli_model::blob::lease::Term;
use lazuli_model::blob::limits::SYNC_COPY_BYTES_MAX;
use lazuli_model::blob::operation::{BlobRequest, CopyBlob, Revision as Which};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::{StreamedBody, TagOption};
use lazuli_model::blob::{AccessTier, BlobKind, Outcome};
use lazuli_model::{ErrorCode, Failure, Guid, OperationKind};

use super::{Opened, Style, Supply, unmet_by_target, unsupplied};
use crate::access::blob::AuthorizedSource;
use crate::blob::commit::{demand, is_conflict};
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, not_archived, of_kind};
use crate::blob::keep::{ATTEMPTS_MAX, life_of, row_of};
use crate::blob::put::{Replacement, chosen};
use crate::blob::reader::BlobReader;
use crate::blob::record::{CopyTask, Head, Revision};
use crate::blob::upload::Installed;
use crate::{Error, Grant, Result};

/// A copy that is about to start.
pub(super) struct CopyPlan {
    pub at: At,
    pub guard: Guard,
    pub id: Guid,
    pub kind: OperationKind,
    /// The destination without its content.
    pub revision: Revision,
}

impl Core {
    /// Copy Blob and Copy Blob From URL.
    pub async fn copy_blob(
        &self,
        grant: &Grant,
        request: BlobRequest,
        copy: CopyBlob,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::CopyBlob, self.clock());
        let head = self.head(&at).await?.unwrap_or_default();
        let target = head.blob.as_ref();
        let unmet = |error| unmet_by_target(error, &request.conditions, !copy.is_sync);
        guard.create(&head).map_err(unmet)?;
        if !copy.is_sync {
            needs_infinite_lease(target, &guard)?;
        }
        let (written, id, status) = match supply {
            Supply::Local(source) => self.copy_local(at, guard, &request, &copy, &source, target).await?,
            Supply::Remote(opener) => {
                self.copy_remote(grant, at, guard, &request, &copy, (opener, target)).await?
            }
            Supply::Nothing | Supply::Body(_) => return Err(unsupplied()),
        };
        Ok(Outcome::Copied { written: Box::new(written), id, status, is_sync: copy.is_sync })
    }

    async fn copy_local(
        &self,
        at: At,
        guard: Guard,
        request: &BlobRequest,
        copy: &CopyBlob,
        source: &AuthorizedSource,
        target: Option<&Revision>,
    ) -> Result<(Written, Guid, CopyStatus)> {
        let style = if copy.is_sync { Style::FromUrlByTag } else { Style::Copy };
        for _ in 0..ATTEMPTS_MAX {
            let opened = self.open_source(source, &copy.source, style).await?;
            check_source(&opened.revision, copy, target)?;
            let plan = self.plan(at.clone(), guard.clone(), request, copy, &opened.revision);
            // Runs and pages are modified in place, so only a block blob can share its generation with its
            // snapshot.
            if opened.at != at || opened.revision.kind != BlobKind::Block {
                return self.copy_content(plan, opened, copy, source).await;
            }
            let id = plan.id;
            if let Some(written) = self.share(plan, opened).await? {
                return Ok((written, id, CopyStatus::Success));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Copies the content of a source on this server, immediately or in the background.
    async fn copy_content(
        &self,
        plan: CopyPlan,
        opened: Opened,
        copy: &CopyBlob,
        source: &AuthorizedSource,
    ) -> Result<(Written, Guid, CopyStatus)> {
        if copy.is_sync || opened.revision.size <= self.options.copy_at_once_max {
            let id = plan.id;
            let written = self.copy_bytes(plan, opened, copy).await?;
            return Ok((written, id, CopyStatus::Success));
        }
        self.begin_pending(plan, task(&source.grant().home, source.blob(), &opened)).await
    }

    /// The destination, except for its content.
    pub(super) fn plan(
        &self,
        at: At,
        guard: Guard,
        request: &BlobRequest,
        copy: &CopyBlob,
        source: &Revision,
    ) -> CopyPlan {
        let id = self.fresh_id();
        let kind = if copy.is_sync { OperationKind::CopyBlobFromUrl } else { OperationKind::CopyBlob };
        let info = CopyInfo {
            id,
            source: without_signature(&copy.source.url),
            status: CopyStatus::Success,
            copied: source.size,
            total: source.size,
            completed: Some(self.now()),
            description: None,
            is_incremental: false,
            destination_snapshot: None,
        };
        let revision = Revision {
            size: source.size,
            headers: source.headers.clone(),
            metadata: copy.metadata.clone().unwrap_or_else(|| source.metadata.clone()),
            tags: match copy.tag_option {
                TagOption::Replace => copy.tags.clone(),
                TagOption::Copy => source.tags.clone(),
            },
            tier: chosen(copy.tier),
            copy: Some(Box::new(info)),
            encryption: request.encryption.view(),
            immutability: copy.immutability.policy,
            legal_hold: copy.immutability.legal_hold.unwrap_or_default(),
            sequence_number: source.sequence_number,
            appends: source.appends,
            is_sealed: source.kind == BlobKind::Append && copy.seals.unwrap_or(source.is_sealed),
            ..Revision::new(source.kind, 0)
        };
        CopyPlan { at, guard, id, kind, revision }
    }

    /// A copy within one blob: the destination shares the generation, and the commit requires that the
    /// generation is still referenced. `None` if the source has changed since it was opened: a version that was
    /// the current blob then is an old version now.
    async fn share(&self, plan: CopyPlan, opened: Opened) -> Result<Option<Written>> {
        let which = opened.which;
        let CopyPlan { at, guard, kind, mut revision, .. } = plan;
        revision.content = opened.revision.content.clone();
        let writes: Vec<_> = row_of(which).map(demand).into_iter().collect();
        let generation = opened.revision.content.generation();
        let changed = opened.revision.changed;
        let (source, now) = (opened.revision.clone(), self.clock().ticks());
        let check = move |head: &Head| {
            let is_same = match which {
                Which::Snapshot(_) | Which::Version(_) => life_of(which, head, &source, now).is_live(),
                Which::Current => head
                    .blob
                    .as_ref()
                    .is_some_and(|blob| blob.content.generation() == generation && blob.changed == changed),
            };
            if is_same { Ok(()) } else { Err(ErrorCode::SourceConditionNotMet.into()) }
        };
        let written = self.replace_if(&at, guard, Replacement { kind, revision }, writes, check).await;
        drop(opened.pin);
        match written {
            Err(Error::Rejected(failure)) if failure.code == ErrorCode::SourceConditionNotMet => Ok(None),
            written if is_conflict(&written) => Ok(None),
            written => written.map(Some),
        }
    }

    /// Copies all bytes before it returns.
    async fn copy_bytes(&self, plan: CopyPlan, opened: Opened, copy: &CopyBlob) -> Result<Written> {
        let CopyPlan { at, guard, kind, mut revision, .. } = plan;
        if revision.kind == BlobKind::Page {
            let Installed { stored, writes, pin } =
                self.install_pages(&at, &opened.at, &opened.revision.content).await?;
            revision.content = stored;
            let written = self.replace(&at, guard, Replacement { kind, revision }, writes).await;
            drop((pin, opened.pin));
            return written;
        }
        let length = opened.revision.size;
        let body = StreamedBody { length, expected: copy.source.expected, needed: copy.digests };
        let second = opened.pin.again();
        let mut reader =
            BlobReader::new(self, &opened.at, opened.revision.content.clone(), opened.pin, 0, length);
        let received = self.receive(&at, &mut reader, &body).await?;
        let digested = received.digested;
        if copy.is_sync {
            revision.headers.content_md5 = revision.headers.content_md5.or(digested.md5.map(Into::into));
        }
        let mut draft = received.body;
        let Installed { stored, writes, pin } =
            self.install_copy(&at, &draft, &opened.at, &opened.revision).await?;
        drop(second);
        revision.content = stored;
        draft.committing(self.clock().ticks());
        let written = self.replace(&at, guard, Replacement { kind, revision }, writes).await;
        draft.settle(&written);
        drop(pin);
        Ok(Written { digested, ..written? })
    }

    /// Starts a copy that continues in the background. Until it is complete the destination is empty.
    pub(super) async fn begin_pending(
        &self,
        plan: CopyPlan,
        task: CopyTask,
    ) -> Result<(Written, Guid, CopyStatus)> {
        let CopyPlan { at, guard, id, kind, mut revision } = plan;
        let is_remote = task.remote.is_some();
        revision.size = 0;
        revision.copying = Some(Box::new(task));
        if let Some(info) = &mut revision.copy {
            info.status = CopyStatus::Pending;
            info.copied = 0;
            info.completed = None;
        }
        let written = self.replace(&at, guard, Replacement { kind, revision }, Vec::new()).await;
        self.queue_if_in_doubt(&at, is_remote, &written);
        let written = written?;
        self.todo.copy(at, is_remote);
        Ok((written, id, CopyStatus::Pending))
    }
}

/// The source of a copy that continues in the background.
fn task(home: &str, blob: &SourceBlob, opened: &Opened) -> CopyTask {
    CopyTask {
        account: home.to_owned(),
        container: blob.container.as_str().to_owned(),
        blob: blob.blob.as_str().to_owned(),
        snapshot: match blob.revision {
            Which::Snapshot(time) => time.ticks(),
            Which::Current | Which::Version(_) => 0,
        },
        version: match blob.revision {
            Which::Version(time) => time.ticks(),
            Which::Current | Which::Snapshot(_) => 0,
        },
        etag: opened.revision.changed,
        remote: None,
    }
}

/// Can this source be copied in this way, over this destination?
pub(super) fn check_source(source: &Revision, copy: &CopyBlob, target: Option<&Revision>) -> Result<()> {
    if let Some(target) = target {
        of_kind(target, source.kind)?;
    }
    match source.kind {
        BlobKind::Block => {}
        _ if copy.is_sync => return Err(ErrorCode::InvalidSourceBlobType.into()),
        BlobKind::Append | BlobKind::Page => {}
    }
    if let Some(tier) = copy.tier {
        fits_source(tier, source.kind)?;
    }
    if copy.is_sync && source.size > SYNC_COPY_BYTES_MAX {
        return Err(ErrorCode::CopySourceTooLarge.into());
    }
    // An archived blob can be copied to a tier in which it is readable.
    match copy.tier {
        Some(tier) if tier != AccessTier::Archive && !copy.is_sync => Ok(()),
        _ => not_archived(source),
    }
}

/// The tier belongs to the other kind of blob: in one direction Azure does not recognise the name, in the other
/// it rejects the tier.
fn fits_source(tier: AccessTier, kind: BlobKind) -> Result<()> {
    match kind {
        BlobKind::Block if !tier.is_for_block_blobs() => Err(Failure::from(ErrorCode::InvalidHeaderValue)
            .detail("HeaderName", "x-ms-access-tier")
            .detail("HeaderValue", tier.name())
            .into()),
        BlobKind::Page if tier.is_for_block_blobs() => Err(ErrorCode::InvalidBlobTier.into()),
        BlobKind::Block | BlobKind::Page | BlobKind::Append => Ok(()),
    }
}

/// LS-09: a copy that may take long needs a lease that does not expire.
fn needs_infinite_lease(target: Option<&Revision>, guard: &Guard) -> Result<()> {
    let lease = target.and_then(|blob| blob.lease).filter(|lease| lease.state(guard.now()).is_locked());
    match lease {
        Some(lease) if lease.term != Term::Infinite => Err(ErrorCode::InfiniteLeaseDurationRequired.into()),
        _ => Ok(()),
    }
}
