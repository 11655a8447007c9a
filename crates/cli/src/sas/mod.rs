//! `lazuli sas`: creates and explains shared access signatures.

mod explain;
mod make;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_client::Credential;
use lazuli_model::DateTime;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_protocol::auth::AccountKey;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// Create and explain shared access signatures.
///
/// A shared access signature is the query string of a URL. It permits certain operations without the account's
/// key. It becomes invalid when it expires, when the key that signed it is rotated, or when the stored policy
/// that it names is removed. For blobs, see lazuli blob url.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli sas table people --permissions r
  lazuli sas table people --permissions raud --expires 7d \\
      --first-partition alice --last-partition alice
  lazuli sas table people --policy readers
  lazuli sas table people --permissions r -c 'AccountName=shop;AccountKey=BASE64KEY'
  lazuli sas account --resources sco --permissions rwdlacu --expires 2099-01-01 \\
      --account shop --key BASE64KEY
  lazuli sas explain \"$(lazuli sas table people --permissions r | head -1)\"")]
pub struct Sas {
    #[command(subcommand)]
    command: SasCommand,
}

#[derive(Subcommand)]
enum SasCommand {
    /// Create a signature for the entities of one table
    Table(make::Table),
    /// Create a signature for an account
    Account(make::Account),
    /// Explain what a signature allows, when it expires, and why it would be rejected
    Explain(explain::Explain),
}

/// The account that signs.
#[derive(Args)]
struct Signer {
    /// Connection string with the account's key [default: that of the environment variable
    /// AZURE_STORAGE_CONNECTION_STRING, unless --account or --key is given]
    #[arg(short, long, value_name = "STRING", conflicts_with_all = ["account", "key"])]
    connection_string: Option<String>,

    /// Account to sign for [default: devstoreaccount1]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// One of its keys [default: that of the development account, for that account only]
    #[arg(long, value_name = "BASE64")]
    key: Option<String>,

    /// Endpoint of the Table service, for the URL [default: that of the connection string, or
    /// http://127.0.0.1:10002/ACCOUNT]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An account with its key.
struct KeyHolder {
    account: String,
    key: AccountKey,
    endpoint: String,
}

impl Signer {
    /// The account that signs; `environment` is the connection string of the environment.
    fn holder(&self, environment: Option<String>) -> Result<KeyHolder, String> {
        let is_named = self.account.is_some() || self.key.is_some();
        let environment = environment.filter(|_| !is_named);
        let mut holder = match self.connection_string.as_ref().or(environment.as_ref()) {
            Some(text) => KeyHolder::of_connection_string(text)?,
            None => self.named()?,
        };
        if let Some(url) = &self.endpoint {
            holder.endpoint = url.trim_end_matches('/').to_owned();
        }
        Ok(holder)
    }

    fn named(&self) -> Result<KeyHolder, String> {
        let name = self.account.as_deref().unwrap_or(DEVELOPMENT_ACCOUNT);
        let key = match &self.key {
            Some(key) => parse_key(key)?,
            None if name == DEVELOPMENT_ACCOUNT => parse_key(DEVELOPMENT_KEY)?,
            None => {
                return Err(format!(
                    "account '{name}' needs --key: `lazuli account list --show-keys` prints its keys"
                ));
            }
        };
        Ok(KeyHolder { account: name.to_owned(), key, endpoint: format!("http://127.0.0.1:10002/{name}") })
    }
}

impl KeyHolder {
    fn of_connection_string(text: &str) -> Result<Self, String> {
        let account: lazuli_client::Account = text.trim().parse().map_err(|error| format!("{error}"))?;
        let (Some(name), Credential::Key { key, .. }) = (account.name(), account.credential()) else {
            return Err(
                "the connection string has no AccountName and AccountKey, so nothing can be signed with it"
                    .into(),
            );
        };
        let endpoint = account.endpoint().as_str().to_owned();
        Ok(Self { account: name.to_owned(), key: key.clone(), endpoint })
    }
}

fn parse_key(text: &str) -> Result<AccountKey, String> {
    AccountKey::from_base64(text).ok_or_else(|| "the key is not Base64".to_owned())
}

impl Sas {
    /// Runs the command. The exit code of `explain` is 1 if the signature would be rejected.
    pub fn run(self) -> Result<ExitCode, String> {
        let now = lazuli_server::clock::now();
        match self.command {
            SasCommand::Table(table) => table.run(now),
            SasCommand::Account(account) => account.run(now),
            SasCommand::Explain(explain) => explain.run(now),
        }
    }
}

/// Parses a time in a format of the protocol, or relative to now (`90s`, `30m`, `12h`, `7d`).
pub fn moment(text: &str, now: DateTime) -> Result<String, String> {
    if lazuli_protocol::auth::sas::parse_time(text).is_some() {
        return Ok(text.to_owned());
    }
    let seconds = text.strip_suffix(['s', 'm', 'h', 'd']).and_then(|number| number.parse::<u64>().ok());
    let unit = match text.bytes().last() {
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 86_400,
        _ => 1,
    };
    let ticks = seconds.and_then(|count| count.checked_mul(unit * TICKS_PER_SECOND));
    let moment = ticks.and_then(|ticks| now.ticks().checked_add(ticks)).and_then(DateTime::from_ticks);
    match moment {
        Some(moment) => Ok(moment.iso_seconds().as_str().to_owned()),
        None => Err(format!(
            "invalid time '{text}'; expected a time such as 2030-01-01T00:00:00Z, or a time from now such as 12h"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        signer: Signer,
    }

    /// Flags override the environment, and a connection string without a key is rejected.
    #[test]
    fn who_signs() {
        let shop = "AccountName=shop;AccountKey=c2VjcmV0;TableEndpoint=http://h:1/shop";
        let guest = "TableEndpoint=http://h:1/shop;SharedAccessSignature=sig=x";
        let development = "devstoreaccount1 at http://127.0.0.1:10002/devstoreaccount1";
        for (flags, environment, expected) in [
            (vec![], None, development),
            (vec![], Some("UseDevelopmentStorage=true"), development),
            (vec![], Some(shop), "shop at http://h:1/shop"),
            (vec!["--endpoint", "http://x/shop/"], Some(shop), "shop at http://x/shop"),
            (vec!["--account", DEVELOPMENT_ACCOUNT], Some(shop), development),
            (vec!["--account", "cafe", "--key", "YWJj"], Some(shop), "cafe at http://127.0.0.1:10002/cafe"),
            (vec!["--connection-string", shop], Some(guest), "shop at http://h:1/shop"),
            (vec!["--account", "shop"], Some(shop), "needs --key"),
            (vec![], Some(guest), "nothing can be signed"),
            (vec![], Some("AccountName=shop"), "neither an AccountKey"),
        ] {
            let line = Line::try_parse_from(std::iter::once("sas").chain(flags.clone())).unwrap();
            let found = line.signer.holder(environment.map(str::to_owned));
            let found = found.map_or_else(|why| why, |who| format!("{} at {}", who.account, who.endpoint));
            assert!(found.contains(expected), "{flags:?}, {environment:?}: {found}");
        }
        assert!(Line::try_parse_from(["sas", "-c", shop, "--key", "YWJj"]).is_err(), "one or the other");
    }

    #[test]
    fn moments() {
        let now = DateTime::parse("2026-06-15T12:00:00.5Z").unwrap();
        for (text, expected) in [
            ("2030-01-01", "2030-01-01"),
            ("2030-01-01T00:00Z", "2030-01-01T00:00Z"),
            ("90s", "2026-06-15T12:01:30Z"),
            ("30m", "2026-06-15T12:30:00Z"),
            ("12h", "2026-06-16T00:00:00Z"),
            ("7d", "2026-06-22T12:00:00Z"),
        ] {
            assert_eq!(moment(text, now).as_deref(), Ok(expected));
        }
        for bad in ["", "soon", "-1h", "7w", "h", "2030-13-01", "99999999999999999999d", "9999999999d"] {
            assert!(moment(bad, now).is_err(), "{bad}");
        }
    }
}
