//! The store that a command works on: the one that a flag names, or else the one that `lazuli serve` would open with the same
//! environment and configuration file.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::config;
use crate::engine_url::EngineUrl;

/// A store in a directory.
#[derive(Args)]
pub struct StoreLocation {
    /// Data directory [default: as for serve: LAZULI_LOCATION, or the configuration file, or lazuli-data]
    #[arg(short = 'l', long, value_name = "DIR")]
    location: Option<PathBuf>,
}

impl StoreLocation {
    /// Was the directory named by a flag?
    pub fn is_named(&self) -> bool {
        self.location.is_some()
    }

    /// The directory.
    pub fn directory(&self, root: &Command) -> Result<PathBuf, String> {
        if let Some(named) = &self.location {
            return Ok(named.clone());
        }
        match config::usual_serve(root)?.engine_url() {
            EngineUrl::File(path) => Ok(path),
            EngineUrl::Memory => Err("no data directory configured; pass --location".into()),
            EngineUrl::Postgres(_) => {
                Err("the configured engine is a database; pass --location, or --engine if the command has it"
                    .into())
            }
        }
    }
}
