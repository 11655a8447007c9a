//! The format that a client accepts, and the format of its request.

use lazuli_model::{ErrorCode, Failure};

use crate::{ApiVersion, Head};

/// The amount of metadata in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataLevel {
    /// Values only.
    None,
    /// The types that are not evident from the JSON, and the ETag.
    Minimal,
    /// Also links.
    Full,
}

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON at a metadata level.
    Json(MetadataLevel),
    /// Atom, the only format before 2013-08-15.
    Atom,
}

impl Format {
    /// The format of responses if the client does not request one.
    pub fn default_of(version: ApiVersion) -> Self {
        if version.has_atom() { Format::Atom } else { Format::Json(MetadataLevel::Minimal) }
    }

    /// The `Content-Type` of a JSON body.
    pub fn json_content_type(level: MetadataLevel) -> &'static str {
        match level {
            MetadataLevel::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            MetadataLevel::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            MetadataLevel::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }
}

/// One media range of an `Accept` header; only the relevant ones are distinguished.
enum Range {
    Json(MetadataLevel),
    VerboseJson,
    Atom,
    Any,
    Other,
}

/// Chooses the format of the response: `$format` takes precedence over `Accept`, whose first known media range wins.
///
/// `has_body` says whether a successful response has a body; a request without one is never rejected for its
/// `Accept`.
pub fn negotiate<'a>(
    version: ApiVersion,
    format_parameter: Option<&'a str>,
    accept: impl Iterator<Item = &'a str>,
    has_body: bool,
) -> Result<Format, Failure> {
    let fallback = Format::default_of(version);
    let mut rejection = None;
    let named = format_parameter.filter(|text| !text.is_empty());
    // Accept may occur several times, which counts as one list.
    let wanted = named.into_iter().chain(accept.filter(|_| named.is_none()));
    let ranges = wanted.flat_map(|text| text.split(',')).map(str::trim).filter(|range| !range.is_empty());
    for range in ranges.map(classify) {
        match range {
            Range::Json(level) if version.has_json() => return Ok(Format::Json(level)),
            Range::Atom if version.has_atom() => return Ok(Format::Atom),
            Range::Any => return Ok(fallback),
            Range::Json(_) => rejection = rejection.or(Some(ErrorCode::JsonFormatNotSupported)),
            Range::VerboseJson if !version.has_json() => {
                rejection = rejection.or(Some(ErrorCode::JsonFormatNotSupported));
            }
            Range::VerboseJson => rejection = rejection.or(Some(ErrorCode::JsonVerboseFormatNotSupported)),
            Range::Atom => rejection = rejection.or(Some(ErrorCode::AtomFormatNotSupported)),
            Range::Other => rejection = rejection.or(Some(ErrorCode::MediaTypeNotSupported)),
        }
    }
    match rejection {
        Some(code) if has_body => Err(code.into()),
        _ => Ok(fallback),
    }
}

fn classify(range: &str) -> Range {
    // The exact value that most clients send.
    match range {
        "application/json;odata=nometadata" => return Range::Json(MetadataLevel::None),
        "application/json;odata=minimalmetadata" => return Range::Json(MetadataLevel::Minimal),
        "application/json;odata=fullmetadata" => return Range::Json(MetadataLevel::Full),
        _ => {}
    }
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let is = |names: &[&str]| names.iter().any(|name| kind.eq_ignore_ascii_case(name));
    if is(&["application/json", "json"]) {
        json_level(parts)
    } else if is(&["application/atom+xml", "application/xml", "text/xml", "atom"]) {
        Range::Atom
    } else if is(&["*/*", "application/*"]) {
        Range::Any
    } else {
        Range::Other
    }
}

fn json_level<'a>(parameters: impl Iterator<Item = &'a str>) -> Range {
    for parameter in parameters {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        if !name.trim().eq_ignore_ascii_case("odata") {
            continue;
        }
        let value = value.trim().trim_matches('"');
        let levels = [
            ("nometadata", Range::Json(MetadataLevel::None)),
            ("minimalmetadata", Range::Json(MetadataLevel::Minimal)),
            ("fullmetadata", Range::Json(MetadataLevel::Full)),
            ("verbose", Range::VerboseJson),
        ];
        let found = levels.into_iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
        return found.map_or(Range::Other, |(_, level)| level);
    }
    Range::Json(MetadataLevel::Minimal)
}

/// The format of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// A JSON object.
    Json,
    /// An Atom entry.
    Atom,
}

/// The format that `Content-Type` declares, if the version supports it.
pub fn body_format(version: ApiVersion, head: &Head<'_>) -> Result<BodyFormat, Failure> {
    let Some(given) = head.get_filled("content-type") else {
        return Err(ErrorCode::MediaTypeNotSupported.into());
    };
    match classify(given) {
        Range::Json(_) if version.has_json() => Ok(BodyFormat::Json),
        Range::Json(_) => Err(ErrorCode::JsonFormatNotSupported.into()),
        Range::VerboseJson if !version.has_json() => Err(ErrorCode::JsonFormatNotSupported.into()),
        Range::VerboseJson => Err(ErrorCode::JsonVerboseFormatNotSupported.into()),
        Range::Atom if version.has_atom() => Ok(BodyFormat::Atom),
        Range::Atom => Err(ErrorCode::AtomFormatNotSupported.into()),
        Range::Any | Range::Other => Err(ErrorCode::MediaTypeNotSupported.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, accept: Option<&str>, expected: Result<Format, ErrorCode>) {
        let version = if version.is_empty() { ApiVersion::NONE } else { ApiVersion::parse(version).unwrap() };
        assert_eq!(
            negotiate(version, None, accept.into_iter(), true).map_err(|f| f.code),
            expected,
            "{version} {accept:?}"
        );
    }

    /// WR-16.
    #[test]
    fn each_era_speaks_its_formats() {
        let minimal = Ok(Format::Json(MetadataLevel::Minimal));
        check("", None, Ok(Format::Atom));
        check("2011-08-18", Some("application/atom+xml,application/xml"), Ok(Format::Atom));
        check("2011-08-18", Some("application/json"), Err(ErrorCode::JsonFormatNotSupported));
        check("2012-02-12", Some("application/json;odata=verbose"), Err(ErrorCode::JsonFormatNotSupported));
        check("2013-08-15", Some("application/json"), minimal);
        check("2014-02-14", None, Ok(Format::Atom));
        check("2014-02-14", Some("*/*"), Ok(Format::Atom));
        check("2015-12-11", None, minimal);
        check("2019-02-02", Some("*/*"), minimal);
        check("2019-02-02", Some("application/atom+xml"), Err(ErrorCode::AtomFormatNotSupported));
        check(
            "2019-02-02",
            Some("application/atom+xml, application/json;odata=nometadata"),
            Ok(Format::Json(MetadataLevel::None)),
        );
        check(
            "2019-02-02",
            Some("application/json;odata=fullmetadata;q=0.5"),
            Ok(Format::Json(MetadataLevel::Full)),
        );
        check(
            "2019-02-02",
            Some("application/json;odata=verbose"),
            Err(ErrorCode::JsonVerboseFormatNotSupported),
        );
        check("2019-02-02", Some("text/plain"), Err(ErrorCode::MediaTypeNotSupported));
    }

    #[test]
    fn the_parameter_beats_the_header() {
        let version = ApiVersion::V2019_02_02;
        let accept = ["application/atom+xml"].into_iter();
        let chosen = negotiate(version, Some("application/json;odata=nometadata"), accept, true);
        assert_eq!(chosen, Ok(Format::Json(MetadataLevel::None)));
    }

    #[test]
    fn several_lines_of_accept_count_as_one() {
        let accept = ["image/png", "application/json;odata=fullmetadata"].into_iter();
        let chosen = negotiate(ApiVersion::V2019_02_02, None, accept, true);
        assert_eq!(chosen, Ok(Format::Json(MetadataLevel::Full)));
    }

    #[test]
    fn a_format_is_not_checked_without_a_body() {
        let accept = ["application/atom+xml"].into_iter();
        let chosen = negotiate(ApiVersion::V2019_02_02, None, accept, false);
        assert_eq!(chosen, Ok(Format::Json(MetadataLevel::Minimal)));
    }
}
