//! Connection strings: `Name=value;…`, as printed by the portal, the emulators and this server.
//!
//! One parser for the client, the command line and the tools. Values that could be secret never appear in an
//! error. Keys, signatures and URLs are not checked here.

use std::fmt;

use lazuli_model::Service;

use crate::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// The domain of Azure's public cloud, which a connection string need not name.
const SUFFIX: &str = "core.windows.net";

/// Known settings. Any other name is an error, because it is most likely a typing mistake.
const NAMES: [&str; 15] = [
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
    "DefaultEndpointsProtocol",
    "AccountName",
    "AccountKey",
    "EndpointSuffix",
    "SharedAccessSignature",
    "BlobEndpoint",
    "BlobSecondaryEndpoint",
    "QueueEndpoint",
    "QueueSecondaryEndpoint",
    "TableEndpoint",
    "TableSecondaryEndpoint",
    "FileEndpoint",
    "FileSecondaryEndpoint",
];

/// Settings that contradict `UseDevelopmentStorage`, which implies all of them.
const OF_OTHER_ACCOUNTS: [&str; 9] = [
    "AccountName",
    "AccountKey",
    "SharedAccessSignature",
    "BlobEndpoint",
    "BlobSecondaryEndpoint",
    "QueueEndpoint",
    "QueueSecondaryEndpoint",
    "TableEndpoint",
    "TableSecondaryEndpoint",
];

/// A parsed connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionString<'a> {
    settings: Vec<(&'static str, &'a str)>,
    /// `scheme://host` of the emulator, if the string requests it.
    emulator: Option<String>,
}

/// How requests are authorised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Secret<'a> {
    /// An account key in Base64.
    Key(&'a str),
    /// A shared access signature.
    Signature(&'a str),
    /// No credential. The endpoint may be a proxy that signs requests.
    None,
}

/// The endpoints of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Where requests go.
    pub primary: String,
    /// A read-only copy of the data.
    pub secondary: Option<String>,
}

/// The reason why a string is not a connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStringError(String);

impl fmt::Display for ConnectionStringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectionStringError {}

/// Shows which kind of secret it is, never the secret.
impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Secret::Key(_) => "Key(…)",
            Secret::Signature(_) => "Signature(…)",
            Secret::None => "None",
        })
    }
}

impl<'a> ConnectionString<'a> {
    /// Parses a connection string.
    pub fn parse(text: &'a str) -> Result<Self, ConnectionStringError> {
        let mut settings: Vec<(&'static str, &'a str)> = Vec::new();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            // The entry may be the key, so the error does not show it.
            let (name, value) = entry.split_once('=').ok_or_else(|| {
                invalid("the connection string has an entry that does not have the form Name=value")
            })?;
            let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
            let name = *known.ok_or_else(|| {
                invalid(format!("unknown setting '{}' in the connection string", name.trim()))
            })?;
            if settings.iter().any(|(given, _)| *given == name) {
                return Err(invalid(format!("duplicate setting '{name}' in the connection string")));
            }
            settings.push((name, value.trim()));
        }
        let mut parsed = Self { settings, emulator: None };
        if parsed.get("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            if let Some(name) = OF_OTHER_ACCOUNTS.iter().find(|name| parsed.get(name).is_some()) {
                return Err(invalid(format!(
                    "the connection string has both UseDevelopmentStorage and '{name}'"
                )));
            }
            let proxy = parsed.get("DevelopmentStorageProxyUri");
            parsed.emulator = Some(proxy.map_or(Ok("http://127.0.0.1".to_owned()), scheme_and_host)?);
        }
        Ok(parsed)
    }

    /// The account, if the string contains one.
    pub fn account(&self) -> Option<&str> {
        if self.emulator.is_some() { Some(DEVELOPMENT_ACCOUNT) } else { self.get("AccountName") }
    }

    /// How requests are authorised. A key needs the name of its account.
    pub fn secret(&self) -> Result<Secret<'_>, ConnectionStringError> {
        if self.emulator.is_some() {
            return Ok(Secret::Key(DEVELOPMENT_KEY));
        }
        let has_endpoint = Service::ALL
            .into_iter()
            .any(|service| self.get(&format!("{}Endpoint", service.title())).is_some());
        let problem = match (self.get("AccountKey"), self.get("SharedAccessSignature")) {
            (Some(_), Some(_)) => "the connection string has both an AccountKey and a SharedAccessSignature",
            (Some(_), None) if self.account().is_none() => {
                "the connection string has an AccountKey but no AccountName"
            }
            (Some(key), None) => return Ok(Secret::Key(key)),
            (None, Some(token)) => return Ok(Secret::Signature(token)),
            (None, None) if has_endpoint => return Ok(Secret::None),
            (None, None) if self.account().is_some() => {
                "the connection string has neither an AccountKey nor a SharedAccessSignature"
            }
            (None, None) => "the connection string has neither an endpoint nor an AccountName",
        };
        Err(invalid(problem))
    }

    /// The endpoints of a service. Explicit endpoints come first; otherwise they follow from name, protocol and suffix.
    pub fn endpoints(&self, service: Service) -> Result<Endpoints, ConnectionStringError> {
        if let Some(emulator) = &self.emulator {
            let primary = format!("{emulator}:{}/{DEVELOPMENT_ACCOUNT}", service.default_port());
            let secondary = Some(format!("{primary}-secondary"));
            return Ok(Endpoints { primary, secondary });
        }
        let title = service.title();
        let secondary = self.get(&format!("{title}SecondaryEndpoint")).map(str::to_owned);
        if let Some(primary) = self.get(&format!("{title}Endpoint")) {
            return Ok(Endpoints { primary: primary.to_owned(), secondary });
        }
        let Some(account) = self.account() else {
            let text = format!("the connection string has neither {title}Endpoint nor AccountName");
            return Err(invalid(text));
        };
        let protocol = self.get("DefaultEndpointsProtocol").unwrap_or("https");
        let suffix = self.get("EndpointSuffix").unwrap_or(SUFFIX);
        let at = |account: &str| format!("{protocol}://{account}.{}.{suffix}", service.label());
        let derived = at(&format!("{account}-secondary"));
        Ok(Endpoints { primary: at(account), secondary: Some(secondary.unwrap_or(derived)) })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.settings
            .iter()
            .find(|(given, value)| *given == name && !value.is_empty())
            .map(|(_, value)| *value)
    }
}

/// Only the scheme and the host of the proxy's URL are used, as in Azure's libraries; the port is the
/// emulator's.
fn scheme_and_host(url: &str) -> Result<String, ConnectionStringError> {
    let malformed =
        || invalid(format!("the DevelopmentStorageProxyUri '{url}' must start with http:// or https://"));
    let (scheme, rest) = url.split_once("://").ok_or_else(malformed)?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    if !matches!(scheme.as_str(), "http" | "https") || host.is_empty() {
        return Err(malformed());
    }
    Ok(format!("{scheme}://{host}"))
}

fn invalid(text: impl Into<String>) -> ConnectionStringError {
    ConnectionStringError(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, service: Service, account: Option<&str>, primary: &str, secondary: Option<&str>) {
        let parsed = ConnectionString::parse(text).unwrap();
        assert_eq!(parsed.account(), account, "{text}");
        let endpoints = parsed.endpoints(service).unwrap();
        assert_eq!(
            (endpoints.primary.as_str(), endpoints.secondary.as_deref()),
            (primary, secondary),
            "{text}"
        );
    }

    #[test]
    fn the_emulator_has_a_port_for_each_service() {
        for (service, port) in [(Service::Blob, 10000), (Service::Queue, 10001), (Service::Table, 10002)] {
            for (text, host) in [
                ("UseDevelopmentStorage=true", "http://127.0.0.1"),
                (" usedevelopmentstorage = TRUE ; ", "http://127.0.0.1"),
                (
                    "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=https://emulator/",
                    "https://emulator",
                ),
                ("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=HTTP://[::1]:8080", "http://[::1]"),
                ("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]", "http://[::1]"),
            ] {
                let primary = format!("{host}:{port}/devstoreaccount1");
                let secondary = format!("{primary}-secondary");
                check(text, service, Some("devstoreaccount1"), &primary, Some(&secondary));
                assert_eq!(ConnectionString::parse(text).unwrap().secret(), Ok(Secret::Key(DEVELOPMENT_KEY)));
            }
        }
    }

    #[test]
    fn endpoints_are_given_or_follow_from_the_account() {
        let cloud = "AccountName=abc;AccountKey=YWJj";
        let (primary, secondary) =
            ("https://abc.blob.core.windows.net", "https://abc-secondary.blob.core.windows.net");
        check(cloud, Service::Blob, Some("abc"), primary, Some(secondary));
        let suffix = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;EndpointSuffix=example.org";
        check(
            suffix,
            Service::Queue,
            Some("a"),
            "http://a.queue.example.org",
            Some("http://a-secondary.queue.example.org"),
        );
        let mixed =
            "AccountName=abc;AccountKey=YWI=;TableEndpoint=http://h:1/abc;BlobEndpoint=http://h:2/abc";
        check(mixed, Service::Table, Some("abc"), "http://h:1/abc", None);
        check(mixed, Service::Blob, Some("abc"), "http://h:2/abc", None);
        let signed =
            "QueueEndpoint=https://h/;QueueSecondaryEndpoint=https://s/;SharedAccessSignature=sv=1&sig=x%3D";
        check(signed, Service::Queue, None, "https://h/", Some("https://s/"));
        assert_eq!(ConnectionString::parse(signed).unwrap().secret(), Ok(Secret::Signature("sv=1&sig=x%3D")));
        let anonymous = ConnectionString::parse("BlobEndpoint=http://h/a").unwrap();
        assert_eq!(anonymous.secret(), Ok(Secret::None));
        assert!(anonymous.endpoints(Service::Table).is_err());
    }

    #[test]
    fn errors_name_the_problem_and_no_secret() {
        for (text, says) in [
            ("", "neither an endpoint"),
            ("secret", "Name=value"),
            ("DefaultEndpointsProtocol=https", "neither an endpoint nor an AccountName"),
            ("AccountName=abc", "neither an AccountKey nor a SharedAccessSignature"),
            ("AccountName=abc;AcountKey=secret==", "AcountKey"),
            ("AccountKey=secret;TableEndpoint=http://h/a", "no AccountName"),
            ("AccountName=a;AccountName=b", "duplicate"),
            ("AccountName=a;AccountKey=secret;SharedAccessSignature=sig=x", "both"),
            (
                "UseDevelopmentStorage=true;BlobEndpoint=http://h/a",
                "both UseDevelopmentStorage and 'BlobEndpoint'",
            ),
            ("UseDevelopmentStorage=true;AccountKey=secret", "both UseDevelopmentStorage and 'AccountKey'"),
            ("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=emulator", "must start with http"),
        ] {
            let parsed = ConnectionString::parse(text);
            let error = parsed.and_then(|parsed| parsed.secret().map(drop)).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
        let shown = format!("{:?}", Secret::Key("secret"));
        assert!(!shown.contains("secret"));
    }
}
