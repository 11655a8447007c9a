//! The three services of an account, and time that passes on demand.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazuli_client::{
    Account, BoxFuture, DateTime, Endpoint, Environment, Error, Result, System, TableService,
};
use lazuli_engine::Clock;
use lazuli_engine::memory::Memory;
use lazuli_model::Service;
use lazuli_probe::blocking::{Client, ExtraRoots};
use lazuli_probe::{Request, Response, Signer};
use lazuli_protocol::ConnectionString;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::connection_string::Secret;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::{Config, Running};

use super::blob::Container;
use super::queue::Queue;

const VERSION: &str = "2021-12-02";
const TICKS_PER_SECOND: u64 = 10_000_000;

/// The three services of an account.
pub struct Storage {
    /// Tables, by the client of this project.
    pub tables: TableService,
    queues: ServiceAddress,
    blobs: ServiceAddress,
    /// Counts the names that were given out.
    names: AtomicU64,
    time: Arc<Time>,
    /// The server, if it is one of this process.
    server: Option<Running>,
}

impl Storage {
    /// The account of a connection string.
    pub fn at(text: &str) -> Result<Self> {
        let parsed = ConnectionString::parse(text).map_err(input)?;
        let Secret::Key(key) = parsed.secret().map_err(input)? else {
            return Err(Error::input("the connection string has no AccountKey"));
        };
        let key = AccountKey::from_base64(key).ok_or_else(|| Error::input("the AccountKey is not Base64"))?;
        let name = parsed.account().unwrap_or_default();
        let time = Arc::new(Time::default());
        let place = |service| {
            let endpoint = parsed.endpoints(service).map_err(input)?.primary.parse()?;
            Ok::<_, Error>(ServiceAddress {
                endpoint,
                signer: Signer::new(service, name, key.clone()),
                time: time.clone(),
            })
        };
        Ok(Self {
            tables: TableService::from_connection_string(text)?,
            queues: place(Service::Queue)?,
            blobs: place(Service::Blob)?,
            names: AtomicU64::new(0),
            time: time.clone(),
            server: None,
        })
    }

    /// A server in this process, with its data in memory.
    pub async fn here() -> Result<Self> {
        let time = Arc::new(Time::default());
        let (system, moved) = (Clock::system(), time.clone());
        let clock = Clock::new(move || system.ticks() + moved.ahead.load(Ordering::Relaxed));
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        let mut config = Config::new(any);
        config.listen = config.listen.on(Service::Queue, any).on(Service::Blob, any);
        config.clock = clock.clone();
        let engine = Arc::new(Memory::new(clock));
        let running = lazuli_server::start(config, engine, vec![ConfiguredAccount::development()]).await;
        let running = running.map_err(input)?;
        let place = |service| {
            let address = running.listen.get(service).ok_or_else(|| Error::input("not served"))?;
            let endpoint = format!("http://{address}/devstoreaccount1").parse()?;
            Ok::<_, Error>(ServiceAddress {
                endpoint,
                signer: Signer::development(service),
                time: time.clone(),
            })
        };
        let account = Account::development_at(place(Service::Table)?.endpoint.as_str())?;
        let tables = TableService::builder(account).environment(Moved(System::default(), time.clone()));
        Ok(Self {
            tables: tables.build()?,
            queues: place(Service::Queue)?,
            blobs: place(Service::Blob)?,
            names: AtomicU64::new(0),
            time: time.clone(),
            server: Some(running),
        })
    }

    /// Lets time pass: moves the clock of a server in this process, and waits for one elsewhere.
    pub async fn wait(&self, time: Duration) {
        let time = time + Duration::from_secs(1);
        match &self.server {
            Some(_) => {
                self.time.ahead.fetch_add(time.as_secs() * TICKS_PER_SECOND, Ordering::Relaxed);
            }
            None => System::default().sleep(time).await,
        }
    }

    /// An empty queue with a name of its own.
    pub async fn fresh_queue(&self, name: &str) -> Result<Queue> {
        Queue::fresh(self.queues.open(), &self.unique(name)).await
    }

    /// An empty container with a name of its own.
    pub async fn fresh_container(&self, name: &str) -> Result<Container> {
        Container::fresh(self.blobs.open(), &self.unique(name)).await
    }

    /// A name that was never used: Azure does not create a queue again right after it was deleted.
    fn unique(&self, name: &str) -> String {
        format!("{name}-{}-{}", std::process::id(), self.names.fetch_add(1, Ordering::Relaxed))
    }
}

/// By how much the clock of the server is ahead.
#[derive(Default)]
struct Time {
    ahead: AtomicU64,
}

impl Time {
    fn now(&self) -> DateTime {
        let now = System::default().now();
        DateTime::from_ticks(now.ticks() + self.ahead.load(Ordering::Relaxed)).unwrap_or(now)
    }
}

/// The environment of a client that knows the time of the server: requests carry the time at which they are sent.
struct Moved(System, Arc<Time>);

impl Environment for Moved {
    fn now(&self) -> DateTime {
        self.1.now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.0.sleep(time)
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

/// Where a service is, and how requests to it are signed.
#[derive(Clone)]
struct ServiceAddress {
    endpoint: Endpoint,
    signer: Signer,
    time: Arc<Time>,
}

impl ServiceAddress {
    fn open(&self) -> Link {
        let authority = self.endpoint.authority();
        let client = if self.endpoint.is_https() {
            let name = authority.split(':').next().unwrap_or(authority);
            let port = if authority.contains(':') { "" } else { ":443" };
            Client::tls(format!("{authority}{port}"), name, ExtraRoots::default())
        } else {
            Client::plain(authority)
        };
        Link { place: self.clone(), client: Arc::new(Mutex::new(client)) }
    }
}

/// A connection to a service. Clones share it.
#[derive(Clone)]
pub struct Link {
    place: ServiceAddress,
    client: Arc<Mutex<Client>>,
}

impl Link {
    /// The URL of a path of the account.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.place.endpoint.as_str().trim_end_matches('/'))
    }

    /// Signs and sends a request whose target is a path of the account.
    pub async fn send(&self, mut request: Request) -> Result<Reply> {
        let endpoint = &self.place.endpoint;
        request.target = format!("{}{}", endpoint.path().trim_end_matches('/'), request.target);
        let mut request = request.with("Host", endpoint.authority().to_owned()).with("x-ms-version", VERSION);
        self.place.signer.sign(&mut request, self.place.time.now());
        let client = self.client.clone();
        let exchange = move || {
            let mut client = client.lock().unwrap_or_else(PoisonError::into_inner);
            client.exchange(&request)
        };
        let response = tokio::task::spawn_blocking(exchange).await.map_err(input)?.map_err(input)?;
        Ok(Reply(response))
    }
}

/// A response.
pub struct Reply(Response);

impl Reply {
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// Status and error code, for comparisons with the documentation.
    pub fn rejection(&self) -> (u16, &str) {
        (self.0.status, self.header("x-ms-error-code"))
    }

    /// A header, empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.0.header(name).unwrap_or_default()
    }

    pub fn etag(&self) -> &str {
        self.header("etag")
    }

    pub fn body(&self) -> &[u8] {
        &self.0.body
    }

    pub fn text(&self) -> String {
        self.0.text()
    }

    /// This response if its status is the expected one, else an error with the service's message.
    pub fn expect(self, status: u16) -> Result<Self> {
        if self.0.status == status {
            return Ok(self);
        }
        let (found, code) = self.rejection();
        Err(Error::input(format!("status {found} {code} instead of {status}: {}", self.text())))
    }
}

/// The contents of every element with this name, in order. Enough for the simple documents of these examples.
pub fn elements<'x>(xml: &'x str, name: &str) -> Vec<&'x str> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&*start).skip(1).filter_map(|rest| rest.split(&*end).next()).collect()
}

fn input(error: impl std::fmt::Display) -> Error {
    Error::input(error.to_string())
}
