//! Concurrent requests: each thread has a connection, and takes the next item when it has finished one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fault::Fault;
use crate::progress::Progress;
use crate::storage::{Session, Storage};

/// Does `work` on every item, with `workers` connections. Stops at the first error and returns it.
pub fn each<T: Send>(
    storage: &Storage,
    workers: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut Session<'_>, T) -> Result<(), Fault> + Sync,
) -> Result<(), Fault> {
    let items = Mutex::new(items.fuse());
    let failed: Mutex<Option<Fault>> = Mutex::new(None);
    let next = || if locked(&failed).is_some() { None } else { locked(&items).next() };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut session = storage.session();
                while let Some(item) = next() {
                    if let Err(fault) = work(&mut session, item) {
                        locked(&failed).get_or_insert(fault);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts of a transfer, shared by its threads.
pub struct Tally {
    counts: Mutex<(Counts, Progress)>,
}

/// The result of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blobs that were transferred.
    pub blobs: u64,
    /// Number of blobs that already had the same content.
    pub unchanged: u64,
    /// Bytes that were transferred.
    pub bytes: u64,
}

impl Tally {
    /// Starts counting.
    pub fn new(what: &'static str, quiet: bool) -> Self {
        Self { counts: Mutex::new((Counts::default(), Progress::start(what, "blobs", quiet))) }
    }

    /// Adds to the counts, and shows them.
    pub fn add(&self, blobs: u64, unchanged: u64, bytes: u64) {
        let (counts, progress) = &mut *locked(&self.counts);
        counts.blobs += blobs;
        counts.unchanged += unchanged;
        counts.bytes += bytes;
        progress.reach(counts.blobs + counts.unchanged, counts.bytes, None);
    }

    /// The counts, and the summary of the progress.
    pub fn finish(self) -> Counts {
        let (counts, progress) = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = progress.finish();
        counts
    }
}
