//! The parts of writes: declared bodies and their checksums, and the settings that a write applies to a blob.

use crate::Metadata;
use crate::blob::properties::{ContentHeaders, Md5};
use crate::blob::protection::Immutability;
use crate::blob::tag::Tags;
use crate::blob::tier::AccessTier;

/// A CRC-64/NVME checksum in wire order: least significant byte first.
pub type Crc64 = [u8; 8];

/// The checksums that a body needs: for the response, for the blob's properties, or for verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// The MD5 hash.
    pub md5: bool,
    /// The CRC-64/NVME.
    pub crc64: bool,
}

/// The checksums of a body, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digested {
    /// The MD5 hash.
    pub md5: Option<Md5>,
    /// The CRC-64/NVME.
    pub crc64: Option<Crc64>,
}

/// A body that is streamed separately from the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamedBody {
    /// Its length in bytes.
    pub length: u64,
    /// The checksums that it must match; otherwise `Md5Mismatch` or `Crc64Mismatch`.
    pub expected: Digested,
    /// The checksums for the response and for the blob's properties.
    pub needed: Digests,
}

impl StreamedBody {
    /// All checksums to compute.
    pub fn computed(&self) -> Digests {
        Digests {
            md5: self.needed.md5 || self.expected.md5.is_some(),
            crc64: self.needed.crc64 || self.expected.crc64.is_some(),
        }
    }
}

/// The settings that a write applies to a blob. Settings that are absent here are cleared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteSettings {
    /// HTTP headers.
    pub headers: ContentHeaders,
    /// Metadata.
    pub metadata: Metadata,
    /// Tags.
    pub tags: Tags,
    /// The tier; `None` for the default of the account.
    pub tier: Option<AccessTier>,
    /// Immutability policy and legal hold.
    pub immutability: Immutability,
}

/// The change of a page blob's sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceAction {
    /// Set it to the larger of both numbers.
    Max(u64),
    /// Set it.
    Update(u64),
    /// Add one.
    Increment,
}

/// The snapshots that a deletion includes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeleteSnapshots {
    /// No snapshots: a blob with snapshots cannot be deleted.
    #[default]
    Unspecified,
    /// All, with the blob.
    Include,
    /// All, without the blob.
    Only,
}

/// The source of the tags of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagOption {
    /// From the request.
    #[default]
    Replace,
    /// From the source.
    Copy,
}
