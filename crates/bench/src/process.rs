//! The servers that are measured: started, watched, ended.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Options;
use crate::client::Connection;

/// How long a server may take to start.
const START_TIME_MAX: Duration = Duration::from_secs(30);
const CONNECT_EVERY: Duration = Duration::from_millis(50);
/// A server is at rest when it has used less than this of a processor in one look.
const REST_CPU_SECONDS: f64 = 0.025;
const REST_EVERY: Duration = Duration::from_millis(500);
/// How long it is waited for that.
const REST_TIME_MAX: Duration = Duration::from_secs(600);

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Us.
    Lazuli,
    /// The peer.
    Azurite,
    /// Returns a fixed body: the limit for reads.
    BareRead,
    /// Appends the body with a shared sync: the limit for durable writes.
    BareAppend,
}

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lazuli => "lazuli",
            Kind::Azurite => "azurite",
            Kind::BareRead => "bare-read",
            Kind::BareAppend => "bare-append",
        }
    }

    /// Does it know tables, or does it answer anything?
    pub fn speaks_tables(self) -> bool {
        matches!(self, Kind::Lazuli | Kind::Azurite)
    }
}

/// A running server.
pub struct Process {
    /// What it is.
    pub kind: Kind,
    /// Where it listens.
    pub authority: String,
    child: Child,
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor time.
    pub cpu_seconds: f64,
    /// Memory held now.
    pub memory_bytes: u64,
}

impl Process {
    /// Starts a server with its data in `data`, and waits until it answers.
    pub async fn start(kind: Kind, options: &Options, data: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(data).map_err(|error| format!("{}: {error}", data.display()))?;
        // Azurite does not say which port it got, so it is told one.
        let port = free_port().map_err(|error| error.to_string())?.to_string();
        let mut command = match kind {
            Kind::Lazuli => {
                let mut command = Command::new(&options.binary);
                command.args(["serve", "--table-port", "0", "--location"]).arg(data);
                command
            }
            Kind::Azurite => {
                let mut command =
                    Command::new(options.azurite.as_deref().unwrap_or(Path::new("azurite-table")));
                command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry"]);
                command.args(["--tablePort", &port, "--location"]).arg(data);
                command
            }
            Kind::BareRead | Kind::BareAppend => {
                let mut command = Command::new(&options.binary);
                command.args(["bench", "--bare", kind.name(), "--location"]).arg(data);
                command
            }
        };
        command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", kind.name()))?;
        let authority = match kind {
            Kind::Azurite => Some(format!("127.0.0.1:{port}")),
            _ => listening(&mut child),
        };
        let authority = authority.ok_or_else(|| format!("{} did not start", kind.name()))?;
        let process = Self { kind, authority, child };
        match timeout(START_TIME_MAX, process.answers()).await {
            Ok(()) => Ok(process),
            Err(_) => Err(format!("{} does not answer", kind.name())),
        }
    }

    /// Waits until it accepts a connection.
    async fn answers(&self) {
        let mut again = interval(CONNECT_EVERY);
        while Connection::open(&self.authority).await.is_err() {
            again.tick().await;
        }
    }

    /// Waits until the server has done what it left for later, such as merging files after much was written: otherwise
    /// the next measurement would be charged with it. `false` if that takes too long.
    pub async fn rests(&self) -> bool {
        let rest = async {
            let mut again = interval(REST_EVERY);
            again.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut used = f64::NEG_INFINITY;
            loop {
                again.tick().await;
                let now = self.usage().cpu_seconds;
                if now - used < REST_CPU_SECONDS {
                    return;
                }
                used = now;
            }
        };
        timeout(REST_TIME_MAX, rest).await.is_ok()
    }

    /// What it has used so far, all of its threads together.
    pub fn usage(&self) -> Usage {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
        };
        let stat = read("stat");
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        let resident = read("status")
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse::<u64>().ok())
            .unwrap_or(0);
        // The kernel counts in hundredths of a second on every Linux that we know.
        Usage { cpu_seconds: (ticks(11) + ticks(12)) / 100.0, memory_bytes: resident * 1024 }
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Every one of them prints where it listens. The rest of what it prints is read and dropped, so that it can go on.
fn listening(child: &mut Child) -> Option<String> {
    let mut lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
    let found = address(&mut lines);
    std::thread::spawn(move || lines.for_each(drop));
    found
}

fn address(lines: &mut impl Iterator<Item = String>) -> Option<String> {
    for line in lines {
        if let Some((_, rest)) = line.split_once("http://") {
            let end =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || ".:".contains(c))).unwrap_or(rest.len());
            return Some(rest[..end].to_owned());
        }
    }
    None
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
