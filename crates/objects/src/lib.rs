//! Blob content as immutable objects in an S3-compatible store, for many front ends.
//!
//! A piece is one object, named by its stream and offset. The object starts with the table of the piece's
//! checksums, if it has more than one block; its bytes follow. A [`Ledger`](lazuli_engine::content::Ledger),
//! which is implemented by the engine of the rows, records which front end may write to which stream.
//!
//! Invariants:
//! - An object is written once, under a name that is never used again. So a PUT whose response was lost is sent again, and
//!   a DELETE can be repeated at any time.
//! - An object is stored before its name leaves the writer: the store acknowledges a PUT when it is durable.
//! - Listings are used only for deleting from streams in which no process can create new pieces. Dates of
//!   objects are not used.
//! - Neither a credential, nor a response of the store, which may contain one, is ever logged or part of an
//!   error.

mod bucket;
mod content;
mod credentials;
mod layer;
mod name;
mod reader;
mod s3;
pub mod store;
mod sweep;
mod url;
mod writer;

pub use bucket::Bucket;
pub use content::ObjectContent;
pub use layer::WithContent;
pub use url::ObjectsUrl;
