//! Listings of containers and blobs: the options of requests and the pages of responses.

use crate::blob::container::ContainerProperties;
use crate::blob::operation::Revision;
use crate::blob::properties::{BlobKind, BlobProperties};
use crate::blob::tag::{TagQuery, Tags};

/// Which containers to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListContainers {
    /// Only names that start with this string.
    pub prefix: String,
    /// Start at the first name that is not less than this one.
    pub from: Option<String>,
    /// Maximum entries returned per page, 1 to 5000.
    pub max_results: u32,
    /// With metadata.
    pub has_metadata: bool,
    /// Include deleted ones that can be restored.
    pub has_deleted: bool,
    /// Include system containers.
    pub has_system: bool,
}

/// A container in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerItem {
    /// Its name.
    pub name: String,
    /// Its properties. The metadata is only valid if it was requested.
    pub properties: ContainerProperties,
}

/// A page of containers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerPage {
    /// The containers in the order of their names.
    pub items: Vec<ContainerItem>,
    /// The name at which the next page starts.
    pub next: Option<String>,
}

/// The parts of a listing besides blobs and their properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Snapshots.
    pub snapshots: bool,
    /// Metadata.
    pub metadata: bool,
    /// Blobs that have only uncommitted blocks.
    pub uncommitted: bool,
    /// The last copy.
    pub copy: bool,
    /// Deleted blobs and snapshots that can be restored.
    pub deleted: bool,
    /// Tags.
    pub tags: bool,
    /// Versions.
    pub versions: bool,
    /// Blobs that are deleted but have versions, each shown as its latest version.
    pub deleted_with_versions: bool,
    /// Immutability policies.
    pub immutability: bool,
    /// Legal holds.
    pub legal_hold: bool,
    /// Owners and permissions, which only a hierarchical namespace has.
    pub permissions: bool,
}

/// A position in the order of a container: by name, and within a name snapshots by time, versions by time, then
/// the current blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobPosition {
    /// The name, which need not be valid or that of an existing blob.
    pub name: String,
    /// The entry of that name; `None` for the first one.
    pub revision: Option<Revision>,
}

/// Which blobs to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBlobs {
    /// Only names that start with this string.
    pub prefix: String,
    /// Names are truncated after the first occurrence of this string after the prefix, and each result is
    /// returned once.
    pub delimiter: Option<String>,
    /// Start at the first entry that is not less than this one. It takes precedence over `start_from`.
    pub from: Option<BlobPosition>,
    /// Only names that are not less than this one, in byte order.
    pub start_from: Option<String>,
    /// Only names that are less than this one, in byte order.
    pub end_before: Option<String>,
    /// Maximum entries returned per page, 1 to 5000; prefixes count as entries.
    pub max_results: u32,
    /// Further parts to return.
    pub include: Include,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq)]
pub enum BlobEntry {
    /// A blob, snapshot or version.
    Blob(BlobItem),
    /// All blobs whose names start with this string, which includes the delimiter.
    Prefix(String),
}

/// A blob in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct BlobItem {
    /// Its name.
    pub name: String,
    /// Which of the entries of that name.
    pub revision: Revision,
    /// Its state.
    pub state: ListedState,
    /// Its tags, if they were requested.
    pub tags: Option<Tags>,
    /// Is the blob deleted, and do only versions of it exist? `None` if such blobs were not requested, and for
    /// snapshots and versions.
    pub has_versions_only: Option<bool>,
}

impl BlobItem {
    /// The approximate memory that it takes.
    pub fn bytes(&self) -> usize {
        let tags = self.tags.iter().flat_map(Tags::iter).map(|(name, value)| name.len() + value.len() + 64);
        let own = size_of::<Self>() + self.name.len() + tags.sum::<usize>();
        own + match &self.state {
            ListedState::Committed(properties) => properties.bytes(),
            ListedState::Uncommitted(_) => 0,
        }
    }
}

/// The state of a blob in a listing.
#[derive(Clone, Debug, PartialEq)]
pub enum ListedState {
    /// It has properties. Only those that were requested are valid.
    Committed(Box<BlobProperties>),
    /// It has only uncommitted blocks.
    Uncommitted(BlobKind),
}

/// A page of blobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlobPage {
    /// Blobs and prefixes in one order.
    pub entries: Vec<BlobEntry>,
    /// The start of the next page. A page may end early, even without entries.
    pub next: Option<BlobPosition>,
}

/// A search by tags, in one container or in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindBlobs {
    /// The expression.
    pub query: TagQuery,
    /// Start at the first blob that is not less than this one.
    pub from: Option<FoundPosition>,
    /// Maximum entries returned per page, 1 to 5000.
    pub max_results: u32,
}

/// A position in the order of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPosition {
    /// The container.
    pub container: String,
    /// The value of the tag by which the search reads; `None` for the start of the container.
    pub value: Option<String>,
    /// The blob.
    pub blob: String,
}

/// A blob that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundBlob {
    /// Its container.
    pub container: String,
    /// Its name.
    pub blob: String,
    /// The tags in the expression.
    pub tags: Tags,
}

/// A page of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundPage {
    /// The blobs by container and name; by container, tag value and name if the expression has no `=`.
    pub items: Vec<FoundBlob>,
    /// The start of the next page.
    pub next: Option<FoundPosition>,
}
