//! The settings of a server, and every bound that protects it.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use lazuli_engine::Clock;
use lazuli_model::Service;
pub use lazuli_service::blob::EnabledFor;

use crate::memory::{AllocatedBytes, PAGE_BYTES, PAGES_PER_ENCODING};
use crate::outbound::AllowedHost;
use crate::throttle::Rates;
use crate::{events, oauth, tls};

/// Bounds on the memory and the waiting time that a client can cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the request line and header fields together.
    pub head_bytes_max: usize,
    /// Maximum header fields in one request.
    pub fields_max: usize,
    /// Maximum size of a request body: the limit of the service, plus a little for the envelope of a batch.
    pub body_bytes_max: usize,
    /// Maximum memory for all request heads and bodies that are larger than [`Limits::BODY_BYTES_FREE`], and
    /// the same amount again for responses that are being sent.
    pub bodies_bytes_max: usize,
    /// Maximum size of a streamed request body in chunks, whose length is not announced.
    pub streamed_bytes_max: u64,
    /// Maximum concurrent connections of all listeners together.
    pub connections_max: usize,
    /// Maximum time from the first byte of a head to its last; also the time for which a new connection may
    /// stay silent.
    pub head_time_max: Duration,
    /// The window in which a body must make progress: see [`crate::http::PROGRESS_BYTES_MIN`].
    pub body_time_max: Duration,
    /// Maximum idle time between two requests of a connection.
    pub idle_time_max: Duration,
    /// Maximum time from the end of the body to the response, and the window in which the client must read some
    /// of the response.
    pub request_time_max: Duration,
    /// Maximum time that a health check waits for the engine.
    pub health_time_max: Duration,
}

impl Limits {
    /// Data up to this size does not count towards [`Limits::bodies_bytes_max`].
    pub const BODY_BYTES_FREE: usize = 16 * 1024;

    /// Minimum of [`Limits::bodies_bytes_max`]: with less, the largest request or page would always be
    /// rejected. (A buffer for a head doubles as it grows.)
    pub fn bodies_bytes_min(&self) -> usize {
        (self.body_bytes_max + 2 * self.head_bytes_max).max(PAGE_BYTES)
    }

    /// Maximum concurrent pages of entities being built, given the memory for responses:
    /// [`Limits::bodies_bytes_max`].
    pub fn pages_max(&self) -> usize {
        (self.bodies_bytes_max / PAGE_BYTES).max(1)
    }

    /// Maximum number of these that are large pages being encoded.
    pub fn encodings_max(&self) -> usize {
        (self.pages_max() / PAGES_PER_ENCODING).max(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            fields_max: 100,
            body_bytes_max: lazuli_model::table::limits::BODY_BYTES_MAX + 64 * 1024,
            bodies_bytes_max: 512 * 1024 * 1024,
            streamed_bytes_max: 5000 * 1024 * 1024,
            connections_max: 10_000,
            head_time_max: Duration::from_secs(10),
            body_time_max: Duration::from_secs(30),
            idle_time_max: Duration::from_secs(120),
            request_time_max: Duration::from_secs(30),
            health_time_max: Duration::from_secs(1),
        }
    }
}

/// The scheme that clients use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UrlScheme {
    /// `http`.
    #[default]
    Http,
    /// `https`: the server speaks TLS, or is behind a proxy that does.
    Https,
}

impl UrlScheme {
    /// The text before `://`.
    pub fn as_str(self) -> &'static str {
        match self {
            UrlScheme::Http => "http",
            UrlScheme::Https => "https",
        }
    }
}

/// Where the admin listener listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPort {
    /// No admin listener.
    Off,
    /// On this port; if it is taken, the server does not start.
    Exactly(u16),
    /// On this port, or on a free one if it is taken.
    Preferably(u16),
}

/// Where the web console listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// The address; port 0 picks a free port.
    pub address: SocketAddr,
    /// Picks a free port if the port of `address` is taken.
    pub may_use_other_port: bool,
    /// Rejects requests that change something.
    pub is_read_only: bool,
}

/// Where each service listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listen([Option<SocketAddr>; Service::ALL.len()]);

impl Listen {
    /// The same settings, with a service listening on an address.
    pub fn on(mut self, service: Service, address: SocketAddr) -> Self {
        self.0[service.index()] = Some(address);
        self
    }

    /// The address on which a service listens, if it does.
    pub fn get(&self, service: Service) -> Option<SocketAddr> {
        self.0[service.index()]
    }

    /// The services that listen, with their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (Service, SocketAddr)> {
        let addresses = self.0;
        Service::ALL.into_iter().filter_map(move |service| Some((service, addresses[service.index()]?)))
    }
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address on which each service listens; port 0 picks a free one. A service without an address is not
    /// served.
    pub listen: Listen,
    /// Where the admin listener listens, on loopback.
    pub admin: AdminPort,
    /// The web console, if it is enabled.
    pub console: Option<ConsoleSettings>,
    /// Where static websites are served by path, `/ACCOUNT/PATH`. By host name they are served with blobs.
    pub websites: Option<SocketAddr>,
    /// The file with the admin listener's address and token, for other commands.
    pub admin_file: Option<PathBuf>,
    /// The certificate, for services that speak TLS.
    pub tls: Option<tls::Files>,
    /// The scheme of URLs in responses to clients that connect without TLS.
    pub public_scheme: UrlScheme,
    /// Proxies whose `X-Forwarded-Proto` is trusted.
    pub trusted_proxies: Vec<IpAddr>,
    /// The issuer whose bearer tokens are accepted.
    pub oauth: Option<oauth::OauthSettings>,
    /// Bounds.
    pub limits: Limits,
    /// Rate limits of accounts and partitions.
    pub rates: Rates,
    /// A query that has run for this long returns the rows found so far.
    pub query_time_max: Duration,
    /// How long the name of a deleted table stays reserved.
    pub name_hold: Duration,
    /// May a host name its account, `{account}.{service}.…`? If not, only the path does.
    pub host_style: bool,
    /// Write one line per request to the log.
    pub log_requests: bool,
    /// Write the request logs and metrics that service properties switch on.
    pub analytics: bool,
    /// A directory with request logs of earlier versions, which become blobs.
    pub old_logs: Option<PathBuf>,
    /// Maximum bytes of all request logs together.
    pub analytics_bytes_max: u64,
    /// Other servers that blobs may be copied from.
    pub copy_sources: Vec<AllowedHost>,
    /// The targets of blob events. An account without a target has no events.
    pub events: Vec<events::Route>,
    /// Settings of the Blob service that Azure keeps in its management plane.
    pub blob: BlobSettings,
    /// Host names that requests may be addressed to; empty for any. An entry that starts with a dot allows all
    /// names that end with it. Addresses are always allowed.
    pub allowed_hosts: Vec<String>,
    /// The number of allocated bytes, if the program uses a counting allocator.
    pub allocated: Option<fn() -> AllocatedBytes>,
    /// The clock for leases, messages, records and signatures. The engine must use the same one.
    pub clock: Clock,
}

/// Settings of the Blob service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobSettings {
    /// The accounts in which every write preserves the replaced state as a version.
    pub versioning: EnabledFor,
    /// The accounts that track the last access times of block blobs.
    pub last_access: EnabledFor,
    /// Number of days for which a deleted container can be restored; 0 deletes immediately.
    pub container_retention_days: u16,
    /// Time that a blob takes to leave the archive tier.
    pub rehydration: Duration,
}

impl Default for BlobSettings {
    fn default() -> Self {
        Self {
            versioning: EnabledFor::Off,
            last_access: EnabledFor::Off,
            container_retention_days: 0,
            rehydration: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// The settings of a server with only tables, on an address, with defaults otherwise.
    pub fn new(table: SocketAddr) -> Self {
        Self {
            listen: Listen::default().on(Service::Table, table),
            admin: AdminPort::Off,
            console: None,
            websites: None,
            admin_file: None,
            tls: None,
            public_scheme: UrlScheme::Http,
            trusted_proxies: Vec::new(),
            oauth: None,
            limits: Limits::default(),
            rates: Rates::default(),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            host_style: true,
            log_requests: false,
            analytics: true,
            old_logs: None,
            analytics_bytes_max: 1024 * 1024 * 1024,
            copy_sources: Vec::new(),
            events: Vec::new(),
            blob: BlobSettings::default(),
            allowed_hosts: Vec::new(),
            allocated: None,
            clock: Clock::system(),
        }
    }
}
