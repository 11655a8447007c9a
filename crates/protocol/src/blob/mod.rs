//! The Blob service on the wire: decodes head and body into an operation, and encodes an outcome as a response.
//!
//! A request is checked in this order; the first step that fails decides the response:
//!
//! 1. Head and address: size, host, version, account. 400, 404.
//! 2. Authentication: signature, token, challenge. 401, 403.
//! 3. Path and query: names, `snapshot`, `versionid`. 400.
//! 4. Method, `restype`, `comp` and the headers that choose an operation. 405, 400, 501.
//! 5. Headers and parameters of the operation: presence, format, combination, declared length. 400, 411, 413.
//! 6. Authorisation: whether the caller may do this. 403, or 404 for anonymous requests. Then `timeout`. 400.
//! 7. The body, if it is a document: size, checksum, format. 413, 400.
//! 8. The container exists. 404.
//! 9. The lease, for operations that create or change a blob. 412. This comes before conditions: the holder of
//!    the lease may replace a blob even if the request says `If-None-Match: *`.
//! 10. Conditions. 304, 409, 412.
//! 11. The blob exists. 404.
//! 12. The kind of the blob, its tier, a pending copy, immutability. 409.
//! 13. The content: length, checksums, blocks. 400.
//!
//! Steps 3 to 5 and 7 are [`decode()`]; the others belong to the server and the service.

pub mod batch;
pub mod block_list;
mod condition;
pub mod decode;
pub mod encode;
pub mod event;
mod header;
pub mod limits;
pub mod marker;
pub mod path;
pub mod response_format;
pub mod tags;

use crate::http::params;
pub use decode::{Intent, decode};
pub use header::is_structured;
pub use lazuli_digest::structured;
pub use path::{Resource, parse_path};
pub use response_format::ResponseFormat;
