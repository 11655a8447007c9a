//! Every limit of the data model, each with its unit and its source.

/// Shortest table name. Shorter is `OutOfRangeInput`.
pub const TABLE_NAME_CHARS_MIN: usize = 3;
/// Longest table name.
pub const TABLE_NAME_CHARS_MAX: usize = 63;

/// Longest PartitionKey or RowKey in UTF-16 code units. Longer is `KeyValueTooLarge`.
pub const KEY_UNITS_MAX: usize = 1024;

/// Longest property name in characters. Longer is `PropertyNameTooLong`.
pub const PROPERTY_NAME_CHARS_MAX: usize = 255;
/// Maximum properties of an entity, in addition to three system properties.
pub const PROPERTIES_MAX: usize = 252;
/// Longest string value in UTF-16 code units (64 KiB).
pub const STRING_UNITS_MAX: usize = 32 * 1024;
/// Longest binary value.
pub const BINARY_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of an entity, by the service's own formula: see [`crate::table::entity::entity_bytes`].
pub const ENTITY_BYTES_MAX: usize = 1024 * 1024;

/// Maximum number of rows in one response, and the largest `$top`.
pub const PAGE_ROWS_MAX: usize = 1000;
/// Maximum entity data in one response: names and values, without markup.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum number of operations in one change set.
pub const BATCH_OPERATIONS_MAX: usize = 100;
/// Largest request body. Larger is `RequestBodyTooLarge`.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum number of names in `$select`.
pub const SELECT_NAMES_MAX: usize = 255;

/// Maximum comparisons in one `$filter`. The documentation says 15, but real filters have many more; this
/// bounds the work.
pub const FILTER_COMPARISONS_MAX: usize = 512;
/// Maximum nesting of one `$filter`, which bounds the recursion of parsing, printing and evaluation.
pub const FILTER_DEPTH_MAX: usize = 128;

const _: () = assert!(ENTITY_BYTES_MAX < PAGE_BYTES_MAX);
const _: () = assert!(BINARY_BYTES_MAX < ENTITY_BYTES_MAX);
