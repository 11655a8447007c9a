//! `lazuli blob lease` and `lazuli container lease`: acquire, renew, change, release and break leases.

use clap::{Args, Subcommand};

use crate::fault::Fault;
use crate::storage::{Session, StorageRequest};

/// A command on the lease of a blob or container, which `A` names.
#[derive(Subcommand)]
pub enum LeaseCommand<A: Args> {
    /// Acquire the lease, and print its id
    #[command(
        after_help = "Examples:\n  lazuli blob lease acquire files/report.pdf --duration 60\n  lazuli container lease acquire files"
    )]
    Acquire {
        #[command(flatten)]
        at: A,
        /// Duration in seconds, 15 to 60, or -1 for a lease that never expires
        #[arg(long, value_name = "SECONDS", default_value_t = -1, allow_negative_numbers = true)]
        duration: i32,
        /// Id for the lease [default: a new one]
        #[arg(long, value_name = "GUID")]
        proposed_lease_id: Option<String>,
    },
    /// Renew a lease for its original duration
    #[command(
        after_help = "Examples:\n  lazuli blob lease renew files/report.pdf \\\n      --lease-id $(lazuli blob lease acquire files/report.pdf)\n  lazuli container lease renew files \\\n      --lease-id $(lazuli container lease acquire files)"
    )]
    Renew {
        #[command(flatten)]
        at: A,
        /// Id of the lease
        #[arg(long, value_name = "GUID")]
        lease_id: String,
    },
    /// Change the id of a lease
    #[command(
        after_help = "Examples:\n  lazuli blob lease change files/report.pdf \\\n      --lease-id $(lazuli blob lease acquire files/report.pdf) \\\n      --proposed-lease-id 7f3c1f7e-35b4-4d3b-9a1f-0d7a51b0a001\n  lazuli container lease change files \\\n      --lease-id $(lazuli container lease acquire files) \\\n      --proposed-lease-id 7f3c1f7e-35b4-4d3b-9a1f-0d7a51b0a002"
    )]
    Change {
        #[command(flatten)]
        at: A,
        /// Id of the lease
        #[arg(long, value_name = "GUID")]
        lease_id: String,
        /// New id
        #[arg(long, value_name = "GUID")]
        proposed_lease_id: String,
    },
    /// Release the lease, so that another client can acquire it immediately
    #[command(
        after_help = "Examples:\n  lazuli blob lease release files/report.pdf \\\n      --lease-id $(lazuli blob lease acquire files/report.pdf)\n  lazuli container lease release files \\\n      --lease-id $(lazuli container lease acquire files)"
    )]
    Release {
        #[command(flatten)]
        at: A,
        /// Id of the lease
        #[arg(long, value_name = "GUID")]
        lease_id: String,
    },
    /// Break a lease without its id, and print the seconds that remain
    #[command(
        after_help = "Examples:\n  lazuli blob lease acquire files/report.pdf && lazuli blob lease break files/report.pdf --period 0\n  lazuli container lease acquire files && lazuli container lease break files"
    )]
    Break {
        #[command(flatten)]
        at: A,
        /// Seconds until the lease ends [default: its remaining time]
        #[arg(long, value_name = "SECONDS")]
        period: Option<u32>,
    },
}

impl<A: Args> LeaseCommand<A> {
    /// The blob or container.
    pub fn at(&self) -> &A {
        match self {
            LeaseCommand::Acquire { at, .. }
            | LeaseCommand::Renew { at, .. }
            | LeaseCommand::Change { at, .. }
            | LeaseCommand::Release { at, .. }
            | LeaseCommand::Break { at, .. } => at,
        }
    }

    /// Sends the request. `call` is `PUT` on the blob or container with `comp=lease`.
    pub fn run(&self, session: &mut Session<'_>, call: StorageRequest) -> Result<(), Fault> {
        let action = |name: &str| call.clone().header("x-ms-lease-action", name);
        let call = match self {
            LeaseCommand::Acquire { duration, proposed_lease_id, .. } => action("acquire")
                .header("x-ms-lease-duration", duration)
                .maybe_header("x-ms-proposed-lease-id", proposed_lease_id.as_ref()),
            LeaseCommand::Renew { lease_id, .. } => action("renew").header("x-ms-lease-id", lease_id),
            LeaseCommand::Change { lease_id, proposed_lease_id, .. } => action("change")
                .header("x-ms-lease-id", lease_id)
                .header("x-ms-proposed-lease-id", proposed_lease_id),
            LeaseCommand::Release { lease_id, .. } => action("release").header("x-ms-lease-id", lease_id),
            LeaseCommand::Break { period, .. } => {
                action("break").maybe_header("x-ms-lease-break-period", period.as_ref())
            }
        };
        let response = session.send(&call)?;
        for name in ["x-ms-lease-id", "x-ms-lease-time"] {
            if let Some(value) = response.header(name) {
                say!("{value}");
            }
        }
        Ok(())
    }
}
