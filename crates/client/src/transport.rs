//! How a request gets to a service and its answer back: a trait, so that tests and applications can bring their own.
//!
//! A transport moves one request and one answer and knows nothing of tables. It does not retry, does not sign, and
//! tells apart what matters for a retry: whether the service can have seen the request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

/// A future in a box, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Moves requests to a service and answers back.
///
/// The request has an absolute URL, all its header fields (the signature included) and its whole body. A transport
/// over HTTP adds `Host` and `Content-Length`.
pub trait Transport: Send + Sync + 'static {
    /// Sends a request and waits for the whole answer.
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult>;
}

/// What a transport answers.
pub type TransportResult = std::result::Result<http::Response<Bytes>, TransportError>;

/// Why there is no answer.
#[derive(Debug)]
pub struct TransportError {
    /// Can the service have seen the request?
    pub reached: Reached,
    /// What happened.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// How far a request came that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It was not sent: no connection could be made.
    Nothing,
    /// It may have been sent, and the service may have carried it out.
    Perhaps,
}

impl TransportError {
    /// The request was not sent.
    pub fn not_sent(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { reached: Reached::Nothing, source: source.into() }
    }

    /// The request may have been sent, but no answer came.
    pub fn lost(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { reached: Reached::Perhaps, source: source.into() }
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reached {
            Reached::Nothing => write!(f, "the request could not be sent: {}", self.source),
            Reached::Perhaps => write!(f, "no answer came: {}", self.source),
        }
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
