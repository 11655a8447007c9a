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
            Reached::Nothing => write!(f, "the request could not be sent: {}", Causes(&*self.source)),
            Reached::Perhaps => write!(f, "no answer came: {}", Causes(&*self.source)),
        }
    }
}

/// How deep the causes of an error are told.
const CAUSES_MAX: usize = 8;

/// An error and what caused it, down to what a person can do something about: `client error (Connect)` says nothing
/// without `Connection refused`. What a cause has said already is not said again.
struct Causes<'a>(&'a (dyn std::error::Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = std::iter::successors(Some(self.0), |error| error.source());
        let mut told = String::new();
        for error in chain.take(CAUSES_MAX) {
            let text = error.to_string();
            if !told.contains(&text) {
                f.write_str(if told.is_empty() { "" } else { ": " })?;
                f.write_str(&text)?;
                told.push_str(&text);
            }
        }
        Ok(())
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Layer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.1.as_deref().map(|source| source as _)
        }
    }

    #[test]
    fn every_cause_is_told_once() {
        let refused = Layer("Connection refused", None);
        let again = Layer("tcp connect error: Connection refused", Some(Box::new(refused)));
        let outer = Layer("client error (Connect)", Some(Box::new(again)));
        assert_eq!(
            TransportError::not_sent(outer).to_string(),
            "the request could not be sent: client error (Connect): tcp connect error: Connection refused"
        );
        assert_eq!(TransportError::lost("reset").to_string(), "no answer came: reset");
    }
}
