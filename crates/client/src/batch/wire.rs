//! Sends a batch and reads its response.

use http::Method;
use lazuli_model::EntityKey;
use lazuli_protocol::reply;
use lazuli_protocol::reply::ErrorBody;
use lazuli_protocol::table::batch::send;
use lazuli_protocol::table::batch::send::{OutgoingOperation, PartBody, PartResponse};

use crate::decode::decode_entity;
use crate::entity::Entity;
use crate::error::{Error, Result, Said};
use crate::request::{MINIMAL_METADATA, TableRequest};
use crate::table::Table;
use crate::versioned::{ETag, Versioned};
use crate::write::entity_path;

/// The new versions, if the response has a part for every operation.
pub(super) fn tags(responses: &[PartResponse<'_>], is_delete: &[bool]) -> Result<Vec<Option<ETag>>> {
    if responses.len() != is_delete.len() {
        return Err(Error::unclear("the response to a batch does not have a part for each operation"));
    }
    let tag = |(response, &deleted): (&PartResponse<'_>, &bool)| match response.get("etag") {
        Some(tag) => Ok(Some(ETag::new(tag))),
        None if deleted => Ok(None),
        None => Err(Error::invalid_response("the response to a write has no ETag")),
    };
    responses.iter().zip(is_delete).map(tag).collect()
}

/// Reads one entity with a batch of one query.
pub(crate) async fn query<T: Entity>(table: &Table, key: &EntityKey) -> Result<Versioned<T>> {
    let inner = OutgoingOperation {
        method: "GET",
        url: format!("{}/{}", table.service().endpoint().as_str(), entity_path(table.table_name(), key)),
        fields: vec![("Accept", MINIMAL_METADATA.to_owned()), ("DataServiceVersion", "3.0;".to_owned())],
        body: Vec::new(),
    };
    let mut call = call(send::query(&inner, &boundary_id(table)));
    call.reads = true;
    let decode = |responses: &[PartResponse<'_>]| match responses {
        [response] => decode_entity(response.body.trim_ascii()),
        _ => {
            Err(Error::invalid_response("the response to a batch with one query must have exactly one part"))
        }
    };
    table.service().pipeline.send_batch(call, decode).await
}

pub(super) fn boundary_id(table: &Table) -> String {
    let environment = &table.service().pipeline.environment;
    format!("{:016x}{:016x}", environment.random(), environment.random())
}

pub(super) fn call(body: PartBody) -> TableRequest {
    TableRequest::new("EntityGroupTransaction", Method::POST, "$batch")
        .header("accept", "multipart/mixed")
        .body(&body.content_type, body.bytes)
}

/// The error for a failed operation of a batch; `None` if it succeeded.
pub(crate) fn error_body(response: &PartResponse<'_>, request_id: Option<String>) -> Option<Error> {
    if response.status < 300 {
        return None;
    }
    let rejection = reply::error_body(response.body).unwrap_or_else(|| ErrorBody {
        code: String::new(),
        message: format!("an operation of the batch failed with status {}", response.status),
    });
    let (code, message) = (rejection.code, rejection.message);
    Some(Error::service(Said { status: response.status, code, message, request_id, in_batch: true }))
}
