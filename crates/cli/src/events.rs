//! `lazuli events`: waits for the delivery of events.

use std::process::ExitCode;

use clap::{Args, Command, Subcommand};

use crate::admin::{self, AdminCall};
use crate::health::AdminArgs;

/// Duration of one call in seconds, less than the timeout for a response.
const CALL_SECONDS: u32 = 20;

/// Wait for the delivery of the events of blobs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli serve --events queue:changes
  lazuli serve --events shop=queue:changes --events blog=https://example.org/hook
  lazuli events drain                 returns when all events so far are delivered")]
pub struct Events {
    #[command(subcommand)]
    command: EventsCommand,
}

#[derive(Subcommand)]
enum EventsCommand {
    /// Wait until all events are delivered; the exit code is 1 if that takes too long
    #[command(after_help = "\
Examples:
  lazuli events drain
  lazuli events drain --timeout 300 --location /var/lib/lazuli

The admin listener is on loopback only: run this on the machine, or in the container, of the server.")]
    Drain {
        /// Maximum time to wait
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        timeout: u32,

        #[command(flatten)]
        server: AdminArgs,
    },
}

impl Events {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let EventsCommand::Drain { timeout, server } = self.command;
        let address = server.address(root)?;
        let mut left = timeout;
        loop {
            let seconds = left.min(CALL_SECONDS);
            let call =
                AdminCall { method: "POST", path: format!("/events/drain/{seconds}"), body: String::new() };
            let (status, response) = admin::on_address(&address, &call)?;
            if status != 200 {
                let why = response.get("error").and_then(|why| why.as_str());
                return Err(why.unwrap_or("the server gave no reason").to_owned());
            }
            if response.get("drained").and_then(|drained| drained.as_bool()) == Some(true) {
                return Ok(ExitCode::SUCCESS);
            }
            left -= seconds;
            if left == 0 {
                let waiting = response.get("waiting").and_then(|count| count.as_u64()).unwrap_or_default();
                return Err(format!("events of {waiting} blobs were not delivered within {timeout} seconds"));
            }
        }
    }
}
