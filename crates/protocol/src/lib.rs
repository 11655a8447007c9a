//! The wire format of the storage services, in both directions: decoding operations, encoding outcomes, and
//! signatures.
//!
//! Nothing here does I/O, waits, or reads a clock. Server and client share it, so that the two sides cannot
//! diverge. Each service has its own folder; code that several services share is next to the folders.

pub mod address;
pub mod auth;
pub mod blob;
pub mod connection_string;
pub mod cors;
pub mod error;
pub mod http;
pub mod queue;
pub mod reply;
pub mod table;
pub mod xml;

pub use address::Address;
pub use connection_string::ConnectionString;
pub use http::head::Head;
pub use http::response::Response;
pub use http::version::ApiVersion;
