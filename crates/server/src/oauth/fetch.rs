//! Gets one small document from a URL: by https, or by http from this machine.
//!
//! No redirects, no connection that is kept, a bound on what is read and how long it takes.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::http::{Chunked, Progress};

/// From the name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The head of the answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const FIELDS_MAX: usize = 100;

/// An address on the web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    is_https: bool,
    host: String,
    port: u16,
    path: String,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "not an address such as https://login.example.org/keys".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let is_https = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(bad()),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| bad())?),
            _ => (authority, if is_https { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let visible = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !visible(&host) || !visible(path) {
            return Err(bad());
        }
        let is_local =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !is_https && !is_local {
            return Err("keys that anyone on the way could change must come by https".into());
        }
        Ok(Self { is_https, host, port, path: path.to_owned() })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl Url {
    fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }
}

/// The document at a URL, of at most so many bytes.
pub async fn get(url: &Url, bytes_max: usize) -> io::Result<Vec<u8>> {
    timeout(TIME_MAX, connect_and_get(url, bytes_max)).await?
}

async fn connect_and_get(url: &Url, bytes_max: usize) -> io::Result<Vec<u8>> {
    let stream = TcpStream::connect((url.host.as_str(), url.port)).await?;
    if !url.is_https {
        return exchange(stream, url, bytes_max).await;
    }
    let config = tokio::task::spawn_blocking(config).await.map_err(io::Error::other)??;
    let name = ServerName::try_from(url.host.clone()).map_err(io::Error::other)?;
    exchange(TlsConnector::from(config).connect(name, stream).await?, url, bytes_max).await
}

/// Trusted are the root certificates of the machine, or those of `SSL_CERT_FILE` where that is set.
fn config() -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    url: &Url,
    bytes_max: usize,
) -> io::Result<Vec<u8>> {
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
        url.path,
        url.authority()
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut input = Vec::new();
    // One byte more than allowed shows that there is more. Servers end TLS without a word, so an error may be the end.
    let mut rest = stream.take((HEAD_BYTES_MAX + bytes_max + 1) as u64);
    while let Ok(1..) = rest.read_buf(&mut input).await {
        if let Some(body) = body_of(&input, bytes_max, false)? {
            return Ok(body);
        }
    }
    body_of(&input, bytes_max, true)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The body, if it is there to its end.
fn body_of(input: &[u8], bytes_max: usize, ended: bool) -> io::Result<Option<Vec<u8>>> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let head = match response.parse(input).map_err(|_| bad("the answer is not HTTP"))? {
        httparse::Status::Complete(head) => head,
        httparse::Status::Partial => return Ok(None),
    };
    match response.code {
        Some(200) => {}
        status => return Err(bad(&format!("the answer is {}", status.unwrap_or_default()))),
    }
    let field = |name: &str| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
    };
    let body = &input[head..];
    let too_large = || bad("the answer is too large");
    if field("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        let mut chunked = Chunked::new(bytes_max);
        let (_, progress) = chunked.feed(body).map_err(|_| bad("the answer is not HTTP, or too large"))?;
        return Ok((progress == Progress::Done).then(|| chunked.into_body()));
    }
    if body.len() > bytes_max {
        return Err(too_large());
    }
    match field("content-length").map(str::parse::<usize>) {
        Some(Ok(length)) if length > bytes_max => Err(too_large()),
        Some(Ok(length)) => Ok(body.get(..length).map(<[u8]>::to_vec)),
        Some(Err(_)) => Err(bad("the answer is not HTTP")),
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
    fn answers() {
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
        check("HTTP/1.1 302 Found\r\n\r\n", false, Err("the answer is 302"));
        check("nonsense\r\n\r\n", false, Err("the answer is not HTTP"));
        check(&format!("{ok}Content-Length: 11\r\n\r\n"), false, Err("the answer is too large"));
        check(&format!("{ok}\r\n{}", "x".repeat(11)), false, Err("the answer is too large"));
        check(&format!("{ok}Content-Length: x\r\n\r\n"), false, Err("the answer is not HTTP"));
    }
}
