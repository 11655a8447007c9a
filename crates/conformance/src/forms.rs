//! The bodies that errors have, as the wire shows them: what the short forms of a transcript unfold to.

/// What stands before and behind the message of an error in each form.
pub(crate) fn error_frame(form: &str, code: &str) -> (String, &'static str) {
    const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
    match form {
        "error" => (
            format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":\""),
            "\"}}}",
        ),
        "xml" => (
            format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"{METADATA}\"><code>{code}</code><message xml:lang=\"en-US\">"
            ),
            "</message></error>",
        ),
        "oldxml" => (
            format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\r\n<error xmlns=\"{METADATA}\">\r\n  <code>{code}</code>\r\n  <message xml:lang=\"en-US\">"
            ),
            "</message>\r\n</error>",
        ),
        _ => (
            format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"{METADATA}\"><m:code>{code}</m:code><m:message xml:lang=\"en-US\">"
            ),
            "</m:message></m:error>",
        ),
    }
}

/// Text as it stands in a JSON string.
pub(crate) fn json_escaped(text: &str) -> String {
    let mut out = Vec::new();
    lazuli_protocol::json::text::push_escaped(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Text as it stands in XML.
pub(crate) fn xml_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
