//! Every bound of the store, each with its unit and its reason.

use std::time::Duration;

/// Longest encoded key; the sorted store counts key bytes in 16 bits.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;
/// Largest value of one row. Far above what the service allows, far below what the sorted store can count.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest commit, keys and values together.
pub const COMMIT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Jobs that may wait for the committer, by the bytes of their keys and values; see [`COMMIT_BYTES_MIN`].
pub const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What one unit of the queue's bound stands for.
pub const QUEUE_UNIT_BYTES: usize = 1024;
/// What a job weighs in the queue at least, so that the number of waiting jobs is bounded as well.
pub const COMMIT_BYTES_MIN: usize = 16 * 1024;

/// Commits that one sync covers at most.
pub const GROUP_COMMITS_MAX: usize = 1024;
/// A group that has reached this takes no more commits, so that a large one does not delay many small ones.
pub const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// The longest that the committer waits for callers that are likely to come back.
pub const GATHER_MAX: Duration = Duration::from_micros(500);
/// A wait that is shorter is not worth it.
pub const GATHER_MIN: Duration = Duration::from_micros(20);

/// Rows whose latest state the committer remembers, to check conditions without reading.
pub const RECENT_ROWS_MAX: usize = 4096;
/// And their bytes.
pub const RECENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Rows that one call of `erase` removes at most: a few milliseconds of the committer's time.
pub const ERASE_ROWS_MAX: usize = 1000;
/// Tables for which the place where `erase` goes on is remembered.
pub const ERASE_TABLES_MAX: usize = 1024;

/// Ranges of a scan that are read without leaving the caller's thread, if each is a single row.
pub const INLINE_POINTS_MAX: usize = 8;

/// Memory for all caches together, unless the options say otherwise.
pub const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// About how many bytes of rows the scan cache keeps and drops together: what a write makes it read again.
pub const SEGMENT_BYTES: usize = 128 * 1024;
/// Segments are smaller where fewer than so many would fit into the scan cache.
pub const SEGMENTS_IN_CACHE_MIN: usize = 16;
/// The share of the scan cache for the borders of segments, one in so many bytes.
pub const SEGMENT_BORDERS_SHARE: usize = 8;
/// And at most so many bytes: about 80,000 segments, or 10 GB of rows.
pub const SEGMENT_BORDERS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A stretch of keys with less than this share of a segment's bytes is not made a segment: finding it would cost as much
/// as reading it.
pub const SEGMENT_SHARE_MIN: usize = 16;
/// Borders that one scan leaves behind at most; a later one divides the rest.
pub const BORDERS_MAX: usize = 4096;
/// Segments that are looked at to find room for another one.
pub const CACHE_PROBES_MAX: usize = 16;
/// After so many searches without room every segment counts as scanned half as often.
pub const CACHE_DECLINES_MAX: usize = 256;

/// Memory for rows that are not yet in a sorted file, unless the options say otherwise.
pub const MEMTABLE_BYTES: u64 = 32 * 1024 * 1024;
/// About the size of a sorted file. Smaller files are merged in smaller steps, during which nothing is written out.
pub const SORTED_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// About the size of a block of a sorted file: what is read, checked and cached at once.
pub const BLOCK_BYTES: u32 = 8 * 1024;
/// Log files together, after which the oldest rows are moved to sorted files.
pub const JOURNAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Threads that write and merge sorted files.
pub const WORKER_THREADS: usize = 1;

/// New writes wait while more full memtables than this wait to be written out. Below the sorted store's own limit of
/// four, at which it would wait without ever looking whether its worker is still alive.
pub const FULL_MEMTABLES_MAX: usize = 2;
/// New writes wait while more files than this wait to be merged. Below the sorted store's own limit of twenty.
pub const UNMERGED_FILES_MAX: usize = 18;
/// How often it is looked whether the wait is over.
pub const STALL_POLL: Duration = Duration::from_millis(2);

/// After so long without a commit the committer lets go of what only a busy store needs.
pub const IDLE_AFTER: Duration = Duration::from_millis(500);

/// Rows that a close leaves to the log; more are written to a sorted file, so that the next opening need not.
pub const CLOSE_MEMTABLE_BYTES_MAX: u64 = 1024 * 1024;

/// Copies of everything that can be under way at a time: each keeps files alive.
pub const DUMPS_MAX: usize = 2;

/// What is read back at a time of a store that was filled from elsewhere.
pub const LOAD_PAGE_BYTES: usize = 1024 * 1024;

/// Findings that a check lists; it counts all.
pub const CHECK_FINDINGS_MAX: usize = 100;

const _: () = assert!(VALUE_BYTES_MAX < COMMIT_BYTES_MAX);
const _: () = assert!(COMMIT_BYTES_MAX <= QUEUE_BYTES_MAX && COMMIT_BYTES_MIN <= COMMIT_BYTES_MAX);
const _: () = assert!(QUEUE_BYTES_MAX / QUEUE_UNIT_BYTES < u32::MAX as usize);
const _: () = assert!(ERASE_ROWS_MAX * KEY_BYTES_MAX <= QUEUE_BYTES_MAX);
