//! Every bound of the pack files, each with its unit and its reason.

use lazuli_engine::content::{PIECE_BYTES_MAX, STREAM_BYTES_MAX};

/// Content of at most this many bytes belongs in a row: up to here one commit is faster than a write to a pack and a
/// commit.
pub const INLINE_BYTES_MAX: usize = 8 * 1024;

/// A pack that has reached this size takes no more pieces.
pub const PACK_BYTES_MAX: u64 = STREAM_BYTES_MAX;
/// Maximum length of a pack, including its last piece.
pub const PACK_LENGTH_MAX: u64 = STREAM_BYTES_MAX + 2 * PIECE_BYTES_MAX as u64;
/// The size limit where the file system cannot free parts of a file: smaller packs are more likely to be dead as a
/// whole.
pub const WHOLE_PACK_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Pieces of at least this many bytes go to the large pack, so that small ones need not wait for their sync.
pub const LARGE_BYTES_MIN: u64 = 1024 * 1024;
/// The bytes that an upload of unknown length reserves at a time.
pub const UNKNOWN_PIECE_BYTES: u32 = 4 * 1024 * 1024;

/// Bytes that an upload gathers before it writes them. Each write wakes up a thread.
pub const FLUSH_BYTES: usize = 1024 * 1024;
/// Bytes that all uploads together gather. Beyond it each of them writes its chunks immediately.
pub const GATHERED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The size of one unit of that bound.
pub const GATHERED_UNIT_BYTES: usize = 1024;
/// Maximum concurrent writes to packs; more wait.
pub const WRITES_MAX: usize = 64;
/// Maximum concurrent reads that wait for the disk; more wait.
pub const READS_MAX: usize = 64;
/// Bytes of full-size chunks that all downloads together hold. Beyond it they get small chunks.
pub const READ_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The size of one unit of that bound.
pub const CHUNK_UNIT_BYTES: usize = 1024;
/// The chunk size of downloads beyond that bound: small enough for ten thousand slow downloads.
pub const SMALL_CHUNK_BYTES: usize = 16 * 1024;

/// Seals that may wait for a sync; more wait to be queued.
pub const SYNC_QUEUE_MAX: usize = 1024;
/// Maximum number of open files of packs of earlier processes.
pub const HANDLES_MAX: usize = 256;
/// Maximum ranges that are freed before the pack's lock is released.
pub const FREE_RUNS_MAX: usize = 64;
/// Packs that one sweep covers; its maps take up to 128 KiB of memory for each.
pub const SWEEP_PACKS_MAX: usize = 512;
/// Maximum extents on one page of a listing.
pub const LIST_EXTENTS_MAX: usize = 1000;

/// Maximum memory for content, besides small chunks and the maps of packs with dead ranges.
pub const MEMORY_BYTES_MAX: u64 = (GATHERED_BYTES_MAX + READ_BYTES_MAX) as u64;
