//! `lazuli account`: the accounts that are kept in the store.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, Subcommand};
use lazuli_server::accounts::is_account_name;
use serde_json::{Value, json};

use crate::admin::{self, Call};
use crate::config;
use crate::engine_url::{EngineUrl, no_store, whole};
use crate::serve::TABLE_PORT;

/// Behind the flags that a command has for itself.
const GLOBAL: usize = 100;

/// Add, list, change and remove accounts.
///
/// Accounts live in the store. If a server has the store open, it is asked, and the change is effective at once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli account add shop                  prints two keys and a connection string
  lazuli account list
  lazuli account rotate-key shop --key 2   replaces the second key; the old one is refused
  lazuli account https-only shop on        from now on requests by plain http are refused
  lazuli account list --engine postgres://lazuli@db/lazuli
  lazuli account remove shop               only when its tables are deleted")]
pub struct Account {
    /// Directory of the data [default: that of serve: LAZULI_LOCATION, or what the configuration file says, or else
    /// lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR", global = true, display_order = GLOBAL)]
    location: Option<PathBuf>,

    /// Where the data lives, if not in a directory: postgres://…
    #[arg(long, value_name = "URL", conflicts_with = "location", global = true, display_order = GLOBAL + 1)]
    engine: Option<EngineUrl>,

    /// Print JSON
    #[arg(long, global = true, display_order = GLOBAL + 2)]
    json: bool,

    #[command(subcommand)]
    command: AccountCommand,
}

#[derive(Subcommand)]
enum AccountCommand {
    /// Create an account with two keys, and print its connection string
    #[command(
        after_help = "Examples:\n  lazuli account add shop\n  lazuli account add blog --location ./lazuli-data --json"
    )]
    Add {
        /// 3 to 24 lower-case letters and digits
        #[arg(value_parser = account_name)]
        name: String,
        /// Use this key, in Base64, rather than a random one (needs --key2)
        #[arg(long, requires = "key2", value_name = "BASE64")]
        key1: Option<String>,
        /// The second key
        #[arg(long, requires = "key1", value_name = "BASE64")]
        key2: Option<String>,
        /// Refuse requests by plain http
        #[arg(long)]
        https_only: bool,
    },
    /// Show all accounts and their keys
    #[command(after_help = "Examples:\n  lazuli account list")]
    List,
    /// Give an account a new key
    #[command(after_help = "Examples:\n  lazuli account rotate-key shop --key 2")]
    RotateKey {
        /// The account
        #[arg(value_parser = account_name)]
        name: String,
        /// Which of its two keys: 1 or 2
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=2))]
        key: u8,
    },
    /// Refuse requests by plain http to an account, or serve them again
    #[command(after_help = "Examples:\n  lazuli account https-only shop on")]
    HttpsOnly {
        /// The account
        #[arg(value_parser = account_name)]
        name: String,
        /// on or off
        #[arg(value_parser = ["on", "off"])]
        wanted: String,
    },
    /// Remove an account that has no tables
    #[command(after_help = "Examples:\n  lazuli account remove shop")]
    Remove {
        /// The account
        #[arg(value_parser = account_name)]
        name: String,
    },
}

impl Account {
    /// Carries the command out.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let call = match &self.command {
            AccountCommand::Add { name, key1, key2, https_only } => {
                let mut account = json!({ "httpsOnly": https_only });
                if let (Some(key1), Some(key2)) = (key1, key2) {
                    account["keys"] = json!([key1, key2]);
                }
                Call { method: "POST", path: format!("/accounts/{name}"), body: account.to_string() }
            }
            AccountCommand::List => Call { method: "GET", path: "/accounts".into(), body: String::new() },
            AccountCommand::RotateKey { name, key } => {
                Call { method: "POST", path: format!("/accounts/{name}/keys/{key}"), body: String::new() }
            }
            AccountCommand::HttpsOnly { name, wanted } => {
                let path = format!("/accounts/{name}/https-only/{wanted}");
                Call { method: "POST", path, body: String::new() }
            }
            AccountCommand::Remove { name } => {
                Call { method: "DELETE", path: format!("/accounts/{name}"), body: String::new() }
            }
        };
        let url = match (self.engine, self.location) {
            (Some(url), _) => url,
            (None, Some(location)) => EngineUrl::File(location),
            (None, None) => config::usual_serve(root)?.engine_url(),
        };
        let adds = matches!(self.command, AccountCommand::Add { .. });
        let new_store = url.directory().filter(|location| !location.exists());
        if let Some(location) = new_store.filter(|_| !adds) {
            return Err(no_store(location));
        }
        let answer = admin::call(&url, &call)?;
        if let Some(location) = new_store {
            tell!("lazuli: there was no store in {}: it was made", whole(location).display());
        }
        if self.json {
            say!("{answer}");
        } else {
            show(&answer);
            if adds {
                show_connection(&answer);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The name becomes part of a path: nothing else may stand in it.
fn account_name(text: &str) -> Result<String, String> {
    if is_account_name(text) {
        return Ok(text.to_owned());
    }
    Err("not an account name: 3 to 24 lower-case letters and digits".into())
}

/// What an application is given to connect with.
pub fn connection_string(name: &str, key: &str, endpoint: &str) -> String {
    let scheme = endpoint.split(':').next().unwrap_or_default();
    format!("DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};TableEndpoint={endpoint};")
}

/// How to connect to a new account. A server that has the store open has told where; otherwise, and where the server stands
/// behind a front that speaks https, nobody here knows.
fn show_connection(account: &Value) {
    let name = text(account, "name");
    let known = account.get("endpoint").and_then(Value::as_str);
    let (told, endpoint) = match (known, is_https_only(account)) {
        (Some(endpoint), true) if endpoint.starts_with("http:") => {
            ("connection string, with the address of the https front in place of HOST:", None)
        }
        (Some(endpoint), _) => ("connection string:", Some(endpoint.to_owned())),
        (None, true) => ("connection string, with the address of the server in place of HOST:", None),
        (None, false) => (
            "connection string, for a server at its usual address (lazuli serve says where it listens):",
            Some(format!("http://127.0.0.1:{TABLE_PORT}/{name}")),
        ),
    };
    let endpoint = endpoint.unwrap_or_else(|| format!("https://HOST/{name}"));
    let key = account.pointer("/keys/0").and_then(Value::as_str).unwrap_or_default();
    say!("  {told}");
    say!("{}", connection_string(&name, key, &endpoint));
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

fn is_https_only(account: &Value) -> bool {
    account.get("httpsOnly").and_then(Value::as_bool).unwrap_or_default()
}

fn show(answer: &Value) {
    if let Some(removed) = answer.get("removed").and_then(Value::as_str) {
        say!("removed {removed}");
        return;
    }
    let one = std::slice::from_ref(answer);
    let accounts = answer.get("accounts").and_then(Value::as_array).map_or(one, Vec::as_slice);
    if accounts.is_empty() {
        say!("no accounts are kept in this store");
    }
    for account in accounts {
        let note = if is_https_only(account) { "  https only" } else { "" };
        say!("{}  created {}{note}", text(account, "name"), text(account, "created"));
        for (index, key) in account.get("keys").and_then(Value::as_array).into_iter().flatten().enumerate() {
            say!("  key{} {}", index + 1, key.as_str().unwrap_or_default());
        }
    }
}
