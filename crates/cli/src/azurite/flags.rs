//! Converts Azurite's flags to an unambiguous form.
//!
//! Azurite treats a word after any flag as its value, and ignores words without a flag. Its parser is `mri`;
//! the rules here are those that command lines in scripts depend on.

use std::ffi::{OsStr, OsString};

use super::IGNORED;

/// Switches, by both of their names. Azurite accepts a word after them and ignores it: `--silent true`.
const SWITCHES: [(&str, &str); 8] = [
    ("silent", "--silent"),
    ("s", "--silent"),
    ("loose", "--loose"),
    ("L", "--loose"),
    ("skipApiVersionCheck", "--skipApiVersionCheck"),
    ("disableProductStyleUrl", "--disableProductStyleUrl"),
    ("inMemoryPersistence", "--inMemoryPersistence"),
    ("disableTelemetry", "--disableTelemetry"),
];
/// Options that use their default if they have no value: `--location --silent`.
const OPTIONS: [(&str, &str); 15] = [
    ("location", "--location"),
    ("l", "--location"),
    ("blobHost", "--blobHost"),
    ("blobPort", "--blobPort"),
    ("blobKeepAliveTimeout", "--blobKeepAliveTimeout"),
    ("queueHost", "--queueHost"),
    ("queuePort", "--queuePort"),
    ("queueKeepAliveTimeout", "--queueKeepAliveTimeout"),
    ("tableHost", "--tableHost"),
    ("tablePort", "--tablePort"),
    ("tableKeepAliveTimeout", "--tableKeepAliveTimeout"),
    ("extentMemoryLimit", "--extentMemoryLimit"),
    ("cert", "--cert"),
    ("key", "--key"),
    ("pwd", "--pwd"),
];
/// Options that have a meaning without a value.
const OPTIONAL_VALUES: [(&str, &str); 3] = [("debug", "--debug"), ("d", "--debug"), ("oauth", "--oauth")];

/// The flags of a command line, without repetitions.
///
/// An empty value, as scripts pass it for an unset variable, leaves the default. If an option is repeated, the
/// last value counts. Flags that Azurite does not have stay unchanged.
pub fn regular(words: Vec<OsString>) -> Vec<OsString> {
    let mut regular: Vec<OsString> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if !is_flag(&word) || word == "--" {
            regular.push(with_value(&format!("--{IGNORED}"), &word));
            continue;
        }
        let text = word.to_string_lossy().into_owned();
        let name = text.trim_start_matches('-');
        let (name, value) = name.split_once('=').unwrap_or((name, ""));
        let next = if value.is_empty() { words.next_if(|next| !is_flag(next)) } else { None };
        let (long, word) = if let Some(switch) = long_name(&SWITCHES, name) {
            (switch, Some(switch.into()))
        } else if let Some(option) = long_name(&OPTIONS, name).or(long_name(&OPTIONAL_VALUES, name)) {
            let is_bare = value.is_empty() && next.is_none();
            let value = next.unwrap_or_else(|| value.into());
            let bare = (is_bare && long_name(&OPTIONAL_VALUES, name).is_some()).then(|| option.into());
            (option, if value.is_empty() { bare } else { Some(with_value(option, &value)) })
        } else {
            regular.push(word);
            regular.extend(next);
            continue;
        };
        if let Some(word) = word {
            regular.retain(|word| !has_name(word, long));
            regular.push(word);
        }
    }
    regular
}

/// Is this word the flag, with or without a value?
pub fn has_name(word: &OsStr, flag: &str) -> bool {
    let text = word.to_string_lossy();
    text.split_once('=').map_or(&*text, |(name, _)| name) == flag
}

fn is_flag(word: &OsStr) -> bool {
    word.to_string_lossy().starts_with('-')
}

fn long_name(flags: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    flags.iter().find(|(known, _)| *known == name).map(|(_, long)| *long)
}

/// One word for a flag and its value, which may be a path that is not valid UTF-8.
fn with_value(flag: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("{flag}="));
    word.push(value);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        let words = regular(words.iter().map(OsString::from).collect());
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_after_flags_are_values() {
        for (given, expected) in [
            (&["--silent", "true", "-L", "--loose"] as &[&str], "--silent --loose"),
            (&["--silent=true", "--blobPort=0", "--debug", "x.log"], "--silent --blobPort=0 --debug=x.log"),
            (&["--location", "--blobHost", "-s", "--tablePort"], "--silent"),
            (&["-l", "/data", "-sL", "--cert", "a b.pem"], "--location=/data -sL --cert=a b.pem"),
            (
                &["start", "--create", "table:People", "data"],
                "--azurite-ignored=start --create table:People --azurite-ignored=data",
            ),
        ] {
            assert_eq!(line(given), expected);
        }
    }

    /// These command lines failed with "a value is required".
    #[test]
    fn options_with_an_empty_value_have_their_default() {
        let unset =
            ["--cert", "", "--key", "", "--pwd", "", "--oauth", "", "-l", "", "--blobHost=", "", "-d", ""];
        assert_eq!(line(&unset), "");
        assert_eq!(line(&["--cert", "--key"]), "");
        assert_eq!(line(&["--oauth", "--debug"]), "--oauth --debug");
        assert_eq!(line(&["--blobPort", "7000", "--blobPort", ""]), "--blobPort=7000");
    }

    /// These command lines failed with "cannot be used multiple times".
    #[test]
    fn the_last_value_of_a_repeated_option_counts() {
        assert_eq!(
            line(&["--blobPort", "1", "-l", "a", "--blobPort=2", "--location", "b"]),
            "--blobPort=2 --location=b"
        );
        assert_eq!(line(&["--debug", "-d", "x.log"]), "--debug=x.log");
    }
}
