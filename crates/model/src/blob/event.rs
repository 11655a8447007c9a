//! Events: changes of blobs, for programs that react to them.

use crate::blob::etag::ETag;
use crate::blob::properties::BlobKind;
use crate::blob::tier::AccessTier;
use crate::{DateTime, Guid};

/// The kind of change to a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It was created or replaced.
    Created,
    /// It was deleted.
    Deleted,
    /// It moved to another tier.
    TierChanged,
}

impl EventKind {
    /// The type in the schema of Event Grid.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Created => "Microsoft.Storage.BlobCreated",
            EventKind::Deleted => "Microsoft.Storage.BlobDeleted",
            EventKind::TierChanged => "Microsoft.Storage.BlobTierChanged",
        }
    }
}

/// An event. It is delivered at least once; repetitions have the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: Guid,
    /// The kind of change.
    pub kind: EventKind,
    /// The operation, such as `PutBlob`.
    pub api: String,
    /// The key prefix of the account's records.
    pub home: String,
    /// The container.
    pub container: String,
    /// The blob.
    pub blob: String,
    /// The time of the change. Times of events of one blob increase.
    pub time: DateTime,
    /// The ETag of the blob.
    pub etag: ETag,
    /// Its size.
    pub size: u64,
    /// Its content type.
    pub content_type: Option<String>,
    /// Its kind.
    pub blob_kind: BlobKind,
    /// Its tier.
    pub tier: AccessTier,
}
