//! Memory of an engine under commits that need far more of it than their input. Runs in its own process, because it
//! measures the process.

#![cfg(target_os = "linux")]

#[path = "postgres/support.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::fs;
use std::sync::Arc;

use lazuli_engine::conformance::{EngineFactory, a_hundred_rows_of_a_mebibyte_are_updated_together};
use lazuli_engine::{Clock, Engine};
use support::{open, schema, server, url_of};

/// One engine on a database of its own.
struct Database(tokio::sync::OnceCell<Arc<dyn Engine>>);

impl EngineFactory for Database {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        let engine = async { open(url_of(&server(), &schema().await), clock).await };
        Arc::clone(self.0.get_or_init(|| engine).await)
    }
}

/// The peak memory of the process so far.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the system reports it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("there is a line for it");
    let number = line.trim().strip_suffix("kB").expect("a size").trim().parse::<u64>();
    number.expect("a number") * 1024
}

/// A former bug: each commit held up to five copies of its rows, and all commits ran at once. The process took
/// gigabytes, and every commit failed because none finished in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finding_1_large_updates_stay_within_the_memory_bound() {
    const CALLERS: usize = 6;
    let database = Database(tokio::sync::OnceCell::new());
    a_hundred_rows_of_a_mebibyte_are_updated_together(&database, CALLERS).await;
    let bound = database.open(Clock::system()).await.memory_bytes_max();
    let peak = peak_bytes();
    assert!(peak <= bound, "{} MiB, the bound is {} MiB", peak >> 20, bound >> 20);
}
