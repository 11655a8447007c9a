//! One caller of the server: signs, sends, reads the response, and reports when the outcome is unknown.

use std::io;

use lazuli_model::Service;
use lazuli_probe::{Connection, Request, Response, Signer};

/// The version of requests to the Table service.
const TABLE_VERSION: &str = "2019-02-02";
/// The same for Queue and Blob.
const STORAGE_VERSION: &str = "2021-12-02";

/// The connection broke: the server may or may not have executed the request.
#[derive(Debug)]
pub struct Lost(pub io::Error);

impl From<Lost> for String {
    fn from(lost: Lost) -> Self {
        lost.0.to_string()
    }
}

/// A caller with a connection of its own. It connects again after the connection broke.
pub struct TrialCaller {
    service: Service,
    authority: String,
    signer: Signer,
    connection: Option<Connection>,
}

impl TrialCaller {
    /// A caller of a service that listens at `host:port`.
    pub fn new(service: Service, authority: &str) -> Self {
        let signer = Signer::development(service);
        Self { service, authority: authority.to_owned(), signer, connection: None }
    }

    /// The server was started again, perhaps at another address.
    pub fn moved(&mut self, authority: &str) {
        self.authority = authority.to_owned();
        self.connection = None;
    }

    /// A request for a path below the account, with the headers that every request has.
    pub fn request(&self, method: &'static str, path: &str) -> Request {
        let version = if self.service == Service::Table { TABLE_VERSION } else { STORAGE_VERSION };
        Request::new(method, format!("/{}{path}", self.signer.account()))
            .with("Host", self.authority.clone())
            .with("x-ms-version", version)
    }

    /// Signs and sends a request, and reads the response.
    pub async fn send(&mut self, mut request: Request) -> Result<Response, Lost> {
        self.signer.sign(&mut request, lazuli_server::clock::now());
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

    /// Sends a request that may be sent twice: again on a new connection if the first one is closed.
    pub async fn send_twice(&mut self, request: Request) -> Result<Response, Lost> {
        match self.send(request.clone()).await {
            Ok(response) => Ok(response),
            Err(Lost(_)) => self.send(request).await,
        }
    }
}
