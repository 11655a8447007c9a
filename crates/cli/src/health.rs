//! `lazuli health`: is the server that has a store open ready? For supervisors and containers.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::admin::{self, Call};
use crate::serve::LOCATION;

/// Ask the running server whether it is ready; exit code 0 if it is.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli health                                the server whose data is in ./lazuli-data
  lazuli health --location /var/lib/lazuli")]
pub struct Health {
    /// Directory of the data
    #[arg(short = 'l', long, value_name = "DIR", default_value = LOCATION)]
    location: PathBuf,
}

impl Health {
    /// Carries the command out.
    pub fn run(self) -> Result<ExitCode, String> {
        let call = Call { method: "GET", path: "/readyz".into(), body: String::new() };
        match admin::on_server(&self.location, &call)? {
            (200, _) => {
                println!("ready");
                Ok(ExitCode::SUCCESS)
            }
            (status, answer) => {
                let why = answer.get("error").and_then(|why| why.as_str()).unwrap_or("no reason was told");
                Err(format!("not ready ({status}): {why}"))
            }
        }
    }
}
