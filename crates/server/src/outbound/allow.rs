//! The list of hosts that the server may send requests to.

use std::fmt;
use std::str::FromStr;

use super::url::{OutboundUrl, split_port};

/// A host that the operator allows: `HOST`, `HOST:PORT`, or `.DOMAIN` for all names below a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    host: String,
    /// Without a port, only the usual one of the scheme is allowed.
    port: Option<u16>,
}

impl AllowedHost {
    /// The host of one URL.
    pub(crate) fn of(url: &OutboundUrl) -> Self {
        Self { host: url.host.clone(), port: Some(url.port) }
    }

    /// May this URL be requested?
    pub(crate) fn covers(&self, url: &OutboundUrl) -> bool {
        let is_host = match self.host.starts_with('.') {
            // An IP address is not a name, even if it ends like one.
            true => url.host.ends_with(&self.host) && url.host.parse::<std::net::IpAddr>().is_err(),
            false => url.host == self.host,
        };
        is_host && self.port.map_or(url.has_default_port(), |port| port == url.port)
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a host; expected HOST, HOST:PORT or .DOMAIN");
        let (host, port) = split_port(text).map_err(|_| bad())?;
        if host.trim_matches('.').is_empty() {
            return Err(bad());
        }
        Ok(Self { host, port })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (allowed, url, expected) in [
            ("h", "http://h/", true),
            ("H", "https://h/", true),
            ("h", "http://h:81/", false),
            ("h", "http://h:443/", false),
            ("h:81", "http://h:81/", true),
            ("h:81", "http://h/", false),
            ("h", "http://x.h/", false),
            ("h", "http://xh/", false),
            (".example.org", "https://a.example.org/", true),
            (".example.org", "https://a.b.example.org/", true),
            (".example.org", "https://example.org/", false),
            (".example.org", "https://aexample.org/", false),
            (".1", "http://127.0.0.1/", false),
            ("127.0.0.1:10000", "http://127.0.0.1:10000/", true),
            ("127.0.0.1:10000", "http://localhost:10000/", false),
            ("[::1]:10000", "http://[0:0::1]:10000/", true),
        ] {
            let host: AllowedHost = allowed.parse().unwrap();
            assert_eq!(host.covers(&url.parse().unwrap()), expected, "{allowed} {url}");
        }
        for bad in ["", ".", "*", "http://h", "h/", "u@h", "h:", "h:x", "a b"] {
            assert!(bad.parse::<AllowedHost>().is_err(), "{bad}");
        }
    }
}
