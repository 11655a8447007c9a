//! Which store a command is about: the one that it names, or else the one that `lazuli serve` would open with the same
//! environment and configuration file.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::config;
use crate::engine_url::EngineUrl;

/// A store in a directory.
#[derive(Args)]
pub struct Place {
    /// Directory of the data [default: that of serve: LAZULI_LOCATION, or what the configuration file says, or else
    /// lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR")]
    location: Option<PathBuf>,
}

impl Place {
    /// The directory.
    pub fn directory(&self, root: &Command) -> Result<PathBuf, String> {
        if let Some(named) = &self.location {
            return Ok(named.clone());
        }
        match config::usual_serve(root)?.engine_url() {
            EngineUrl::File(path) => Ok(path),
            EngineUrl::Memory | EngineUrl::Postgres(_) => {
                Err("the settings of serve name no directory of data: --location does".into())
            }
        }
    }
}
