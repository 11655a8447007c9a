//! The HTTP transport: a pool of connections, with TLS if the endpoint uses it.
//!
//! The only module of the client that opens sockets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::transport::{BoxFuture, Transport, TransportError, TransportResult};

/// Maximum size of a response: a page holds four megabytes of data, which JSON may expand six times.
const RESPONSE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Settings of connections.
///
/// ```
/// use lazuli_client::{Account, HttpOptions, TableService};
///
/// let many = HttpOptions { connections_max: 512, ..HttpOptions::default() };
/// let service = TableService::builder(Account::development()).http(many).build()?;
/// assert!(HttpOptions::default().nodelay, "small requests are sent at once");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Maximum number of concurrent requests, each on its own connection; further requests wait. Also the maximum number of
    /// idle connections per endpoint (HT-04).
    pub connections_max: usize,
    /// Timeout for establishing a connection.
    pub connect_time_max: Duration,
    /// Time after which an unused connection is closed.
    pub idle_time_max: Duration,
    /// Send small requests immediately (`TCP_NODELAY`, HT-03).
    pub nodelay: bool,
    /// Root certificates in PEM format to trust in addition to those of the machine.
    pub extra_roots_pem: Option<Vec<u8>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connections_max: 128,
            connect_time_max: Duration::from_secs(5),
            idle_time_max: Duration::from_secs(60),
            nodelay: true,
            extra_roots_pem: None,
        }
    }
}

/// The transport over HTTP/1.1, with and without TLS. It never sends `Expect: 100-continue` (HT-02): the largest body has
/// four megabytes.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Account, Http, HttpOptions, TableService};
///
/// // One connection pool for several accounts.
/// let service = TableService::builder(Account::development())
///     .transport(Http::without_roots(&HttpOptions::default())?)
///     .build()?;
/// let other = service.with_account(Account::development_at("http://127.0.0.1:1/devstoreaccount1")?);
/// assert_ne!(other.endpoint(), service.endpoint());
/// # Ok(()) })
/// ```
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    places: Arc<Semaphore>,
}

impl Http {
    /// A transport that trusts the root certificates of the machine and of the options.
    ///
    /// ```
    /// # use lazuli_client::{Http, HttpOptions};
    /// // A private root, as companies have them, in addition to those of the machine.
    /// let pem = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    /// let wrong = HttpOptions { extra_roots_pem: Some(pem), ..HttpOptions::default() };
    /// assert!(Http::new(&wrong).is_err_and(|error| error.message().starts_with("invalid root certificate")));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn new(options: &HttpOptions) -> Result<Self> {
        Self::trusting(options, roots(options)?)
    }

    /// A transport without root certificates, for `http` endpoints.
    ///
    /// ```
    /// # use lazuli_client::{Account, Http, HttpOptions, TableService};
    /// let transport = Http::without_roots(&HttpOptions::default())?;
    /// let service = TableService::builder(Account::development()).transport(transport).build()?;
    /// assert!(!service.endpoint().is_https());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn without_roots(options: &HttpOptions) -> Result<Self> {
        Self::trusting(options, RootCertStore::empty())
    }

    fn trusting(options: &HttpOptions, roots: RootCertStore) -> Result<Self> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(options.nodelay);
        connector.set_connect_timeout(Some(options.connect_time_max));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::input(format!("cannot set up TLS: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_time_max)
            .pool_max_idle_per_host(options.connections_max)
            .build(connector);
        Ok(Self {
            client,
            places: Arc::new(Semaphore::new(options.connections_max.clamp(1, Semaphore::MAX_PERMITS))),
        })
    }
}

impl Transport for Http {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        Box::pin(async move {
            let _place = self.places.acquire().await.map_err(TransportError::not_sent)?;
            let response = self.client.request(request.map(Full::new)).await.map_err(|error| {
                if error.is_connect() { TransportError::not_sent(error) } else { TransportError::lost(error) }
            })?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    TransportError::too_large(RESPONSE_BYTES_MAX)
                } else {
                    TransportError::lost(error)
                }
            })?;
            Ok(http::Response::from_parts(parts, body.to_bytes()))
        })
    }
}

/// The trusted certificates.
fn roots(options: &HttpOptions) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    // Machines have old certificates in unsupported formats; these are skipped.
    roots.add_parsable_certificates(native.certs);
    for certificate in options.extra_roots_pem.iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem)) {
        let certificate = certificate.map_err(|error| Error::input(format!("not a PEM file: {error}")))?;
        let added = roots.add(certificate);
        added.map_err(|error| Error::input(format!("invalid root certificate: {error}")))?;
    }
    if roots.is_empty() {
        let causes: Vec<String> = native.errors.iter().map(ToString::to_string).collect();
        let none = io::Error::new(io::ErrorKind::NotFound, causes.join("; "));
        return Err(Error::input(format!("no root certificates found on this machine: {none}")));
    }
    Ok(roots)
}
