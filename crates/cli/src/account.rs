//! `lazuli account`: manages the accounts in the store.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, Subcommand};
use lazuli_model::Service;
use lazuli_server::accounts::is_account_name;
use serde_json::{Value, json};

use crate::admin::{self, AdminCall};
use crate::config;
use crate::engine_url::{EngineUrl, no_store, whole};
use crate::serve::SERVICES;

/// Display order of global flags: after the flags of a command.
const GLOBAL: usize = 100;

/// Add, list, change and remove accounts.
///
/// Accounts live in the store. If a server has the store open, the command sends it a request, and the change takes effect
/// immediately.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli account add shop                  prints two keys and a connection string
  lazuli account list
  lazuli account rotate-key shop --key 2   replaces the second key; the old one is rejected
  lazuli account https-only shop on        from now on requests over plain http are rejected
  lazuli account list --engine postgres://lazuli@db/lazuli
  lazuli account remove shop               only if it has no tables, queues or containers")]
pub struct Account {
    /// Data directory [default: as for serve: LAZULI_LOCATION, or the configuration file, or lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR", global = true, display_order = GLOBAL)]
    location: Option<PathBuf>,

    /// Storage engine, if the data is not in a directory: postgres://…
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
        /// Reject requests over plain http
        #[arg(long)]
        https_only: bool,
    },
    /// Show all accounts
    #[command(after_help = "Examples:\n  lazuli account list\n  lazuli account list --show-keys")]
    List {
        /// Show their keys, too
        #[arg(long)]
        show_keys: bool,
    },
    /// Give an account a new key
    #[command(after_help = "Examples:\n  lazuli account rotate-key shop --key 2")]
    RotateKey {
        /// Account
        #[arg(value_parser = account_name)]
        name: String,
        /// Which of the account's two keys: 1 or 2
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=2))]
        key: u8,
    },
    /// Reject requests to an account over plain http, or accept them again
    #[command(after_help = "Examples:\n  lazuli account https-only shop on")]
    HttpsOnly {
        /// Account
        #[arg(value_parser = account_name)]
        name: String,
        /// on or off
        #[arg(value_parser = ["on", "off"])]
        wanted: String,
    },
    /// Remove an account that has no tables, queues or containers
    #[command(after_help = "Examples:\n  lazuli account remove shop")]
    Remove {
        /// Account
        #[arg(value_parser = account_name)]
        name: String,
    },
}

impl Account {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let call = match &self.command {
            AccountCommand::Add { name, key1, key2, https_only } => {
                let mut account = json!({ "httpsOnly": https_only });
                if let (Some(key1), Some(key2)) = (key1, key2) {
                    account["keys"] = json!([key1, key2]);
                }
                AdminCall { method: "POST", path: format!("/accounts/{name}"), body: account.to_string() }
            }
            AccountCommand::List { .. } => {
                AdminCall { method: "GET", path: "/accounts".into(), body: String::new() }
            }
            AccountCommand::RotateKey { name, key } => AdminCall {
                method: "POST",
                path: format!("/accounts/{name}/keys/{key}"),
                body: String::new(),
            },
            AccountCommand::HttpsOnly { name, wanted } => {
                let path = format!("/accounts/{name}/https-only/{wanted}");
                AdminCall { method: "POST", path, body: String::new() }
            }
            AccountCommand::Remove { name } => {
                AdminCall { method: "DELETE", path: format!("/accounts/{name}"), body: String::new() }
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
        let mut response = admin::call(&url, &call)?;
        if matches!(self.command, AccountCommand::List { show_keys: false }) {
            remove_keys(&mut response);
        }
        if let Some(location) = new_store {
            tell!("lazuli: created a store in {}", whole(location).display());
        }
        if self.json {
            say!("{response}");
        } else {
            show(&response);
            if adds {
                show_connection(&response);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Accepts only account names, because the name becomes part of a path.
fn account_name(text: &str) -> Result<String, String> {
    if is_account_name(text) {
        return Ok(text.to_owned());
    }
    Err("not an account name: 3 to 24 lower-case letters and digits".into())
}

/// The connection string of an account.
pub fn connection_string(name: &str, key: &str, endpoints: &[(Service, String)]) -> String {
    let scheme = endpoints.first().and_then(|(_, url)| url.split(':').next()).unwrap_or_default();
    let mut text = format!("DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};");
    for (service, endpoint) in endpoints {
        text.push_str(&format!("{}Endpoint={endpoint};", service.title()));
    }
    text
}

/// The endpoints that a running server reported.
fn endpoints(account: &Value) -> Vec<(Service, String)> {
    let url = |service: Service| Some(account.get("endpoints")?.get(service.label())?.as_str()?.to_owned());
    Service::ALL.into_iter().filter_map(|service| Some((service, url(service)?))).collect()
}

/// Prints the connection string of a new account. A running server reports its endpoints; without a server, or
/// behind an https proxy, they are unknown to this command.
fn show_connection(account: &Value) {
    let name = text(account, "name");
    let known = endpoints(account);
    let everywhere = |url: &dyn Fn(Service) -> String| -> Vec<(Service, String)> {
        SERVICES.iter().map(|service| (*service, url(*service))).collect()
    };
    let behind_proxy = || everywhere(&|service| format!("https://HOST-OF-{}/{name}", service.title()));
    let (label, endpoints) = match (known.first(), is_https_only(account)) {
        (Some((_, url)), true) if url.starts_with("http:") => {
            ("connection string; replace the hosts with the addresses of the https proxy:", behind_proxy())
        }
        (Some(_), _) => ("connection string:", known),
        (None, true) => ("connection string; replace the hosts with the server's addresses:", behind_proxy()),
        (None, false) => (
            "connection string for a server on its default ports (lazuli serve prints its addresses):",
            everywhere(&|service| format!("http://127.0.0.1:{}/{name}", service.default_port())),
        ),
    };
    let key = account.pointer("/keys/0").and_then(Value::as_str).unwrap_or_default();
    say!("  {label}");
    say!("{}", connection_string(&name, key, &endpoints));
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

fn is_https_only(account: &Value) -> bool {
    account.get("httpsOnly").and_then(Value::as_bool).unwrap_or_default()
}

/// Keys are shown on demand only: a list of accounts ends up in terminals, logs and bug reports.
fn remove_keys(response: &mut Value) {
    for account in response.get_mut("accounts").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(account) = account.as_object_mut() {
            account.remove("keys");
        }
    }
}

fn show(response: &Value) {
    if let Some(removed) = response.get("removed").and_then(Value::as_str) {
        say!("removed {removed}");
        return;
    }
    let one = std::slice::from_ref(response);
    let accounts = response.get("accounts").and_then(Value::as_array).map_or(one, Vec::as_slice);
    if accounts.is_empty() {
        say!("this store has no accounts");
    }
    for account in accounts {
        let note = if is_https_only(account) { "  https only" } else { "" };
        say!("{}  created {}{note}", text(account, "name"), text(account, "created"));
        for (index, key) in account.get("keys").and_then(Value::as_array).into_iter().flatten().enumerate() {
            say!("  key{} {}", index + 1, key.as_str().unwrap_or_default());
        }
    }
}
