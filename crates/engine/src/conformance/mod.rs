//! The suite that every engine runs.
//!
//! Each function gets an empty engine from a factory, and panics at the first violation of the trait's
//! contract. [`conformance_tests!`](crate::conformance_tests) turns each of them into a test.

mod adopting;
mod concurrent;
mod dumping;
mod limits;
mod random;
mod rng;
mod scanning;
mod semantics;
mod support;
mod updating;

use std::future::Future;
use std::sync::Arc;

pub use adopting::*;
pub use concurrent::*;
pub use dumping::*;
pub use limits::*;
pub use random::*;
pub use rng::Rng;
pub use scanning::*;
pub use semantics::*;
pub use support::{Add, append, delete, insert, put, range, row_texts, upsert};
pub use updating::*;

use crate::{Clock, Engine};

/// Creates engines for the suite.
pub trait EngineFactory: Send + Sync {
    /// Creates an empty engine that takes its versions from `clock`.
    fn open(&self, clock: Clock) -> impl Future<Output = Arc<dyn Engine>> + Send;
}

/// Defines a test for every function of the suite. `$factory` is an expression that makes a [`EngineFactory`].
///
/// The crate that uses it needs tokio with its macros and its multi-threaded runtime.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        $crate::conformance_tests! { @each $factory;
            rows_are_read_as_written,
            conditions_hold_or_reject,
            updates_compute_from_the_current_value,
            updates_know_the_version_of_their_commit,
            updates_may_keep_their_row,
            updates_may_delete_their_row,
            a_rejected_update_changes_nothing,
            deleting_a_missing_row_changes_nothing,
            a_rejected_commit_changes_nothing,
            writes_of_a_commit_see_each_other,
            an_empty_commit_is_done,
            tables_and_partitions_are_separate,
            keys_may_be_any_string,
            versions_increase_whatever_the_clock_does,
            large_values_and_large_commits,
            commits_beyond_the_bounds_are_rejected,
            fresh_tables_are_unique,
            erased_tables_are_empty,
            status_and_close,
            bounds_of_every_kind,
            ranges_are_read_in_turn,
            rows_come_in_order_of_utf16,
            pages_end_by_rows,
            pages_end_by_bytes,
            pages_end_where_the_judge_stops,
            a_judge_may_fail,
            a_judge_may_leap,
            paging_misses_and_repeats_nothing,
            readers_see_whole_commits,
            an_acknowledged_commit_is_visible_immediately,
            concurrent_updates_lose_nothing,
            concurrent_inserts_have_one_winner,
            concurrent_compare_and_swap_lets_one_through,
            concurrent_commits_have_different_versions,
            scans_see_one_state,
            adopted_rows_keep_their_versions,
            adopted_rows_are_rejected_together,
            a_dump_is_one_moment,
            a_dump_has_every_row_in_order,
            random_operations_match_memory,
        }
    };
    (@each $factory:expr; $($name:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                $crate::conformance::$name(&$factory).await;
            }
        )*
    };
}
