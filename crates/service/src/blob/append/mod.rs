//! Append blobs: create, append, seal.
//!
//! The content is a list of runs. The last run, the tail, takes appended bytes; when it is full it is folded:
//! its bytes move to a run that never changes again. So an append costs the same at any length of the blob.
//!
//! Invariants:
//! - An append is one commit of head and tail. Both are updates, so concurrent appends never conflict.
//! - Bytes of a run never change. A snapshot or a reader therefore needs only the size of the blob at that
//!   time.

mod batch;
mod fold;
mod log;
mod tail;

use std::sync::Arc;

use lazuli_engine::{Change, Condition, Write};
use lazuli_model::blob::condition::AppendConditions;
use lazuli_model::blob::limits::APPENDS_MAX;
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::write::{StreamedBody, WriteSettings};
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{ErrorCode, OperationKind};

pub use batch::Appends;
pub use fold::Folds;
pub use log::Annotate;

use super::commit::{Decided, Step, insert};
use super::core::{At, Core};
use super::guard::{Guard, not_archived, not_immutable, not_pending, of_kind};
use super::keyspace::{self, Generation, KeySlot};
use super::put::{Replacement, settled};
use super::record::{Head, Revision, Stored};
use super::segment::{Entry, Segment, SegmentPart};
use super::upload::{Installed, UploadedContent};
use crate::stream::Source;
use crate::{Grant, Result};
use tail::Grow;

/// Maximum attempts if the blob is replaced between reading and committing. Other appends cause no retry.
const ATTEMPTS_MAX: usize = 16;

/// Everything about an append except its bytes.
#[derive(Clone)]
pub struct Append {
    /// The operation.
    pub kind: OperationKind,
    /// The checks that all changes share.
    pub guard: Guard,
    /// Conditions on position and size.
    pub conditions: AppendConditions,
}

/// The runs that an append goes to.
#[derive(Clone, Copy)]
struct Target {
    generation: Generation,
    /// The blob has no runs yet: the commit adds these.
    is_new: bool,
}

impl Core {
    /// Put Blob of an append blob.
    pub async fn create_append(
        &self,
        grant: &Grant,
        request: BlobRequest,
        settings: WriteSettings,
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
        self: &Arc<Self>,
        grant: &Grant,
        request: BlobRequest,
        body: StreamedBody,
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

    /// The runs of the current blob. A blob whose copy has failed has none.
    async fn target(&self, at: &At) -> Result<Target> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        Ok(match blob.map(|blob| blob.content) {
            Some(Stored::Runs(generation)) => Target { generation, is_new: false },
            _ => Target { generation: self.fresh_generation(), is_new: true },
        })
    }

    /// One commit of head and tail; `None` if the blob has other runs by now. The rule decides which bytes are
    /// appended to the tail.
    async fn grow<T: Send + 'static>(
        &self,
        at: &At,
        target: Target,
        grow: &Arc<Grow>,
        rule: impl Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync + 'static,
    ) -> Result<Option<T>> {
        let row = keyspace::named(target.generation, KeySlot::TAIL);
        let tail = if target.is_new {
            insert(row, run(0, grow.parts()).encode())
        } else {
            Write { row: row.into(), condition: Condition::Exists, change: Change::Update(grow.clone()) }
        };
        let pin = self.pins.generation(at.tables.blobs, &at.name, target.generation);
        let decided = self.decide(at, rule, vec![tail]).await?;
        drop(pin);
        Ok(match decided {
            Decided::Done(done) => Some(done),
            Decided::Rejected => None,
        })
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
        let length = parts.iter().map(SegmentPart::length).sum();
        let row = |slot, run: Segment| insert(keyspace::named(generation, slot), run.encode());
        let writes = match draft {
            UploadedContent::Inline(_) => vec![row(KeySlot::TAIL, run(0, parts))],
            UploadedContent::Pieces(_) => {
                vec![row(KeySlot::Run(length), run(0, parts)), row(KeySlot::TAIL, run(length, Vec::new()))]
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

/// A run of bytes that starts at an offset.
fn run(start: u64, parts: Vec<SegmentPart>) -> Segment {
    Segment { starts: vec![start], entries: vec![Entry { id: None, parts }] }
}

fn parts_of(draft: &UploadedContent) -> Vec<SegmentPart> {
    match draft {
        UploadedContent::Inline(bytes) if bytes.is_empty() => Vec::new(),
        UploadedContent::Inline(bytes) => vec![SegmentPart::Bytes(bytes.clone())],
        UploadedContent::Pieces(loose) => loose.pieces().iter().copied().map(SegmentPart::Whole).collect(),
    }
}
