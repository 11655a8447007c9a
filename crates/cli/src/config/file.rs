//! The configuration file: flat TOML whose keys are the flags of `serve`. Reads it and explains mistakes in it.

use std::fmt;

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Arity, Setting};
use crate::secret;

/// Maximum edit distance at which a key counts as a misspelling.
const MISSPELT_MAX: usize = 3;

/// Part of clap's message for a flag that requires another one.
pub const NOT_PROVIDED: &str = "arguments were not provided";

/// A parsed configuration file.
#[derive(Debug, Default)]
pub struct File(Vec<Entry>);

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The line, from 1.
    pub line: usize,
    /// Its value.
    pub value: Value,
    /// The kind of the value, in words.
    kind: &'static str,
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// True or false.
    Switch(bool),
    /// One value or, from a list, several.
    Texts(Vec<String>),
}

/// A mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMistake {
    /// The line, from 1.
    pub line: usize,
    /// The mistake.
    pub what: String,
}

impl ConfigMistake {
    /// A setting requires another one, which is not in the file.
    pub fn is_of_absence(&self) -> bool {
        self.what.contains(NOT_PROVIDED)
    }
}

impl fmt::Display for ConfigMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl File {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, ConfigMistake> {
        let line = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| ConfigMistake {
            line: error.span().map_or(1, |span| line(span.start)),
            what: format!("{} (strings need quotes: host = \"0.0.0.0\")", error.message()),
        })?;
        let mut entries = Vec::new();
        for (key, value) in table.get_ref() {
            let line = line(key.span().start);
            let (kind, value) = read(value)
                .map_err(|what| ConfigMistake { line, what: format!("{}: {what}", key.get_ref()) })?;
            entries.push(Entry { key: key.get_ref().to_string(), line, value, kind });
        }
        entries.sort_by_key(|entry| entry.line);
        Ok(Self(entries))
    }

    /// Its entries.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entries that are valid individually.
    pub fn right(&self, serve: &Command, settings: &[Setting]) -> Self {
        Self(self.0.iter().filter(|entry| wrong(entry, serve, settings).is_none()).cloned().collect())
    }

    /// All mistakes.
    pub fn mistakes(&self, serve: &Command, settings: &[Setting]) -> Vec<ConfigMistake> {
        let mut mistakes: Vec<ConfigMistake> = self
            .0
            .iter()
            .filter_map(|entry| {
                let what = wrong(entry, serve, settings)?;
                Some(ConfigMistake { line: entry.line, what })
            })
            .collect();
        if mistakes.is_empty() {
            mistakes.extend(self.conflict(serve, settings));
        }
        mistakes
    }

    /// A mistake in the combination of individually valid entries.
    fn conflict(&self, serve: &Command, settings: &[Setting]) -> Option<ConfigMistake> {
        let args = self.0.iter().filter_map(|entry| {
            let setting = settings.iter().find(|setting| setting.key == entry.key)?;
            Some(setting.args_of_entry(entry))
        });
        let what = rejected(serve, args.flatten())?;
        let named = self.0.iter().rev().find(|entry| what.contains(&format!("--{}", entry.key)));
        Some(ConfigMistake { line: named.map_or(1, |entry| entry.line), what })
    }
}

fn read(value: &Spanned<DeValue<'_>>) -> Result<(&'static str, Value), String> {
    let one = |kind, text: String| Ok((kind, Value::Texts(vec![text])));
    match value.get_ref() {
        DeValue::Boolean(switch) => Ok(("true or false", Value::Switch(*switch))),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                DeValue::Integer(number) => Ok(number.as_str().replace('_', "")),
                _ => Err("a list can contain only strings and numbers".to_owned()),
            });
            Ok(("a list", Value::Texts(texts.collect::<Result<_, _>>()?)))
        }
        DeValue::String(text) => one("a text", text.to_string()),
        DeValue::Integer(number) => one("a number", number.as_str().replace('_', "")),
        DeValue::Float(number) => one("a number", number.as_str().replace('_', "")),
        DeValue::Datetime(_) => Err("no setting takes a date or time; put strings in quotes".into()),
        DeValue::Table(_) => {
            Err("sections are not supported; put each key at the top level, named like its flag".into())
        }
    }
}

/// The mistake in an entry, if any.
fn wrong(entry: &Entry, serve: &Command, settings: &[Setting]) -> Option<String> {
    let Entry { key, value, kind, .. } = entry;
    let Some(setting) = settings.iter().find(|setting| setting.key == *key).filter(|setting| setting.is_key)
    else {
        return Some(unknown(key, settings));
    };
    let wanted = match (setting.shape, value) {
        (Arity::Switch, Value::Texts(_)) => Some("true or false"),
        (Arity::Value, Value::Switch(_)) => Some("a value"),
        (Arity::Value | Arity::MaybeValue, Value::Texts(texts)) if texts.len() != 1 || *kind == "a list" => {
            Some("one value")
        }
        (Arity::List, Value::Switch(_)) => Some("a list of strings"),
        _ => None,
    };
    if let Some(wanted) = wanted {
        return Some(format!("{key} expects {wanted}, not {kind}"));
    }
    rejected(serve, setting.args_of_entry(entry).into_iter()).filter(|what| !what.contains(NOT_PROVIDED))
}

/// The error of the command line for these flags, on one line and without secrets.
pub fn rejected(serve: &Command, args: impl Iterator<Item = std::ffi::OsString>) -> Option<String> {
    let words = std::iter::once("serve".into()).chain(args);
    let error = serve.clone().no_binary_name(false).try_get_matches_from(words).err()?;
    Some(in_a_line(error))
}

/// An error of the command line, on one line and without secrets.
pub fn in_a_line(error: clap::Error) -> String {
    let text = secret::redact(error).to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage") && !line.starts_with("For more"));
    let line: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    line.join(" ").trim_start_matches("error: ").to_owned()
}

fn unknown(key: &str, settings: &[Setting]) -> String {
    if key == super::CONFIG {
        return "config: a configuration file cannot include another one".into();
    }
    match nearest(&key.replace('_', "-"), settings) {
        Some(near) => format!("unknown setting {key}; did you mean {}?", near.key),
        None => format!("unknown setting {key}; `lazuli config show` lists them all"),
    }
}

/// The setting that a misspelled key probably means.
pub fn nearest<'a>(key: &str, settings: &'a [Setting]) -> Option<&'a Setting> {
    let known = settings.iter().filter(|setting| setting.is_key);
    let (far, near) = known
        .map(|setting| (distance(key, &setting.key), setting))
        .min_by_key(|(far, setting)| (*far, setting.key.as_str()))?;
    (far <= MISSPELT_MAX).then_some(near)
}

/// The edit distance: the number of letters to change, add or remove.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let change = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}
