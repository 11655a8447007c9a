//! The answer to a batch, equal to the byte to what the original sends: some clients read it line by line.

use std::borrow::Cow;

use lazuli_model::operation::Written;
use lazuli_model::row::CorruptRow;
use lazuli_model::{ErrorCode, Failure, Guid, Outcome};

use super::{Batch, PartShape};
use crate::response::{Context, Response, odata_fields};
use crate::{ApiVersion, error, table};

/// The order of the fields of a part.
const ORDER: [&str; 9] = [
    "Content-ID",
    "X-Content-Type-Options",
    "Cache-Control",
    "Preference-Applied",
    "DataServiceVersion",
    "Content-Type",
    "Location",
    "DataServiceId",
    "ETag",
];

/// The order of the fields of a part that returns an entity, from 2013-08-15 on.
const ORDER_WITH_ENTITY: [&str; 8] = [
    "DataServiceVersion",
    "Content-Type",
    "Content-ID",
    "X-Content-Type-Options",
    "Cache-Control",
    "Preference-Applied",
    "Location",
    "ETag",
];

/// Writes the answer: 202 with a part for each operation, or with exactly one part for the operation that failed. A
/// failure that belongs to no operation is that of the whole request (TX-16), whose status clients then act upon.
///
/// `outcome` is what came of the batch's plan; of [`super::Plan::Nothing`] that is an empty [`Outcome::Batch`], of
/// [`super::Plan::Refused`] its failure. The ids become boundaries and must not occur in any value: random ones do not.
pub fn encode(
    context: &Context,
    batch: &Batch,
    outcome: Result<&Outcome, &Failure>,
    ids: [Guid; 2],
) -> Result<Response, CorruptRow> {
    let messages = match outcome {
        Ok(outcome) => successes(context, batch, outcome)?,
        Err(failure) => match located(batch, failure) {
            Some(failure) => vec![failed(context, batch, &failure)],
            None => return Ok(error::odata(context, &batch.shape, failure)),
        },
    };
    let mut response = Response::new(202)
        .with("Content-Type", format!("multipart/mixed; boundary=batchresponse_{}", ids[0]))
        .with_body(body(&messages, batch.is_query, ids));
    response.fields.extend(odata_fields(context.version));
    response.error = outcome.err().map(|failure| failure.code);
    Ok(response)
}

fn body(messages: &[Vec<u8>], is_query: bool, [batch, set]: [Guid; 2]) -> Vec<u8> {
    let mut out = Vec::with_capacity(messages.iter().map(|message| message.len() + 160).sum::<usize>() + 320);
    let name = if is_query { format!("batchresponse_{batch}") } else { format!("changesetresponse_{set}") };
    if !is_query {
        let opening =
            format!("--batchresponse_{batch}\r\nContent-Type: multipart/mixed; boundary={name}\r\n\r\n");
        out.extend_from_slice(opening.as_bytes());
    }
    for message in messages {
        let opening = format!(
            "--{name}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
        );
        out.extend_from_slice(opening.as_bytes());
        out.extend_from_slice(message);
    }
    out.extend_from_slice(format!("--{name}--\r\n").as_bytes());
    if !is_query {
        out.extend_from_slice(format!("--batchresponse_{batch}--\r\n").as_bytes());
    }
    out
}

fn successes(context: &Context, batch: &Batch, outcome: &Outcome) -> Result<Vec<Vec<u8>>, CorruptRow> {
    match outcome {
        Outcome::Batch(all) => {
            batch.parts.iter().zip(all).map(|(part, written)| success(context, part, written)).collect()
        }
        other => batch
            .parts
            .iter()
            .map(|part| {
                let response = table::encode::outcome(context, &part.shape, part.table_name(), other)?;
                Ok(message(context, part, response))
            })
            .collect(),
    }
}

fn success(context: &Context, part: &PartShape, written: &Written) -> Result<Vec<u8>, CorruptRow> {
    let response = table::encode::written(context, &part.shape, part.table_name(), written)?;
    Ok(message(context, part, response))
}

/// The failure with the index of the operation that it belongs to, if it belongs to one. A missing table is found
/// before any operation and told of the first one; what befalls a lone query befell operation 0.
fn located<'f>(batch: &Batch, failure: &'f Failure) -> Option<Cow<'f, Failure>> {
    let of_the_first = matches!(failure.code, ErrorCode::TableNotFound | ErrorCode::TableBeingDeleted);
    match failure.index {
        Some(_) => Some(Cow::Borrowed(failure)),
        None if of_the_first || batch.is_query => Some(Cow::Owned(failure.clone().at(0))),
        None => None,
    }
}

/// The one part of a failed batch. The original repeats the Content-ID of the last operation; that of the failed one
/// tells more.
fn failed(context: &Context, batch: &Batch, failure: &Failure) -> Vec<u8> {
    let index = failure.index.unwrap_or_default();
    let unknown = || PartShape { shape: batch.shape.clone(), table: None, content_id: None };
    let part = batch.parts.get(index).cloned().unwrap_or_else(unknown);
    let mut response = error::odata(context, &part.shape, failure);
    // What is refused before the operation is looked at has not applied a preference either.
    if response.get("Cache-Control").is_none() {
        response.fields.retain(|(name, _)| *name != "Preference-Applied");
    }
    if context.version < ApiVersion::V2013_08_15 {
        for (_, value) in response.fields.iter_mut().filter(|(name, _)| *name == "Content-Type") {
            *value = Cow::Borrowed("application/xml");
        }
    }
    message(context, &part, response)
}

/// An answer as an HTTP message, its fields in the order of the original.
fn message(context: &Context, part: &PartShape, response: Response) -> Vec<u8> {
    let has_entity = response.status < 300 && !response.body.is_empty();
    let order: &[&str] =
        if has_entity && context.version >= ApiVersion::V2013_08_15 { &ORDER_WITH_ENTITY } else { &ORDER };
    let mut fields = response.fields;
    let speaks_v3 = fields.iter().any(|(name, value)| {
        *name == "Preference-Applied" || (*name == "Content-Type" && value.contains("json"))
    });
    fields.push(("DataServiceVersion", Cow::Borrowed(if speaks_v3 { "3.0;" } else { "1.0;" })));
    if let Some(id) = &part.content_id {
        fields.push(("Content-ID", Cow::Owned(id.clone())));
    }
    let mut out = Vec::with_capacity(response.body.len() + 512);
    out.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status)).as_bytes());
    for name in order {
        for (_, value) in fields.iter().filter(|(given, _)| given == name) {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&response.body);
    out.extend_from_slice(b"\r\n");
    out
}

/// The words that go with a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
