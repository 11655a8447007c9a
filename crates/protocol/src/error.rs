//! Failures as responses of the storage services: the parts that all services share, and the XML of Blob and Queue.

use lazuli_model::{ErrorCode, Failure};

use crate::ApiVersion;
use crate::http::response::{Context, Response};
use crate::xml::write;

/// The challenge that comes with 401: SDKs split it at spaces, so its format is fixed.
pub const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com";

/// The message with the trailer that every error carries: `\nRequestId:…\nTime:…Z`, and in a batch preceded by
/// the index.
pub fn message(context: &Context, failure: &Failure) -> String {
    let prefix = failure.index.map(|index| format!("{index}:")).unwrap_or_default();
    format!(
        "{prefix}{}\nRequestId:{}\nTime:{}",
        failure.message,
        context.request_id,
        context.now.iso_seven_digits()
    )
}

/// Does this version send the error code in `x-ms-error-code`, too?
pub fn repeats_code(version: ApiVersion) -> bool {
    version >= ApiVersion::V2017_07_29
}

/// The response of the Blob and Queue services to a failed request. Up to 2017-04-17 the code is in the body only.
/// Responses to requests that fail before their version is known have neither the version nor the code in headers.
pub fn storage(context: &Context, failure: &Failure) -> Response {
    let mut response = Response::error(failure.code);
    if context.version >= ApiVersion::V2017_07_29 {
        response = response.with("x-ms-error-code", failure.code.name());
    }
    if matches!(failure.code, ErrorCode::NoAuthenticationInformation | ErrorCode::InvalidBearerToken) {
        response = response.with("WWW-Authenticate", CHALLENGE);
    }
    let is_header = |name: &str| name.contains('-');
    for (name, value) in failure.details.iter().filter(|(name, _)| is_header(name)) {
        response = response.with(*name, value.clone());
    }
    if failure.code.status() == 304 {
        return response;
    }
    let text = message(context, failure);
    let body = write::document(|out| {
        write::nest(out, "Error", |out| {
            write::leaf(out, "Code", failure.code.name());
            write::leaf(out, "Message", &text);
            for (name, value) in failure.details.iter().filter(|(name, _)| !is_header(name)) {
                write::leaf(out, name, value);
            }
        });
    });
    response.with("Content-Type", "application/xml").with_body(body)
}
