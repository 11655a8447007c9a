//! The account that a command works on: on a server, or in the store of a stopped server.
//!
//! Both are reached with the same requests: a store that is opened directly responds as a server would.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::Args;
use lazuli_client::{Account, Credential, HttpOptions, TableService};
use lazuli_embedded::Embedded;
use lazuli_engine::Engine;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, is_account_name};
use serde_json::{Value as Json, json};

use crate::engine_url::{self, EngineError};
use crate::fault::{Fault, settle};
use crate::runtime;

/// The environment variable with the connection string, used if no flag sets it.
const VARIABLE: &str = "AZURE_STORAGE_CONNECTION_STRING";
const DEVELOPMENT: &str = "UseDevelopmentStorage=true";

/// Which account.
#[derive(Args)]
pub struct Target {
    /// Connection string, or URL with a shared access signature [default: that in the environment variable
    /// AZURE_STORAGE_CONNECTION_STRING, else UseDevelopmentStorage=true]
    #[arg(short, long, value_name = "STRING", conflicts_with = "location")]
    connection_string: Option<String>,

    /// Use the store in this directory; its server must be stopped
    #[arg(short, long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Account in that store
    #[arg(long, value_name = "NAME", requires = "location", default_value = DEVELOPMENT_ACCOUNT)]
    account: String,

    /// Root certificates (PEM) to trust in addition to those of the machine
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Should the store be created if there is none? Commands that only read do not create it.
    #[arg(skip)]
    may_create: bool,
}

impl Target {
    /// Lets the command create a store in a directory that does not exist.
    pub fn or_new(mut self) -> Self {
        self.may_create = true;
        self
    }

    /// Is it a store that this process opens, without a server?
    pub fn is_direct(&self) -> bool {
        self.location.is_some()
    }

    /// Identifies the account's tables, so that an interrupted transfer is not resumed against other ones; see
    /// [`Target::identity_of`].
    pub fn identity(&self, service: &TableService) -> Result<Json, Fault> {
        self.identity_of(service.endpoint().as_str())
    }

    /// Identifies the account at an endpoint. All stores that are opened directly have the same endpoint, so
    /// they are identified by the directory and by the file that was created first in it. Call this while the
    /// store is open.
    pub fn identity_of(&self, endpoint: &str) -> Result<Json, Fault> {
        let Some(location) = &self.location else { return Ok(endpoint.into()) };
        let failed = |error: std::io::Error| Fault::Message(format!("{}: {error}", location.display()));
        let directory = location.canonicalize().map_err(failed)?;
        let first = std::fs::metadata(directory.join(lazuli_store::FORMAT_FILE)).map_err(failed)?;
        // Some file systems do not record creation times. The time of the last change of the owner or mode is
        // the next best.
        let born = first.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or_else(
            || format!("{}.{:09}", first.ctime(), first.ctime_nsec()),
            |time| format!("{}.{:09}", time.as_secs(), time.subsec_nanos()),
        );
        let account = format!("{}/{}", EMBEDDED, self.account);
        Ok(
            json!({ "account": account, "store": directory.to_string_lossy(), "file": first.ino(), "born": born }),
        )
    }

    /// Runs `work` with a client of the account's tables. Prints an error, and returns the exit code.
    pub fn run(
        &self,
        work: impl AsyncFnOnce(&TableService) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, String> {
        self.run_over(|engine| engine, work)
    }

    /// The same, with a layer between the client and a store that is opened here.
    pub fn run_over(
        &self,
        between: impl FnOnce(Arc<dyn Engine>) -> Arc<dyn Engine>,
        work: impl AsyncFnOnce(&TableService) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, String> {
        runtime::one_thread()?.block_on(async {
            let Some(engine) = self.engine()? else {
                let service = self.connect().map_err(|error| error.to_string())?;
                return Ok(settle(work(&service).await, service.endpoint().as_str()));
            };
            let engine = between(engine);
            let service = direct(engine.clone(), &self.account).map_err(|error| error.to_string())?;
            let done = work(&service).await;
            drop(service);
            engine.close().await.map_err(|error| error.to_string())?;
            Ok(settle(done, "the store"))
        })
    }

    /// The account in the store, if the target is one.
    pub fn direct_account(&self) -> &str {
        &self.account
    }

    /// Opens the store, if the target is one.
    pub fn engine(&self) -> Result<Option<Arc<dyn Engine>>, String> {
        let Some(location) = &self.location else { return Ok(None) };
        if !is_account_name(&self.account) {
            return Err(format!("'{}' is not an account name", self.account));
        }
        if !self.may_create && !location.exists() {
            return Err(engine_url::no_store(location));
        }
        let opened = engine_url::open_store(location, engine_url::StoreSettings::default());
        let engine = opened.map_err(|error| match error {
            EngineError::InUse(text) => {
                format!("{text}; stop it, or omit --location to send requests to it")
            }
            EngineError::Failed(text) => text,
        })?;
        Ok(Some(engine))
    }

    /// The connection string: that of the flag, or of the environment, or else that of the development account.
    pub fn connection_string(&self) -> String {
        let text = self.connection_string.clone().or_else(connection_string_of_environment);
        text.map_or_else(|| DEVELOPMENT.to_owned(), |text| text.trim().to_owned())
    }

    fn connect(&self) -> lazuli_client::Result<TableService> {
        let text = self.connection_string();
        let account = if is_url(&text) { Account::from_sas_url(&text)? } else { text.parse()? };
        let mut options = HttpOptions::default();
        if let Some(file) = &self.ca_file {
            let roots = std::fs::read(file)
                .map_err(|error| lazuli_client::Error::input(format!("{}: {error}", file.display())))?;
            options.extra_roots_pem = Some(roots);
        }
        TableService::builder(account).http(options).build()
    }
}

/// Endpoint of a store that is opened directly.
const EMBEDDED: &str = "http://embedded";

/// Is it a URL rather than a connection string?
pub fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// The connection string in the environment, if there is one.
pub fn connection_string_of_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())
}

/// A client of an engine in this process, for an account of any name. Only this process can use its key.
pub fn direct(engine: Arc<dyn Engine>, account: &str) -> lazuli_client::Result<TableService> {
    let transport = Embedded::for_account(engine, account)
        .map_err(|error| lazuli_client::Error::input(error.to_string()))?;
    let endpoint = format!("{EMBEDDED}/{account}").parse()?;
    let credential = Credential::shared_key(lazuli_server::accounts::DEVELOPMENT_KEY)?;
    TableService::builder(Account::new(account, endpoint, credential)).transport(transport).build()
}
