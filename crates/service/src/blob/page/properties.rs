//! Set Blob Properties of a page blob: size and sequence number.

use lazuli_model::blob::operation::SetProperties;
use lazuli_model::blob::write::SequenceAction;
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{ErrorCode, OperationKind};

use super::create::Target;
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, not_archived, not_immutable, not_incremental, not_pending, of_kind};
use crate::blob::record::{Head, stamp};
use crate::{Error, Result};

/// Maximum attempts if a snapshot is made or the blob is replaced between reading and committing.
const ATTEMPTS_MAX: usize = 16;
/// The largest sequence number.
const SEQUENCE_MAX: u64 = i64::MAX as u64;

impl Core {
    /// Set Blob Properties with a new size or sequence number. Shrinking clears the pages beyond the new size.
    pub async fn set_page_properties(&self, at: &At, guard: Guard, change: SetProperties) -> Result<Outcome> {
        for _ in 0..ATTEMPTS_MAX {
            let target = self.page_target(at).await?;
            if target.pages.is_full() {
                self.settle_clears(at).await?;
                continue;
            }
            let writes = target.writes();
            let rule = properties_rule(guard.clone(), change.clone(), target);
            match self.decide(at, rule, writes).await {
                Ok(Decided::Done(outcome)) => {
                    if change.size.is_some() {
                        self.todo.blob(at);
                    }
                    return Ok(outcome);
                }
                Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }
}

fn properties_rule(
    guard: Guard,
    change: SetProperties,
    target: Target,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, Outcome)> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let mut blob = guard.change(head.blob.take())?;
        of_kind(&blob, BlobKind::Page)?;
        not_incremental(&blob)?;
        not_pending(&blob)?;
        not_archived(&blob)?;
        not_immutable(&blob, guard.now())?;
        if let Some(size) = change.size {
            let old = blob.size;
            target.pages_of(&mut blob, &mut head.marks, version)?.clear(size, old)?;
            blob.size = size;
        } else if target.is_new {
            // The rows of the commit must belong to the blob.
            target.pages_of(&mut blob, &mut head.marks, version)?;
        }
        if let Some(action) = change.sequence {
            blob.sequence_number = next_sequence(blob.sequence_number, action)?;
        }
        if let Some(headers) = &change.headers {
            blob.headers = headers.clone();
            blob.copy = None;
        }
        blob.touch(OperationKind::SetBlobProperties, version);
        let sequence_number = Some(blob.sequence_number);
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), Outcome::PropertiesUpdated { stamp: stamp(version), sequence_number }))
    }
}

fn next_sequence(number: u64, action: SequenceAction) -> Result<u64> {
    match action {
        SequenceAction::Max(other) => Ok(number.max(other)),
        SequenceAction::Update(other) => Ok(other),
        SequenceAction::Increment if number < SEQUENCE_MAX => Ok(number + 1),
        SequenceAction::Increment => Err(ErrorCode::SequenceNumberIncrementTooLarge.into()),
    }
}
