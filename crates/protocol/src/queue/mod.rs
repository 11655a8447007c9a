//! The Queue service on the wire: decodes head and body into an operation, and encodes an outcome as a
//! response.
//!
//! A request is checked in this order; the first step that fails decides the response:
//!
//! 1. Head and address: size, host, version, account. 400, 404.
//! 2. Authentication: signature, token, challenge. 401, 403.
//! 3. The query: escapes, number of parameters. 400.
//! 4. The path: its format, the name of the queue, the id of the message. 400, 404.
//! 5. Method, `restype` and `comp`. 405, 400.
//! 6. The parameters of the operation: presence, format, range, combination. 400.
//! 7. Metadata headers. 400.
//! 8. Authorisation: whether the caller may do this. 403.
//! 9. The body: size, then XML, then the size of the message text. 413, 400.
//! 10. `timeout`. 400.
//! 11. The queue exists. 404.
//! 12. The message exists and the receipt matches its state. 404.
//!
//! Steps 3 to 7 and 9 are [`decode()`]; the others belong to the server and the service.

pub mod decode;
pub mod encode;
pub mod kind;
mod limits;
pub mod marker;
mod message;
pub mod path;
pub mod receipt;
pub mod response_format;

pub use decode::{Intent, decode};
pub use path::{Resource, parse_path};
pub use response_format::ResponseFormat;
