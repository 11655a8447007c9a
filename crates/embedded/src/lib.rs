//! Lazuli inside a program: the client's service on its own engine, without a socket.
//!
//! A test needs one line:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use lazuli_client::Dynamic;
//!
//! let service = lazuli_embedded::memory();
//! let people = service.create_table("People").await?;
//! people.insert(&Dynamic::new("a", "1").with("Age", 30)?).await?;
//! assert_eq!(people.get::<Dynamic>("a", "1").await?.value.get::<i32>("Age")?, Some(30));
//! # Ok::<(), lazuli_client::Error>(())
//! # }).unwrap();
//! ```
//!
//! Requests pass through the same pipeline as in a server, including signatures; only the socket is missing. So
//! code that works with it also works with a server.

/// Runs the example on the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CratePage;

#[doc(hidden)]
pub mod doc;

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_client::{Account, BoxFuture, TableService, Transport, TransportError};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};

use lazuli_protocol::Head;
use lazuli_protocol::http::head::Field;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::http::{Peer, ReadyBody};
use lazuli_server::{Config, Directory, Endpoint, Service, State};
use lazuli_service::Sweep;
use tokio::sync::Mutex;

/// Endpoint of the account; its host is never resolved.
const ENDPOINT: &str = "http://embedded/devstoreaccount1";

/// A service in memory: initially empty, and dropped with its last clone.
///
/// # Panics
///
/// If the system has no entropy for request ids.
///
/// ```
/// lazuli_embedded::doc_test(|service| async move {
///     service.create_table("People").await?;
///     // Clones share a service; another call creates an empty one.
///     assert_eq!(service.clone().table_names().await?, ["People"]);
///     assert!(lazuli_embedded::memory().table_names().await?.is_empty());
///     Ok(())
/// })
/// ```
pub fn memory() -> TableService {
    over(Arc::new(Memory::new(Clock::system()))).expect("the system has entropy for request ids")
}

/// A service on the files of a directory, as durable as a server's. A directory can be open only once, until
/// the last clone of its service is dropped.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap().block_on(async {
/// # let directory = tempfile::tempdir().unwrap();
/// use lazuli_client::Dynamic;
///
/// let service = lazuli_embedded::open(directory.path())?;
/// service.create_table("People").await?.insert(&Dynamic::new("a", "1")).await?;
/// drop(service);
///
/// let again = lazuli_embedded::open(directory.path())?;
/// again.table("People")?.get::<Dynamic>("a", "1").await?;
/// # Ok::<(), lazuli_client::Error>(())
/// # }).unwrap();
/// ```
#[cfg(feature = "store")]
pub fn open(directory: impl AsRef<std::path::Path>) -> lazuli_client::Result<TableService> {
    let store = lazuli_store::Store::open(directory.as_ref(), lazuli_store::Options::default());
    over(Arc::new(store.map_err(|error| lazuli_client::Error::input(error.to_string()))?))
}

/// A service on any engine.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use std::sync::Arc;
/// use lazuli_engine::{Clock, memory::Memory};
///
/// // The engine keeps its data, so a second service can use it later.
/// let engine = Arc::new(Memory::new(Clock::system()));
/// lazuli_embedded::over(engine.clone())?.create_table("People").await?;
/// assert_eq!(lazuli_embedded::over(engine)?.table_names().await?, ["People"]);
/// # Ok(()) })
/// ```
pub fn over(engine: Arc<dyn Engine>) -> lazuli_client::Result<TableService> {
    let embedded = Embedded::new(engine).map_err(|error| lazuli_client::Error::input(error.to_string()))?;
    TableService::builder(account()).transport(embedded).build()
}

/// The account of an embedded service, for [`TableService::builder`].
///
/// ```
/// let account = lazuli_embedded::account();
/// assert_eq!(account.name(), Some("devstoreaccount1"));
/// assert!(account.secondary().is_some(), "reads from the secondary work too");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub fn account() -> Account {
    Account::development_at(ENDPOINT).expect("the endpoint is well formed")
}

/// The transport to an engine in the same program, for services with other settings:
///
/// ```
/// use lazuli_client::{RetryOptions, TableService};
/// use lazuli_embedded::Embedded;
///
/// let service =
///     TableService::builder(lazuli_embedded::account()).transport(Embedded::memory()?).retry(RetryOptions::none()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Embedded {
    tables: Arc<Endpoint>,
    /// Reclaims the space of deleted tables.
    sweep: Arc<Mutex<Sweep>>,
}

impl Embedded {
    /// On an engine in memory.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::TableService;
    /// # use lazuli_embedded::Embedded;
    /// let transport = Embedded::memory().map_err(|error| lazuli_client::Error::input(error.to_string()))?;
    /// let service = TableService::builder(lazuli_embedded::account()).transport(transport).build()?;
    /// assert!(service.table_names().await?.is_empty());
    /// # Ok(()) })
    /// ```
    pub fn memory() -> std::io::Result<Self> {
        Self::new(Arc::new(Memory::new(Clock::system())))
    }

    /// On any engine, with the development account.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{RetryOptions, TableService};
    /// # use lazuli_embedded::Embedded;
    /// use lazuli_engine::{Clock, memory::Memory};
    ///
    /// let engine = std::sync::Arc::new(Memory::new(Clock::system()));
    /// let transport = Embedded::new(engine).expect("there is entropy");
    /// let builder = TableService::builder(lazuli_embedded::account()).transport(transport);
    /// builder.retry(RetryOptions::none()).build()?.create_table("People").await?;
    /// # Ok(()) })
    /// ```
    pub fn new(engine: Arc<dyn Engine>) -> std::io::Result<Self> {
        Self::with(engine, ConfiguredAccount::development())
    }

    /// On any engine, with an account of any name instead of the development account. Its key is the public development
    /// key: a program that holds the engine in its own process needs no secret.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Account, TableService};
    /// # use lazuli_embedded::Embedded;
    /// use lazuli_engine::{Clock, memory::Memory};
    ///
    /// let engine = std::sync::Arc::new(Memory::new(Clock::system()));
    /// let transport = Embedded::for_account(engine, "shop").expect("there is entropy");
    /// let credential = lazuli_embedded::account().credential().clone();
    /// let account = Account::new("shop", "http://embedded/shop".parse()?, credential);
    /// TableService::builder(account).transport(transport).build()?.create_table("People").await?;
    /// # Ok(()) })
    /// ```
    pub fn for_account(engine: Arc<dyn Engine>, name: &str) -> std::io::Result<Self> {
        Self::with(engine, ConfiguredAccount { name: name.to_owned(), ..ConfiguredAccount::development() })
    }

    fn with(engine: Arc<dyn Engine>, account: ConfiguredAccount) -> std::io::Result<Self> {
        let directory = Directory::new(vec![account]);
        // No server listens at the address.
        let config = Config::new((Ipv4Addr::LOCALHOST, 0).into());
        let state = State::over(engine, directory, config)?;
        let sweep = Arc::new(Mutex::new(state.service().sweep()));
        Ok(Self { tables: Arc::new(Endpoint::new(Arc::new(state), Service::Table)), sweep })
    }

    async fn respond(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let (parts, body) = request.into_parts();
        let length = body.len().to_string();
        let host = parts.uri.authority().map_or("embedded", |authority| authority.as_str());
        let mut fields = vec![Field { name: "host", value: host }];
        for (name, value) in &parts.headers {
            let value = value.to_str().map_err(TransportError::not_sent)?;
            fields.push(Field { name: name.as_str(), value });
        }
        fields.push(Field { name: "content-length", value: &length });
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let head = Head { method: parts.method.as_str(), target, fields: &fields };
        let peer = Peer { address: (Ipv4Addr::LOCALHOST, 0).into(), is_tls: false };
        let served = self.tables.respond(&head, peer, &mut ReadyBody(body)).await.response;
        // A server sweeps in the background; here each DELETE request runs one round. A round without deleted tables costs
        // nothing.
        if parts.method == http::Method::DELETE {
            let _ = self.sweep.lock().await.round().await;
        }
        let mut response = http::Response::builder().status(served.status);
        for (name, value) in &served.fields {
            response = response.header(name.as_ref(), value.as_ref());
        }
        response.body(served.body.into()).map_err(TransportError::lost)
    }
}

impl Transport for Embedded {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(self.respond(request))
    }
}

/// Runs a documentation example on a service in memory.
#[doc(hidden)]
pub fn doc_test<F: Future<Output = lazuli_client::Result<()>>>(example: impl FnOnce(TableService) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime for the example");
    if let Err(error) = runtime.block_on(example(memory())) {
        panic!("the example failed: {error}");
    }
}
