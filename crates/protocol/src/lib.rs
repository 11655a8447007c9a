//! How the Table service looks on the wire, in both directions: bytes to operations, outcomes to bytes, signatures.
//!
//! Nothing here does I/O, waits, or reads a clock. Server and client share it, so that the two sides cannot drift.

pub mod address;
pub mod answer;
pub mod atom;
pub mod auth;
pub mod batch;
pub mod continuation;
pub mod cors;
pub mod error;
pub mod etag;
pub mod head;
pub mod json;
pub mod media;
pub mod percent;
pub mod response;
pub mod table;
pub mod url;
pub mod version;
pub mod xml;

pub use address::{Address, Resource};
pub use head::Head;
pub use response::Response;
pub use version::ApiVersion;
