//! The properties of a blob.

use crate::blob::copy::CopyInfo;
use crate::blob::etag::Stamp;
use crate::blob::lease::LeaseView;
use crate::blob::protection::{DeletedInfo, EncryptionView, ImmutabilityPolicy, VersionInfo};
use crate::blob::tier::TierInfo;
use crate::{DateTime, Metadata};

/// The kind of a blob. It never changes; a write of another kind creates a new blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// Committed from blocks.
    #[default]
    Block,
    /// Written in pages at any offset.
    Page,
    /// Written at the end.
    Append,
}

impl BlobKind {
    /// Every kind.
    pub const ALL: [BlobKind; 3] = [BlobKind::Block, BlobKind::Page, BlobKind::Append];

    /// The name in headers and listings.
    pub const fn name(self) -> &'static str {
        match self {
            BlobKind::Block => "BlockBlob",
            BlobKind::Page => "PageBlob",
            BlobKind::Append => "AppendBlob",
        }
    }

    /// Reads a name in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(text))
    }
}

/// The default content type.
pub const CONTENT_TYPE_DEFAULT: &str = "application/octet-stream";

/// An MD5 hash.
pub type Md5 = [u8; 16];

/// The `Content-MD5` of a blob. Set Blob Properties stores any bytes, as Azure does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentMd5 {
    /// A hash.
    Hash(Md5),
    /// Bytes that are not a valid hash.
    Other(Box<[u8]>),
}

impl ContentMd5 {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            ContentMd5::Hash(md5) => md5,
            ContentMd5::Other(bytes) => bytes,
        }
    }
}

impl From<Md5> for ContentMd5 {
    fn from(md5: Md5) -> Self {
        ContentMd5::Hash(md5)
    }
}

impl From<&[u8]> for ContentMd5 {
    fn from(bytes: &[u8]) -> Self {
        Md5::try_from(bytes).map_or_else(|_| ContentMd5::Other(bytes.into()), ContentMd5::Hash)
    }
}

/// The HTTP headers that a blob stores. All six are always set together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentHeaders {
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `Content-MD5` of the whole blob. Only Put Blob verifies it.
    pub content_md5: Option<ContentMd5>,
    /// `Content-Disposition`.
    pub content_disposition: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
}

/// The properties of a blob, snapshot or version.
#[derive(Clone, Debug, PartialEq)]
pub struct BlobProperties {
    /// Its kind.
    pub kind: BlobKind,
    /// Its length in bytes.
    pub size: u64,
    /// ETag and time of the last change.
    pub stamp: Stamp,
    /// When it was created.
    pub created: DateTime,
    /// HTTP headers.
    pub headers: ContentHeaders,
    /// Metadata.
    pub metadata: Metadata,
    /// The tier; `None` for kinds that have none.
    pub tier: Option<TierInfo>,
    /// The lease at the time of the request; snapshots and versions have none.
    pub lease: Option<LeaseView>,
    /// The last copy to it.
    pub copy: Option<CopyInfo>,
    /// The sequence number of a page blob.
    pub sequence_number: Option<u64>,
    /// The number of appends to an append blob.
    pub committed_blocks: Option<u32>,
    /// Is it a sealed append blob?
    pub is_sealed: bool,
    /// The number of tags.
    pub tag_count: usize,
    /// Its version, in an account with versioning.
    pub version: Option<VersionInfo>,
    /// Its encryption.
    pub encryption: EncryptionView,
    /// Its immutability policy.
    pub immutability: Option<ImmutabilityPolicy>,
    /// Is there a legal hold?
    pub legal_hold: bool,
    /// When it deletes itself.
    pub expires: Option<DateTime>,
    /// The last access time, if it is tracked.
    pub last_accessed: Option<DateTime>,
    /// The time of its deletion, if it can be restored.
    pub deleted: Option<DeletedInfo>,
}

impl ContentHeaders {
    /// Bytes of the texts.
    pub fn bytes(&self) -> usize {
        let texts = [
            &self.content_type,
            &self.content_encoding,
            &self.content_language,
            &self.content_disposition,
            &self.cache_control,
        ];
        texts.into_iter().flatten().map(String::len).sum()
    }
}

impl BlobProperties {
    /// The approximate memory that they take.
    pub fn bytes(&self) -> usize {
        let metadata = self.metadata.bytes() + 64 * self.metadata.len();
        let copy = self.copy.as_ref();
        let copy =
            copy.map_or(0, |copy| copy.source.len() + copy.description.as_ref().map_or(0, String::len));
        size_of::<Self>() + self.headers.bytes() + metadata + copy
    }

    /// A block blob without anything special.
    pub fn new(kind: BlobKind, size: u64, stamp: Stamp) -> Self {
        Self {
            kind,
            size,
            stamp,
            created: stamp.last_modified,
            headers: ContentHeaders::default(),
            metadata: Metadata::default(),
            tier: None,
            lease: Some(LeaseView::default()),
            copy: None,
            sequence_number: (kind == BlobKind::Page).then_some(0),
            committed_blocks: (kind == BlobKind::Append).then_some(0),
            is_sealed: false,
            tag_count: 0,
            version: None,
            encryption: EncryptionView::default(),
            immutability: None,
            legal_hold: false,
            expires: None,
            last_accessed: None,
            deleted: None,
        }
    }
}
