//! One caller of the server: signs, sends, reads the response, and reports when the outcome is unknown.

use std::io;

use lazuli_model::Service;
use lazuli_probe::{Connection, Request, Response, Signer};
use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_KEY};
use lazuli_server::accounts::ConfiguredAccount;

/// The version of requests to the Table service.
const TABLE_VERSION: &str = "2019-02-02";
/// The version of requests to Queue and Blob.
const STORAGE_VERSION: &str = "2021-12-02";

/// The account whose blobs have versions.
pub const VERSIONS_ACCOUNT: &str = "trialversions";
/// The account whose deleted blobs can be restored, without versions.
pub const RESTORES_ACCOUNT: &str = "trialrestores";

/// The accounts of every server on trial: the development account, and two with the same key.
pub fn accounts() -> Vec<ConfiguredAccount> {
    let named = |name: &str| ConfiguredAccount { name: name.into(), ..ConfiguredAccount::development() };
    vec![ConfiguredAccount::development(), named(VERSIONS_ACCOUNT), named(RESTORES_ACCOUNT)]
}

/// The connection broke: it is unknown whether the server has executed the request.
#[derive(Debug)]
pub struct Lost(pub io::Error);

impl From<Lost> for String {
    fn from(lost: Lost) -> Self {
        lost.0.to_string()
    }
}

/// A caller with its own connection. It reconnects after the connection broke.
pub struct TrialCaller {
    service: Service,
    authority: String,
    /// Signs for the development account.
    signer: Signer,
    /// Sign for the other accounts.
    others: [Signer; 2],
    connection: Option<Connection>,
}

impl TrialCaller {
    /// A caller of a service that listens at `host:port`.
    pub fn new(service: Service, authority: &str) -> Self {
        let signer = Signer::development(service);
        let key = || AccountKey::from_base64(DEVELOPMENT_KEY).expect("the well-known key is Base64");
        let others = [VERSIONS_ACCOUNT, RESTORES_ACCOUNT].map(|account| Signer::new(service, account, key()));
        Self { service, authority: authority.to_owned(), signer, others, connection: None }
    }

    /// Sets the new address after a restart of the server.
    pub fn moved(&mut self, authority: &str) {
        self.authority = authority.to_owned();
        self.connection = None;
    }

    /// A request for a path below the development account, with the headers that every request has.
    pub fn request(&self, method: &'static str, path: &str) -> Request {
        self.request_in(self.signer.account(), method, path)
    }

    /// A request for a path below another account.
    pub fn request_in(&self, account: &str, method: &'static str, path: &str) -> Request {
        let version = if self.service == Service::Table { TABLE_VERSION } else { STORAGE_VERSION };
        Request::new(method, format!("/{account}{path}"))
            .with("Host", self.authority.clone())
            .with("x-ms-version", version)
    }

    /// Signs a request for the account in its path, sends it, and reads the response.
    pub async fn send(&mut self, mut request: Request) -> Result<Response, Lost> {
        let account = request.target.split(['/', '?']).nth(1).unwrap_or_default();
        let signer = self.others.iter().find(|other| other.account() == account).unwrap_or(&self.signer);
        signer.sign(&mut request, lazuli_server::clock::now());
        self.exchange(request).await
    }

    async fn exchange(&mut self, request: Request) -> Result<Response, Lost> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.authority).await.map_err(Lost)?,
        };
        let response = connection.exchange(&request.method, &request.bytes()).await.map_err(Lost)?;
        if !response.closes() {
            self.connection = Some(connection);
        }
        Ok(response)
    }

    /// Visits a page of the website of an account, without a signature.
    pub async fn visit(&mut self, account: &str, page: &str) -> Result<Response, Lost> {
        let port = self.authority.rsplit_once(':').map_or("", |(_, port)| port);
        let host = format!("{account}.web.localhost:{port}");
        self.exchange(Request::new("GET", format!("/{page}")).with("Host", host)).await
    }

    /// Sends a request that may be repeated: if the connection is closed, sends it again on a new one.
    pub async fn send_twice(&mut self, request: Request) -> Result<Response, Lost> {
        match self.send(request.clone()).await {
            Ok(response) => Ok(response),
            Err(Lost(_)) => self.send(request).await,
        }
    }
}
