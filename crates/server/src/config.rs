//! What can be set about a server, and every bound that protects it.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::throttle::Rates;
use crate::{oauth, tls};

/// Bounds on what a client can make the server hold or wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Request line and header fields.
    pub head_bytes_max: usize,
    /// Header fields in one request.
    pub fields_max: usize,
    /// A request body: what the service allows, and a little for the envelope of a batch.
    pub body_bytes_max: usize,
    /// All heads and bodies of requests together that are larger than [`Limits::BODY_BYTES_FREE`], as far as they have
    /// come; and as much again for answers that are on their way.
    pub bodies_bytes_max: usize,
    /// Connections at a time.
    pub connections_max: usize,
    /// From the first byte of a head to its last; also how long a new connection may be silent.
    pub head_time_max: Duration,
    /// From the end of the head to the end of the body.
    pub body_time_max: Duration,
    /// Between two requests of a connection.
    pub idle_time_max: Duration,
    /// From the end of the body to the answer, and again for the client to take it.
    pub request_time_max: Duration,
}

impl Limits {
    /// What is up to this size is not counted against [`Limits::bodies_bytes_max`].
    pub const BODY_BYTES_FREE: usize = 16 * 1024;

    /// What a page takes while it is made: its rows, and the answer that they become.
    const PAGE_BYTES: usize = 2 * lazuli_model::limits::PAGE_BYTES_MAX;

    /// How many pages there must be room for so that one large page may be encoded: as an answer, control characters and the
    /// addresses of entities with long keys are six and seven times as long as they are stored, and a buffer is copied as it grows.
    const PAGES_PER_ENCODING: usize = 8;

    /// The least that [`Limits::bodies_bytes_max`] may be: with less, the largest request or page would be told to come
    /// later for ever. A buffer for a head doubles as it grows.
    pub fn bodies_bytes_min(&self) -> usize {
        (self.body_bytes_max + 2 * self.head_bytes_max).max(Self::PAGE_BYTES)
    }

    /// Pages that may be made at a time, by the memory for answers: [`Limits::bodies_bytes_max`].
    pub fn pages_max(&self) -> usize {
        (self.bodies_bytes_max / Self::PAGE_BYTES).max(1)
    }

    /// Of these, large ones that may be encoded at a time.
    pub fn encodings_max(&self) -> usize {
        (self.pages_max() / Self::PAGES_PER_ENCODING).max(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            fields_max: 100,
            body_bytes_max: lazuli_model::limits::BODY_BYTES_MAX + 64 * 1024,
            bodies_bytes_max: 512 * 1024 * 1024,
            connections_max: 10_000,
            head_time_max: Duration::from_secs(10),
            body_time_max: Duration::from_secs(30),
            idle_time_max: Duration::from_secs(120),
            request_time_max: Duration::from_secs(30),
        }
    }
}

/// The scheme that clients use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    #[default]
    Http,
    /// `https`: the server speaks TLS, or a front that does stands before it.
    Https,
}

impl Scheme {
    /// The text before `://`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// Where the admin listener listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPort {
    /// Nowhere.
    Off,
    /// On this port, or not at all.
    Exactly(u16),
    /// On this port, or on a free one if it is taken.
    Preferably(u16),
}

/// What can be set about a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the Table service listens; port 0 picks a free one.
    pub table: SocketAddr,
    /// Where the admin listener listens, on loopback.
    pub admin: AdminPort,
    /// The file that tells other commands where the admin listener is, with the token for it.
    pub admin_file: Option<PathBuf>,
    /// The certificate, for a Table service that speaks TLS.
    pub tls: Option<tls::Files>,
    /// The scheme of the URLs in answers to clients that come without TLS.
    pub public_scheme: Scheme,
    /// Proxies whose `X-Forwarded-Proto` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whose bearer tokens are accepted.
    pub oauth: Option<oauth::Settings>,
    /// Bounds.
    pub limits: Limits,
    /// How much accounts and partitions may ask for.
    pub rates: Rates,
    /// A query that has run so long returns what it has.
    pub query_time_max: Duration,
    /// How long the name of a deleted table stays blocked.
    pub name_hold: Duration,
    /// Write one line a request to the log.
    pub log_requests: bool,
    /// Where the request logs go that service properties switch on; without it there are none.
    pub analytics: Option<PathBuf>,
}

impl Config {
    /// A server on an address, everything else as usual.
    pub fn new(table: SocketAddr) -> Self {
        Self {
            table,
            admin: AdminPort::Off,
            admin_file: None,
            tls: None,
            public_scheme: Scheme::Http,
            trusted_proxies: Vec::new(),
            oauth: None,
            limits: Limits::default(),
            rates: Rates::default(),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            log_requests: false,
            analytics: None,
        }
    }
}
