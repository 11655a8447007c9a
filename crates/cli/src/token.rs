//! `lazuli token`: bearer tokens for development and tests.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::DateTime;
use lazuli_protocol::auth::sas::parse_time;
use lazuli_server::oauth::development::{self, AUDIENCE, ISSUER, TENANT};
use serde_json::{Value, json};

use crate::sas::moment;

/// Full access to all services, with user delegation keys.
const ROLES: [&str; 4] = [
    "Storage Blob Data Owner",
    "Storage Queue Data Contributor",
    "Storage Queue Delegator",
    "Storage Table Data Contributor",
];
/// The default user of tokens.
const USER: &str = "00000000-0000-0000-0000-000000000001";
/// Default lifetime of a token.
const EXPIRES: &str = "1h";

/// Create a bearer token for development and tests.
///
/// A server started with `--oauth dev` accepts it, even over plain http. The token is signed with a key that is
/// built into Lazuli, so anyone can create one: never use `--oauth dev` on a server that others can reach. Its
/// issuer, audience and times are those of Azure, so `--oauth basic` (over https) and Azurite accept it as
/// well.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli serve --oauth dev
  curl -H \"Authorization: Bearer $(lazuli token)\" -H 'x-ms-version: 2021-12-02' \\
      'http://127.0.0.1:10000/devstoreaccount1?comp=list'
  lazuli token --role 'Storage Blob Data Reader' --expires 5m
  lazuli token --role 'Storage Queue Data Contributor/shop'       for the account shop only
  lazuli token --expires 2020-01-01                               expired: how does a client react?

SDKs send tokens over https only: use `lazuli serve --oauth dev --self-signed`, and a credential
whose get_token returns the token.")]
pub struct Token {
    /// Role, such as 'Storage Table Data Reader'; NAME/ACCOUNT limits it to one account; may be repeated [default: full access]
    #[arg(long, value_name = "NAME")]
    role: Vec<String>,

    /// Expiry: a time (2030-01-01T00:00:00Z) or a duration from now (30m, 12h, 7d)
    #[arg(long, value_name = "TIME", default_value = EXPIRES)]
    expires: String,

    /// Audience
    #[arg(long, value_name = "URL", default_value = AUDIENCE)]
    audience: String,

    /// Object id of the user, for user delegation keys
    #[arg(long, value_name = "GUID", default_value = USER)]
    user: String,

    /// Another claim; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::storage::parse_pair)]
    claim: Vec<(String, String)>,

    /// Print a JSON object with the token and its times, in the format of token endpoints
    #[arg(long)]
    json: bool,
}

impl Token {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let now = lazuli_server::clock::now();
        let end = moment(&self.expires, now)?;
        let end = parse_time(&end).ok_or_else(|| format!("'{end}' is not a time"))?;
        let token = development::token(&self.claims(now, end)).map_err(|error| error.to_string())?;
        if self.json {
            let seconds = (end.unix_seconds() - now.unix_seconds()).max(0);
            let (on, seconds) = (end.unix_seconds().to_string(), seconds.to_string());
            let response = json!({ "token_type": "Bearer", "access_token": token, "expires_on": on, "expires_in": seconds });
            say!("{response}");
        } else {
            say!("{token}");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn claims(&self, now: DateTime, end: DateTime) -> Value {
        let roles: Vec<&str> = if self.role.is_empty() {
            ROLES.to_vec()
        } else {
            self.role.iter().map(String::as_str).collect()
        };
        // A token that has expired was valid once.
        let start = now.unix_seconds().min(end.unix_seconds() - 1);
        let mut claims = json!({
            "iss": ISSUER, "aud": self.audience, "iat": start, "nbf": start, "exp": end.unix_seconds(),
            "oid": self.user, "sub": self.user, "tid": TENANT, "roles": roles,
        });
        for (name, value) in &self.claim {
            claims[name] = value.as_str().into();
        }
        claims
    }
}
