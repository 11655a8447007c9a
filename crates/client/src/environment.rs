//! The only module in which the client reads a clock, sleeps, or draws random numbers, so that tests can replace all three.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use std::time::Duration;
//! use lazuli_client::{BoxFuture, DateTime, Environment, System};
//!
//! /// A day in the past, for tests that must not depend on today.
//! struct ThatDay(System, DateTime);
//!
//! impl Environment for ThatDay {
//!     fn now(&self) -> DateTime { self.1 }
//!     fn elapsed(&self) -> Duration { self.0.elapsed() }
//!     fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> { self.0.sleep(time) }
//!     fn random(&self) -> u64 { 4 }
//! }
//!
//! let day = DateTime::parse("2009-11-01T12:00:00Z").expect("a valid date");
//! assert_eq!(ThatDay(System::default(), day).now().http().as_str(), "Sun, 01 Nov 2009 12:00:00 GMT");
//! # Ok(()) })
//! ```

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lazuli_model::DateTime;

use crate::transport::BoxFuture;

/// Time and randomness.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// # use std::sync::atomic::{AtomicU64, Ordering};
/// use std::time::Duration;
/// use lazuli_client::{BoxFuture, DateTime, Environment, System, TableService};
///
/// /// The same random numbers in every run of a test.
/// struct Seeded(System, AtomicU64);
///
/// impl Environment for Seeded {
///     fn now(&self) -> DateTime { self.0.now() }
///     fn elapsed(&self) -> Duration { self.0.elapsed() }
///     fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> { self.0.sleep(time) }
///     fn random(&self) -> u64 { self.1.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) }
/// }
///
/// let transport = lazuli_embedded::Embedded::memory().expect("entropy is available");
/// let builder = TableService::builder(lazuli_embedded::account()).transport(transport);
/// let service = builder.environment(Seeded(System::default(), AtomicU64::new(7))).build()?;
/// assert!(service.table_names().await?.is_empty());
/// # Ok(()) })
/// ```
pub trait Environment: Send + Sync + 'static {
    /// The current time, which signatures contain.
    ///
    /// ```
    /// # use lazuli_client::{DateTime, Environment, System};
    /// let now = System::default().now();
    /// assert!(DateTime::parse("2024-01-01T00:00:00Z").is_some_and(|then| then < now));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn now(&self) -> DateTime;

    /// Monotonic time since a fixed moment, used for deadlines.
    ///
    /// ```
    /// # use lazuli_client::{Environment, System};
    /// let system = System::default();
    /// let before = system.elapsed();
    /// assert!(system.elapsed() >= before);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn elapsed(&self) -> Duration;

    /// Sleeps.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Environment, System};
    /// # use std::time::Duration;
    /// let system = System::default();
    /// let before = system.elapsed();
    /// system.sleep(Duration::from_millis(2)).await;
    /// assert!(system.elapsed() - before >= Duration::from_millis(2));
    /// # Ok(()) })
    /// ```
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()>;

    /// A random number, for the jitter of back-off and for the ids of requests and batches.
    ///
    /// ```
    /// # use lazuli_client::{Environment, System};
    /// let system = System::default();
    /// assert_ne!(system.random(), system.random(), "a collision is practically impossible");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn random(&self) -> u64;
}

/// The machine's own clock and entropy.
///
/// ```
/// use lazuli_client::{Account, System, TableService};
///
/// // A service uses this by default.
/// let service = TableService::builder(Account::development()).environment(System::default()).build()?;
/// assert_eq!(service.account().name(), Some("devstoreaccount1"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct System {
    start: Instant,
}

impl Default for System {
    #[allow(clippy::disallowed_methods, reason = "this is where the client gets the time from")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Environment for System {
    #[allow(clippy::disallowed_methods, reason = "this is where the client gets the time from")]
    fn now(&self) -> DateTime {
        DateTime::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[allow(clippy::disallowed_methods, reason = "this is where the client waits")]
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without entropy, only the jitter is lost, since the ids are used only in logs.
        let _ = getrandom::fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
