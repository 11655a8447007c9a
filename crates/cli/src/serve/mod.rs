//! `lazuli serve`: starts the server and waits for a signal.

mod accounts;
mod azurite;
mod blobs;
mod greeting;
mod hint;
mod limits;
mod mistakes;
mod seed;
mod settings;
mod signals;
mod supervisor;

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};
use lazuli_model::Service;
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_ACCOUNT};
use lazuli_server::{Config, Ports};
use tokio::signal::unix::{SignalKind, signal};

use crate::azurite::Program;
use crate::engine_url::{self, EngineUrl};
use crate::log::{self, LogFormat, LogLevel};
use crate::oauth::OauthArgs;
use crate::runtime;
use azurite::AzuriteArgs;
use blobs::BlobArgs;
use greeting::scheme;
use hint::hinted;
use limits::LimitArgs;
use signals::Signals;
use supervisor::Supervisor;

/// The services that are served by default.
pub const SERVICES: &[Service] = &Service::ALL;
/// Default port of the admin listener.
pub const ADMIN_PORT: u16 = 10009;
/// The address of the web console.
pub const CONSOLE_PORT: u16 = 10003;
/// Default data directory.
pub const LOCATION: &str = "lazuli-data";

// Maximum values of flags: larger ones are useless and could overflow.
const CACHE_MIB_MAX: i64 = 16 * 1024 * 1024;
const SECONDS_MAX: i64 = 365 * 24 * 60 * 60;

fn up_to(max: i64) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=max)
}

/// Parses an address. The only host name that is accepted is localhost.
fn parse_host(text: &str) -> Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    text.parse().map_err(|_| "neither an IP address nor localhost".into())
}

fn parse_service(text: &str) -> Result<Service, String> {
    let found = Service::ALL.into_iter().find(|service| service.label() == text.trim().trim_end_matches('s'));
    found.ok_or_else(|| "expected blob, queue or table".into())
}

/// Start the server.
///
/// Serves the development account on loopback: applications need only `UseDevelopmentStorage=true`. Every change is on disk before
/// it is acknowledged.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("tls_secret").multiple(true), after_help = "\
Examples:
  lazuli                                         all services on 127.0.0.1, data in ./lazuli-data
  lazuli serve --create table:People,queue:jobs,container:files:public
  lazuli serve --engine memory: --table-port 0   temporary data on free ports, which are printed
  lazuli serve --location /var/lib/lazuli        data in a directory of your choice
  lazuli serve --engine 'postgres://lazuli@db1,db2,db3/lazuli?sslmode=verify-full'   one of many
  lazuli serve --engine postgres://lazuli@db/lazuli --content 's3://blobs?endpoint=http://s3:8333'
  LAZULI_ACCOUNTS='shop:BASE64KEY' lazuli serve --host 0.0.0.0
  lazuli serve --self-signed                     https with a self-signed certificate
  lazuli serve --host 0.0.0.0 --tls-cert /etc/lazuli/chain.pem --tls-key /etc/lazuli/key.pem
  lazuli serve --account-rate 2000 --partition-rate 500   503 ServerBusy beyond, as in Azure
  lazuli serve --oauth dev                       accepts the tokens of `lazuli token`
  lazuli serve --self-signed --oauth-issuer https://login.example.org/T \\
      --oauth-audience https://storage.azure.com --oauth-jwks jwks.json
  kill -HUP PID                                  reloads certificates; connections stay open

SIGTERM and SIGINT finish requests in flight and stop; a second signal stops the server immediately.
SIGHUP reloads the certificate and the keys for bearer tokens; it never stops the server.

Every flag is also an environment variable (--table-port is LAZULI_TABLE_PORT) and a key of the
configuration file: see lazuli config --help. Keep passwords there, not on the command line, which
other users can see.

Azurite's flags work, too: hosts and ports, -l, --inMemoryPersistence, --silent, --debug FILE,
--oauth basic, --cert with --key (PEM) or with --pwd (PFX), --disableProductStyleUrl. Azurite's
other flags are accepted and have no effect; Lazuli names them in a notice. `lazuli azurite` takes
the same flags and prints Azurite's ready lines; lazuli azurite --help lists them.")]
pub struct Serve {
    /// Read settings from this file [default: ./lazuli.toml or /etc/lazuli/lazuli.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = parse_host)]
    host: IpAddr,

    /// Port of the Blob service [default: 10000]
    #[arg(long, alias = "blobPort", value_name = "PORT")]
    blob_port: Option<u16>,

    /// Port of the Queue service [default: 10001]
    #[arg(long, alias = "queuePort", value_name = "PORT")]
    queue_port: Option<u16>,

    /// Port of the Table service [default: 10002]; 0 picks and prints a free port, and services without a port setting
    /// then get free ports too
    #[arg(long, alias = "tablePort", value_name = "PORT")]
    table_port: Option<u16>,

    /// Port of static websites by path, http://HOST:PORT/ACCOUNT/; 0 picks a free port [default: none; by host name,
    /// ACCOUNT.web.HOST, websites are served on the port of the Blob service]
    #[arg(long, value_name = "PORT")]
    web_port: Option<u16>,

    /// Services to serve: a list of blob, queue and table [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_service)]
    services: Vec<Service>,

    #[command(flatten)]
    blobs: BlobArgs,

    /// Accept only requests whose Host is this name or an IP address; `.example.org` allows all names below it;
    /// may be repeated
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,

    /// Data directory, created if it does not exist; short for --engine file:DIR [default: lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR", conflicts_with = "engine")]
    location: Option<PathBuf>,

    /// Storage engine: file:DIR; memory:, which stores nothing on disk; or postgres://…, a database that servers share
    #[arg(long, value_name = "URL")]
    engine: Option<EngineUrl>,

    /// Object store for the content of blobs, with a database engine: s3://BUCKET[/PREFIX]?endpoint=URL, an
    /// S3-compatible store. Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from a file
    /// specified with credentials= [default: the database itself]
    #[arg(long, value_name = "URL")]
    content: Option<lazuli_objects::ObjectsUrl>,

    /// Defines when a change is acknowledged; with relaxed, a crash of the machine may lose the last changes
    #[arg(long, value_enum, default_value_t = DurabilityArg::Full)]
    durability: DurabilityArg,

    /// Start even if acknowledged data is missing, for example after disk damage; read the error first, and pass this flag
    /// only once
    #[arg(long)]
    accept_data_loss: bool,

    /// Memory for caches in MiB, half for blocks of files and half for rows [default: 1/32 of the memory of the
    /// machine or container, between 64 and 256]
    #[arg(long, value_name = "MIB", value_parser = up_to(CACHE_MIB_MAX))]
    cache_mib: Option<u32>,

    /// Create these at startup if they do not exist: table:NAME, queue:NAME, container:NAME or container:NAME:public, separated by
    /// commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = seed::Item::parse)]
    create: Vec<seed::Item>,

    /// Fill tables, queues and containers from the files in this directory at startup
    #[arg(long, value_name = "DIR")]
    seed: Option<PathBuf>,

    /// Serve the development account, whose key is public, even if other machines can reach the server
    #[arg(long)]
    dev_account: bool,

    /// Certificate chain (PEM), or certificate and key in a PFX file: serve https only; reloaded on SIGHUP
    #[arg(long, alias = "cert", value_name = "FILE", requires = "tls_secret")]
    tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the certificate
    #[arg(long, alias = "key", value_name = "FILE", requires = "tls_cert", group = "tls_secret")]
    tls_key: Option<PathBuf>,

    /// Password of the PFX file (PKCS#12); prefer the environment variable LAZULI_TLS_PASSWORD or the configuration file
    #[arg(long, alias = "pwd", value_name = "PASSWORD", requires = "tls_cert", group = "tls_secret")]
    tls_password: Option<String>,

    /// Serve https with a self-signed certificate, created once and kept in DIR [default: the data directory]
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "tls_cert"
    )]
    self_signed: Option<Option<PathBuf>>,

    /// Scheme of the URLs in responses, for a server behind a TLS proxy
    #[arg(long, value_enum, default_value_t = SchemeArg::Http)]
    public_scheme: SchemeArg,

    /// Trust X-Forwarded-Proto and X-Forwarded-For of this proxy; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    trusted_proxy: Vec<IpAddr>,

    /// Port on loopback for health, metrics and other lazuli commands [default: 10009, or a free one if it is taken;
    /// none with memory:]
    #[arg(long, value_name = "PORT")]
    admin_port: Option<u16>,

    /// Address that the web console listens on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = parse_host)]
    console_host: IpAddr,

    /// Port of the web console [default: 10003, or a free one if it is taken]
    #[arg(long, value_name = "PORT", conflicts_with = "no_console")]
    console_port: Option<u16>,

    /// Serve no web console
    #[arg(long)]
    no_console: bool,

    /// Make the web console read-only: its listener rejects requests that change something
    #[arg(long)]
    console_read_only: bool,

    /// Seconds for which the name of a deleted table stays blocked
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    table_name_hold: u32,

    /// Seconds after which a query or a listing of blobs returns its results so far, with a continuation
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = up_to(SECONDS_MAX))]
    query_time: u32,

    /// Log one line per request
    #[arg(long)]
    log_requests: bool,

    /// Directory with request logs of earlier versions, which become blobs in $logs [default: analytics in the data directory]
    #[arg(long, value_name = "DIR")]
    analytics_dir: Option<PathBuf>,

    /// Maximum size of all request logs in $logs together; beyond it, lines are dropped
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = up_to(CACHE_MIB_MAX))]
    analytics_quota_mib: u32,

    /// Format of the log
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Minimum level of events to log [default: info, or error with --quiet]
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<LogLevel>,

    /// Print errors only
    #[arg(short = 'q', long, visible_alias = "silent", short_alias = 's')]
    quiet: bool,

    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,

    #[command(flatten, next_help_heading = "Bearer tokens (OAuth), disabled unless an issuer is set")]
    oauth: OauthArgs,

    #[command(flatten)]
    azurite: AzuriteArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DurabilityArg {
    /// When it is on stable storage
    Full,
    /// When the operating system has it, for temporary data
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
        let file = self.azurite.debug_file().map(open_log).transpose()?;
        log::start(self.log_format, self.log_level(), file);
        let runtime = runtime::many_threads()?;
        let ended = runtime.block_on(self.serve());
        // After a second signal, do not wait for tasks that are still running.
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
        let mut given = self.accounts(self.host(&config))?;
        for account in &mut given {
            account.is_fallback = account.is_development();
        }
        if self.durability == DurabilityArg::Relaxed && self.quiet {
            tell!("lazuli: RELAXED durability: a crash of the machine may lose the last changes");
        }
        // From here on, no signal is lost.
        let mut signals = Signals::new().map_err(|error| error.to_string())?;
        // Bind the ports before opening the store: a port in use must not leave an empty store behind.
        let ports = Ports::take(&config).map_err(|error| hinted(&error))?;
        let is_on_disk = url.directory().is_some() && self.engine.is_none();
        let program = self.azurite.program.filter(|_| is_on_disk);
        let unserved = program.and_then(|program| program.unserved(self.location.as_deref()));
        let settings = engine_url::StoreSettings {
            durability: self.durability.into(),
            cache_bytes: Some(self.cache_bytes()),
            accept_data_loss: self.accept_data_loss,
        };
        let engine = engine_url::open(&url, self.content.as_ref(), settings).await?;
        self.seed(&engine, &config, &given).await?;
        config.tls = self.certificate(&url, self.host(&config))?;
        let running = lazuli_server::start_on(ports, config, engine, given.clone())
            .await
            .map_err(|error| error.to_string())?;
        let served = |account: &ConfiguredAccount| running.state().directory().is_given(&account.name);
        if !given.iter().all(served) {
            given.retain(served);
            tell!(
                "lazuli: the store has an account {DEVELOPMENT_ACCOUNT}: its own keys are valid, the public one is not"
            );
        }
        if let Some(notice) = unserved {
            tell!("lazuli: {notice}");
        }
        if let Some(program) = self.azurite.program {
            self.greet_as(program, &running);
        } else if !self.quiet {
            self.greet(&url, &running, &given);
        } else if self.picks_free_ports() {
            // Otherwise clients could not find it.
            for (_, address) in running.listen.iter() {
                say!("{}://{address}", scheme(&running));
            }
        }
        let supervisor = Supervisor::of_environment();
        // Continues while requests in flight are finished; it ends with the runtime.
        let _alive = supervisor.ready();
        signals::until_stopped(&running, &mut hangup, &mut signals).await;
        supervisor.stopping();
        let services: Vec<Service> = running.listen.iter().map(|(service, _)| service).collect();
        self.say_closing(&services);
        tokio::select! {
            closed = running.stop() => closed.map_err(|error| error.to_string())?,
            () = signals.next() => return Ok(ExitCode::from(130)),
        }
        self.say_closed(&services);
        Ok(ExitCode::SUCCESS)
    }

    fn log_level(&self) -> LogLevel {
        let default = match (self.azurite.debug_file(), self.quiet) {
            (Some(_), _) => LogLevel::Debug,
            (None, true) => LogLevel::Error,
            (None, false) => LogLevel::Info,
        };
        self.log_level.unwrap_or(default)
    }

    /// Does a flag request a free port?
    fn picks_free_ports(&self) -> bool {
        [self.blob_port, self.queue_port, self.table_port].contains(&Some(0))
    }

    /// The port of a service; `None` if it is not served.
    fn port(&self, service: Service) -> Option<u16> {
        let only = self.azurite.program.and_then(Program::service);
        let served = match &only {
            Some(service) => std::slice::from_ref(service),
            None if self.services.is_empty() => SERVICES,
            None => &self.services,
        };
        let given = match service {
            Service::Blob => self.blob_port,
            Service::Queue => self.queue_port,
            Service::Table => self.table_port,
        };
        // In Azurite, each port is on its own.
        let is_free = self.picks_free_ports() && self.azurite.program.is_none();
        let usual = if is_free { 0 } else { service.default_port() };
        served.contains(&service).then(|| given.unwrap_or(usual))
    }

    /// The preferred port of the web console. Servers on free ports do not compete for the default one.
    fn console_port(&self) -> u16 {
        self.console_port.unwrap_or(if self.picks_free_ports() { 0 } else { CONSOLE_PORT })
    }

    /// The address that determines whether others can reach the server.
    fn host(&self, config: &Config) -> IpAddr {
        let outside = config.listen.iter().map(|(_, address)| address.ip()).find(|ip| !ip.is_loopback());
        outside.unwrap_or(self.host)
    }

    /// The port of the first service that is served, if it is a fixed one.
    pub fn first_port(&self) -> Option<u16> {
        Service::ALL.into_iter().find_map(|service| self.port(service)).filter(|port| *port != 0)
    }

    /// The port of the admin listener, if one is set.
    pub fn admin_port(&self) -> Option<u16> {
        self.admin_port.filter(|port| *port != 0)
    }

    /// The storage engine.
    pub fn engine_url(&self) -> EngineUrl {
        match (&self.engine, &self.location) {
            (Some(url), _) => url.clone(),
            (None, _) if self.azurite.in_memory => EngineUrl::Memory,
            (None, path) => EngineUrl::File(match (self.azurite.program, path) {
                (Some(program), path) => program.store(path.as_deref()),
                (None, Some(path)) => path.clone(),
                (None, None) => LOCATION.into(),
            }),
        }
    }

    /// The database that `serve` would use, and the object store with its content; `None` if it would use
    /// another engine.
    pub fn database(self) -> Option<(EngineUrl, Option<lazuli_objects::ObjectsUrl>)> {
        let url = self.engine_url();
        matches!(url, EngineUrl::Postgres(_)).then_some((url, self.content))
    }
}

/// The log file that Azurite's --debug names. As in Azurite, its directory need not exist.
fn open_log(path: &Path) -> Result<File, String> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let created = directory.map_or(Ok(()), std::fs::create_dir_all);
    let opened = created.and_then(|()| File::options().create(true).append(true).open(path));
    opened.map_err(|error| format!("--debug: {}: {error}", path.display()))
}
