//! Parses responses in the client: failures in every format, and pages of tables.

use serde_json::Value;

use crate::xml;

/// The error in the response to a failed request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// The code, such as `EntityAlreadyExists`.
    pub code: String,
    /// The message, including any trailer that the service adds.
    pub message: String,
}

/// Parses the body of a failure: OData's JSON, the storage services' XML, or the XML of the Atom era. `None` if
/// it has another format, like error pages of proxies.
pub fn error_body(body: &[u8]) -> Option<ErrorBody> {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    match text.first()? {
        b'{' => json_error(&serde_json::from_slice(text).ok()?),
        b'<' => xml::send::error_body(text),
        _ => None,
    }
}

/// The message is an object with a language, or a plain string; older and newer services name the envelope
/// differently.
fn json_error(body: &Value) -> Option<ErrorBody> {
    let error = body.get("odata.error").or_else(|| body.get("error"))?;
    let code = error.get("code")?.as_str()?.to_owned();
    let message = error.get("message")?;
    let message = message.get("value").unwrap_or(message).as_str()?.to_owned();
    Some(ErrorBody { code, message })
}

/// The names in a response to a query of tables.
pub fn table_names(body: &[u8]) -> Option<Vec<String>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let tables = body.get("value")?.as_array()?;
    tables.iter().map(|table| Some(table.get("TableName")?.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiVersion;
    use crate::table::{atom, json};

    /// TX-23: the formats that the server writes, and those of other services.
    #[test]
    fn errors_of_all_formats() {
        let ours = ErrorBody { code: "EntityTooLarge".into(), message: "1:Too <large>.\nRequestId:x".into() };
        let storage = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>EntityTooLarge</Code><Message>1:Too &lt;large&gt;.\nRequestId:x</Message></Error>";
        for body in [
            json::write::error(&ours.code, &ours.message),
            atom::write::error(ApiVersion::V2009_04_14, &ours.code, &ours.message),
            atom::write::error(ApiVersion::V2013_08_15, &ours.code, &ours.message),
            atom::write::prefixed_error(&ours.code, &ours.message),
            storage.to_vec(),
            br#"{"error":{"code":"EntityTooLarge","message":"1:Too <large>.\nRequestId:x"}}"#.to_vec(),
        ] {
            assert_eq!(error_body(&body), Some(ours.clone()), "{}", String::from_utf8_lossy(&body));
        }
        for other in ["", "Bad Gateway", "<html><body>Bad Gateway</body></html>", "{}", "{", "<", "[1]"] {
            assert_eq!(error_body(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn names_of_tables() {
        let body =
            br#"{"odata.metadata":"x","value":[{"TableName":"Abc"},{"odata.id":"y","TableName":"Def"}]}"#;
        assert_eq!(table_names(body), Some(vec!["Abc".to_owned(), "Def".to_owned()]));
        assert_eq!(table_names(b"{\"value\":[]}"), Some(Vec::new()));
        assert_eq!(table_names(b"{\"value\":[{}]}"), None);
        assert_eq!(table_names(b"<feed/>"), None);
    }
}
