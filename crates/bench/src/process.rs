//! The measured servers: starts, monitors and stops them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use lazuli_model::Service;
use lazuli_probe::Connection;
use lazuli_protocol::connection_string::ConnectionString;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Options;
use crate::session::Session;

/// Maximum time for a server to start.
const START_TIME_MAX: Duration = Duration::from_secs(30);
const CONNECT_EVERY: Duration = Duration::from_millis(50);
/// A server is idle when it has used less than this CPU time between two checks.
const IDLE_CPU_SECONDS: f64 = 0.025;
const IDLE_EVERY: Duration = Duration::from_millis(500);
/// Maximum time to wait for a server to become idle.
const IDLE_TIME_MAX: Duration = Duration::from_secs(600);

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Our server.
    Lazuli,
    /// Another build of our server.
    Other,
    /// Azurite.
    Azurite,
    /// Responds to GET with a fixed body, and appends every other body with a shared sync.
    Bare {
        /// Size of the fixed body.
        body_bytes: usize,
    },
    /// No server: files of this size, written with one sync each.
    Files {
        /// Size of each file.
        bytes: usize,
    },
    /// nginx with a file of this size, under the names that the workloads use.
    Nginx {
        /// Size of the file.
        bytes: u64,
    },
}

impl Server {
    /// Does it implement the storage protocol?
    pub fn speaks_storage(self) -> bool {
        matches!(self, Server::Lazuli | Server::Other | Server::Azurite)
    }

    /// Does it respond to anything?
    pub fn is_bare(self) -> bool {
        matches!(self, Server::Bare { .. } | Server::Nginx { .. })
    }

    /// Description of the server for reports.
    pub fn about(self) -> &'static str {
        match self {
            Server::Lazuli => "Lazuli itself, with other data or other clients.",
            Server::Other => "Another build of Lazuli.",
            Server::Azurite => "Azurite, an emulator. It does not sync what it writes.",
            Server::Bare { .. } => {
                "The limit: a server on the same HTTP stack that only sends a fixed body, or appends what it receives to a file with a sync that waiting requests share. No server can do less."
            }
            Server::Files { .. } => {
                "The limit of the disk: no server, only writes with separate syncs, one after the other on each connection."
            }
            Server::Nginx { .. } => "nginx, sending a file of the same size.",
        }
    }

    /// Can it be started with these options?
    pub fn is_available(self, options: &Options) -> bool {
        match self {
            Server::Other => options.against.is_some(),
            Server::Azurite => options.azurite.is_some(),
            Server::Nginx { .. } => options.nginx.is_some(),
            _ => true,
        }
    }
}

/// A running server.
pub struct Process {
    server: Server,
    /// Its addresses: one for each service, in the order of [`Service::ALL`], or one for all.
    authorities: Vec<String>,
    folder: PathBuf,
    /// `None` if there is no server.
    child: Option<Child>,
}

/// The resources that a process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time.
    pub cpu_seconds: f64,
    /// Resident memory.
    pub memory_bytes: u64,
}

impl Process {
    /// Starts a server and waits until it accepts connections.
    pub async fn start(server: Server, options: &Options, folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let folder = folder.to_owned();
        let Some((mut command, told)) = command(server, options, &folder)? else {
            return Ok(Self { server, authorities: Vec::new(), folder, child: None });
        };
        command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot start {server:?}: {error}"))?;
        let announced = if told.is_empty() {
            // A program that prints something else would keep a reader waiting forever.
            let output = child.stdout.take();
            let reading = tokio::task::spawn_blocking(move || output.map(listening).unwrap_or_default());
            timeout(START_TIME_MAX, reading).await.map(Result::unwrap_or_default).unwrap_or_default()
        } else {
            told
        };
        let process = Self { server, authorities: announced, folder, child: Some(child) };
        if process.authorities.is_empty() {
            return Err(format!("{server:?} did not start"));
        }
        match timeout(START_TIME_MAX, process.accepts()).await {
            Ok(()) => Ok(process),
            Err(_) => Err(format!("{server:?} does not accept connections")),
        }
    }

    /// Where a service listens.
    fn authority(&self, service: Service) -> &str {
        let index = Service::ALL.iter().position(|other| *other == service).unwrap_or(0);
        self.authorities.get(index).or(self.authorities.first()).map_or("", String::as_str)
    }

    /// A session of a service. `number` distinguishes the sessions of a slice.
    pub async fn session(&self, service: Service, number: usize) -> Result<Session, String> {
        let authority = self.authority(service);
        let opened = Session::open(service, authority, number, self.server, &self.folder).await;
        opened.map_err(|error| format!("{:?}: {error}", self.server))
    }

    /// Several sessions of a service.
    pub async fn sessions(&self, service: Service, count: usize) -> Result<Vec<Session>, String> {
        let mut sessions = Vec::new();
        for number in 0..count {
            sessions.push(self.session(service, number).await?);
        }
        Ok(sessions)
    }

    async fn accepts(&self) {
        let mut again = interval(CONNECT_EVERY);
        for authority in &self.authorities {
            while Connection::open(authority).await.is_err() {
                again.tick().await;
            }
        }
    }

    /// Waits until the server has finished its background work, such as merging files after many writes. Otherwise the
    /// next measurement would include it. `false` if that takes too long.
    pub async fn rests(&self) -> bool {
        let rest = async {
            let mut again = interval(IDLE_EVERY);
            again.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut used = f64::NEG_INFINITY;
            while self.child.is_some() {
                again.tick().await;
                let now = self.usage().cpu_seconds;
                if now - used < IDLE_CPU_SECONDS {
                    return;
                }
                used = now;
            }
        };
        timeout(IDLE_TIME_MAX, rest).await.is_ok()
    }

    /// Resources used by all its threads so far. Without a server, those of this process.
    pub fn usage(&self) -> Usage {
        let id = self.child.as_ref().map_or_else(std::process::id, Child::id);
        let mut total = usage_of(id);
        // The work of nginx is done by a child of the started process.
        for child in children(id).into_iter().filter(|_| self.child.is_some()) {
            let usage = usage_of(child);
            total.cpu_seconds += usage.cpu_seconds;
            total.memory_bytes += usage.memory_bytes;
        }
        total
    }
}

/// The machine, in words.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "{cores} cores{}, {}.",
        model.map_or(String::new(), |name| format!(" ({name})")),
        std::env::consts::OS
    )
}

fn children(id: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn usage_of(id: u32) -> Usage {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
    let stat = read("stat");
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let resident = read("status")
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse::<u64>().ok())
        .unwrap_or(0);
    // The kernel counts in hundredths of a second on all known versions of Linux.
    Usage { cpu_seconds: (ticks(11) + ticks(12)) / 100.0, memory_bytes: resident * 1024 }
}

/// The command that starts a server, and its addresses if it does not print them.
fn command(server: Server, options: &Options, data: &Path) -> Result<Option<(Command, Vec<String>)>, String> {
    let mut command = Command::new(&options.binary);
    let mut told = Vec::new();
    match server {
        Server::Lazuli | Server::Other => {
            if let Some(other) = options.against.as_ref().filter(|_| server == Server::Other) {
                command = Command::new(other);
            }
            command.args(["serve", "--table-port", "0", "--admin-port", "0"]);
            command.args(["--cache-mib", &options.cache_mib.to_string(), "--location"]).arg(data);
        }
        Server::Bare { body_bytes } => {
            command.args(["bench", "--bare", &body_bytes.to_string(), "--location"]).arg(data);
        }
        Server::Azurite => {
            let ports = free_ports(Service::ALL.len()).map_err(|error| error.to_string())?;
            command = Command::new(options.azurite.as_deref().unwrap_or(Path::new("azurite")));
            command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location"]).arg(data);
            for (service, port) in Service::ALL.iter().zip(&ports) {
                command.args([&format!("--{}Port", service.label()), &port.to_string()]);
                told.push(format!("127.0.0.1:{port}"));
            }
        }
        Server::Nginx { bytes } => {
            let port = free_ports(1).map_err(|error| error.to_string())?[0];
            crate::nginx::configure(data, port, bytes).map_err(|error| format!("nginx: {error}"))?;
            command = Command::new(options.nginx.as_deref().unwrap_or(Path::new("nginx")));
            command.arg("-c").arg(data.join("nginx.conf")).arg("-p").arg(data);
            told.push(format!("127.0.0.1:{port}"));
        }
        Server::Files { .. } => return Ok(None),
    }
    Ok(Some((command, told)))
}

/// Free ports, for programs that do not print which one they chose.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let bind = |_| std::net::TcpListener::bind(("127.0.0.1", 0));
    let listeners = (0..count).map(bind).collect::<std::io::Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Our servers print their addresses. A thread reads and drops the rest of the output, so that they never
/// block.
fn listening(output: ChildStdout) -> Vec<String> {
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let found = lines.find_map(|line| addresses(&line)).unwrap_or_default();
    std::thread::spawn(move || lines.for_each(drop));
    found
}

/// The addresses in a connection string, in the order of [`Service::ALL`], or the one in a line with a single URL.
fn addresses(line: &str) -> Option<Vec<String>> {
    if let Some(url) = line.strip_prefix("http://") {
        return Some(vec![url.trim_end_matches('/').to_owned()]);
    }
    let text = ConnectionString::parse(line).ok()?;
    let endpoint = |service: Service| {
        let url = text.endpoints(service).ok()?.primary;
        // An endpoint without a port is derived from the account name: the server does not have this service.
        url.strip_prefix("http://")?.split('/').next().filter(|host| host.contains(':')).map(str::to_owned)
    };
    let all: Option<Vec<String>> = Service::ALL.into_iter().map(endpoint).collect();
    // The first release supported only tables.
    all.or_else(|| endpoint(Service::Table).map(|only| vec![only]))
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let workers = children(child.id());
        let _ = child.kill();
        let _ = child.wait();
        // A killed nginx leaves its worker behind.
        for worker in workers {
            let _ = Command::new("kill").arg(worker.to_string()).stderr(Stdio::null()).status();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_what_servers_print() {
        let line = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=k;BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:2/a;TableEndpoint=http://127.0.0.1:3/a;";
        assert_eq!(addresses(line).unwrap(), ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]);
        assert_eq!(addresses("http://127.0.0.1:7").unwrap(), ["127.0.0.1:7"]);
        for first in ["", "DefaultEndpointsProtocol=http;"] {
            let line = format!("{first}AccountName=a;AccountKey=k;TableEndpoint=http://127.0.0.1:3/a;");
            assert_eq!(addresses(&line).unwrap(), ["127.0.0.1:3"]);
        }
        assert_eq!(addresses("lazuli 0.1.0, http://127.0.0.1:7"), None);
    }
}
