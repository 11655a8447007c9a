//! The parts of HTTP that every service uses: heads, responses, query strings, percent-encoding, protocol versions.

pub mod head;
pub mod metadata;
pub mod multipart;
pub mod params;
pub mod percent;
pub mod query;
pub mod response;
pub mod timeout;
pub mod url;
pub mod version;
