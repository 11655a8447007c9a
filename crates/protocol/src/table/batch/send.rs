//! Batches in the client: writing them, and parsing their responses.

use crate::http::head::Field;
use crate::http::multipart::{HttpMessage, Malformed, Part, Parts, boundary};

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingOperation {
    /// The verb.
    pub method: &'static str,
    /// The absolute URL.
    pub url: String,
    /// Header fields of the operation.
    pub fields: Vec<(&'static str, String)>,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
}

/// A body, with its `Content-Type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartBody {
    /// `Content-Type` of the request.
    pub content_type: String,
    /// The body.
    pub bytes: Vec<u8>,
}

/// Writes a change set. The id becomes part of the boundaries, which must not occur in any value; use a random id.
///
/// The boundaries have the same names as in all SDKs, since Azurite looks for these names.
pub fn change_set(operations: &[OutgoingOperation], id: &str) -> PartBody {
    let (outer, inner) = (format!("batch_{id}"), format!("changeset_{id}"));
    let estimate: usize = operations.iter().map(|operation| operation.body.len() + 512).sum();
    let mut out = Vec::with_capacity(estimate + 256);
    text(&mut out, &format!("--{outer}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n"));
    for operation in operations {
        text(&mut out, &format!("--{inner}\r\n"));
        part(&mut out, operation);
    }
    text(&mut out, &format!("--{inner}--\r\n--{outer}--\r\n"));
    PartBody { content_type: format!("multipart/mixed; boundary={outer}"), bytes: out }
}

/// Writes a batch of one query, outside a change set (TX-08, TX-21).
pub fn query(operation: &OutgoingOperation, id: &str) -> PartBody {
    let outer = format!("batch_{id}");
    let mut out = Vec::with_capacity(operation.url.len() + 512);
    text(&mut out, &format!("--{outer}\r\n"));
    part(&mut out, operation);
    text(&mut out, &format!("--{outer}--\r\n"));
    PartBody { content_type: format!("multipart/mixed; boundary={outer}"), bytes: out }
}

fn part(out: &mut Vec<u8>, operation: &OutgoingOperation) {
    text(out, "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
    text(out, &format!("{} {} HTTP/1.1\r\n", operation.method, operation.url));
    for (name, value) in &operation.fields {
        text(out, &format!("{name}: {value}\r\n"));
    }
    text(out, "\r\n");
    out.extend_from_slice(&operation.body);
    text(out, "\r\n");
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// The response to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    fields: Vec<Field<'a>>,
    /// The body, possibly with empty lines around it.
    pub body: &'a [u8],
}

impl<'a> PartResponse<'a> {
    fn parse(content: &'a [u8]) -> Result<Self, Malformed> {
        let message = HttpMessage::parse(content)?;
        Ok(Self { status: message.status()?, fields: message.fields, body: message.body })
    }

    /// The value of a header field.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }
}

/// The responses in the body of a batch response, in order: one for each operation, or one for the operation that
/// failed.
pub fn part_responses<'a>(content_type: &'a str, body: &'a [u8]) -> Result<Vec<PartResponse<'a>>, Malformed> {
    let mut found = Vec::new();
    for outer in Parts::new(body, boundary(content_type).ok_or(Malformed)?)? {
        let Part { fields, content } = outer?;
        let kind = fields.iter().find(|field| field.name.eq_ignore_ascii_case("content-type"));
        match kind.and_then(|field| boundary(field.value)) {
            Some(inner) => {
                for part in Parts::new(content, inner)? {
                    found.push(PartResponse::parse(part?.content)?);
                }
            }
            None => found.push(PartResponse::parse(content)?),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: &'static str, body: &str) -> OutgoingOperation {
        OutgoingOperation {
            method,
            url: "http://h/a/T(PartitionKey='p',RowKey='r')".into(),
            fields: vec![("If-Match", "*".into())],
            body: body.into(),
        }
    }

    /// TX-18: a sent batch has both levels, and can be parsed.
    #[test]
    fn change_sets_read_back() {
        let body = change_set(&[operation("PUT", "{\"a\":1}"), operation("DELETE", "")], "x");
        let outer = Parts::new(&body.bytes, boundary(&body.content_type).unwrap()).unwrap();
        let set = outer.map(Result::unwrap).next().unwrap();
        let inner = Parts::new(set.content, boundary(set.get("content-type").unwrap()).unwrap()).unwrap();
        let read: Vec<_> = inner
            .map(|part| {
                let message = HttpMessage::parse(part.unwrap().content).unwrap();
                let (method, target) = message.request_line().unwrap();
                assert_eq!(message.get("if-match"), Some("*"));
                (method.to_owned(), target.to_owned(), message.body.trim_ascii().to_vec())
            })
            .collect();
        let url = "http://h/a/T(PartitionKey='p',RowKey='r')".to_owned();
        assert_eq!(
            read,
            [("PUT".to_owned(), url.clone(), b"{\"a\":1}".to_vec()), ("DELETE".to_owned(), url, vec![])]
        );
    }

    #[test]
    fn responses_of_both_levels() {
        let set = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/\"x\"\r\n\r\n\r\n--changesetresponse_2\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n{}\r\n--changesetresponse_2--\r\n--batchresponse_1--\r\n";
        let found = part_responses("multipart/mixed; boundary=batchresponse_1", set.as_bytes()).unwrap();
        assert_eq!(found.iter().map(|response| response.status).collect::<Vec<_>>(), [204, 404]);
        assert_eq!(found[0].get("etag"), Some("W/\"x\""));
        assert_eq!(found[1].body.trim_ascii(), b"{}");
        let query =
            "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{\"a\":1}\r\n--b--\r\n";
        let found = part_responses("multipart/mixed; boundary=b", query.as_bytes()).unwrap();
        assert_eq!((found.len(), found[0].status), (1, 200));
        for bad in ["--b\r\n\r\nnonsense\r\n--b--", "--b\r\n\r\nHTTP/1.1 x\r\n\r\n--b--", "x"] {
            assert_eq!(
                part_responses("multipart/mixed; boundary=b", bad.as_bytes()),
                Err(Malformed),
                "{bad}"
            );
        }
        assert_eq!(part_responses("application/json", b"{}"), Err(Malformed));
    }
}
