//! Rejects requests beyond the limits: of an account, of a partition, or of the whole server.

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
use crate::http::Claim;
use crate::metrics::Exceeded;
use crate::state::State;

/// Maximum time that a request waits for a permit of its kind.
const PLACE_TIME_MAX: Duration = Duration::from_secs(1);
/// The error message for an account beyond its rate, from 2017-04-17 on.
const ACCOUNT_TEXT: &str = "Operations per second is over the account limit.";

impl State {
    /// Returns the grant if its account is within its rate. This comes after authentication, so that no one can
    /// use up the rate of another account.
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

    /// The failure for a client whose request was not admitted. An address that fails to authenticate too often
    /// gets `ServerBusy`; requests that authenticate successfully are not affected.
    pub(crate) fn not_admitted(&self, failure: Failure, address: IpAddr) -> Failure {
        if !is_unauthenticated(failure.code) || self.throttle.failure(address, self.watch.elapsed()) {
            return failure;
        }
        self.metrics.throttled(Exceeded::Failures);
        Failure::from(ErrorCode::ServerBusy).found_in(Origin::FrontEnd)
    }

    /// PR-11: a batch counts as many times as it has entities.
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

    /// Claims memory for a response while it is built: responses can be large, and there are many clients. The
    /// request is rejected if the memory does not become available soon.
    pub(crate) async fn room_to_build(&self, bytes: usize) -> Result<Claim, Failure> {
        let claim = self.building.claim_within(bytes, PLACE_TIME_MAX).await;
        claim.ok_or_else(|| self.too_busy())
    }

    /// A permit to encode a large response, which can be many times longer than its rows. The wait is short, since
    /// earlier holders already have their memory.
    pub(crate) async fn turn_to_encode(&self, is_large: bool) -> Option<OwnedSemaphorePermit> {
        if is_large { Arc::clone(&self.encodings).acquire_owned().await.ok() } else { None }
    }

    /// A permit for a change that may outlive its request. Otherwise clients that retry while the engine hangs would
    /// leave more and more changes behind.
    pub(crate) async fn change_permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        self.permit_of(&self.changes).await
    }

    async fn permit_of(&self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
        match timeout(PLACE_TIME_MAX, Arc::clone(places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(self.too_busy()),
        }
    }

    fn too_busy(&self) -> Failure {
        self.metrics.throttled(Exceeded::Load);
        ErrorCode::ServerBusy.into()
    }
}
