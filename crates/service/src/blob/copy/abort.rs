//! Abort Copy Blob.

use lazuli_model::blob::Outcome;
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::lease::{self, Leased, Use};
use lazuli_model::{ErrorCode, Guid, OperationKind};

use crate::Result;
use crate::blob::commit::Step;
use crate::blob::core::{At, Core};
use crate::blob::guard::Guard;
use crate::blob::record::time;

impl Core {
    /// Abort Copy Blob. The destination stays, but is empty. The background work notices this and stops.
    pub async fn abort_copy(&self, at: &At, guard: Guard, id: Guid) -> Result<Outcome> {
        self.change(at, move |head, version| {
            let mut head = head.unwrap_or_default();
            let Some(blob) = &mut head.blob else { return Err(ErrorCode::BlobNotFound.into()) };
            lease::check(Leased::Blob, blob.lease.as_ref(), Use::Write, guard.lease, guard.now())?;
            let Some(copy) = blob.copy.as_mut().filter(|copy| copy.status == CopyStatus::Pending) else {
                return Err(ErrorCode::NoPendingCopyOperation.into());
            };
            if copy.id != id {
                return Err(ErrorCode::CopyIdMismatch.into());
            }
            copy.status = CopyStatus::Aborted;
            copy.completed = Some(time(version));
            blob.copying = None;
            blob.appends = 0;
            blob.touch(OperationKind::AbortCopyBlob, version);
            Ok((Step::Put(Box::new(head)), Outcome::CopyAborted))
        })
        .await
    }
}
