//! The background work of an open front end: it monitors the server, and renews its slot and its streams.
//!
//! Invariant: streams are renewed before the slot. A front end that lost its streams finds that out before it can commit again.

use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Result;
use tokio::time::{Instant, timeout};

use crate::content::StreamLedger;
use crate::engine::Core;
use crate::pool::pause;

/// Interval between checks of the server.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// A server that does not respond within this time may have been replaced, so the others are queried.
const LOOK_TIME_MAX: Duration = Duration::from_secs(3);
/// Interval between renewals of the slot.
const RENEW_EVERY: Duration = Duration::from_secs(20);

/// Monitors the server and renews the slot while the engine is open.
pub async fn look_after(core: Arc<Core>, ledger: Arc<StreamLedger>) {
    let mut renewed = Instant::now();
    loop {
        pause(LOOK_EVERY).await;
        look(&core).await;
        if renewed.elapsed() >= RENEW_EVERY {
            match renew_all(&core, &ledger, Instant::now()).await {
                Ok(()) => renewed = Instant::now(),
                Err(error) => tracing::warn!(%error, "failed to renew the slot of this front end"),
            }
        }
    }
}

/// Renews the streams, then the slot: without its streams a front end must not commit anything. `now` is the current time.
pub async fn renew_all(core: &Core, ledger: &StreamLedger, now: Instant) -> Result<()> {
    ledger.renew().await?;
    core.renew(now).await?;
    for done in [ledger.report().await, ledger.fence(now).await, ledger.keep_holds(now).await] {
        if let Err(error) = done {
            tracing::warn!(%error, "failed to update the shared records about content");
        }
    }
    Ok(())
}

/// Checks whether the server responds; if it does not, searches all servers.
async fn look(core: &Core) {
    let Ok(instance) = core.pool.instance().await else { return };
    let url = &core.pool.url;
    let alive = async {
        instance.meta(url).await?;
        instance.barrier(url).await
    };
    if !matches!(timeout(LOOK_TIME_MAX, alive).await, Ok(Ok(()))) {
        instance.suspect();
        if let Err(failure) = core.pool.instance().await {
            tracing::warn!(error = %failure.of_read(), "the database is not available");
        }
    }
}
