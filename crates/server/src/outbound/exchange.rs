//! One request and its response, on a separate connection.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

use super::connect::Stream;
use super::url::OutboundUrl;
use crate::http::{CHUNK_BYTES, Deadline};

const HEAD_BYTES_MAX: usize = 64 * 1024;
const FIELDS_MAX: usize = 100;
const READ_BYTES: usize = 16 * 1024;

/// A request.
#[derive(Default)]
pub struct OutboundRequest {
    /// The HTTP verb; GET if it is empty.
    pub method: &'static str,
    /// Additional header fields. Values must not contain line breaks.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

/// A response whose head was read.
pub struct OutboundResponse {
    /// The status.
    pub status: u16,
    fields: Vec<(String, String)>,
    /// The announced length of the body; `None` if it is sent in chunks or ends with the connection.
    pub length: Option<u64>,
    stream: Stream,
    input: BytesMut,
    left: u64,
    deadline: Deadline,
    permit: Option<OwnedSemaphorePermit>,
}

/// Sends a request and reads the head of the response.
pub async fn exchange(
    mut stream: Stream,
    url: &OutboundUrl,
    request: &OutboundRequest,
    window: Duration,
) -> io::Result<OutboundResponse> {
    stream.write_all(head_of(url, request).as_bytes()).await?;
    stream.write_all(&request.body).await?;
    stream.flush().await?;
    let mut input = BytesMut::new();
    loop {
        if let Some((bytes, status, fields)) = parse(&input)? {
            let _ = input.split_to(bytes);
            if (100..200).contains(&status) {
                continue;
            }
            let length = length_of(status, &fields)?;
            let left = length.unwrap_or_default();
            let deadline = Deadline::new(window);
            return Ok(OutboundResponse {
                status,
                fields,
                length,
                stream,
                input,
                left,
                deadline,
                permit: None,
            });
        }
        if input.len() > HEAD_BYTES_MAX {
            return Err(invalid("the head of the response is too large"));
        }
        input.reserve(READ_BYTES);
        if stream.read_buf(&mut input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn head_of(url: &OutboundUrl, request: &OutboundRequest) -> String {
    let method = if request.method.is_empty() { "GET" } else { request.method };
    let mut head = format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: lazuli\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\
         Connection: close\r\n",
        url.target,
        url.host_field()
    );
    if method != "GET" {
        head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
    }
    for (name, value) in &request.fields {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

type Head = (usize, u16, Vec<(String, String)>);

fn parse(input: &[u8]) -> io::Result<Option<Head>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let bytes = match response.parse(input).map_err(|_| invalid("the response is not HTTP"))? {
        httparse::Status::Complete(bytes) => bytes,
        httparse::Status::Partial => return Ok(None),
    };
    // Values that are not text are left out.
    let text = |field: &httparse::Header<'_>| {
        let value = std::str::from_utf8(field.value).ok()?.trim();
        Some((field.name.to_owned(), value.to_owned()))
    };
    let fields = response.headers.iter().filter_map(text).collect();
    Ok(Some((bytes, response.code.unwrap_or_default(), fields)))
}

fn length_of(status: u16, fields: &[(String, String)]) -> io::Result<Option<u64>> {
    if matches!(status, 204 | 304) {
        return Ok(Some(0));
    }
    let all = |name: &'static str| fields.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name));
    if all("transfer-encoding").next().is_some() {
        return Ok(None);
    }
    let mut lengths = all("content-length").map(|(_, value)| {
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse::<u64>().ok().filter(|_| is_number).ok_or_else(|| invalid("the response is not HTTP"))
    });
    let first = lengths.next().transpose()?;
    match lengths.next() {
        Some(_) => Err(invalid("the response has several lengths")),
        None => Ok(first),
    }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl OutboundResponse {
    /// Keeps the permit of the request until the response is dropped.
    pub(super) fn holding(mut self, permit: OwnedSemaphorePermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// The value of a field, with its name in any letter case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The fields in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The next piece of a body of known length; `None` at its end.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        // The time since the last piece was used by this server.
        self.deadline.restart();
        let max = CHUNK_BYTES.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        while self.input.len() < max {
            let before = self.input.len();
            self.input.reserve(READ_BYTES.max(before).min(CHUNK_BYTES));
            let read = timeout_at(self.deadline.end(), self.stream.read_buf(&mut self.input)).await;
            if read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.deadline.advance(self.input.len() - before);
        }
        let piece = self.input.split_to(max).freeze();
        self.left -= piece.len() as u64;
        Ok(Some(piece))
    }

    /// The whole body, if it is small and has a known length.
    pub async fn whole(&mut self, bytes_max: usize) -> io::Result<Vec<u8>> {
        if self.length.is_none_or(|length| length > bytes_max as u64) {
            return Err(invalid("the response is too large, or does not announce its length"));
        }
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send(reply: &'static str) -> io::Result<OutboundResponse> {
        let (mine, mut other) = tokio::io::duplex(1 << 20);
        other.write_all(reply.as_bytes()).await.unwrap();
        let url = "http://h/c/b?sig=x".parse().unwrap();
        let request =
            OutboundRequest { fields: vec![("Range", "bytes=0-1".into())], ..OutboundRequest::default() };
        let response = exchange(Box::new(mine), &url, &request, Duration::from_secs(30)).await;
        let mut sent = String::new();
        let mut buffer = [0; 4096];
        let read = other.read(&mut buffer).await.unwrap();
        sent.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        assert!(sent.starts_with("GET /c/b?sig=x HTTP/1.1\r\nHost: h\r\n"), "{sent}");
        assert!(sent.ends_with("Range: bytes=0-1\r\n\r\n"), "{sent}");
        response
    }

    #[tokio::test]
    async fn bodies_end_with_their_length() {
        let reply =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: b\r\n\r\nabcdef";
        let mut response = send(reply).await.unwrap();
        assert_eq!((response.status, response.length, response.field("x-a")), (200, Some(3), Some("b")));
        assert_eq!(response.next().await.unwrap().unwrap(), "abc");
        assert!(response.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn bodies_that_break_off_are_errors() {
        let mut response = send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").await.unwrap();
        assert_eq!(response.next().await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_without_progress_run_out_of_time() {
        let (mine, mut other) = tokio::io::duplex(1 << 20);
        other.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").await.unwrap();
        let url = "http://h/".parse().unwrap();
        let window = Duration::from_secs(30);
        let mut response = exchange(Box::new(mine), &url, &OutboundRequest::default(), window).await.unwrap();
        assert_eq!(response.next().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(other);
    }

    #[tokio::test]
    async fn responses_that_are_not_understood() {
        for bad in [
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        ] {
            assert!(send(bad).await.is_err(), "{bad}");
        }
        let chunked = send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").await.unwrap();
        assert_eq!(chunked.length, None);
    }
}
