//! Retries calls that failed with a transient error, for a bounded time.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::ObjectFailure;

/// Attempts of a call.
const ATTEMPTS_MAX: u32 = 12;
/// Time after which there are no more attempts.
const TIME_MAX: Duration = Duration::from_secs(25);
/// The pause before the second attempt; it doubles before each further one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// Makes a call until it succeeds, fails permanently, or the time has expired.
pub async fn send<T, F>(mut call: impl FnMut() -> F) -> Result<T, ObjectFailure>
where
    F: Future<Output = Result<T, ObjectFailure>>,
{
    let end = Instant::now() + TIME_MAX;
    let mut attempts = 0;
    loop {
        attempts += 1;
        match call().await {
            Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX && Instant::now() < end => {
                tracing::debug!(%failure, attempts, "the object store failed; retrying");
                pause(PAUSE_MAX.min(PAUSE_MIN * 2_u32.pow(attempts - 1))).await;
            }
            done => return done,
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "no event reports that an object store works again")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    async fn outcome(failures: u32, failure: ObjectFailure) -> (Result<u32, ObjectFailure>, u32) {
        let calls = AtomicU32::new(0);
        let done = send(|| async {
            match calls.fetch_add(1, Ordering::Relaxed) {
                call if call < failures => Err(failure),
                call => Ok(call),
            }
        });
        (done.await, calls.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn only_transient_failures_are_retried() {
        assert_eq!(outcome(2, ObjectFailure::Status(503)).await, (Ok(2), 3));
        assert_eq!(outcome(1, ObjectFailure::Broken).await, (Ok(1), 2));
        for failure in
            [ObjectFailure::Missing, ObjectFailure::Denied, ObjectFailure::Exists, ObjectFailure::Status(400)]
        {
            assert_eq!(outcome(9, failure).await, (Err(failure), 1));
        }
    }
}
