//! Encodes failed OData operations as responses: OData JSON or the XML of the Atom era.

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use crate::error::{CHALLENGE, message, repeats_code};
use crate::http::response::{Context, Response};
use crate::table::media::Format;
use crate::table::response_format::{ResponseFormat, odata_fields};
use crate::table::{atom, json};
use crate::{ApiVersion, Head};

/// The response to a failed OData operation, in the negotiated format.
pub fn odata(context: &Context, wanted: &ResponseFormat, failure: &Failure) -> Response {
    let mut response = Response::error(failure.code);
    response.fields.extend(odata_fields(context.version).filter(|(name, _)| {
        *name != "Cache-Control"
            || (failure.origin == Origin::Operation && failure.code != ErrorCode::TableNotFound)
    }));
    response = response.with_some("Preference-Applied", wanted.prefer.map(|prefer| prefer.applied()));
    if repeats_code(context.version) {
        response = response.with("x-ms-error-code", failure.code.name());
    }
    let text = message(context, failure);
    let wants_xml = failure.code == ErrorCode::AtomFormatNotSupported;
    match wanted.format {
        Format::Json(level) if !wants_xml => response
            .with("Content-Type", Format::json_content_type(level))
            .with_body(json::write::error(failure.code.name(), &text)),
        Format::Json(_) | Format::Atom => response
            .with("Content-Type", xml_content_type(context.version))
            .with_body(atom::write::error(context.version, failure.code.name(), &text)),
    }
}

fn xml_content_type(version: ApiVersion) -> &'static str {
    if version >= ApiVersion::V2013_08_15 { "application/xml;charset=utf-8" } else { "application/xml" }
}

/// The response to a failed operation that uses XML.
pub fn xml_operation(context: &Context, failure: &Failure) -> Response {
    let mut response = Response::error(failure.code);
    if repeats_code(context.version) {
        response = response.with("x-ms-error-code", failure.code.name());
    }
    response
        .with("Content-Type", "application/xml")
        .with_body(atom::write::prefixed_error(failure.code.name(), &message(context, failure)))
}

/// The response to a request that was rejected early, possibly before its version was known.
pub fn front_end(context: &Context, head: Option<&Head<'_>>, failure: &Failure) -> Response {
    let text = message(context, failure);
    let speaks_json = |name| head.and_then(|head| head.get(name)).is_some_and(|value| value.contains("json"));
    let json = speaks_json("accept") || speaks_json("content-type");
    let mut response = Response::error(failure.code);
    if repeats_code(context.version) || context.version == ApiVersion::NONE {
        response = response.with("x-ms-error-code", failure.code.name());
    }
    response.front_end = true;
    if matches!(failure.code, ErrorCode::NoAuthenticationInformation | ErrorCode::InvalidBearerToken) {
        response = response.with("WWW-Authenticate", CHALLENGE);
    }
    if json {
        return response
            .with("Content-Type", "application/json")
            .with_body(json::write::error(failure.code.name(), &text));
    }
    response
        .with("Content-Type", "application/xml")
        .with_body(atom::write::prefixed_error(failure.code.name(), &text))
}
