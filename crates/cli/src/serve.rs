//! `lazuli serve`: starts the server and waits for a signal.

mod azurite;
mod limits;
mod mistakes;
mod reload;

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, GivenAccount, parse_accounts};
use lazuli_server::config::{AdminPort, Scheme};
use lazuli_server::tls::{Files, self_signed};
use lazuli_server::{Config, Running};
use lazuli_service::accounts::KEY_BYTES_MIN;
use lazuli_store::Durability;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::engine::{self, EngineError, EngineUrl};
use crate::log::{self, LogFormat};
use crate::memory;
use crate::oauth::OauthArgs;
use azurite::AzuriteArgs;
use limits::LimitArgs;

/// The port that SDKs and Azurite use for tables.
pub const TABLE_PORT: u16 = 10002;
/// Where other commands find the server.
pub const ADMIN_PORT: u16 = 10009;
/// Where the data goes if nothing is said.
pub const LOCATION: &str = "lazuli-data";

// The largest numbers that make sense for a flag; above, arithmetic on time and memory could overflow.
const CACHE_MIB_MAX: i64 = 16 * 1024 * 1024;
const SECONDS_MAX: i64 = 365 * 24 * 60 * 60;

fn up_to(max: i64) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=max)
}

/// An address; of names only the one that means the same everywhere.
fn parse_host(text: &str) -> Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    text.parse().map_err(|_| "neither an IP address nor localhost".into())
}

/// Start the server.
///
/// The development account works at once on loopback: `UseDevelopmentStorage=true` is all that an application needs.
/// Every answer waits until its change is on disk.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli                                         tables on 127.0.0.1:10002, data in ./lazuli-data
  lazuli serve --engine memory: --table-port 0   throw-away data on a free port, which is printed
  lazuli serve --location /var/lib/lazuli        data in a directory of your choice
  lazuli serve --engine 'postgres://lazuli@db1,db2,db3/lazuli?sslmode=verify-full'   one of many
  LAZULI_ACCOUNTS='shop:BASE64KEY' lazuli serve --host 0.0.0.0
  lazuli serve --self-signed                     https with a certificate of its own making
  lazuli serve --host 0.0.0.0 --tls-cert /etc/lazuli/chain.pem --tls-key /etc/lazuli/key.pem
  lazuli serve --account-rate 2000 --partition-rate 500   503 ServerBusy beyond, as the cloud does
  lazuli serve --self-signed --oauth-issuer https://login.example.org/T \\
      --oauth-audience https://storage.azure.com --oauth-jwks jwks.json
  kill -HUP PID                                  reads renewed certificates; connections stay

SIGTERM and SIGINT finish what is in flight and stop; a second one stops at once.
SIGHUP never stops the server: it reads again what lies beside the data, the certificate and the
keys for bearer tokens, if there are any.

Every flag is also an environment variable (--table-port is LAZULI_TABLE_PORT) and a key of the
configuration file: see lazuli config --help. A password is better kept in one of those than on the
command line, which others can see.

Azurite's flags are understood: -l, --tableHost, --tablePort, --inMemoryPersistence,
--skipApiVersionCheck, --loose, --silent, --disableTelemetry, --cert and --key (PEM); those for
blobs and queues are accepted with a notice, --oauth and --pwd are refused with a hint.")]
pub struct Serve {
    /// Read settings from this file [default: ./lazuli.toml or /etc/lazuli/lazuli.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = parse_host)]
    host: IpAddr,

    /// Port of the Table service; 0 picks a free one and prints it
    #[arg(long, alias = "tablePort", value_name = "PORT", default_value_t = TABLE_PORT)]
    table_port: u16,

    /// Directory of the data, made if it is not there; short for --engine file:DIR [default: lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR", conflicts_with = "engine")]
    location: Option<PathBuf>,

    /// Where the data lives: file:DIR, memory: for nothing on disk, or postgres://… for a database that servers share
    #[arg(long, value_name = "URL")]
    engine: Option<EngineUrl>,

    /// When a change is acknowledged; relaxed may lose the last moments in a crash of the machine
    #[arg(long, value_enum, default_value_t = DurabilityArg::Full)]
    durability: DurabilityArg,

    /// Memory for cached data: half for blocks of files, half for rows that are read or scanned again and again;
    /// a 32nd of the machine's (or the container's) memory unless given, between 64 and 256
    #[arg(long, value_name = "MIB", value_parser = up_to(CACHE_MIB_MAX))]
    cache_mib: Option<u32>,

    /// Serve the public development account although others can reach the server
    #[arg(long)]
    dev_account: bool,

    /// Certificate chain (PEM): serve https, and nothing else; read again on SIGHUP
    #[arg(long, alias = "cert", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the certificate
    #[arg(long, alias = "key", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Serve https with a certificate that is made once and kept in DIR [default: the data directory]
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "tls_cert"
    )]
    self_signed: Option<Option<PathBuf>>,

    /// Scheme of the URLs in answers, for a server behind a TLS front
    #[arg(long, value_enum, default_value_t = SchemeArg::Http)]
    public_scheme: SchemeArg,

    /// A proxy whose X-Forwarded-Proto and X-Forwarded-For are believed; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    trusted_proxy: Vec<IpAddr>,

    /// Port on loopback for health, metrics and other lazuli commands [default: 10009, or a free one if it is taken;
    /// none with memory:]
    #[arg(long, value_name = "PORT")]
    admin_port: Option<u16>,

    /// Seconds for which the name of a deleted table stays blocked
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    table_name_hold: u32,

    /// Seconds after which a query returns what it has, with a continuation
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = up_to(SECONDS_MAX))]
    query_time: u32,

    /// Write one line a request to standard error
    #[arg(long)]
    log_requests: bool,

    /// Directory of the request logs that service properties switch on [default: analytics in the data directory]
    #[arg(long, value_name = "DIR")]
    analytics_dir: Option<PathBuf>,

    /// How the log looks
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Print nothing but errors
    #[arg(short = 'q', long, visible_alias = "silent", short_alias = 's')]
    quiet: bool,

    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,

    #[command(flatten, next_help_heading = "Bearer tokens (OAuth), off unless an issuer is named")]
    oauth: OauthArgs,

    #[command(flatten)]
    azurite: AzuriteArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DurabilityArg {
    /// When it is on stable storage.
    Full,
    /// When the operating system has it: for throw-away data.
    Relaxed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemeArg {
    Http,
    Https,
}

impl Serve {
    /// Runs the server until a signal ends it.
    pub fn run(self) -> Result<ExitCode, String> {
        log::start(self.log_format, self.quiet);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
        let ended = runtime.block_on(self.serve());
        // After a second signal nobody waits for what may still run.
        runtime.shutdown_background();
        ended
    }

    async fn serve(self) -> Result<ExitCode, String> {
        let mut hangup = signal(SignalKind::hangup()).map_err(|error| error.to_string())?;
        if let Some(mistake) = self.mistakes().first() {
            return Err(mistake.to_string());
        }
        let url = self.engine_url();
        let mut config = self.config(&url);
        let mut given = self.accounts(config.table.ip())?;
        for account in &mut given {
            account.yields = account.is_development();
        }
        let durability = match self.durability {
            DurabilityArg::Full => Durability::Full,
            DurabilityArg::Relaxed => Durability::Relaxed,
        };
        if self.durability == DurabilityArg::Relaxed && self.quiet {
            tell!("lazuli: RELAXED durability, a crash of the machine may lose the last moments");
        }
        let cache = self.cache_mib.map_or_else(memory::cache_bytes, |mib| u64::from(mib) * 1024 * 1024);
        // From here on a signal is not lost, however early it comes.
        let mut signals = Signals::new().map_err(|error| error.to_string())?;
        let engine = engine::open(&url, durability, Some(cache)).await.map_err(|error| match error {
            EngineError::InUse(why) | EngineError::Failed(why) => why,
        })?;
        config.tls = self.certificate(&url, config.table.ip())?;
        let running =
            lazuli_server::start(config, engine, given.clone()).await.map_err(|error| hinted(&error))?;
        let served = |account: &GivenAccount| running.frontend().directory().is_given(&account.name);
        if !given.iter().all(served) {
            given.retain(served);
            tell!(
                "lazuli: the store keeps an account {DEVELOPMENT_ACCOUNT}: its own keys are valid, the public one is not"
            );
        }
        if !self.quiet {
            self.greet(&url, &running, &given);
        } else if self.table_port == 0 {
            // Nobody could find it otherwise.
            say!("{}://{}", scheme(&running), running.table);
        }
        reload::until_stopped(&running, &mut hangup, &mut signals).await;
        if !self.quiet {
            // The terminal may be gone.
            let _ = writeln!(
                std::io::stderr(),
                "lazuli: finishing what is in flight; a second signal stops at once"
            );
        }
        tokio::select! {
            closed = running.stop() => closed.map_err(|error| error.to_string())?,
            () = signals.next() => return Ok(ExitCode::from(130)),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The port of the admin listener, if one was named.
    pub fn admin_port(&self) -> Option<u16> {
        self.admin_port.filter(|port| *port != 0)
    }

    /// Where the data lives.
    pub fn engine_url(&self) -> EngineUrl {
        match (&self.engine, &self.location) {
            (Some(url), _) => url.clone(),
            (None, _) if self.azurite.in_memory => EngineUrl::Memory,
            (None, Some(path)) => EngineUrl::File(path.clone()),
            (None, None) => EngineUrl::File(LOCATION.into()),
        }
    }

    fn config(&self, url: &EngineUrl) -> Config {
        let host = self.azurite.table_host.unwrap_or(self.host);
        let mut config = Config::new(SocketAddr::new(host, self.table_port));
        config.admin_file = url.directory().map(|path| path.join(lazuli_server::admin::FILE));
        config.admin = match (self.admin_port, url) {
            (Some(port), _) => AdminPort::Exactly(port),
            (None, EngineUrl::File(_) | EngineUrl::Postgres(_)) => AdminPort::Preferably(ADMIN_PORT),
            (None, EngineUrl::Memory) => AdminPort::Off,
        };
        config.public_scheme = match self.public_scheme {
            SchemeArg::Http => Scheme::Http,
            SchemeArg::Https => Scheme::Https,
        };
        config.trusted_proxies.clone_from(&self.trusted_proxy);
        config.limits = self.limits.limits();
        config.rates = self.limits.rates();
        config.oauth = self.oauth.settings();
        config.query_time_max = Duration::from_secs(self.query_time.into());
        config.name_hold = Duration::from_secs(self.table_name_hold.into());
        let analytics = || url.directory().map(|path| path.join(lazuli_server::analytics::DIRECTORY));
        config.analytics = self.analytics_dir.clone().or_else(analytics);
        config.log_requests = self.log_requests || self.azurite.debug.is_some();
        config
    }

    /// The certificate that was named, if one was.
    fn named_certificate(&self) -> Option<Files> {
        let (certificate, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(Files { certificate, key })
    }

    /// The certificate to serve with. One of our own making is written only when the data directory is ours.
    fn certificate(&self, url: &EngineUrl, address: IpAddr) -> Result<Option<Files>, String> {
        if let Some(named) = self.named_certificate() {
            return Ok(Some(named));
        }
        let Some(wanted) = &self.self_signed else { return Ok(None) };
        let Some(directory) = wanted.as_deref().or(url.directory()) else {
            return Err("this engine has no directory for a certificate: say --self-signed=DIR".into());
        };
        let made = self_signed::ensure(directory, address);
        made.map(Some).map_err(|error| format!("no certificate in {}: {error}", directory.display()))
    }

    /// The accounts of the environment, or else the development account where it is safe.
    fn accounts(&self, host: IpAddr) -> Result<Vec<GivenAccount>, String> {
        if let Some(given) = accounts_of_environment()? {
            for weak in given.iter().filter(|account| account.is_weak) {
                tell!(
                    "lazuli: warning: a key of account '{}' has fewer than {KEY_BYTES_MIN} bytes and can be guessed",
                    weak.name
                );
            }
            return Ok(given);
        }
        if host.is_loopback() || self.dev_account {
            return Ok(vec![GivenAccount::development()]);
        }
        if self.azurite.table_host.is_some() {
            tell!(
                "lazuli: warning: the development account, whose key is public, can be used by everyone who reaches {host}"
            );
            return Ok(vec![GivenAccount::development()]);
        }
        tell!(
            "lazuli: the development account is not served on {host}, since its key is public (--dev-account serves it all the same)"
        );
        Ok(Vec::new())
    }

    /// Says where it listens and how to connect. Nobody need read it: a closed standard output is no reason to stop.
    fn greet(&self, url: &EngineUrl, running: &Running, given: &[GivenAccount]) {
        for notice in self.azurite.notices() {
            tell!("lazuli: {notice}");
        }
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(self.greeting(url, running, given).as_bytes());
        let _ = out.flush();
    }

    fn greeting(&self, url: &EngineUrl, running: &Running, given: &[GivenAccount]) -> String {
        let (scheme, table) = (scheme(running), running.table);
        let version = env!("CARGO_PKG_VERSION");
        let mut lines = vec![format!("Lazuli {version} serves tables on {scheme}://{table}")];
        lines.push(match (url, self.durability) {
            (EngineUrl::Memory, _) => "  data: in memory, gone when it stops".into(),
            (EngineUrl::Postgres(url), _) => format!("  data: {url}, which other servers may share"),
            (EngineUrl::File(path), DurabilityArg::Full) => {
                format!("  data: {}; every answer waits for the disk", path.display())
            }
            (EngineUrl::File(path), DurabilityArg::Relaxed) => format!(
                "  data: {}; RELAXED durability, a crash of the machine may lose the last moments",
                path.display()
            ),
        });
        // Other commands find it by the data directory, if there is one.
        if let Some(admin) = running.admin.filter(|_| url.directory().is_none()) {
            lines.push(format!("  health and metrics: http://{admin}/readyz, /metrics"));
        }
        if let Some(files) = running.certificate().filter(|_| self.self_signed.is_some()) {
            lines.push(format!(
                "  certificate, signed by itself: clients must trust {} (SSL_CERT_FILE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS, curl --cacert)",
                files.certificate.display()
            ));
        }
        // An address that stands for all of them is not one to connect to.
        let host = if table.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { table.ip() };
        let reachable = SocketAddr::new(host, table.port());
        for account in given {
            if account.is_development() {
                lines.push(
                    "  connection string, to paste (the key is the public one of the development account):"
                        .into(),
                );
                lines.push(format!(
                    "DefaultEndpointsProtocol={scheme};AccountName={DEVELOPMENT_ACCOUNT};AccountKey={DEVELOPMENT_KEY};TableEndpoint={scheme}://{reachable}/{DEVELOPMENT_ACCOUNT};"
                ));
            } else {
                lines.push(format!("  endpoint of account {0}: {scheme}://{reachable}/{0}", account.name));
            }
        }
        if given.is_empty() {
            lines.push("  accounts: those kept in the store; see lazuli account --help".into());
        }
        lines.join("\n") + "\n"
    }
}

/// Why the server did not start, and what may help.
fn hinted(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!("{error}; is a server running? --table-port and --admin-port choose other ports")
        }
        _ => error.to_string(),
    }
}

/// The accounts that a variable gives, if one does.
fn accounts_of_environment() -> Result<Option<Vec<GivenAccount>>, String> {
    for variable in ["LAZULI_ACCOUNTS", "AZURITE_ACCOUNTS"] {
        // A CI file may pass on a variable that is not set: then it is empty.
        if let Some(text) = std::env::var(variable).ok().filter(|text| !text.is_empty()) {
            return parse_accounts(&text).map(Some).map_err(|why| format!("{variable}: {why}"));
        }
    }
    Ok(None)
}

fn scheme(running: &Running) -> &'static str {
    if running.certificate().is_some() { "https" } else { "http" }
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
