//! Explaining a signature: in words, without asking a server.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Permissions};
use lazuli_protocol::address::Query;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::sas::{AddressRange, Kind, Token, parse_time};
use lazuli_server::accounts::DEVELOPMENT_ACCOUNT;
use serde_json::json;

use super::parse_key;

#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli sas explain 'sv=2019-02-02&tn=people&sp=r&se=2099-01-01&sig=c2lnbmF0dXJl'
  lazuli sas explain \"$(lazuli sas table people --permissions r | tail -1)\"       from a URL
  lazuli sas explain --account shop --key BASE64KEY \\
      \"$(lazuli sas table people --permissions r --account shop --key BASE64KEY | head -1)\"

Without a key the signature itself is not checked. The exit code is 1 if the token would be refused.")]
pub struct Explain {
    /// The signature, alone or in a URL
    token: String,

    /// Account it is for [default: the one in the URL, or the development account]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// Key to check the signature with
    #[arg(long, value_name = "BASE64")]
    key: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What there is to say about a token.
#[derive(Debug, Default)]
struct Explanation {
    /// Topic and text, in order.
    lines: Vec<(&'static str, String)>,
    /// Why it would be refused.
    problems: Vec<String>,
}

impl Explain {
    pub(super) fn run(self, now: DateTime) -> Result<ExitCode, String> {
        let (address, query) = match self.token.trim().split_once('?') {
            Some((address, query)) => (address, query),
            None => ("", self.token.trim()),
        };
        let token = Token::parse(Query(query)).ok_or("there is no signature (sig=) in it")?;
        let account = self.account.clone().or_else(|| account_of(address));
        let account = account.unwrap_or_else(|| DEVELOPMENT_ACCOUNT.to_owned());
        let key = self.key.as_deref().map(parse_key).transpose()?;
        let found = explain(&token, &account, key.as_ref(), now);
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

impl Explanation {
    fn say(&mut self, topic: &'static str, text: impl Into<String>) {
        self.lines.push((topic, text.into()));
    }

    fn refuse(&mut self, why: impl Into<String>) {
        self.problems.push(why.into());
    }

    fn print(&self) {
        for (topic, text) in &self.lines {
            say!("{topic:<10} {text}");
        }
        for problem in &self.problems {
            say!("{:<10} {problem}", "refused");
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

fn explain(token: &Token, account: &str, key: Option<&AccountKey>, now: DateTime) -> Explanation {
    let mut out = Explanation::default();
    let Some(kind) = token.kind() else {
        out.refuse(unknown_kind(token));
        return out;
    };
    match kind {
        Kind::Table => table(&mut out, token, account),
        Kind::Account => of_account(&mut out, token, account),
    }
    times(&mut out, token, now);
    conditions(&mut out, token);
    signature(&mut out, token, account, key);
    out
}

fn unknown_kind(token: &Token) -> String {
    if token.version().is_none() {
        return format!("sv='{}' is not a version: it must be a date like 2019-02-02", token.sv);
    }
    match (token.tn.is_empty(), token.ss.is_empty() && token.srt.is_empty()) {
        (true, true) => "it is neither for a table (tn) nor for an account (ss, srt)".into(),
        (false, false) => "it is for a table (tn) and for an account (ss, srt) at once".into(),
        (false, true) => {
            format!("version {} has no signatures of tables: they came with 2012-02-12", token.sv)
        }
        (true, false) => {
            format!("version {} has no signatures of accounts: they came with 2015-04-05", token.sv)
        }
    }
}

fn table(out: &mut Explanation, token: &Token, account: &str) {
    out.say("for", format!("the entities of table '{}' in account '{account}'", token.tn));
    out.say("version", token.sv.as_str());
    if !token.si.is_empty() {
        out.say(
            "policy",
            format!("'{}' of the table says the rest; removing it ends this signature", token.si),
        );
    }
    match Permissions::parse(&token.sp, Permissions::OF_TABLES) {
        None => out.refuse(format!("sp='{}' has other letters than raud", token.sp)),
        Some(_) if token.sp.is_empty() && token.si.is_empty() => {
            out.refuse("it allows nothing: there is no sp, and no stored policy (si) that could say it");
        }
        Some(_) if token.sp.is_empty() => out.say("allows", "what the policy says"),
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
        out.refuse("a row key (srk, erk) needs its partition key (spk, epk)");
    }
}

fn of_account(out: &mut Explanation, token: &Token, account: &str) {
    out.say("for", format!("account '{account}'"));
    out.say("version", token.sv.as_str());
    if !token.ss.contains('t') {
        out.refuse(format!("ss='{}' does not have t: it is not good for tables", token.ss));
    }
    let known = token.srt.chars().all(|letter| "sco".contains(letter));
    if token.srt.is_empty() || !known {
        out.refuse(format!("srt='{}' must be some of the letters sco", token.srt));
    }
    let Some(letters) = Permissions::parse(&token.sp, "rwdxylacuptif").filter(|_| !token.sp.is_empty())
    else {
        return out.refuse(format!("sp='{}' must be some of the letters rwdlacu", token.sp));
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
        out.refuse("si: signatures of accounts have no stored policies");
    }
}

fn times(out: &mut Explanation, token: &Token, now: DateTime) {
    if !token.st.is_empty() {
        match parse_time(&token.st) {
            None => out.refuse(format!("st='{}' is not a time", token.st)),
            Some(start) if now < start => {
                out.say("starts", token.st.as_str());
                out.refuse(format!("it starts in {}", span(start.ticks() - now.ticks())));
            }
            Some(_) => out.say("starts", token.st.as_str()),
        }
    }
    match (parse_time(&token.se), token.se.is_empty()) {
        (_, true) if !token.si.is_empty() => out.say("ends", "when the policy says"),
        (_, true) => out.refuse("it has no end (se), and no stored policy (si) that could say it"),
        (None, _) => out.refuse(format!("se='{}' is not a time", token.se)),
        (Some(end), _) if now > end => {
            out.say("ends", token.se.as_str());
            out.refuse(format!("it ended {} ago", span(now.ticks() - end.ticks())));
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
            out.refuse(format!("sip='{}' is neither an address nor FIRST-LAST", token.sip));
        }
    }
    match token.spr.as_str() {
        "" | "https,http" => out.say("by", "https and http"),
        "https" => out.say("by", "https only"),
        other => out.refuse(format!("spr='{other}' must be https or https,http")),
    }
}

fn signature(out: &mut Explanation, token: &Token, account: &str, key: Option<&AccountKey>) {
    match key {
        None => out.say("signature", "not checked: give the account's key with --key"),
        Some(key) => match token.check_signature(account, std::slice::from_ref(key)) {
            Ok(_) => out.say("signature", "good"),
            Err(_) => out.refuse(format!(
                "the signature is not that of this key for account '{account}': another key, or a parameter was changed"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use lazuli_server::accounts::DEVELOPMENT_KEY;

    use super::*;

    fn key() -> AccountKey {
        AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()
    }

    fn explained(query: &str, key: Option<&AccountKey>) -> Explanation {
        let token = Token::parse(Query(query)).unwrap();
        explain(&token, DEVELOPMENT_ACCOUNT, key, DateTime::parse("2026-06-15T12:00:00Z").unwrap())
    }

    proptest::proptest! {
        /// Whatever is given is explained.
        #[test]
        fn any_token_is_explained(query in "((sv|tn|sp|st|se|si|ss|srt|sip|spr|spk|srk|epk|erk|ses|x)=[-a-z0-9:,.+%éZ]{0,9}&){0,9}") {
            explained(&format!("{query}sig=x"), Some(&key()));
        }
    }

    #[track_caller]
    fn check(query: &str, lines: &[(&str, &str)], problems: &[&str]) {
        let found = explained(&format!("{query}&sig=x"), None);
        for line in lines {
            let holds = found.lines.iter().any(|(topic, text)| (*topic, text.as_str()) == *line);
            assert!(holds, "{query}: {line:?} in {found:?}");
        }
        assert_eq!(found.problems.len(), problems.len(), "{query}: {found:?}");
        for (found, expected) in found.problems.iter().zip(problems) {
            assert!(found.contains(expected), "{query}: {found}");
        }
    }

    #[test]
    fn tables() {
        check(
            "sv=2019-02-02&tn=people&sp=rau&se=2026-06-16T13:00:00Z&spk=a&srk=1&epk=b&spr=https&sip=10.0.0.1",
            &[
                ("for", "the entities of table 'people' in account 'devstoreaccount1'"),
                ("allows", "query, insert, update and merge, insert-or-replace and insert-or-merge"),
                ("only", "from partition 'a', row '1' to partition 'b'"),
                ("ends", "2026-06-16T13:00:00Z, in 1d 1h"),
                ("from", "address 10.0.0.1"),
                ("by", "https only"),
                ("signature", "not checked: give the account's key with --key"),
            ],
            &[],
        );
        check(
            "sv=2019-02-02&tn=people&si=readers",
            &[("allows", "what the policy says"), ("ends", "when the policy says")],
            &[],
        );
        check("sv=2019-02-02&tn=people&sp=d&se=2099-01-01&epk=b", &[("only", "up to partition 'b'")], &[]);
        check("sv=2019-02-02&tn=people&sp=d&se=2099-01-01&spk=b", &[("only", "from partition 'b' on")], &[]);
    }

    #[test]
    fn accounts() {
        check(
            "sv=2020-12-06&ss=bt&srt=sco&sp=rwl&se=2099-01-01",
            &[
                ("service", "read properties and stats, set properties"),
                ("tables", "list, create"),
                ("entities", "query"),
            ],
            &[],
        );
        check("sv=2019-02-02&ss=t&srt=c&sp=r&se=2099-01-01", &[("tables", "nothing")], &[]);
    }

    /// Why it would be refused, all reasons at once.
    #[test]
    fn problems() {
        let table = "sv=2019-02-02&tn=people&";
        for (query, problems) in [
            ("sv=soon&tn=people", &["is not a version"][..]),
            ("sv=2011-08-18&tn=people", &["no signatures of tables"]),
            ("sv=2014-02-14&ss=t&srt=o", &["no signatures of accounts"]),
            ("sv=2019-02-02", &["neither for a table"]),
            ("sv=2019-02-02&tn=a&ss=t", &["at once"]),
            (&format!("{table}sp=r"), &["no end"]),
            (&format!("{table}se=2099-01-01"), &["allows nothing"]),
            (&format!("{table}sp=rw&se=2099-01-01"), &["other letters"]),
            (&format!("{table}sp=r&se=2026-06-15T11:00Z"), &["it ended 1h ago"]),
            (&format!("{table}sp=r&st=2026-06-15T12:00:30Z&se=2099-01-01"), &["it starts in 30s"]),
            (&format!("{table}sp=r&se=later"), &["se='later' is not a time"]),
            (&format!("{table}sp=r&st=x&se=2099-01-01"), &["st='x' is not a time"]),
            (&format!("{table}sp=r&se=2099-01-01&srk=1"), &["needs its partition key"]),
            (&format!("{table}sp=r&se=2099-01-01&sip=here&spr=http"), &["sip='here'", "spr='http'"]),
            ("sv=2019-02-02&ss=b&srt=x&sp=r&se=2099-01-01", &["not good for tables", "letters sco"]),
            ("sv=2019-02-02&ss=t&srt=o&se=2099-01-01&si=p", &["letters rwdlacu"]),
            ("sv=2019-02-02&ss=t&srt=o&sp=r&se=2099-01-01&si=p", &["no stored policies"]),
        ] {
            check(query, &[], problems);
        }
    }

    #[test]
    fn signatures() {
        let mut token = Token::parse(Query("sv=2019-02-02&tn=people&sp=r&se=2099-01-01&sig=")).unwrap();
        token.sign(DEVELOPMENT_ACCOUNT, &key());
        let good = explained(&token.to_query(), Some(&key()));
        assert!(good.problems.is_empty() && good.lines.contains(&("signature", "good".into())), "{good:?}");
        let other = explained(&token.to_query(), Some(&AccountKey::new(b"other")));
        assert_eq!(other.problems.len(), 1, "{other:?}");
        token.sp = "raud".into();
        assert_eq!(explained(&token.to_query(), Some(&key())).problems.len(), 1);
    }

    #[test]
    fn accounts_in_addresses() {
        for (address, account) in [
            ("http://127.0.0.1:10002/shop/people", Some("shop")),
            ("http://127.0.0.1:10002/shop-secondary/people", Some("shop")),
            ("https://shop.table.core.windows.net/people", Some("shop")),
            ("https://127.0.0.1", None),
            ("people", None),
        ] {
            assert_eq!(account_of(address).as_deref(), account, "{address}");
        }
    }
}
