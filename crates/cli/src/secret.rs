//! Keeps passwords, keys and signatures out of messages.

use clap::error::{ContextKind, ContextValue};

/// Replaces a secret.
pub const HIDDEN: &str = "***";
/// Names, in lower case, whose values are secrets, in URLs and in connection strings.
const NAMES: [&str; 4] = ["password", "sslpassword", "sig", "accountkey"];

/// The schemes of database URLs.
const DATABASES: [&str; 2] = ["postgres", "postgresql"];

/// The value of a setting without secrets: passwords in URLs, and secret parameters. A value that looks like the URL of a database
/// but cannot be parsed is hidden completely.
pub fn hide(value: &str) -> String {
    without_parameters(&without_password(value))
}

fn without_password(text: &str) -> String {
    let at = start_of_database(text).or_else(|| text.find("://").map(|_| 0));
    let Some(at) = at else { return without_misplaced(text) };
    let (before, url) = text.split_at(at);
    let scheme = url.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.:".contains(c)).unwrap_or(url.len());
    let hidden = || {
        let (scheme, rest) = url.split_once("://")?;
        // A password may hold any character, as far as the last `@` can be from it.
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let user = match user.map(|user| user.split_once(':').map_or((user, ""), |(user, _)| (user, HIDDEN)))
        {
            Some((user, "")) => format!("{user}@"),
            Some((user, hidden)) => format!("{user}:{hidden}@"),
            None => String::new(),
        };
        is_place(place).then(|| format!("{before}{scheme}://{user}{place}"))
    };
    hidden().unwrap_or_else(|| {
        let name = url[..scheme].split(':').next().unwrap_or_default();
        format!("{before}{name}:{HIDDEN}")
    })
}

/// The start of something that may be meant as the URL of a database.
fn start_of_database(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let begins = DATABASES.iter().any(|name| lower.starts_with(name)) && lower.contains([':', '@']);
    let within = || DATABASES.iter().filter_map(|name| lower.find(&format!("{name}:"))).min();
    begins.then_some(0).or_else(within)
}

/// Is this a list of servers, each with an optional port, followed by the rest of a URL? A user and a password
/// without a server look like a server with a port that is not a number.
fn is_place(text: &str) -> bool {
    let servers = text.split(['/', '?', '#', ';', ' ']).next().unwrap_or_default();
    servers.split(',').all(|server| {
        let name_and_port = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, port)) => port,
            None => server,
        };
        name_and_port.split_once(':').is_none_or(|(_, port)| port.is_empty() || port.parse::<u16>().is_ok())
    })
}

/// Hides the part between a colon and an `@`, which may be meant as a password, in text that is not a URL.
fn without_misplaced(text: &str) -> String {
    let hidden = || {
        let (before, place) = text.rsplit_once('@')?;
        let (start, _) = before.split_once(':')?;
        Some(format!("{start}:{HIDDEN}@{place}"))
    };
    hidden().unwrap_or_else(|| text.to_owned())
}

/// Hides the values of parameters that are secret, however their names are written.
fn without_parameters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (before, value) = (&rest[..equals], &rest[equals + 1..]);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '%';
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        shown.push_str(&rest[..=equals]);
        rest = value;
        if NAMES.contains(&decoded(name).as_str()) {
            shown.push_str(HIDDEN);
            rest = &value[value.find(['&', ';', ' ']).unwrap_or(value.len())..];
        }
    }
    shown + rest
}

/// The name of a parameter in lower case, without escapes.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let escaped = rest.strip_prefix('%').and_then(|digits| digits.get(..2));
        let (byte, length) = match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (byte, 3),
            None => (first as u8, first.len_utf8()),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).to_ascii_lowercase()
}

/// Removes secrets from clap's errors, which repeat wrong arguments.
pub fn redact(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(value)) = error.get(kind) {
            let shown = hide(value);
            error.insert(kind, ContextValue::String(shown));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        let check = |value: &str, shown: &str| assert_eq!(hide(value), shown);
        check("postgres://me:secret@db/lazuli", "postgres://me:***@db/lazuli");
        check("postgres://me:s@c/r:e?t@one,two/db?pool=3", "postgres://me:***@one,two/db?pool=3");
        check("postgres://me@db/lazuli?pool=3", "postgres://me@db/lazuli?pool=3");
        check(
            "postgres://db/lazuli?user=me&password=secret&pool=3",
            "postgres://db/lazuli?user=me&password=***&pool=3",
        );
        check("postgres://db/lazuli?PASSWORD=secret", "postgres://db/lazuli?PASSWORD=***");
        check("AccountName=a;AccountKey=c2VjcmV0==;X=y", "AccountName=a;AccountKey=***;X=y");
        check("https://a/?sv=1&sig=abc%3D&sig=d", "https://a/?sv=1&sig=***&sig=***");
        check("https://login.example.org/keys?design=x", "https://login.example.org/keys?design=x");
        check("/var/lib/lazuli", "/var/lib/lazuli");
        check("postgres-data", "postgres-data");
        check("postgres://db/lazuli?pass%77ord=secret&p=1", "postgres://db/lazuli?pass%77ord=***&p=1");
        check("http://[::1]:8080/keys", "http://[::1]:8080/keys");
        check("postgres://me@[::1]:5432,db2:6000/x", "postgres://me@[::1]:5432,db2:6000/x");
        check("api://8a3e-1b", "api://8a3e-1b");
        let endpoint = "TableEndpoint=http://127.0.0.1:10002;AccountKey=";
        check(&format!("{endpoint}c2V="), &format!("{endpoint}***"));
        check("", "");
    }

    /// Something that looks like an invalid database URL is hidden completely, because the position of its password
    /// is unknown.
    #[test]
    fn urls_that_are_not_understood_are_hidden() {
        for (value, shown) in [
            ("postgres:u:PW@db/x", "postgres:***"),
            ("postgres:/u:PW@db/x", "postgres:***"),
            ("postgres://u:PW", "postgres:***"),
            ("postgresql://u:PW", "postgresql:***"),
            ("Postgres://u:PW/db", "Postgres:***"),
            ("postgres//u:PW@db", "postgres:***"),
            ("postgres://u:HUN?PW@db/x", "postgres://u:***@db/x"),
            ("postgres://u:HUN?PW", "postgres:***"),
            ("postgres://u:99999", "postgres:***"),
            ("postgres://u:HUN#PW@db", "postgres://u:***@db"),
            ("file:postgres://u:PW@db", "file:postgres://u:***@db"),
            ("file:postgres://u:PW", "file:postgres:***"),
            ("--engine=postgres:u:PW@db", "--engine=postgres:***"),
            ("pg:u:PW@db/x", "pg:***@db/x"),
            ("mysql://u:PW", "mysql:***"),
            ("postgres://db/x?%50assword=PW", "postgres://db/x?%50assword=***"),
            ("postgres://db/x?password=P=W&user=u", "postgres://db/x?password=***&user=u"),
        ] {
            assert_eq!(hide(value), shown, "{value}");
        }
    }

    #[test]
    fn wrong_arguments_are_repeated_without_secrets() {
        use clap::CommandFactory as _;
        for line in [
            "lazuli serve --engine postgres://me:hunter2@db/x?pool=none",
            "lazuli serve postgres://me:hunter2@db/x",
            "lazuli account list --engine mysql://me:hunter2@db/x",
            "lazuli serve --oauth-jwks ftp://me:hunter2@db/x",
        ] {
            let error = crate::Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
            let text = redact(error).to_string();
            assert!(text.contains("me:***@db") && !text.contains("hunter2"), "{text}");
        }
        for url in [
            "postgres:me:hunter2@db/x",
            "postgres://me:hunter2",
            "postgres:me:hunter2=@db/x",
            "postgres://me:HUN?hunter2@db/x",
            "postgres://me:HUN?a&hunter2&b@db/x",
            "file:postgres://me:hunter2@db",
            "file://postgres://me:hunter2@db",
        ] {
            let words = ["lazuli", "serve", "--engine", url];
            let error = crate::Cli::command().try_get_matches_from(words).unwrap_err();
            let text = redact(error).to_string();
            assert!(text.contains(HIDDEN) && !text.contains("hunter2"), "{url}: {text}");
        }
    }
}
