//! The suite that every content store runs.
//!
//! Each function gets an empty store from a factory, and panics at the first violation of the trait's contract.
//! [`content_conformance_tests!`](crate::content_conformance_tests) turns each of them into a test.

mod concurrent;
mod moving;
mod reading;
mod reclaiming;
mod support;
mod sweeping;

use std::future::Future;
use std::sync::Arc;

pub use concurrent::*;
pub use moving::*;
pub use reading::*;
pub use reclaiming::*;
pub use support::{bytes_of, read_all, settled, write_all};
pub use sweeping::*;

use crate::Content;

/// Creates locations for content stores.
pub trait ContentFactory: Send + Sync {
    /// The type of the locations.
    type Home: Home;

    /// An empty location.
    fn home(&self) -> impl Future<Output = Self::Home> + Send;
}

/// A location whose content survives the stores that are opened on it.
pub trait Home: Send {
    /// Opens the store as a new process would. The previously opened store is closed first.
    fn open(&mut self) -> impl Future<Output = Arc<dyn Content>> + Send;
}

/// Defines a test for every function of the suite. `$factory` is an expression that makes a [`ContentFactory`].
///
/// The crate that uses it needs tokio with its macros and its multi-threaded runtime.
#[macro_export]
macro_rules! content_conformance_tests {
    ($factory:expr) => {
        $crate::content_conformance_tests! { @each $factory;
            contents_of_every_size_are_read_back,
            content_that_arrives_in_parts_is_stored_in_order,
            large_content_has_several_pieces,
            ranges_are_exact,
            random_ranges_match,
            chunks_are_bounded,
            a_fold_sees_every_byte_in_order,
            an_empty_upload_has_no_pieces,
            wrong_names_are_not_read,
            concurrent_writers_do_not_mix,
            readers_and_writers_work_together,
            released_pieces_are_gone,
            releasing_again_is_harmless,
            releasing_frees_no_neighbours,
            a_reader_keeps_its_piece,
            pinned_pieces_are_kept,
            a_pin_of_everything_keeps_everything,
            abandoned_uploads_are_freed,
            names_are_never_reused,
            status_counts_bytes,
            listings_cover_every_piece,
            pieces_move_between_stores,
            adopting_twice_is_harmless,
            adopting_rejects_other_bytes,
            adopting_never_overwrites,
            adopted_streams_are_not_written_to,
            content_survives_a_restart,
            a_sweep_frees_what_no_row_names,
            a_sweep_keeps_uploads_of_this_process,
            a_sweep_keeps_pinned_pieces,
            a_dropped_sweep_frees_nothing,
            random_operations_lose_no_named_content,
        }
    };
    (@each $factory:expr; $($name:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                $crate::content::conformance::$name(&$factory).await;
            }
        )*
    };
}
