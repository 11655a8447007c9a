//! Append blobs: create, append, seal.
//!
//! The content is a list of runs. The last one, the tail, takes what is appended; when it is full it is folded: its bytes
//! move to a run that never changes again. So an append costs the same however long the blob is.
//!
//! What must stay true:
//! - An append is one commit of head and tail. Both are updates, so concurrent appends never conflict.
//! - Bytes of a run never change. A snapshot or a reader therefore only needs the size that the blob had.

mod fold;
mod log;
mod tail;

use std::sync::Arc;

use lazuli_engine::{Change, Condition, Write};
use lazuli_model::blob::condition::AppendConditions;
use lazuli_model::blob::limits::APPENDS_MAX;
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::protection::EncryptionView;
use lazuli_model::blob::write::{Body, Settings};
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{ErrorCode, OperationKind};

pub use fold::Folds;
pub use log::Annotate;

use super::commit::{Decided, Step, insert};
use super::core::{At, Core};
use super::guard::{Guard, not_archived, not_immutable, not_pending, of_kind};
use super::keyspace::{self, Generation, Slot};
use super::put::{Replacement, settled};
use super::record::{Head, Revision, Stored, stamp};
use super::segment::{Entry, Part, Segment};
use super::upload::{Installed, Received, UploadedContent};
use crate::stream::Source;
use crate::{Error, Grant, Result};
use tail::Grow;

/// Attempts while the blob is replaced between reading and committing. Other appends are no reason to try again.
const ATTEMPTS_MAX: usize = 16;

/// Everything about an append but its bytes.
#[derive(Clone)]
pub struct Append {
    /// The operation.
    pub kind: OperationKind,
    /// The checks that every change shares.
    pub guard: Guard,
    /// Conditions on position and size.
    pub conditions: AppendConditions,
}

/// The runs that an append goes to.
#[derive(Clone, Copy)]
struct Target {
    generation: Generation,
    /// The blob has no runs yet: the commit names these.
    is_new: bool,
}

/// An append that is durable.
struct Appended {
    written: Written,
    offset: u64,
    committed_blocks: u32,
}

impl Core {
    /// Put Blob of an append blob.
    pub async fn create_append(
        &self,
        grant: &Grant,
        request: BlobRequest,
        settings: Settings,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::PutBlob;
        let guard = Guard::creating(grant, &request, kind, self.clock());
        let mut revision = settled(BlobKind::Append, settings, &request);
        let Installed { stored, writes, pin } =
            self.install_runs(&at, &UploadedContent::Inline(Default::default()));
        revision.content = stored;
        let written = self.replace(&at, guard, Replacement { kind, revision }, writes).await;
        drop(pin);
        Ok(Outcome::Created(Box::new(written?)))
    }

    /// Append Block with a body.
    pub async fn append_block(
        &self,
        grant: &Grant,
        request: BlobRequest,
        body: Body,
        conditions: AppendConditions,
        source: &mut dyn Source,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::AppendBlock;
        let append = Append { kind, guard: Guard::of(&request, self.clock()), conditions };
        self.may_append(&at, &append, body.length).await?;
        let received = self.receive(&at, source, &body).await?;
        self.still_there(&grant.home, &request.container, &at).await?;
        self.append_received(&at, append, received).await
    }

    /// Rejects an append that cannot succeed before its body is read.
    pub async fn may_append(&self, at: &At, append: &Append, length: u64) -> Result<()> {
        let head = self.head(at).await?.unwrap_or_default();
        let blob = append.guard.change(head.blob)?;
        append.check(&blob, length)
    }

    /// Appends bytes that were received.
    pub async fn append_received(&self, at: &At, append: Append, received: Received) -> Result<Outcome> {
        let Received { mut body, length, digested } = received;
        let parts = parts_of(&body);
        body.committing(self.clock().ticks());
        let appended = self.append_parts(at, &append, &parts, length).await;
        body.settle(&appended);
        let Appended { written, offset, committed_blocks } = appended?;
        let written = Box::new(Written { digested, ..written });
        Ok(Outcome::Appended { written, offset, committed_blocks })
    }

    async fn append_parts(&self, at: &At, append: &Append, parts: &[Part], length: u64) -> Result<Appended> {
        for _ in 0..ATTEMPTS_MAX {
            let target = self.target(at).await?;
            match self.append_once(at, append, target, parts, length).await {
                Ok(Some(appended)) => return Ok(appended),
                Ok(None) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// The runs of the blob as it is. A blob whose copy has failed has none.
    async fn target(&self, at: &At) -> Result<Target> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        Ok(match blob.map(|blob| blob.content) {
            Some(Stored::Runs(generation)) => Target { generation, is_new: false },
            _ => Target { generation: self.fresh_generation(), is_new: true },
        })
    }

    /// One commit; `None` if the blob has other runs by now.
    async fn append_once(
        &self,
        at: &At,
        append: &Append,
        target: Target,
        parts: &[Part],
        length: u64,
    ) -> Result<Option<Appended>> {
        let rule = append_rule(append.clone(), target, length);
        let Some((offset, committed_blocks, version, encryption)) =
            self.grow(at, target, parts, rule).await?
        else {
            return Ok(None);
        };
        let written = Written { encryption, ..Written::new(stamp(version)) };
        Ok(Some(Appended { written, offset, committed_blocks }))
    }

    /// One commit of head and tail; `None` if the blob has other runs by now.
    async fn grow<T: Send + 'static>(
        &self,
        at: &At,
        target: Target,
        parts: &[Part],
        rule: impl Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync + 'static,
    ) -> Result<Option<T>> {
        let grow = Arc::new(Grow::new(parts.to_vec(), self.content.inline_max()));
        let row = keyspace::named(target.generation, Slot::TAIL);
        let tail = if target.is_new {
            insert(row, run(0, parts.to_vec()).encode())
        } else {
            Write { row: row.into(), condition: Condition::Exists, change: Change::Update(grow.clone()) }
        };
        let pin = self.pins.generation(at.tables.blobs, &at.name, target.generation);
        let decided = self.decide(at, rule, vec![tail]).await?;
        drop(pin);
        let Decided::Done(done) = decided else { return Ok(None) };
        self.fold_if_due(at, target.generation, grow.fill()).await;
        Ok(Some(done))
    }

    /// Append Blob Seal. Sealing twice changes nothing.
    pub async fn seal(&self, at: &At, guard: Guard, conditions: AppendConditions) -> Result<Outcome> {
        self.change(at, move |head, version| {
            let mut head = head.unwrap_or_default();
            let mut blob = guard.change(head.blob.take())?;
            of_kind(&blob, BlobKind::Append)?;
            not_pending(&blob)?;
            conditions.check(blob.size, 0)?;
            if blob.is_sealed {
                return Ok((Step::Keep, Outcome::Sealed(blob.stamp())));
            }
            blob.is_sealed = true;
            blob.touch(OperationKind::SealBlob, version);
            let outcome = Outcome::Sealed(blob.stamp());
            head.blob = Some(blob);
            Ok((Step::Put(Box::new(head)), outcome))
        })
        .await
    }

    /// The rows of a new append blob with this content.
    pub fn install_runs(&self, at: &At, draft: &UploadedContent) -> Installed {
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        let parts = parts_of(draft);
        let length = parts.iter().map(Part::length).sum();
        let row = |slot, run: Segment| insert(keyspace::named(generation, slot), run.encode());
        let writes = match draft {
            UploadedContent::Inline(_) => vec![row(Slot::TAIL, run(0, parts))],
            UploadedContent::Pieces(_) => {
                vec![row(Slot::Run(length), run(0, parts)), row(Slot::TAIL, run(length, Vec::new()))]
            }
        };
        Installed { stored: Stored::Runs(generation), writes, pin: Some(pin) }
    }
}

impl Append {
    /// Checks everything except lease and conditional headers, which are checked first.
    fn check(&self, blob: &Revision, length: u64) -> Result<()> {
        not_pending(blob)?;
        if blob.is_sealed {
            return Err(ErrorCode::BlobIsSealed.into());
        }
        of_kind(blob, BlobKind::Append)?;
        self.guard.may_write(blob)?;
        not_archived(blob)?;
        not_immutable(blob, self.guard.now())?;
        if blob.appends >= APPENDS_MAX {
            return Err(ErrorCode::BlockCountExceedsLimit.into());
        }
        Ok(self.conditions.check(blob.size, length)?)
    }
}

/// Offset, number of appends, version, encryption.
type Ruled = (u64, u32, u64, EncryptionView);

/// Decides on the head. Rejects the commit with `Conflict` if the blob no longer has these runs.
fn append_rule(
    append: Append,
    target: Target,
    length: u64,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, Ruled)> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let mut blob = append.guard.change(head.blob.take())?;
        append.check(&blob, length)?;
        let expected = Some(target.generation).filter(|_| !target.is_new);
        if blob.content.generation() != expected {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        if target.is_new {
            blob.content = Stored::Runs(target.generation);
            head.marks.shape = version;
        }
        let offset = blob.size;
        blob.size = offset.saturating_add(length);
        blob.appends += 1;
        blob.copy = None;
        blob.touch(append.kind, version);
        let ruled = (offset, blob.appends, version, blob.encryption.clone());
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), ruled))
    }
}

/// A run of bytes that starts at an offset.
fn run(start: u64, parts: Vec<Part>) -> Segment {
    Segment { starts: vec![start], entries: vec![Entry { id: None, parts }] }
}

fn parts_of(draft: &UploadedContent) -> Vec<Part> {
    match draft {
        UploadedContent::Inline(bytes) if bytes.is_empty() => Vec::new(),
        UploadedContent::Inline(bytes) => vec![Part::Bytes(bytes.clone())],
        UploadedContent::Pieces(loose) => loose.pieces().iter().copied().map(Part::Whole).collect(),
    }
}
