//! Put Blob, and the changes of a blob that leave its content alone: headers and metadata.

use std::sync::Arc;

use lazuli_model::blob::Outcome;
use lazuli_model::blob::operation::{BlobRequest, SetProperties};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::properties::CONTENT_TYPE_DEFAULT;
use lazuli_model::blob::tier::TierInfo;
use lazuli_model::blob::write::{StreamedBody, WriteSettings};
use lazuli_model::blob::{AccessTier, BlobKind, Lease};
use lazuli_model::{Metadata, OperationKind};

use super::commit::{Decided, Step};
use super::core::{At, Core};
use super::guard::{Guard, not_archived, not_immutable, not_pending};
use super::keep::{ATTEMPTS_MAX, Shelf};
use super::record::{Head, Revision, stamp, time};
use super::tags::{Pairs, retired};
use super::upload::{Installed, Received};
use crate::stream::Source;
use crate::{Error, Grant, Result};

/// A committed state that will replace the current one.
pub struct Replacement {
    /// The kind of operation.
    pub kind: OperationKind,
    /// Everything except times and lease.
    pub revision: Revision,
}

impl Core {
    /// Put Blob with a body.
    pub async fn put_blob(
        &self,
        grant: &Grant,
        request: BlobRequest,
        body: StreamedBody,
        settings: WriteSettings,
        source: &mut dyn Source,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::PutBlob, self.clock());
        let mut needed = body;
        needed.needed.md5 = true;
        let _upload = self.hashes.begin();
        let received = if guard.is_unconditional() && body.length <= self.content.inline_max() as u64 {
            // The commit checks everything, and rarely fails. Reading the head before it would cost more than the body.
            match self.receive(&at, source, &needed).await {
                Ok(received) => received,
                // The state of the blob is checked first.
                Err(error) => return Err(self.may_create(&at, &guard).await.err().unwrap_or(error)),
            }
        } else {
            // A request that cannot succeed is rejected before its body is read.
            self.may_create(&at, &guard).await?;
            self.receive(&at, source, &needed).await?
        };
        self.still_there(&grant.home, &request.container, &at).await?;
        let mut revision = settled(BlobKind::Block, settings, &request);
        revision.headers.content_md5 = revision.headers.content_md5.or(received.digested.md5.map(Into::into));
        let digested = received.digested;
        let written = self.put_received(&at, guard, OperationKind::PutBlob, revision, received).await?;
        Ok(Outcome::Created(Box::new(Written { digested, ..written })))
    }

    /// Checks a write that creates or replaces a blob, against the current blob.
    async fn may_create(&self, at: &At, guard: &Guard) -> Result<()> {
        let head = self.head(at).await?.unwrap_or_default();
        guard.create(&head).map(drop)
    }

    /// Makes received content the whole content of a blob.
    pub async fn put_received(
        &self,
        at: &At,
        guard: Guard,
        kind: OperationKind,
        mut revision: Revision,
        received: Received,
    ) -> Result<Written> {
        let Received { mut body, length, .. } = received;
        let Installed { stored, writes, pin } = self.install(at, &body);
        revision.size = length;
        revision.content = stored;
        body.committing(self.clock().ticks());
        let replaced = self.replace(at, guard, Replacement { kind, revision }, writes).await;
        body.settle(&replaced);
        drop(pin);
        replaced
    }

    /// Creates a blob or replaces it, with the rows that hold its content.
    pub async fn replace(
        &self,
        at: &At,
        guard: Guard,
        replacement: Replacement,
        writes: Vec<lazuli_engine::Write>,
    ) -> Result<Written> {
        self.replace_if(at, guard, replacement, writes, |_| Ok(())).await
    }

    /// Like [`Core::replace`], under a further condition on the head.
    pub async fn replace_if(
        &self,
        at: &At,
        guard: Guard,
        replacement: Replacement,
        writes: Vec<lazuli_engine::Write>,
        check: impl Fn(&Head) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Written> {
        let Replacement { kind, revision } = replacement;
        let encryption = revision.encryption.clone();
        let announced = self.announce_tags(at, &revision.tags).await?;
        let (revision, check) = (Arc::new(revision), Arc::new(check));
        for attempt in 0..ATTEMPTS_MAX {
            let shelf = self.shelf(at, attempt > 0).await?;
            let writes = writes.iter().cloned().chain(shelf.write()).collect();
            let rule = replacing(guard.clone(), kind, revision.clone(), shelf, check.clone());
            match self.decide_with_event(at, kind, rule, writes).await {
                Ok(Decided::Done(Replaced { written, has_garbage, retired })) => {
                    announced.committed(retired);
                    if has_garbage {
                        self.todo.blob(at);
                    }
                    return Ok(Written { encryption, ..written });
                }
                // The state to keep has changed in the meantime.
                Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                // A condition was not met because of a concurrent change.
                Ok(Decided::Rejected) => break,
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Set Blob Properties.
    pub async fn set_properties(&self, at: &At, guard: Guard, change: SetProperties) -> Result<Outcome> {
        let kind = OperationKind::SetBlobProperties;
        if change.size.is_some() || change.sequence.is_some() {
            return self.set_page_properties(at, guard, change).await;
        }
        self.edit(at, guard, kind, move |blob, version| {
            if let Some(headers) = &change.headers {
                blob.headers = headers.clone();
                blob.copy = None;
            }
            let sequence_number = (blob.kind == BlobKind::Page).then_some(blob.sequence_number);
            Ok(Outcome::PropertiesUpdated { stamp: stamp(version), sequence_number })
        })
        .await
    }

    /// Set Blob Metadata.
    pub async fn set_metadata(&self, at: &At, guard: Guard, metadata: Metadata) -> Result<Outcome> {
        let kind = OperationKind::SetBlobMetadata;
        self.edit(at, guard, kind, move |blob, version| {
            blob.metadata = metadata.clone();
            Ok(Outcome::MetadataSet(Box::new(written(blob, version))))
        })
        .await
    }

    /// Changes the description of an existing blob. New metadata creates a new version.
    pub async fn edit(
        &self,
        at: &At,
        guard: Guard,
        kind: OperationKind,
        change: impl Fn(&mut Revision, u64) -> Result<Outcome> + Send + Sync + 'static,
    ) -> Result<Outcome> {
        let change = Arc::new(change);
        let makes_version = kind == OperationKind::SetBlobMetadata && at.keeps.versions;
        for attempt in 0..ATTEMPTS_MAX {
            let shelf = if makes_version { Some(self.shelf(at, attempt > 0).await?) } else { None };
            let writes = shelf.iter().filter_map(Shelf::write).collect();
            let rule = editing(guard.clone(), kind, shelf, change.clone());
            match self.decide_with_event(at, kind, rule, writes).await {
                Ok(Decided::Done(outcome)) => return Ok(outcome),
                Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict))
                    if makes_version => {}
                Ok(Decided::Rejected) => break,
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }
}

/// Decides on the head of a blob whose description changes.
fn editing(
    guard: Guard,
    kind: OperationKind,
    shelf: Option<Shelf>,
    change: Arc<impl Fn(&mut Revision, u64) -> Result<Outcome> + Send + Sync + 'static>,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, Outcome)> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let mut blob = guard.change(head.blob.clone())?;
        not_pending(&blob)?;
        if super::guard::renews(kind) {
            // Set Blob Properties takes no key.
            if kind == OperationKind::SetBlobMetadata {
                guard.may_write(&blob)?;
            }
            not_archived(&blob)?;
            not_immutable(&blob, guard.now())?;
        }
        if let Some(shelf) = &shelf {
            shelf.keep(&mut head, version)?;
            blob.version = shelf.version(version);
            // The version keeps the current content; later writes of pages go elsewhere.
            head.blob.iter().for_each(|kept| blob.content = kept.content.clone());
        }
        let outcome = change(&mut blob, version)?;
        blob.touch(kind, version);
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), outcome))
    }
}

/// The outcome of a write that created or replaced a blob.
struct Replaced {
    written: Written,
    has_garbage: bool,
    retired: Pairs,
}

/// Decides on the head of a blob that is created or replaced.
fn replacing(
    guard: Guard,
    kind: OperationKind,
    revision: Arc<Revision>,
    shelf: Shelf,
    check: Arc<impl Fn(&Head) -> Result<()> + Send + Sync + 'static>,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, Replaced)> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let lease = guard.create(&head)?;
        check(&head)?;
        let has_garbage = leaves_garbage(&head);
        let retired = retired(head.blob.as_ref(), &revision.tags);
        shelf.keep(&mut head, version)?;
        let revision = Revision { version: shelf.version(version), ..(*revision).clone() };
        let written = written(&revision, version);
        let next = replaced(head, revision, lease, kind, version);
        Ok((Step::Put(Box::new(next)), Replaced { written, has_garbage, retired }))
    }
}

/// The response to a write that left this state in the commit `version`.
pub fn written(revision: &Revision, version: u64) -> Written {
    let id = Some(revision.version).filter(|id| *id > 0).map(time);
    Written { version: id, encryption: revision.encryption.clone(), ..Written::new(stamp(version)) }
}

/// The state that a write with these settings begins with.
pub fn settled(kind: BlobKind, settings: WriteSettings, request: &BlobRequest) -> Revision {
    let WriteSettings { mut headers, metadata, tags, tier, immutability } = settings;
    headers.content_type = headers.content_type.or_else(|| Some(CONTENT_TYPE_DEFAULT.to_owned()));
    Revision {
        headers,
        metadata,
        tags,
        tier: chosen(tier),
        encryption: request.encryption.view(),
        immutability: immutability.policy,
        legal_hold: immutability.legal_hold.unwrap_or_default(),
        ..Revision::new(kind, 0)
    }
}

/// The tier that a write chose, if any. The time of the choice is that of the write.
pub fn chosen(tier: Option<AccessTier>) -> TierInfo {
    tier.map_or_else(TierInfo::default, |tier| TierInfo { tier, is_inferred: false, ..TierInfo::default() })
}

/// The head after a write that replaced the whole blob in the commit `version`. Snapshots and their marks stay; all
/// uncommitted blocks are dropped.
pub fn replaced(
    head: Head,
    mut revision: Revision,
    lease: Option<Lease>,
    kind: OperationKind,
    version: u64,
) -> Head {
    let mut marks = head.marks;
    if let Some(staged) = &mut marks.staged {
        staged.drop_all(version);
    }
    marks.shape = version;
    revision.touch(kind, version);
    revision.created = match &head.blob {
        Some(blob) if blob.kind == revision.kind => blob.created,
        _ => version,
    };
    if !revision.tier.is_inferred {
        revision.tier.changed = Some(time(version));
    }
    revision.lease = lease;
    Head { marks, blob: Some(revision), deleted: None }
}

/// Does replacing or deleting this state create work for the sweep?
pub fn leaves_garbage(head: &Head) -> bool {
    let has_generation = head.blob.as_ref().is_some_and(|blob| blob.content.generation().is_some());
    has_generation || head.marks.staged.is_some()
}
