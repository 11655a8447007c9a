//! Decodes the head and the body of a request into an operation.
//!
//! This takes two steps, so that a request with an invalid head is rejected before its body is read.

use lazuli_model::error::Origin;
use lazuli_model::table::Operation;
use lazuli_model::table::operation::{EntityChange, EntityWrite, Match};
use lazuli_model::{EntityKey, ErrorCode, Failure, OperationKind, TableName};

use super::query;
use super::verb::Verb;
use crate::http::query::Query;
use crate::table::media;
use crate::table::media::BodyFormat;
use crate::table::path;
use crate::table::path::Resource;
use crate::table::response_format::{Prefer, ResponseFormat};
use crate::table::{atom, etag, json};
use crate::{ApiVersion, Head};

/// The operation of a request, as far as its head determines it.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// It needs no body.
    Ready(Operation),
    /// The APP service document.
    ServiceDocument,
    /// Create the table that the body names.
    CreateTable(BodyFormat),
    /// Insert the entity in the body.
    Insert(TableName, BodyFormat),
    /// Change an entity by the properties in the body.
    Update(TableName, Box<EntityKey>, UpdateKind, BodyFormat),
    /// The body is a batch.
    Batch,
}

/// The way in which an entity is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// PUT with `If-Match`.
    Replace(Match),
    /// MERGE with `If-Match`.
    Merge(Match),
    /// PUT without.
    InsertOrReplace,
    /// MERGE without.
    InsertOrMerge,
}

impl UpdateKind {
    fn operation(self) -> OperationKind {
        match self {
            UpdateKind::Replace(_) => OperationKind::UpdateEntity,
            UpdateKind::Merge(_) => OperationKind::MergeEntity,
            UpdateKind::InsertOrReplace => OperationKind::InsertOrReplaceEntity,
            UpdateKind::InsertOrMerge => OperationKind::InsertOrMergeEntity,
        }
    }
}

/// The format of the response. A request for an unsupported format still gets one for its error.
pub fn response_format(
    head: &Head<'_>,
    query: Query<'_>,
    version: ApiVersion,
    resource: &Resource,
) -> (ResponseFormat, Option<Failure>) {
    let prefer = Prefer::of(head, version);
    let posts = head.method == "POST" && head.get("x-http-method").is_none() && *resource != Resource::Batch;
    let has_body = head.method == "GET" || (posts && prefer != Some(Prefer::NoContent));
    let mut wanted = ResponseFormat { prefer: prefer.filter(|_| posts), ..ResponseFormat::fallback(version) };
    let parameter = query.get("$format");
    match media::negotiate(version, parameter.as_deref(), head.all("accept"), has_body) {
        Ok(format) => wanted.format = format,
        Err(failure) => return (wanted, Some(failure)),
    }
    // The response to an insert contains the whole entity.
    if head.method == "GET" {
        match query::select(query, version) {
            Ok(select) => wanted.select = select,
            Err(failure) => return (wanted, Some(failure)),
        }
    }
    (wanted, None)
}

/// The requested operation.
pub fn intent(
    head: &Head<'_>,
    query: Query<'_>,
    version: ApiVersion,
    resource: Resource,
) -> Result<Intent, Failure> {
    let verb = Verb::of(head)?;
    query::reject_unsupported(query)?;
    match (verb, resource) {
        (Verb::Options, _) => Err(Failure::from(ErrorCode::CorsPreflightFailure).found_in(Origin::FrontEnd)),
        (Verb::Get, Resource::Below(_)) => Err(ErrorCode::NotImplemented.into()),
        (_, Resource::Below(resource)) => intent(head, query, version, *resource),
        (Verb::Get, Resource::Service) if version.has_atom() => Ok(Intent::ServiceDocument),
        (Verb::Get, Resource::Service | Resource::Metadata) => Err(ErrorCode::ResourceNotFound.into()),
        (Verb::Get, Resource::Tables) => Ok(Intent::Ready(Operation::QueryTables(query::tables(query)?))),
        (Verb::Get, Resource::Table(name)) => Ok(Intent::Ready(Operation::GetTable(name))),
        (Verb::Post, Resource::Tables) => Ok(Intent::CreateTable(media::body_format(version, head)?)),
        (Verb::Delete, Resource::Table(name)) => {
            reject_conditions_on_tables(head)?;
            Ok(Intent::Ready(Operation::DeleteTable(name)))
        }
        (Verb::Get, Resource::Entities(table)) => {
            Ok(Intent::Ready(Operation::QueryEntities { table, query: query::entities(query)? }))
        }
        (Verb::Post, Resource::Entities(table)) => {
            Ok(Intent::Insert(table, media::body_format(version, head)?))
        }
        (Verb::Get, Resource::Entity(table, key)) => {
            Ok(Intent::Ready(Operation::GetEntity { table, key: *key }))
        }
        (Verb::Delete, Resource::Entity(table, key)) => {
            let change =
                EntityChange::Delete(condition(head, verb)?.ok_or(ErrorCode::MissingRequiredHeader)?);
            Ok(Intent::Ready(Operation::Write { table, write: EntityWrite { key: *key, change } }))
        }
        (Verb::Put | Verb::Merge, Resource::Entity(table, key)) => {
            let kind = update_kind(verb, condition(head, verb)?, version)?;
            Ok(Intent::Update(table, key, kind, media::body_format(version, head)?))
        }
        (Verb::Post, Resource::Batch) if version == ApiVersion::NONE => {
            Err(ErrorCode::MissingRequiredHeader.into())
        }
        // VR-05: introduced in that version.
        (Verb::Post, Resource::Batch) if version < ApiVersion::V2009_04_14 => {
            Err(ErrorCode::InvalidHeaderValue.into())
        }
        (Verb::Post, Resource::Batch) => Ok(Intent::Batch),
        _ => Err(ErrorCode::MethodNotAllowed.into()),
    }
}

impl Intent {
    /// Is the body needed?
    pub fn needs_body(&self) -> bool {
        !matches!(self, Intent::Ready(_) | Intent::ServiceDocument)
    }

    /// The kind of an operation whose body is not read yet, and its entity. `None` for a batch, whose
    /// operations are in its body.
    pub fn awaited(&self) -> Option<(OperationKind, Option<&EntityKey>)> {
        match self {
            Intent::CreateTable(_) => Some((OperationKind::CreateTable, None)),
            Intent::Insert(..) => Some((OperationKind::InsertEntity, None)),
            Intent::Update(_, key, kind, _) => Some((kind.operation(), Some(&**key))),
            Intent::Ready(_) | Intent::ServiceDocument | Intent::Batch => None,
        }
    }

    /// The operation, once the body has been read. A batch and the service document have none; their callers handle
    /// them.
    pub fn with_body(self, body: &[u8]) -> Result<Operation, Failure> {
        match self {
            Intent::Ready(operation) => Ok(operation),
            Intent::CreateTable(format) => create_table(format, body),
            Intent::Insert(table, format) => {
                let (key, properties) = read_entity(format, body)?.into_insert()?;
                Ok(Operation::Write {
                    table,
                    write: EntityWrite { key, change: EntityChange::Insert(properties) },
                })
            }
            Intent::Update(table, key, kind, format) => {
                let properties = read_entity(format, body)?.into_update()?;
                let change = match kind {
                    UpdateKind::Replace(condition) => EntityChange::Replace(properties, condition),
                    UpdateKind::Merge(condition) => EntityChange::Merge(properties, condition),
                    UpdateKind::InsertOrReplace => EntityChange::InsertOrReplace(properties),
                    UpdateKind::InsertOrMerge => EntityChange::InsertOrMerge(properties),
                };
                Ok(Operation::Write { table, write: EntityWrite { key: *key, change } })
            }
            Intent::ServiceDocument | Intent::Batch => Err(ErrorCode::InvalidInput.into()),
        }
    }
}

fn create_table(format: BodyFormat, body: &[u8]) -> Result<Operation, Failure> {
    let name = match format {
        BodyFormat::Json => json::read::table(body)?,
        BodyFormat::Atom => atom::read::table(body)?,
    };
    let name = name.ok_or(ErrorCode::PropertiesNeedValue)?;
    TableName::new(&name).map(Operation::CreateTable).map_err(path::name_failure)
}

fn read_entity(format: BodyFormat, body: &[u8]) -> Result<super::draft::EntityDraft<'_>, Failure> {
    match format {
        BodyFormat::Json => json::read::entity(body),
        BodyFormat::Atom => atom::read::entity(body),
    }
}

/// CC-02: without `If-Match`, an update is an upsert from 2011-08-18 on, and was rejected before.
fn update_kind(verb: Verb, condition: Option<Match>, version: ApiVersion) -> Result<UpdateKind, Failure> {
    match (verb, condition) {
        (Verb::Put, Some(condition)) => Ok(UpdateKind::Replace(condition)),
        (_, Some(condition)) => Ok(UpdateKind::Merge(condition)),
        (_, None) if !version.has_upserts() => Err(ErrorCode::MissingRequiredHeader.into()),
        (Verb::Put, None) => Ok(UpdateKind::InsertOrReplace),
        (_, None) => Ok(UpdateKind::InsertOrMerge),
    }
}

/// The condition in `If-Match`; an empty header counts as absent, because some clients send one.
fn condition(head: &Head<'_>, verb: Verb) -> Result<Option<Match>, Failure> {
    let mut tags = head.all("if-match").filter(|value| !value.is_empty());
    let first = tags.next();
    if head.get_filled("if-none-match").is_some() {
        let text = match (first, verb) {
            (Some(_), _) => {
                "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please specify either one of the headers or none of them."
            }
            (None, Verb::Delete) => "If-None-Match HTTP header cannot be specified for DELETE operations.",
            (None, _) => "If-None-Match HTTP header cannot be specified for PUT operations.",
        };
        return Err(Failure::new(ErrorCode::InvalidInput, text));
    }
    match (first, tags.next()) {
        (Some(first), Some(second)) => etag::parse(&format!("{first},{second}")).map(Some),
        (Some(tag), None) => etag::parse(tag).map(Some),
        (None, _) => Ok(None),
    }
}

/// CC-08: tables have no ETag.
fn reject_conditions_on_tables(head: &Head<'_>) -> Result<(), Failure> {
    let conditional =
        ["if-match", "if-none-match"].iter().any(|name| head.get_filled(name).is_some_and(|tag| tag != "*"));
    if conditional {
        return Err(Failure::new(
            ErrorCode::InvalidInput,
            "If-Match or If-None-Match headers cannot be specified if the target type does not have etag properties defined.",
        ));
    }
    Ok(())
}
