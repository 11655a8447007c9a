//! Lease Blob. The ETag stays: a lease is not part of the state that it protects.

use lazuli_model::blob::Outcome;
use lazuli_model::blob::lease::{self, LeaseAction, Leased};

use super::commit::Step;
use super::core::{At, Core};
use super::guard::{Guard, not_pending};
use crate::Result;

impl Core {
    /// Lease Blob.
    pub async fn lease(&self, at: &At, guard: Guard, action: LeaseAction) -> Result<Outcome> {
        let fresh = self.fresh_id();
        self.change(at, move |head, _| {
            let mut head = head.unwrap_or_default();
            guard.conditions(head.blob.as_ref())?;
            let Some(blob) = &mut head.blob else {
                return Err(lazuli_model::ErrorCode::BlobNotFound.into());
            };
            not_pending(blob)?;
            let (lease, reply) =
                lease::apply(Leased::Blob, blob.lease.as_ref(), &action, guard.now(), fresh)?;
            blob.lease = lease;
            let outcome = Outcome::Leased(blob.stamp(), reply);
            Ok((Step::Put(Box::new(head)), outcome))
        })
        .await
    }
}
