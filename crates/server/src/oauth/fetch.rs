//! Fetches one small document from a URL: over https, or over http from this machine.
//!
//! No redirects, no keep-alive, and bounds on the bytes read and on the time.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::http::{Chunked, Progress};
use crate::outbound;

/// Timeout from resolving the name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The head of the response.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const FIELDS_MAX: usize = 100;

/// The address of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(outbound::OutboundUrl);

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |_| "not an address such as https://login.example.org/keys".to_owned();
        let url: outbound::OutboundUrl = text.parse().map_err(bad)?;
        if !url.is_https && !url.is_loopback() {
            return Err("keys over plain http could be changed in transit; use https".into());
        }
        Ok(Self(url))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.0.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.0.authority(), self.0.target)
    }
}

/// The document at a URL. A longer one is an error.
pub async fn get(url: &Url, bytes_max: usize) -> io::Result<Vec<u8>> {
    timeout(TIME_MAX, connect_and_get(&url.0, bytes_max)).await?
}

async fn connect_and_get(url: &outbound::OutboundUrl, bytes_max: usize) -> io::Result<Vec<u8>> {
    // The operator names the issuer, so its address needs no check.
    let addresses: Vec<_> = tokio::net::lookup_host((url.host.as_str(), url.port)).await?.collect();
    let tls = if url.is_https { Some(outbound::tls_config().await?) } else { None };
    exchange(outbound::connect(url, &addresses, tls).await?, url, bytes_max).await
}

async fn exchange(
    mut stream: outbound::Stream,
    url: &outbound::OutboundUrl,
    bytes_max: usize,
) -> io::Result<Vec<u8>> {
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
        url.target,
        url.authority()
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut input = Vec::new();
    // Reading one byte more than allowed detects a longer document. Some servers close without ending TLS, so
    // an error may be the end.
    let mut rest = stream.take((HEAD_BYTES_MAX + bytes_max + 1) as u64);
    while let Ok(1..) = rest.read_buf(&mut input).await {
        if let Some(body) = body_of(&input, bytes_max, false)? {
            return Ok(body);
        }
    }
    body_of(&input, bytes_max, true)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The body, if it is complete.
fn body_of(input: &[u8], bytes_max: usize, ended: bool) -> io::Result<Option<Vec<u8>>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let head = match response.parse(input).map_err(|_| bad("the response is not HTTP"))? {
        httparse::Status::Complete(head) => head,
        httparse::Status::Partial => return Ok(None),
    };
    match response.code {
        Some(200) => {}
        status => return Err(bad(&format!("the response status is {}", status.unwrap_or_default()))),
    }
    let field = |name: &str| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
    };
    let body = &input[head..];
    let too_large = || bad("the response is too large");
    if field("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        let mut chunked = Chunked::new(bytes_max as u64);
        let (_, progress) = chunked.feed(body).map_err(|_| bad("the response is not HTTP, or too large"))?;
        return Ok((progress == Progress::Done).then(|| chunked.into_body()));
    }
    if body.len() > bytes_max {
        return Err(too_large());
    }
    match field("content-length").map(str::parse::<usize>) {
        Some(Ok(length)) if length > bytes_max => Err(too_large()),
        Some(Ok(length)) => Ok(body.get(..length).map(<[u8]>::to_vec)),
        Some(Err(_)) => Err(bad("the response is not HTTP")),
        None => Ok(ended.then(|| body.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let shown = |text: &str| text.parse::<Url>().map(|url| url.to_string());
        assert_eq!(
            shown("https://l.example.org/t/keys?v=1").unwrap(),
            "https://l.example.org:443/t/keys?v=1"
        );
        assert_eq!(shown("https://l.example.org").unwrap(), "https://l.example.org:443/");
        assert_eq!(shown("http://127.0.0.1:8080/k").unwrap(), "http://127.0.0.1:8080/k");
        assert_eq!(shown("http://[::1]:8080/k").unwrap(), "http://[::1]:8080/k");
        assert_eq!(shown("http://localhost/k").unwrap(), "http://localhost:80/k");
        for bad in [
            "",
            "x",
            "https://",
            "https:///k",
            "ftp://l/k",
            "https://l:port/k",
            "https://u@l/k",
            "https://l/a b",
            "https://l/\r\nX: y",
            "http://l.example.org/k",
            "http://10.0.0.1/k",
        ] {
            assert!(shown(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn responses() {
        let check = |input: &str, ended: bool, expected: Result<Option<&str>, &str>| {
            let found = body_of(input.as_bytes(), 10, ended)
                .map(|body| body.map(|body| String::from_utf8(body).unwrap()))
                .map_err(|error| error.to_string());
            assert_eq!(found, expected.map(|body| body.map(str::to_owned)).map_err(str::to_owned), "{input}");
        };
        let ok = "HTTP/1.1 200 OK\r\n";
        check(&format!("{ok}Content-Length: 2\r\n\r\n{{}}"), false, Ok(Some("{}")));
        check(&format!("{ok}content-length: 2\r\n\r\n{{"), false, Ok(None));
        check(
            &format!("{ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
            false,
            Ok(Some("{}")),
        );
        check(&format!("{ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n"), true, Ok(None));
        check(&format!("{ok}\r\n{{}}"), false, Ok(None));
        check(&format!("{ok}\r\n{{}}"), true, Ok(Some("{}")));
        check(ok, true, Ok(None));
        check("HTTP/1.1 302 Found\r\n\r\n", false, Err("the response status is 302"));
        check("nonsense\r\n\r\n", false, Err("the response is not HTTP"));
        check(&format!("{ok}Content-Length: 11\r\n\r\n"), false, Err("the response is too large"));
        check(&format!("{ok}\r\n{}", "x".repeat(11)), false, Err("the response is too large"));
        check(&format!("{ok}Content-Length: x\r\n\r\n"), false, Err("the response is not HTTP"));
    }
}
