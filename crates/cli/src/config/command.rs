//! `lazuli config`: explains the configuration.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches as _, Subcommand};

use super::file;
use crate::config::{self, Merged, Origin, Setting, Variables};
use crate::engine_url::{EngineUrl, whole};
use crate::secret;
use crate::serve::Serve;

/// Check the configuration file, and show every setting with its source.
///
/// Every flag of `lazuli serve` is also an environment variable and a key of the file: --table-port, LAZULI_TABLE_PORT and
/// `table-port = 10002` are the same setting. A flag overrides a variable, which overrides the file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli config check lazuli.toml     reports mistakes in the file and in the environment
  lazuli config show                  every setting, its value and its source

The file is the one that --config or LAZULI_CONFIG names, or else ./lazuli.toml, or else
/etc/lazuli/lazuli.toml. It is flat TOML: `quiet = true`, `max-connections = 500`,
`trusted-proxy = [\"10.0.0.1\"]`. Passwords in it are never shown.")]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Explain mistakes in the settings
    ///
    /// Checks the file, the variables, and the certificates, keys and directories that they name. Changes nothing, and does not
    /// connect to a database.
    #[command(after_help = "\
Examples:
  lazuli config check               the file that serve would read, and the environment
  lazuli config check lazuli.toml   this one")]
    Check {
        /// File [default: the one that serve would read]
        #[arg(conflicts_with = "config")]
        file: Option<PathBuf>,

        /// The same file, as a flag like that of serve
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print every setting, its value and its source
    #[command(after_help = "\
Examples:
  lazuli config show
  LAZULI_TABLE_PORT=0 lazuli config show --config lazuli.toml")]
    Show {
        /// File [default: the one that serve would read]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

impl ConfigArgs {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let variables: Variables<'_> = &|name| std::env::var_os(name);
        match self.command {
            ConfigCommand::Check { file, config } => check(root, file.or(config), variables),
            ConfigCommand::Show { config } => show(root, config, variables),
        }
    }
}

fn check(root: &Command, file: Option<PathBuf>, variables: Variables<'_>) -> Result<ExitCode, String> {
    let path = config::find_file(file.as_deref().map(AsRef::as_ref), variables);
    let told = match &path {
        Some(path) => path.display().to_string(),
        None => format!("no configuration file (looked for {})", config::PLACES.join(" and ")),
    };
    let mistakes = mistakes(root, path, variables)?;
    for mistake in &mistakes {
        say!("{mistake}");
    }
    let names = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let unknown = config::unknown_variables(root, names);
    for warning in &unknown {
        say!("warning: {warning}");
    }
    if mistakes.is_empty() {
        say!("{told}: no {}problems", if unknown.is_empty() { "" } else { "other " });
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

/// Returns all mistakes, each with its source.
fn mistakes(root: &Command, path: Option<PathBuf>, variables: Variables<'_>) -> Result<Vec<String>, String> {
    let read = path.as_deref().map(config::read).transpose()?.unwrap_or_default();
    let mut root = root.clone();
    root.build();
    let serve = root.find_subcommand("serve").ok_or("there is no such command")?;
    let settings = config::settings(serve);
    // Report settings that are wrong on their own and leave them out, so that they do not hide other mistakes.
    let right = read.right(serve, &settings);
    let name = path.as_deref().unwrap_or("".as_ref()).display();
    // A setting that another one requires may come from another source.
    let mut in_file = read.mistakes(serve, &settings);
    if right.entries().len() < read.entries().len() {
        in_file.extend(right.mistakes(serve, &settings));
    }
    in_file.retain(|mistake| !mistake.is_of_absence());
    let mut found: Vec<String> = in_file.iter().map(|mistake| format!("{name}, {mistake}")).collect();
    let wrong = |setting: &Setting| {
        let value = variables(&setting.variable).filter(|value| !value.is_empty())?;
        setting.checked_args_of_variable(serve, &value).err()
    };
    found.extend(settings.iter().filter_map(wrong));
    let right_variables: Variables<'_> = &|variable| {
        let setting = settings.iter().find(|setting| setting.variable == variable);
        variables(variable).filter(|_| setting.is_none_or(|setting| wrong(setting).is_none()))
    };
    let place = |key: &str, merged: &Merged| {
        let setting = settings.iter().find(|setting| setting.key == key)?;
        Some(match merged.origins.get(key)? {
            Origin::File(line) => format!("{name}, line {line}"),
            Origin::Variable => setting.variable.clone(),
            Origin::Flag => setting.flag.clone(),
        })
    };
    let merged = match merge(&root, right_variables, Some(&right)) {
        Ok(merged) => merged,
        // It is reported already.
        Err(_) if !found.is_empty() => return Ok(found),
        Err(what) => return Err(what),
    };
    let matches = match matches(&root, &merged) {
        Ok(matches) => matches,
        // The missing setting may be one that was omitted above.
        Err(what) if !found.is_empty() && what.contains(file::NOT_PROVIDED) => return Ok(found),
        Err(what) => {
            let culprits = culprits(serve, &settings, &merged, &what);
            let places: Vec<String> = culprits.iter().filter_map(|key| place(key, &merged)).collect();
            found.push(if places.is_empty() { what } else { format!("{}: {what}", places.join(", ")) });
            return Ok(found);
        }
    };
    let serve = Serve::from_arg_matches(&matches).map_err(file::in_a_line)?;
    found.extend(serve.mistakes().into_iter().map(|mistake| {
        match mistake.key.and_then(|key| place(key, &merged)) {
            Some(place) => format!("{place}: {}", mistake.what),
            None => mistake.to_string(),
        }
    }));
    Ok(found)
}

/// The settings that an error about the combination of all settings concerns: those that it names, or one that
/// requires another.
fn culprits(serve: &Command, settings: &[Setting], merged: &Merged, what: &str) -> Vec<String> {
    let said = settings.iter().filter(|setting| merged.origins.contains_key(&setting.key));
    let names = |text: &str, flag: &str| {
        text.match_indices(flag).any(|(at, _)| {
            !text[at + flag.len()..].starts_with(|next: char| next == '-' || next.is_ascii_alphanumeric())
        })
    };
    let alone = |setting: &Setting| {
        let own = merged.args.iter().filter(|arg| {
            let arg = arg.to_string_lossy();
            arg.split('=').next() == Some(setting.flag.as_str())
        });
        file::rejected(serve, own.cloned())
    };
    let named: Vec<String> = said
        .clone()
        .filter(|setting| names(what, &setting.flag))
        .map(|setting| setting.key.clone())
        .collect();
    if !named.is_empty() {
        return named;
    }
    said.filter(|setting| alone(setting).is_some_and(|error| error == what))
        .map(|setting| setting.key.clone())
        .collect()
}

/// The settings of `serve` without flags.
pub fn usual_serve(root: &Command) -> Result<Serve, String> {
    let variables: Variables<'_> = &|name| std::env::var_os(name);
    let read = config::find_file(None, variables).map(|path| config::read(&path)).transpose()?;
    let matches = matches(root, &merge(root, variables, read.as_ref())?)?;
    Serve::from_arg_matches(&matches).map_err(file::in_a_line)
}

/// The arguments of `serve` without flags.
fn merge(root: &Command, variables: Variables<'_>, file: Option<&config::File>) -> Result<Merged, String> {
    config::merge(root, vec!["lazuli".into(), "serve".into()], variables, file)
}

fn matches(root: &Command, merged: &Merged) -> Result<ArgMatches, String> {
    let matches = root.clone().try_get_matches_from(&merged.args).map_err(file::in_a_line)?;
    matches.subcommand_matches("serve").cloned().ok_or_else(|| "there is no such command".into())
}

fn show(root: &Command, file: Option<PathBuf>, variables: Variables<'_>) -> Result<ExitCode, String> {
    let path = config::find_file(file.as_deref().map(AsRef::as_ref), variables);
    let read = path.as_deref().map(config::read).transpose()?;
    let merged = merge(root, variables, read.as_ref())?;
    let matches = matches(root, &merged)?;
    let mut root = root.clone();
    root.build();
    let wanted = Serve::from_arg_matches(&matches).map_err(file::in_a_line)?;
    match &path {
        Some(path) => say!("# settings from {}", whole(path).display()),
        None => say!("# no configuration file (looked for {})", config::PLACES.join(" and ")),
    }
    match wanted.engine_url() {
        EngineUrl::Memory => say!("# data in memory"),
        EngineUrl::File(path) => say!("# data in {}", whole(&path).display()),
        EngineUrl::Postgres(url) => say!("# data in {url}"),
    }
    let serve = root.find_subcommand("serve").ok_or("there is no such command")?;
    let settings = config::settings(serve);
    let width = settings.iter().map(|setting| setting.key.len()).max().unwrap_or_default();
    for setting in settings.iter().filter(|setting| setting.is_key) {
        let origin = match merged.origins.get(&setting.key) {
            Some(Origin::File(line)) => {
                format!("{}, line {line}", path.as_deref().unwrap_or("".as_ref()).display())
            }
            Some(Origin::Variable) => setting.variable.clone(),
            Some(Origin::Flag) => setting.flag.clone(),
            None => "default".into(),
        };
        let is_said = merged.origins.contains_key(&setting.key);
        let value = match wanted.usual(&setting.key).filter(|_| !is_said) {
            Some(usual) => quoted(&usual),
            None => value(setting, &matches, is_said),
        };
        say!("{:<width$} = {value:<24} # {origin}", setting.key);
    }
    Ok(ExitCode::SUCCESS)
}

/// The value as in the file, without secrets.
fn value(setting: &Setting, matches: &ArgMatches, is_said: bool) -> String {
    let raw = matches.get_raw(setting.id()).into_iter().flatten();
    let is_secret = setting.key.ends_with("password");
    let shown = |text: &str| if is_secret { secret::HIDDEN.to_owned() } else { secret::hide(text) };
    let texts: Vec<String> = raw.map(|value| shown(&value.to_string_lossy())).collect();
    match texts.as_slice() {
        // A flag with an optional value: `true` puts it on the command line, `false` omits it.
        [] if is_said => matches.contains_id(setting.id()).to_string(),
        [] => "(not set)".into(),
        [one] => quoted(one),
        many => format!("[{}]", many.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")),
    }
}

fn quoted(text: &str) -> String {
    let is_bare = matches!(text, "true" | "false") || text.parse::<u64>().is_ok();
    if is_bare { text.to_owned() } else { format!("{text:?}") }
}
