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
use crate::config::{AdminPort, Config, Limits};
use crate::frontend::Frontend;
use crate::http::{Handler, Shared};
use crate::listen::listen;

/// How often the space of deleted tables is looked after.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// File handles beyond those of connections: the engine's files, the listeners, the log.
const FILES_SPARE: u64 = 1024;

/// A server that runs.
pub struct Running {
    /// Where the Table service listens.
    pub table: SocketAddr,
    /// Where the admin listener listens.
    pub admin: Option<SocketAddr>,
    frontend: Arc<Frontend>,
    engine: Arc<dyn Engine>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    admin_file: Option<std::path::PathBuf>,
}

/// Starts a server on an engine.
pub async fn start(config: Config, engine: Arc<dyn Engine>, given: Vec<GivenAccount>) -> io::Result<Running> {
    raise_file_limit(config.limits.connections_max);
    let listener = TcpListener::bind(config.table).await?;
    let table = listener.local_addr()?;
    let frontend = Arc::new(Frontend::over(engine.clone(), Directory::new(given), config.clone())?);
    let accounts = frontend.service().accounts();
    frontend.directory().refresh(&accounts).await.map_err(io::Error::other)?;
    let (stop, stopped) = watch::channel(false);
    let shared = Shared::new(config.limits, stopped.clone());
    let mut sweep = frontend.service().sweep();
    let mut tasks = vec![tokio::spawn(listen(listener, frontend.clone(), shared.clone(), stopped.clone()))];
    let mut admin_address = None;
    if let Some(listener) = bind_admin(config.admin).await? {
        let address = listener.local_addr()?;
        let admin = Arc::new(Admin::new(frontend.clone())?);
        if let Some(path) = &config.admin_file {
            admin::write_file(path, address, admin.token())?;
        }
        tasks.push(tokio::spawn(listen(listener, admin, shared, stopped.clone())));
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
    Ok(Running { table, admin: admin_address, frontend, engine, stop, tasks, admin_file: config.admin_file })
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
    listen(listener, handler, Shared::new(Limits::default(), stopped.clone()), stopped).await;
    Ok(())
}

impl Running {
    /// The front end, for callers without a socket.
    pub fn frontend(&self) -> &Arc<Frontend> {
        &self.frontend
    }

    /// Finishes what is in flight, then closes the engine.
    pub async fn stop(self) -> lazuli_engine::Result<()> {
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
        if let Some(path) = self.admin_file {
            let _ = std::fs::remove_file(path);
        }
        self.engine.close().await
    }
}

async fn bind_admin(port: AdminPort) -> io::Result<Option<TcpListener>> {
    match port {
        AdminPort::Off => Ok(None),
        AdminPort::Exactly(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map(Some),
        AdminPort::Preferably(port) => match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => Ok(Some(listener)),
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map(Some),
        },
    }
}

/// Every connection is a file handle, and the usual limit of 1024 is far below ours.
fn raise_file_limit(connections_max: usize) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let wanted = connections_max as u64 + FILES_SPARE;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
