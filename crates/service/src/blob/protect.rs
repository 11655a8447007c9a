//! Changes of a blob, snapshot or version that leave its content and its ETag alone: tier, immutability policy, legal hold.
//!
//! Invariant: a change of the protection of a snapshot or version changes `shape` in the marks of its
//! blob. Deleting all snapshots relies on this: the deletion reads their protection before its commit.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::RowView;
use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::protection::{ImmutabilityMode, ImmutabilityPolicy};
use lazuli_model::blob::tier::{RehydratePriority, TierInfo};
use lazuli_model::blob::{AccessTier, BlobKind, Outcome};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, OperationKind};

use super::commit::is_conflict;
use super::core::{At, Core};
use super::guard::{Guard, unprotected};
use super::keep::{ATTEMPTS_MAX, Life, Revised};
use super::keyspace::{self, RowKind};
use super::record::{Head, Marks, Revision, time};
use super::sweep::each_row;
use crate::Result;

/// The strongest protection of several states, as of some marks of their blob.
#[derive(Clone, Copy, Debug, Default)]
pub struct Protection {
    shape: u64,
    has_hold: bool,
    until: Option<DateTime>,
}

impl Protection {
    /// Adds the protection of a state.
    pub fn add(&mut self, state: &Revision) {
        self.has_hold |= state.legal_hold;
        self.until = self.until.max(state.immutability.map(|policy| policy.until));
    }

    /// Fails if a state is protected, and with `Conflict` if that may have changed since it was read.
    pub fn check(&self, marks: &Marks, now: DateTime) -> Result<()> {
        if marks.shape != self.shape {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        unprotected(self.has_hold, self.until, now)
    }
}

/// The subject of a change.
pub enum Subject {
    /// The current blob, with this guard.
    Blob(Box<Guard>),
    /// A snapshot, or a version that is not the current one.
    Past(Which),
}

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
        self.amend(at, guard, which, OperationKind::SetBlobTier, move |blob, version, is_past| {
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
            // A snapshot or an old version stays in the archive; it can be copied to another tier.
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
        self.amend(at, guard, which, OperationKind::SetBlobImmutabilityPolicy, move |blob, _, _| {
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
        self.amend(at, guard, which, OperationKind::DeleteBlobImmutabilityPolicy, |blob, _, _| {
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
        self.amend(at, guard, which, OperationKind::SetBlobLegalHold, move |blob, _, _| {
            blob.legal_hold = has_hold;
            Ok(Outcome::LegalHoldSet(has_hold))
        })
        .await
    }

    /// The protection of the snapshots of a blob.
    pub async fn protection_of_snapshots(&self, at: &At) -> Result<Protection> {
        let head = self.head(at).await?.unwrap_or_default();
        let found = Arc::new(Mutex::new(Protection { shape: head.marks.shape, ..Protection::default() }));
        if head.marks.snapshots.count > 0 {
            let (seen, now) = (found.clone(), self.clock().ticks());
            let see = move |row: &RowView<'_>| {
                let Some(RowKind::Snapshot(ticks)) = RowKind::of(row.row) else { return Ok(()) };
                let Some(state) = Head::decode(&Bytes::copy_from_slice(row.value))?.blob else {
                    return Ok(());
                };
                if Life::of_snapshot(&head.marks, head.blob.is_some(), ticks, &state, now).is_live() {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).add(&state);
                }
                Ok(())
            };
            each_row(self, at.tables.blobs, keyspace::snapshots(&at.name), see).await?;
        }
        Ok(*found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the description of the blob, or of one of its snapshots or versions. `change` gets the version
    /// of the commit, and whether the state is a snapshot or an old version.
    pub async fn amend(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        kind: OperationKind,
        change: impl Fn(&mut Revision, u64, bool) -> Result<Outcome> + Send + Sync + 'static,
    ) -> Result<Outcome> {
        let change = Arc::new(change);
        for _ in 0..ATTEMPTS_MAX {
            match self.subject(at, which, &guard).await? {
                Subject::Blob(guard) => {
                    let change = change.clone();
                    let rule = move |blob: &mut Revision, version| change(blob, version, false);
                    let edited = self.edit(at, *guard, kind, rule).await;
                    if which == Which::Current || !is_conflict(&edited) {
                        return edited;
                    }
                }
                Subject::Past(which) => return self.amend_past(at, guard, which, change).await,
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    async fn amend_past(
        &self,
        at: &At,
        guard: Guard,
        which: Which,
        change: Arc<impl Fn(&mut Revision, u64, bool) -> Result<Outcome> + Send + Sync + 'static>,
    ) -> Result<Outcome> {
        self.revise(at, which, move |Revised { head, row, life, version }| {
            let row = row.as_mut().filter(|_| life.is_live()).ok_or(ErrorCode::BlobNotFound)?;
            guard.shared_change(Some(row))?;
            let before = (row.legal_hold, row.immutability);
            let outcome = change(row, version, true)?;
            if (row.legal_hold, row.immutability) != before {
                head.marks.shape = version;
            }
            Ok(outcome)
        })
        .await
    }

    /// The subject of a change with this guard. The current version may be replaced before the commit: the
    /// guard of the change detects that.
    pub async fn subject(&self, at: &At, which: Which, guard: &Guard) -> Result<Subject> {
        Ok(match (self.other_than_current(at, which).await?, which) {
            (Some(which), _) => Subject::Past(which),
            (None, Which::Version(time)) => Subject::Blob(Box::new(guard.clone().of_version(time.ticks()))),
            (None, _) => Subject::Blob(Box::new(guard.clone())),
        })
    }

    /// The snapshot or version, unless it is the current version. A current version can become an old one at
    /// any time, but never the reverse.
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
