//! Permits for the queue: the memory that jobs hold while they wait for the committer.
//!
//! Invariant: a job takes its permit before it copies or reads anything, and never waits for more while it
//! holds one. So no two jobs can wait for each other.

use std::sync::Arc;

use lazuli_engine::Result;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::closed;
use crate::limits::{COMMIT_BYTES_MIN, COMMIT_READ_BYTES_MAX, QUEUE_BYTES_MAX, QUEUE_UNIT_BYTES};

/// All permits together.
#[derive(Debug)]
pub struct Permits(Arc<Semaphore>);

impl Permits {
    /// Room for [`QUEUE_BYTES_MAX`].
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(QUEUE_BYTES_MAX / QUEUE_UNIT_BYTES)))
    }

    /// Waits for a permit for a job of this many bytes.
    pub async fn take(&self, bytes: usize) -> Result<Permit> {
        let room = bytes.max(COMMIT_BYTES_MIN);
        let permit = Arc::clone(&self.0).acquire_many_owned(units(room)).await.map_err(|_| closed())?;
        Ok(Permit { all: Arc::clone(&self.0), permit, free: room - bytes, read: 0 })
    }

    /// Rejects all further jobs.
    pub fn close(&self) {
        self.0.close();
    }
}

/// The permit of one job, released on drop.
#[derive(Debug)]
pub struct Permit {
    all: Arc<Semaphore>,
    permit: OwnedSemaphorePermit,
    /// Unused bytes of the permit.
    free: usize,
    /// Bytes of rows that were read for the job.
    read: usize,
}

impl Permit {
    /// Extends the permit for a row that was read for the job; `false` if no memory is available now.
    pub fn keep(&mut self, bytes: usize) -> bool {
        if self.read + bytes > COMMIT_READ_BYTES_MAX {
            return false;
        }
        if bytes > self.free {
            let more = units(bytes - self.free);
            let Ok(permit) = Arc::clone(&self.all).try_acquire_many_owned(more) else { return false };
            self.permit.merge(permit);
            self.free += more as usize * QUEUE_UNIT_BYTES;
        }
        self.free -= bytes;
        self.read += bytes;
        true
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(QUEUE_UNIT_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rows_that_were_read_count_and_are_released() {
        let permits = Permits::new();
        let all = permits.0.available_permits();
        let mut permit = permits.take(100).await.unwrap();
        let least = COMMIT_BYTES_MIN / QUEUE_UNIT_BYTES;
        assert!(permit.keep(COMMIT_BYTES_MIN - 100), "the rest of a job's minimum");
        assert_eq!(permits.0.available_permits(), all - least);
        assert!(permit.keep(1));
        assert_eq!(permits.0.available_permits(), all - least - 1);
        assert!(!permit.keep(COMMIT_READ_BYTES_MAX), "one job does not get all permits");
        drop(permit);
        assert_eq!(permits.0.available_permits(), all);

        let full = permits.take(QUEUE_BYTES_MAX - COMMIT_BYTES_MIN).await.unwrap();
        let mut permit = permits.take(0).await.unwrap();
        assert!(permit.keep(COMMIT_BYTES_MIN) && !permit.keep(1), "no job waits for more");
        drop(full);
        assert!(permit.keep(1));
    }
}
