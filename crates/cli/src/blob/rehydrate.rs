//! `lazuli blob rehydrate`: brings a blob back from the archive tier.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lazuli_model::Service;

use super::path::BlobPath;
use super::pause;
use crate::fault::EXIT_CODES;
use crate::storage::StorageRequest;
use crate::target::Target;

/// Priority of a rehydration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Priority {
    Standard,
    High,
}

/// Tiers in which a blob can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tier {
    Hot,
    Cool,
    Cold,
}

/// Bring a blob back from the archive tier
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob rehydrate files/report.pdf --tier cool --priority high --wait

{EXIT_CODES}"))]
pub struct Rehydrate {
    /// Blob
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse_blob)]
    path: BlobPath,

    /// Tier to move it to
    #[arg(long, value_enum, default_value_t = Tier::Hot)]
    tier: Tier,

    /// Priority of the rehydration
    #[arg(long, value_enum, default_value_t = Priority::Standard)]
    priority: Priority,

    /// Wait until the blob can be read
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    target: Target,
}

impl Rehydrate {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let mut session = storage.session();
            let find = StorageRequest::new("HEAD", &self.path.names());
            let found = session.send(&find)?;
            if found.header("x-ms-access-tier") != Some("Archive") {
                return Err(format!("{} is not in the archive tier", self.path).into());
            }
            let call = StorageRequest::new("PUT", &self.path.names()).with("comp", "tier");
            let call = call.header("x-ms-access-tier", format!("{:?}", self.tier));
            session.send(&call.header("x-ms-rehydrate-priority", format!("{:?}", self.priority)))?;
            while self.wait && session.send(&find)?.header("x-ms-archive-status").is_some() {
                pause();
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
