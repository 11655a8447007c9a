//! From the outcome of an operation to the response.

use std::borrow::Cow;

use lazuli_model::table::Outcome;
use lazuli_model::table::operation::{Page, Stored, Written};
use lazuli_model::table::row::CorruptRow;

use crate::http::response::{Context, Response};
use crate::table::media::Format;
use crate::table::shape::{Prefer, Shape, odata_fields};
use crate::table::url;
use crate::table::{atom, continuation, etag, json};
use crate::{ApiVersion, xml};

/// The response to an operation that did not fail. `table` is the name as the URL spells it.
pub fn outcome(
    context: &Context,
    shape: &Shape,
    table: &str,
    outcome: &Outcome,
) -> Result<Response, CorruptRow> {
    Ok(match outcome {
        Outcome::Tables { names, next } => {
            let body = match shape.format {
                Format::Json(level) => json::write::tables(context, level, names),
                Format::Atom => atom::write::tables(context, names),
            };
            feed(context, shape, body)
                .with_some("x-ms-continuation-NextTableName", next.as_deref().map(continuation::encode))
        }
        Outcome::Table(name) => entry(context, shape, 200, table_body(context, shape, name)),
        Outcome::TableCreated(name) => {
            let location = url::table_url(&context.base, name);
            created(context, shape, location, || Ok(table_body(context, shape, name)))?
        }
        Outcome::TableDeleted => empty(context),
        Outcome::Entity(row) => entry(context, shape, 200, entity_body(context, shape, table, row)?)
            .with("ETag", etag::header(row.timestamp)),
        Outcome::Page(page) => entity_page(context, shape, table, page)?,
        Outcome::Written(written) => self::written(context, shape, table, written)?,
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
    shape: &Shape,
    table: &str,
    written: &Written,
) -> Result<Response, CorruptRow> {
    match written {
        Written::Inserted(row) => {
            let location = url::entity_url(&context.base, table, &row.partition, &row.row);
            let response = created(context, shape, location, || entity_body(context, shape, table, row))?;
            Ok(response.with("ETag", etag::header(row.timestamp)))
        }
        Written::Updated(timestamp) => Ok(empty(context).with("ETag", etag::header(*timestamp))),
        Written::Deleted => Ok(empty(context)),
    }
}

/// The APP service document that Atom versions have.
pub fn service_document(context: &Context) -> Response {
    odata(context, 200)
        .with("Content-Type", "application/atomsvc+xml;charset=utf-8")
        .with_body(atom::write::service_document(context))
}

fn entity_page(context: &Context, shape: &Shape, table: &str, page: &Page) -> Result<Response, CorruptRow> {
    let body = match shape.format {
        Format::Json(level) => json::write::entities(context, shape, level, table, &page.rows)?,
        Format::Atom => atom::write::entities(context, shape, table, &page.rows)?,
    };
    let mut response = feed(context, shape, body);
    if let Some(next) = &page.next {
        response = response
            .with("x-ms-continuation-NextPartitionKey", continuation::encode(&next.partition))
            .with("x-ms-continuation-NextRowKey", continuation::encode(&next.row));
    }
    Ok(response)
}

/// 201 with the content, or 204 if the client prefers none.
fn created(
    context: &Context,
    shape: &Shape,
    location: String,
    body: impl FnOnce() -> Result<Vec<u8>, CorruptRow>,
) -> Result<Response, CorruptRow> {
    let response = if shape.prefer == Some(Prefer::NoContent) {
        empty(context).with("DataServiceId", location.clone())
    } else {
        entry(context, shape, 201, body()?)
    };
    Ok(response
        .with("Location", location)
        .with_some("Preference-Applied", shape.prefer.map(|prefer| prefer.applied())))
}

fn table_body(context: &Context, shape: &Shape, name: &str) -> Vec<u8> {
    match shape.format {
        Format::Json(level) => json::write::table(context, level, name),
        Format::Atom => atom::write::table(context, name),
    }
}

fn entity_body(context: &Context, shape: &Shape, table: &str, row: &Stored) -> Result<Vec<u8>, CorruptRow> {
    match shape.format {
        Format::Json(level) => json::write::entity(context, shape, level, table, row),
        Format::Atom => atom::write::entity(context, shape, table, row),
    }
}

fn entry(context: &Context, shape: &Shape, status: u16, body: Vec<u8>) -> Response {
    with_content(context, shape, status, "entry", body)
}

fn feed(context: &Context, shape: &Shape, body: Vec<u8>) -> Response {
    with_content(context, shape, 200, "feed", body)
}

fn with_content(
    context: &Context,
    shape: &Shape,
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
) -> Response {
    let content_type: Cow<'static, str> = match shape.format {
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
