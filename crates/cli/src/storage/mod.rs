//! A signed client of the Blob or Queue service, for the commands that use one.
//!
//! [`Storage`] knows where the service is and how to sign requests; a [`Session`] is one connection to it.
//! Concurrent threads each have their own session. Requests go through the HTTP client of `probe`, like those
//! of every other tool.

mod local;
mod request;
mod session;
pub mod xml;

pub use request::{StorageRequest, escape, escape_path, parse_pair};
pub use session::Session;

use std::path::Path;
use std::process::ExitCode;

use lazuli_client::Endpoint;
use lazuli_model::Service;
use lazuli_probe::Signer;
use lazuli_probe::blocking::{Client, ExtraRoots};
use lazuli_protocol::ConnectionString;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::connection_string::Secret;

use crate::fault::{Fault, settle};
use crate::target::{Target, is_url};

/// Where a service of an account is, and how to sign requests to it.
pub struct Storage {
    endpoint: Endpoint,
    credential: Credential,
    roots: ExtraRoots,
    /// Connect to this address, regardless of the host in the endpoint.
    address: Option<String>,
}

enum Credential {
    Key(Box<(Signer, AccountKey)>),
    /// The query string of a shared access signature.
    Signature(String),
    /// Requests are not signed: public containers, or a proxy that signs.
    None,
}

impl Target {
    /// Runs `work` with a client of a service. Prints an error, and returns the exit code.
    pub fn storage(
        &self,
        service: Service,
        work: impl FnOnce(&Storage) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, String> {
        if let Some(engine) = self.engine()? {
            return local::run(engine, self.direct_account(), service, Box::new(work));
        }
        let storage = Storage::connect(service, &self.connection_string(), self.ca_file.as_deref())?;
        Ok(settle(work(&storage), storage.endpoint.as_str()))
    }
}

impl Storage {
    /// The service that a connection string, or a URL with a shared access signature, names.
    pub fn connect(service: Service, text: &str, ca_file: Option<&Path>) -> Result<Self, String> {
        let roots = match ca_file {
            None => ExtraRoots::default(),
            Some(file) => std::fs::read(file)
                .and_then(|pem| ExtraRoots::from_pem(&pem))
                .map_err(|error| format!("{}: {error}", file.display()))?,
        };
        let (endpoint, credential) =
            if is_url(text) { of_url(service, text)? } else { of_string(service, text)? };
        let endpoint = endpoint.parse().map_err(|error: lazuli_client::Error| error.to_string())?;
        Ok(Self { endpoint, credential, roots, address: None })
    }

    /// The service of an account at an endpoint, with its key.
    fn with_key(service: Service, endpoint: &str, account: &str, key: AccountKey) -> Result<Self, String> {
        let endpoint = endpoint.parse().map_err(|error: lazuli_client::Error| error.to_string())?;
        let credential = Credential::Key(Box::new((Signer::new(service, account, key.clone()), key)));
        Ok(Self { endpoint, credential, roots: ExtraRoots::default(), address: None })
    }

    /// The same service at another address.
    pub fn at_address(mut self, address: String) -> Self {
        self.address = Some(address);
        self
    }

    /// A connection, made when it is first needed.
    pub fn session(&self) -> Session<'_> {
        Session::new(self)
    }

    /// The URL of the account, without a final slash.
    pub fn endpoint(&self) -> &str {
        self.endpoint.as_str()
    }

    /// The account's name and key, if requests are signed with one.
    pub fn key(&self) -> Option<(&str, &AccountKey)> {
        match &self.credential {
            Credential::Key(pair) => Some((pair.0.account(), &pair.1)),
            Credential::Signature(_) | Credential::None => None,
        }
    }

    /// The shared access signature, if requests carry one.
    pub fn signature(&self) -> Option<&str> {
        match &self.credential {
            Credential::Signature(token) => Some(token),
            Credential::Key(..) | Credential::None => None,
        }
    }

    fn client(&self) -> Client {
        let authority = self.endpoint.authority();
        let is_tls = self.endpoint.as_str().starts_with("https://");
        let has_port =
            authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let port = if is_tls { 443 } else { 80 };
        let address = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
        let address = self.address.clone().unwrap_or(address);
        if !is_tls {
            return Client::plain(address);
        }
        let name =
            if has_port { authority.rsplit_once(':').map_or(authority, |(name, _)| name) } else { authority };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        Client::tls(address, name, self.roots.clone())
    }
}

fn of_string(service: Service, text: &str) -> Result<(String, Credential), String> {
    let parsed = ConnectionString::parse(text).map_err(|error| error.to_string())?;
    let endpoint = parsed.endpoints(service).map_err(|error| error.to_string())?.primary;
    let credential = match parsed.secret().map_err(|error| error.to_string())? {
        Secret::Key(text) => {
            let key = AccountKey::from_base64(text).ok_or("the account key is not valid Base64")?;
            let account = parsed.account().unwrap_or_default();
            Credential::Key(Box::new((Signer::new(service, account, key.clone()), key)))
        }
        Secret::Signature(token) => Credential::Signature(checked_signature(token)?),
        Secret::None => Credential::None,
    };
    Ok((endpoint, credential))
}

fn of_url(service: Service, url: &str) -> Result<(String, Credential), String> {
    let (resource, token) = url.split_once('?').ok_or("the URL has no shared access signature")?;
    Ok((account_url(service, resource), Credential::Signature(checked_signature(token)?)))
}

fn checked_signature(token: &str) -> Result<String, String> {
    lazuli_client::Credential::sas(token).map_err(|error| error.to_string())?;
    Ok(token.trim().trim_start_matches('?').to_owned())
}

/// The URL of the account that a URL of a container, blob or queue belongs to. The account is the first label of the host
/// (`shop.blob.example.org`), or else the first segment of the path.
fn account_url(service: Service, url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_host_style = authority.split('.').nth(1) == Some(service.label());
    match path.split('/').next() {
        Some(account) if !is_host_style && !account.is_empty() => format!("{scheme}://{authority}/{account}"),
        _ => format!("{scheme}://{authority}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings_and_urls_name_the_account() {
        let sas = "sv=2021-12-02&sr=c&sp=r&sig=x%3D";
        for (service, text, endpoint) in [
            (
                Service::Blob,
                "UseDevelopmentStorage=true".to_owned(),
                "http://127.0.0.1:10000/devstoreaccount1",
            ),
            (
                Service::Queue,
                "UseDevelopmentStorage=true".to_owned(),
                "http://127.0.0.1:10001/devstoreaccount1",
            ),
            (Service::Blob, format!("http://127.0.0.1:1/shop/files?{sas}"), "http://127.0.0.1:1/shop"),
            (
                Service::Blob,
                format!("https://shop.blob.example.org/files/a.txt?{sas}"),
                "https://shop.blob.example.org",
            ),
            (Service::Queue, format!("https://storage/shop?{sas}"), "https://storage/shop"),
        ] {
            let storage = Storage::connect(service, &text, None).unwrap();
            assert_eq!(storage.endpoint(), endpoint, "{text}");
            assert_eq!(storage.key().is_some(), text.starts_with("Use"));
            assert_eq!(storage.signature().is_some(), text.contains("sig="));
        }
    }

    #[test]
    fn unusable_strings_are_rejected_without_showing_secrets() {
        for (text, says) in [
            ("http://127.0.0.1:1/shop", "no shared access signature"),
            ("http://127.0.0.1:1/shop?sv=1", "'sig' is missing"),
            ("AccountName=shop;AccountKey=!secret!", "not valid Base64"),
            ("nonsense", "Name=value"),
        ] {
            let error = Storage::connect(Service::Blob, text, None).err().unwrap_or_default();
            assert!(error.contains(says) && !error.contains("secret!"), "{text}: {error}");
        }
    }
}
