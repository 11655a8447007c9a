//! Memory for commits: a limit on all of them together.
//!
//! A commit holds its input, the rows that its updates read and compute, and copies of those in the
//! connection's buffers. Small commits are not counted, because there are no more of them than connections. A
//! large commit claims its memory before it takes a connection, so a waiting commit holds neither memory nor
//! locks.

use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::limits::{COMMIT_BYTES_MAX, COMMIT_INPUT_BYTES_MAX, VALUE_BYTES_MAX};
use lazuli_engine::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum input and rows of a commit that claims no memory.
pub const FREE_BYTES: usize = 1024 * 1024;
/// Rows of a commit that are read, computed and sent at a time, plus at most one row.
pub const CHUNK_BYTES: usize = 4 * 1024 * 1024;
/// Copies of a chunk while it is read or sent: the rows as received, the rows as stored, the statement in a buffer
/// that doubles as it grows, and the connection's buffer.
const CHUNK_COPIES: usize = 6;
/// Copies of an input while it is sent.
const INPUT_COPIES: usize = 4;

/// Memory that all commits together may claim: as much as the largest one needs.
const ROOM_BYTES: usize = COMMIT_BYTES_MAX + CHUNK_COPIES * (CHUNK_BYTES + VALUE_BYTES_MAX);
/// Memory of one connection in addition: a small commit, or the received rows of a scan.
pub const CONNECTION_BYTES: usize = 16 * 1024 * 1024;
/// Memory of the engine in addition.
const FIXED_BYTES: usize = 16 * 1024 * 1024;
/// Memory is counted in units of this size.
const UNIT_BYTES: usize = 1024;
/// Maximum wait for memory.
const ROOM_TIME_MAX: Duration = Duration::from_secs(10);

const _: () = assert!(INPUT_COPIES * COMMIT_INPUT_BYTES_MAX <= ROOM_BYTES);
const _: () = assert!(CHUNK_COPIES * FREE_BYTES <= CONNECTION_BYTES);

/// Upper bound of the memory of an engine with this many connections.
pub fn memory_bytes_max(connections: usize) -> u64 {
    (ROOM_BYTES + connections * CONNECTION_BYTES + FIXED_BYTES) as u64
}

/// The remaining memory.
pub struct Room(Arc<Semaphore>);

/// A share of the memory, returned when it is dropped.
pub struct Claim {
    _permit: Option<OwnedSemaphorePermit>,
    /// Rows that the commit may read, and rows that it may compute.
    pub rows_bytes: usize,
}

impl Room {
    /// All of it.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_BYTES / UNIT_BYTES)))
    }

    /// Waits for memory for a commit with an input and rows of these sizes.
    pub async fn take(&self, input: usize, rows: usize) -> Result<Claim> {
        self.take_within(ROOM_TIME_MAX, input, rows).await
    }

    async fn take_within(&self, time: Duration, input: usize, rows: usize) -> Result<Claim> {
        if input + rows <= FREE_BYTES {
            return Ok(Claim { _permit: None, rows_bytes: FREE_BYTES - input });
        }
        let permits = Arc::clone(&self.0).acquire_many_owned(units(input, rows));
        match timeout(time, permits).await {
            Ok(Ok(permit)) => Ok(Claim { _permit: Some(permit), rows_bytes: rows }),
            Ok(Err(_)) => Err(Error::Unavailable("the engine is closed".into())),
            Err(_) => Err(Error::Busy("too many concurrent large commits".into())),
        }
    }
}

fn units(input: usize, rows: usize) -> u32 {
    let chunks = CHUNK_COPIES * rows.min(CHUNK_BYTES + VALUE_BYTES_MAX);
    let bytes = (INPUT_COPIES * input).max(rows + chunks).min(ROOM_BYTES);
    u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_commits_wait_for_memory_and_small_ones_do_not() {
        let room = Room::new();
        let large = room.take(0, COMMIT_BYTES_MAX).await.ok().unwrap();
        assert_eq!(large.rows_bytes, COMMIT_BYTES_MAX);
        let busy = room.take_within(Duration::ZERO, 0, COMMIT_BYTES_MAX / 2).await.err();
        assert!(matches!(busy, Some(Error::Busy(_))), "{busy:?}");
        let small = room.take(FREE_BYTES / 2, 0).await.ok().unwrap();
        assert_eq!(small.rows_bytes, FREE_BYTES / 2);
        drop(large);
        assert!(room.take(COMMIT_INPUT_BYTES_MAX, 0).await.is_ok());
        assert!(room.take(0, COMMIT_BYTES_MAX).await.is_ok());
    }
}
