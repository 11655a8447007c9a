//! Concurrent clients and administrators: accounts are created and removed, keys are rotated, policies changed,
//! tables are created, filled, scanned page by page, and deleted.
//!
//! A key that was replaced is never accepted again, and a valid one is always accepted. An account never shows
//! the tables of an earlier account with its name, and is never removed while it has any. A signature is
//! accepted only while the policy that it refers to exists. Each page of a scan is a snapshot.

mod client;
pub mod record;
mod requests;
mod shared;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use lazuli_model::Service;

pub use record::{AccountChange, MixedCall, MixedOutput, TableAction};

use crate::linear::{self, HistoryEvent, HistorySize};
use crate::subject::Subject;

/// Counts of the events in the histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct MixedSeen {
    /// Operations with a response.
    pub responses: usize,
    /// Operations with an unknown outcome.
    pub unknown: usize,
    /// Removed accounts.
    pub removed: usize,
    /// Replaced keys.
    pub rotated: usize,
    /// Requests whose key was rejected.
    pub denied: usize,
    /// Reads with a signature that refers to a policy.
    pub policies: usize,
    /// Pages that were not the first of their scan.
    pub pages: usize,
    /// Does the server have an admin listener that the histories use?
    pub has_admin: bool,
}

impl MixedSeen {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: MixedSeen) {
        self.responses += other.responses;
        self.unknown += other.unknown;
        self.removed += other.removed;
        self.rotated += other.rotated;
        self.denied += other.denied;
        self.policies += other.policies;
        self.pages += other.pages;
        self.has_admin |= other.has_admin;
    }

    /// Histories without events also have an order, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        let missing = match self {
            MixedSeen { policies: 0, .. } => "no policy was ever used",
            MixedSeen { pages: 0, .. } => "no scan had a second page",
            MixedSeen { unknown: 0, .. } if shape.kill => "no kill ever interrupted a change",
            MixedSeen { has_admin: false, .. } => return Ok(()),
            MixedSeen { removed: 0, .. } => "no account was ever removed",
            MixedSeen { rotated: 0, .. } => "no key was ever replaced",
            MixedSeen { denied: 0, .. } => "no key was ever rejected",
            _ => return Ok(()),
        };
        Err(missing.into())
    }
}

/// Records and checks one history with this seed, in a separate account. An error contains the seed.
pub async fn run(subject: &mut impl Subject, seed: u64, shape: HistorySize) -> Result<MixedSeen, String> {
    let shared = Arc::new(shared::MixedShared::new(subject.admin_file(), seed));
    let client = |recorder| client::MixedClient::new(Arc::clone(&shared), shape.clients, recorder);
    let events = linear::run(subject, Service::Table, seed, shape, client).await?;
    Ok(MixedSeen { has_admin: shared.has_keys(), ..seen(&events) })
}

fn seen(events: &[HistoryEvent<MixedCall>]) -> MixedSeen {
    let mut seen = MixedSeen::default();
    for event in events {
        let Some(output) = &event.output else {
            seen.unknown += 1;
            continue;
        };
        seen.responses += 1;
        let count = match (&event.operation, output) {
            (MixedCall::Account(AccountChange::Remove), MixedOutput::Applied) => &mut seen.removed,
            (MixedCall::Account(AccountChange::Rotate { .. }), MixedOutput::Applied) => &mut seen.rotated,
            (MixedCall::Account(AccountChange::Use(_)), MixedOutput::Denied) => &mut seen.denied,
            (MixedCall::Table { action: TableAction::UsePolicy(_), .. }, MixedOutput::Applied) => {
                &mut seen.policies
            }
            (MixedCall::Table { action: TableAction::Page(1..), .. }, MixedOutput::Rows(_)) => {
                &mut seen.pages
            }
            _ => continue,
        };
        *count += 1;
    }
    seen
}
