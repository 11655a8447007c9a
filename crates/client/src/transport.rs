//! How a request gets to a service and its answer back: a trait, so that tests and applications can bring their own.
//!
//! A transport moves one request and one answer and knows nothing of tables. It does not retry, does not sign, and
//! tells apart what matters for a retry: whether the service can have seen the request.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use bytes::Bytes;
//! use lazuli_client::transport::{BoxFuture, Transport, TransportResult};
//! use lazuli_client::{TableService, TransportError};
//! use lazuli_embedded::Embedded;
//!
//! /// Loses the first answer, as networks do.
//! struct Lossy(Embedded, std::sync::atomic::AtomicBool);
//!
//! impl Transport for Lossy {
//!     fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
//!         Box::pin(async move {
//!             let answer = self.0.send(request).await?;
//!             let lost = !self.1.swap(true, std::sync::atomic::Ordering::Relaxed);
//!             if lost { Err(TransportError::lost("cut off")) } else { Ok(answer) }
//!         })
//!     }
//! }
//!
//! let lossy = Lossy(Embedded::memory().expect("there is memory"), Default::default());
//! let service = TableService::builder(lazuli_embedded::account()).transport(lossy).build()?;
//! // It was created by the first attempt; the second finds it there and knows why.
//! service.create_table("People").await?;
//! # Ok(()) })
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

/// A future in a box, as trait objects need it.
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

/// Moves requests to a service and answers back.
///
/// The request has an absolute URL, all its header fields (the signature included) and its whole body. A transport
/// over HTTP adds `Host` and `Content-Length`.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::transport::{BoxFuture, Transport, TransportResult};
/// use lazuli_client::TableService;
///
/// /// Answers everything with a list of one table: for tests of programs that only look.
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
    /// Sends a request and waits for the whole answer.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Transport;
    /// let transport = lazuli_embedded::Embedded::memory().expect("there is memory");
    /// let request = http::Request::get("http://embedded/devstoreaccount1/Tables");
    /// let request = request.body(bytes::Bytes::new()).expect("it is one");
    /// // It says what the service says: this request has no signature.
    /// let answer = transport.send(request).await.expect("there is no network to fail");
    /// assert!(answer.status().is_client_error());
    /// # Ok(()) })
    /// ```
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult>;
}

/// What a transport answers.
///
/// ```
/// use lazuli_client::transport::{TransportError, TransportResult};
///
/// fn blocked(host: &str) -> TransportResult {
///     match host {
///         "localhost" => Ok(http::Response::new(bytes::Bytes::new())),
///         _ => Err(TransportError::not_sent("only this machine is asked")),
///     }
/// }
///
/// assert!(blocked("localhost").is_ok());
/// assert!(blocked("example.net").is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub type TransportResult = std::result::Result<http::Response<Bytes>, TransportError>;

/// Why there is no answer.
///
/// ```
/// use lazuli_client::{Error, ErrorKind, TransportError};
///
/// let error = Error::from(TransportError::not_sent("connection refused"));
/// assert_eq!(error.kind(), ErrorKind::Transport);
/// assert_eq!(error.message(), "the request could not be sent: connection refused");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Debug)]
pub struct TransportError {
    /// Can the service have seen the request?
    pub reached: Reached,
    /// What happened.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// How far a request came that got no answer.
///
/// ```
/// use lazuli_client::transport::{Reached, TransportError};
///
/// let error = TransportError { reached: Reached::Perhaps, source: "the line went dead".into() };
/// assert_eq!(error.to_string(), "no answer came: the line went dead");
/// assert_eq!(lazuli_client::Error::from(error).applied(), lazuli_client::Applied::Unknown);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It was not sent: no connection could be made.
    Nothing,
    /// It may have been sent, and the service may have carried it out.
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

    /// An answer came that is larger than a transport takes. To ask again would bring the same: it is not tried again.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind, TransportError};
    /// let error = Error::from(TransportError::too_large(1024));
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::Unknown));
    /// assert!(!error.is_transient());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn too_large(bytes_max: usize) -> Self {
        Self::lost(TooLarge { bytes_max })
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.source.is::<TooLarge>()
    }

    /// The request may have been sent, but no answer came.
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
            Reached::Nothing => write!(f, "the request could not be sent: {}", Causes(&*self.source)),
            Reached::Perhaps => write!(f, "no answer came: {}", Causes(&*self.source)),
        }
    }
}

/// Why an answer was not taken.
#[derive(Debug)]
struct TooLarge {
    bytes_max: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer has more than {} bytes", self.bytes_max)
    }
}

impl std::error::Error for TooLarge {}

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
