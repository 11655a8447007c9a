//! The OData path grammar: `/Tables('x')`, `/T()`, `/T(PartitionKey='p',RowKey='r')`.
//!
//! Percent-escapes are decoded once, then the path is split at slashes outside quoted key values. The first segment
//! names the resource; only the last one can have a key predicate, as in Azure.

use std::borrow::Cow;

use lazuli_model::error::Origin;
use lazuli_model::table::name::NameError;
use lazuli_model::{ErrorCode, Failure, Key, TableName};
use memchr::{memchr, memchr2_iter};

use crate::http::percent;

/// The resource with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `/`: the service itself.
    Service,
    /// `/Tables`: the list of tables.
    Tables,
    /// `/Tables('x')`: one table.
    Table(TableName),
    /// `/T` or `/T()`: the entities of a table.
    Entities(TableName),
    /// `/T(PartitionKey='p',RowKey='r')`: one entity.
    Entity(TableName, Box<lazuli_model::EntityKey>),
    /// `/T/x`, with or without keys at the end: treated like `/T`, except that it cannot be read.
    Below(Box<Resource>),
    /// `/$batch`.
    Batch,
    /// `/$metadata`, which the service does not have.
    Metadata,
}

impl Resource {
    /// The resource for operations other than reads.
    pub fn on_path(self) -> Resource {
        match self {
            Resource::Below(resource) => *resource,
            resource => resource,
        }
    }

    /// The table that must exist for the operation.
    pub fn table(&self) -> Option<&TableName> {
        match self {
            Resource::Entities(table) | Resource::Entity(table, _) => Some(table),
            Resource::Below(resource) => resource.table(),
            Resource::Service
            | Resource::Tables
            | Resource::Table(_)
            | Resource::Batch
            | Resource::Metadata => None,
        }
    }
}

/// The keys in the parentheses of a segment; the name is `None` for a bare value.
struct Predicate<'a>(Vec<PredicateKey<'a>>);

type PredicateKey<'a> = (Option<&'a str>, Cow<'a, str>);

struct Segment<'a> {
    name: &'a str,
    predicate: Option<Predicate<'a>>,
}

/// An invalid path, with its table: a missing table is reported first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The mistake in the path.
    pub failure: Failure,
    /// The table in the path, if there is one.
    pub table: Option<TableName>,
}

impl From<Failure> for PathError {
    fn from(failure: Failure) -> Self {
        Self { failure, table: None }
    }
}

/// Parses the path of a resource, without the account segment. `account` is used in an error message.
pub fn parse_path(account: &str, wire_path: &str) -> Result<Resource, PathError> {
    let decoded = percent::decode(wire_path).ok_or_else(|| routing(Failure::query_syntax()))?;
    let segments = split(&decoded)?;
    let Some(first) = segments.first() else { return Ok(Resource::Service) };
    let predicate = segments.last().and_then(|segment| segment.predicate.as_ref());
    match first.name {
        "$batch" => Ok(Resource::Batch),
        "$metadata" => Ok(Resource::Metadata),
        name if name.eq_ignore_ascii_case("Tables") => Ok(tables(account, predicate)?),
        name => {
            let table = table_name(name)?;
            let resource = entities(account, table, predicate)
                .map_err(|failure| PathError { failure, table: TableName::new(name).ok() })?;
            Ok(if segments.len() > 1 { Resource::Below(Box::new(resource)) } else { resource })
        }
    }
}

fn tables(account: &str, predicate: Option<&Predicate<'_>>) -> Result<Resource, Failure> {
    let keys = predicate.map_or(&[][..], |predicate| &predicate.0);
    match keys {
        [] => Ok(Resource::Tables),
        [(name, value)] if name.is_none_or(|name| name == "TableName") => {
            Ok(Resource::Table(table_name(value)?))
        }
        _ => Err(routing(wrong_number_of_keys(account, "Tables"))),
    }
}

fn entities(account: &str, table: TableName, predicate: Option<&Predicate<'_>>) -> Result<Resource, Failure> {
    let keys = predicate.map_or(&[][..], |predicate| &predicate.0);
    let (first, second) = match keys {
        [] => return Ok(Resource::Entities(table)),
        [first, second] => (first, second),
        _ => return Err(routing(wrong_number_of_keys(account, table.as_str()))),
    };
    let (partition, row) = match (first.0, second.0) {
        (Some("PartitionKey"), Some("RowKey")) => (&first.1, &second.1),
        (Some("RowKey"), Some("PartitionKey")) => (&second.1, &first.1),
        _ => return Err(routing(Failure::query_syntax())),
    };
    let key = lazuli_model::EntityKey { partition: url_key(partition)?, row: url_key(row)? };
    Ok(Resource::Entity(table, Box::new(key)))
}

/// A table name in a URL.
pub fn table_name(text: &str) -> Result<TableName, Failure> {
    let name = TableName::new(text).or_else(|error| TableName::of_metrics(text).ok_or(error));
    name.map_err(|error| routing(name_failure(error)))
}

/// The error for an invalid table name.
pub fn name_failure(error: NameError) -> Failure {
    match error {
        NameError::Length => Failure::new(
            ErrorCode::OutOfRangeInput,
            "The specified resource name length is not within the permissible limits.",
        ),
        NameError::Characters => ErrorCode::InvalidResourceName.into(),
    }
}

fn url_key(text: &str) -> Result<Key, Failure> {
    Key::new(text).map_err(|error| match error {
        lazuli_model::table::key::KeyError::TooLong => ErrorCode::KeyValueTooLarge.into(),
        lazuli_model::table::key::KeyError::Character(_) => routing(Failure::query_syntax()),
    })
}

fn wrong_number_of_keys(account: &str, resource: &str) -> Failure {
    Failure::new(
        ErrorCode::InvalidInput,
        format!(
            "The number of keys specified in the URI does not match number of key properties for the resource '{account}.{resource}'."
        ),
    )
}

fn routing(failure: Failure) -> Failure {
    failure.found_in(Origin::Routing)
}

/// Splits a decoded path into segments; empty ones are ignored.
fn split(path: &str) -> Result<Vec<Segment<'_>>, Failure> {
    let mut segments = Vec::new();
    let mut rest = path.trim_start_matches('/');
    while !rest.is_empty() {
        let end = segment_end(rest);
        let (segment, after) = rest.split_at(end);
        if !segment.is_empty() {
            segments.push(parse_segment(segment)?);
        }
        rest = after.strip_prefix('/').unwrap_or(after);
    }
    Ok(segments)
}

/// Where the first segment ends: at a slash that is not inside quotes.
fn segment_end(path: &str) -> usize {
    let mut quoted = false;
    for at in memchr2_iter(b'\'', b'/', path.as_bytes()) {
        match path.as_bytes()[at] {
            b'\'' => quoted = !quoted,
            _ if !quoted => return at,
            _ => {}
        }
    }
    path.len()
}

fn parse_segment(text: &str) -> Result<Segment<'_>, Failure> {
    let Some(open) = memchr(b'(', text.as_bytes()) else {
        return Ok(Segment { name: text, predicate: None });
    };
    let name = text[..open].trim_end();
    let inner =
        text[open + 1..].trim_end().strip_suffix(')').ok_or_else(|| routing(Failure::query_syntax()))?;
    Ok(Segment { name, predicate: Some(parse_predicate(inner)?) })
}

fn parse_predicate(text: &str) -> Result<Predicate<'_>, Failure> {
    let mut keys = Vec::with_capacity(2);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, value, after) = parse_key(rest).ok_or_else(|| routing(Failure::query_syntax()))?;
        keys.push((name, value));
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => rest = more.trim_start(),
            None if rest.is_empty() => {}
            _ => return Err(routing(Failure::query_syntax())),
        }
    }
    Ok(Predicate(keys))
}

/// Parses `[name =] 'value'`, with quotes in the value doubled. The name must be an identifier; anything else before
/// a quote is not a key.
fn parse_key(text: &str) -> Option<(Option<&str>, Cow<'_, str>, &str)> {
    let quote = memchr(b'\'', text.as_bytes())?;
    let name = match text[..quote].trim_end() {
        "" => None,
        named => Some(identifier(named.strip_suffix('=')?.trim())?),
    };
    let mut value = Cow::Borrowed("");
    let mut rest = &text[quote + 1..];
    loop {
        let end = memchr(b'\'', rest.as_bytes())?;
        value += &rest[..end];
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                value += "'";
                rest = after;
            }
            None => return Some((name, value, rest)),
        }
    }
}

/// The string, if it can be the name of a property.
fn identifier(text: &str) -> Option<&str> {
    let is_start = |c: char| c.is_alphabetic() || c == '_';
    let is_name = text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_alphanumeric());
    is_name.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(path: &str) -> String {
        parse_path("acct", path).map_or_else(|error| error.failure.to_string(), |resource| display(&resource))
    }

    fn display(resource: &Resource) -> String {
        match resource {
            Resource::Entity(table, key) => format!("{table} {:?} {:?}", key.partition, key.row),
            Resource::Below(resource) => format!("below {}", display(resource)),
            other => format!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(show(path), expected, "{path}");
    }

    #[test]
    fn resources() {
        check("", "Service");
        check("/", "Service");
        check("/Tables", "Tables");
        check("/Tables()", "Tables");
        check("/Tables('abc')", "Table(\"abc\")");
        check("/Tables(%27abc%27)", "Table(\"abc\")");
        check("/Tables(TableName='abc')", "Table(\"abc\")");
        check("/abc", "Entities(\"abc\")");
        check("/abc()", "Entities(\"abc\")");
        check("/$batch", "Batch");
        check("/%24batch", "Batch");
        check("/$metadata", "Metadata");
        check("/T1t/T1t", "below Entities(\"T1t\")");
        check("/T1t/Tables", "below Entities(\"T1t\")");
        check("/T1t/T1t(PartitionKey='p',RowKey='r')", "below T1t \"p\" \"r\"");
        check("/T1t//", "Entities(\"T1t\")");
    }

    /// Keys count only in the last segment, so that a longer path never deletes the entity.
    #[test]
    fn a_segment_behind_the_keys_leaves_no_keys() {
        check("/Tables('abc')/x", "Tables");
        check("/abc(PartitionKey='p',RowKey='r')/x", "below Entities(\"abc\")");
        check("/abc(PartitionKey='p',RowKey='r')/", "abc \"p\" \"r\"");
    }

    /// OP-08: spaces, either order, doubled quotes, escapes decoded exactly once.
    #[test]
    fn keys() {
        check("/abc(PartitionKey='p',RowKey='r')", "abc \"p\" \"r\"");
        check("/abc(PartitionKey='p', RowKey='r')", "abc \"p\" \"r\"");
        check("/abc( PartitionKey = 'p' , RowKey = 'r' )", "abc \"p\" \"r\"");
        check("/abc(RowKey='r',PartitionKey='p')", "abc \"p\" \"r\"");
        check("/abc(PartitionKey='',RowKey='')", "abc \"\" \"\"");
        check("/abc(PartitionKey='O''Hare',RowKey=%27%27%27%27)", "abc \"O'Hare\" \"'\"");
        check("/abc(PartitionKey='a%2520b',RowKey='%25')", "abc \"a%20b\" \"%\"");
        check("/abc(PartitionKey='a,b'',''c',RowKey=')(=')", "abc \"a,b','c\" \")(=\"");
        check("/abc(PartitionKey='a+b',RowKey='%C3%A9')", "abc \"a+b\" \"é\"");
    }

    #[test]
    fn rejections() {
        let syntax = "InvalidInput: Bad Request - Error in query syntax.";
        let count = |what: &str| {
            format!(
                "InvalidInput: The number of keys specified in the URI does not match number of key properties for the resource 'acct.{what}'."
            )
        };
        check("/abc(PartitionKey='p',RowKey='r'", syntax);
        check("/abc(PartitionKey='p' RowKey='r')", syntax);
        check("/abc(PartitionKey='p',RowKey='r',)", syntax);
        check("/abc(PartitionKey='p',RowKey='r/x')", syntax);
        check("/abc(PartitionKey='p',RowKey='%3F')", syntax);
        check("/abc(PartitionKey='p',Rowkey='r')", syntax);
        check("/abc(PartitionKey=p,RowKey=r)", syntax);
        check("/abc(PartitionKey=1,RowKey='r')", syntax);
        check("/abc(='p')", syntax);
        check("/abc(PartitionKey='p',1='r')", syntax);
        check("/abc(PartitionKey='p')", &count("abc"));
        check("/abc(%zz)", syntax);
        check("/abc('x')", &count("abc"));
        check("/T1t/Tables('T1t')", &count("T1t"));
        check("/Tables('a','b')", &count("Tables"));
        check(
            "/a%2F%2F",
            "OutOfRangeInput: The specified resource name length is not within the permissible limits.",
        );
        check(
            "/ab",
            "OutOfRangeInput: The specified resource name length is not within the permissible limits.",
        );
        check("/a-b-c", "InvalidResourceName: The specifed resource name contains invalid characters.");
        check(
            "/Tables('1abc')",
            "InvalidResourceName: The specifed resource name contains invalid characters.",
        );
    }
}
