//! The formats of error bodies on the wire: the expansions of the short forms in transcripts.

const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";

/// The part of the body before the error message, in each format.
pub(crate) fn error_start(form: &str, code: &str) -> String {
    match form {
        "error" => {
            format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":\"")
        }
        "xml" => format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"{METADATA}\"><code>{code}</code><message xml:lang=\"en-US\">"
        ),
        "oldxml" => format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\r\n<error xmlns=\"{METADATA}\">\r\n  <code>{code}</code>\r\n  <message xml:lang=\"en-US\">"
        ),
        "storage" => {
            format!("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>")
        }
        _ => format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"{METADATA}\"><m:code>{code}</m:code><m:message xml:lang=\"en-US\">"
        ),
    }
}

/// The part that ends the error message, in each format.
pub(crate) fn message_end(form: &str) -> &'static str {
    match form {
        "error" => "\"}}}",
        "xml" => "</message>",
        "oldxml" => "</message>\r\n",
        "storage" => "</Message>",
        _ => "</m:message>",
    }
}

/// The part that ends the body, in each format.
pub(crate) fn error_end(form: &str) -> &'static str {
    match form {
        "error" => "",
        "xml" | "oldxml" => "</error>",
        "storage" => "</Error>",
        _ => "</m:error>",
    }
}

/// Escapes a string for JSON.
pub(crate) fn json_escaped(text: &str) -> String {
    let mut out = Vec::new();
    lazuli_protocol::table::json::text::push_escaped(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Escapes a string for XML.
pub(crate) fn xml_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
