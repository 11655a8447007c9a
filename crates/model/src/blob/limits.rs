//! Every limit of the Blob service, each with its unit. Limits that changed over time have one constant per
//! version range.

const MIB: u64 = 1024 * 1024;

/// Longest blob name in characters.
pub const BLOB_NAME_CHARS_MAX: usize = 1024;
/// Maximum segments of a blob name, separated by slashes.
pub const BLOB_NAME_SEGMENTS_MAX: usize = 254;

/// Maximum size of Put Blob before 2016-05-31, from then on, and from 2019-12-12 on.
pub const PUT_BLOB_BYTES_MAX: [u64; 3] = [64 * MIB, 256 * MIB, 5000 * MIB];
/// Maximum size of Put Block before 2016-05-31, from then on, and from 2019-12-12 on.
pub const PUT_BLOCK_BYTES_MAX: [u64; 3] = [4 * MIB, 100 * MIB, 4000 * MIB];
/// Maximum size of Append Block before 2022-11-02, and from then on.
pub const APPEND_BLOCK_BYTES_MAX: [u64; 2] = [4 * MIB, 100 * MIB];
/// Largest Put Page.
pub const PUT_PAGE_BYTES_MAX: u64 = 4 * MIB;
/// Maximum size of the source of a synchronous copy.
pub const SYNC_COPY_BYTES_MAX: u64 = 256 * MIB;
/// Maximum size of a range for which a checksum can be requested.
pub const CHECKED_RANGE_BYTES_MAX: u64 = 4 * MIB;

/// Longest block id in bytes, decoded.
pub const BLOCK_ID_BYTES_MAX: usize = 64;
/// Maximum number of blocks of a blob. More is `BlockListTooLong`.
pub const COMMITTED_BLOCKS_MAX: usize = 50_000;
/// Maximum uncommitted blocks of a blob. More is `BlockCountExceedsLimit`.
pub const UNCOMMITTED_BLOCKS_MAX: usize = 100_000;
/// Maximum appends to a blob. More is `BlockCountExceedsLimit`.
pub const APPENDS_MAX: u32 = 50_000;
/// Days after which uncommitted blocks are dropped, counted from the last upload of a block.
pub const UNCOMMITTED_DAYS: u32 = 7;
/// Largest body of Put Block List: 50,000 of the longest ids with markup, indentation and line ends.
pub const BLOCK_LIST_BYTES_MAX: u64 = 16 * MIB;

/// Size of a page. Sizes and ranges of page blobs are multiples of it.
pub const PAGE_BYTES: u64 = 512;
/// Largest page blob.
pub const PAGE_BLOB_BYTES_MAX: u64 = 8 * 1024 * 1024 * MIB;

/// Maximum ranges in one response of Get Page Ranges.
pub const PAGE_RANGES_MAX: u32 = 10_000;

/// Maximum number of entries of a listing page, and the default.
pub const LIST_RESULTS_MAX: u32 = 5000;
/// Maximum memory for the entries of a listing page. A page that reaches it ends early, with a marker. A page of 5000
/// blobs, each with a name of 300 characters and 300 characters of metadata, stays below it.
pub const LIST_PAGE_BYTES_MAX: usize = 12 * 1024 * 1024;

/// Maximum number of operations in a batch.
pub const BATCH_OPERATIONS_MAX: usize = 256;
/// Largest body of a batch.
pub const BATCH_BYTES_MAX: u64 = 4 * MIB;

/// Shortest lease that is not infinite, in seconds.
pub const LEASE_SECONDS_MIN: u8 = 15;
/// Longest finite lease, in seconds.
pub const LEASE_SECONDS_MAX: u8 = 60;
/// Longest break period, in seconds.
pub const LEASE_BREAK_SECONDS_MAX: u8 = 60;

/// Longest URL of a copy source, in bytes.
pub const COPY_SOURCE_BYTES_MAX: usize = 2048;
/// Longest lifetime of a user delegation key, in days.
pub const DELEGATION_KEY_DAYS_MAX: u64 = 7;

/// Maximum tags of a blob.
pub const TAGS_MAX: usize = 10;
/// Longest tag name in characters.
pub const TAG_NAME_CHARS_MAX: usize = 128;
/// Longest tag value in characters.
pub const TAG_VALUE_CHARS_MAX: usize = 256;
/// Longest tag expression in bytes.
pub const TAG_EXPRESSION_BYTES_MAX: usize = 32 * 1024;
/// Maximum nesting of a tag expression, which bounds the recursion of parsing and evaluation.
pub const TAG_EXPRESSION_DEPTH_MAX: usize = 32;
/// Maximum comparisons of a tag expression.
pub const TAG_COMPARISONS_MAX: usize = 1000;
