//! The response to a batch, byte for byte as Azure sends it: some clients read it line by line.

use std::borrow::Cow;

use lazuli_model::table::Outcome;
use lazuli_model::table::row::CorruptRow;
use lazuli_model::{ErrorCode, Failure, Guid};

use super::{Batch, PartContext};
use crate::http::response::{Context, Response};
use crate::table::error;
use crate::table::response_format::odata_fields;
use crate::{ApiVersion, table};

/// Approximate size of one part of a response.
const PART_BYTES_USUAL: usize = 640;

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
    "Content-ID",
    "DataServiceVersion",
    "Content-Type",
    "X-Content-Type-Options",
    "Cache-Control",
    "Preference-Applied",
    "Location",
    "ETag",
];

/// Writes the response: 202 with a part for each operation, or with exactly one part for the operation that failed. A
/// failure that belongs to no operation fails the whole request (TX-16), and clients act on its status.
///
/// `outcome` is the outcome of the batch's plan: an empty [`Outcome::Batch`] for [`super::BatchPlan::Nothing`], the
/// failure for [`super::BatchPlan::Rejected`]. The ids become boundaries, which must not occur in any value; use random
/// ids.
pub fn encode(
    context: &Context,
    batch: &Batch,
    outcome: Result<&Outcome, &Failure>,
    ids: [Guid; 2],
) -> Result<Response, CorruptRow> {
    let mut body = Body::open(batch, ids);
    match outcome {
        Ok(outcome) => successes(context, batch, outcome, &mut body)?,
        Err(failure) => match located(batch, failure) {
            Some(failure) => failed(context, batch, &failure, &mut body),
            None => return Ok(error::odata(context, &batch.wanted, failure)),
        },
    }
    let mut response = Response::new(202)
        .with("Content-Type", format!("multipart/mixed; boundary=batchresponse_{}", ids[0]))
        .with_body(body.close());
    response.fields.extend(odata_fields(context.version));
    response.error = outcome.err().map(|failure| failure.code);
    Ok(response)
}

/// The body of a response being written.
struct Body {
    out: Vec<u8>,
    /// The boundary before each part.
    opening: Vec<u8>,
    /// The boundary after the last part.
    closing: String,
}

impl Body {
    fn open(batch: &Batch, [id, set]: [Guid; 2]) -> Self {
        let mut out = Vec::with_capacity(batch.parts.len() * PART_BYTES_USUAL + PART_BYTES_USUAL);
        let name =
            if batch.is_query { format!("batchresponse_{id}") } else { format!("changesetresponse_{set}") };
        let mut closing = format!("--{name}--\r\n");
        if !batch.is_query {
            let opening =
                format!("--batchresponse_{id}\r\nContent-Type: multipart/mixed; boundary={name}\r\n\r\n");
            out.extend_from_slice(opening.as_bytes());
            closing += &format!("--batchresponse_{id}--\r\n");
        }
        let opening = format!(
            "--{name}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
        );
        Self { out, opening: opening.into_bytes(), closing }
    }

    fn close(mut self) -> Vec<u8> {
        self.out.extend_from_slice(self.closing.as_bytes());
        self.out
    }

    /// Appends a response as an HTTP message, with its fields in Azure's order.
    fn push(&mut self, context: &Context, part: &PartContext, response: Response) {
        let has_entity = response.status < 300 && !response.body.is_empty();
        let order: &[&str] = if has_entity && context.version >= ApiVersion::V2013_08_15 {
            &ORDER_WITH_ENTITY
        } else {
            &ORDER
        };
        let mut fields = response.fields;
        let speaks_v3 = fields.iter().any(|(name, value)| {
            *name == "Preference-Applied" || (*name == "Content-Type" && value.contains("json"))
        });
        fields.push(("DataServiceVersion".into(), Cow::Borrowed(if speaks_v3 { "3.0;" } else { "1.0;" })));
        if let Some(id) = &part.content_id {
            fields.push(("Content-ID".into(), Cow::Owned(id.clone())));
        }
        self.out.extend_from_slice(&self.opening);
        self.push_all(&["HTTP/1.1 ", itoa::Buffer::new().format(response.status), " "]);
        self.push_all(&[reason(response.status), "\r\n"]);
        for name in order {
            for (_, value) in fields.iter().filter(|(given, _)| given == name) {
                self.push_all(&[name, ": ", value, "\r\n"]);
            }
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(&response.body);
        self.out.extend_from_slice(b"\r\n");
    }

    fn push_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.out.extend_from_slice(text.as_bytes()));
    }
}

fn successes(context: &Context, batch: &Batch, outcome: &Outcome, body: &mut Body) -> Result<(), CorruptRow> {
    if let Outcome::Batch(all) = outcome {
        for (part, written) in batch.parts.iter().zip(all) {
            let response = table::encode::written(context, &part.wanted, part.table_name(), written)?;
            body.push(context, part, response);
        }
        return Ok(());
    }
    for part in &batch.parts {
        let response = table::encode::outcome(context, &part.wanted, part.table_name(), outcome)?;
        body.push(context, part, response);
    }
    Ok(())
}

/// The failure with the index of its operation, if it belongs to one. A missing table is found before any
/// operation and reported for the first one; the failure of a single query is reported for operation 0.
fn located<'f>(batch: &Batch, failure: &'f Failure) -> Option<Cow<'f, Failure>> {
    let of_the_first = matches!(failure.code, ErrorCode::TableNotFound | ErrorCode::TableBeingDeleted);
    match failure.index {
        Some(_) => Some(Cow::Borrowed(failure)),
        None if of_the_first || batch.is_query => Some(Cow::Owned(failure.clone().at(0))),
        None => None,
    }
}

/// The only part of a failed batch. Azure repeats the Content-ID of the last operation; here it is that of the
/// failed one, which is more useful.
fn failed(context: &Context, batch: &Batch, failure: &Failure, body: &mut Body) {
    let index = failure.index.unwrap_or_default();
    let unknown = || PartContext { wanted: batch.wanted.clone(), table: None, content_id: None };
    let part = batch.parts.get(index).cloned().unwrap_or_else(unknown);
    let mut response = error::odata(context, &part.wanted, failure);
    // A request that is rejected before the operation is examined has not applied a preference either.
    if response.get("Cache-Control").is_none() {
        response.fields.retain(|(name, _)| *name != "Preference-Applied");
    }
    body.push(context, &part, response);
}

/// The reason phrase of a status.
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
