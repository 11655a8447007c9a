//! Parses the request headers of the Blob service. An error names the header whose value is invalid.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_digest::structured::STRUCTURED;
use lazuli_model::blob::properties::{ContentMd5, Md5};
use lazuli_model::blob::write::Crc64;
use lazuli_model::{DateTime, ErrorCode, Failure, Guid};

use crate::Head;
pub use crate::http::metadata::metadata;

/// `InvalidHeaderValue` that names the header.
pub fn invalid(name: &'static str, value: &str) -> Failure {
    Failure::from(ErrorCode::InvalidHeaderValue)
        .detail("HeaderName", name)
        .detail("HeaderValue", value.to_owned())
}

/// `MissingRequiredHeader` that names the header.
pub fn missing(name: &'static str) -> Failure {
    Failure::from(ErrorCode::MissingRequiredHeader).detail("HeaderName", name)
}

/// The text of a header; an empty one counts as absent.
pub fn text(head: &Head<'_>, name: &'static str) -> Option<String> {
    head.get_filled(name).map(str::to_owned)
}

/// A header value, parsed by `read`.
pub fn value<T>(
    head: &Head<'_>,
    name: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    match head.get_filled(name) {
        None => Ok(None),
        Some(text) => read(text).map(Some).ok_or_else(|| invalid(name, text)),
    }
}

/// A decimal number.
pub fn number(head: &Head<'_>, name: &'static str) -> Result<Option<u64>, Failure> {
    value(head, name, |text| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    })
}

/// `true` or `false` in any letter case.
pub fn flag(head: &Head<'_>, name: &'static str) -> Result<Option<bool>, Failure> {
    value(head, name, |text| match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    })
}

/// A GUID in one of the formats of .NET.
pub fn guid(head: &Head<'_>, name: &'static str) -> Result<Option<Guid>, Failure> {
    value(head, name, parse_guid)
}

/// Reads a GUID with dashes or without, bare, in braces or in parentheses.
pub fn parse_guid(text: &str) -> Option<Guid> {
    let bare = match text.as_bytes() {
        [b'{', .., b'}'] | [b'(', .., b')'] => &text[1..text.len() - 1],
        _ => text,
    };
    if bare.len() == 32 && bare.is_ascii() {
        let [a, b, c, d, e] = [&bare[..8], &bare[8..12], &bare[12..16], &bare[16..20], &bare[20..]];
        return [a, b, c, d, e].join("-").parse().ok();
    }
    bare.parse().ok()
}

/// An HTTP date.
pub fn date(head: &Head<'_>, name: &'static str) -> Result<Option<DateTime>, Failure> {
    value(head, name, DateTime::parse_http)
}

/// An MD5 hash in Base64. Anything else is `InvalidMd5`.
pub fn md5(head: &Head<'_>, name: &'static str) -> Result<Option<Md5>, Failure> {
    let Some(text) = head.get_filled(name) else { return Ok(None) };
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(Some).ok_or_else(|| ErrorCode::InvalidMd5.into())
}

/// Bytes in Base64 that are stored as an MD5, regardless of their length.
pub fn any_md5(head: &Head<'_>, name: &'static str) -> Result<Option<ContentMd5>, Failure> {
    let Some(text) = head.get_filled(name) else { return Ok(None) };
    let bytes = STANDARD.decode(text).map_err(|_| ErrorCode::InvalidMd5)?;
    Ok(Some(ContentMd5::from(&*bytes)))
}

/// A CRC-64 in Base64. A value of another length matches no content.
pub fn crc64(head: &Head<'_>, name: &'static str) -> Result<Option<Crc64>, Failure> {
    let Some(bytes) = value(head, name, |text| STANDARD.decode(text).ok())? else { return Ok(None) };
    bytes.try_into().map(Some).map_err(|_| ErrorCode::Crc64Mismatch.into())
}

/// Is the body, or the requested content, a structured message?
pub fn is_structured(head: &Head<'_>) -> Result<bool, Failure> {
    match head.get_filled("x-ms-structured-body") {
        None => Ok(false),
        Some(STRUCTURED) => Ok(true),
        Some(other) => Err(invalid("x-ms-structured-body", other)),
    }
}

/// The length that the request declares. A body without declared length is an error.
pub fn content_length(head: &Head<'_>) -> Result<u64, Failure> {
    if is_structured(head)? {
        let name = "x-ms-structured-content-length";
        return number(head, name)?.ok_or_else(|| missing(name));
    }
    number(head, "Content-Length")?.ok_or_else(|| ErrorCode::MissingContentLengthHeader.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    fn with<T>(name: &str, text: &str, read: impl FnOnce(&Head<'_>) -> T) -> T {
        let fields = [Field { name, value: text }];
        read(&Head { method: "PUT", target: "/", fields: &fields })
    }

    #[test]
    fn guids_in_every_form() {
        let id = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().ok();
        for text in [
            "c9da6455-213d-42c9-9a79-3e9149a57833",
            "C9DA6455-213D-42C9-9A79-3E9149A57833",
            "{c9da6455-213d-42c9-9a79-3e9149a57833}",
            "(c9da6455-213d-42c9-9a79-3e9149a57833)",
            "c9da6455213d42c99a793e9149a57833",
        ] {
            assert_eq!(parse_guid(text), id, "{text}");
        }
        for text in ["", "{}", "(", "a", "c9da6455-213d-42c9-9a79-3e9149a5783", "éééééééééééééééé"]
        {
            assert_eq!(parse_guid(text), None, "{text}");
        }
    }

    /// The failure names the header and repeats its value.
    #[test]
    fn values() {
        assert_eq!(with("x-ms-lease-id", "", |head| guid(head, "x-ms-lease-id")), Ok(None));
        let failure = with("X-MS-Lease-Id", "nonsense", |head| guid(head, "x-ms-lease-id")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidHeaderValue);
        assert_eq!(
            failure.details,
            [("HeaderName", "x-ms-lease-id".into()), ("HeaderValue", "nonsense".into())]
        );
        for text in ["-1", "+1", "1.5", "x", "99999999999999999999"] {
            assert!(with("n", text, |head| number(head, "n")).is_err(), "{text}");
        }
        assert_eq!(with("n", "18446744073709551615", |head| number(head, "n")), Ok(Some(u64::MAX)));
        assert_eq!(with("f", "True", |head| flag(head, "f")), Ok(Some(true)));
        assert!(with("f", "yes", |head| flag(head, "f")).is_err());
        assert_eq!(with("m", "AAAA", |head| md5(head, "m")).unwrap_err().code, ErrorCode::InvalidMd5);
        assert_eq!(with("c", "YeJLfssylmU=", |head| crc64(head, "c")).map(|crc| crc.is_some()), Ok(true));
        let code = |text| with("c", text, |head| crc64(head, "c")).unwrap_err().code;
        assert_eq!(code("YeJLfssylg=="), ErrorCode::Crc64Mismatch);
        assert_eq!(code("YeJLfssylmU"), ErrorCode::InvalidHeaderValue);
        assert_eq!(with("n", "1", content_length).unwrap_err().code, ErrorCode::MissingContentLengthHeader);
    }
}
