//! Puts a server together and takes it apart again.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::accounts::{Directory, GivenAccount};
use crate::admin::{self, Admin};
use crate::analytics;
use crate::config::{Config, Limits, Scheme};
use crate::frontend::Frontend;
use crate::http::{Handler, Shared};
use crate::listen::listen;
use crate::metrics;
use crate::oauth::{self, Oauth};
use crate::ports::Ports;
use crate::tls::{self, Tls};

/// How often the space of deleted tables is looked after.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// File handles beyond those of connections: the engine's files, the listeners, the log.
const FILES_SPARE: u64 = 1024;
/// Connections to the admin listener at a time.
const ADMIN_CONNECTIONS_MAX: usize = 64;

/// Longest that one thing is read again: what takes longer stays as it was.
const RELOAD_TIME_MAX: Duration = Duration::from_secs(30);

/// A server that runs.
pub struct Running {
    /// Where the Table service listens.
    pub table: SocketAddr,
    /// Where the admin listener listens.
    pub admin: Option<SocketAddr>,
    /// Where clients on this machine find the Table service: a URL without the account.
    pub endpoint: String,
    frontend: Arc<Frontend>,
    engine: Arc<dyn Engine>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    analytics: Option<JoinHandle<()>>,
    admin_file: Option<std::path::PathBuf>,
    tls: Option<Arc<Tls>>,
    oauth: Option<Arc<Oauth>>,
}

/// Starts a server on an engine.
pub async fn start(config: Config, engine: Arc<dyn Engine>, given: Vec<GivenAccount>) -> io::Result<Running> {
    let ports = Ports::take(&config).map_err(io::Error::from)?;
    start_on(ports, config, engine, given).await
}

/// Starts a server on ports that were taken before, for the same settings.
pub async fn start_on(
    ports: Ports,
    config: Config,
    engine: Arc<dyn Engine>,
    given: Vec<GivenAccount>,
) -> io::Result<Running> {
    let mut config = config;
    config.limits.connections_max = connections_possible(config.limits.connections_max);
    let tls = config.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
    let oauth = match config.oauth.clone() {
        Some(settings) => Some(Arc::new(Oauth::open(settings).await?)),
        None => None,
    };
    let listeners = ports.listen().map_err(io::Error::from)?;
    let table = listeners.table.local_addr()?;
    let endpoint = endpoint(tls.is_some(), table);
    let frontend = Frontend::over(engine.clone(), Directory::new(given), config.clone())?;
    let frontend = Arc::new(frontend.with_oauth(oauth.clone()));
    let accounts = frontend.service().accounts();
    frontend.directory().refresh(&accounts).await.map_err(io::Error::other)?;
    let (stop, stopped) = watch::channel(false);
    let mut shared = Shared::new(config.limits, stopped.clone());
    shared.traffic = frontend.metrics().traffic().clone();
    let mut sweep = frontend.service().sweep();
    let mut tasks =
        vec![tokio::spawn(listen(listeners.table, tls.clone(), frontend.clone(), shared, stopped.clone()))];
    tasks.push(tokio::spawn(metrics::keep_turning(frontend.clone(), stopped.clone())));
    if let Some(oauth) = oauth.clone() {
        tasks.push(tokio::spawn(oauth::keep_fresh(oauth, stopped.clone())));
    }
    let analytics = analytics::start(frontend.clone(), config.analytics.clone());
    let mut admin_address = None;
    if let Some(listener) = listeners.admin {
        let address = listener.local_addr()?;
        let admin = Arc::new(Admin::new(frontend.clone())?.with_endpoint(&endpoint));
        if let Some(path) = &config.admin_file {
            admin::write_file(path, address, admin.token())?;
        }
        let limits = Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..config.limits };
        let shared = Shared::new(limits, stopped.clone());
        tasks.push(tokio::spawn(listen(listener, None, admin, shared, stopped.clone())));
        admin_address = Some(address);
    }
    let mut stopped = stopped;
    tasks.push(tokio::spawn(async move {
        while tokio::time::timeout(SWEEP_EVERY, stopped.wait_for(|stop| *stop)).await.is_err() {
            if let Err(error) = sweep.round().await {
                tracing::error!(%error, "the space of deleted tables could not be given back");
            }
        }
    }));
    Ok(Running {
        table,
        admin: admin_address,
        endpoint,
        frontend,
        engine,
        stop,
        tasks,
        analytics,
        admin_file: config.admin_file,
        tls,
        oauth,
    })
}

/// Serves any handler on this server's HTTP stack until the process ends: what the stack can do at most.
pub async fn serve_bare<H: Handler>(
    address: SocketAddr,
    handler: Arc<H>,
    announce: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    let (_stop, stopped) = watch::channel(false);
    listen(listener, None, handler, Shared::new(Limits::default(), stopped.clone()), stopped).await;
    Ok(())
}

impl Running {
    /// The front end, for callers without a socket.
    pub fn frontend(&self) -> &Arc<Frontend> {
        &self.frontend
    }

    /// The certificate it serves with, if it speaks TLS.
    pub fn certificate(&self) -> Option<&tls::Files> {
        self.tls.as_deref().map(Tls::files)
    }

    /// Reads again what lies beside the data: the certificate, and the keys of the issuer of bearer tokens. What cannot
    /// be used is told to the log, and what was read before stays.
    ///
    /// The work needs nothing of this: whoever waits for signals gives it to a task of its own, and hears them meanwhile.
    pub fn reload(&self) -> impl Future<Output = ()> + Send + use<> {
        let (tls, oauth) = (self.tls.clone(), self.oauth.clone());
        async move {
            if tls.is_none() && oauth.is_none() {
                tracing::info!(
                    "there is nothing to read again: neither a certificate nor keys for bearer tokens"
                );
            }
            if let Some(tls) = tls {
                reload_certificate(tls).await;
            }
            if let Some(oauth) = oauth {
                match in_time(oauth.reload()).await {
                    Ok(()) => tracing::info!("the keys for bearer tokens were read again"),
                    Err(error) => tracing::error!(%error, "the keys for bearer tokens stay as they were"),
                }
            }
        }
    }

    /// Finishes what is in flight, then closes the engine.
    pub async fn stop(self) -> lazuli_engine::Result<()> {
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
        self.frontend.analytics().close().await;
        if let Some(task) = self.analytics {
            let _ = task.await;
        }
        if let Some(path) = self.admin_file {
            let _ = std::fs::remove_file(path);
        }
        self.engine.close().await
    }
}

/// The file system takes what time it takes: the reading is left to a thread that nobody waits for beyond the bound.
async fn reload_certificate(tls: Arc<Tls>) {
    let file = tls.files().certificate.display().to_string();
    let read = tokio::task::spawn_blocking(move || tls.reload());
    match in_time(async { read.await.map_err(io::Error::other)? }).await {
        Ok(()) => tracing::info!(%file, "the certificate was read again"),
        Err(error) => tracing::error!(%error, "the certificate stays as it was"),
    }
}

async fn in_time(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::time::timeout(RELOAD_TIME_MAX, work).await?
}

/// An address that stands for all of them is not one to connect to.
fn endpoint(is_tls: bool, table: SocketAddr) -> String {
    let scheme = if is_tls { Scheme::Https } else { Scheme::Http }.as_str();
    let host = if table.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { table.ip() };
    format!("{scheme}://{}", SocketAddr::new(host, table.port()))
}

/// How many connections there can be. Every one is a file handle: the usual limit of 1024 is far below what is wanted,
/// so it is raised; where that is not allowed, connections must leave enough for the engine's files.
fn connections_possible(wanted: usize) -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let files = wanted as u64 + FILES_SPARE;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < files) {
        limit.current = Some(limit.maximum.map_or(files, |maximum| maximum.min(files)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let Some(files) = getrlimit(Resource::Nofile).current else { return wanted };
    let possible = files.saturating_sub(FILES_SPARE).max(files / 2);
    let connections = wanted.min(usize::try_from(possible).unwrap_or(usize::MAX)).max(1);
    if connections < wanted {
        tracing::warn!(
            connections,
            wanted,
            files,
            "the system's limit of open files allows fewer connections"
        );
    }
    connections
}
