//! `lazuli config`: explains the configuration.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, Subcommand};

use crate::config::{self, Origin, Setting, Variables};

/// Check the configuration file, and show what is set and by what.
///
/// Every flag of `lazuli serve` is also an environment variable and a key of the file: --table-port, LAZULI_TABLE_PORT and
/// `table-port = 10002` are the same setting. A flag is stronger than a variable, that is stronger than the file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli config check lazuli.toml     explains what is wrong in a file
  lazuli config show                  every setting, its value and where that comes from

The file is the one that --config or LAZULI_CONFIG name, or else ./lazuli.toml, or else /etc/lazuli/lazuli.toml. It is
flat TOML: `quiet = true`, `max-connections = 500`, `trusted-proxy = [\"10.0.0.1\"]`.")]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Explain what is wrong in a file
    #[command(after_help = "\
Examples:
  lazuli config check               the file that serve would read
  lazuli config check lazuli.toml   this one")]
    Check {
        /// The file; the one that serve would read if none is given
        file: Option<PathBuf>,
    },
    /// Print every setting, its value and where that comes from
    #[command(after_help = "\
Examples:
  lazuli config show
  LAZULI_TABLE_PORT=0 lazuli config show --config lazuli.toml")]
    Show {
        /// The file, rather than the one that serve would read
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

impl ConfigArgs {
    /// Carries the command out.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let variables: Variables<'_> = &|name| std::env::var_os(name);
        match self.command {
            ConfigCommand::Check { file } => check(root, file, variables),
            ConfigCommand::Show { config } => show(root, config, variables),
        }
    }
}

fn check(root: &Command, file: Option<PathBuf>, variables: Variables<'_>) -> Result<ExitCode, String> {
    let path = config::find_file(file.as_deref().map(AsRef::as_ref), variables);
    let Some(path) = path else {
        say!("there is no configuration file: {}", config::PLACES.join(", "));
        return Ok(ExitCode::SUCCESS);
    };
    let mut root = root.clone();
    root.build();
    let serve = root.find_subcommand("serve").ok_or("there is no such command")?;
    let mistakes = config::read(&path)?.mistakes(serve, &config::settings(serve));
    for mistake in &mistakes {
        say!("{}, {mistake}", path.display());
    }
    if mistakes.is_empty() {
        say!("{}: nothing is wrong", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn show(root: &Command, file: Option<PathBuf>, variables: Variables<'_>) -> Result<ExitCode, String> {
    let path = config::find_file(file.as_deref().map(AsRef::as_ref), variables);
    let read = path.as_deref().map(config::read).transpose()?;
    let args = vec!["lazuli".into(), "serve".into()];
    let merged = config::merge(root, args, variables, read.as_ref())?;
    let matches = root.clone().try_get_matches_from(merged.args).map_err(|error| error.to_string())?;
    let matches = matches.subcommand_matches("serve").ok_or("there is no such command")?;
    let mut root = root.clone();
    root.build();
    let serve = root.find_subcommand("serve").ok_or("there is no such command")?;
    for setting in config::settings(serve).iter().filter(|setting| setting.is_key) {
        let origin = match merged.origins.get(&setting.key) {
            Some(Origin::File(line)) => {
                format!("{}, line {line}", path.as_deref().unwrap_or("".as_ref()).display())
            }
            Some(Origin::Variable) => setting.variable.clone(),
            Some(Origin::Flag) => setting.flag.clone(),
            None => "default".into(),
        };
        say!("{:<20} = {:<24} # {origin}", setting.key, value(setting, matches));
    }
    Ok(ExitCode::SUCCESS)
}

/// The value as it would stand in the file.
fn value(setting: &Setting, matches: &clap::ArgMatches) -> String {
    let raw = matches.get_raw(setting.id()).into_iter().flatten();
    let texts: Vec<String> = raw.map(|value| value.to_string_lossy().into_owned()).collect();
    let quoted = |text: &String| if is_bare(text) { text.clone() } else { format!("{text:?}") };
    match texts.as_slice() {
        [] => "(not set)".into(),
        [one] => quoted(one),
        many => format!("[{}]", many.iter().map(quoted).collect::<Vec<_>>().join(", ")),
    }
}

fn is_bare(text: &str) -> bool {
    matches!(text, "true" | "false") || text.parse::<u64>().is_ok()
}
