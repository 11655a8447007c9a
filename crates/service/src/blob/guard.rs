//! The checks that every operation on a blob shares: lease, conditions, encryption key, pending copies, archive.
//!
//! The lease is checked before the conditions: its holder may overwrite the blob in spite of `If-None-Match:
//! *`.

use lazuli_engine::Clock;
use lazuli_model::blob::condition::{Facts, Purpose};
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::lease::{self, Keep, Leased, Use};
use lazuli_model::blob::operation::BlobRequest;
use lazuli_model::blob::{AccessTier, BlobKind, Conditions};
use lazuli_model::{DateTime, ErrorCode, Guid, OperationKind};

use super::record::{Head, Revision, time};
use crate::{Grant, Result, access};

/// The part of a request that determines whether it is accepted.
#[derive(Clone)]
pub struct Guard {
    /// The lease id in the request.
    pub lease: Option<Guid>,
    conditions: Conditions,
    key_sha256: Option<[u8; 32]>,
    scope: Option<String>,
    /// The rights suffice only for a blob that does not exist yet.
    creates_only: bool,
    /// The version that must be the current one.
    version: Option<u64>,
    clock: Clock,
}

impl Guard {
    /// The guard of a request.
    pub fn of(request: &BlobRequest, clock: &Clock) -> Self {
        Self {
            lease: request.lease,
            conditions: request.conditions.clone(),
            key_sha256: request.encryption.key.as_ref().map(|key| key.sha256),
            scope: request.encryption.scope.clone(),
            creates_only: false,
            version: None,
            clock: clock.clone(),
        }
    }

    /// The guard of the server's own work: it has no conditions.
    pub fn none(clock: &Clock) -> Self {
        Self {
            lease: None,
            conditions: Conditions::default(),
            key_sha256: None,
            scope: None,
            creates_only: false,
            version: None,
            clock: clock.clone(),
        }
    }

    /// The guard of a request that names this version, which was the current one. Changes fail with `Conflict`
    /// if it no longer is.
    pub fn of_version(self, id: u64) -> Self {
        Self { version: Some(id), ..self }
    }

    /// The guard of a request that creates a blob or replaces it.
    pub fn creating(grant: &Grant, request: &BlobRequest, kind: OperationKind, clock: &Clock) -> Self {
        Self { creates_only: access::blob::creates_only(grant, kind), ..Self::of(request, clock) }
    }

    /// Is the request without conditions and requirements?
    pub fn is_unconditional(&self) -> bool {
        !self.creates_only && self.lease.is_none() && self.conditions == Conditions::default()
    }

    /// The time at which leases are checked.
    pub fn now(&self) -> DateTime {
        time(self.clock.ticks())
    }

    /// Checks a read of an existing state. A lease id in the request must be that of the active lease.
    pub fn read(&self, blob: &Revision) -> Result<()> {
        self.inspect(blob)?;
        self.has_key(blob)
    }

    /// Checks a read that returns no content, so that it needs no key.
    pub fn inspect(&self, blob: &Revision) -> Result<()> {
        self.lease_of(blob, Use::Read)?;
        self.meets(Purpose::Read, blob)
    }

    /// Checks a read that reveals no content, such as that of page ranges: it needs no key.
    pub fn read_without_key(&self, blob: &Revision) -> Result<()> {
        self.lease_of(blob, Use::Read)?;
        self.meets(Purpose::Read, blob)
    }

    /// Checks a change that is allowed in spite of a lease, such as a snapshot.
    pub fn shared_change(&self, blob: Option<&Revision>) -> Result<()> {
        let blob = self.existing(blob)?;
        self.lease_of(blob, Use::Read)?;
        self.meets(Purpose::Change, blob)
    }

    /// Checks a change of a blob that must exist. If the lease is no longer active, the change removes it.
    pub fn change(&self, blob: Option<Revision>) -> Result<Revision> {
        self.existing(blob.as_ref())?;
        // It exists.
        let mut blob = blob.ok_or(ErrorCode::BlobNotFound)?;
        if self.lease_of(&blob, Use::Write)? == Keep::Nothing {
            blob.lease = None;
        }
        self.meets(Purpose::Change, &blob)?;
        Ok(blob)
    }

    /// Checks a write that creates the blob or replaces it. Returns the lease that the new blob keeps.
    pub fn create(&self, head: &Head) -> Result<Option<lease::Lease>> {
        let keep = self.stage(head)?;
        match &head.blob {
            None => self.conditions.check(Purpose::Create, None).map_err(lazuli_model::Failure::from)?,
            Some(blob) => {
                self.meets(Purpose::Create, blob)?;
                not_pending(blob)?;
                not_archived(blob)?;
                not_immutable(blob, self.now())?;
            }
        }
        Ok(head.lease().filter(|_| keep == Keep::Lease))
    }

    /// Checks an upload that is independent of the committed state, such as a block.
    pub fn stage(&self, head: &Head) -> Result<Keep> {
        if self.creates_only && head.blob.is_some() {
            return Err(ErrorCode::UnauthorizedBlobOverwrite.into());
        }
        Ok(lease::check(Leased::Blob, head.lease().as_ref(), Use::Write, self.lease, self.now())?)
    }

    /// Checks a read of a blob that has only uncommitted blocks.
    pub fn inspect_uncommitted(&self, head: &Head) -> Result<()> {
        lease::check(Leased::Blob, head.lease().as_ref(), Use::Read, self.lease, self.now())?;
        self.meets_uncommitted()
    }

    /// Checks a change of a blob that has only uncommitted blocks.
    pub fn change_uncommitted(&self, head: &Head) -> Result<()> {
        self.stage(head)?;
        self.meets_uncommitted()
    }

    /// Uncommitted blocks do not count as a blob: they have no ETag, no tags, and no explicit tier.
    fn meets_uncommitted(&self) -> Result<()> {
        if !self.conditions.tier.met_by(None) {
            return Err(ErrorCode::AccessTierChangeTimeConditionNotMet.into());
        }
        Ok(self.conditions.check(Purpose::Change, None).map_err(lazuli_model::Failure::from)?)
    }

    /// Checks only the conditions, for lease operations, which carry their own ids.
    pub fn conditions(&self, blob: Option<&Revision>) -> Result<()> {
        let blob = self.existing(blob)?;
        self.meets(Purpose::Change, blob)
    }

    /// The key in the request must be the one with which the blob was written.
    pub fn has_key(&self, blob: &Revision) -> Result<()> {
        if blob.encryption.scope.is_some() && self.key_sha256.is_some() {
            return Err(ErrorCode::BlobCustomerSpecifiedEncryptionMismatch.into());
        }
        Ok(same_key(blob.encryption.key_sha256, self.key_sha256)?)
    }

    /// A write must have the key and the encryption scope that the blob was written with.
    pub fn may_write(&self, blob: &Revision) -> Result<()> {
        self.has_key(blob)?;
        self.has_scope(blob)
    }

    /// A block list replaces the content: if the blob has a key or a scope, the request needs the same;
    /// otherwise, it can set one.
    pub fn may_replace(&self, blob: &Revision) -> Result<()> {
        if blob.encryption.key_sha256.is_some() {
            self.has_key(blob)?;
        }
        self.has_scope(blob)
    }

    fn has_scope(&self, blob: &Revision) -> Result<()> {
        match (&blob.encryption.scope, &self.scope) {
            (Some(_), None) => Err(ErrorCode::BlobUsesCustomerSpecifiedEncryption.into()),
            (Some(own), Some(sent)) if own != sent => {
                Err(ErrorCode::BlobCustomerSpecifiedEncryptionMismatch.into())
            }
            _ => Ok(()),
        }
    }

    fn existing<'a>(&self, blob: Option<&'a Revision>) -> Result<&'a Revision> {
        if self.version.is_some() && self.version != blob.map(Revision::version_id) {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        if blob.is_none() {
            self.conditions.check(Purpose::Change, None).map_err(lazuli_model::Failure::from)?;
        }
        Ok(blob.ok_or(ErrorCode::BlobNotFound)?)
    }

    fn lease_of(&self, blob: &Revision, usage: Use) -> Result<Keep> {
        Ok(lease::check(Leased::Blob, blob.lease.as_ref(), usage, self.lease, self.now())?)
    }

    fn meets(&self, purpose: Purpose, blob: &Revision) -> Result<()> {
        let holds_lease =
            self.lease.is_some() && blob.lease.is_some_and(|lease| Some(lease.id) == self.lease);
        if !self.conditions.tier.met_by(blob.tier.changed) {
            return Err(ErrorCode::AccessTierChangeTimeConditionNotMet.into());
        }
        let facts = Facts { stamp: blob.stamp(), tags: &blob.tags, holds_lease };
        Ok(self.conditions.check(purpose, Some(facts)).map_err(lazuli_model::Failure::from)?)
    }
}

/// The key in the request must be the one with which the blob was written.
pub fn same_key(own: Option<[u8; 32]>, sent: Option<[u8; 32]>) -> std::result::Result<(), ErrorCode> {
    match (own, sent) {
        _ if own == sent => Ok(()),
        (Some(_), Some(_)) => Err(ErrorCode::BlobCustomerSpecifiedEncryptionMismatch),
        (None, _) => Err(ErrorCode::BlobDoesNotUseCustomerSpecifiedEncryption),
        (_, None) => Err(ErrorCode::BlobUsesCustomerSpecifiedEncryption),
    }
}

/// The blob must be of this kind.
pub fn of_kind(blob: &Revision, kind: BlobKind) -> Result<()> {
    if blob.kind == kind { Ok(()) } else { Err(ErrorCode::InvalidBlobType.into()) }
}

/// No copy to the blob may be pending.
pub fn not_pending(blob: &Revision) -> Result<()> {
    let is_pending = blob.copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending);
    if is_pending { Err(ErrorCode::PendingCopyOperation.into()) } else { Ok(()) }
}

/// The destination of incremental copies can be neither read nor changed: only its snapshots can be read.
pub fn not_incremental(blob: &Revision) -> Result<()> {
    let is_incremental = blob.copy.as_ref().is_some_and(|copy| copy.is_incremental);
    if is_incremental { Err(ErrorCode::OperationNotAllowedOnIncrementalCopyBlob.into()) } else { Ok(()) }
}

/// The content of an archived blob cannot be used.
pub fn not_archived(blob: &Revision) -> Result<()> {
    if blob.tier.tier == AccessTier::Archive { Err(ErrorCode::BlobArchived.into()) } else { Ok(()) }
}

/// A policy or a legal hold may protect the blob.
pub fn not_immutable(blob: &Revision, now: DateTime) -> Result<()> {
    unprotected(blob.legal_hold, blob.immutability.map(|policy| policy.until), now)
}

/// Checks that there is no legal hold, and no policy that ends after `now`.
pub fn unprotected(has_hold: bool, until: Option<DateTime>, now: DateTime) -> Result<()> {
    if has_hold {
        return Err(ErrorCode::BlobImmutableDueToLegalHold.into());
    }
    let is_protected = until.is_some_and(|until| until > now);
    if is_protected { Err(ErrorCode::BlobImmutableDueToPolicy.into()) } else { Ok(()) }
}

/// Does the operation give the blob a new ETag and a new time of its last change? The rule is defined only
/// here.
pub const fn renews(kind: OperationKind) -> bool {
    match kind {
        OperationKind::PutBlob
        | OperationKind::PutBlobFromUrl
        | OperationKind::PutBlockList
        | OperationKind::AppendBlock
        | OperationKind::AppendBlockFromUrl
        | OperationKind::SealBlob
        | OperationKind::PutPage
        | OperationKind::PutPageFromUrl
        | OperationKind::ClearPage
        | OperationKind::SetBlobProperties
        | OperationKind::SetBlobMetadata
        | OperationKind::SetBlobExpiry
        | OperationKind::CopyBlob
        | OperationKind::CopyBlobFromUrl
        | OperationKind::AbortCopyBlob
        | OperationKind::IncrementalCopyBlob => true,
        // Uncommitted blocks are not visible. Leases, tags and tiers are not part of the state. A snapshot does not
        // change the blob.
        _ => false,
    }
}

impl Revision {
    /// Records a change by an operation of this kind in the commit `version`.
    pub fn touch(&mut self, kind: OperationKind, version: u64) {
        if renews(kind) {
            self.changed = version;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BL-01, BL-08: the operations that give a blob a new ETag.
    #[test]
    fn operations_that_renew_the_etag() {
        use OperationKind as Kind;
        for kind in [
            Kind::PutBlob,
            Kind::PutBlockList,
            Kind::SetBlobProperties,
            Kind::SetBlobMetadata,
            Kind::CopyBlob,
        ] {
            assert!(renews(kind), "{kind:?}");
        }
        for kind in [
            Kind::PutBlock,
            Kind::AcquireBlobLease,
            Kind::RenewBlobLease,
            Kind::ChangeBlobLease,
            Kind::ReleaseBlobLease,
            Kind::BreakBlobLease,
            Kind::SnapshotBlob,
            Kind::SetBlobTier,
            Kind::SetBlobTags,
            Kind::GetBlob,
            Kind::GetBlobProperties,
        ] {
            assert!(!renews(kind), "{kind:?}");
        }
    }
}
