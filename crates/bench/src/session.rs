//! One connection of the load generator: builds and signs requests, sends them, records their latencies.

use std::io;
use std::path::{Path, PathBuf};

use lazuli_model::{DateTime, Service};
use lazuli_probe::{Connection, Request, Response, Signer};
use lazuli_server::clock::Stopwatch;

use crate::histogram::Histogram;
use crate::process::Server;

/// The protocol version of requests to the Table service.
const TABLE_VERSION: &str = "2019-02-02";
/// The protocol version of requests to Queue and Blob.
const STORAGE_VERSION: &str = "2021-12-02";

/// An account at an address: turns requests into signed bytes.
#[derive(Clone)]
pub struct BenchAccount {
    service: Service,
    authority: String,
    signer: Signer,
}

impl BenchAccount {
    /// The development account of a service at `host:port`.
    pub fn new(service: Service, authority: &str) -> Self {
        Self { service, authority: authority.to_owned(), signer: Signer::development(service) }
    }

    /// The address.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The name of the account.
    pub fn name(&self) -> &str {
        self.signer.account()
    }

    /// A request for a path below the account, with the headers that every request has.
    pub fn request(&self, method: &'static str, path: &str) -> Request {
        let version = if self.service == Service::Table { TABLE_VERSION } else { STORAGE_VERSION };
        Request::new(method, format!("/{}{path}", self.name()))
            .with("Host", self.authority.clone())
            .with("x-ms-version", version)
    }

    /// The request as bytes, signed for this moment.
    pub fn bytes(&self, mut request: Request) -> Vec<u8> {
        self.signer.sign(&mut request, now());
        request.bytes()
    }
}

/// A connection with an account.
pub struct Session {
    /// The account that signs its requests.
    pub account: BenchAccount,
    /// Its number among the sessions of a slice.
    pub number: usize,
    /// The kind of server at the other end.
    pub server: Server,
    /// Latencies of the requests so far.
    pub latency: Histogram,
    /// The directory in which a session without a server writes its files.
    pub folder: PathBuf,
    connection: Option<Connection>,
    /// Are head and body of a request sent separately?
    in_pieces: bool,
    random: u64,
}

impl Session {
    /// Connects, unless there is no server at the other end.
    pub async fn open(
        service: Service,
        authority: &str,
        number: usize,
        server: Server,
        folder: &Path,
    ) -> io::Result<Self> {
        let connection = match server {
            Server::Files { .. } => None,
            _ => Some(Connection::open(authority).await?),
        };
        Ok(Self {
            account: BenchAccount::new(service, authority),
            number,
            server,
            latency: Histogram::default(),
            folder: folder.to_owned(),
            connection,
            in_pieces: false,
            random: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(number as u64 + 1),
        })
    }

    /// From now on, sends head and body separately, with or without a delay by Nagle's algorithm.
    pub fn send_in_pieces(&mut self, nodelay: bool) -> Result<(), String> {
        self.in_pieces = true;
        let set = self.connection.as_ref().map_or(Ok(()), |connection| connection.set_nodelay(nodelay));
        set.map_err(|error| error.to_string())
    }

    /// A request for a path below the account.
    pub fn request(&self, method: &'static str, path: &str) -> Request {
        self.account.request(method, path)
    }

    /// Sends a request and reads the whole response, which must have one of these statuses.
    pub async fn send(&mut self, request: Request, statuses: &[u16]) -> Result<Response, String> {
        let method = request.method.clone();
        let bytes = self.account.bytes(request);
        let connection = self.connection.as_mut().ok_or("there is no server to send to")?;
        let watch = Stopwatch::start();
        let (first, rest) = bytes.split_at(if self.in_pieces { head_bytes(&bytes) } else { 0 });
        if !first.is_empty() {
            connection.send(first).await.map_err(|error| error.to_string())?;
        }
        let response = connection.exchange(&method, rest).await;
        self.record(watch);
        expect(response, if self.server.is_bare() { &[200, 201, 206] } else { statuses })
    }

    /// Records the latency of something that was not a request.
    pub fn record(&mut self, since: Stopwatch) {
        self.latency.record(u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX));
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // xorshift is sufficient for an even distribution.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }
}

/// The end of the head of a request.
fn head_bytes(request: &[u8]) -> usize {
    const END: &[u8] = b"\r\n\r\n";
    request.windows(END.len()).position(|window| window == END).map_or(0, |at| at + END.len())
}

/// The response, if its status is one of these.
pub fn expect(response: io::Result<Response>, statuses: &[u16]) -> Result<Response, String> {
    let response = response.map_err(|error| error.to_string())?;
    if statuses.contains(&response.status) {
        return Ok(response);
    }
    Err(format!("status {}: {}", response.status, response.text()))
}

/// The time now.
pub fn now() -> DateTime {
    lazuli_server::clock::now()
}
