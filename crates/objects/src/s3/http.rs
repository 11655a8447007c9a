//! Requests and responses over hyper with rustls, and their timeouts.
//!
//! The only module of this crate that opens sockets.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::sign::hex;
use crate::store::{ObjectBody, ObjectFailure};

/// Timeout for connecting.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Maximum time from the start of a request to the head of its response, including sending an object.
const RESPONSE_TIME_MAX: Duration = Duration::from_secs(10);
/// Time after which an unused connection is closed.
const IDLE_TIME_MAX: Duration = Duration::from_secs(30);
/// Maximum number of unused connections that are kept.
const IDLE_MAX: usize = 64;
/// Bodies up to this size are hashed in place.
const HASH_IN_PLACE_BYTES_MAX: usize = 64 * 1024;

/// A response.
pub type Response = http::Response<ObjectBody>;

/// A request, which can be sent several times.
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path; its characters need no encoding.
    pub path: String,
    /// The parameters, encoded, in the order of their names.
    pub query: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<Bytes>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: Method, path: String) -> Self {
        Self { method, path, query: String::new(), headers: Vec::new(), body: Vec::new() }
    }

    /// Adds a parameter. Parameters must come in the order of their names.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let separator = if self.query.is_empty() { "" } else { "&" };
        self.query.push_str(&format!("{separator}{name}={}", encoded(value)));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets the body.
    pub fn body(mut self, parts: Vec<Bytes>) -> Self {
        self.body = parts;
        self
    }

    /// The part of the URL after the host.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// The hash of the body in hexadecimal digits.
    pub async fn hash(&self) -> Result<String, ObjectFailure> {
        let parts = self.body.clone();
        let hash = move || {
            let mut hash = Sha256::new();
            parts.iter().for_each(|part| hash.update(part));
            hex(&hash.finalize())
        };
        if self.body.iter().map(Bytes::len).sum::<usize>() <= HASH_IN_PLACE_BYTES_MAX {
            return Ok(hash());
        }
        spawn_blocking(hash).await.map_err(|_| ObjectFailure::Broken)
    }
}

/// Encodes a value of a parameter.
fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

/// A pool of connections.
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Parts>,
}

impl Http {
    /// A pool that trusts the certificates of the machine, or those of a PEM file.
    pub fn new(roots_pem: Option<&[u8]>) -> Result<Self, String> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIME_MAX));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("cannot set up TLS: {error}"))?
            .with_root_certificates(roots(roots_pem)?)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Ok(Self { client })
    }

    /// Sends a request with these headers in addition to its own.
    pub async fn send(
        &self,
        request: &Request,
        uri: &str,
        headers: Vec<(&'static str, String)>,
    ) -> Result<Response, ObjectFailure> {
        let mut built = http::Request::builder().method(&request.method).uri(uri);
        for (name, value) in headers.iter().chain(&request.headers) {
            built = built.header(*name, value);
        }
        let body = Parts(request.body.iter().cloned().collect());
        let built = built.body(body).map_err(|_| ObjectFailure::Unclear)?;
        match timeout(RESPONSE_TIME_MAX, self.client.request(built)).await {
            Ok(Ok(response)) => {
                Ok(response.map(|body| body.map_err(|_| ObjectFailure::Broken).boxed_unsync()))
            }
            Ok(Err(error)) if error.is_connect() => Err(ObjectFailure::Unreachable),
            Ok(Err(_)) => Err(ObjectFailure::Broken),
            Err(_) => Err(ObjectFailure::Late),
        }
    }
}

fn roots(pem: Option<&[u8]>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match pem {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate =
                    certificate.map_err(|error| format!("invalid root certificate: {error}"))?;
                roots.add(certificate).map_err(|error| format!("invalid root certificate: {error}"))?;
            }
        }
        // A machine without any can still reach a store over plain HTTP.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    Ok(roots)
}

/// A body of known length, in parts.
pub struct Parts(VecDeque<Bytes>);

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|part| part.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded() {
        let request = Request::new(Method::GET, "/b/".into()).query("a", "x/y z~").query("b", "");
        assert_eq!(request.target(), "/b/?a=x%2Fy%20z~&b=");
    }

    #[tokio::test]
    async fn hashes_do_not_depend_on_parts() {
        let hash =
            async |parts: Vec<Bytes>| Request::new(Method::PUT, "/".into()).body(parts).hash().await.unwrap();
        assert_eq!(hash(vec![]).await, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let large = Bytes::from(vec![7; 200_000]);
        let parts = vec![large.slice(..70_000), large.slice(70_000..)];
        assert_eq!(hash(vec![large]).await, hash(parts).await);
    }
}
