//! Requests that are refused because there are too many: of an account, of a partition, or of all.

use std::sync::Arc;
use std::time::Duration;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Operation};
use lazuli_protocol::ApiVersion;
use lazuli_service::{Grant, partition_of};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Frontend;
use crate::metrics::Exceeded;

/// How long a request waits for a place among those of its kind that are being answered.
const PLACE_TIME_MAX: Duration = Duration::from_secs(1);
/// Changes of tables, policies and properties under way at a time, those that nobody waits for any more included.
pub(super) const CHANGES_MAX: usize = 256;
/// What an account that asks for too much is told from 2017-04-17 on.
const ACCOUNT_TEXT: &str = "Operations per second is over the account limit.";

impl Frontend {
    /// Passes a grant on whose account is within its rate. Only now: nobody can use up the rate of another.
    pub(super) fn within_rate(&self, grant: Grant, version: ApiVersion) -> Result<Grant, Failure> {
        if self.throttle.account(&grant.account, || self.watch.elapsed()) {
            return Ok(grant);
        }
        self.metrics.throttled(Exceeded::Account);
        let failure = if version >= ApiVersion::V2017_04_17 {
            Failure::new(ErrorCode::ServerBusy, ACCOUNT_TEXT)
        } else {
            ErrorCode::ServerBusy.into()
        };
        Err(failure.found_in(Origin::FrontEnd))
    }

    /// PR-11: a batch counts as its entities.
    pub(super) fn partition_within_rate(&self, grant: &Grant, operation: &Operation) -> Result<(), Failure> {
        if !self.throttle.limits_partitions() {
            return Ok(());
        }
        let Some(used) = partition_of(operation) else { return Ok(()) };
        let name = (&grant.account, used.table.folded(), used.partition);
        if self.throttle.partition(name, used.entities, || self.watch.elapsed()) {
            return Ok(());
        }
        self.metrics.throttled(Exceeded::Partition);
        Err(ErrorCode::ServerBusy.into())
    }

    /// A place for the page of a query, for as long as it is made: pages are large, and clients are many. Whoever gets
    /// none soon is told to come again.
    pub(super) async fn place_for(
        &self,
        operation: &Operation,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if !matches!(operation, Operation::QueryEntities { .. } | Operation::QueryTables(_)) {
            return Ok(None);
        }
        if let Ok(place) = Arc::clone(&self.pages).try_acquire_owned() {
            return Ok(Some(place));
        }
        self.place_in(&self.pages).await.map(Some)
    }

    /// A place for a change that may outlive its request. While the engine is stuck, clients that try again would
    /// otherwise leave more and more of them behind.
    pub(super) async fn place_for_change(&self) -> Result<OwnedSemaphorePermit, Failure> {
        self.place_in(&self.changes).await
    }

    async fn place_in(&self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
        match timeout(PLACE_TIME_MAX, Arc::clone(places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => {
                self.metrics.throttled(Exceeded::Load);
                Err(ErrorCode::ServerBusy.into())
            }
        }
    }
}
