//! Batches of blob operations as multipart bodies, in and out.
//!
//! Each part is a request with its own signature and response. Only deletions and changes of tiers can be
//! parts, and the parts of a batch for a container stay in that container.

use lazuli_model::blob::ContainerName;
use lazuli_model::blob::limits::BATCH_OPERATIONS_MAX;
use lazuli_model::{ErrorCode, Failure, OperationKind};

use super::decode::Intent;
use crate::Head;
use crate::http::multipart::{self, HttpMessage, Malformed, Parts};
use crate::http::response::Response;

/// Maximum length of a `Content-ID` that is echoed.
const CONTENT_ID_BYTES_MAX: usize = 256;
/// The `Server` header of a part.
const PART_SERVER: &str = "Windows-Azure-Blob/1.0";

/// A part of a batch: a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPart<'a> {
    /// `Content-ID`, with which the client finds the response.
    pub id: Option<&'a str>,
    /// The request.
    pub message: HttpMessage<'a>,
}

/// Parses a batch. A body that is not a batch, an empty batch, and one with too many parts are rejected as a whole.
pub fn decode<'a>(head: &Head<'a>, body: &'a [u8]) -> Result<Vec<BatchPart<'a>>, Failure> {
    let boundary = head.get("content-type").and_then(multipart::boundary);
    let boundary = boundary.ok_or_else(|| super::header::invalid("Content-Type", ""))?;
    let mut found = Vec::new();
    for part in Parts::new(body, boundary).map_err(malformed)? {
        if found.len() == BATCH_OPERATIONS_MAX {
            return Err(ErrorCode::ExceedsMaxBatchRequestCount.into());
        }
        let part = part.map_err(malformed)?;
        let message = HttpMessage::parse(part.content).map_err(malformed)?;
        found.push(BatchPart { id: part.get("content-id").filter(|id| is_plain(id)), message });
    }
    if found.is_empty() { Err(malformed(Malformed)) } else { Ok(found) }
}

fn malformed(_: Malformed) -> Failure {
    ErrorCode::InvalidInput.into()
}

/// Is the value allowed in a header line of the response?
fn is_plain(id: &str) -> bool {
    id.len() <= CONTENT_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// May the request be a part of a batch for this container, or of one for all containers?
pub fn check(intent: &Intent, container: Option<&ContainerName>) -> Result<(), Failure> {
    let is_allowed = matches!(intent.kind(), OperationKind::DeleteBlob | OperationKind::SetBlobTier);
    let is_elsewhere = container.is_some() && intent.container() != container;
    if is_allowed && !is_elsewhere { Ok(()) } else { Err(ErrorCode::InvalidInput.into()) }
}

/// Appends the response to a part. `reason` is the reason phrase of its status. Parts have no `Date`, and a
/// shorter `Server` than whole responses. A part without a body ends with its headers: some clients would treat
/// one more line as a body.
pub fn write_part(out: &mut Vec<u8>, boundary: &str, id: Option<&str>, reason: &str, response: &Response) {
    let mut line = |text: &str| {
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    line(&format!("--{boundary}"));
    line("Content-Type: application/http");
    if let Some(id) = id {
        line(&format!("Content-ID: {id}"));
    }
    line("");
    line(&format!("HTTP/1.1 {} {}", response.status, reason.replace(['\r', '\n'], " ")));
    for (name, value) in response.fields.iter().filter(|(name, _)| name != "Date") {
        let value = if name == "Server" { PART_SERVER } else { value };
        line(&format!("{name}: {}", value.replace(['\r', '\n'], " ")));
    }
    if !response.body.is_empty() {
        line(&format!("Content-Length: {}", response.body.len()));
    }
    line("");
    if !response.body.is_empty() {
        out.extend_from_slice(&response.body);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends the end of a response.
pub fn write_end(out: &mut Vec<u8>, boundary: &str) {
    out.extend_from_slice(b"--");
    out.extend_from_slice(boundary.as_bytes());
    out.extend_from_slice(b"--\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    fn read(content_type: &str, body: &str) -> Result<Vec<(Option<String>, String)>, ErrorCode> {
        let fields = [Field { name: "Content-Type", value: content_type }];
        let head = Head { method: "POST", target: "/", fields: &fields };
        let parts = decode(&head, body.as_bytes()).map_err(|failure| failure.code)?;
        let of = |part: &BatchPart<'_>| (part.id.map(str::to_owned), part.message.first_line.to_owned());
        Ok(parts.iter().map(of).collect())
    }

    fn part(boundary: &str, id: &str, request: &str) -> String {
        format!(
            "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: {id}\r\n\r\n{request} HTTP/1.1\r\nx-ms-date: Mon, 06 May 2024 07:08:09 GMT\r\nContent-Length: 0\r\n\r\n"
        )
    }

    /// The boundary may contain `=`, as in requests of Python.
    #[test]
    fn parts() {
        let boundary = "===============211233==";
        let body = format!(
            "{}{}--{boundary}--",
            part(boundary, "0", "DELETE /dev/abc/a"),
            part(boundary, "1", "PUT /dev/abc/b?comp=tier")
        );
        let found = read(&format!("multipart/mixed; boundary={boundary}"), &body).unwrap();
        assert_eq!(found[0], (Some("0".into()), "DELETE /dev/abc/a HTTP/1.1".into()));
        assert_eq!(found[1], (Some("1".into()), "PUT /dev/abc/b?comp=tier HTTP/1.1".into()));
    }

    #[test]
    fn no_batches() {
        assert_eq!(read("application/xml", "x"), Err(ErrorCode::InvalidHeaderValue));
        for body in ["", "x", "--b--", "--b\r\n--b--"] {
            assert_eq!(read("multipart/mixed; boundary=b", body), Err(ErrorCode::InvalidInput), "{body}");
        }
        let many = |count| format!("{}--b--", part("b", "1", "DELETE /dev/abc/a").repeat(count));
        let kind = "multipart/mixed; boundary=b";
        assert_eq!(
            read(kind, &many(BATCH_OPERATIONS_MAX)).map(|parts| parts.len()),
            Ok(BATCH_OPERATIONS_MAX)
        );
        assert_eq!(read(kind, &many(BATCH_OPERATIONS_MAX + 1)), Err(ErrorCode::ExceedsMaxBatchRequestCount));
    }

    /// The Java client treats a line after the headers of a part as its body, and a body as an error.
    #[test]
    fn parts_without_a_body_end_with_their_headers() {
        let mut out = Vec::new();
        let response =
            Response::new(404).with("x-ms-error-code", "BlobNotFound").with_body(b"<Error />".to_vec());
        write_part(&mut out, "b", Some("1"), "The specified blob does not exist.", &response);
        let accepted = Response::new(202)
            .with("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
            .with("Date", "Mon, 06 May 2024 07:08:09 GMT");
        write_part(&mut out, "b", None, "Accepted", &accepted);
        write_end(&mut out, "b");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "--b\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\nHTTP/1.1 404 The specified blob does not exist.\r\nx-ms-error-code: BlobNotFound\r\nContent-Length: 9\r\n\r\n<Error />\r\n--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 202 Accepted\r\nServer: Windows-Azure-Blob/1.0\r\n\r\n--b--\r\n"
        );
    }
}
