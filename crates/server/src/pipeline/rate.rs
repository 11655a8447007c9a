//! Requests that are rejected because there are too many: of an account, of a partition, or of all.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_model::error::Origin;
use lazuli_model::table::Operation;
use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::ApiVersion;
use lazuli_service::{Grant, partition_of};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::analytics::is_unauthenticated;
use crate::metrics::Exceeded;
use crate::state::State;

/// How long a request waits for a place among those of its kind that are being answered.
const PLACE_TIME_MAX: Duration = Duration::from_secs(1);
/// The message for an account beyond its rate, from 2017-04-17 on.
const ACCOUNT_TEXT: &str = "Operations per second is over the account limit.";

impl State {
    /// Passes a grant on whose account is within its rate. Only now: nobody can use up the rate of another.
    pub(crate) fn within_rate(&self, grant: Grant, version: ApiVersion) -> Result<Grant, Failure> {
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

    /// The failure that a client gets whose request was not admitted. An address that fails to authenticate too often is
    /// told so; requests that do authenticate are not affected.
    pub(crate) fn not_admitted(&self, failure: Failure, address: IpAddr) -> Failure {
        if !is_unauthenticated(failure.code) || self.throttle.failure(address, self.watch.elapsed()) {
            return failure;
        }
        self.metrics.throttled(Exceeded::Failures);
        Failure::from(ErrorCode::ServerBusy).found_in(Origin::FrontEnd)
    }

    /// PR-11: a batch counts as its entities.
    pub(crate) fn partition_within_rate(&self, grant: &Grant, operation: &Operation) -> Result<(), Failure> {
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
    pub(crate) async fn page_permit(
        &self,
        operation: &Operation,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if !matches!(operation, Operation::QueryEntities { .. } | Operation::QueryTables(_)) {
            return Ok(None);
        }
        if let Ok(place) = Arc::clone(&self.pages).try_acquire_owned() {
            return Ok(Some(place));
        }
        self.permit_of(&self.pages).await.map(Some)
    }

    /// A place for a change that may outlive its request. While the engine is stuck, clients that try again would
    /// otherwise leave more and more of them behind.
    pub(crate) async fn change_permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        self.permit_of(&self.changes).await
    }

    async fn permit_of(&self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
        match timeout(PLACE_TIME_MAX, Arc::clone(places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => {
                self.metrics.throttled(Exceeded::Load);
                Err(ErrorCode::ServerBusy.into())
            }
        }
    }
}
