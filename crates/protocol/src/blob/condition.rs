//! Parses conditional headers: those of the target, and those of the source of a copy.

use lazuli_model::blob::condition::{Combination, TierConditions};
use lazuli_model::blob::{Conditions, ETag, ETags, TagExpression};
use lazuli_model::{ErrorCode, Failure};

use super::header;
use crate::{ApiVersion, Head};

/// Maximum ETags in one header.
const ETAGS_MAX: usize = 64;

/// The headers for the target.
pub const TARGET: [&str; 5] =
    ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "x-ms-if-tags"];
/// The headers of Get and Set Blob Tags, where the plain ones apply to the tags.
const TAGGED: [&str; 5] = [
    "x-ms-blob-if-match",
    "x-ms-blob-if-none-match",
    "x-ms-blob-if-modified-since",
    "x-ms-blob-if-unmodified-since",
    "x-ms-if-tags",
];
/// The headers for a source.
const SOURCE: [&str; 5] = [
    "x-ms-source-if-match",
    "x-ms-source-if-none-match",
    "x-ms-source-if-modified-since",
    "x-ms-source-if-unmodified-since",
    "x-ms-source-if-tags",
];

/// The conditions of Get Blob and Get Blob Properties, which combine from 2013-08-15 on. From 2016-05-31 on a read of
/// something that must not exist cannot succeed and is an error.
pub fn read(head: &Head<'_>, version: ApiVersion) -> Result<Conditions, Failure> {
    let rule = if version >= ApiVersion::V2013_08_15 { Combination::Any } else { Combination::One };
    let conditions = all(head, TARGET, rule)?;
    if conditions.if_none_match == Some(ETags::Any) && version >= ApiVersion::V2016_05_31 {
        return Err(ErrorCode::UnsatisfiableCondition.into());
    }
    Ok(conditions)
}

/// The conditions of all other operations on blobs.
pub fn write(head: &Head<'_>) -> Result<Conditions, Failure> {
    all(head, TARGET, Combination::One)
}

/// The conditions of Delete Blob, which may also depend on the time at which the tier was chosen.
pub fn delete(head: &Head<'_>) -> Result<Conditions, Failure> {
    let tier = TierConditions {
        if_modified_since: header::date(head, "x-ms-access-tier-if-modified-since")?,
        if_unmodified_since: header::date(head, "x-ms-access-tier-if-unmodified-since")?,
    };
    Ok(Conditions { tier, ..write(head)? })
}

/// The conditions of Get and Set Blob Tags.
pub fn tagged(head: &Head<'_>) -> Result<Conditions, Failure> {
    all(head, TAGGED, Combination::One)
}

/// The conditions of a source.
pub fn source(head: &Head<'_>) -> Result<Conditions, Failure> {
    all(head, SOURCE, Combination::One)
}

/// The condition on tags, for operations that accept no other conditions.
pub fn tags_only(head: &Head<'_>) -> Result<Conditions, Failure> {
    let if_tags = tags(head, TARGET[4])?;
    Ok(Conditions { if_tags, ..Conditions::default() })
}

/// The conditions of an operation on a container: only dates. Others are errors, since ignoring one would
/// permit a change that the client forbids.
pub fn container(head: &Head<'_>, accepted: &[&str]) -> Result<Conditions, Failure> {
    let rejected = TARGET.iter().any(|name| !accepted.contains(name) && head.get_filled(name).is_some());
    if rejected {
        return Err(ErrorCode::ConditionHeadersNotSupported.into());
    }
    all(head, TARGET, Combination::One)
}

fn all(head: &Head<'_>, names: [&'static str; 5], rule: Combination) -> Result<Conditions, Failure> {
    let conditions = Conditions {
        if_match: etags(head, names[0], rule)?,
        if_none_match: etags(head, names[1], rule)?,
        if_modified_since: header::date(head, names[2])?,
        if_unmodified_since: header::date(head, names[3])?,
        if_tags: tags(head, names[4])?,
        tier: TierConditions::default(),
    };
    conditions.combined(rule)
}

fn tags(head: &Head<'_>, name: &'static str) -> Result<Option<TagExpression>, Failure> {
    header::value(head, name, |text| TagExpression::parse(text).ok())
}

/// The ETags of a header, which may be repeated. Writes accept one ETag.
fn etags(head: &Head<'_>, name: &'static str, rule: Combination) -> Result<Option<ETags>, Failure> {
    let mut found = Vec::new();
    let mut count = 0;
    for text in
        head.all(name).flat_map(|value| value.split(',')).map(str::trim).filter(|text| !text.is_empty())
    {
        if text == "*" {
            return Ok(Some(ETags::Any));
        }
        count += 1;
        if count > ETAGS_MAX || (count > 1 && rule == Combination::One) {
            return Err(header::invalid(name, head.get(name).unwrap_or_default()));
        }
        found.extend(ETag::parse(text));
    }
    Ok((count > 0).then_some(ETags::Listed(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    fn with<T>(fields: &[(&str, &str)], read: impl FnOnce(&Head<'_>) -> T) -> T {
        let fields: Vec<Field<'_>> = fields.iter().map(|&(name, value)| Field { name, value }).collect();
        read(&Head { method: "GET", target: "/", fields: &fields })
    }

    const NEW: ApiVersion = ApiVersion::V2019_12_12;
    const DATE: &str = "Mon, 27 Jun 2022 20:11:08 GMT";

    /// BL-04.
    #[test]
    fn etags_in_every_form() {
        let one = ETags::Listed(vec![ETag::new(0x8D1)]);
        for (text, expected) in [
            ("\"0x8D1\"", Some(one.clone())),
            ("0x8D1", Some(one)),
            ("*", Some(ETags::Any)),
            ("\"foreign\"", Some(ETags::Listed(vec![]))),
            ("", None),
        ] {
            let found = with(&[("if-match", text)], write).unwrap();
            assert_eq!(found.if_match, expected, "{text}");
        }
        let list = "\"0x8D1\", \"0x8D2\"";
        assert_eq!(
            with(&[("If-None-Match", list)], |head| read(head, NEW)).unwrap().if_none_match,
            Some(ETags::Listed(vec![ETag::new(0x8D1), ETag::new(0x8D2)]))
        );
        for old in [
            with(&[("If-Match", list)], write),
            with(&[("If-Match", list)], |head| read(head, ApiVersion::V2012_02_12)),
        ] {
            assert_eq!(old.unwrap_err().code, ErrorCode::InvalidHeaderValue);
        }
    }

    #[test]
    fn combinations_by_version() {
        let both = [("If-Match", "0x8D1"), ("If-Modified-Since", DATE)];
        assert!(with(&both, |head| read(head, NEW)).is_ok());
        for rejected in [with(&both, write), with(&both, |head| read(head, ApiVersion::V2012_02_12))] {
            assert_eq!(rejected.unwrap_err().code, ErrorCode::MultipleConditionHeadersNotSupported);
        }
        let star = [("If-None-Match", "*")];
        assert_eq!(with(&star, |head| read(head, NEW)).unwrap_err().code, ErrorCode::UnsatisfiableCondition);
        assert!(with(&star, |head| read(head, ApiVersion::V2015_02_21)).is_ok());
        assert!(with(&star, write).is_ok());
    }

    /// BL-05: containers support only dates.
    #[test]
    fn containers_accept_dates() {
        let dates = ["If-Modified-Since", "If-Unmodified-Since"];
        assert!(with(&[("If-Modified-Since", DATE)], |head| container(head, &dates)).is_ok());
        for fields in [[("If-Match", "*")], [("x-ms-if-tags", "a='b'")]] {
            let rejected = with(&fields, |head| container(head, &dates));
            assert_eq!(rejected.unwrap_err().code, ErrorCode::ConditionHeadersNotSupported);
        }
        let rejected = with(&[("If-Unmodified-Since", DATE)], |head| container(head, &dates[..1]));
        assert_eq!(rejected.unwrap_err().code, ErrorCode::ConditionHeadersNotSupported);
    }

    #[test]
    fn unreadable_values_name_their_header() {
        for (name, text) in [("If-Modified-Since", "yesterday"), ("x-ms-if-tags", "a=")] {
            let failure = with(&[(name, text)], write).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidHeaderValue);
            assert_eq!(failure.details[0].1, name);
        }
        let source = with(&[("x-ms-source-if-match", "0x8D1")], source).unwrap();
        assert!(source.if_match.is_some());
    }
}
