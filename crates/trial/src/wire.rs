//! One caller of the server: signs, sends, reads the answer, and knows when it does not know.

use std::fmt::Write as _;
use std::io;

use lazuli_bench::client::{Answer, Connection};
use lazuli_protocol::auth::{AccountKey, Scheme, SignedParts, sign, signature_text};
use lazuli_protocol::percent;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use serde_json::Value;

/// A request without what every request has.
#[derive(Clone, Debug)]
pub struct Call {
    /// GET, POST, PUT, MERGE, DELETE.
    pub method: &'static str,
    /// The path and query behind the account.
    pub target: String,
    /// Further header fields.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// An answer, taken apart.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The error code, if it is an error.
    pub code: Option<String>,
    /// The text of the error.
    pub message: String,
    /// The ETag.
    pub etag: Option<String>,
    /// Where to go on, as the query parameters that say so.
    pub next: Option<String>,
    /// The body, if it is JSON.
    pub json: Value,
    /// The body as it came.
    pub body: String,
}

/// The connection broke: what was asked may have been done or not.
#[derive(Debug)]
pub struct Lost(pub io::Error);

impl Call {
    /// A call without a body.
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), fields: Vec::new(), body: String::new() }
    }

    /// The same with a header field.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The same with a JSON body.
    pub fn json(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self.with("Content-Type", "application/json")
    }
}

/// A caller with a connection of its own, which it opens anew when it broke.
pub struct Caller {
    authority: String,
    key: AccountKey,
    connection: Option<Connection>,
}

impl Caller {
    /// A caller of the server that listens there.
    pub fn new(authority: &str) -> Self {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).expect("the key is well known");
        Self { authority: authority.to_owned(), key, connection: None }
    }

    /// The server was started again, perhaps at another address.
    pub fn moved(&mut self, authority: &str) {
        self.authority = authority.to_owned();
        self.connection = None;
    }

    /// Asks, and waits for the answer.
    pub async fn call(&mut self, call: &Call) -> Result<Reply, Lost> {
        let bytes = self.bytes(call);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.authority).await.map_err(Lost)?,
        };
        let answer = connection.exchange(&bytes).await.map_err(Lost)?;
        self.connection = Some(connection);
        Ok(reply(answer))
    }

    /// Asks something that may be asked twice, on a fresh connection if the one at hand turns out to be dead.
    pub async fn ask(&mut self, call: &Call) -> Result<Reply, Lost> {
        match self.call(call).await {
            Ok(reply) => Ok(reply),
            Err(Lost(_)) => self.call(call).await,
        }
    }

    fn bytes(&self, call: &Call) -> Vec<u8> {
        let date = lazuli_server::clock::now().http();
        let full = format!("/{DEVELOPMENT_ACCOUNT}{}", call.target);
        let parts = SignedParts {
            method: call.method,
            content_md5: "",
            content_type: "",
            date: date.as_str(),
            account: DEVELOPMENT_ACCOUNT,
            path: full.split('?').next().unwrap_or(&full),
            comp: None,
        };
        let signature = signature_text(&sign(&self.key, Scheme::SharedKeyLite, &parts));
        let mut head = format!(
            "{} {full} HTTP/1.1\r\nHost: {}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\nDataServiceVersion: 3.0\r\nAccept: application/json;odata=minimalmetadata\r\nAuthorization: SharedKeyLite {DEVELOPMENT_ACCOUNT}:{signature}\r\n",
            call.method, self.authority
        );
        for (name, value) in &call.fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "Content-Length: {}\r\n\r\n{}", call.body.len(), call.body);
        head.into_bytes()
    }
}

fn reply(answer: Answer) -> Reply {
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    let json: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let error = |name: &str| json["odata.error"][name].clone();
    let next = ["NextPartitionKey", "NextRowKey", "NextTableName"].map(|name| {
        let value = answer.field(&format!("x-ms-continuation-{name}"))?;
        Some(format!("{name}={}", escaped(value)))
    });
    let next: Vec<String> = next.into_iter().flatten().collect();
    Reply {
        status: answer.status,
        code: error("code").as_str().map(str::to_owned),
        message: error("message")["value"].as_str().unwrap_or_default().to_owned(),
        etag: answer.field("ETag").map(str::to_owned),
        next: (!next.is_empty()).then(|| next.join("&")),
        json,
        body,
    }
}

/// The moment in an ETag or a Timestamp as a number that grows with it.
pub fn version(text: &str) -> Option<u128> {
    let time = text.split('\'').nth(1).unwrap_or(text).replace("%3A", ":");
    let time = time.strip_suffix('Z')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    format!("{digits}{fraction:0<7}").parse().ok()
}

/// Text as a part of a URL.
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

/// A change set around these calls.
pub fn batch(authority: &str, calls: &[Call]) -> Call {
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
    let mut outer = Call::new("POST", "/$batch").with("Content-Type", "multipart/mixed; boundary=batch_b");
    outer.body = body;
    outer
}

/// What the parts of a change set's answer say: one reply per operation, or one for the failure.
pub fn batch_replies(reply: &Reply) -> Vec<Reply> {
    let parts = reply.body.split("HTTP/1.1 ").skip(1);
    parts
        .map(|part| {
            let (head, rest) = part.split_once("\r\n\r\n").unwrap_or((part, ""));
            let body = rest.split("\r\n--").next().unwrap_or_default();
            let status = head.get(..3).and_then(|text| text.parse().ok()).unwrap_or(0);
            let head = format!("HTTP/1.1 {head}\r\n");
            self::reply(Answer { status, head, body: body.as_bytes().to_vec() })
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
