//! The records of blobs as bytes: a format, a byte of flags, then fields in ascending order of their tags.
//!
//! The flags come first, so that a scan can classify a row without reading the rest. A new field gets a new tag, so
//! older rows stay readable. A record with an unknown tag was written by a later version and is an error.

mod container;
mod fields;
mod pages;
mod staged;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_model::blob::copy::{CopyInfo, without_query};
use lazuli_model::blob::protection::{EncryptionView, ImmutabilityPolicy};
use lazuli_model::blob::tier::TierInfo;
use lazuli_model::blob::{BlobKind, BlockId, ContentHeaders, ETag, Lease, Stamp, Tags};
use lazuli_model::{DateTime, Metadata};

pub use container::ContainerData;
pub use pages::{Clear, Grid, Pages};
pub use staged::Staged;

use super::codec::{Decoder, Encoder, corrupt};
use super::keyspace::Generation;
use super::segment::Segment;

const FORMAT: u8 = 1;
const HAS_BLOB: u8 = 1;
const IS_STAGED: u8 = 2;
const HAS_DELETED: u8 = 4;
const HAS_VERSIONS: u8 = 8;
/// Length that most records do not exceed, without content. A longer one takes one more allocation.
const DESCRIPTION_BYTES: usize = 240;

/// The head of a blob, or one of its snapshots: a committed state, and marks that remain after its deletion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Marks. A snapshot has none.
    pub marks: Marks,
    /// The committed state; `None` if there are only uncommitted blocks, something that can be restored, or something
    /// left to clean up.
    pub blob: Option<Revision>,
    /// The deleted blob, if it can be restored. There is none while the blob exists.
    pub deleted: Option<Box<Revision>>,
}

/// Facts about a blob that do not depend on its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// About uncommitted blocks; `None` if there never were any.
    pub staged: Option<StagedMarks>,
    /// About snapshots.
    pub snapshots: SnapshotMarks,
    /// Marks about retained states: deleted ones and versions.
    pub kept: KeptMarks,
    /// The version of the last commit that changed which generations are referenced. The sweep relies on it.
    pub shape: u64,
}

/// Marks about uncommitted blocks. Blocks are rows of another table, so no commit covers both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StagedMarks {
    /// Uncommitted blocks up to this version are dropped.
    pub horizon: u64,
    /// Changes whenever uncommitted blocks may be freed. The commit of a block list requires that it is
    /// unchanged since the blocks were read.
    pub fence: u64,
    /// Length of the block ids in bytes; 0 if any length is allowed.
    pub id_bytes: u8,
    /// Is there no committed blob, but uncommitted blocks that are not dropped?
    pub is_live: bool,
    /// The lease of a blob that has only uncommitted blocks. The committed blob inherits it.
    pub lease: Option<Lease>,
}

impl StagedMarks {
    /// Drops all uncommitted blocks that were uploaded before the commit `version`.
    pub fn drop_all(&mut self, version: u64) {
        *self = Self { horizon: version, fence: version, ..Self::default() };
    }
}

/// Marks about snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMarks {
    /// Number of snapshots.
    pub count: u64,
    /// Time of the latest snapshot ever made, in ticks.
    pub last: u64,
    /// Snapshots up to this time are deleted.
    pub floor: u64,
}

/// Marks about retained states. Times are versions of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptMarks {
    /// Snapshots up to this time were deleted together.
    pub floor: u64,
    /// The time of that deletion, and the time until which it can be undone.
    pub batch: Option<Deleted>,
    /// Everything deleted up to this time was restored.
    pub restored: u64,
    /// The latest version that was ever retained; 0 if there never was one.
    pub last_version: u64,
}

/// A deletion that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The version of the commit that made it.
    pub at: u64,
    /// The time until which it can be undone, in ticks.
    pub until: u64,
}

/// A committed state: of the blob, or of one of its snapshots or versions. It is moved around a lot, so rarely
/// used parts are boxed.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Its kind.
    pub kind: BlobKind,
    /// The ETag, which is also the time of the last change: the version of the commit that made it, in ticks.
    pub changed: u64,
    /// The time at which the blob was created, in ticks.
    pub created: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Its content.
    pub content: Stored,
    /// HTTP headers.
    pub headers: ContentHeaders,
    /// Metadata.
    pub metadata: Metadata,
    /// Its lease.
    pub lease: Option<Lease>,
    /// The last copy to it.
    pub copy: Option<Box<CopyInfo>>,
    /// The source of a copy that is pending.
    pub copying: Option<Box<CopyTask>>,
    /// The source of the last incremental copy that succeeded.
    pub incremental: Option<Box<CopyTask>>,
    /// Its tags.
    pub tags: Tags,
    /// Its tier.
    pub tier: TierInfo,
    /// Its encryption.
    pub encryption: EncryptionView,
    /// Its immutability policy.
    pub immutability: Option<ImmutabilityPolicy>,
    /// Is there a legal hold?
    pub legal_hold: bool,
    /// The sequence number of a page blob.
    pub sequence_number: u64,
    /// The number of appends to an append blob.
    pub appends: u32,
    /// Is it a sealed append blob?
    pub is_sealed: bool,
    /// Its version, in ticks; 0 if it was written without versioning.
    pub version: u64,
    /// Its deletion, if it can be restored.
    pub deleted: Option<Deleted>,
    /// The time at which it leaves the archive, in ticks; 0 if it is not leaving it.
    pub rehydrated: u64,
    /// The time at which it was last read, in ticks, as far as that was recorded; 0 if never.
    pub accessed: u64,
}

/// The location of the content of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// In the record itself. It never refers to pieces, since an update of the record could lose the only
    /// reference.
    Inline {
        /// The bytes.
        bytes: Bytes,
        /// The blocks that it was committed from, with their lengths; empty if it was not committed from
        /// blocks.
        blocks: Vec<(BlockId, u64)>,
    },
    /// In separate rows.
    Generation(Named),
    /// In runs of bytes, to which appends are added. Bytes beyond the size belong to later states.
    Runs(Generation),
    /// In rows of pages.
    Pages(Pages),
}

/// The generation that a record refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Which one.
    pub generation: Generation,
    /// Number of segments.
    pub segments: u32,
    /// Number of blocks; 0 if the content was not committed from blocks.
    pub blocks: u32,
    /// A copy of the only segment if it is small, to save a look-up.
    pub direct: Option<Segment>,
}

/// The source of a pending copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyTask {
    /// The account of the source.
    pub account: String,
    /// The container of the source.
    pub container: String,
    /// The blob.
    pub blob: String,
    /// The snapshot in ticks; 0 for the current blob.
    pub snapshot: u64,
    /// The version in ticks; 0 for the current blob.
    pub version: u64,
    /// The ETag that the source must still have.
    pub etag: u64,
    /// A source on another server. No other field is set then, except by incremental copies, which record the
    /// snapshot, and the URL without its query as the blob.
    pub remote: Option<RemoteTask>,
}

/// The source of a pending copy from another server.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteTask {
    /// The source's URL, with its shared access signature. The URL is removed from the record when the copy ends.
    pub url: String,
    /// The ETag that the source must still have; empty if the source has none.
    pub etag: String,
}

// The URL contains a signature: it must not reach a log.
impl std::fmt::Debug for RemoteTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteTask").field("url", &without_query(&self.url)).finish_non_exhaustive()
    }
}

impl Default for Stored {
    fn default() -> Self {
        Stored::Inline { bytes: Bytes::new(), blocks: Vec::new() }
    }
}

impl Stored {
    /// The generation, if the content is in separate rows.
    pub fn generation(&self) -> Option<Generation> {
        match self {
            Stored::Generation(named) => Some(named.generation),
            Stored::Runs(generation) => Some(*generation),
            Stored::Pages(pages) => Some(pages.generation),
            Stored::Inline { .. } => None,
        }
    }

    /// Bytes of content in the record itself.
    fn inline_bytes(&self) -> usize {
        if let Stored::Inline { bytes, .. } = self { bytes.len() } else { 0 }
    }

    /// The content of a state that must be preserved while the blob changes, such as a snapshot. Writes of pages go to
    /// a new epoch from now on; all other content never changes.
    pub fn preserve(&mut self) -> Self {
        let mut preserved = self.clone();
        if let (Stored::Pages(pages), Stored::Pages(preserved)) = (&mut *self, &mut preserved) {
            pages.epoch = pages.epoch.saturating_add(1);
            pages.epoch_serial = pages.serial;
            preserved.has_spare_rows = false;
        }
        preserved
    }

    /// Records that a state that shared the content was deleted.
    pub fn outlive(&mut self) {
        if let Stored::Pages(pages) = self {
            pages.has_spare_rows = true;
        }
    }
}

impl Revision {
    /// A state with default settings, changed and created at `version`.
    pub fn new(kind: BlobKind, version: u64) -> Self {
        Self {
            kind,
            changed: version,
            created: version,
            size: 0,
            content: Stored::default(),
            headers: ContentHeaders::default(),
            metadata: Metadata::default(),
            lease: None,
            copy: None,
            copying: None,
            incremental: None,
            tags: Tags::default(),
            tier: TierInfo::default(),
            encryption: EncryptionView::default(),
            immutability: None,
            legal_hold: false,
            sequence_number: 0,
            appends: 0,
            is_sealed: false,
            version: 0,
            deleted: None,
            rehydrated: 0,
            accessed: 0,
        }
    }

    /// The id of this state as a version of the blob.
    pub fn version_id(&self) -> u64 {
        if self.version == 0 { self.changed } else { self.version }
    }

    /// Applies the effects of time: the blob may have left the archive.
    pub fn settle(&mut self, now: u64) {
        if let (Some((tier, _)), true) = (self.tier.rehydrating, self.rehydrated <= now) {
            let changed = Some(time(self.rehydrated)).filter(|_| self.rehydrated > 0).or(self.tier.changed);
            self.tier = TierInfo { tier, is_inferred: false, changed, rehydrating: None };
            self.rehydrated = 0;
        }
    }

    /// ETag and time of the last change.
    pub fn stamp(&self) -> Stamp {
        stamp(self.changed)
    }
}

/// The ETag and the time of a change that a commit with this version made.
pub fn stamp(version: u64) -> Stamp {
    Stamp { etag: ETag::new(version), last_modified: time(version) }
}

/// The time of a commit with this version.
pub fn time(version: u64) -> DateTime {
    DateTime::from_ticks(version).unwrap_or(DateTime::MAX)
}

impl Head {
    /// A record without marks: a snapshot.
    pub fn of(blob: Revision) -> Self {
        Self { blob: Some(blob), ..Self::default() }
    }

    /// The marks of a blob that has only uncommitted blocks.
    pub fn uncommitted(&mut self) -> Option<&mut StagedMarks> {
        self.marks.staged.as_mut().filter(|marks| marks.is_live && self.blob.is_none())
    }

    /// The lease of the blob, even if it has only uncommitted blocks.
    pub fn lease(&self) -> Option<Lease> {
        match &self.blob {
            Some(blob) => blob.lease,
            None => self.marks.staged.filter(|marks| marks.is_live).and_then(|marks| marks.lease),
        }
    }

    /// Its row.
    pub fn encode(&self) -> Bytes {
        let is_live = self.marks.staged.is_some_and(|marks| marks.is_live);
        let flags = [
            (self.blob.is_some(), HAS_BLOB),
            (is_live, IS_STAGED),
            (self.deleted.is_some(), HAS_DELETED),
            (self.marks.kept.last_version > 0, HAS_VERSIONS),
        ];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
        let inline = self.blob.as_ref().map_or(0, |blob| blob.content.inline_bytes());
        let mut encoder = Encoder::for_record(DESCRIPTION_BYTES + inline);
        encoder.raw(&[FORMAT, flags]);
        fields::encode_marks(&mut encoder, &self.marks);
        if let Some(deleted) = &self.deleted {
            fields::encode_deleted_blob(&mut encoder, deleted);
        }
        if let Some(blob) = &self.blob {
            fields::encode_revision(&mut encoder, blob);
        }
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(bytes: &Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(bytes.clone());
        let (format, flags) = (decoder.byte()?, decoder.byte()?);
        if format != FORMAT || flags & !(HAS_BLOB | IS_STAGED | HAS_DELETED | HAS_VERSIONS) != 0 {
            return Err(corrupt("a blob has an unknown format"));
        }
        let mut head = Head {
            marks: Marks::default(),
            blob: (flags & HAS_BLOB != 0).then(|| Revision::new(BlobKind::Block, 0)),
            deleted: None,
        };
        decoder.fields(|tag, value| fields::decode(&mut head, tag, value))?;
        match &mut head.marks.staged {
            Some(marks) => marks.is_live = flags & IS_STAGED != 0,
            None if flags & IS_STAGED != 0 => return Err(corrupt("a blob has blocks without marks")),
            None => {}
        }
        let has_versions = head.marks.kept.last_version > 0;
        if (flags & HAS_DELETED != 0) != head.deleted.is_some() || (flags & HAS_VERSIONS != 0) != has_versions
        {
            return Err(corrupt("the flags of a blob do not match"));
        }
        Ok(head)
    }

    /// Does the row hold a committed blob? Cheaper than decoding the row.
    pub fn is_blob(value: &[u8]) -> bool {
        value.get(1).is_some_and(|flags| flags & HAS_BLOB != 0)
    }

    /// Is the row that of a blob that has only uncommitted blocks? Cheaper than decoding the row.
    pub fn is_uncommitted(value: &[u8]) -> bool {
        value.get(1).is_some_and(|flags| flags & (HAS_BLOB | IS_STAGED) == IS_STAGED)
    }

    /// Does the row hold a deleted blob that can perhaps be restored? Cheaper than decoding the row.
    pub fn has_deleted(value: &[u8]) -> bool {
        value.get(1).is_some_and(|flags| flags & HAS_DELETED != 0)
    }

    /// Has the blob ever had versions besides the current one? Cheaper than decoding the row.
    pub fn has_versions(value: &[u8]) -> bool {
        value.get(1).is_some_and(|flags| flags & HAS_VERSIONS != 0)
    }

    /// Applies the effects of time.
    pub fn settle(&mut self, now: u64) {
        self.blob.iter_mut().for_each(|blob| blob.settle(now));
    }
}
