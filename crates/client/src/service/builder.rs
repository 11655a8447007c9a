//! Settings of a service, before it is built.

use std::sync::Arc;

use super::TableService;
use crate::account::{Account, Endpoint};
use crate::environment::{Environment, System};
use crate::error::Result;
use crate::http::{Http, HttpOptions};
use crate::pipeline::{Pipeline, ReadFrom, RequestHook};
use crate::retry::RetryOptions;
use crate::transport::Transport;

/// Settings of a service.
///
/// ```
/// use lazuli_client::{Account, HttpOptions, TableService};
///
/// let service = TableService::builder(Account::development())
///     .http(HttpOptions { connections_max: 16, ..HttpOptions::default() })
///     .on_request(|request| {
///         request.headers_mut().insert("x-ms-client-request-id", http::HeaderValue::from_static("nightly"));
///     })
///     .build()?;
/// assert_eq!(service.account().name(), Some("devstoreaccount1"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[must_use]
pub struct Builder {
    account: Account,
    http: HttpOptions,
    transport: Option<Arc<dyn Transport>>,
    environment: Option<Arc<dyn Environment>>,
    retry: RetryOptions,
    read_from: ReadFrom,
    hooks: Vec<RequestHook>,
}

impl Builder {
    pub(super) fn new(account: Account) -> Self {
        Self {
            account,
            http: HttpOptions::default(),
            transport: None,
            environment: None,
            retry: RetryOptions::default(),
            read_from: ReadFrom::default(),
            hooks: Vec::new(),
        }
    }

    /// Connection settings.
    ///
    /// ```
    /// # use lazuli_client::{Account, HttpOptions, TableService};
    /// # use std::time::Duration;
    /// let patient = HttpOptions { connect_time_max: Duration::from_secs(30), ..HttpOptions::default() };
    /// TableService::builder(Account::development()).http(patient).build()?;
    ///
    /// // Invalid roots are reported when a service that needs them is built.
    /// let pem = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    /// let roots = HttpOptions { extra_roots_pem: Some(pem), ..HttpOptions::default() };
    /// let far = Account::from_sas_url("https://shop.table.core.windows.net?sv=2019-02-02&sig=x")?;
    /// assert!(TableService::builder(far).http(roots).build().is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// A transport other than HTTP.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::TableService;
    /// use lazuli_embedded::Embedded;
    ///
    /// // Two services over one transport see the same tables.
    /// let transport = Embedded::memory().expect("entropy is available");
    /// let build = || TableService::builder(lazuli_embedded::account()).transport(transport.clone()).build();
    /// build()?.create_table("People").await?;
    /// assert_eq!(build()?.table_names().await?, ["People"]);
    /// # Ok(()) })
    /// ```
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// A clock and randomness other than the machine's.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{BoxFuture, DateTime, Environment, System, TableService};
    /// # use std::time::Duration;
    /// /// A machine whose clock is off by years.
    /// struct Astray(System);
    ///
    /// impl Environment for Astray {
    ///     fn now(&self) -> DateTime { DateTime::from_unix(Duration::ZERO) }
    ///     fn elapsed(&self) -> Duration { self.0.elapsed() }
    ///     fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> { self.0.sleep(time) }
    ///     fn random(&self) -> u64 { 4 }
    /// }
    ///
    /// let transport = lazuli_embedded::Embedded::memory().expect("entropy is available");
    /// let builder = TableService::builder(lazuli_embedded::account()).transport(transport);
    /// let service = builder.environment(Astray(System::default())).build()?;
    /// // Signatures contain the time, so a service rejects those of such a machine.
    /// assert_eq!(service.table_names().await.unwrap_err().status(), Some(403));
    /// # Ok(()) })
    /// ```
    pub fn environment(mut self, environment: impl Environment) -> Self {
        self.environment = Some(Arc::new(environment));
        self
    }

    /// Retry settings.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{BoxFuture, RetryOptions, TableService, Transport, TransportError, transport::TransportResult};
    /// # struct Broken;
    /// # impl Transport for Broken {
    /// #     fn send(&self, _: http::Request<bytes::Bytes>) -> BoxFuture<'_, TransportResult> {
    /// #         Box::pin(async { Err(TransportError::not_sent("no route")) })
    /// #     }
    /// # }
    /// let builder = TableService::builder(lazuli_embedded::account()).transport(Broken);
    /// let service = builder.retry(RetryOptions::none()).build()?;
    /// // One attempt, and the error is returned; by default there are five, with delays between them.
    /// assert!(service.table_names().await.unwrap_err().is_transient());
    /// # Ok(()) })
    /// ```
    pub fn retry(mut self, options: RetryOptions) -> Self {
        self.retry = options;
        self
    }

    /// Endpoint for reads.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{ReadFrom, TableService};
    /// # use lazuli_embedded::Embedded;
    /// let transport = Embedded::memory().expect("entropy is available");
    /// let builder = TableService::builder(lazuli_embedded::account()).transport(transport);
    /// let service = builder.read_from(ReadFrom::Secondary).build()?;
    /// // Writes still go to the primary.
    /// service.create_table("People").await?;
    /// assert_eq!(service.table_names().await?, ["People"]);
    /// # Ok(()) })
    /// ```
    pub fn read_from(mut self, read_from: ReadFrom) -> Self {
        self.read_from = read_from;
        self
    }

    /// Called with every request before it is signed; may add headers (CL-13).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::TableService;
    /// # use std::sync::{Arc, Mutex};
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let log = seen.clone();
    /// let service = TableService::builder(lazuli_embedded::account())
    ///     .transport(lazuli_embedded::Embedded::memory().expect("entropy is available"))
    ///     .on_request(move |request| log.lock().expect("not poisoned").push(request.method().to_string()))
    ///     .build()?;
    /// service.create_table("People").await?;
    /// service.delete_table("People").await?;
    /// assert_eq!(*seen.lock().expect("not poisoned"), ["POST", "DELETE"]);
    /// # Ok(()) })
    /// ```
    pub fn on_request(
        mut self,
        hook: impl Fn(&mut http::Request<bytes::Bytes>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Builds the service.
    ///
    /// ```
    /// # use lazuli_client::{Account, TableService};
    /// // Nothing is sent, so the service need not be running yet.
    /// let account = Account::development_at("http://127.0.0.1:1/devstoreaccount1")?;
    /// let service = TableService::builder(account).build()?;
    /// assert_eq!(service.endpoint().authority(), "127.0.0.1:1");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn build(self) -> Result<TableService> {
        let Self { account, http, transport, environment, retry, read_from, hooks } = self;
        let tls = account.endpoint().is_https() || account.secondary().is_some_and(Endpoint::is_https);
        let transport = match transport {
            Some(transport) => transport,
            None if tls => Arc::new(Http::new(&http)?),
            None => Arc::new(Http::without_roots(&http)?),
        };
        let environment = environment.unwrap_or_else(|| Arc::new(System::default()));
        let pipeline = Pipeline { account, transport, environment, retry, read_from, hooks };
        Ok(TableService { pipeline: Arc::new(pipeline) })
    }
}
