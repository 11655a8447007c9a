//! One operation of a batch: the request in a part, parsed as if it had been sent alone.
//!
//! Parts inherit from the outer request: the account, the version, and the format if a part does not specify one. The
//! scheme and host of a part's URL are ignored.

use lazuli_model::table::filter::{Expr, Operator};
use lazuli_model::table::operation::{EntityQuery, EntityWrite};
use lazuli_model::table::{Operation, entity};
use lazuli_model::{ErrorCode, Failure, TableName, Value};

use super::PartContext;
use crate::address::Address;
use crate::http::head::Field;
use crate::http::multipart::{HttpMessage, Malformed, Part};
use crate::http::query::Query;
use crate::table::decode::{self, Intent};
use crate::table::path::{Resource, parse_path};
use crate::table::response_format::ResponseFormat;
use crate::{ApiVersion, Head};

/// Maximum length of a `Content-ID` that is echoed.
const CONTENT_ID_BYTES_MAX: usize = 256;

/// Settings that all operations of a batch share.
pub struct Outer<'a> {
    account: &'a str,
    /// The account as the first segment of paths, in path style.
    segment: Option<String>,
    accept: Option<&'a str>,
    version: ApiVersion,
}

/// The head of an operation and its decoded form, which is reused: inserts into one table have the same head,
/// and parsing it takes as long as parsing a small entity.
pub struct KnownHead<'p> {
    /// The head, up to the first byte of the body.
    bytes: &'p [u8],
    part: PartContext,
    intent: Intent,
}

/// An operation, and the format of its response, whether it succeeds or not.
pub struct Inner<T> {
    pub part: PartContext,
    pub content: Result<T, Failure>,
}

impl<'a> Outer<'a> {
    /// Takes the shared settings from the outer request.
    pub fn new(head: &Head<'a>, address: &Address<'a>, version: ApiVersion) -> Self {
        // `multipart/mixed` is the format of the whole body and does not apply to the parts.
        let accept = head.get_filled("accept").filter(|accept| !accept.contains("multipart/"));
        let segment = address.account_segment().map(|segment| segment.into_owned());
        Self { account: address.account, segment, accept, version }
    }

    /// Reads a change. `last` is the head of the previous change.
    pub fn write<'p>(
        &self,
        part: &Part<'p>,
        last: &mut Option<KnownHead<'p>>,
    ) -> Inner<(TableName, EntityWrite)> {
        let pick = |operation| match operation {
            Operation::Write { table, write } => Some((table, write)),
            _ => None,
        };
        let content = part.content.trim_ascii_start();
        if let Some(known) = last
            && let Some(body) = content.strip_prefix(known.bytes)
        {
            return Inner {
                part: known.part.clone(),
                content: operation(Ok(known.intent.clone()), body, pick),
            };
        }
        let Ok((message, method, target)) = request(content) else { return self.malformed() };
        let body = message.body;
        let Inner { part, content: intent } = self.intent(message.fields, method, target);
        // A head without a body may lack its end, and then more lines may follow it elsewhere.
        *last = intent.as_ref().ok().filter(|_| !body.is_empty()).map(|intent| KnownHead {
            bytes: &content[..content.len() - body.len()],
            part: part.clone(),
            intent: intent.clone(),
        });
        Inner { part, content: operation(intent, body, pick) }
    }

    /// Reads a query, which must select one entity by both keys.
    pub fn query(&self, part: &Part<'_>) -> Inner<Operation> {
        let pick = |operation| match &operation {
            Operation::GetEntity { .. } => Some(operation),
            Operation::QueryEntities { query, .. } if names_one_entity(query) => Some(operation),
            _ => None,
        };
        let Ok((message, method, target)) = request(part.content) else { return self.malformed() };
        let Inner { part, content: intent } = self.intent(message.fields, method, target);
        Inner { part, content: operation(intent, message.body, pick) }
    }

    fn malformed<T>(&self) -> Inner<T> {
        Inner { part: self.unread(), content: Err(ErrorCode::InvalidInput.into()) }
    }

    /// The response format of a part that could not be parsed.
    pub fn unread(&self) -> PartContext {
        PartContext { wanted: ResponseFormat::fallback(self.version), table: None, content_id: None }
    }

    /// The request in the head of an operation.
    fn intent<'p>(&self, mut fields: Vec<Field<'p>>, method: &'p str, target: &'p str) -> Inner<Intent>
    where
        'a: 'p,
    {
        self.complete(&mut fields);
        let head = Head { method, target, fields: &fields };
        let (path, query) = self.split_target(target);
        let resource = parse_path(self.account, path);
        // The resource matters only for operations that are not on entities.
        let (wanted, rejection) = decode::response_format(
            &head,
            query,
            self.version,
            resource.as_ref().unwrap_or(&Resource::Service),
        );
        let table = match &resource {
            Ok(resource) => resource.table().cloned(),
            Err(rejected) => rejected.table.clone(),
        };
        let part = PartContext { wanted, table, content_id: content_id(&head) };
        let content = resource
            .map_err(|rejected| rejected.failure)
            .and_then(|resource| rejection.map_or(Ok(resource), Err))
            .and_then(|resource| decode::intent(&head, query, self.version, resource));
        Inner { part, content }
    }

    /// Adds defaults that a part may omit. The sample of 2009 merges and deletes without a condition; in that
    /// version, an update without a condition had no other meaning.
    fn complete<'p>(&self, fields: &mut Vec<Field<'p>>)
    where
        'a: 'p,
    {
        if let (Some(accept), false) = (self.accept, has(fields, "accept")) {
            fields.push(Field { name: "Accept", value: accept });
        }
        if !self.version.has_upserts() && !has(fields, "if-match") && !has(fields, "if-none-match") {
            fields.push(Field { name: "If-Match", value: "*" });
        }
    }

    /// The path of the resource, without the account, and the query.
    fn split_target<'t>(&self, target: &'t str) -> (&'t str, Query<'t>) {
        let local = without_authority(target);
        let (path, query) = local.split_once('?').unwrap_or((local, ""));
        (self.without_account(path), Query(query))
    }

    /// In path style, the account may be the first segment, or omitted. A table may have the same name as the
    /// account, so the first segment counts as the account only if another one follows.
    fn without_account<'t>(&self, path: &'t str) -> &'t str {
        let stripped = self
            .segment
            .as_deref()
            .and_then(|segment| path.strip_prefix('/').unwrap_or(path).strip_prefix(segment))
            .filter(|rest| rest.len() > 1 && rest.starts_with('/'));
        stripped.unwrap_or(path)
    }
}

/// The operation, once its body has been read.
fn operation<T>(
    intent: Result<Intent, Failure>,
    body: &[u8],
    pick: impl FnOnce(Operation) -> Option<T>,
) -> Result<T, Failure> {
    let operation = intent?.with_body(body.trim_ascii())?;
    pick(operation).ok_or_else(|| ErrorCode::InvalidInput.into())
}

fn request(content: &[u8]) -> Result<(HttpMessage<'_>, &str, &str), Malformed> {
    let message = HttpMessage::parse(content)?;
    let (method, target) = message.request_line()?;
    Ok((message, method, target))
}

fn has(fields: &[Field<'_>], name: &str) -> bool {
    fields.iter().any(|field| field.name.eq_ignore_ascii_case(name) && !field.value.is_empty())
}

/// Reduces `https://host:443/T(…)` to `/T(…)`; a path stays unchanged.
fn without_authority(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) => {
            rest.find(['/', '?']).map_or("", |at| &rest[at..])
        }
        _ => target,
    }
}

/// The echoed value goes into a header line, so it must not contain line ends.
fn content_id(head: &Head<'_>) -> Option<String> {
    let id = head.get_filled("content-id")?;
    let fits = id.len() <= CONTENT_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    fits.then(|| id.to_owned())
}

/// Do all matches have the same PartitionKey and RowKey?
fn names_one_entity(query: &EntityQuery) -> bool {
    let filter = query.filter.as_ref();
    filter.is_some_and(|filter| fixes(filter, entity::PARTITION_KEY) && fixes(filter, entity::ROW_KEY))
}

/// Does the filter require that the property equals one string? The parser has bounded the depth.
fn fixes(filter: &Expr, property: &str) -> bool {
    match filter {
        Expr::And(all) => all.iter().any(|each| fixes(each, property)),
        Expr::Compare(comparison) => {
            comparison.property == property
                && comparison.operator == Operator::Eq
                && matches!(comparison.literal, Value::String(_))
        }
        Expr::Or(_) | Expr::Not(_) | Expr::Flag(_) | Expr::Constant(_) => false,
    }
}
