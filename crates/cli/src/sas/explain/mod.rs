//! Explains a signature in words, without contacting a server.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Permissions, Service};
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::sas::{AddressRange, Kind, Token, parse_time};
use lazuli_protocol::http::query::Query;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use serde_json::json;

use super::{KeyHolder, parse_key};
use crate::target::connection_string_of_environment;

#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli sas explain 'sv=2019-02-02&tn=people&sp=r&se=2099-01-01&sig=c2lnbmF0dXJl'
  lazuli sas explain \"$(lazuli sas table people --permissions r | tail -1)\"       from a URL
  lazuli sas explain --account shop --key BASE64KEY \\
      \"$(lazuli sas table people --permissions r --account shop --key BASE64KEY | head -1)\"

The signature itself is checked with --key, and for the development account with its public key. A
token alone does not name its account; without --account, only signatures of the development account
can be checked. The exit code is 1 if the token would be rejected.")]
pub struct Explain {
    /// The signature, alone or in a URL
    token: String,

    /// Account of the signature [default: the one in the URL, or that of the environment variable
    /// AZURE_STORAGE_CONNECTION_STRING; with --key, the development account]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// Key to check the signature with [default: the key in the environment variable, if it is for this account]
    #[arg(long, value_name = "BASE64")]
    key: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The explanation of a token.
#[derive(Debug, Default)]
struct Explanation {
    /// Topics with their descriptions, in order.
    lines: Vec<(&'static str, String)>,
    /// The reasons why it would be rejected.
    problems: Vec<String>,
}

impl Explain {
    pub(super) fn run(self, now: DateTime) -> Result<ExitCode, String> {
        let (address, query) = match self.token.trim().split_once('?') {
            Some((address, query)) => (address, query),
            None => ("", self.token.trim()),
        };
        let token = Token::parse(Query(query)).ok_or("no signature (sig=) found")?;
        let (account, key) = self.signer(&token, account_of(address), connection_string_of_environment())?;
        let found = explain(&token, account.as_deref(), key.as_ref(), now);
        if self.json {
            let terms: serde_json::Map<_, _> =
                found.lines.iter().map(|(topic, text)| ((*topic).to_owned(), json!(text))).collect();
            say!("{}", json!({ "terms": terms, "problems": found.problems }));
        } else {
            found.print();
        }
        Ok(if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Explain {
    /// The account of the token, if it can be determined, and the key to check it with. Without flags, both
    /// come from the connection string, unless the token belongs (or may belong) to another account.
    fn signer(
        &self,
        token: &Token,
        in_url: Option<String>,
        environment: Option<String>,
    ) -> Result<(Option<String>, Option<AccountKey>), String> {
        let account = self.account.clone().or(in_url);
        if let Some(key) = &self.key {
            return Ok((account, Some(parse_key(key)?)));
        }
        // Explaining a token needs no key.
        let holder = environment.and_then(|text| KeyHolder::of_connection_string(&text).ok());
        let is_theirs = |holder: &KeyHolder| match &account {
            Some(account) => *account == holder.account,
            None => token.check_signature(&holder.account, std::slice::from_ref(&holder.key)).is_ok(),
        };
        match holder.filter(is_theirs) {
            Some(holder) => Ok((Some(holder.account), Some(holder.key))),
            None => Ok((account, None)),
        }
    }
}

impl Explanation {
    fn say(&mut self, topic: &'static str, text: impl Into<String>) {
        self.lines.push((topic, text.into()));
    }

    fn reject(&mut self, why: impl Into<String>) {
        self.problems.push(why.into());
    }

    fn print(&self) {
        for (topic, text) in &self.lines {
            say!("{topic:<10} {text}");
        }
        for problem in &self.problems {
            say!("{:<10} {problem}", "rejected");
        }
    }
}

/// The account in a URL: the first label of `account.table.…`, else the first segment of the path.
fn account_of(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let label = host.split_once(".table.").map(|(label, _)| label);
    let name = label.or_else(|| path.split('/').next()).filter(|name| !name.is_empty())?;
    Some(name.strip_suffix("-secondary").unwrap_or(name).to_owned())
}

/// Without `account`, the account is known only if the development account has signed the token, or if a key is
/// given.
fn explain(token: &Token, account: Option<&str>, key: Option<&AccountKey>, now: DateTime) -> Explanation {
    let check = check(token, account, key);
    let account = match (&check, account, key) {
        (_, Some(account), _) => format!(" '{account}'"),
        (Check::Good, None, _) | (_, None, Some(_)) => format!(" '{DEVELOPMENT_ACCOUNT}'"),
        (_, None, None) => " that it does not name".into(),
    };
    let mut out = Explanation::default();
    match token.kind() {
        Some(Kind::Service(Service::Table)) => table(&mut out, token, &account),
        Some(Kind::Account) => of_account(&mut out, token, &account),
        Some(Kind::Service(_) | Kind::UserDelegation(_)) | None => {
            out.reject(unknown_kind(token));
            return out;
        }
    }
    times(&mut out, token, now);
    conditions(&mut out, token);
    match check {
        Check::Good => out.say("signature", "good"),
        Check::Bad(account) => out.reject(format!(
            "the signature does not match this key and account '{account}': another key was used, or a parameter was changed"
        )),
        Check::Unknown(why) => out.say("signature", format!("not checked: {why}")),
    }
    out
}

/// The result of checking the signature with the available key.
enum Check {
    Good,
    /// The signature does not match this account and key.
    Bad(String),
    /// Nothing, and why.
    Unknown(&'static str),
}

fn check(token: &Token, account: Option<&str>, key: Option<&AccountKey>) -> Check {
    let public = AccountKey::from_base64(DEVELOPMENT_KEY);
    let is_signed =
        |account: &str, key: &AccountKey| token.check_signature(account, std::slice::from_ref(key)).is_ok();
    let name = account.unwrap_or(DEVELOPMENT_ACCOUNT);
    match (account, key.or_else(|| public.as_ref().filter(|_| name == DEVELOPMENT_ACCOUNT))) {
        (_, Some(key)) if is_signed(name, key) => Check::Good,
        (None, _) if key.is_none() => Check::Unknown(
            "the development account did not sign it; pass the account and its key with --account and --key",
        ),
        (_, Some(_)) => Check::Bad(name.to_owned()),
        (_, None) => Check::Unknown("pass the account's key with --key"),
    }
}

fn unknown_kind(token: &Token) -> String {
    if token.version().is_none() {
        return format!("sv='{}' is not a version: it must be a date like 2019-02-02", token.sv);
    }
    match (token.tn.is_empty(), token.ss.is_empty() && token.srt.is_empty()) {
        (true, true) => "it is neither for a table (tn) nor for an account (ss, srt)".into(),
        (false, false) => "it is for a table (tn) and for an account (ss, srt) at once".into(),
        (false, true) => {
            format!(
                "version {} has no signatures for tables, which were introduced with 2012-02-12",
                token.sv
            )
        }
        (true, false) => {
            format!(
                "version {} has no signatures for accounts, which were introduced with 2015-04-05",
                token.sv
            )
        }
    }
}

fn table(out: &mut Explanation, token: &Token, account: &str) {
    out.say("for", format!("the entities of table '{}' in account{account}", token.tn));
    out.say("version", token.sv.as_str());
    if !token.si.is_empty() {
        out.say(
            "policy",
            format!(
                "'{}' of the table sets the other fields; removing it invalidates this signature",
                token.si
            ),
        );
    }
    match Permissions::parse(&token.sp, Service::Table.permission_letters()) {
        None => out.reject(format!("sp='{}' has letters other than raud", token.sp)),
        Some(_) if token.sp.is_empty() && token.si.is_empty() => {
            out.reject("it allows nothing: it has neither permissions (sp) nor a stored policy (si)");
        }
        Some(_) if token.sp.is_empty() => out.say("allows", "as the policy states"),
        Some(letters) => out.say("allows", entity_rights(letters)),
    }
    range(out, token);
}

fn entity_rights(letters: Permissions) -> String {
    let all = [
        ("r", "query"),
        ("a", "insert"),
        ("u", "update and merge"),
        ("au", "insert-or-replace and insert-or-merge"),
        ("d", "delete"),
    ];
    rights(letters, &all)
}

fn rights(letters: Permissions, all: &[(&str, &str)]) -> String {
    let allowed: Vec<&str> =
        all.iter().filter(|(need, _)| letters.allow(need)).map(|(_, name)| *name).collect();
    if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") }
}

fn range(out: &mut Explanation, token: &Token) {
    let end = |partition: &str, row: &str| match row {
        "" => format!("partition '{partition}'"),
        row => format!("partition '{partition}', row '{row}'"),
    };
    let Token { spk, srk, epk, erk, .. } = token;
    match (spk.as_str(), epk.as_str()) {
        ("", "") => {}
        (_, "") => out.say("only", format!("from {} on", end(spk, srk))),
        ("", _) => out.say("only", format!("up to {}", end(epk, erk))),
        _ => out.say("only", format!("from {} to {}", end(spk, srk), end(epk, erk))),
    }
    if (spk.is_empty() && !srk.is_empty()) || (epk.is_empty() && !erk.is_empty()) {
        out.reject("a row key (srk, erk) needs its partition key (spk, epk)");
    }
}

fn of_account(out: &mut Explanation, token: &Token, account: &str) {
    out.say("for", format!("account{account}"));
    out.say("version", token.sv.as_str());
    if !token.ss.contains('t') {
        out.reject(format!("ss='{}' does not contain t: it is not valid for tables", token.ss));
    }
    let known = token.srt.chars().all(|letter| "sco".contains(letter));
    if token.srt.is_empty() || !known {
        out.reject(format!("srt='{}' must consist of the letters sco", token.srt));
    }
    let Some(letters) = Permissions::parse(&token.sp, "rwdxylacuptif").filter(|_| !token.sp.is_empty())
    else {
        return out.reject(format!("sp='{}' must consist of the letters rwdlacu", token.sp));
    };
    if token.srt.contains('s') {
        let all = [("r", "read properties and stats"), ("w", "set properties")];
        out.say("service", rights(letters, &all));
    }
    if token.srt.contains('c') {
        let creates = if letters.allow("c") { "c" } else { "w" };
        out.say("tables", rights(letters, &[("l", "list"), (creates, "create"), ("d", "delete")]));
    }
    if token.srt.contains('o') {
        out.say("entities", entity_rights(letters));
    }
    if !token.si.is_empty() {
        out.reject("si: signatures for accounts cannot have a stored policy");
    }
}

fn times(out: &mut Explanation, token: &Token, now: DateTime) {
    if !token.st.is_empty() {
        match parse_time(&token.st) {
            None => out.reject(format!("st='{}' is not a time", token.st)),
            Some(start) if now < start => {
                out.say("starts", token.st.as_str());
                out.reject(format!("it starts in {}", span(start.ticks() - now.ticks())));
            }
            Some(_) => out.say("starts", token.st.as_str()),
        }
    }
    match (parse_time(&token.se), token.se.is_empty()) {
        (_, true) if !token.si.is_empty() => out.say("ends", "as the policy states"),
        (_, true) => out.reject("it has neither an expiry time (se) nor a stored policy (si)"),
        (None, _) => out.reject(format!("se='{}' is not a time", token.se)),
        (Some(end), _) if now > end => {
            out.say("ends", token.se.as_str());
            out.reject(format!("it expired {} ago", span(now.ticks() - end.ticks())));
        }
        (Some(end), _) => {
            out.say("ends", format!("{}, in {}", token.se, span(end.ticks() - now.ticks())));
        }
    }
}

/// A span of time in its two largest units.
fn span(ticks: u64) -> String {
    let seconds = ticks / TICKS_PER_SECOND;
    let parts =
        [("d", seconds / 86_400), ("h", seconds / 3600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60)];
    let from = parts.iter().position(|(_, count)| *count > 0).unwrap_or(3);
    let shown = parts[from..].iter().take(2).filter(|(_, count)| *count > 0);
    let text: Vec<String> = shown.map(|(unit, count)| format!("{count}{unit}")).collect();
    if text.is_empty() { "0s".into() } else { text.join(" ") }
}

fn conditions(out: &mut Explanation, token: &Token) {
    if !token.sip.is_empty() {
        out.say("from", format!("address {}", token.sip));
        if AddressRange::parse(&token.sip).is_none() {
            out.reject(format!("sip='{}' is neither an address nor FIRST-LAST", token.sip));
        }
    }
    match token.spr.as_str() {
        "" | "https,http" => out.say("by", "https and http"),
        "https" => out.say("by", "https only"),
        other => out.reject(format!("spr='{other}' must be https or https,http")),
    }
}

#[cfg(test)]
mod tests;
