//! Which tables a command works on: those of a server, or those in the store of a server that is stopped.
//!
//! Both are reached through the same client: a store that is opened directly is asked without a socket, and answers as a
//! server would.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::Args;
use lazuli_client::{Account, Credential, ErrorKind, HttpOptions, TableService};
use lazuli_embedded::Embedded;
use lazuli_engine::Engine;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, is_account_name};
use lazuli_store::Durability;
use serde_json::{Value as Json, json};

use crate::engine_url::{self, EngineError};
use crate::runtime;

/// Where the connection string is found if no flag gives it.
const VARIABLE: &str = "AZURE_STORAGE_CONNECTION_STRING";
const DEVELOPMENT: &str = "UseDevelopmentStorage=true";

/// Exit codes, told in the help of the commands.
const NOT_FOUND: u8 = 3;
const CONFLICT: u8 = 4;
const FORBIDDEN: u8 = 5;
const UNREACHABLE: u8 = 6;

/// What the help of every command that uses a [`Target`] ends with.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 exists already or was changed meanwhile,
5 not allowed, 6 no answer";

/// Which tables.
#[derive(Args)]
pub struct Target {
    /// Connection string, or URL with a shared access signature [default: that of the environment variable
    /// AZURE_STORAGE_CONNECTION_STRING, else UseDevelopmentStorage=true]
    #[arg(short, long, value_name = "STRING", conflicts_with = "location")]
    connection_string: Option<String>,

    /// The store in this directory, of a server that is stopped
    #[arg(short, long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Account in that store
    #[arg(long, value_name = "NAME", requires = "location", default_value = DEVELOPMENT_ACCOUNT)]
    account: String,

    /// Root certificates (PEM) to trust besides those of the machine
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Asking does not make a store.
    #[arg(skip)]
    may_create: bool,
}

/// Why a command failed.
pub enum Fault {
    /// Something of our own.
    Said(String),
    /// What the client found.
    Told(lazuli_client::Error),
    /// Nobody reads what is printed any more.
    NobodyListens,
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Fault::Said(text)
    }
}

impl From<lazuli_client::Error> for Fault {
    fn from(error: lazuli_client::Error) -> Self {
        Fault::Told(error)
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Fault::NobodyListens,
            _ => Fault::Said(error.to_string()),
        }
    }
}

impl Fault {
    fn code(&self) -> u8 {
        let Fault::Told(error) = self else { return 1 };
        match (error.kind(), error.status()) {
            (ErrorKind::Transport | ErrorKind::Deadline, _) => UNREACHABLE,
            _ if error.is_not_found() => NOT_FOUND,
            _ if error.is_conflict() || error.is_precondition_failed() => CONFLICT,
            (_, Some(401 | 403)) => FORBIDDEN,
            _ => 1,
        }
    }

    /// Was the work interrupted rather than refused?
    pub fn may_pass(&self) -> bool {
        let Fault::Told(error) = self else { return false };
        self.code() == UNREACHABLE || error.status().is_some_and(|status| status >= 500)
    }

    fn show(&self, endpoint: &str) {
        match self {
            Fault::Said(text) => tell!("lazuli: {text}"),
            Fault::Told(error) if self.code() == UNREACHABLE => {
                tell!("lazuli: no answer from {endpoint}: {error}");
                if let Some(hint) = hint(&error.to_string()) {
                    tell!("lazuli: {hint}");
                }
            }
            Fault::Told(error) => tell!("lazuli: {error}"),
            Fault::NobodyListens => {}
        }
    }
}

/// What to do about a connection that could not be made.
fn hint(error: &str) -> Option<&'static str> {
    let hints = [
        (
            "UnknownIssuer",
            "nobody here trusts that certificate: name it, or the root that has signed it, with --ca-file FILE",
        ),
        (
            "NotValidForName",
            "the certificate is for another name: use the one that it is for in the endpoint",
        ),
        ("Expired", "the certificate is too old"),
        (
            "InvalidContentType",
            "the server does not speak TLS there: is the endpoint http:// rather than https://?",
        ),
        (
            "Connection refused",
            "nobody listens there: is the server running (lazuli serve), and is the port right?",
        ),
    ];
    hints.into_iter().find(|(sign, _)| error.contains(sign)).map(|(_, hint)| hint)
}

/// An exit code for an answer that is no error.
pub fn found(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) }
}

impl Target {
    /// The same, and a directory that is not there becomes a new store.
    pub fn or_new(mut self) -> Self {
        self.may_create = true;
        self
    }

    /// Is it a store that is opened here, without a server?
    pub fn is_direct(&self) -> bool {
        self.location.is_some()
    }

    /// What tells these tables from all others, for work that was interrupted and goes on: every store that is opened here
    /// has the same endpoint, so it is named by where it lies, and by the file that it began with. To be asked while the
    /// store is open.
    pub fn identity(&self, service: &TableService) -> Result<Json, Fault> {
        let endpoint = service.endpoint().as_str();
        let Some(location) = &self.location else { return Ok(endpoint.into()) };
        let told = |error: std::io::Error| Fault::Said(format!("{}: {error}", location.display()));
        let place = location.canonicalize().map_err(told)?;
        let first = std::fs::metadata(place.join(lazuli_store::FORMAT_FILE)).map_err(told)?;
        // Not every file system knows when a file was made; a change of its owner or mode then makes it another one.
        let born = first.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or_else(
            || format!("{}.{:09}", first.ctime(), first.ctime_nsec()),
            |time| format!("{}.{:09}", time.as_secs(), time.subsec_nanos()),
        );
        Ok(
            json!({ "account": endpoint, "store": place.to_string_lossy(), "file": first.ino(), "born": born }),
        )
    }

    /// Does the work with a client of these tables; errors are told, and are the exit code.
    pub fn run(
        &self,
        work: impl AsyncFnOnce(&TableService) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, String> {
        self.run_over(|engine| engine, work)
    }

    /// The same, with something between the client and a store that is opened here.
    pub fn run_over(
        &self,
        between: impl FnOnce(Arc<dyn Engine>) -> Arc<dyn Engine>,
        work: impl AsyncFnOnce(&TableService) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, String> {
        runtime::one_thread()?.block_on(async {
            let (service, engine) = self.open(between)?;
            let done = work(&service).await;
            if let Some(engine) = engine {
                drop(service);
                engine.close().await.map_err(|error| error.to_string())?;
                return Ok(settle(done, "the store"));
            }
            Ok(settle(done, service.endpoint().as_str()))
        })
    }

    fn open(
        &self,
        between: impl FnOnce(Arc<dyn Engine>) -> Arc<dyn Engine>,
    ) -> Result<(TableService, Option<Arc<dyn Engine>>), String> {
        let Some(location) = &self.location else {
            return Ok((self.connect().map_err(|error| error.to_string())?, None));
        };
        if !is_account_name(&self.account) {
            return Err(format!("'{}' is not an account name", self.account));
        }
        if !self.may_create && !location.exists() {
            return Err(engine_url::no_store(location));
        }
        let opened = engine_url::open_store(location, Durability::Full, None);
        let engine = opened.map_err(|error| match error {
            EngineError::InUse(text) => format!("{text}; stop it, or talk to it: leave --location out"),
            EngineError::Failed(text) => text,
        })?;
        let engine = between(engine);
        let service = direct(engine.clone(), &self.account).map_err(|error| error.to_string())?;
        Ok((service, Some(engine)))
    }

    fn connect(&self) -> lazuli_client::Result<TableService> {
        let text = self.connection_string.clone().or_else(connection_string_of_environment);
        let text = text.as_deref().map_or(DEVELOPMENT, str::trim);
        let account = if text.starts_with("http://") || text.starts_with("https://") {
            Account::from_sas_url(text)?
        } else {
            text.parse()?
        };
        let mut options = HttpOptions::default();
        if let Some(file) = &self.ca_file {
            let roots = std::fs::read(file)
                .map_err(|error| lazuli_client::Error::input(format!("{}: {error}", file.display())))?;
            options.extra_roots_pem = Some(roots);
        }
        TableService::builder(account).http(options).build()
    }
}

/// The connection string that the environment gives, if it gives one.
pub fn connection_string_of_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())
}

/// A client of an engine in this process, for any account: it is given one with a key that nobody else knows of.
pub fn direct(engine: Arc<dyn Engine>, account: &str) -> lazuli_client::Result<TableService> {
    let transport = Embedded::for_account(engine, account)
        .map_err(|error| lazuli_client::Error::input(error.to_string()))?;
    let endpoint = format!("http://embedded/{account}").parse()?;
    let credential = Credential::shared_key(lazuli_server::accounts::DEVELOPMENT_KEY)?;
    TableService::builder(Account::new(account, endpoint, credential)).transport(transport).build()
}

fn settle(done: Result<ExitCode, Fault>, endpoint: &str) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(Fault::NobodyListens) => ExitCode::SUCCESS,
        Err(fault) => {
            fault.show(endpoint);
            ExitCode::from(fault.code())
        }
    }
}
