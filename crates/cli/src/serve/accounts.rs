//! The static accounts of a server, in addition to those in its store.

use std::net::IpAddr;

use lazuli_server::accounts::{ConfiguredAccount, parse_accounts};
use lazuli_service::accounts::KEY_BYTES_MIN;

use super::Serve;

impl Serve {
    /// The accounts from the environment, or else the development account if that is safe.
    pub(super) fn accounts(&self, host: IpAddr) -> Result<Vec<ConfiguredAccount>, String> {
        if let Some(given) = accounts_of_environment()? {
            for weak in given.iter().filter(|account| account.is_weak) {
                tell!(
                    "lazuli: warning: a key of account '{}' has fewer than {KEY_BYTES_MIN} bytes and can be guessed",
                    weak.name
                );
            }
            return Ok(given);
        }
        if host.is_loopback() || self.dev_account {
            return Ok(vec![ConfiguredAccount::development()]);
        }
        if self.azurite.names_host() {
            tell!(
                "lazuli: warning: the development account, whose key is public, can be used by everyone who reaches {host}"
            );
            return Ok(vec![ConfiguredAccount::development()]);
        }
        tell!(
            "lazuli: the development account is not served on {host}, since its key is public (pass --dev-account to serve it anyway)"
        );
        Ok(Vec::new())
    }
}

/// The accounts from an environment variable, if it is set.
pub(super) fn accounts_of_environment() -> Result<Option<Vec<ConfiguredAccount>>, String> {
    for variable in ["LAZULI_ACCOUNTS", "AZURITE_ACCOUNTS"] {
        // CI systems pass unset variables as empty ones.
        if let Some(text) = std::env::var(variable).ok().filter(|text| !text.is_empty()) {
            return parse_accounts(&text).map(Some).map_err(|why| format!("{variable}: {why}"));
        }
    }
    Ok(None)
}
