//! The trials' requests to the Table service, and its responses.

use std::fmt::Write as _;

use lazuli_model::Service;
use lazuli_probe::Response;
use lazuli_protocol::auth::DEVELOPMENT_ACCOUNT;
use lazuli_protocol::http::percent;
use serde_json::Value;

pub use crate::caller::Lost;

/// A request without the headers that every request has.
#[derive(Clone, Debug)]
pub struct WireRequest {
    /// GET, POST, PUT, MERGE, DELETE.
    pub method: &'static str,
    /// The path and query after the account.
    pub target: String,
    /// Further headers.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// A response, decoded.
#[derive(Clone, Debug)]
pub struct TableReply {
    /// The status.
    pub status: u16,
    /// The error code, if it is an error.
    pub code: Option<String>,
    /// The message of the error.
    pub message: String,
    /// The ETag.
    pub etag: Option<String>,
    /// The continuation, as query parameters.
    pub next: Option<String>,
    /// The body, if it is JSON.
    pub json: Value,
    /// The body as it arrived.
    pub body: String,
}

impl WireRequest {
    /// A call without a body.
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), fields: Vec::new(), body: String::new() }
    }

    /// Adds a header field.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Adds a JSON body.
    pub fn json(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self.with("Content-Type", "application/json")
    }
}

/// A caller of the Table service.
pub struct TableCaller(crate::caller::TrialCaller);

impl TableCaller {
    /// A caller of the server that listens at `host:port`.
    pub fn new(authority: &str) -> Self {
        Self(crate::caller::TrialCaller::new(Service::Table, authority))
    }

    /// Sets the new address after a restart of the server.
    pub fn moved(&mut self, authority: &str) {
        self.0.moved(authority);
    }

    /// Sends a call and waits for the reply.
    pub async fn call(&mut self, call: &WireRequest) -> Result<TableReply, Lost> {
        self.0.send(self.request(call)).await.map(reply)
    }

    /// Sends a call that may be repeated: if the connection is closed, sends it again on a new one.
    pub async fn ask(&mut self, call: &WireRequest) -> Result<TableReply, Lost> {
        self.0.send_twice(self.request(call)).await.map(reply)
    }

    fn request(&self, call: &WireRequest) -> lazuli_probe::Request {
        let mut request = self
            .0
            .request(call.method, &call.target)
            .with("DataServiceVersion", "3.0")
            .with("Accept", "application/json;odata=minimalmetadata")
            .body(call.body.clone());
        for (name, value) in &call.fields {
            request = request.with(*name, value.clone());
        }
        request
    }
}

fn reply(response: Response) -> TableReply {
    let body = response.text();
    let json: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let error = |name: &str| json["odata.error"][name].clone();
    let next = ["NextPartitionKey", "NextRowKey", "NextTableName"].map(|name| {
        let value = response.header(&format!("x-ms-continuation-{name}"))?;
        Some(format!("{name}={}", escaped(value)))
    });
    let next: Vec<String> = next.into_iter().flatten().collect();
    TableReply {
        status: response.status,
        code: error("code").as_str().map(str::to_owned),
        message: error("message")["value"].as_str().unwrap_or_default().to_owned(),
        etag: response.header("ETag").map(str::to_owned),
        next: (!next.is_empty()).then(|| next.join("&")),
        json,
        body,
    }
}

/// The time in an ETag or a Timestamp, as a number with the same order.
pub fn version(text: &str) -> Option<u128> {
    let time = text.split('\'').nth(1).unwrap_or(text).replace("%3A", ":");
    let time = time.strip_suffix('Z')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    format!("{digits}{fraction:0<7}").parse().ok()
}

/// Escapes a string for a URL.
pub fn escaped(text: &str) -> String {
    let mut bytes = Vec::new();
    percent::encode_into(&mut bytes, text);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The path of an entity: quotes doubled, the rest escaped.
pub fn entity_path(table: &str, partition: &str, row: &str) -> String {
    let quoted = |key: &str| escaped(&key.replace('\'', "''"));
    format!("/{table}(PartitionKey='{}',RowKey='{}')", quoted(partition), quoted(row))
}

/// A transaction with these calls.
pub fn batch(authority: &str, calls: &[WireRequest]) -> WireRequest {
    let mut body = String::from("--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n");
    for call in calls {
        let _ = write!(
            body,
            "--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{} http://{authority}/{DEVELOPMENT_ACCOUNT}{} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n",
            call.method, call.target
        );
        for (name, value) in &call.fields {
            let _ = write!(body, "{name}: {value}\r\n");
        }
        let _ = write!(body, "\r\n{}\r\n", call.body);
    }
    body += "--changeset_c--\r\n--batch_b--\r\n";
    let mut outer =
        WireRequest::new("POST", "/$batch").with("Content-Type", "multipart/mixed; boundary=batch_b");
    outer.body = body;
    outer
}

/// The parts of the response to a transaction: one reply per operation, or one for the failure.
pub fn batch_replies(reply: &TableReply) -> Vec<TableReply> {
    let parts = reply.body.split("HTTP/1.1 ").skip(1);
    parts
        .map(|part| {
            let (head, rest) = part.split_once("\r\n\r\n").unwrap_or((part, ""));
            let body = rest.split("\r\n--").next().unwrap_or_default();
            let status = head.get(..3).and_then(|text| text.parse().ok()).unwrap_or(0);
            let head = format!("HTTP/1.1 {head}\r\n");
            self::reply(Response { status, head, body: body.as_bytes().to_vec(), continued: None })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_of_etags_and_timestamps() {
        let (etag, timestamp) =
            ("W/\"datetime'2026-11-16T07%3A31%3A46.015305Z'\"", "2026-11-16T07:31:46.015305Z");
        assert_eq!((version(etag), version(timestamp)), (Some(202_611_160_731_460_153_050), version(etag)));
        assert!(version("2026-11-16T07:31:46Z") < version(timestamp));
        assert_eq!(version("W/\"other\""), None);
    }
}
