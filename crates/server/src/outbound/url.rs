//! An absolute URL that the server can request.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An address on the web. Its query may contain a signature, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboundUrl {
    /// Does it start with `https`?
    pub is_https: bool,
    /// The host in lower case; an IPv6 address has no brackets.
    pub host: String,
    /// The port, even if the URL does not name one.
    pub port: u16,
    /// Path and query, as on the request line.
    pub target: String,
}

/// A URL that cannot be requested.
#[derive(Debug, PartialEq, Eq)]
pub struct BadUrl;

impl FromStr for OutboundUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(BadUrl)?;
        let is_https = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ => return Err(BadUrl),
        };
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['#', '\\']) {
            return Err(BadUrl);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = split_port(authority)?;
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self {
            is_https,
            host,
            port: port.unwrap_or(default_port(is_https)),
            target: format!("{slash}{target}"),
        })
    }
}

impl OutboundUrl {
    /// Host and port.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    /// The value of `Host`, without the default port.
    pub fn host_field(&self) -> String {
        let authority = self.authority();
        match authority.rsplit_once(':') {
            Some((host, _)) if self.has_default_port() => host.to_owned(),
            _ => authority,
        }
    }

    /// Is the port the default of the scheme?
    pub fn has_default_port(&self) -> bool {
        self.port == default_port(self.is_https)
    }

    /// Does it name this machine?
    pub fn is_loopback(&self) -> bool {
        names_loopback(&self.host) || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Debug for OutboundUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{}://{}{path}", if self.is_https { "https" } else { "http" }, self.authority())
    }
}

/// Is it a name that always stands for this machine?
pub fn names_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Splits `HOST[:PORT]`.
pub fn split_port(authority: &str) -> Result<(String, Option<u16>), BadUrl> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(parse_port(port)?)),
        _ => (authority, None),
    };
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').ok_or(BadUrl)?;
        return Ok((address.parse::<Ipv6Addr>().map_err(|_| BadUrl)?.to_string(), port));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if host.is_empty() || !host.bytes().all(is_name) {
        return Err(BadUrl);
    }
    Ok((host.to_ascii_lowercase(), port))
}

fn parse_port(text: &str) -> Result<u16, BadUrl> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0).ok_or(BadUrl)
}

fn default_port(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let read = |text: &str| {
            let url: OutboundUrl = text.parse().unwrap();
            (url.authority(), url.host_field(), url.target)
        };
        let of = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(
            read("https://A.example.org/c/b?sig=x"),
            of("a.example.org:443", "a.example.org", "/c/b?sig=x")
        );
        assert_eq!(read("HTTP://h:8080"), of("h:8080", "h:8080", "/"));
        assert_eq!(read("http://h:80?x"), of("h:80", "h", "/?x"));
        assert_eq!(read("http://[::1]:9/k"), of("[::1]:9", "[::1]:9", "/k"));
        assert_eq!(read("http://[0::0:1]/k"), of("[::1]:80", "[::1]", "/k"));
        for bad in [
            "",
            "h/k",
            "/k",
            "ftp://h/k",
            "file:///etc/passwd",
            "http://",
            "http:///k",
            "http://u@h/k",
            "http://u:p@h/k",
            "http://h:/k",
            "http://h:0/k",
            "http://h:+80/k",
            "http://h:65536/k",
            "http://h k/",
            "http://h/a b",
            "http://h/\r\nX: y",
            "http://h\\@other/",
            "http://h/#f",
            "http://::1/k",
            "http://[::1/k",
            "http://[h]/k",
            "http://é/k",
        ] {
            assert_eq!(bad.parse::<OutboundUrl>(), Err(BadUrl), "{bad}");
        }
    }

    #[test]
    fn signatures_are_not_shown() {
        let url: OutboundUrl = "https://h/c/b?sig=secret".parse().unwrap();
        assert_eq!(format!("{url:?}"), "https://h:443/c/b");
    }
}
