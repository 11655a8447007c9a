//! Flags of the Blob service: features that Azure keeps in its management plane, copy sources, events.

use std::time::Duration;

use clap::Args;
use lazuli_server::Config;
use lazuli_server::config::{BlobSettings, EnabledFor};
use lazuli_server::events::{Route, repeated};
use lazuli_server::outbound::AllowedHost;

#[derive(Args)]
pub(super) struct BlobArgs {
    /// Keep every replaced state of a blob as a version, in all accounts or in the listed ones (comma-separated)
    #[arg(long, value_name = "ACCOUNTS", num_args = 0..=1, require_equals = true, value_delimiter = ',')]
    blob_versioning: Option<Vec<String>>,

    /// Track when block blobs were last read or written, in all accounts or in the listed ones (comma-separated)
    #[arg(long, value_name = "ACCOUNTS", num_args = 0..=1, require_equals = true, value_delimiter = ',')]
    blob_last_access: Option<Vec<String>>,

    /// Keep deleted blob containers for this number of days, so that they can be restored; 0 deletes them immediately
    #[arg(long, value_name = "DAYS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=365))]
    container_retention_days: u16,

    /// Time that a blob takes to leave the archive tier
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    rehydrate_seconds: u32,

    /// Allow copies from this server: HOST, HOST:PORT, or .DOMAIN for all names below it; may be repeated
    /// [default: none]
    #[arg(long, value_name = "HOST[:PORT]")]
    copy_source_allow: Vec<AllowedHost>,

    /// Deliver events of blobs (created, deleted, tier changed) to a queue of the account (queue:NAME) or to a
    /// webhook (a URL), for all accounts or, with ACCOUNT=, for one; may be repeated [default: no events]
    #[arg(long, value_name = "[ACCOUNT=]TARGET")]
    events: Vec<Route>,
}

impl BlobArgs {
    /// Applies the flags to the settings of the server.
    pub(super) fn apply(&self, config: &mut Config) {
        config.copy_sources.clone_from(&self.copy_source_allow);
        config.events.clone_from(&self.events);
        config.blob = BlobSettings {
            versioning: enabled(self.blob_versioning.as_deref()),
            last_access: enabled(self.blob_last_access.as_deref()),
            container_retention_days: self.container_retention_days,
            rehydration: Duration::from_secs(self.rehydrate_seconds.into()),
        };
    }
}

impl BlobArgs {
    /// The error for two targets of the same accounts.
    pub(super) fn repeated_target(&self) -> Option<String> {
        repeated(&self.events).map(|route| match &route.account {
            Some(account) => format!("account {account} has two targets; keep one"),
            None => "two targets are for all accounts; keep one, or put ACCOUNT= before the other".into(),
        })
    }
}

/// The accounts that a flag names; without a name, it is for all.
fn enabled(accounts: Option<&[String]>) -> EnabledFor {
    match accounts {
        None => EnabledFor::Off,
        Some([]) => EnabledFor::All,
        Some(accounts) => EnabledFor::Accounts(accounts.to_vec()),
    }
}
