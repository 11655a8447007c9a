//! Assembles a server, starts it and stops it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use lazuli_model::Service;
use lazuli_service::blob::{Accesses, Copies, Reclaim};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::accounts::{ConfiguredAccount, Directory};
use crate::admin::{self, Admin};
use crate::analytics;
use crate::config::{Config, EnabledFor, Limits, Listen, UrlScheme};
use crate::console::Console;
use crate::events::Courier;
use crate::http::{BoxFuture, Handler, Shared};
use crate::listen::listen;
use crate::metrics;
use crate::oauth::{self, Oauth};
use crate::pipeline::Endpoint;
use crate::ports::Ports;
use crate::state::State;
use crate::tls::{self, Tls};

/// Interval for reclaiming the space of deleted tables.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Maximum number of copies from other servers that run in the background concurrently.
const REMOTE_COPIES_MAX: usize = 4;
/// Interval for checking for pending copies.
const COPY_EVERY: Duration = Duration::from_millis(200);
/// Number of file handles needed besides those of connections: the engine's files, the listeners, the log.
const FILES_SPARE: u64 = 1024;
/// Maximum number of concurrent connections to the admin listener.
const ADMIN_CONNECTIONS_MAX: usize = 64;

/// Timeout for reloading one file or key set; on timeout the previous value stays.
const RELOAD_TIME_MAX: Duration = Duration::from_secs(30);

/// A server that runs.
pub struct Running {
    /// Where each service listens.
    pub listen: Listen,
    /// The address of the admin listener.
    pub admin: Option<SocketAddr>,
    /// The address of the web console.
    pub console: Option<SocketAddr>,
    /// The address of static websites that are addressed by path.
    pub websites: Option<SocketAddr>,
    state: Arc<State>,
    engine: Arc<dyn Engine>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    analytics: Option<JoinHandle<()>>,
    admin_file: Option<std::path::PathBuf>,
    tls: Option<Arc<Tls>>,
    oauth: Option<Arc<Oauth>>,
}

/// Starts a server with an engine.
pub fn start(
    config: Config,
    engine: Arc<dyn Engine>,
    given: Vec<ConfiguredAccount>,
) -> BoxFuture<'static, io::Result<Running>> {
    Box::pin(async move {
        let ports = Ports::take(&config).map_err(io::Error::from)?;
        assemble(ports, config, engine, given).await
    })
}

/// Starts a server on ports that were bound earlier with the same settings.
pub fn start_on(
    ports: Ports,
    config: Config,
    engine: Arc<dyn Engine>,
    given: Vec<ConfiguredAccount>,
) -> BoxFuture<'static, io::Result<Running>> {
    Box::pin(assemble(ports, config, engine, given))
}

async fn assemble(
    ports: Ports,
    config: Config,
    engine: Arc<dyn Engine>,
    given: Vec<ConfiguredAccount>,
) -> io::Result<Running> {
    let mut config = config;
    config.limits.connections_max = connections_possible(config.limits.connections_max);
    let tls = config.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
    let oauth = match config.oauth.clone() {
        Some(settings) => Some(Arc::new(Oauth::open(settings).await?)),
        None => None,
    };
    let listeners = ports.listen().map_err(io::Error::from)?;
    let state = State::over(engine.clone(), Directory::new(given), config.clone())?;
    let state = Arc::new(state.with_oauth(oauth.clone()));
    let accounts = state.service().accounts();
    state.directory().refresh(&accounts).await.map_err(io::Error::other)?;
    let (stop, stopped) = watch::channel(false);
    let mut shared = Shared::new(config.limits, stopped.clone());
    shared.traffic = state.metrics().traffic().clone();
    let mut sweep = state.service().sweep();
    if let Some(blobs) = state.blobs() {
        sweep = sweep.with_release(Arc::new(blobs.clone()));
    }
    let (mut tasks, mut addresses) = (Vec::new(), Listen::default());
    for (service, listener) in listeners.services {
        addresses = addresses.on(service, listener.local_addr()?);
        let endpoint = Arc::new(Endpoint::new(state.clone(), service));
        tasks.push(spawn(listen(listener, tls.clone(), endpoint, shared.clone(), stopped.clone())));
    }
    let mut websites_address = None;
    if let Some(listener) = listeners.websites {
        websites_address = Some(listener.local_addr()?);
        let websites = Arc::new(Endpoint::of_websites(state.clone()));
        tasks.push(spawn(listen(listener, tls.clone(), websites, shared.clone(), stopped.clone())));
    }
    tasks.push(spawn(metrics::keep_turning(state.clone(), stopped.clone())));
    if let Some(oauth) = oauth.clone() {
        tasks.push(spawn(oauth::keep_fresh(oauth, stopped.clone())));
    }
    let analytics = match config.analytics {
        true => analytics::start(state.clone(), config.old_logs.clone(), config.analytics_bytes_max),
        false => None,
    };
    let mut admin_address = None;
    if let Some(listener) = listeners.admin {
        let address = listener.local_addr()?;
        let admin = Arc::new(Admin::new(state.clone())?.with_endpoints(endpoints(tls.is_some(), addresses)));
        if let Some(path) = &config.admin_file {
            admin::write_file(path, address, admin.token())?;
        }
        let limits = Limits { connections_max: ADMIN_CONNECTIONS_MAX, ..config.limits };
        let shared = Shared::new(limits, stopped.clone());
        tasks.push(spawn(listen(listener, None, admin, shared, stopped.clone())));
        admin_address = Some(address);
    }
    let mut console_address = None;
    if let Some(listener) = listeners.console {
        console_address = Some(listener.local_addr()?);
        let console = Console::new(state.clone(), addresses, |address| endpoint(tls.is_some(), address));
        tasks.push(spawn(listen(listener, tls.clone(), Arc::new(console), shared.clone(), stopped.clone())));
    }
    let blob_endpoint = addresses.get(Service::Blob).map(|address| endpoint(tls.is_some(), address));
    for courier in Courier::all(&state, &blob_endpoint.unwrap_or_default()) {
        tasks.push(spawn(courier.run(stopped.clone())));
    }
    if let Some(blobs) = state.blobs() {
        tasks.push(spawn(reclaim(blobs.reclaim(), stopped.clone())));
        tasks.push(spawn(copy(blobs.copies(), stopped.clone())));
        if config.blob.last_access != EnabledFor::Off {
            tasks.push(spawn(record_reads(blobs.accesses(), stopped.clone())));
        }
        // Even without an allowed source, copies may be pending from before; these fail.
        let remote = if config.copy_sources.is_empty() { 1 } else { REMOTE_COPIES_MAX };
        for _ in 0..remote {
            tasks.push(spawn(copy(blobs.remote_copies(), stopped.clone())));
        }
    }
    let mut stopped = stopped;
    tasks.push(spawn(async move {
        while tokio::time::timeout(SWEEP_EVERY, stopped.wait_for(|stop| *stop)).await.is_err() {
            if let Err(error) = sweep.round().await {
                tracing::error!(%error, "failed to reclaim space of deleted tables");
            }
        }
    }));
    Ok(Running {
        listen: addresses,
        admin: admin_address,
        console: console_address,
        websites: websites_address,
        state,
        engine,
        stop,
        tasks,
        analytics,
        admin_file: config.admin_file,
        tls,
        oauth,
    })
}

/// Spawns a background task. The future is boxed, so that all background tasks have the same type.
fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    tokio::spawn(work)
}

/// Reclaims content that no row refers to any more, until `stop` turns true.
async fn reclaim(mut reclaim: Reclaim, mut stop: watch::Receiver<bool>) {
    let mut pause = Duration::ZERO;
    while tokio::time::timeout(pause, stop.wait_for(|stop| *stop)).await.is_err() {
        pause = match reclaim.round().await {
            Ok(true) => Duration::ZERO,
            Ok(false) => SWEEP_EVERY,
            Err(error) => {
                tracing::error!(?error, "failed to reclaim blob content");
                SWEEP_EVERY
            }
        };
    }
}

/// Executes pending copies of blobs, until `stop` turns true.
async fn copy(mut copies: Copies, mut stop: watch::Receiver<bool>) {
    let mut pause = Duration::ZERO;
    while tokio::time::timeout(pause, stop.wait_for(|stop| *stop)).await.is_err() {
        // A copy that a stop interrupts is still pending: it starts over with the next start.
        let round = tokio::select! {
            round = copies.round() => round,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        pause = match round {
            Ok(true) => Duration::ZERO,
            Ok(false) => COPY_EVERY,
            Err(error) => {
                tracing::error!(?error, "failed to copy a blob");
                SWEEP_EVERY
            }
        };
    }
}

/// Records the last access times of blobs, until `stop` turns true. Reads do not wait for it.
async fn record_reads(accesses: Accesses, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = accesses.wait() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let recorded = tokio::select! {
            recorded = accesses.round() => recorded,
            // The remaining access times are recorded at the next reads.
            _ = stop.wait_for(|stop| *stop) => return,
        };
        if let Err(error) = recorded {
            tracing::warn!(?error, "failed to record when a blob was read; a later read is recorded instead");
            let _ = tokio::time::timeout(SWEEP_EVERY, stop.wait_for(|stop| *stop)).await;
        }
    }
}

/// Serves any handler with this server's HTTP stack until the process ends, to measure the limits of the stack.
pub async fn serve_bare<H: Handler>(
    address: SocketAddr,
    handler: Arc<H>,
    announce: Box<dyn FnOnce(SocketAddr) + Send>,
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    let (_stop, stopped) = watch::channel(false);
    listen(listener, None, handler, Shared::new(Limits::default(), stopped.clone()), stopped).await;
    Ok(())
}

impl Running {
    /// The URL at which clients on this machine find a service, without the account.
    pub fn endpoint(&self, service: Service) -> Option<String> {
        self.listen.get(service).map(|address| endpoint(self.tls.is_some(), address))
    }

    /// The URL of the web console.
    pub fn console_url(&self) -> Option<String> {
        self.console.map(|address| format!("{}/", endpoint(self.tls.is_some(), address)))
    }

    /// The URL of static websites, without the account.
    pub fn websites_url(&self) -> Option<String> {
        self.websites.map(|address| endpoint(self.tls.is_some(), address))
    }

    /// The state that its listeners share.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// The certificate for TLS, if TLS is enabled.
    pub fn certificate(&self) -> Option<&tls::Files> {
        self.tls.as_deref().map(Tls::files)
    }

    /// Reloads the certificate and the keys of the issuer of bearer tokens. On failure, logs it and keeps the previous
    /// ones.
    ///
    /// The future borrows nothing, so that the caller can spawn it and keep waiting for signals.
    pub fn reload(&self) -> BoxFuture<'static, ()> {
        let (tls, oauth) = (self.tls.clone(), self.oauth.clone());
        Box::pin(async move {
            if tls.is_none() && oauth.is_none() {
                tracing::info!(
                    "nothing to reload: neither a certificate nor keys for bearer tokens are configured"
                );
            }
            if let Some(tls) = tls {
                reload_certificate(tls).await;
            }
            if let Some(oauth) = oauth {
                match in_time(oauth.reload()).await {
                    Ok(()) => tracing::info!("reloaded the keys for bearer tokens"),
                    Err(error) => {
                        tracing::error!(%error, "failed to reload the keys for bearer tokens; keeping the previous ones")
                    }
                }
            }
        })
    }

    /// Finishes requests in flight, then closes the engine.
    pub fn stop(self) -> BoxFuture<'static, lazuli_engine::Result<()>> {
        Box::pin(async move {
            let _ = self.stop.send(true);
            for task in self.tasks {
                let _ = task.await;
            }
            self.state.analytics().close().await;
            if let Some(task) = self.analytics {
                let _ = task.await;
            }
            if let Some(path) = self.admin_file {
                let _ = std::fs::remove_file(path);
            }
            self.engine.close().await
        })
    }
}

/// A separate thread reads the file, since the file system may take any time; the server waits no longer than
/// the timeout.
async fn reload_certificate(tls: Arc<Tls>) {
    let file = tls.files().certificate.display().to_string();
    let read = tokio::task::spawn_blocking(move || tls.reload());
    match in_time(async { read.await.map_err(io::Error::other)? }).await {
        Ok(()) => tracing::info!(%file, "reloaded the certificate"),
        Err(error) => tracing::error!(%error, "failed to reload the certificate; keeping the previous one"),
    }
}

async fn in_time(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::time::timeout(RELOAD_TIME_MAX, work).await?
}

/// The URLs of all services that listen.
fn endpoints(is_tls: bool, listen: Listen) -> Vec<(Service, String)> {
    listen.iter().map(|(service, address)| (service, endpoint(is_tls, address))).collect()
}

/// The URL of a listener. Clients cannot connect to the unspecified address.
fn endpoint(is_tls: bool, address: SocketAddr) -> String {
    let scheme = if is_tls { UrlScheme::Https } else { UrlScheme::Http }.as_str();
    let host = if address.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { address.ip() };
    format!("{scheme}://{}", SocketAddr::new(host, address.port()))
}

/// The number of connections that the system allows. Each needs a file handle. The usual limit of 1024 is far
/// too low, so it is raised. If that is not permitted, connections must leave enough handles for the engine's
/// files.
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
            "the limit on open files allows fewer connections; raise it (ulimit -n, LimitNOFILE=)"
        );
    }
    connections
}
