//! A raw, signed HTTP/1.1 client for tools and tests.
//!
//! Programs use `lazuli-client`. This crate sends exactly the given bytes, correct or not, returns responses as
//! they arrived, and can stream both ways:
//!
//! - [`Request`] is a request as bytes, [`Signer`] signs it for any service, [`Response`] is the response.
//! - [`Connection`] exchanges them on a tokio socket, for load generators.
//! - [`blocking::Connection`] does the same on any blocking stream, [`blocking::Client`] on TCP or TLS with reuse,
//!   `Expect: 100-continue` and early responses.
//!
//! All of them share one decoder of responses, which does no I/O.

pub mod blocking;
mod connection;
mod decoder;
mod request;
mod response;
mod signer;

pub use connection::Connection;
pub use decoder::Decoder;
pub use request::{Request, header};
pub use response::Response;
pub use signer::Signer;
