//! `lazuli serve`: starts the server and waits for a signal.

mod accounts;
mod azurite;
mod greeting;
mod limits;
mod mistakes;
mod settings;
mod signals;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};
use lazuli_server::Ports;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, GivenAccount};
use lazuli_server::ports::{PortError, Purpose};
use tokio::signal::unix::{SignalKind, signal};

use crate::engine_url::{self, EngineUrl};
use crate::log::{self, LogFormat};
use crate::oauth::OauthArgs;
use crate::runtime;
use azurite::AzuriteArgs;
use greeting::scheme;
use limits::LimitArgs;
use signals::Signals;

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
        let runtime = runtime::many_threads()?;
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
        if self.durability == DurabilityArg::Relaxed && self.quiet {
            tell!("lazuli: RELAXED durability, a crash of the machine may lose the last moments");
        }
        // From here on a signal is not lost, however early it comes.
        let mut signals = Signals::new().map_err(|error| error.to_string())?;
        // Before the data: a port that is in use must not leave an empty store behind.
        let ports = Ports::take(&config).map_err(|error| hinted(&error))?;
        let engine = engine_url::open(&url, self.durability.into(), Some(self.cache_bytes())).await?;
        config.tls = self.certificate(&url, config.table.ip())?;
        let running = lazuli_server::start_on(ports, config, engine, given.clone())
            .await
            .map_err(|error| error.to_string())?;
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
        signals::until_stopped(&running, &mut hangup, &mut signals).await;
        if !self.quiet {
            tell!("lazuli: finishing what is in flight; a second signal stops at once");
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
}

/// Why a port cannot be had, and what may help.
fn hinted(error: &PortError) -> String {
    let flag = match error.purpose {
        Purpose::Table => "--table-port",
        Purpose::Admin => "--admin-port",
    };
    match error.source.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{error}; is a server running there already? {flag} chooses another port, and 0 any that is free"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("{error}; --host takes an address of this machine, or 0.0.0.0 for all of them")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{error}; ports below 1024 need a privilege, and {flag} chooses another")
        }
        _ => error.to_string(),
    }
}
