//! `lazuli completions` and `lazuli man`: completion scripts and man pages, generated from the definition of
//! the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

/// Print the completion script of a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli completions bash > lazuli.bash     for /etc/bash_completion.d
  lazuli completions zsh > _lazuli          for a directory of $fpath
  lazuli completions fish > lazuli.fish     for ~/.config/fish/completions")]
pub struct Completions {
    /// Shell
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub fn run(self, mut root: Command) -> Result<ExitCode, String> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut root, "lazuli", &mut script);
        say!("{}", String::from_utf8_lossy(&script).trim_end());
        Ok(ExitCode::SUCCESS)
    }
}

/// Write man pages, one for each command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli man man1     then: man man1/lazuli-serve.1")]
pub struct Man {
    /// Directory, created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    /// Runs the command.
    pub fn run(self, root: Command) -> Result<ExitCode, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.directory.display());
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        clap_mangen::generate_to(root, &self.directory).map_err(failed)?;
        Ok(ExitCode::SUCCESS)
    }
}
