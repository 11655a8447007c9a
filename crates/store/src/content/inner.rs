//! State shared by uploads, downloads and the content store itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use lazuli_engine::Result;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::{
    CHUNK_UNIT_BYTES, GATHERED_BYTES_MAX, GATHERED_UNIT_BYTES, READ_BYTES_MAX, READS_MAX, WRITES_MAX,
};
use super::packs::Packs;
use super::syncer::Syncers;
use super::{reclaim, syncer};
use crate::error::{OpenError, closed};
use crate::options::Durability;

/// Packs, threads and bounds of one content store.
pub struct Inner {
    /// The packs.
    pub packs: Arc<Packs>,
    /// The threads that sync them.
    pub syncers: Syncers,
    /// Defines when content counts as sealed.
    pub durability: Durability,
    /// Permits for bytes that uploads gather, in units of [`GATHERED_UNIT_BYTES`].
    pub gathered: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    read_bytes: Arc<Semaphore>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Inner {
    /// Starts the threads.
    pub fn start(packs: Packs, durability: Durability) -> std::result::Result<Self, OpenError> {
        let packs = Arc::new(packs);
        let failed = |e| OpenError::io("start the threads of", &packs.dir)(e);
        let (syncers, [small, large]) = syncer::Syncers::start(&packs).map_err(failed)?;
        let free = reclaim::start(Arc::clone(&packs)).map_err(failed)?;
        Ok(Self {
            syncers,
            durability,
            gathered: Arc::new(Semaphore::new(GATHERED_BYTES_MAX / GATHERED_UNIT_BYTES)),
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
            reads: Arc::new(Semaphore::new(READS_MAX)),
            read_bytes: Arc::new(Semaphore::new(READ_BYTES_MAX / CHUNK_UNIT_BYTES)),
            threads: Mutex::new(vec![small, large, free]),
            packs,
        })
    }

    /// A permit for a concurrent write.
    pub async fn write_slot(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.writes).acquire_owned().await.map_err(|_| closed())
    }

    /// A permit for a concurrent read.
    pub async fn read_slot(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.reads).acquire_owned().await.map_err(|_| closed())
    }

    /// Memory for a chunk of full size, if there is any left.
    pub fn read_room(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(CHUNK_UNIT_BYTES as u64)).ok()?;
        Arc::clone(&self.read_bytes).try_acquire_many_owned(units).ok()
    }

    /// Stops everything. Waits for running writes; later ones fail.
    pub async fn close(self: &Arc<Self>) -> Result<()> {
        self.packs.close();
        let writes = self.writes.acquire_many(WRITES_MAX as u32).await;
        self.writes.close();
        drop(writes);
        let inner = Arc::clone(self);
        crate::store::blocking(move || {
            inner.stop();
            Ok(())
        })
        .await
    }

    /// Ends the threads and waits for them.
    pub fn stop(&self) {
        self.packs.close();
        self.packs.due.close();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            return;
        }
        self.syncers.stop();
        for thread in threads {
            // The panic has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Inner {
    /// The sync threads end when their queues are dropped.
    fn drop(&mut self) {
        self.packs.due.close();
    }
}
