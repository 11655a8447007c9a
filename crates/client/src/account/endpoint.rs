//! The base URL of an account's tables.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The base URL of an account's tables: `https://account.table.core.windows.net`, or with the account in the
/// path, as in emulators. No trailing slash.
///
/// ```
/// use lazuli_client::Endpoint;
///
/// let endpoint: Endpoint = "http://127.0.0.1:10002/devstoreaccount1/".parse()?;
/// assert_eq!(endpoint.to_string(), "http://127.0.0.1:10002/devstoreaccount1");
/// // Anything that cannot be an endpoint is rejected.
/// assert!("127.0.0.1:10002".parse::<Endpoint>().is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    text: String,
    /// Offset of the path in `text`.
    path_start: usize,
}

impl Endpoint {
    /// The whole URL.
    ///
    /// ```
    /// # use lazuli_client::Endpoint;
    /// let endpoint: Endpoint = "https://shop.table.core.windows.net/".parse()?;
    /// assert_eq!(format!("{}/People", endpoint.as_str()), "https://shop.table.core.windows.net/People");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path, which is empty or starts with a slash.
    ///
    /// ```
    /// # use lazuli_client::Endpoint;
    /// let path = |text: &str| text.parse::<Endpoint>().map(|endpoint| endpoint.path().to_owned());
    /// assert_eq!(path("https://shop.table.core.windows.net")?, "");
    /// assert_eq!(path("http://127.0.0.1:10002/shop")?, "/shop");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn path(&self) -> &str {
        &self.text[self.path_start..]
    }

    /// Host and port.
    ///
    /// ```
    /// # use lazuli_client::Endpoint;
    /// let endpoint: Endpoint = "http://[::1]:10002/shop".parse()?;
    /// assert_eq!(endpoint.authority(), "[::1]:10002");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn authority(&self) -> &str {
        self.text[..self.path_start].split_once("://").map_or("", |(_, authority)| authority)
    }

    /// Does it use TLS?
    ///
    /// ```
    /// # use lazuli_client::Account;
    /// // For programs that do not send secrets without encryption.
    /// let account: Account = "AccountName=shop;AccountKey=c2VjcmV0".parse()?;
    /// assert!(account.endpoint().is_https());
    /// assert!(!Account::development().endpoint().is_https());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn is_https(&self) -> bool {
        self.text.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// Is it on this machine, so that no one else can read the traffic?
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Removes the table if this is the URL of that table. If the host does not contain the account, a path is
    /// the account itself.
    pub(super) fn without_table(self, table: &str) -> Self {
        let Some((rest, last)) = self.text.rsplit_once('/') else { return self };
        let is_table = last.trim_end_matches("()").eq_ignore_ascii_case(table);
        let has_account =
            rest.len() > self.path_start || (rest.len() == self.path_start && self.names_account());
        if is_table && has_account {
            Self { text: rest.to_owned(), path_start: self.path_start }
        } else {
            self
        }
    }

    /// Can the host name contain the account?
    fn names_account(&self) -> bool {
        let host = self.host();
        host.contains('.') && host.parse::<IpAddr>().is_err()
    }

    fn host(&self) -> &str {
        self.bracketed_host().trim_start_matches('[').trim_end_matches(']')
    }

    /// The host in the form used in URLs: IPv6 addresses in brackets.
    fn bracketed_host(&self) -> &str {
        let authority = self.authority();
        let search_from = authority.find(']').unwrap_or(0);
        authority[search_from..].find(':').map_or(authority, |colon| &authority[..search_from + colon])
    }
}

impl FromStr for Endpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::input(format!("invalid endpoint '{text}': {why}"));
        let trimmed = text.trim().trim_end_matches('/');
        let uri: http::Uri = trimmed.parse().map_err(|_| wrong("not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("must start with http:// or https://"));
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(wrong("must have a host, without user name or password"));
        }
        if uri.query().is_some() || trimmed.contains('#') {
            return Err(wrong("must not have a query or fragment"));
        }
        let scheme_end = trimmed.find("://").map_or(0, |at| at + 3);
        let path_start = trimmed[scheme_end..].find('/').map_or(trimmed.len(), |at| scheme_end + at);
        Ok(Self { text: trimmed.to_owned(), path_start })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        for (text, authority, path, loopback) in [
            ("http://127.0.0.1:10002/dev", "127.0.0.1:10002", "/dev", true),
            ("http://127.0.0.1:10002/dev/", "127.0.0.1:10002", "/dev", true),
            ("http://[::1]:1/dev", "[::1]:1", "/dev", true),
            ("https://a.table.core.windows.net", "a.table.core.windows.net", "", false),
            ("https://a.table.core.windows.net/", "a.table.core.windows.net", "", false),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.authority(), endpoint.path()), (authority, path), "{text}");
            assert_eq!(endpoint.is_loopback(), loopback, "{text}");
        }
        for (url, table, expected) in [
            ("http://h/dev/People", "people", "http://h/dev"),
            ("http://h/dev/People()", "people", "http://h/dev"),
            ("https://a.table.core.windows.net/t", "t", "https://a.table.core.windows.net"),
            ("https://a.table.core.windows.net", "t", "https://a.table.core.windows.net"),
            ("http://127.0.0.1:1/people", "people", "http://127.0.0.1:1/people"),
            ("http://localhost:1/people/people", "people", "http://localhost:1/people"),
            ("http://h/dev", "people", "http://h/dev"),
            ("http://h", "h", "http://h"),
        ] {
            assert_eq!(url.parse::<Endpoint>().unwrap().without_table(table).as_str(), expected);
        }
        for (text, https) in [("https://a", true), ("HTTPS://a", true), ("http://https:1", false)] {
            assert_eq!(text.parse::<Endpoint>().unwrap().is_https(), https, "{text}");
        }
        for bad in ["", "a", "ftp://a", "http://", "http://a?x=1", "http://u:p@a/", "/dev", "http://a b"] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
    }
}
