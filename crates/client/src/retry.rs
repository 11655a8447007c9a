//! The decision whether and when to retry: jittered exponential back-off within a deadline.
//!
//! This module uses no clock and no randomness: the caller supplies both.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use std::time::Duration;
//! use lazuli_client::{RetryOptions, TableService};
//!
//! let hurried = RetryOptions { deadline: Duration::from_secs(2), ..RetryOptions::default() };
//! let service = TableService::builder(lazuli_embedded::account())
//!     .transport(lazuli_embedded::Embedded::memory().expect("entropy is available"))
//!     .retry(hurried)
//!     .build()?;
//! // Requests that cannot succeed are not retried, whatever the deadline.
//! assert!(service.delete_table("Missing").await.unwrap_err().is_not_found());
//! # Ok(()) })
//! ```

use std::time::Duration;

use crate::error::Error;

/// The way in which an operation is retried.
///
/// Transient failures are retried: no connection, no response, 408, 429, 500, 502, 503, 504, and a table whose
/// predecessor of the same name is still being deleted. After a lost response it is unknown whether the request was
/// applied. So a repeated delete that gets 404 counts as done, a repeated insert compares the entity, and any other rejection
/// is reported as [`crate::Applied::Unknown`].
///
/// ```
/// use std::time::Duration;
/// use lazuli_client::{Account, RetryOptions, TableService};
///
/// let patient = RetryOptions { attempts_max: 10, deadline: Duration::from_secs(600), ..RetryOptions::default() };
/// let service = TableService::builder(Account::development()).retry(patient).build()?;
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// Maximum number of attempts, including the first.
    pub attempts_max: u32,
    /// Maximum delay before the second attempt; it doubles with each further attempt.
    pub delay_base: Duration,
    /// Maximum delay.
    pub delay_max: Duration,
    /// Timeout of one attempt.
    pub attempt_time_max: Duration,
    /// Timeout of the operation, including attempts and delays.
    pub deadline: Duration,
    /// The handling of an existing entity by a repeated insert, after an attempt whose response was lost:
    /// `true` reads the entity and accepts an equal one as its own (ER-05). Use `false` if two clients insert
    /// equal entities to determine which of them was first.
    pub adopt_equal_insert: bool,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            attempts_max: 5,
            delay_base: Duration::from_millis(200),
            delay_max: Duration::from_secs(10),
            attempt_time_max: Duration::from_secs(30),
            deadline: Duration::from_secs(120),
            adopt_equal_insert: true,
        }
    }
}

impl RetryOptions {
    /// No retries: every operation is one request.
    ///
    /// ```
    /// # use lazuli_client::RetryOptions;
    /// // For tests, and for programs with their own retries.
    /// assert_eq!(RetryOptions::none().attempts_max, 1);
    /// assert_eq!(RetryOptions::default().attempts_max, 5);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn none() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The delay before another attempt, or `None` to give up. `done` attempts were made.
    ///
    /// Half of the delay is fixed and half is random, so that clients that failed together do not retry
    /// together.
    pub(crate) fn delay(
        &self,
        done: u32,
        error: &Error,
        retry_after: Option<Duration>,
        random: u64,
    ) -> Option<Duration> {
        if done >= self.attempts_max || !error.is_transient() {
            return None;
        }
        let doubled = self.delay_base.saturating_mul(1 << done.saturating_sub(1).min(16));
        let longest = doubled.min(self.delay_max);
        let chance = (random >> 11) as f64 / (1_u64 << 53) as f64;
        let half = longest / 2;
        let jittered = half + half.mul_f64(chance);
        Some(retry_after.map_or(jittered, |asked| asked.clamp(jittered, self.delay_max.max(jittered))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TransportError;

    /// ER-04: the delay doubles, is capped, is jittered between one half and the whole, and ends.
    #[test]
    fn delays() {
        let options =
            RetryOptions { attempts_max: 9, delay_max: Duration::from_secs(1), ..Default::default() };
        let lost = Error::from(TransportError::lost("gone"));
        let delay = |done, random| options.delay(done, &lost, None, random).map(|d| d.as_millis());
        assert_eq!(delay(1, u64::MAX), Some(200));
        assert_eq!(delay(1, 0), Some(100));
        assert_eq!(delay(2, 0), Some(200));
        assert_eq!(delay(3, 0), Some(400));
        assert_eq!(delay(4, 0), Some(500));
        assert_eq!(delay(8, 0), Some(500));
        assert_eq!(delay(9, 0), None);
        assert_eq!(options.delay(1, &Error::input("wrong"), None, 0), None);
        let asked = |seconds| options.delay(1, &lost, Some(Duration::from_millis(seconds)), 0);
        assert_eq!(asked(900), Some(Duration::from_millis(900)));
        assert_eq!(asked(10), Some(Duration::from_millis(100)));
        assert_eq!(asked(9000), Some(Duration::from_secs(1)));
        let without_bound =
            RetryOptions { delay_base: Duration::MAX, delay_max: Duration::MAX, ..Default::default() };
        assert!(without_bound.delay(1, &lost, None, u64::MAX) > Some(Duration::MAX / 2));
    }
}
