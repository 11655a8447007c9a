//! Requests as bytes, and answers from bytes: HTTP/1.1 without a connection.
//!
//! Names of headers keep the case in which they were sent, and whatever a transcript wants sent is sent, sense or none.

use std::io::{self, BufRead, Read};

use crate::http::{Request, Response, header};

/// The largest head of an answer.
const HEAD_BYTES_MAX: u64 = 256 * 1024;
/// The largest body of an answer.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The request line and the headers.
pub(crate) fn head_bytes(request: &Request) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// The body, in chunks if the headers say so.
pub(crate) fn body_bytes(request: &Request) -> Vec<u8> {
    let chunked = header(&request.headers, "Transfer-Encoding").is_some_and(|value| value == "chunked");
    if !chunked {
        return request.body.clone();
    }
    const CHUNK_BYTES: usize = 1000;
    let mut out = Vec::new();
    for chunk in request.body.chunks(CHUNK_BYTES) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Reads the final answer; what comes before it is passed over. Tells whether the connection can be used again.
pub(crate) fn answer(connection: &mut impl BufRead, request: &Request) -> io::Result<(Response, bool)> {
    loop {
        let response = read_head(connection)?;
        if response.status >= 200 {
            return complete(connection, request, response);
        }
    }
}

/// Reads what follows a head, and tells whether the connection can be used again.
pub(crate) fn complete(
    connection: &mut impl BufRead,
    request: &Request,
    mut response: Response,
) -> io::Result<(Response, bool)> {
    let (body, framed) = read_body(connection, request, &response)?;
    response.body = body;
    let close = header(&response.headers, "Connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
    Ok((response, framed && !close))
}

/// Reads a status line and headers.
pub(crate) fn read_head(reader: &mut impl BufRead) -> io::Result<Response> {
    let mut reader = reader.take(HEAD_BYTES_MAX);
    let status_line = read_line(&mut reader)?;
    let mut words = status_line.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
        return Err(malformed(&format!("not a status line: {status_line}")));
    };
    let mut response =
        Response { status, reason: words.next().unwrap_or_default().to_owned(), ..Response::default() };
    loop {
        let line = read_line(&mut reader)?;
        if line.is_empty() {
            return Ok(response);
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| malformed(&format!("not a header: {line}")))?;
        response.headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// The body, and whether its end was marked.
fn read_body(
    reader: &mut impl BufRead,
    request: &Request,
    response: &Response,
) -> io::Result<(Vec<u8>, bool)> {
    if request.method == "HEAD" || matches!(response.status, 204 | 304) {
        return Ok((Vec::new(), true));
    }
    if header(&response.headers, "Transfer-Encoding").is_some_and(|value| value.contains("chunked")) {
        return Ok((read_chunks(reader)?, true));
    }
    let mut body = Vec::new();
    match header(&response.headers, "Content-Length") {
        Some(length) => {
            let length: u64 = length.parse().map_err(|_| malformed("Content-Length is not a number"))?;
            read_exactly(reader, length, &mut body)?;
            Ok((body, true))
        }
        None => {
            reader.take(BODY_BYTES_MAX).read_to_end(&mut body)?;
            Ok((body, false))
        }
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("not the size of a chunk"))?;
        read_exactly(reader, size, &mut body)?;
        if size == 0 {
            while !read_line(reader)?.is_empty() {}
            return Ok(body);
        }
        if !read_line(reader)?.is_empty() {
            return Err(malformed("a chunk does not end where it says"));
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len() as u64 + length > BODY_BYTES_MAX {
        return Err(malformed("the answer is too large"));
    }
    let read = reader.take(length).read_to_end(body)?;
    if (read as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn malformed(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}
