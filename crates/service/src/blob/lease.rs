//! Lease Blob. It does not change the ETag: a lease is not part of the state that it protects.

use lazuli_model::ErrorCode;
use lazuli_model::blob::lease::{self, LeaseAction, Leased};
use lazuli_model::blob::{BlobKind, Outcome};

use super::commit::Step;
use super::core::{At, Core};
use super::guard::{Guard, not_pending};
use super::record::{Head, Revision};
use crate::Result;

/// The time of the last change of a blob that has only uncommitted blocks: the beginning of 1601, as Azure reports it.
const UNCOMMITTED_TICKS: u64 = 504_911_232_000_000_000;

impl Core {
    /// Lease Blob.
    pub async fn lease(&self, at: &At, guard: Guard, action: LeaseAction) -> Result<Outcome> {
        let fresh = self.fresh_id();
        self.change(at, move |head, _| {
            let mut head = head.unwrap_or_default();
            let is_committed = head.blob.is_some();
            let blob = leased(&mut head);
            guard.conditions(blob.as_ref())?;
            let mut blob = blob.ok_or(ErrorCode::BlobNotFound)?;
            not_pending(&blob)?;
            let (lease, reply) =
                lease::apply(Leased::Blob, blob.lease.as_ref(), &action, guard.now(), fresh)?;
            let outcome = Outcome::Leased(blob.stamp(), reply);
            if is_committed {
                blob.lease = lease;
                head.blob = Some(blob);
            } else if let Some(marks) = head.uncommitted() {
                marks.lease = lease;
            }
            Ok((Step::Put(Box::new(head)), outcome))
        })
        .await
    }
}

/// Extracts the blob to lease from its head. A blob that has only uncommitted blocks counts as an empty block
/// blob.
fn leased(head: &mut Head) -> Option<Revision> {
    match head.uncommitted() {
        Some(marks) => {
            Some(Revision { lease: marks.lease, ..Revision::new(BlobKind::Block, UNCOMMITTED_TICKS) })
        }
        None => head.blob.take(),
    }
}
