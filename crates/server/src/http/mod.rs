//! The part of HTTP/1.1 that the services need: read requests, write responses, keep hostile clients in bounds.
//!
//! This is a small loop on `httparse` rather than hyper: header names must be sent in the documented letter
//! case (otherwise old .NET clients lose their continuation), head and body must be sent in one system call,
//! and a rejection must be possible before the body is read. In return, every rule of framing must be tested
//! here: see `tests/`.

mod body;
mod budget;
mod chunked;
mod connection;
mod handler;
mod head;
mod idle;
mod progress;
mod read;
mod ready;
mod write;

pub use body::CHUNK_BYTES;
pub(crate) use budget::{Budget, Claim};
pub use chunked::{Chunked, Progress};
pub use connection::{Shared, serve, turn_away};
pub use handler::{Body, BoxFuture, Handler, Peer, Reading, Reply, ResponseContent};
pub use head::{Framing, HeadError, RequestHead, find_head_end};
pub(crate) use progress::Deadline;
pub use progress::PROGRESS_BYTES_MIN;
pub use ready::ReadyBody;
pub use write::{body_bytes, reason};
