//! The configuration: every setting of `serve` is a flag, an environment variable and a key of a file.
//!
//! `--table-port`, `LAZULI_TABLE_PORT` and `table-port = 10002` are the same setting, for every flag that help
//! shows. A new flag is a variable and a key automatically. Values of variables and of the file are added to
//! the command line, unless the setting has a value with a higher priority: a flag overrides a variable, which
//! overrides the file, which overrides the default.

mod command;
mod file;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

pub use command::{ConfigArgs, usual_serve};
pub use file::File;

/// Default paths of the file; the first that exists is read.
pub const PLACES: [&str; 2] = ["lazuli.toml", "/etc/lazuli/lazuli.toml"];
/// The flag that names the file; it cannot be a key of the file.
pub const CONFIG: &str = "config";

/// Maximum size of the file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A setting, under its three names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key in the file.
    pub key: String,
    /// The flag.
    pub flag: String,
    /// The environment variable.
    pub variable: String,
    /// Can it be a key of the file?
    pub is_key: bool,
    id: String,
    shape: Arity,
}

/// The kind of value that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// No value: the setting is on or off.
    Switch,
    /// One value.
    Value,
    /// An optional value.
    MaybeValue,
    /// Any number of values.
    List,
    /// An optional value: the setting can be on without a value.
    MaybeList,
}

/// The source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// The environment.
    Variable,
    /// The file, at this line.
    File(usize),
}

/// Every setting of a command, in the order of its help.
pub fn settings(serve: &Command) -> Vec<Setting> {
    let shown = serve.get_arguments().filter(|arg| !arg.is_hide_set());
    shown
        .filter_map(|arg| arg.get_long().map(|long| (arg, long)))
        .filter(|(_, long)| !is_about_help(long))
        .map(setting)
        .collect()
}

fn is_about_help(long: &str) -> bool {
    matches!(long, "help" | "version")
}

fn setting((arg, long): (&Arg, &str)) -> Setting {
    let values = arg.get_num_args().unwrap_or_default();
    let shape = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => Arity::Switch,
        ArgAction::Append if values.min_values() == 0 => Arity::MaybeList,
        ArgAction::Append => Arity::List,
        _ if values.min_values() == 0 => Arity::MaybeValue,
        _ => Arity::Value,
    };
    Setting {
        key: long.to_owned(),
        flag: format!("--{long}"),
        variable: format!("LAZULI_{}", long.to_uppercase().replace('-', "_")),
        is_key: long != CONFIG,
        id: arg.get_id().to_string(),
        shape,
    }
}

/// A command line that includes the values of variables and of the file.
#[derive(Debug)]
pub struct Merged {
    /// The command line.
    pub args: Vec<OsString>,
    /// The source of each setting's value, by key.
    pub origins: HashMap<String, Origin>,
}

/// The environment, or a substitute in tests.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The prefix of Lazuli's variables.
const PREFIX: &str = "LAZULI_";
/// Variables that are not settings of `serve`; names that end in `_` are prefixes. Kubernetes sets some of them
/// for services named lazuli.
const OTHER_VARIABLES: [&str; 6] = [
    "LAZULI_ACCOUNTS",
    "LAZULI_CRASH_AT",
    "LAZULI_TEST_",
    "LAZULI_FAULTS_",
    "LAZULI_SERVICE_",
    "LAZULI_PORT_",
];

/// Warnings about environment variables that look like settings but are not.
pub fn unknown_variables(root: &Command, given: impl Iterator<Item = (String, OsString)>) -> Vec<String> {
    let mut root = root.clone();
    root.build();
    let settings = root.find_subcommand("serve").map(settings).unwrap_or_default();
    let is_other = |name: &str, value: &OsStr| {
        let is_link = name == "LAZULI_PORT" && value.to_string_lossy().starts_with("tcp://");
        let known = |other: &str| if other.ends_with('_') { name.starts_with(other) } else { name == other };
        is_link || OTHER_VARIABLES.into_iter().any(known)
    };
    let mut unknown: Vec<String> = given
        .filter(|(name, value)| name.starts_with(PREFIX) && !is_other(name, value))
        .filter(|(name, _)| !settings.iter().any(|setting| setting.variable == *name))
        .map(|(name, _)| {
            let key = name[PREFIX.len()..].to_lowercase().replace('_', "-");
            match file::nearest(&key, &settings) {
                Some(near) => {
                    format!("{name} is not a setting and has no effect; did you mean {}?", near.variable)
                }
                None => {
                    format!("{name} is not a setting and has no effect; `lazuli config show` lists them all")
                }
            }
        })
        .collect();
    unknown.sort_unstable();
    unknown
}

/// The file to read: the specified one, or the first default path that exists.
pub fn find_file(named: Option<&OsStr>, variables: Variables<'_>) -> Option<PathBuf> {
    let named =
        named.map(OsStr::to_owned).or_else(|| variables("LAZULI_CONFIG")).filter(|name| !name.is_empty());
    named.map(PathBuf::from).or_else(|| PLACES.iter().map(PathBuf::from).find(|place| place.is_file()))
}

/// Reads the file that `args` or the environment names, and adds everything to the command line.
pub fn complete(root: &Command, args: Vec<OsString>, variables: Variables<'_>) -> Result<Merged, String> {
    let given = given(root, &args);
    let named = given.as_ref().and_then(|given| given.get_raw(CONFIG)).and_then(|mut values| values.next());
    let path = find_file(named, variables);
    let file = path.as_deref().map(read).transpose()?;
    merge(root, args, variables, file.as_ref()).map_err(|what| match path {
        // Only mistakes in the file start like this.
        Some(path) if what.starts_with("line ") => format!("{}, {what}", path.display()),
        _ => what,
    })
}

/// Reads a file.
pub fn read(path: &Path) -> Result<File, String> {
    let text = read_text(path).map_err(|error| format!("{}: {error}", path.display()))?;
    File::parse(&text).map_err(|mistake| format!("{}, {mistake}", path.display()))
}

/// Rejects named pipes, which could block forever, except for those that a shell passes as a file.
fn read_text(path: &Path) -> io::Result<String> {
    let kind = std::fs::metadata(path)?.file_type();
    let is_given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|place| path.starts_with(place));
    if !(kind.is_file() || kind.is_char_device() || kind.is_fifo() && is_given) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let why = format!("is larger than {FILE_BYTES_MAX} bytes, the maximum for a configuration file");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text)
}

/// The arguments of `serve`, parsed as far as possible; mistakes are reported later.
fn given(root: &Command, args: &[OsString]) -> Option<ArgMatches> {
    let found = root.clone().ignore_errors(true).try_get_matches_from(args).ok()?;
    found.subcommand_matches("serve").cloned()
}

/// Adds the values of variables and of the file to the command line.
pub fn merge(
    root: &Command,
    mut args: Vec<OsString>,
    variables: Variables<'_>,
    file: Option<&File>,
) -> Result<Merged, String> {
    let mut root = root.clone();
    root.build();
    let Some(serve) = root.find_subcommand("serve") else { return Err("there is no such command".into()) };
    let settings = settings(serve);
    if let Some(file) = file
        // A required setting may come from a flag or a variable.
        && let Some(mistake) = file.mistakes(serve, &settings).into_iter().find(|mistake| !mistake.is_of_absence())
    {
        return Err(format!("{mistake}; `lazuli config check` lists all mistakes in the file"));
    }
    let given = given(&root, &args);
    let is_given = |id: &str| {
        given.as_ref().is_some_and(|given| given.value_source(id) == Some(ValueSource::CommandLine))
    };
    let mut origins: HashMap<String, Origin> = HashMap::new();
    for setting in settings.iter().filter(|setting| is_given(&setting.id)) {
        origins.insert(setting.key.clone(), Origin::Flag);
    }
    for setting in &settings {
        let Some(value) = variables(&setting.variable).filter(|value| !value.is_empty()) else { continue };
        if !is_settled(serve, &settings, setting, &origins, &Origin::Variable) {
            args.extend(setting.checked_args_of_variable(serve, &value)?);
            origins.insert(setting.key.clone(), Origin::Variable);
        }
    }
    for entry in file.iter().flat_map(|file| file.entries()) {
        let Some(setting) = settings.iter().find(|setting| setting.key == entry.key) else { continue };
        if !is_settled(serve, &settings, setting, &origins, &Origin::File(0)) {
            args.extend(setting.args_of_entry(entry));
            origins.insert(setting.key.clone(), Origin::File(entry.line));
        }
    }
    Ok(Merged { args, origins })
}

/// Does the setting have a value with a higher priority, or is it excluded by one?
fn is_settled(
    serve: &Command,
    settings: &[Setting],
    setting: &Setting,
    origins: &HashMap<String, Origin>,
    weaker: &Origin,
) -> bool {
    let rank = |origin: &Origin| match origin {
        Origin::Flag => 0,
        Origin::Variable => 1,
        Origin::File(_) => 2,
    };
    let is_stronger = |key: &str| origins.get(key).is_some_and(|origin| rank(origin) < rank(weaker));
    let arg = |id: &str| serve.get_arguments().find(|arg| arg.get_id().as_str() == id);
    let excludes = |one: &str, other: &str| {
        arg(one).is_some_and(|arg| {
            serve.get_arg_conflicts_with(arg).iter().any(|conflict| conflict.get_id().as_str() == other)
        })
    };
    origins.contains_key(&setting.key)
        || settings.iter().any(|other| {
            is_stronger(&other.key) && (excludes(&setting.id, &other.id) || excludes(&other.id, &setting.id))
        })
}

impl Setting {
    /// The id of the argument.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The arguments for the value of a variable, if the value is valid; otherwise, the error names the
    /// variable.
    fn checked_args_of_variable(&self, serve: &Command, value: &OsStr) -> Result<Vec<OsString>, String> {
        let args = self.args_of_variable(value)?;
        match file::rejected(serve, args.clone().into_iter()) {
            Some(what) if !what.contains(file::NOT_PROVIDED) => Err(format!("{}: {what}", self.variable)),
            _ => Ok(args),
        }
    }

    /// The arguments for the value of a variable.
    fn args_of_variable(&self, value: &OsStr) -> Result<Vec<OsString>, String> {
        let with = |value: &OsStr| {
            let mut arg = OsString::from(&self.flag);
            arg.push("=");
            arg.push(value);
            arg
        };
        let text = value.to_str().unwrap_or_default();
        let switch = match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        };
        match (self.shape, switch) {
            (Arity::Switch | Arity::MaybeValue | Arity::MaybeList, Some(true)) => {
                Ok(vec![OsString::from(&self.flag)])
            }
            (Arity::Switch | Arity::MaybeValue | Arity::MaybeList, Some(false)) => Ok(vec![]),
            (Arity::Switch, None) => Err(format!("{}: expected true or false", self.variable)),
            (Arity::Value | Arity::MaybeValue, _) => Ok(vec![with(value)]),
            (Arity::List | Arity::MaybeList, _) => {
                Ok(text.split(',').map(|part| with(OsStr::new(part.trim()))).collect())
            }
        }
    }

    /// The arguments for an entry of the file.
    fn args_of_entry(&self, entry: &file::Entry) -> Vec<OsString> {
        match &entry.value {
            file::Value::Switch(true) => vec![OsString::from(&self.flag)],
            file::Value::Switch(false) => vec![],
            file::Value::Texts(texts) => {
                texts.iter().map(|text| OsString::from(format!("{}={text}", self.flag))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
