//! The query options of reads: `$filter`, `$select`, `$top` and continuation.

use lazuli_filter::Schema;
use lazuli_model::error::Origin;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::filter::Expr;
use lazuli_model::table::limits::{PAGE_ROWS_MAX, SELECT_NAMES_MAX};
use lazuli_model::table::operation::{EntityPosition, EntityQuery, TableQuery};
use lazuli_model::{ErrorCode, Failure};

use super::draft::EntityDraft;
use crate::ApiVersion;
use crate::http::percent;
use crate::http::query::Query;
use crate::http::timeout::seconds;
use crate::table::continuation;
use crate::table::response_format::Select;

/// The OData options that the service supports. Other names that start with a dollar sign are errors (QY-01, QY-21).
const OPTIONS: [&str; 4] = ["$filter", "$format", "$select", "$top"];

/// Bytes that a missing member adds to a response in addition to its name: quotes, colon, null and comma.
const NULL_MEMBER_BYTES: usize = 8;

/// The options of a table listing; call [`reject_unsupported`] first. Errors in them are found before the
/// operation starts, so the response has no `Cache-Control`.
pub fn tables(query: Query<'_>) -> Result<TableQuery, Failure> {
    table_options(query).map_err(|failure| failure.found_in(Origin::Routing))
}

/// The options of an entity query; see [`tables`] for errors in them.
pub fn entities(query: Query<'_>) -> Result<EntityQuery, Failure> {
    entity_options(query).map_err(|failure| failure.found_in(Origin::Routing))
}

fn table_options(query: Query<'_>) -> Result<TableQuery, Failure> {
    Ok(TableQuery {
        filter: filter(query, Schema::Tables)?,
        top: top(query)?,
        from: token(query, "NextTableName")?,
    })
}

fn entity_options(query: Query<'_>) -> Result<EntityQuery, Failure> {
    let partition = token(query, "NextPartitionKey")?;
    let row = token(query, "NextRowKey")?;
    Ok(EntityQuery {
        filter: filter(query, Schema::Entity)?,
        top: top(query)?,
        from: partition.map(|partition| EntityPosition { partition, row: row.unwrap_or_default() }),
        row_bytes: query
            .get("$select")
            .map_or(0, |text| text.len() + text.matches(',').count() * NULL_MEMBER_BYTES),
    })
}

/// Rejects unsupported options: ignoring them would lead to wrong results.
pub fn reject_unsupported(query: Query<'_>) -> Result<(), Failure> {
    if query.0.is_empty() {
        return Ok(());
    }
    for pair in query.pairs() {
        let (name, value) = pair.ok_or_else(Failure::query_syntax)?;
        if name.starts_with('$') && !OPTIONS.contains(&name.as_ref()) {
            return Err(ErrorCode::NotImplemented.into());
        }
        if name == "timeout" {
            seconds(&value)?;
        }
    }
    Ok(())
}

/// `$select`, which was introduced in 2011-08-18. The response repeats its value.
pub fn select(query: Query<'_>, version: ApiVersion) -> Result<Option<Select>, Failure> {
    let Some(text) = query.get("$select") else { return Ok(None) };
    if version < ApiVersion::V2011_08_18 {
        return Err(ErrorCode::NotImplemented.into());
    }
    let echo = echo(&text);
    let mut names: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.len() > SELECT_NAMES_MAX {
        return Err(ErrorCode::InvalidInput.into());
    }
    let all = names.is_empty() || names.iter().any(|name| name == "*");
    // Metadata depends on the metadata level, and must not be written twice.
    names.retain(|name| !EntityDraft::is_control(name));
    Ok(Some(Select { echo, names: (!all).then(|| ordered(names)) }))
}

/// The value as it is repeated in responses: everything except commas is escaped, regardless of the client's
/// spelling.
fn echo(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for (index, name) in text.split(',').enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if name.trim() == "*" { out.push(b'*') } else { percent::encode_into(&mut out, name) }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Puts the keys and Timestamp first, then the other names in ordinal order, regardless of the order in the
/// request. Duplicates are removed, since names in a JSON object must be unique.
fn ordered(mut names: Vec<String>) -> Vec<String> {
    const FIRST: [&str; 3] = [PARTITION_KEY, ROW_KEY, TIMESTAMP];
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    names.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
    names.dedup();
    names
}

fn filter(query: Query<'_>, schema: Schema) -> Result<Option<Expr>, Failure> {
    let text = query.get("$filter").unwrap_or_default();
    Ok(lazuli_filter::parse_optional(&text, schema)?)
}

/// QY-04, QY-05: from 0, which returns an empty page, to 1000.
fn top(query: Query<'_>) -> Result<Option<usize>, Failure> {
    match query.get("$top") {
        None => Ok(None),
        Some(text) => match text.trim().parse::<usize>() {
            Ok(top) if top <= PAGE_ROWS_MAX && !text.contains('+') => Ok(Some(top)),
            _ => Err(ErrorCode::InvalidInput.into()),
        },
    }
}

/// An empty token counts as absent: some clients send one after a response without a token.
fn token(query: Query<'_>, name: &str) -> Result<Option<String>, Failure> {
    query.get(name).filter(|token| !token.is_empty()).map(|token| continuation::decode(&token)).transpose()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::http::timeout::timeout;

    #[track_caller]
    fn rejected(query: &str, code: ErrorCode) {
        let checked = reject_unsupported(Query(query)).and_then(|()| entities(Query(query)).map(drop));
        assert_eq!(checked.map_err(|f| f.code), Err(code), "{query}");
    }

    /// QY-05, QY-21, PG-08.
    #[test]
    fn options() {
        assert_eq!(entities(Query("$top=0")).unwrap().top, Some(0));
        assert_eq!(entities(Query("$top=1000")).unwrap().top, Some(1000));
        assert_eq!(entities(Query("$filter=")).unwrap().filter, None);
        for top in ["1001", "-1", "%2B1", "1.5", "x", ""] {
            rejected(&format!("$top={top}"), ErrorCode::InvalidInput);
        }
        for option in ["$orderby=a", "$skip=1", "$inlinecount=allpages", "%24expand=x", "$Top=1", "$x"] {
            rejected(option, ErrorCode::NotImplemented);
        }
        rejected("NextPartitionKey=rubbish", ErrorCode::InvalidInput);
        rejected("timeout=soon", ErrorCode::InvalidQueryParameterValue);
        for none in ["1.5", "-1", "+1", "", "%201", "1e3"] {
            rejected(&format!("timeout={none}"), ErrorCode::InvalidQueryParameterValue);
        }
        for (query, seconds) in [
            ("$top=1", None),
            ("timeout=7", Some(7)),
            ("$top=1&timeout=030", Some(30)),
            ("timeout=31", Some(30)),
            ("timeout=99999999999999999999", Some(30)),
            ("timeout=0", None),
        ] {
            assert!(entities(Query(query)).is_ok(), "{query}");
            assert_eq!(timeout(Query(query)), Ok(seconds.map(Duration::from_secs)), "{query}");
        }
        let resumed = entities(Query("NextPartitionKey=1!4!YQ--&NextRowKey=")).unwrap();
        assert_eq!(resumed.from, Some(EntityPosition { partition: "a".into(), row: String::new() }));
    }

    /// QY-06.
    #[test]
    fn projection() {
        let of = |text: &'static str| select(Query(text), ApiVersion::V2011_08_18).unwrap();
        assert_eq!(of("x=1"), None);
        let both = of("$select=age,%20sex,age").unwrap();
        assert_eq!(both.echo, "age,%20sex,age");
        assert_eq!(of("%24select=i%2Cs").unwrap().echo, "i,s");
        assert_eq!(both.names, Some(vec!["age".into(), "sex".into()]));
        let mixed = of("$select=baz,Timestamp,RowKey,Bar,PartitionKey,bar").unwrap().names.unwrap();
        assert_eq!(mixed, ["PartitionKey", "RowKey", "Timestamp", "Bar", "bar", "baz"]);
        assert_eq!(of("$select=").unwrap().names, None);
        assert_eq!(of("$select=*").unwrap().names, None);
        let described = of("$select=odata.etag,age@odata.type,age").unwrap();
        assert_eq!(
            (described.echo.as_str(), described.names),
            ("odata.etag,age%40odata.type,age", Some(vec!["age".into()]))
        );
        assert_eq!(of("$select=odata.etag").unwrap().names, Some(Vec::new()));
        let old = select(Query("$select=a"), ApiVersion::V2009_09_19);
        assert_eq!(old.map_err(|f| f.code), Err(ErrorCode::NotImplemented));
    }
}
