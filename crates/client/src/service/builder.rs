//! What can be set about a service before it is there.

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

    /// How connections are made.
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Another transport than HTTP.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Another time and chance than the machine's.
    pub fn environment(mut self, environment: impl Environment) -> Self {
        self.environment = Some(Arc::new(environment));
        self
    }

    /// How operations are retried.
    pub fn retry(mut self, options: RetryOptions) -> Self {
        self.retry = options;
        self
    }

    /// Which endpoint reads go to.
    pub fn read_from(mut self, read_from: ReadFrom) -> Self {
        self.read_from = read_from;
        self
    }

    /// Sees every request before it is signed, and may add header fields (CL-13).
    pub fn on_request(
        mut self,
        hook: impl Fn(&mut http::Request<bytes::Bytes>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// The service.
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
