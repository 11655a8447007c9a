//! The server on trial: it can be started, stopped, killed and restarted.

use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_protocol::auth::DEVELOPMENT_KEY;
use lazuli_server::config::{AdminPort, BlobSettings, EnabledFor};
use lazuli_server::{Config, Running, admin};
use lazuli_store::{Options, Store};
use tempfile::TempDir;

use crate::caller::{self, VERSIONS_ACCOUNT};

/// Time that a blob takes to leave the archive: longer than any trial, so that no outcome depends on the time of a request.
const REHYDRATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The queue that gets the events of the account with versions.
pub const EVENTS_QUEUE: &str = "trial-events";

/// The way to end a server before a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Finish the work in progress and close all files.
    Stop,
    /// Kill with SIGKILL if the server is a process; otherwise the same as `Stop`.
    Kill,
}

/// A server that can be restarted with the same data.
pub trait Subject {
    /// The current address of a service.
    fn authority(&self, service: Service) -> String;

    /// Restarts the server, possibly at another address.
    fn restart(&mut self, end: End) -> impl Future<Output = Result<(), String>>;

    /// Can a change that was in progress when the server ended be applied after the next one has started? Only
    /// if another process, such as a database, owns the data: it may execute the change later.
    fn may_apply_late(&self) -> bool {
        false
    }

    /// The file with the address and the token of the admin listener, if there is one. A restart replaces it.
    fn admin_file(&self) -> Option<PathBuf> {
        None
    }
}

/// A server in this process on an engine in memory, which survives restarts.
pub struct InMemory {
    engine: Arc<Memory>,
    folder: TempDir,
    running: Option<Running>,
}

impl InMemory {
    /// Starts one.
    pub async fn start() -> Result<Self, String> {
        let engine = Arc::new(Memory::new(Clock::system()));
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let running = Some(start(engine.clone(), folder.path()).await?);
        Ok(Self { engine, folder, running })
    }
}

impl Subject for InMemory {
    fn authority(&self, service: Service) -> String {
        authority(self.running.as_ref(), service)
    }

    async fn restart(&mut self, _: End) -> Result<(), String> {
        stop(self.running.take()).await?;
        self.running = Some(start(self.engine.clone(), self.folder.path()).await?);
        Ok(())
    }

    fn admin_file(&self) -> Option<PathBuf> {
        Some(self.folder.path().join(admin::FILE))
    }
}

/// A server in this process on the durable store.
pub struct Durable {
    folder: TempDir,
    running: Option<Running>,
}

impl Durable {
    /// Starts a server with its data in a temporary folder.
    pub async fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let running = Some(start(open(folder.path())?, folder.path()).await?);
        Ok(Self { folder, running })
    }
}

impl Subject for Durable {
    fn authority(&self, service: Service) -> String {
        authority(self.running.as_ref(), service)
    }

    async fn restart(&mut self, _: End) -> Result<(), String> {
        stop(self.running.take()).await?;
        self.running = Some(start(open(self.folder.path())?, self.folder.path()).await?);
        Ok(())
    }

    fn admin_file(&self) -> Option<PathBuf> {
        Some(self.folder.path().join(admin::FILE))
    }
}

fn open(folder: &Path) -> Result<Arc<Store>, String> {
    Store::open(folder, Options::default()).map(Arc::new).map_err(|error| error.to_string())
}

/// Starts a server that writes the file of its admin listener into `folder`.
async fn start(engine: Arc<dyn Engine>, folder: &Path) -> Result<Running, String> {
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let mut config = Config::new(address);
    config.admin = AdminPort::Exactly(0);
    config.admin_file = Some(folder.join(admin::FILE));
    config.blob = BlobSettings {
        versioning: EnabledFor::Accounts(vec![VERSIONS_ACCOUNT.into()]),
        rehydration: REHYDRATION,
        ..BlobSettings::default()
    };
    config.listen =
        Service::ALL.into_iter().fold(config.listen, |listen, service| listen.on(service, address));
    let started = lazuli_server::start(config, engine, caller::accounts());
    started.await.map_err(|error| error.to_string())
}

async fn stop(running: Option<Running>) -> Result<(), String> {
    match running {
        Some(running) => running.stop().await.map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

fn authority(running: Option<&Running>, service: Service) -> String {
    running
        .and_then(|running| running.listen.get(service))
        .map(|address| address.to_string())
        .unwrap_or_default()
}

/// `lazuli serve` as a separate process, which can be killed.
pub struct Process {
    binary: PathBuf,
    arguments: Vec<String>,
    /// The addresses of its services, in the order of [`Service::ALL`].
    authorities: Vec<String>,
    child: Child,
    /// The folder with its data, if no other process writes to it.
    location: Option<PathBuf>,
}

impl Process {
    /// Starts the program on this data. Small caches fill up quickly, so later growth is an error.
    pub fn start(binary: &Path, location: &Path) -> Result<Self, String> {
        let path = location.display().to_string();
        let ports = ["serve", "--table-port", "0", "--admin-port", "0"];
        let arguments = [&ports[..], &["--cache-mib", "64", "--location", &path]].concat();
        Self::spawn(binary, arguments.into_iter().map(str::to_owned).collect(), Some(location.into()))
    }

    /// Starts the program with these arguments, which select free ports and an engine outside the process.
    pub fn start_with(binary: &Path, arguments: Vec<String>) -> Result<Self, String> {
        Self::spawn(binary, arguments, None)
    }

    fn spawn(binary: &Path, arguments: Vec<String>, location: Option<PathBuf>) -> Result<Self, String> {
        let (child, authorities) = spawn(binary, &arguments)?;
        Ok(Self { binary: binary.to_owned(), arguments, authorities, child, location })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it.
    pub fn end(&mut self, end: End) -> Result<(), String> {
        match end {
            End::Kill => self.child.kill().map_err(|error| error.to_string())?,
            End::Stop => {
                let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
                let id = id.ok_or("the process has no id")?;
                let sent = rustix::process::kill_process(id, rustix::process::Signal::TERM);
                sent.map_err(|error| error.to_string())?;
            }
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        match end {
            End::Stop if !status.success() => Err(format!("the server ended with {status}")),
            _ => Ok(()),
        }
    }
}

impl Subject for Process {
    fn authority(&self, service: Service) -> String {
        let index = Service::ALL.iter().position(|other| *other == service).unwrap_or_default();
        self.authorities[index].clone()
    }

    async fn restart(&mut self, end: End) -> Result<(), String> {
        self.end(end)?;
        (self.child, self.authorities) = spawn(&self.binary, &self.arguments)?;
        Ok(())
    }

    fn may_apply_late(&self) -> bool {
        self.location.is_none()
    }

    fn admin_file(&self) -> Option<PathBuf> {
        self.location.as_ref().map(|location| location.join(admin::FILE))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server prints its connection string once it listens.
fn spawn(binary: &Path, arguments: &[String]) -> Result<(Child, Vec<String>), String> {
    let mut command = Command::new(binary);
    let accounts =
        caller::accounts().into_iter().map(|account| format!("{}:{DEVELOPMENT_KEY}", account.name));
    command.env("LAZULI_ACCOUNTS", accounts.collect::<Vec<_>>().join(";"));
    command.args(arguments).args([
        format!("--blob-versioning={VERSIONS_ACCOUNT}"),
        format!("--rehydrate-seconds={}", REHYDRATION.as_secs()),
        format!("--events={VERSIONS_ACCOUNT}=queue:{EVENTS_QUEUE}"),
        // Logs reach their quota soon, so later growth is an error.
        "--analytics-quota-mib=1".into(),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", binary.display()))?;
    let output = child.stdout.take().ok_or("the server has no output")?;
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let Some(authorities) = lines.find_map(|line| addresses(&line)) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err("the server did not start".into());
    };
    // A full pipe would block the server, so the rest of its output is read.
    std::thread::spawn(move || lines.for_each(drop));
    Ok((child, authorities))
}

/// The addresses in a connection string, in the order of [`Service::ALL`].
fn addresses(line: &str) -> Option<Vec<String>> {
    let endpoint = |name: &str| {
        let (_, rest) = line.split_once(&format!("{name}Endpoint=http://"))?;
        rest.split(['/', ';']).next().map(str::to_owned)
    };
    ["Blob", "Queue", "Table"].into_iter().map(endpoint).collect()
}
