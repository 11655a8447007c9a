//! The last steps of every response: the format of an error, and the headers that all responses carry.

use std::borrow::Cow;

use lazuli_model::{Failure, Service};
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::{ApiVersion, Head, error, table};

/// Longest `x-ms-client-request-id` that is echoed.
const CLIENT_REQUEST_ID_BYTES_MAX: usize = 1024;
/// The `Server` header of responses to requests that did not reach the service.
const SERVER_FRONT_END: &str = "Microsoft-HTTPAPI/2.0";

/// The response to a request that fails before its operation is known.
pub fn reject(service: Service, context: &Context, head: Option<&Head<'_>>, failure: &Failure) -> Response {
    match service {
        Service::Table => table::error::front_end(context, head, failure),
        Service::Blob | Service::Queue => error::storage(context, failure),
    }
}

/// Adds the headers that every response carries.
pub fn finish(service: Service, mut response: Response, context: &Context, head: &Head<'_>) -> Response {
    if head.method == "HEAD" && service != Service::Table && response.status >= 400 {
        response = without_body(response);
    }
    let is_old = context.version < ApiVersion::V2009_09_19;
    let server = match response.front_end {
        true => SERVER_FRONT_END,
        false if is_old => service.server_header_2009(),
        false => service.server_header(),
    };
    // The parts of a batch have it, not the batch itself.
    let names_data_service = is_old
        && service == Service::Table
        && !response.front_end
        && !response
            .fields
            .iter()
            .any(|(name, value)| name == "Content-Type" && value.starts_with("multipart/"));
    let mut add = |name: &'static str, value: Cow<'static, str>| response.fields.push((name.into(), value));
    add("Server", server.into());
    add("x-ms-request-id", context.request_id.clone().into());
    if names_data_service {
        add("DataServiceVersion", "1.0;".into());
    }
    if !response.front_end && !is_old {
        add("x-ms-version", context.version.text());
    }
    // Recorded: the Table service does not repeat the id of a request with a wrong signature.
    let is_unknown = response.front_end && service == Service::Table && response.status == 403;
    let echoes_id = !is_unknown && context.version >= ApiVersion::V2019_02_02;
    if let Some(id) = client_request_id(head).filter(|_| echoes_id) {
        add("x-ms-client-request-id", id.to_owned().into());
    }
    add("Date", context.now.http().as_str().to_owned().into());
    response
}

/// An error response to HEAD does not describe the omitted body, since clients would try to parse it.
fn without_body(mut response: Response) -> Response {
    response.fields.retain(|(name, _)| name != "Content-Type");
    response.body = Default::default();
    response
}

fn client_request_id<'a>(head: &Head<'a>) -> Option<&'a str> {
    let id = head.get_filled("x-ms-client-request-id")?;
    (id.len() <= CLIENT_REQUEST_ID_BYTES_MAX && id.bytes().all(|b| (0x21..0x7f).contains(&b))).then_some(id)
}
