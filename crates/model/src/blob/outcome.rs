//! The outcomes of successful operations.

use std::sync::Arc;

pub use crate::delegation::UserDelegationKey;

use crate::blob::block::BlockEntry;
use crate::blob::container::{ContainerProperties, PublicAccess};
use crate::blob::copy::CopyStatus;
use crate::blob::etag::Stamp;
use crate::blob::lease::LeaseReply;
use crate::blob::list::{BlobPage, ContainerPage, FoundPage};
use crate::blob::properties::BlobProperties;
use crate::blob::protection::{EncryptionView, ImmutabilityPolicy};
use crate::blob::range::ResponseExtent;
use crate::blob::tag::Tags;
use crate::blob::write::Digested;
use crate::policy::SignedIdentifier;
use crate::{DateTime, Guid, Metadata, ServiceProperties};

/// The outcome of a successful operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The properties of the service.
    Properties(Arc<ServiceProperties>),
    /// They were changed.
    PropertiesSet,
    /// The secondary is up to date, since it reads the same rows.
    Stats,
    /// The kind of the account.
    AccountInformation(AccountInformation),
    /// A key with which a user signs.
    UserDelegationKey(Box<UserDelegationKey>),
    /// A page of containers.
    Containers(ContainerPage),
    /// A page of a search.
    Found(FoundPage),

    /// The container was created.
    ContainerCreated(Stamp),
    /// The properties of a container.
    Container(Box<ContainerProperties>),
    /// The metadata of a container.
    ContainerMetadata(Stamp, Metadata),
    /// Anonymous access to a container and its stored access policies.
    ContainerAcl(Stamp, PublicAccess, Vec<SignedIdentifier>),
    /// Metadata or access policies of a container were replaced.
    ContainerUpdated(Stamp),
    /// The container was deleted.
    ContainerDeleted,
    /// The container was restored.
    ContainerRestored,
    /// The lease of a container or blob was changed.
    Leased(Stamp, LeaseReply),
    /// A page of blobs.
    Blobs(BlobPage),

    /// The content of a blob follows.
    Content(Box<BlobContent>),
    /// The properties of a blob.
    Blob(Box<BlobProperties>),
    /// The metadata of a blob.
    Metadata(Stamp, Metadata),
    /// The blocks of a blob.
    BlockList(Box<BlockList>),
    /// The tags of a blob.
    Tags(Tags),
    /// The written ranges of a page blob.
    PageRanges(Box<PageRanges>),

    /// A blob was created or replaced: Put Blob, Put Blob From URL, Put Block List.
    Created(Box<Written>),
    /// A block was uploaded.
    BlockPut(Digested, EncryptionView),
    /// A block was appended.
    Appended {
        /// The state after it.
        written: Box<Written>,
        /// The offset at which it starts.
        offset: u64,
        /// The number of appends so far.
        committed_blocks: u32,
    },
    /// An append blob was sealed.
    Sealed(Stamp),
    /// Pages were written.
    PagesWritten {
        /// The state after it.
        written: Box<Written>,
        /// The sequence number of the blob.
        sequence_number: u64,
    },
    /// Pages were cleared.
    PagesCleared {
        /// The state after it.
        stamp: Stamp,
        /// The sequence number of the blob.
        sequence_number: u64,
    },
    /// A copy was started or is complete.
    Copied {
        /// The state of the destination.
        written: Box<Written>,
        /// The id of the copy.
        id: Guid,
        /// Its state.
        status: CopyStatus,
        /// Was it synchronous?
        is_sync: bool,
    },
    /// A copy was aborted.
    CopyAborted,
    /// Properties were set.
    PropertiesUpdated {
        /// The state after it.
        stamp: Stamp,
        /// The sequence number of a page blob.
        sequence_number: Option<u64>,
    },
    /// Metadata was set.
    MetadataSet(Box<Written>),
    /// Tags were set.
    TagsSet,
    /// The tier was set. Blobs that leave the archive do so later.
    TierSet {
        /// Is it still in progress?
        is_pending: bool,
    },
    /// The time of deletion was set.
    ExpirySet(Stamp),
    /// An immutability policy was set.
    ImmutabilitySet(ImmutabilityPolicy),
    /// The immutability policy was removed.
    ImmutabilityDeleted,
    /// The legal hold was set or cleared.
    LegalHoldSet(bool),
    /// A snapshot was made.
    SnapshotMade {
        /// The state of the snapshot.
        written: Box<Written>,
        /// Its time, which identifies it.
        snapshot: DateTime,
    },
    /// The blob or its snapshots were deleted.
    Deleted {
        /// Is the deletion permanent?
        is_permanent: bool,
    },
    /// The blob and its snapshots were restored.
    Undeleted,
}

/// The kind of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountInformation {
    /// `x-ms-sku-name`.
    pub sku: &'static str,
    /// `x-ms-account-kind`.
    pub kind: &'static str,
    /// Does it have a hierarchical namespace?
    pub has_namespace: bool,
}

impl Default for AccountInformation {
    fn default() -> Self {
        Self { sku: "Standard_LRS", kind: "StorageV2", has_namespace: false }
    }
}

/// Content that follows the head of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct BlobContent {
    /// The properties of the blob.
    pub properties: BlobProperties,
    /// Which bytes follow.
    pub extent: ResponseExtent,
    /// Checksums of these bytes, if they were requested.
    pub digested: Digested,
}

/// The blocks of a blob.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockList {
    /// The state and the size of the blob; `None` if it has only uncommitted blocks.
    pub blob: Option<(Stamp, u64)>,
    /// Committed blocks in the order of the content; `None` if they were not requested.
    pub committed: Option<Vec<BlockEntry>>,
    /// Uncommitted blocks in the order of their ids; `None` if they were not requested.
    pub uncommitted: Option<Vec<BlockEntry>>,
}

/// The written ranges of a page blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRanges {
    /// ETag and time of the last change.
    pub stamp: Stamp,
    /// The size of the blob.
    pub size: u64,
    /// First and last byte of each range, in order, with `true` for cleared ranges.
    pub ranges: Vec<(u64, u64, bool)>,
    /// The first byte of the next page of results.
    pub next: Option<u64>,
    /// Were pages of results requested? If so, the last one says that there are no more.
    pub is_paged: bool,
}

/// The state after a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// ETag and time of the change.
    pub stamp: Stamp,
    /// Checksums of the body or of the copied bytes.
    pub digested: Digested,
    /// The id of the version, in an account with versioning.
    pub version: Option<DateTime>,
    /// The encryption of the blob.
    pub encryption: EncryptionView,
}

impl Written {
    /// A write without anything special.
    pub fn new(stamp: Stamp) -> Self {
        Self { stamp, digested: Digested::default(), version: None, encryption: EncryptionView::default() }
    }
}
