//! Changes of a blob, snapshot or version that leave its content and its ETag alone: tier, immutability policy, legal hold.

use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::protection::{ImmutabilityMode, ImmutabilityPolicy};
use lazuli_model::blob::tier::{RehydratePriority, TierInfo};
use lazuli_model::blob::{AccessTier, BlobKind, Outcome};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{ErrorCode, OperationKind};

use super::core::{At, Core};
use super::guard::Guard;
use super::keep::Revised;
use super::record::{Revision, time};
use crate::Result;

impl Core {
    /// Set Blob Tier. A blob leaves the archive some time after the request.
    pub async fn set_tier(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        tier: AccessTier,
        priority: RehydratePriority,
    ) -> Result<Outcome> {
        let duration = u64::try_from(self.options.rehydration.as_millis()).unwrap_or(u64::MAX);
        let duration = duration.saturating_mul(TICKS_PER_SECOND / 1000);
        // A snapshot or an old version stays in the archive; it can be copied to another tier.
        let is_past = self.other_than_current(at, which).await?.is_some();
        self.amend(at, guard, which, OperationKind::SetBlobTier, move |blob, version| {
            match blob.kind {
                BlobKind::Page if tier.is_for_block_blobs() => {
                    return Err(ErrorCode::InvalidBlobTier.into());
                }
                BlobKind::Block if tier.is_for_block_blobs() => {}
                BlobKind::Page => {}
                BlobKind::Block | BlobKind::Append => {
                    return Err(ErrorCode::AccessTierNotSupportedForBlobType.into());
                }
            }
            let leaves_archive = blob.tier.tier == AccessTier::Archive && tier != AccessTier::Archive;
            if leaves_archive && is_past {
                return Err(ErrorCode::BlobOperationNotSupported.into());
            }
            let is_pending = move_to(blob, tier, priority, version, duration)?;
            Ok(Outcome::TierSet { is_pending })
        })
        .await
    }

    /// Set Blob Immutability Policy.
    pub async fn set_immutability(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        policy: ImmutabilityPolicy,
    ) -> Result<Outcome> {
        self.amend(at, guard, which, OperationKind::SetBlobImmutabilityPolicy, move |blob, _| {
            let loosens = blob.immutability.is_some_and(|old| {
                let is_locked = old.mode == ImmutabilityMode::Locked;
                is_locked && (policy.until < old.until || policy.mode != ImmutabilityMode::Locked)
            });
            if loosens {
                return Err(ErrorCode::BlobImmutableDueToPolicy.into());
            }
            blob.immutability = Some(policy);
            Ok(Outcome::ImmutabilitySet(policy))
        })
        .await
    }

    /// Delete Blob Immutability Policy.
    pub async fn delete_immutability(&self, at: &At, guard: Guard, which: Which) -> Result<Outcome> {
        self.amend(at, guard, which, OperationKind::DeleteBlobImmutabilityPolicy, |blob, _| {
            if blob.immutability.is_some_and(|policy| policy.mode == ImmutabilityMode::Locked) {
                return Err(ErrorCode::ImmutabilityPolicyDeleteOnLockedPolicy.into());
            }
            blob.immutability = None;
            Ok(Outcome::ImmutabilityDeleted)
        })
        .await
    }

    /// Set Blob Legal Hold.
    pub async fn set_legal_hold(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        has_hold: bool,
    ) -> Result<Outcome> {
        self.amend(at, guard, which, OperationKind::SetBlobLegalHold, move |blob, _| {
            blob.legal_hold = has_hold;
            Ok(Outcome::LegalHoldSet(has_hold))
        })
        .await
    }

    /// Changes the description of the blob, or of one of its snapshots or versions.
    pub async fn amend(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        kind: OperationKind,
        change: impl Fn(&mut Revision, u64) -> Result<Outcome> + Send + Sync + 'static,
    ) -> Result<Outcome> {
        let Some(which) = self.other_than_current(at, which).await? else {
            return self.edit(at, guard, kind, change).await;
        };
        self.revise(at, which, move |Revised { row, life, version, .. }| {
            let row = row.as_mut().filter(|_| life.is_live()).ok_or(ErrorCode::BlobNotFound)?;
            guard.shared_change(Some(row))?;
            change(row, version)
        })
        .await
    }

    /// The snapshot or version, unless it is the version that is the blob itself.
    pub async fn other_than_current(&self, at: &At, which: Which) -> Result<Option<Which>> {
        match which {
            Which::Current => Ok(None),
            Which::Snapshot(_) => Ok(Some(which)),
            Which::Version(time) => {
                let current = self.head(at).await?.and_then(|head| head.blob).map(|blob| blob.version_id());
                Ok(Some(which).filter(|_| current != Some(time.ticks())))
            }
        }
    }
}

/// Moves a blob to another tier in the commit `version`. `true` if it is leaving the archive.
fn move_to(
    blob: &mut Revision,
    tier: AccessTier,
    priority: RehydratePriority,
    version: u64,
    duration: u64,
) -> Result<bool> {
    if let Some((to, old)) = blob.tier.rehydrating {
        // Until then, only the priority can be raised.
        let raises = old == RehydratePriority::Standard && priority == RehydratePriority::High;
        if to != tier || !raises {
            return Err(ErrorCode::BlobBeingRehydrated.into());
        }
        blob.tier.rehydrating = Some((tier, priority));
        return Ok(true);
    }
    if blob.tier.tier == AccessTier::Archive && tier != AccessTier::Archive {
        blob.tier.rehydrating = Some((tier, priority));
        blob.rehydrated = version.saturating_add(duration);
        return Ok(true);
    }
    blob.tier = TierInfo { tier, is_inferred: false, changed: Some(time(version)), rehydrating: None };
    Ok(false)
}
