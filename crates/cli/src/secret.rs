//! Keeps passwords, keys and signatures out of what is printed.

use clap::error::{ContextKind, ContextValue};

/// What stands for a secret.
const HIDDEN: &str = "***";
/// Names, in lower case, whose values are secrets, in URLs and in connection strings.
const NAMES: [&str; 4] = ["password", "sslpassword", "sig", "accountkey"];

/// The value of a setting without the secrets that it may hold: the password in a URL, and parameters that are secret.
pub fn hide(value: &str) -> String {
    let mut shown = without_password(value);
    let lower = shown.to_ascii_lowercase();
    let mut from_the_end: Vec<(usize, usize)> =
        NAMES.iter().flat_map(|name| values_of(name, &lower)).collect();
    from_the_end.sort_unstable_by(|a, b| b.cmp(a));
    for (start, end) in from_the_end {
        shown.replace_range(start..end, HIDDEN);
    }
    shown
}

/// A password may hold any character, as far as the last `@` can be from it.
fn without_password(url: &str) -> String {
    let hidden = || {
        let (scheme, rest) = url.split_once("://")?;
        let (user_and_password, place) = rest.rsplit_once('@')?;
        let (user, _) = user_and_password.split_once(':')?;
        Some(format!("{scheme}://{user}:{HIDDEN}@{place}"))
    };
    hidden().unwrap_or_else(|| url.to_owned())
}

/// Where the values of a parameter stand.
fn values_of(name: &str, text: &str) -> Vec<(usize, usize)> {
    let is_alone = |at: usize| !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    text.match_indices(&format!("{name}="))
        .filter(|(at, _)| is_alone(*at))
        .map(|(at, found)| {
            let start = at + found.len();
            let end = text[start..].find(['&', ';', ' ']).map_or(text.len(), |length| start + length);
            (start, end)
        })
        .collect()
}

/// What the command line says of a wrong argument repeats it: not its secrets.
pub fn redact(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg] {
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
        check("", "");
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
    }
}
