//! The configuration: what `serve` can be told by a flag, an environment variable and a file, under three forms of one
//! name.
//!
//! The flags of `serve` are the table: `--table-port`, `LAZULI_TABLE_PORT` and `table-port = 10002` are the same setting,
//! for every flag that help shows. A flag that is added is a variable and a key at once, and nothing else is one. What a
//! variable or the file says is put on the command line, unless something stronger was said: a flag is stronger than a
//! variable, that is stronger than the file, and that than the default.

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

/// Where the file is looked for if none is named; the first that is there is taken.
pub const PLACES: [&str; 2] = ["lazuli.toml", "/etc/lazuli/lazuli.toml"];
/// The flag that names the file; it cannot stand in the file.
pub const CONFIG: &str = "config";

/// The largest file that is read.
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
    /// Can it stand in the file?
    pub is_key: bool,
    id: String,
    shape: Shape,
}

/// What a setting is told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It is said or not.
    Switch,
    /// One value.
    Value,
    /// It is said, perhaps with a value.
    MaybeValue,
    /// Any number of values.
    List,
}

/// Where a setting's value comes from, if anyone has said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// The environment.
    Variable,
    /// The file, in this line.
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
        ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => Shape::Switch,
        ArgAction::Append => Shape::List,
        _ if values.min_values() == 0 => Shape::MaybeValue,
        _ => Shape::Value,
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

/// A command line with everything on it that variables and a file say.
#[derive(Debug)]
pub struct Merged {
    /// The command line.
    pub args: Vec<OsString>,
    /// Where each setting's value comes from, by key.
    pub origins: HashMap<String, Origin>,
}

/// The environment, or what stands for it in a test.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What the names of our variables begin with.
const PREFIX: &str = "LAZULI_";
/// Variables that are no settings of `serve`; a name that ends in `_` stands for all that begin so. Those of services that
/// are called lazuli are Kubernetes's.
const OTHER_VARIABLES: [&str; 6] = [
    "LAZULI_ACCOUNTS",
    "LAZULI_CRASH_AT",
    "LAZULI_TEST_",
    "LAZULI_FAULTS_",
    "LAZULI_SERVICE_",
    "LAZULI_PORT_",
];

/// Variables of the environment that look like settings and are none, each with what is to be said of it.
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
                Some(near) => format!("{name} is no setting and has no effect; is {} meant?", near.variable),
                None => {
                    format!("{name} is no setting and has no effect; `lazuli config show` lists them all")
                }
            }
        })
        .collect();
    unknown.sort_unstable();
    unknown
}

/// Which file is to be read: the one that is named, or the first that is there.
pub fn find_file(named: Option<&OsStr>, variables: Variables<'_>) -> Option<PathBuf> {
    let named =
        named.map(OsStr::to_owned).or_else(|| variables("LAZULI_CONFIG")).filter(|name| !name.is_empty());
    named.map(PathBuf::from).or_else(|| PLACES.iter().map(PathBuf::from).find(|place| place.is_file()))
}

/// Reads the file that `args` or the environment name, and puts everything on the command line.
pub fn complete(root: &Command, args: Vec<OsString>, variables: Variables<'_>) -> Result<Merged, String> {
    let given = given(root, &args);
    let named = given.as_ref().and_then(|given| given.get_raw(CONFIG)).and_then(|mut values| values.next());
    let path = find_file(named, variables);
    let file = path.as_deref().map(read).transpose()?;
    merge(root, args, variables, file.as_ref()).map_err(|what| match path {
        // Only what is wrong in the file begins so.
        Some(path) if what.starts_with("line ") => format!("{}, {what}", path.display()),
        _ => what,
    })
}

/// Reads a file.
pub fn read(path: &Path) -> Result<File, String> {
    let text = read_text(path).map_err(|error| format!("{}: {error}", path.display()))?;
    File::parse(&text).map_err(|mistake| format!("{}, {mistake}", path.display()))
}

/// A named pipe could be waited for without end; the one that a shell gives its program as a file has somebody who writes.
fn read_text(path: &Path) -> io::Result<String> {
    let kind = std::fs::metadata(path)?.file_type();
    let is_given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|place| path.starts_with(place));
    if !(kind.is_file() || kind.is_char_device() || kind.is_fifo() && is_given) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let why = format!("is larger than {FILE_BYTES_MAX} bytes, which no configuration is");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text)
}

/// What stands on the command line of `serve`, as far as it can be understood; the rest is told later.
fn given(root: &Command, args: &[OsString]) -> Option<ArgMatches> {
    let found = root.clone().ignore_errors(true).try_get_matches_from(args).ok()?;
    found.subcommand_matches("serve").cloned()
}

/// Puts what variables and the file say on the command line.
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
        // What one setting needs of another may come from a flag or a variable.
        && let Some(mistake) = file.mistakes(serve, &settings).into_iter().find(|mistake| !mistake.is_of_absence())
    {
        return Err(format!("{mistake}; `lazuli config check` tells of all mistakes in the file"));
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

/// Something stronger has said it, or something that excludes it.
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
    /// What the command line calls it inside.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The same for a value that is right by itself; what is wrong with another one is told with the variable's name.
    fn checked_args_of_variable(&self, serve: &Command, value: &OsStr) -> Result<Vec<OsString>, String> {
        let args = self.args_of_variable(value)?;
        match file::refused(serve, args.clone().into_iter()) {
            Some(what) if !what.contains(file::NOT_PROVIDED) => Err(format!("{}: {what}", self.variable)),
            _ => Ok(args),
        }
    }

    /// What a variable's value is on the command line.
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
            (Shape::Switch | Shape::MaybeValue, Some(true)) => Ok(vec![OsString::from(&self.flag)]),
            (Shape::Switch | Shape::MaybeValue, Some(false)) => Ok(vec![]),
            (Shape::Switch, None) => Err(format!("{}: true or false is wanted", self.variable)),
            (Shape::Value | Shape::MaybeValue, _) => Ok(vec![with(value)]),
            (Shape::List, _) => Ok(text.split(',').map(|part| with(OsStr::new(part.trim()))).collect()),
        }
    }

    /// What an entry of the file is on the command line.
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
