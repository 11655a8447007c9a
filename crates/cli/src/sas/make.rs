//! Expiry: a time (2030-01-01T00:00:00Z) or a duration from now (30m, 12h, 7d) [default: 1h]

use std::process::ExitCode;

use clap::Args;
use lazuli_model::{DateTime, Service, TableName};
use lazuli_protocol::ApiVersion;
use lazuli_protocol::auth::sas::{AddressRange, Token, parse_time};
use serde_json::json;

use super::{KeyHolder, Signer, moment};
use crate::target::connection_string_of_environment;

/// Terms of both kinds.
#[derive(Args)]
struct Terms {
    /// When it expires: a time (2030-01-01T00:00:00Z) or a time from now (30m, 12h, 7d) [default: 1h]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,

    /// Time at which it becomes valid [default: now]
    #[arg(long, value_name = "TIME")]
    starts: Option<String>,

    /// Accept the signature only from this address, or from FIRST-LAST
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,

    /// Only over https
    #[arg(long)]
    https_only: bool,

    /// Protocol version of the signature; also the default version of requests that use it
    #[arg(long, value_name = "DATE", default_value = "2019-02-02")]
    sv: String,
}

impl Terms {
    /// The parameters; `end` is the default expiry.
    fn token(&self, now: DateTime, end: Option<&str>) -> Result<Token, String> {
        if let Some(range) = &self.ip {
            AddressRange::parse(range)
                .ok_or_else(|| format!("'{range}' is neither an address nor FIRST-LAST"))?;
        }
        let time = |text: Option<&str>| text.map_or(Ok(String::new()), |text| moment(text, now));
        let token = Token {
            sv: self.sv.clone(),
            se: time(self.expires.as_deref().or(end))?,
            st: time(self.starts.as_deref())?,
            sip: self.ip.clone().unwrap_or_default(),
            spr: if self.https_only { "https".into() } else { String::new() },
            ..Token::default()
        };
        self.check_conditions(&token)?;
        check_times(&token)?;
        Ok(token)
    }

    /// Rejects conditions that the version does not sign: the holder of the token could remove them.
    fn check_conditions(&self, token: &Token) -> Result<(), String> {
        let flag = match (&self.ip, self.https_only) {
            (Some(_), _) => "--ip",
            (None, true) => "--https-only",
            (None, false) => return Ok(()),
        };
        match token.version() {
            Some(version) if version < ApiVersion::V2015_04_05 => Err(format!(
                "{flag} is not part of the signature in version {}, so the holder of the token could remove it; pass --sv \
                 2015-04-05 or later",
                self.sv
            )),
            _ => Ok(()),
        }
    }
}

fn check_times(token: &Token) -> Result<(), String> {
    match (parse_time(&token.st), parse_time(&token.se)) {
        (Some(start), Some(end)) if end <= start => Err(format!(
            "it would expire ({}) before it starts ({}); pass a later --expires",
            token.se, token.st
        )),
        _ => Ok(()),
    }
}

/// The warning for an expired token. It is created anyway, for tests.
fn ended(token: &Token, now: DateTime) -> Option<String> {
    let end = parse_time(&token.se).filter(|end| *end < now)?;
    Some(format!("this token is not valid: it expired at {}", end.iso_seconds().as_str()))
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli sas table people --permissions r
  lazuli sas table people --permissions au --expires 12h --first-partition a --last-partition f
  lazuli sas table people --policy readers      the policy says what is allowed and for how long")]
pub struct Table {
    /// Table
    name: String,

    /// Permissions: r query, a add, u update, d delete; an upsert needs a and u
    #[arg(short, long, value_name = "LETTERS", required_unless_present = "policy")]
    permissions: Option<String>,

    /// Stored access policy of the table, which sets the other fields
    #[arg(long, value_name = "ID")]
    policy: Option<String>,

    /// First PartitionKey allowed
    #[arg(long, value_name = "KEY")]
    first_partition: Option<String>,

    /// First RowKey allowed in the first partition
    #[arg(long, value_name = "KEY", requires = "first_partition")]
    first_row: Option<String>,

    /// Last PartitionKey allowed
    #[arg(long, value_name = "KEY")]
    last_partition: Option<String>,

    /// Last RowKey allowed in the last partition
    #[arg(long, value_name = "KEY", requires = "last_partition")]
    last_row: Option<String>,

    #[command(flatten)]
    terms: Terms,

    #[command(flatten)]
    signer: Signer,
}

impl Table {
    pub(super) fn run(self, now: DateTime) -> Result<ExitCode, String> {
        let holder = self.signer.holder(connection_string_of_environment())?;
        let token = self.token(now, &holder)?;
        warn_of_end(&token, now);
        show(self.signer.json, &token, &format!("{}/{}", holder.endpoint, self.name));
        Ok(ExitCode::SUCCESS)
    }

    fn token(&self, now: DateTime, holder: &KeyHolder) -> Result<Token, String> {
        TableName::new(&self.name).map_err(|_| format!("'{}' is not the name of a table", self.name))?;
        check_letters(self.permissions.as_deref().unwrap_or_default(), Service::Table.permission_letters())?;
        // A policy usually defines the expiry, and the service rejects a second one.
        let end = if self.policy.is_some() { None } else { Some("1h") };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let token = Token {
            tn: self.name.clone(),
            sp: text(&self.permissions),
            si: text(&self.policy),
            spk: text(&self.first_partition),
            srk: text(&self.first_row),
            epk: text(&self.last_partition),
            erk: text(&self.last_row),
            ..self.terms.token(now, end)?
        };
        check_range(&token)?;
        signed(token, holder)
    }
}

/// Rejects a range without keys.
fn check_range(token: &Token) -> Result<(), String> {
    let Token { spk, srk, epk, erk, .. } = token;
    if epk.is_empty() || spk < epk || spk == epk && (erk.is_empty() || srk <= erk) {
        return Ok(());
    }
    Err("the range contains no key: its first key is greater than its last".into())
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli sas account --resources o --permissions r    reads all entities, for an hour
  lazuli sas account --resources sco --permissions rwdlacu --expires 30d \\
      --account shop --key BASE64KEY")]
pub struct Account {
    /// Services: t tables, b blobs, q queues, f files
    #[arg(long, value_name = "LETTERS", default_value = "t")]
    services: String,

    /// Resources: s the service, c tables, queues and containers, o entities, messages and blobs
    #[arg(short, long, value_name = "LETTERS")]
    resources: String,

    /// Permissions: r read, w write, d delete, l list, a add, c create, u update
    #[arg(short, long, value_name = "LETTERS")]
    permissions: String,

    #[command(flatten)]
    terms: Terms,

    #[command(flatten)]
    signer: Signer,
}

impl Account {
    pub(super) fn run(self, now: DateTime) -> Result<ExitCode, String> {
        let holder = self.signer.holder(connection_string_of_environment())?;
        let token = self.token(now, &holder)?;
        warn_of_end(&token, now);
        show(self.signer.json, &token, &format!("{}/", holder.endpoint));
        Ok(ExitCode::SUCCESS)
    }

    fn token(&self, now: DateTime, holder: &KeyHolder) -> Result<Token, String> {
        check_letters(&self.services, "bqtf")?;
        check_letters(&self.resources, "sco")?;
        check_letters(&self.permissions, "rwdxylacuptif")?;
        let token = Token {
            ss: self.services.clone(),
            srt: self.resources.clone(),
            sp: self.permissions.clone(),
            ..self.terms.token(now, Some("1h"))?
        };
        signed(token, holder)
    }
}

fn check_letters(text: &str, known: &str) -> Result<(), String> {
    match text.chars().find(|letter| !known.contains(*letter)) {
        Some(letter) => Err(format!("invalid letter '{letter}'; expected letters from \"{known}\"")),
        None => Ok(()),
    }
}

fn signed(mut token: Token, holder: &KeyHolder) -> Result<Token, String> {
    if token.sign(&holder.account, &holder.key) {
        return Ok(token);
    }
    Err(format!("version {} has no such signatures: tables need 2012-02-12, accounts 2015-04-05", token.sv))
}

fn warn_of_end(token: &Token, now: DateTime) {
    if let Some(warning) = ended(token, now) {
        tell!("lazuli: warning: {warning}");
    }
}

fn show(as_json: bool, token: &Token, address: &str) {
    let query = token.to_query();
    let url = format!("{address}?{query}");
    if as_json {
        say!("{}", json!({ "token": query, "url": url, "expires": token.se }));
    } else {
        say!("{query}\n{url}");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lazuli_protocol::auth::AccountKey;
    use lazuli_protocol::auth::sas::Kind;
    use lazuli_protocol::http::query::Query;
    use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

    use super::*;

    #[derive(Parser)]
    struct OfTable {
        #[command(flatten)]
        table: Table,
    }

    #[derive(Parser)]
    struct OfAccount {
        #[command(flatten)]
        account: Account,
    }

    fn now() -> DateTime {
        DateTime::parse("2026-06-15T12:00:00Z").unwrap()
    }

    fn table(line: &str) -> Result<String, String> {
        let args = std::iter::once("table").chain(line.split(' '));
        let parsed = OfTable::try_parse_from(args).map_err(|error| error.to_string())?;
        let holder = parsed.table.signer.holder(None)?;
        parsed.table.token(now(), &holder).map(|token| token.to_query())
    }

    fn account(line: &str) -> Result<String, String> {
        let args = std::iter::once("account").chain(line.split(' '));
        let parsed = OfAccount::try_parse_from(args).map_err(|error| error.to_string())?;
        let holder = parsed.account.signer.holder(None)?;
        parsed.account.token(now(), &holder).map(|token| token.to_query())
    }

    fn verified(query: &str) -> Kind {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
        let token = Token::parse(Query(query)).unwrap();
        token.check_signature(DEVELOPMENT_ACCOUNT, &[key]).unwrap().kind
    }

    /// SA-05: a reference vector, and every flag.
    #[test]
    fn tables() {
        assert_eq!(
            table("mytable -p raud --expires 2030-01-01T00:00:00Z").unwrap(),
            "sv=2019-02-02&tn=mytable&sp=raud&se=2030-01-01T00%3A00%3A00Z&sig=VH1kJ2dMcGJPJnFMefVZ3HMd1fedSci%2F031kWIgJz0w%3D"
        );
        let full = table(
            "abc -p r --starts 2026-01-01 --ip 10.0.0.1-10.0.0.9 --https-only --sv 2020-12-06 \
             --first-partition a --first-row 1 --last-partition b --last-row 9",
        );
        let full = full.unwrap();
        assert!(full.starts_with(
            "sv=2020-12-06&tn=abc&sp=r&st=2026-01-01&se=2026-06-15T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&spr=https&spk=a&srk=1&epk=b&erk=9&sig="
        ));
        let by_policy = table("abc --policy readers").unwrap();
        assert!(by_policy.starts_with("sv=2019-02-02&tn=abc&si=readers&sig="));
        for query in [full, by_policy] {
            assert_eq!(verified(&query), Kind::Service(lazuli_model::Service::Table));
        }
    }

    /// A reference vector.
    #[test]
    fn accounts() {
        let query = account("-r sco -p rwdlacu --expires 2030-01-01T00:00:00Z").unwrap();
        assert!(query.starts_with("sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2030-01-01T00%3A00%3A00Z&sig="));
        assert_eq!(verified(&query), Kind::Account);
    }

    /// A restriction that the signature does not cover has no effect.
    #[test]
    fn restrictions_that_would_not_be_signed_are_rejected() {
        for condition in ["--ip 10.0.0.1", "--https-only"] {
            for (version, is_good) in [("2012-02-12", false), ("2015-02-21", false), ("2015-04-05", true)] {
                let made = table(&format!("abc -p r --sv {version} {condition}"));
                assert_eq!(made.is_ok(), is_good, "{version} {condition}: {made:?}");
                assert!(is_good || made.unwrap_err().contains("could remove it"));
            }
        }
        assert!(table("abc -p r --sv 2012-02-12").is_ok());
    }

    #[test]
    fn ranges_with_keys_in_them_are_fine() {
        for good in [
            "--first-partition a --first-row 2 --last-partition a",
            "--first-partition a --first-row 2 --last-partition b --last-row 1",
            "--first-partition a --first-row 1 --last-partition a --last-row 1",
            "--first-partition a",
            "--last-partition a",
        ] {
            assert!(table(&format!("abc -p r {good}")).is_ok(), "{good}");
        }
    }

    #[test]
    fn an_expired_token_is_reported() {
        let with_end = |se: &str| Token { se: se.into(), ..Token::default() };
        assert!(ended(&with_end("2026-06-15T11:59:59Z"), now()).is_some());
        assert!(ended(&with_end("2026-06-15T12:00:01Z"), now()).is_none());
        assert!(ended(&with_end(""), now()).is_none());
    }

    #[test]
    fn useless_tokens_are_rejected() {
        for bad in [
            "abc",
            "ab -p r",
            "abc -p rw",
            "abc -p r --expires soon",
            "abc -p r --ip here",
            "abc -p r --first-row 1",
            "abc -p r --sv 2011-08-18",
            "abc -p r --key !!!",
            "abc -p r --account shop",
            "abc -p r --starts 2h",
            "abc -p r --starts 2h --expires 1h",
            "abc -p r --starts 2026-06-16 --expires 2026-06-16",
            "abc -p r --first-partition b --last-partition a",
            "abc -p r --first-partition a --first-row 2 --last-partition a --last-row 1",
        ] {
            assert!(table(bad).is_err(), "{bad}");
        }
        for bad in [
            "-p r",
            "-r sco",
            "-r x -p r",
            "-r o -p R",
            "-r o -p r --services x",
            "-r o -p r --sv 2014-02-14",
        ] {
            assert!(account(bad).is_err(), "{bad}");
        }
    }
}
