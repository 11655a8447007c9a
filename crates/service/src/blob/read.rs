//! Reads of a blob or snapshot: content, properties, metadata, tags.

use lazuli_digest::ChecksumFold;
use lazuli_model::blob::limits::CHECKED_RANGE_BYTES_MAX;
use lazuli_model::blob::operation::{BlobRequest, GetBlob, Revision as Which};
use lazuli_model::blob::outcome::BlobContent;
use lazuli_model::blob::protection::VersionInfo;
use lazuli_model::blob::write::Digested;
use lazuli_model::blob::{BlobKind, BlobProperties, Lease, Outcome, ResponseExtent};
use lazuli_model::{DateTime, ErrorCode, Failure};

use super::core::{At, Core};
use super::guard::{Guard, not_archived, not_incremental};
use super::keep::{Life, life_of, row_of};
use super::keyspace;
use super::pins::Pin;
use super::reader::BlobReader;
use super::record::{Head, Revision, time};
use crate::{Grant, Result};

impl Core {
    /// Finds the state that a request refers to, and pins it so that its content is not reclaimed.
    pub async fn open(&self, at: &At, which: Which) -> Result<(Revision, Pin)> {
        let (_, found, pin) = self.open_resolved(at, which).await?;
        Ok((found, pin))
    }

    /// Like [`Core::open`], but also returns which state it is at that moment: a version can be the current
    /// blob.
    pub async fn open_resolved(&self, at: &At, which: Which) -> Result<(Which, Revision, Pin)> {
        let pin = self.pins.blob(at.tables.blobs, &at.name);
        let (which, found) = self.resolve(at, which).await?;
        Ok((which, found, pin))
    }

    /// Finds the state that a request refers to.
    pub async fn find(&self, at: &At, which: Which) -> Result<Revision> {
        Ok(self.resolve(at, which).await?.1)
    }

    async fn resolve(&self, at: &At, which: Which) -> Result<(Which, Revision)> {
        let found = match which {
            Which::Current => self.head(at).await?.and_then(|head| head.blob).map(|blob| (which, blob)),
            Which::Snapshot(_) | Which::Version(_) => self.revision_at(at, which).await?,
        };
        Ok(found.ok_or(ErrorCode::BlobNotFound)?)
    }

    /// A snapshot or version that is not deleted; the current blob if it is that version. Head and row are read
    /// together: the head records which are deleted, and a version that is replaced moves from the head to a
    /// row. If a deleted one can be restored, the failure says so.
    async fn revision_at(&self, at: &At, which: Which) -> Result<Option<(Which, Revision)>> {
        let Some(row) = row_of(which) else { return Ok(None) };
        let found = self.engine().get(at.tables.blobs, &at.name, &[keyspace::HEAD, &row]).await?;
        let [head, row] = &found[..] else { return Ok(None) };
        let now = self.clock().ticks();
        let head = head.as_ref().map(|row| Head::decode(&row.value)).transpose()?.unwrap_or_default();
        if let (Which::Version(time), Some(blob)) = (which, &head.blob)
            && blob.version_id() == time.ticks()
        {
            let mut blob = blob.clone();
            blob.settle(now);
            return Ok(Some((Which::Current, blob)));
        }
        let Some(mut found) =
            row.as_ref().map(|row| Head::decode(&row.value)).transpose()?.and_then(|row| row.blob)
        else {
            return Ok(None);
        };
        found.settle(now);
        match life_of(which, &head, &found, now) {
            Life::Live => Ok(Some((which, found))),
            Life::Deleted(_) => {
                Err(Failure::from(ErrorCode::BlobNotFound).detail("x-ms-is-soft-deleted", "true").into())
            }
            Life::Gone => Ok(None),
        }
    }

    /// Finds the state that a request reads, and checks that the request may read it.
    async fn opened(&self, grant: &Grant, request: &mut BlobRequest) -> Result<(At, Revision, Pin)> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let (which, revision, pin) = self.open_resolved(&at, request.revision).await?;
        // The current version is shown as such.
        request.revision = which;
        Guard::of(request, self.clock()).read(&revision)?;
        Ok((at, revision, pin))
    }

    /// Get Blob.
    pub async fn get_blob(
        &self,
        grant: &Grant,
        mut request: BlobRequest,
        get: GetBlob,
    ) -> Result<(Outcome, BlobReader)> {
        let (at, revision, pin) = self.opened(grant, &mut request).await?;
        not_archived(&revision)?;
        if request.revision == Which::Current {
            not_incremental(&revision)?;
        }
        let range = get.range.filter(|_| revision.size > 0 || !get.allows_empty_range);
        let extent = ResponseExtent::resolve(range, revision.size)
            .ok_or_else(|| ResponseExtent::unsatisfiable(revision.size))?;
        let (offset, length) = extent.span(revision.size);
        let mut digested = Digested::default();
        let mut fold = ChecksumFold::new(get.digests);
        if !fold.is_idle() {
            if length > CHECKED_RANGE_BYTES_MAX {
                return Err(ErrorCode::OutOfRangeInput.into());
            }
            // The range is small. Reading it twice takes no memory.
            let second = pin.again();
            let mut reader = BlobReader::new(self, &at, revision.content.clone(), second, offset, length);
            while let Some(bytes) = reader.next().await? {
                fold.update(&bytes);
            }
            digested = fold.finish();
        }
        let reader = BlobReader::new(self, &at, revision.content.clone(), pin, offset, length);
        self.note_read(grant, &at, request.revision, &revision);
        let properties = self.shown(&at, revision, request.revision);
        Ok((Outcome::Content(Box::new(BlobContent { properties, extent, digested })), reader))
    }

    /// Get Blob Properties.
    pub async fn get_properties(&self, grant: &Grant, mut request: BlobRequest) -> Result<Outcome> {
        let (at, revision, _pin) = self.opened(grant, &mut request).await?;
        Ok(Outcome::Blob(Box::new(self.shown(&at, revision, request.revision))))
    }

    /// Get Blob Metadata.
    pub async fn get_metadata(&self, grant: &Grant, mut request: BlobRequest) -> Result<Outcome> {
        let (_, revision, _pin) = self.opened(grant, &mut request).await?;
        Ok(Outcome::Metadata(revision.stamp(), revision.metadata))
    }

    /// Get Blob Tags.
    pub async fn get_tags(&self, grant: &Grant, request: BlobRequest) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let (revision, _pin) = self.open(&at, request.revision).await?;
        let guard = Guard::of(&request, self.clock());
        guard.shared_change(Some(&revision))?;
        guard.has_key(&revision)?;
        Ok(Outcome::Tags(revision.tags))
    }

    /// The properties that clients see.
    fn shown(&self, at: &At, revision: Revision, which: Which) -> BlobProperties {
        shown(revision, which, self.now(), at.tracks_access)
    }
}

/// The properties that clients see at that time, in an account that tracks accesses or not.
pub fn shown(revision: Revision, which: Which, now: DateTime, tracks_access: bool) -> BlobProperties {
    let stamp = revision.stamp();
    let is_block = revision.kind == BlobKind::Block;
    let has_access = tracks_access && is_block && which == Which::Current;
    let last_accessed = has_access.then(|| time(revision.last_access()));
    BlobProperties {
        created: time(revision.created),
        headers: revision.headers,
        metadata: revision.metadata,
        tier: (is_block || !revision.tier.is_inferred).then_some(revision.tier),
        lease: (which == Which::Current).then(|| Lease::view(revision.lease.as_ref(), now)),
        copy: revision.copy.map(|copy| *copy),
        sequence_number: (revision.kind == BlobKind::Page).then_some(revision.sequence_number),
        committed_blocks: (revision.kind == BlobKind::Append).then_some(revision.appends),
        is_sealed: revision.is_sealed,
        tag_count: revision.tags.len(),
        encryption: revision.encryption,
        immutability: revision.immutability,
        legal_hold: revision.legal_hold,
        last_accessed,
        version: Some(revision.version)
            .filter(|version| *version > 0)
            .map(|version| VersionInfo { id: time(version), is_current: which == Which::Current }),
        ..BlobProperties::new(revision.kind, revision.size, stamp)
    }
}
