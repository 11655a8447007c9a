//! Sends requests to a service and returns the responses: a trait, so that tests and applications can provide
//! their own implementation.
//!
//! A transport moves one request and one response, and knows nothing about tables. It does not retry and does not sign, but
//! reports what matters for a retry: whether the service may have received the request.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use bytes::Bytes;
//! use lazuli_client::transport::{BoxFuture, Transport, TransportResult};
//! use lazuli_client::{TableService, TransportError};
//! use lazuli_embedded::Embedded;
//!
//! /// Loses the first response, as networks do.
//! struct Lossy(Embedded, std::sync::atomic::AtomicBool);
//!
//! impl Transport for Lossy {
//!     fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
//!         Box::pin(async move {
//!             let response = self.0.send(request).await?;
//!             let lost = !self.1.swap(true, std::sync::atomic::Ordering::Relaxed);
//!             if lost { Err(TransportError::lost("cut off")) } else { Ok(response) }
//!         })
//! }
//! }
//!
//! let lossy = Lossy(Embedded::memory().expect("entropy is available"), Default::default());
//! let service = TableService::builder(lazuli_embedded::account()).transport(lossy).build()?;
//! // The first attempt created it; the second one gets 409 and recognises why.
//! service.create_table("People").await?;
//! # Ok(()) })
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

/// A boxed future, as trait objects need it.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::BoxFuture;
///
/// fn later<'a>(name: &'a str) -> BoxFuture<'a, usize> {
///     Box::pin(async move { name.len() })
/// }
///
/// assert_eq!(later("Orders").await, 6);
/// # Ok(()) })
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends requests to a service and returns responses.
///
/// The request has an absolute URL, all its headers (including the signature) and its whole body. An HTTP transport
/// adds `Host` and `Content-Length`.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::transport::{BoxFuture, Transport, TransportResult};
/// use lazuli_client::TableService;
///
/// /// Returns a list of one table for every request: for tests of programs that only read.
/// struct Canned;
///
/// impl Transport for Canned {
///     fn send(&self, _: http::Request<bytes::Bytes>) -> BoxFuture<'_, TransportResult> {
///         Box::pin(async { Ok(http::Response::new(r#"{"value":[{"TableName":"People"}]}"#.into())) })
///     }
/// }
///
/// let service = TableService::builder(lazuli_embedded::account()).transport(Canned).build()?;
/// assert_eq!(service.table_names().await?, ["People"]);
/// # Ok(()) })
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends a request and waits for the whole response.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Transport;
    /// let transport = lazuli_embedded::Embedded::memory().expect("entropy is available");
    /// let request = http::Request::get("http://embedded/devstoreaccount1/Tables");
    /// let request = request.body(bytes::Bytes::new()).expect("a valid request");
    /// // It returns the response of the service: this request has no signature.
    /// let response = transport.send(request).await.expect("there is no network");
    /// assert!(response.status().is_client_error());
    /// # Ok(()) })
    /// ```
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult>;
}

/// Result of a transport.
///
/// ```
/// use lazuli_client::transport::{TransportError, TransportResult};
///
/// fn blocked(host: &str) -> TransportResult {
///     match host {
///         "localhost" => Ok(http::Response::new(bytes::Bytes::new())),
///         _ => Err(TransportError::not_sent("only this machine is allowed")),
///     }
/// }
///
/// assert!(blocked("localhost").is_ok());
/// assert!(blocked("example.net").is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub type TransportResult = std::result::Result<http::Response<Bytes>, TransportError>;

/// The reason why there is no response.
///
/// ```
/// use lazuli_client::{Error, ErrorKind, TransportError};
///
/// let error = Error::from(TransportError::not_sent("connection refused"));
/// assert_eq!(error.kind(), ErrorKind::Transport);
/// assert_eq!(error.message(), "cannot send the request: connection refused");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Debug)]
pub struct TransportError {
    /// May the service have received the request?
    pub reached: Reached,
    /// The cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// The progress of a request without a response.
///
/// ```
/// use lazuli_client::transport::{Reached, TransportError};
///
/// let error = TransportError { reached: Reached::Perhaps, source: "connection reset".into() };
/// assert_eq!(error.to_string(), "no response: connection reset");
/// assert_eq!(lazuli_client::Error::from(error).applied(), lazuli_client::Applied::Unknown);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It was not sent: no connection could be established.
    Nothing,
    /// It may have been sent, and the service may have applied it.
    Perhaps,
}

impl TransportError {
    /// The request was not sent.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, TransportError};
    /// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    /// assert_eq!(Error::from(TransportError::not_sent(refused)).applied(), Applied::No);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn not_sent(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { reached: Reached::Nothing, source: source.into() }
    }

    /// The response is larger than the transport accepts. Repeating the request would not help, so it is not retried.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind, TransportError};
    /// let error = Error::from(TransportError::too_large(1024));
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::InvalidResponse, Applied::Unknown));
    /// assert!(!error.is_transient());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn too_large(bytes_max: usize) -> Self {
        Self::lost(TooLarge { bytes_max })
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.source.is::<TooLarge>()
    }

    /// The request may have been sent, but there was no response.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, TransportError};
    /// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    /// assert_eq!(Error::from(TransportError::lost(reset)).applied(), Applied::Unknown);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn lost(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { reached: Reached::Perhaps, source: source.into() }
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reached {
            _ if self.is_too_large() => write!(f, "{}", self.source),
            Reached::Nothing => write!(f, "cannot send the request: {}", Causes(&*self.source)),
            Reached::Perhaps => write!(f, "no response: {}", Causes(&*self.source)),
        }
    }
}

/// The reason why a response was rejected.
#[derive(Debug)]
struct TooLarge {
    bytes_max: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response has more than {} bytes", self.bytes_max)
    }
}

impl std::error::Error for TooLarge {}

/// Maximum number of nested causes that are shown.
const CAUSES_MAX: usize = 8;

/// An error with all its causes, since the innermost one is often the most useful: `client error (Connect)` is
/// not helpful without `Connection refused`. Text that an outer error already contains is not repeated.
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
    fn every_cause_is_shown_once() {
        let refused = Layer("Connection refused", None);
        let again = Layer("tcp connect error: Connection refused", Some(Box::new(refused)));
        let outer = Layer("client error (Connect)", Some(Box::new(again)));
        assert_eq!(
            TransportError::not_sent(outer).to_string(),
            "cannot send the request: client error (Connect): tcp connect error: Connection refused"
        );
        assert_eq!(TransportError::lost("reset").to_string(), "no response: reset");
    }
}
