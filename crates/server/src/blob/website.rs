//! Static websites: the blobs of the container `$web` as pages, for everyone.
//!
//! | request | blob |
//! |---|---|
//! | a directory: `/`, `/docs/` | the index document in it, or the default index document |
//! | anything else: `/docs/a` | that blob; if there is none, the index document in the directory of that name |
//! | none of these exists | the error document, with status 404 |
//!
//! Only GET and HEAD exist here. Ranges and conditions work as for every blob. The query is ignored, so no other
//! operation can be reached. Headers that describe the blob rather than the page are left out.

use lazuli_model::blob::ContainerName;
use lazuli_model::properties::StaticWebsite;
use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::percent;
use lazuli_protocol::http::query::Query;
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::{Address, ApiVersion, Head};
use lazuli_service::{Grant, Scope};

use crate::http::{Body, Reply};
use crate::pipeline::note::Note;
use crate::pipeline::{Arrival, Request};
use crate::state::State;

/// The `Server` header of pages.
const SERVER_HEADER: &str = "Windows-Azure-Web/1.0 Microsoft-HTTPAPI/2.0";
/// The protocol version of pages, regardless of the account and the request.
const VERSION: ApiVersion = ApiVersion::V2018_03_28;
/// The request headers that have an effect. For the error document, only the first one does.
const FIELDS: [&str; 6] =
    ["host", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Responds to a request for a page.
pub(crate) async fn process(
    state: &State,
    arrival: &Arrival<'_>,
    website: &StaticWebsite,
    body: &mut dyn Body,
    context: &mut Context,
    note: &mut Note,
) -> Reply {
    context.version = VERSION;
    let served = serve(state, arrival, website, body, context, note).await;
    served.unwrap_or_else(|failure| page(&failure, context, arrival.head.method == "HEAD").into())
}

/// Sets the `Server` header of a page.
pub(crate) fn brand(response: &mut Response) {
    for (_, value) in response.fields.iter_mut().filter(|(name, _)| name == "Server") {
        *value = SERVER_HEADER.into();
    }
}

async fn serve(
    state: &State,
    arrival: &Arrival<'_>,
    website: &StaticWebsite,
    body: &mut dyn Body,
    context: &Context,
    note: &mut Note,
) -> Result<Reply, Failure> {
    let Arrival { head, address, peer } = arrival;
    if !matches!(head.method, "GET" | "HEAD") {
        return Err(ErrorCode::UnsupportedHttpVerb.into());
    }
    let home = state.directory.home(address.account).ok_or(ErrorCode::WebContentNotFound)?;
    let container = ContainerName::WEB.to_owned();
    let scope = Scope::Public { container, lists: false };
    let grant = Grant { read_only: address.secondary, scope, ..Grant::everything(&*home) };
    let grant = state.within_rate(grant, context.version)?;
    if !website.enabled {
        return Err(ErrorCode::WebContentNotFound.into());
    }
    let fields: Vec<Field<'_>> = head.fields.iter().copied().filter(|field| counts(field, &FIELDS)).collect();
    let plain: Vec<Field<'_>> =
        head.fields.iter().copied().filter(|field| counts(field, &FIELDS[..1])).collect();
    let pages = candidates(address.resource_path, website).into_iter().map(|path| (path, &fields));
    let error = website.error_document.iter().map(|path| (document(path), &plain));
    let first_error = pages.len();
    for (index, (path, fields)) in pages.chain(error).enumerate() {
        let resource_path = format!("/{}{path}", ContainerName::WEB);
        let address = Address { resource_path: &resource_path, query: Query(""), ..address.clone() };
        let head = Head { fields, ..*head };
        let request = Request { head, address, grant: grant.clone(), context, peer: *peer };
        let mut reply = super::process(state, &request, body, note).await;
        reply.response.fields.retain(|(name, _)| !name.starts_with("x-ms-"));
        match (reply.response.status, reply.response.error) {
            (404, _) => {}
            (400.., Some(code)) => return Err(code.into()),
            _ if index >= first_error => {
                reply.response.status = 404;
                reply.response.error = Some(ErrorCode::WebContentNotFound);
                return Ok(reply);
            }
            _ => return Ok(reply),
        }
    }
    Err(ErrorCode::WebContentNotFound.into())
}

fn counts(field: &Field<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| field.name.eq_ignore_ascii_case(name))
}

/// The blobs that a path may stand for, as escaped paths with a leading slash.
fn candidates(path: &str, website: &StaticWebsite) -> Vec<String> {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let index_in = |directory: &str| match (&website.index_document, &website.default_index_document) {
        (Some(index), _) => Some(format!("{directory}{}", document(index))),
        (None, Some(default)) => Some(document(default)),
        (None, None) => None,
    };
    match path.strip_suffix('/') {
        Some(directory) => index_in(directory).into_iter().collect(),
        None => {
            let index = index_in(&path);
            std::iter::once(path).chain(index).collect()
        }
    }
}

/// The path of a document that the properties name.
fn document(name: &str) -> String {
    let mut path = Vec::with_capacity(name.len() + 1);
    for segment in name.trim_start_matches('/').split('/') {
        path.push(b'/');
        percent::encode_into(&mut path, segment);
    }
    String::from_utf8(path).unwrap_or_default()
}

/// An error as a page.
fn page(failure: &Failure, context: &Context, is_head: bool) -> Response {
    let (code, status) = (failure.code.name(), failure.code.status());
    let mut response = Response::error(failure.code).with("x-ms-error-code", code);
    if failure.code == ErrorCode::UnsupportedHttpVerb {
        response = response.with("Allow", "GET, HEAD");
    }
    if is_head {
        return response;
    }
    let text = format!(
        "<!DOCTYPE html><html><head><title>{code}</title></head><body><h1>{}</h1><p><ul>\
         <li>HttpStatusCode: {status}</li><li>ErrorCode: {code}</li><li>RequestId : {}</li>\
         <li>TimeStamp : {}</li></ul></p></body></html>",
        failure.message.lines().next().unwrap_or_default(),
        context.request_id,
        context.now.iso_seven_digits().as_str(),
    );
    response.with("Content-Type", "text/html").with_body(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn website(index: Option<&str>, default: Option<&str>) -> StaticWebsite {
        StaticWebsite {
            enabled: true,
            index_document: index.map(str::to_owned),
            error_document: None,
            default_index_document: default.map(str::to_owned),
        }
    }

    #[test]
    fn a_directory_is_its_index_document() {
        let index = website(Some("index.html"), None);
        let default = website(None, Some("app/start page.html"));
        for (path, by_index, by_default) in [
            ("", vec!["/index.html"], vec!["/app/start%20page.html"]),
            ("/", vec!["/index.html"], vec!["/app/start%20page.html"]),
            ("/docs/", vec!["/docs/index.html"], vec!["/app/start%20page.html"]),
            ("/a%20b", vec!["/a%20b", "/a%20b/index.html"], vec!["/a%20b", "/app/start%20page.html"]),
        ] {
            assert_eq!(candidates(path, &index), by_index, "{path}");
            assert_eq!(candidates(path, &default), by_default, "{path}");
        }
        assert_eq!(candidates("/", &website(None, None)), [""; 0]);
    }
}
