//! Every bound of the store, each with its unit and its reason.
//!
//! # From a commit to the log and back
//!
//! | stage | bound |
//! |---|---|
//! | a commit waits for the committer | [`QUEUE_BYTES_MAX`] for all that wait: their input, of at most [`COMMIT_INPUT_BYTES_MAX`] each, and rows that were read for them, of at most [`COMMIT_READ_BYTES_MAX`] each |
//! | the committer decides it | it writes at most [`COMMIT_BYTES_MAX`], the results of updates included |
//! | it joins a group | a group takes commits up to [`GROUP_BYTES_MAX`]; a larger commit forms a separate group |
//! | the group becomes one batch of the log | [`BATCH_BYTES_MAX`] |
//! | the batch moves to the memtable | [`WRITE_BUFFERS_MAX`] memtables, or one larger batch |
//! | recovery reads a batch that a crash left unfinished | [`REST_BYTES_MAX`] |
//!
//! The assertions at the end of this file keep these in order. Above all, recovery must be able to read whatever the
//! committer can write: [`BATCH_BYTES_MAX`] is at most [`REST_BYTES_MAX`].

use std::time::Duration;

pub use lazuli_engine::limits::{COMMIT_BYTES_MAX, COMMIT_INPUT_BYTES_MAX, VALUE_BYTES_MAX, WRITE_BYTES};

/// Longest encoded key; the sorted store counts key bytes in 16 bits.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Maximum bytes of the jobs that wait for the committer; see [`COMMIT_BYTES_MIN`].
pub const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The size of one unit of the queue's bound.
pub const QUEUE_UNIT_BYTES: usize = 1024;
/// Minimum weight of a job in the queue, so that the number of waiting jobs is bounded as well.
pub const COMMIT_BYTES_MIN: usize = 16 * 1024;
/// Maximum bytes of old row values that one waiting commit keeps, for the rows that it will update. The committer reads
/// values beyond this limit again, one at a time.
pub const COMMIT_READ_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum commits that one sync covers.
pub const GROUP_COMMITS_MAX: usize = 1024;
/// Maximum bytes that a group of several commits writes, so that a large one does not delay many small ones.
pub const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// Bytes that the log adds to a row: the head of an entry, the version and the checksum.
pub const LOG_ROW_BYTES: usize = 33;
/// Bytes that the log adds to a batch: its start, its end, and the store's state.
pub const LOG_BATCH_BYTES: usize = 128;
/// Largest batch of the log: the largest group, which is a single commit or a single call of `erase`.
pub const BATCH_BYTES_MAX: usize = LOG_BATCH_BYTES + COMMIT_BYTES_MAX;
/// Maximum bytes that recovery reads into memory after the last complete batch of a log.
pub const REST_BYTES_MAX: usize = 1 << 30;

/// Maximum time that the committer waits for callers that are likely to return.
pub const GATHER_MAX: Duration = Duration::from_millis(2);
/// A shorter wait is not worthwhile.
pub const GATHER_MIN: Duration = Duration::from_micros(20);

/// Rejections of commits that lost against another one are sent in portions: the waiting ones divided by this number.
pub const LATE_SHARE: usize = 8;
/// Minimum rejections in a portion.
pub const LATE_AT_ONCE_MIN: usize = 2;
/// Maximum rejections that wait.
pub const LATE_MAX: usize = 1024;
/// Minimum pause between portions. The pause is as long as the last sync, since the next winner needs about that time.
pub const LATE_PAUSE_MIN: Duration = Duration::from_micros(200);
/// Maximum pause between portions.
pub const LATE_PAUSE_MAX: Duration = Duration::from_millis(5);

/// Number of rows whose latest state the committer keeps, to check conditions without reading.
pub const RECENT_ROWS_MAX: usize = 4096;
/// And their bytes.
pub const RECENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum rows that one call of `erase` removes: a few milliseconds of the committer's time.
pub const ERASE_ROWS_MAX: usize = 1000;
/// Maximum number of tables for which the position of `erase` is kept.
pub const ERASE_TABLES_MAX: usize = 1024;

/// Maximum ranges of a scan that is read as single rows; each range must cover one row only.
pub const INLINE_POINTS_MAX: usize = 32;

/// Concurrent reads of single rows from files, unless the options say otherwise; more wait. Each has a thread
/// that mostly waits for the disk.
pub const READS: usize = 64;
/// The highest value that the options accept: below the number of threads in tokio's blocking pool.
pub const READS_MAX: usize = 256;
/// Maximum reads that wait for a thread.
pub const READS_WAITING_MAX: usize = 64 * 1024;
/// A read that has waited for this long gets another thread, if one is left: busy threads may wait for the disk.
pub const READ_WAIT_MAX: Duration = Duration::from_millis(1);

/// Memory for all caches together, unless the options say otherwise.
pub const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// Approximate bytes of rows in a segment, the unit that the scan cache keeps, drops, and reads again after a write.
pub const SEGMENT_BYTES: usize = 128 * 1024;
/// Segments are made smaller if fewer than this many would fit into the scan cache.
pub const SEGMENTS_IN_CACHE_MIN: usize = 16;
/// Borders of segments may take at most the size of the scan cache divided by this.
pub const SEGMENT_BORDERS_SHARE: usize = 8;
/// Maximum bytes of borders: about 80,000 segments, or 10 GB of rows.
pub const SEGMENT_BORDERS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A range of keys becomes a segment only if its rows take at least this fraction of the size of a segment:
/// finding a smaller segment would cost as much as reading its rows.
pub const SEGMENT_SHARE_MIN: usize = 16;
/// Maximum borders that one scan adds; a later scan divides the rest.
pub const BORDERS_MAX: usize = 4096;
/// Number of segments that are examined to find room for another one.
pub const CACHE_PROBES_MAX: usize = 16;
/// After this many failed searches for room, the scan counts of all segments are halved.
pub const CACHE_DECLINES_MAX: usize = 256;

/// Maximum memory for rows that are not yet in a sorted file, unless the options say otherwise.
pub const MEMTABLE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Minimum: below it, each commit of a few megabytes would be a sorted file.
pub const MEMTABLE_BYTES_MIN: u64 = 8 * 1024 * 1024;
/// A memtable takes the size of all caches divided by this. While files are merged, [`WRITE_BUFFERS_MAX`] of them fill up,
/// so a store with small caches would otherwise use several times as much memory for writes.
pub const MEMTABLE_SHARE: u64 = 4;
/// New writes wait while rows that are in no sorted file yet would take more than this many memtables, unless there is
/// nothing left to write out.
pub const WRITE_BUFFERS_MAX: u64 = 4;
/// Approximate size of a sorted file. Smaller files are merged in smaller steps, during which nothing is
/// written out.
pub const SORTED_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// Approximate size of a block of a sorted file: the unit of reading, checking and caching.
pub const BLOCK_BYTES: u32 = 8 * 1024;
/// Total size of log files at which the oldest rows are moved to sorted files.
pub const JOURNAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Blocks of the log that are written ahead of their use, each time that batches of this size were written.
pub const AHEAD_BYTES: u64 = 1024 * 1024;
/// Number of threads that write and merge sorted files.
pub const WORKER_THREADS: usize = 1;

/// New writes wait while more full memtables than this wait to be written out. Below the sorted store's own limit of
/// four, at which it would wait without ever checking whether its worker is still alive.
pub const FULL_MEMTABLES_MAX: usize = 2;
/// New writes wait while more files than this wait to be merged. Below the sorted store's own limit of twenty.
pub const UNMERGED_FILES_MAX: usize = 18;
/// Space on the disk that commits leave free, so that sorted files can still be written and merged.
pub const SPACE_RESERVE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// On a small disk, the reserve is at most its size divided by this.
pub const SPACE_RESERVE_SHARE: u64 = 16;
/// Interval for checking whether a waiting committer can continue.
pub const STALL_POLL: Duration = Duration::from_millis(2);

/// After this time without a commit the committer frees memory that only a busy store needs.
pub const IDLE_AFTER: Duration = Duration::from_millis(500);

/// Maximum bytes of rows that a close leaves in the log; more are written to a sorted file, so that the next opening
/// need not.
pub const CLOSE_MEMTABLE_BYTES_MAX: u64 = 1024 * 1024;

/// Maximum concurrent copies of the whole store: each keeps files alive.
pub const DUMPS_MAX: usize = 2;

/// Bytes read at a time when a loaded store is verified.
pub const LOAD_PAGE_BYTES: usize = 1024 * 1024;

/// Memory for everything without a specific bound: writing and merging sorted files, their indexes and filters,
/// threads.
pub const FIXED_BYTES: u64 = 128 * 1024 * 1024;

/// Maximum findings that a check lists; it counts all of them.
pub const CHECK_FINDINGS_MAX: usize = 100;

const _: () = assert!(COMMIT_BYTES_MIN <= COMMIT_INPUT_BYTES_MAX);
// The largest commit fits into the queue, and so do the rows that were read for it.
const _: () = assert!(COMMIT_INPUT_BYTES_MAX + COMMIT_READ_BYTES_MAX <= QUEUE_BYTES_MAX);
const _: () = assert!(QUEUE_BYTES_MAX / QUEUE_UNIT_BYTES < u32::MAX as usize);
const _: () = assert!(ERASE_ROWS_MAX * (KEY_BYTES_MAX + WRITE_BYTES) <= QUEUE_BYTES_MAX);
// Every kind of job is within the bound of a batch: a commit, imported rows, keys to erase.
const _: () = assert!(LOG_ROW_BYTES <= WRITE_BYTES);
const _: () = assert!(GROUP_BYTES_MAX <= COMMIT_BYTES_MAX);
const _: () = assert!(ERASE_ROWS_MAX * (KEY_BYTES_MAX + WRITE_BYTES) <= COMMIT_BYTES_MAX);
// Recovery can read everything that the committer can write.
const _: () = assert!(BATCH_BYTES_MAX <= REST_BYTES_MAX);
// A batch fits into the log without making the log too large at once.
const _: () = assert!((BATCH_BYTES_MAX as u64) < JOURNAL_BYTES_MAX);
