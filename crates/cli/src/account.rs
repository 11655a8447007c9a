//! `lazuli account`: the accounts that are kept in the store.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_server::accounts::is_account_name;
use serde_json::{Value, json};

use crate::admin::{self, Call};
use crate::engine::{EngineUrl, no_store};
use crate::serve::LOCATION;

/// Add, list, change and remove accounts.
///
/// Accounts live in the store. If a server has the store open, it is asked, and the change is effective at once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli account add shop                  creates account 'shop' and prints its two keys
  lazuli account list
  lazuli account rotate-key shop --key 2   replaces the second key; the old one is refused
  lazuli account https-only shop on        from now on requests by plain http are refused
  lazuli account list --engine postgres://lazuli@db/lazuli
  lazuli account remove shop               only when its tables are deleted")]
pub struct Account {
    /// Directory of the data
    #[arg(short = 'l', long, value_name = "DIR", default_value = LOCATION, global = true)]
    location: PathBuf,

    /// Where the data lives, if not in a directory: postgres://…
    #[arg(long, value_name = "URL", conflicts_with = "location", global = true)]
    engine: Option<EngineUrl>,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: AccountCommand,
}

#[derive(Subcommand)]
enum AccountCommand {
    /// Create an account with two keys
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
        /// Which of its two keys
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2))]
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
    pub fn run(self) -> Result<ExitCode, String> {
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
        let url = self.engine.unwrap_or(EngineUrl::File(self.location));
        if let (EngineUrl::File(location), false) = (&url, matches!(self.command, AccountCommand::Add { .. }))
            && !location.exists()
        {
            return Err(no_store(location));
        }
        let answer = admin::call(&url, &call)?;
        if self.json {
            say!("{answer}");
        } else {
            show(&answer);
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

fn show(answer: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
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
        let https_only = account.get("httpsOnly").and_then(Value::as_bool).unwrap_or_default();
        let note = if https_only { "  https only" } else { "" };
        say!("{}  created {}{note}", text(account, "name"), text(account, "created"));
        for (index, key) in account.get("keys").and_then(Value::as_array).into_iter().flatten().enumerate() {
            say!("  key{} {}", index + 1, key.as_str().unwrap_or_default());
        }
    }
}
