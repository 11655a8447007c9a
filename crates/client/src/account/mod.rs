//! Where an account is and who may use it: endpoints, credentials, connection strings.

mod connection_string;
mod credential;
mod endpoint;
mod sas;

pub use credential::{Credential, TokenProvider};
pub use endpoint::Endpoint;
pub use sas::{SasOptions, SasProtocol};

pub use lazuli_protocol::auth::{AccountKey, Scheme};

use std::str::FromStr;

use lazuli_protocol::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

use crate::error::{Error, Result};

/// An account of a table service: its endpoints and the right to use them.
///
/// ```
/// use lazuli_client::Account;
///
/// let account: Account = "UseDevelopmentStorage=true".parse()?;
/// assert_eq!(account.name(), Some("devstoreaccount1"));
/// assert_eq!(account.endpoint().as_str(), "http://127.0.0.1:10002/devstoreaccount1");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Account {
    name: Option<String>,
    primary: Endpoint,
    secondary: Option<Endpoint>,
    credential: Credential,
}

impl Account {
    /// An account with a name, at an endpoint.
    pub fn new(name: impl Into<String>, endpoint: Endpoint, credential: Credential) -> Self {
        Self { name: Some(name.into()), primary: endpoint, secondary: None, credential }
    }

    /// The development account of Lazuli and of Azurite, on this machine.
    pub fn development() -> Self {
        let endpoint = format!("http://127.0.0.1:10002/{DEVELOPMENT_ACCOUNT}");
        Self::development_at(&endpoint).expect("the endpoint is well formed")
    }

    /// The development account at another endpoint, such as `http://127.0.0.1:4711/devstoreaccount1`.
    pub fn development_at(endpoint: &str) -> Result<Self> {
        let primary: Endpoint = endpoint.parse()?;
        let secondary = format!("{}-secondary", primary.as_str()).parse()?;
        let credential = Credential::shared_key(DEVELOPMENT_KEY)?;
        Ok(Self::new(DEVELOPMENT_ACCOUNT, primary, credential).with_secondary(secondary))
    }

    /// What a URL with a shared access signature gives: `https://account.table.core.windows.net?sv=…&sig=…`.
    pub fn from_sas_url(url: &str) -> Result<Self> {
        let (endpoint, token) =
            url.split_once('?').ok_or_else(|| Error::input("the URL has no shared access signature"))?;
        let primary: Endpoint = endpoint.parse()?;
        Ok(Self { name: None, primary, secondary: None, credential: Credential::sas(token)? })
    }

    /// The same account with an endpoint that reads from its copy.
    pub fn with_secondary(mut self, endpoint: Endpoint) -> Self {
        self.secondary = Some(endpoint);
        self
    }

    /// The same account with another credential.
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    /// Its name; accounts known by a shared access signature alone need none.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.primary
    }

    /// Where its copy is read.
    pub fn secondary(&self) -> Option<&Endpoint> {
        self.secondary.as_ref()
    }

    /// The right to use it.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }
}

/// Reads a connection string.
impl FromStr for Account {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        connection_string::parse(text)
    }
}
