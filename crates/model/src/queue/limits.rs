//! Every limit of the Queue service, each with its unit and the error that enforces it.

/// Longest message text in bytes of UTF-8, XML escapes resolved. Longer is `RequestBodyTooLarge`.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Longest message text before version 2011-08-18.
pub const MESSAGE_BYTES_MAX_2009: usize = 8 * 1024;
/// Largest body of Put Message and Update Message, markup included. Larger is `RequestBodyTooLarge`.
pub const MESSAGE_BODY_BYTES_MAX: usize = 131_584;

/// Default time to live of a message in seconds: 7 days.
pub const TTL_SECONDS_DEFAULT: u32 = 7 * 24 * 60 * 60;
/// Longest time to live before version 2017-07-29.
pub const TTL_SECONDS_MAX_2009: u32 = TTL_SECONDS_DEFAULT;

/// Default visibility timeout of Get Messages, in seconds.
pub const VISIBILITY_SECONDS_DEFAULT: u32 = 30;
/// Longest visibility timeout in seconds: 7 days.
pub const VISIBILITY_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;
/// Longest visibility timeout before version 2011-08-18: 2 hours.
pub const VISIBILITY_SECONDS_MAX_2009: u32 = 2 * 60 * 60;

/// Maximum number of messages that one request moves to another queue. Larger moves take several requests.
pub const MESSAGES_PER_MOVE_MAX: u32 = 1024;

/// Maximum number of messages that one Get Messages or Peek Messages returns.
pub const MESSAGES_PER_GET_MAX: u32 = 32;
/// Maximum queues in one page of List Queues, and the default.
pub const LIST_PAGE_MAX: u32 = 5000;

const _: () = assert!(MESSAGE_BYTES_MAX < MESSAGE_BODY_BYTES_MAX);
