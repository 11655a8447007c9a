//! The query options of reads: `$filter`, `$select`, `$top` and continuation.

use std::time::Duration;

use lazuli_filter::Schema;
use lazuli_model::filter::Expr;
use lazuli_model::limits::{PAGE_ROWS_MAX, SELECT_NAMES_MAX};
use lazuli_model::operation::{EntityQuery, Position, TableQuery};
use lazuli_model::{ErrorCode, Failure};

use super::draft::Draft;
use crate::address::Query;
use crate::response::Select;
use crate::{ApiVersion, continuation, percent};

/// The options of OData that the service has. It has no other name that starts with a dollar sign (QY-01, QY-21).
const OPTIONS: [&str; 4] = ["$filter", "$format", "$select", "$top"];

/// The longest that a client can ask to wait.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// What a missing member adds to an answer beside its name: quotes, colon, null and comma.
const NULL_MEMBER_BYTES: usize = 8;

/// The options of a table listing.
pub fn tables(query: Query<'_>) -> Result<TableQuery, Failure> {
    refuse_unsupported(query)?;
    Ok(TableQuery {
        filter: filter(query, Schema::Tables)?,
        top: top(query)?,
        from: token(query, "NextTableName")?,
    })
}

/// The options of an entity query.
pub fn entities(query: Query<'_>) -> Result<EntityQuery, Failure> {
    refuse_unsupported(query)?;
    let partition = token(query, "NextPartitionKey")?;
    let row = token(query, "NextRowKey")?;
    Ok(EntityQuery {
        filter: filter(query, Schema::Entity)?,
        top: top(query)?,
        from: partition.map(|partition| Position { partition, row: row.unwrap_or_default() }),
        row_bytes: query
            .get("$select")
            .map_or(0, |text| text.len() + text.matches(',').count() * NULL_MEMBER_BYTES),
    })
}

/// Refuses what the service does not have rather than ignoring it, which would give wrong results.
pub fn refuse_unsupported(query: Query<'_>) -> Result<(), Failure> {
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

/// How long the client wants to wait, if it says so: `timeout`, in seconds. More than [`TIMEOUT_MAX`] counts as that,
/// and nothing as if it were not there.
pub fn timeout(query: Query<'_>) -> Result<Option<Duration>, Failure> {
    let Some(text) = query.get("timeout") else { return Ok(None) };
    let time = Duration::from_secs(seconds(&text)?.into()).min(TIMEOUT_MAX);
    Ok(Some(time).filter(|time| !time.is_zero()))
}

/// A number however large: what counts is that it is one.
fn seconds(text: &str) -> Result<u32, Failure> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ErrorCode::InvalidQueryParameterValue.into());
    }
    Ok(text.parse().unwrap_or(u32::MAX))
}

/// `$select`, which came with 2011-08-18. Its text goes into the answer.
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
    // What is no property comes by the metadata level, and must not come twice.
    names.retain(|name| !Draft::is_control(name));
    Ok(Some(Select { echo, names: (!all).then(|| distinct(names)) }))
}

/// The text as answers repeat it: escaped, but with its commas, however the client wrote them.
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

/// A name that is given twice is returned once: members of a JSON object must not repeat.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

fn filter(query: Query<'_>, schema: Schema) -> Result<Option<Expr>, Failure> {
    let text = query.get("$filter").unwrap_or_default();
    Ok(lazuli_filter::parse_optional(&text, schema)?)
}

/// QY-04, QY-05: from 0, which gives an empty page, to 1000.
fn top(query: Query<'_>) -> Result<Option<usize>, Failure> {
    match query.get("$top") {
        None => Ok(None),
        Some(text) => match text.trim().parse::<usize>() {
            Ok(top) if top <= PAGE_ROWS_MAX && !text.contains('+') => Ok(Some(top)),
            _ => Err(ErrorCode::InvalidInput.into()),
        },
    }
}

/// An empty token counts as absent: some clients send one where an answer had none.
fn token(query: Query<'_>, name: &str) -> Result<Option<String>, Failure> {
    query.get(name).filter(|token| !token.is_empty()).map(|token| continuation::decode(&token)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(query: &str, code: ErrorCode) {
        assert_eq!(entities(Query(query)).map_err(|f| f.code), Err(code), "{query}");
    }

    /// QY-05, QY-21, PG-08.
    #[test]
    fn options() {
        assert_eq!(entities(Query("$top=0")).unwrap().top, Some(0));
        assert_eq!(entities(Query("$top=1000")).unwrap().top, Some(1000));
        assert_eq!(entities(Query("$filter=")).unwrap().filter, None);
        for top in ["1001", "-1", "%2B1", "1.5", "x", ""] {
            refused(&format!("$top={top}"), ErrorCode::InvalidInput);
        }
        for option in ["$orderby=a", "$skip=1", "$inlinecount=allpages", "%24expand=x", "$Top=1", "$x"] {
            refused(option, ErrorCode::NotImplemented);
        }
        refused("NextPartitionKey=rubbish", ErrorCode::InvalidInput);
        refused("timeout=soon", ErrorCode::InvalidQueryParameterValue);
        for none in ["1.5", "-1", "+1", "", "%201", "1e3"] {
            refused(&format!("timeout={none}"), ErrorCode::InvalidQueryParameterValue);
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
        assert_eq!(resumed.from, Some(Position { partition: "a".into(), row: String::new() }));
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
