//! The client against servers that send scripted responses, with and without TLS.

mod plain;
mod tls;

use crate::Request;

/// A POST with these headers.
fn request(headers: &[(&'static str, &str)], body: impl Into<Vec<u8>>) -> Request {
    let request = Request::new("POST", "/x").body(body);
    headers.iter().fold(request, |request, (name, value)| request.with(*name, (*value).to_owned()))
}
