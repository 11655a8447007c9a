//! The Blob service's data: names, ETags, properties, conditions, leases, ranges, blocks, listings, tags, and the
//! operations on them.
//!
//! Nothing here reads a clock or does I/O. Operations contain no content: a streamed body is declared by its
//! length and the checksums that it must have.

pub mod block;
pub mod condition;
pub mod container;
pub mod copy;
pub mod etag;
pub mod event;
pub mod lease;
pub mod limits;
pub mod list;
pub mod name;
pub mod operation;
pub mod outcome;
pub mod properties;
pub mod protection;
pub mod range;
pub mod tag;
pub mod tier;
pub mod write;

pub use block::{BlockId, BlockRef};
pub use condition::{Conditions, ETags, Facts, Purpose, Unmet};
pub use etag::{ETag, Stamp};
pub use lease::{Lease, LeaseAction, LeaseState};
pub use name::{BlobName, ContainerName, NameError};
pub use operation::{Operation, Revision};
pub use outcome::Outcome;
pub use properties::{BlobKind, BlobProperties, ContentHeaders};
pub use range::{ByteRange, ResponseExtent};
pub use tag::{TagExpression, Tags};
pub use tier::AccessTier;
