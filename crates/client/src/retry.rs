//! When to try again, and after how long: jittered exponential back-off within a deadline.
//!
//! No clock and no dice here: the caller brings both.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use std::time::Duration;
//! use lazuli_client::{RetryOptions, TableService};
//!
//! let hurried = RetryOptions { deadline: Duration::from_secs(2), ..RetryOptions::default() };
//! let service = TableService::builder(lazuli_embedded::account())
//!     .transport(lazuli_embedded::Embedded::memory().expect("there is memory"))
//!     .retry(hurried)
//!     .build()?;
//! // What cannot succeed is not tried again, however much time there is.
//! assert!(service.delete_table("Missing").await.unwrap_err().is_not_found());
//! # Ok(()) })
//! ```

use std::time::Duration;

use crate::error::Error;

/// How an operation is retried.
///
/// What may succeed later is tried again: no connection, no answer, 408, 429, 500, 502, 503, 504, and a table whose
/// namesake is still being deleted. After a lost answer nobody knows whether the request was carried out, so a repeated
/// delete that finds nothing counts as done, a repeated insert compares, and everything else that is refused then says
/// [`crate::Applied::Unknown`].
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
    /// Attempts in all; 1 is none beside the first.
    pub attempts_max: u32,
    /// The wait before the second attempt, at most; it doubles from one to the next.
    pub delay_base: Duration,
    /// The longest wait.
    pub delay_max: Duration,
    /// An attempt that has no answer after this time is given up.
    pub attempt_time_max: Duration,
    /// The time for the operation, attempts and waits together.
    pub deadline: Duration,
    /// What a repeated insert is told when the entity is there already, after an attempt whose answer was lost: `true`
    /// reads the entity and takes an equal one for its own (ER-05). Choose `false` where two clients insert equal entities
    /// to find out who was first.
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
    /// Never again: every operation is one request.
    ///
    /// ```
    /// # use lazuli_client::RetryOptions;
    /// // For tests, and for programs that have retries of their own around everything.
    /// assert_eq!(RetryOptions::none().attempts_max, 1);
    /// assert_eq!(RetryOptions::default().attempts_max, 5);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn none() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The wait before another attempt, or `None` if there is none. `done` attempts were made.
    ///
    /// Half of the wait is fixed and half of it is chance, so that clients that failed together do not come back
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

    /// ER-04: doubles, is capped, is jittered between half and whole, ends.
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
