//! Memory of a store under commits that need far more of it than their input. A process of its own, because it measures the
//! process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::sync::Arc;

use lazuli_engine::conformance::{EngineFactory, a_hundred_rows_of_a_mebibyte_are_updated_together};
use lazuli_engine::{Clock, Engine};
use lazuli_store::{Options, Store};

struct InDirectory(tempfile::TempDir);

fn options(clock: Clock) -> Options {
    Options { clock, ..Options::default() }.with_caches(16 * 1024 * 1024)
}

impl EngineFactory for InDirectory {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        Arc::new(Store::open(self.0.path(), options(clock)).unwrap())
    }
}

/// The peak memory of the process so far.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// Merges escaped every bound: a commit counted neither the rows that it read nor the results of its updates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finding_1_large_updates_stay_within_the_memory_bound() {
    const CALLERS: usize = 8;
    let directory = InDirectory(tempfile::tempdir().unwrap());
    a_hundred_rows_of_a_mebibyte_are_updated_together(&directory, CALLERS).await;
    let (peak, bound) = (peak_bytes(), options(Clock::system()).memory_bytes_max());
    assert!(peak <= bound, "{} MiB, the bound is {} MiB", peak >> 20, bound >> 20);
}
