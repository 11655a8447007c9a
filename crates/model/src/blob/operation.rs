//! The operations of the Blob service.
//!
//! An operation never contains content. A body is declared as [`StreamedBody`] and streamed separately; a
//! source to copy from is declared as [`CopySource`] and fetched by the server.

use crate::blob::block::{BlockId, BlockListFilter, BlockRef};
use crate::blob::condition::{AppendConditions, Conditions, SequenceConditions};
use crate::blob::container::ContainerRequest;
use crate::blob::copy::CopySource;
use crate::blob::lease::LeaseAction;
use crate::blob::list::{FindBlobs, ListContainers};
use crate::blob::name::{BlobName, ContainerName};
use crate::blob::properties::{BlobKind, ContentHeaders};
use crate::blob::protection::{Encryption, Immutability, ImmutabilityPolicy};
use crate::blob::range::ByteRange;
use crate::blob::tag::Tags;
use crate::blob::tier::{AccessTier, RehydratePriority};
use crate::blob::write::{DeleteSnapshots, Digests, SequenceAction, StreamedBody, TagOption, WriteSettings};
pub use crate::delegation::KeyPeriod;

use crate::{DateTime, Guid, Metadata, OperationKind, PropertiesUpdate};

/// An operation of the Blob service.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Read the properties of the service.
    GetProperties,
    /// Change some properties of the service.
    SetProperties(Box<PropertiesUpdate>),
    /// The replication lag of the secondary.
    GetStats,
    /// Read the kind of the account, through any of its resources.
    GetAccountInformation(AccountScope),
    /// Get a key with which a user signs.
    GetUserDelegationKey(KeyPeriod),
    /// List the containers.
    ListContainers(ListContainers),
    /// Find blobs by their tags, in one container or in all.
    FindBlobs(Option<ContainerName>, Box<FindBlobs>),
    /// An operation on a container.
    Container(Box<ContainerRequest>),
    /// An operation on a blob.
    Blob(Box<BlobRequest>),
}

/// The resource through which account information is read. It need not exist; rights are checked against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountScope {
    /// The service.
    Service,
    /// A container.
    Container(ContainerName),
    /// A blob.
    Blob(ContainerName, BlobName),
}

/// The state of a blob that a request addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The blob itself.
    #[default]
    Current,
    /// The snapshot of that time.
    Snapshot(DateTime),
    /// The version of that time.
    Version(DateTime),
}

/// A request for one blob.
#[derive(Clone, Debug, PartialEq)]
pub struct BlobRequest {
    /// The container.
    pub container: ContainerName,
    /// The blob.
    pub blob: BlobName,
    /// The state that it addresses. Writes other than deletion accept only the current blob.
    pub revision: Revision,
    /// The id of its lease, if the request has one. Empty for lease actions, which contain their ids.
    pub lease: Option<Guid>,
    /// Conditions. Empty for actions that accept none.
    pub conditions: Conditions,
    /// The encryption of the request.
    pub encryption: Encryption,
    /// The operation.
    pub action: BlobAction,
}

/// An operation on a blob.
#[derive(Clone, Debug, PartialEq)]
pub enum BlobAction {
    /// Read its content.
    Get(GetBlob),
    /// Read its properties.
    GetProperties,
    /// Read its metadata.
    GetMetadata,
    /// Read its blocks.
    GetBlockList(BlockListFilter),
    /// Read its tags.
    GetTags,
    /// Read the written ranges of a page blob.
    GetPageRanges(GetPageRanges),

    /// Create or replace a block blob by the streamed body.
    PutBlob(StreamedBody, Box<WriteSettings>),
    /// Create or replace a block blob with the content of a source.
    PutBlobFromUrl(Box<PutFromUrl>),
    /// Upload a block.
    PutBlock(BlockId, StreamedBody),
    /// Upload a block with the content of a source.
    PutBlockFromUrl(BlockId, Box<CopySource>, Digests),
    /// Create or replace a block blob from uploaded and existing blocks.
    PutBlockList(Vec<BlockRef>, Box<WriteSettings>),

    /// Create an empty append blob.
    CreateAppend(Box<WriteSettings>),
    /// Append the streamed body.
    AppendBlock(StreamedBody, AppendConditions),
    /// Append the content of a source.
    AppendBlockFromUrl(Box<CopySource>, Digests, AppendConditions),
    /// Seal an append blob, if it has this length.
    Seal(AppendConditions),

    /// Create a page blob of zeros.
    CreatePage {
        /// Its size.
        size: u64,
        /// Its sequence number.
        sequence: u64,
        /// Its settings.
        settings: Box<WriteSettings>,
    },
    /// Write pages from the streamed body.
    PutPage(PageSpan, StreamedBody, SequenceConditions),
    /// Write pages from a source.
    PutPageFromUrl(PageSpan, Box<CopySource>, Digests, SequenceConditions),
    /// Clear pages.
    ClearPage(PageSpan, SequenceConditions),
    /// Copy what has changed since the last snapshot of a page blob.
    IncrementalCopy(Box<CopySource>),

    /// Copy a blob, synchronously or in the background.
    Copy(Box<CopyBlob>),
    /// Stop a copy.
    AbortCopy(Guid),

    /// Set HTTP headers, size or sequence number.
    SetProperties(Box<SetProperties>),
    /// Replace the metadata.
    SetMetadata(Metadata),
    /// Replace the tags.
    SetTags(Tags),
    /// Move it to another tier.
    SetTier(AccessTier, RehydratePriority),
    /// Delete it when its time has come.
    SetExpiry(Expiry),
    /// Set an immutability policy.
    SetImmutability(ImmutabilityPolicy),
    /// Remove the immutability policy.
    DeleteImmutability,
    /// Set or clear the legal hold.
    SetLegalHold(bool),

    /// Take a snapshot, optionally with other metadata.
    Snapshot(Option<Metadata>),
    /// Delete it or its snapshots.
    Delete {
        /// Which snapshots.
        snapshots: DeleteSnapshots,
        /// Is it permanent, even if the blob could be restored?
        is_permanent: bool,
    },
    /// Restore it and its snapshots.
    Undelete,
    /// Change its lease.
    Lease(LeaseAction),
}

/// The way to read the content of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GetBlob {
    /// Which bytes.
    pub range: Option<ByteRange>,
    /// The checksums of these bytes that the response contains. Fails with `OutOfRangeInput` if the range of
    /// the blob is longer than [`crate::blob::limits::CHECKED_RANGE_BYTES_MAX`]; only open ranges can be.
    pub digests: Digests,
    /// Does a range of an empty blob get 200? It does in versions before 2013-08-15.
    pub allows_empty_range: bool,
}

/// The page ranges to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetPageRanges {
    /// Which bytes.
    pub range: Option<ByteRange>,
    /// Only ranges that have changed since this snapshot.
    pub previous: Option<DateTime>,
    /// The first byte of the page of results.
    pub from: Option<u64>,
    /// Maximum ranges returned per page.
    pub max_results: Option<u32>,
}

/// Pages: both ends are multiples of 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// A block blob to create from a source.
#[derive(Clone, Debug, PartialEq)]
pub struct PutFromUrl {
    /// The source.
    pub source: CopySource,
    /// The settings of the new blob. If it has no metadata, it gets that of the source.
    pub settings: WriteSettings,
    /// Are HTTP headers that are not in the request copied from the source?
    pub copies_headers: bool,
    /// Where tags come from.
    pub tags: TagOption,
    /// The checksums for the response.
    pub digests: Digests,
}

/// A blob to copy.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyBlob {
    /// The source.
    pub source: CopySource,
    /// Must the copy be complete before the response?
    pub is_sync: bool,
    /// The metadata of the copy; `None` for that of the source.
    pub metadata: Option<Metadata>,
    /// The tags of the copy.
    pub tags: Tags,
    /// Where tags come from.
    pub tag_option: TagOption,
    /// The tier of the copy.
    pub tier: Option<AccessTier>,
    /// The priority of making the copy of an archived blob readable.
    pub priority: RehydratePriority,
    /// Should the copy of an append blob be sealed?
    pub seals: Option<bool>,
    /// Immutability policy and legal hold of the copy.
    pub immutability: Immutability,
    /// The checksums for the response of a synchronous copy.
    pub digests: Digests,
}

/// The changes of Set Blob Properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetProperties {
    /// All HTTP headers, if the request contains any of them.
    pub headers: Option<ContentHeaders>,
    /// The new size of a page blob.
    pub size: Option<u64>,
    /// The change of its sequence number.
    pub sequence: Option<SequenceAction>,
}

/// The time at which a blob deletes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    Never,
    /// This number of milliseconds after its creation.
    AfterCreation(u64),
    /// This number of milliseconds from now.
    FromNow(u64),
    /// At that time.
    At(DateTime),
}

impl Operation {
    /// The kind of the operation, for logs and metrics.
    pub fn kind(&self) -> OperationKind {
        match self {
            Operation::GetProperties => OperationKind::GetBlobServiceProperties,
            Operation::SetProperties(_) => OperationKind::SetBlobServiceProperties,
            Operation::GetStats => OperationKind::GetBlobServiceStats,
            Operation::GetAccountInformation(_) => OperationKind::GetAccountInformation,
            Operation::GetUserDelegationKey(_) => OperationKind::GetUserDelegationKey,
            Operation::ListContainers(_) => OperationKind::ListContainers,
            Operation::FindBlobs(..) => OperationKind::FindBlobsByTags,
            Operation::Container(request) => request.action.kind(),
            Operation::Blob(request) => request.action.kind(),
        }
    }

    /// The container that it concerns.
    pub fn container(&self) -> Option<&ContainerName> {
        match self {
            Operation::GetAccountInformation(
                AccountScope::Container(container) | AccountScope::Blob(container, _),
            ) => Some(container),
            Operation::FindBlobs(container, _) => container.as_ref(),
            Operation::Container(request) => Some(&request.container),
            Operation::Blob(request) => Some(&request.container),
            _ => None,
        }
    }

    /// The blob that it concerns.
    pub fn blob(&self) -> Option<&BlobName> {
        match self {
            Operation::GetAccountInformation(AccountScope::Blob(_, blob)) => Some(blob),
            Operation::Blob(request) => Some(&request.blob),
            _ => None,
        }
    }
}

impl BlobAction {
    /// The kind of the operation, for logs and metrics.
    pub fn kind(&self) -> OperationKind {
        match self {
            BlobAction::Get(_) => OperationKind::GetBlob,
            BlobAction::GetProperties => OperationKind::GetBlobProperties,
            BlobAction::GetMetadata => OperationKind::GetBlobMetadata,
            BlobAction::GetBlockList(_) => OperationKind::GetBlockList,
            BlobAction::GetTags => OperationKind::GetBlobTags,
            BlobAction::GetPageRanges(_) => OperationKind::GetPageRegions,
            BlobAction::PutBlob(..) | BlobAction::CreateAppend(_) | BlobAction::CreatePage { .. } => {
                OperationKind::PutBlob
            }
            BlobAction::PutBlobFromUrl(_) => OperationKind::PutBlobFromUrl,
            BlobAction::PutBlock(..) => OperationKind::PutBlock,
            BlobAction::PutBlockFromUrl(..) => OperationKind::PutBlockFromUrl,
            BlobAction::PutBlockList(..) => OperationKind::PutBlockList,
            BlobAction::AppendBlock(..) => OperationKind::AppendBlock,
            BlobAction::AppendBlockFromUrl(..) => OperationKind::AppendBlockFromUrl,
            BlobAction::Seal(_) => OperationKind::SealBlob,
            BlobAction::PutPage(..) => OperationKind::PutPage,
            BlobAction::PutPageFromUrl(..) => OperationKind::PutPageFromUrl,
            BlobAction::ClearPage(..) => OperationKind::ClearPage,
            BlobAction::IncrementalCopy(_) => OperationKind::IncrementalCopyBlob,
            BlobAction::Copy(copy) if copy.is_sync => OperationKind::CopyBlobFromUrl,
            BlobAction::Copy(_) => OperationKind::CopyBlob,
            BlobAction::AbortCopy(_) => OperationKind::AbortCopyBlob,
            BlobAction::SetProperties(_) => OperationKind::SetBlobProperties,
            BlobAction::SetMetadata(_) => OperationKind::SetBlobMetadata,
            BlobAction::SetTags(_) => OperationKind::SetBlobTags,
            BlobAction::SetTier(..) => OperationKind::SetBlobTier,
            BlobAction::SetExpiry(_) => OperationKind::SetBlobExpiry,
            BlobAction::SetImmutability(_) => OperationKind::SetBlobImmutabilityPolicy,
            BlobAction::DeleteImmutability => OperationKind::DeleteBlobImmutabilityPolicy,
            BlobAction::SetLegalHold(_) => OperationKind::SetBlobLegalHold,
            BlobAction::Snapshot(_) => OperationKind::SnapshotBlob,
            BlobAction::Delete { .. } => OperationKind::DeleteBlob,
            BlobAction::Undelete => OperationKind::UndeleteBlob,
            BlobAction::Lease(LeaseAction::Acquire { .. }) => OperationKind::AcquireBlobLease,
            BlobAction::Lease(LeaseAction::Renew { .. }) => OperationKind::RenewBlobLease,
            BlobAction::Lease(LeaseAction::Change { .. }) => OperationKind::ChangeBlobLease,
            BlobAction::Lease(LeaseAction::Release { .. }) => OperationKind::ReleaseBlobLease,
            BlobAction::Lease(LeaseAction::Break { .. }) => OperationKind::BreakBlobLease,
        }
    }

    /// The body, which is streamed separately from the operation.
    pub fn body(&self) -> Option<&StreamedBody> {
        match self {
            BlobAction::PutBlob(body, _)
            | BlobAction::PutBlock(_, body)
            | BlobAction::AppendBlock(body, _)
            | BlobAction::PutPage(_, body, _) => Some(body),
            _ => None,
        }
    }

    /// The source that the server fetches.
    pub fn source(&self) -> Option<&CopySource> {
        match self {
            BlobAction::PutBlobFromUrl(put) => Some(&put.source),
            BlobAction::Copy(copy) => Some(&copy.source),
            BlobAction::PutBlockFromUrl(_, source, _)
            | BlobAction::AppendBlockFromUrl(source, ..)
            | BlobAction::PutPageFromUrl(_, source, ..)
            | BlobAction::IncrementalCopy(source) => Some(source),
            _ => None,
        }
    }

    /// The kind of blob that it creates.
    pub fn creates(&self) -> Option<BlobKind> {
        match self {
            BlobAction::PutBlob(..) | BlobAction::PutBlobFromUrl(_) | BlobAction::PutBlockList(..) => {
                Some(BlobKind::Block)
            }
            BlobAction::CreateAppend(_) => Some(BlobKind::Append),
            BlobAction::CreatePage { .. } => Some(BlobKind::Page),
            _ => None,
        }
    }
}
