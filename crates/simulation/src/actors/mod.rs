//! Clients and administrators. Each sends its requests one after the other and checks every response.

mod accounts;
mod appends;
mod blobs;
mod churn;
mod crashes;
mod derived;
mod kept;
mod leases;
mod pages;
mod policies;
mod queues;
mod rows;
mod scans;

pub use accounts::administer;
pub use appends::{read_appends, use_appends};
pub use blobs::{read_blob, use_blobs};
pub use churn::create_and_delete;
pub use crashes::{crash_and_restart, restart, start};
pub use derived::use_derived;
pub use kept::{KEPT, check_kept, use_kept};
pub use leases::use_lease;
pub use pages::{read_pages, use_pages};
pub use policies::{change_policy, use_policy};
pub use queues::{drain, use_queue};
pub use rows::{read_pair, use_rows, use_rows_table};
pub use scans::use_scans;

use lazuli_model::Service;
use lazuli_probe::Request;

use crate::ledger::AccountAccess;
use crate::network::RequestOutcome;
use crate::time::pass;
use crate::world::World;

/// The account that is never removed, with all data that is checked during the whole run.
pub const STEADY: &str = "steady";
/// After this time, in milliseconds, a change with an unknown outcome was applied, or never will be.
pub const SETTLED_AFTER: u64 = 200_000;
/// Attempts to set something up.
const ATTEMPTS_MAX: usize = 60;

impl World {
    /// Sends a request with the key of an access, and checks that the key was accepted or rejected correctly.
    pub async fn send_as(
        &self,
        access: &AccountAccess,
        service: Service,
        request: Request,
    ) -> RequestOutcome {
        let outcome = self.send(service, &access.account, &access.key, request).await;
        let checked = self.ledger().accounts.check(access, &outcome);
        self.expect(checked);
        outcome
    }

    /// Access to the steady account, as soon as it exists.
    pub async fn steady(&self) -> AccountAccess {
        self.access_to(STEADY).await
    }

    /// Access to an account that is never removed, as soon as it exists.
    pub async fn access_to(&self, account: &str) -> AccountAccess {
        loop {
            let which = self.rng.below(2) as usize;
            let access = self.ledger().accounts.access(account, which);
            if let Some(access) = access {
                return access;
            }
            pass(50).await;
        }
    }

    /// Creates something in the steady account that all clients use.
    pub async fn set_up(&self, service: Service, request: impl Fn() -> Request) {
        self.set_up_in(STEADY, service, request).await;
    }

    /// Like [`Self::set_up`], in another account that is never removed.
    pub async fn set_up_in(&self, account: &str, service: Service, request: impl Fn() -> Request) {
        for _ in 0..ATTEMPTS_MAX {
            let access = self.access_to(account).await;
            let status = self.send_as(&access, service, request()).await.status();
            // 412: it exists, and somebody has its lease.
            if matches!(status, 201 | 202 | 204 | 409 | 412) {
                return;
            }
            pass(500).await;
        }
        self.trace.fail(format!("{} could not be set up", service.label()));
    }

    /// Waits a little.
    pub async fn rest(&self) {
        let time = if self.rng.chance(100) { self.rng.below(10_000) } else { self.rng.below(300) };
        pass(time).await;
    }
}

/// A request with the headers that every request has.
pub fn request(method: &'static str, target: String, version: &'static str) -> Request {
    Request::new(method, target).with("x-ms-version", version)
}
