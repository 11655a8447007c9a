//! The server to check, and the account to use.

use std::fmt;

use lazuli_model::Service;
use lazuli_probe::blocking::Client;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::connection_string::{ConnectionString, ConnectionStringError, Secret};

use crate::ExtraRoots;

/// An endpoint, and the account that signs requests.
#[derive(Clone, Debug)]
pub struct Target {
    /// The service that is checked.
    pub service: Service,
    /// The URL of the account's service, without a slash at its end.
    pub base: String,
    /// The account.
    pub account: String,
    /// Its key.
    pub key: AccountKey,
    /// Host and port to connect to, if they differ from the URL: the name in the URL need not resolve on this
    /// machine.
    pub connect: Option<String>,
    /// Root certificates to trust in addition to those of the machine, for an `https` URL.
    pub extra_roots: ExtraRoots,
}

/// The reason why a target is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// The endpoint is not an `http` or `https` URL.
    Endpoint(String),
    /// The key is not Base64.
    Key,
    /// The connection string is invalid.
    ConnectionString(ConnectionStringError),
    /// The connection string has no account with a key.
    Unsigned,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Endpoint(url) => {
                write!(f, "{url} is not an endpoint such as http://127.0.0.1:10002")
            }
            TargetError::Key => f.write_str("the account key is not Base64"),
            TargetError::ConnectionString(error) => error.fmt(f),
            TargetError::Unsigned => f.write_str("the connection string has no AccountName and AccountKey"),
        }
    }
}

impl std::error::Error for TargetError {}

impl From<ConnectionStringError> for TargetError {
    fn from(error: ConnectionStringError) -> Self {
        Self::ConnectionString(error)
    }
}

impl Target {
    /// An account at an endpoint. If neither the host nor the path of the endpoint contains the account, it is
    /// appended to the path.
    pub fn new(endpoint: &str, account: &str, key: &str) -> Result<Self, TargetError> {
        let trimmed = endpoint.trim_end_matches('/');
        let authority = trimmed.strip_prefix("http://").or_else(|| trimmed.strip_prefix("https://"));
        let authority = authority
            .filter(|rest| !rest.is_empty() && !rest.starts_with('/'))
            .ok_or_else(|| TargetError::Endpoint(endpoint.to_owned()))?;
        let names_account = authority.contains('/') || authority.starts_with(&format!("{account}."));
        let base = if names_account { trimmed.to_owned() } else { format!("{trimmed}/{account}") };
        let key = AccountKey::from_base64(key).ok_or(TargetError::Key)?;
        Ok(Self {
            service: Service::Table,
            base,
            account: account.to_owned(),
            key,
            connect: None,
            extra_roots: ExtraRoots::default(),
        })
    }

    /// The same endpoint for another service.
    pub fn with_service(self, service: Service) -> Self {
        Self { service, ..self }
    }

    /// Parses a connection string in the format of the SDKs.
    pub fn from_connection_string(service: Service, text: &str) -> Result<Self, TargetError> {
        let parsed = ConnectionString::parse(text)?;
        let (Some(account), Secret::Key(key)) = (parsed.account(), parsed.secret()?) else {
            return Err(TargetError::Unsigned);
        };
        Ok(Self::new(&parsed.endpoints(service)?.primary, account, key)?.with_service(service))
    }

    /// A client of the server, which connects when it is first used.
    pub(crate) fn client(&self) -> Client {
        if self.is_https() {
            Client::tls(self.authority(), self.host(), self.extra_roots.clone())
        } else {
            Client::plain(self.authority())
        }
    }

    /// Host and port to connect to.
    pub fn authority(&self) -> String {
        if let Some(connect) = &self.connect {
            return connect.clone();
        }
        let (host, port) = self.host_and_port();
        let default = if self.is_https() { "443" } else { "80" };
        format!("{host}:{}", port.unwrap_or(default))
    }

    /// The host of the URL, for which the certificate must be valid; an IPv6 address has no brackets.
    pub fn host(&self) -> &str {
        self.host_and_port().0.trim_start_matches('[').trim_end_matches(']')
    }

    /// Is the endpoint an `https` URL?
    pub fn is_https(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// Is the account in the path of the URL?
    pub fn has_path(&self) -> bool {
        self.base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
    }

    fn host_and_port(&self) -> (&str, Option<&str>) {
        let rest = self.base.split_once("://").map_or(self.base.as_str(), |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or_default();
        match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, Some(port)),
            _ => (authority, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn base(endpoint: &str) -> Result<String, TargetError> {
        Target::new(endpoint, "dev", "a2V5").map(|target| target.base)
    }

    #[test]
    fn endpoints() {
        assert_eq!(base("http://127.0.0.1:10002").unwrap(), "http://127.0.0.1:10002/dev");
        assert_eq!(base("http://127.0.0.1:10002/dev/").unwrap(), "http://127.0.0.1:10002/dev");
        assert_eq!(base("http://dev.table.localhost:10002/").unwrap(), "http://dev.table.localhost:10002");
        assert_eq!(base("https://dev.table.example.org/").unwrap(), "https://dev.table.example.org");
        assert_eq!(base("https://example.org").unwrap(), "https://example.org/dev");
        for none in ["x", "ftp://x", "https://", "https:///dev"] {
            assert!(matches!(base(none), Err(TargetError::Endpoint(_))), "{none}");
        }
        assert_eq!(Target::new("http://x", "dev", "***").map(|_| ()), Err(TargetError::Key));
    }

    #[test]
    fn where_to_connect_and_which_certificate_to_see() {
        for (endpoint, connect, authority, host) in [
            ("http://h", None, "h:80", "h"),
            ("https://dev.h", None, "dev.h:443", "dev.h"),
            ("https://dev.h:8443", None, "dev.h:8443", "dev.h"),
            ("https://[::1]/dev", None, "[::1]:443", "::1"),
            ("https://[::1]:8443/dev", None, "[::1]:8443", "::1"),
            ("https://dev.h", Some("127.0.0.1:1"), "127.0.0.1:1", "dev.h"),
        ] {
            let mut target = Target::new(endpoint, "dev", "a2V5").unwrap();
            target.connect = connect.map(str::to_owned);
            assert_eq!((target.authority().as_str(), target.host()), (authority, host), "{endpoint}");
        }
    }

    #[test]
    fn connection_strings() {
        let target = |text: &str| {
            Target::from_connection_string(Service::Table, text).map(|t| (t.authority(), t.base))
        };
        let dev = ("127.0.0.1:10002".to_owned(), "http://127.0.0.1:10002/devstoreaccount1".to_owned());
        assert_eq!(target("UseDevelopmentStorage=true"), Ok(dev));
        let suffix = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;EndpointSuffix=example.org";
        let host = ("a.table.example.org:80".to_owned(), "http://a.table.example.org".to_owned());
        assert_eq!(target(suffix), Ok(host));
        let cloud = "AccountName=a;AccountKey=a2V5;EndpointSuffix=example.org";
        let host = ("a.table.example.org:443".to_owned(), "https://a.table.example.org".to_owned());
        assert_eq!(target(cloud), Ok(host));
        let unsigned = "TableEndpoint=http://h/a;SharedAccessSignature=sig=x";
        assert_eq!(target(unsigned), Err(TargetError::Unsigned));
        assert!(matches!(target("AccountName=a"), Err(TargetError::ConnectionString(_))));
    }
}
