//! Encodes the outcome of an operation as a response.

use std::borrow::Cow;

use lazuli_model::table::Outcome;
use lazuli_model::table::operation::{EntityPage, StoredEntity, Written};
use lazuli_model::table::row::CorruptRow;

use crate::http::response::{Context, Response};
use crate::table::media::Format;
use crate::table::response_format::{Prefer, ResponseFormat, odata_fields};
use crate::table::url;
use crate::table::{atom, continuation, etag, json};
use crate::{ApiVersion, xml};

/// The response to a successful operation. `table` is the name as spelled in the URL.
pub fn outcome(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    outcome: &Outcome,
) -> Result<Response, CorruptRow> {
    Ok(match outcome {
        Outcome::Tables { names, next } => {
            let body = match wanted.format {
                Format::Json(level) => json::write::tables(context, level, names),
                Format::Atom => atom::write::tables(context, names),
            };
            feed(context, wanted, body)
                .with_some("x-ms-continuation-NextTableName", next.as_deref().map(continuation::encode))
        }
        Outcome::Table(name) => entry(context, wanted, 200, table_body(context, wanted, name)),
        Outcome::TableCreated(name) => {
            let location = url::table_url(&context.base, name);
            created(context, wanted, location, || Ok(table_body(context, wanted, name)))?
        }
        Outcome::TableDeleted => empty(context),
        Outcome::Entity(row) => entry(context, wanted, 200, entity_body(context, wanted, table, row)?)
            .with("ETag", etag::header(row.timestamp)),
        Outcome::Page(page) => entity_page(context, wanted, table, page)?,
        Outcome::Written(written) => self::written(context, wanted, table, written)?,
        Outcome::Batch(_) | Outcome::PropertiesSet => Response::new(202),
        Outcome::Acl(policies) => xml::acl(policies),
        Outcome::AclSet => Response::new(204),
        Outcome::Properties(found) => xml::properties(lazuli_model::Service::Table, context, found),
        Outcome::Stats => xml::stats(context),
    })
}

/// The response to a change of one entity, top-level or in a batch.
pub fn written(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    written: &Written,
) -> Result<Response, CorruptRow> {
    match written {
        Written::Inserted(row) => {
            let location = url::entity_url(&context.base, table, &row.partition, &row.row);
            let response = created(context, wanted, location, || entity_body(context, wanted, table, row))?;
            Ok(response.with("ETag", etag::header(row.timestamp)))
        }
        Written::Updated(timestamp) => Ok(empty(context).with("ETag", etag::header(*timestamp))),
        Written::Deleted => Ok(empty(context)),
    }
}

/// The APP service document of the Atom versions.
pub fn service_document(context: &Context) -> Response {
    odata(context, 200)
        .with("Content-Type", "application/atomsvc+xml;charset=utf-8")
        .with_body(atom::write::service_document(context))
}

fn entity_page(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    page: &EntityPage,
) -> Result<Response, CorruptRow> {
    let body = match wanted.format {
        Format::Json(level) => json::write::entities(context, wanted, level, table, &page.rows)?,
        Format::Atom => atom::write::entities(context, wanted, table, &page.rows)?,
    };
    let mut response = feed(context, wanted, body);
    if let Some(next) = &page.next {
        response = response
            .with("x-ms-continuation-NextPartitionKey", continuation::encode(&next.partition))
            .with("x-ms-continuation-NextRowKey", continuation::encode(&next.row));
    }
    Ok(response)
}

/// 201 with the content, or 204 if the client prefers no content.
fn created(
    context: &Context,
    wanted: &ResponseFormat,
    location: String,
    body: impl FnOnce() -> Result<Vec<u8>, CorruptRow>,
) -> Result<Response, CorruptRow> {
    let response = if wanted.prefer == Some(Prefer::NoContent) {
        empty(context).with("DataServiceId", location.clone())
    } else {
        entry(context, wanted, 201, body()?)
    };
    Ok(response
        .with("Location", location)
        .with_some("Preference-Applied", wanted.prefer.map(|prefer| prefer.applied())))
}

fn table_body(context: &Context, wanted: &ResponseFormat, name: &str) -> Vec<u8> {
    match wanted.format {
        Format::Json(level) => json::write::table(context, level, name),
        Format::Atom => atom::write::table(context, name),
    }
}

fn entity_body(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    row: &StoredEntity,
) -> Result<Vec<u8>, CorruptRow> {
    match wanted.format {
        Format::Json(level) => json::write::entity(context, wanted, level, table, row),
        Format::Atom => atom::write::entity(context, wanted, table, row),
    }
}

fn entry(context: &Context, wanted: &ResponseFormat, status: u16, body: Vec<u8>) -> Response {
    with_content(context, wanted, status, "entry", body)
}

fn feed(context: &Context, wanted: &ResponseFormat, body: Vec<u8>) -> Response {
    with_content(context, wanted, 200, "feed", body)
}

fn with_content(
    context: &Context,
    wanted: &ResponseFormat,
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
) -> Response {
    let content_type: Cow<'static, str> = match wanted.format {
        Format::Json(level) => Format::json_content_type(level).into(),
        Format::Atom if context.version >= ApiVersion::V2013_08_15 => {
            format!("application/atom+xml;type={kind};charset=utf-8").into()
        }
        Format::Atom => "application/atom+xml;charset=utf-8".into(),
    };
    odata(context, status).with("Content-Type", content_type).with_body(body)
}

fn empty(context: &Context) -> Response {
    odata(context, 204)
}

fn odata(context: &Context, status: u16) -> Response {
    let mut response = Response::new(status);
    response.fields.extend(odata_fields(context.version));
    response
}
