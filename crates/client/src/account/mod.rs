//! Accounts: endpoints, credentials, connection strings.
//!
//! ```
//! use lazuli_client::account::{Account, Credential};
//!
//! let account: Account = "AccountName=shop;AccountKey=c2VjcmV0".parse()?;
//! assert_eq!(account.endpoint().as_str(), "https://shop.table.core.windows.net");
//! // Debug output and logs do not show keys and tokens.
//! assert_eq!(format!("{:?}", account.credential()), "Key(SharedKeyLite)");
//! # Ok::<(), lazuli_client::Error>(())
//! ```

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
use lazuli_protocol::http::query::Query;

use crate::error::{Error, Result};

/// An account of a table service: its endpoints and a credential.
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
    ///
    /// ```
    /// # use lazuli_client::{Account, Credential};
    /// let endpoint = "https://tables.example/shop".parse()?;
    /// let account = Account::new("shop", endpoint, Credential::shared_key("c2VjcmV0")?);
    /// assert_eq!((account.name(), account.secondary()), (Some("shop"), None));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn new(name: impl Into<String>, endpoint: Endpoint, credential: Credential) -> Self {
        Self { name: Some(name.into()), primary: endpoint, secondary: None, credential }
    }

    /// The development account of Lazuli and Azurite, on this machine.
    ///
    /// ```
    /// # use lazuli_client::{Account, TableService};
    /// let account = Account::development();
    /// assert_eq!(account.endpoint().as_str(), "http://127.0.0.1:10002/devstoreaccount1");
    /// let service = TableService::new(account)?;
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn development() -> Self {
        let endpoint = format!("http://127.0.0.1:10002/{DEVELOPMENT_ACCOUNT}");
        Self::development_at(&endpoint).expect("the endpoint is well formed")
    }

    /// The development account at another endpoint, such as `http://127.0.0.1:4711/devstoreaccount1`.
    ///
    /// ```
    /// # use lazuli_client::Account;
    /// let account = Account::development_at("http://127.0.0.1:4711/devstoreaccount1")?;
    /// assert_eq!(account.name(), Some("devstoreaccount1"));
    /// assert!(account.secondary().is_some_and(|copy| copy.path() == "/devstoreaccount1-secondary"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn development_at(endpoint: &str) -> Result<Self> {
        let primary: Endpoint = endpoint.parse()?;
        let secondary = format!("{}-secondary", primary.as_str()).parse()?;
        let credential = Credential::shared_key(DEVELOPMENT_KEY)?;
        Ok(Self::new(DEVELOPMENT_ACCOUNT, primary, credential).with_secondary(secondary))
    }

    /// The account of a URL with a shared access signature:
    /// `https://account.table.core.windows.net?sv=…&sig=…`. The URL may be that of the table that the signature
    /// covers.
    ///
    /// ```
    /// # use lazuli_client::Account;
    /// let account = Account::from_sas_url("https://shop.table.core.windows.net/?sv=2019-02-02&tn=People&sig=x%3D")?;
    /// assert_eq!(account.endpoint().as_str(), "https://shop.table.core.windows.net");
    /// assert_eq!(account.name(), None);
    /// let of_table = Account::from_sas_url("http://127.0.0.1:10002/shop/People?sv=2019-02-02&tn=people&sig=x%3D")?;
    /// assert_eq!(of_table.endpoint().as_str(), "http://127.0.0.1:10002/shop");
    /// assert!(Account::from_sas_url("https://shop.table.core.windows.net").is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn from_sas_url(url: &str) -> Result<Self> {
        let (endpoint, token) =
            url.split_once('?').ok_or_else(|| Error::input("the URL has no shared access signature"))?;
        let mut primary: Endpoint = endpoint.parse()?;
        if let Some(table) = Query(token).get("tn") {
            primary = primary.without_table(&table);
        }
        Ok(Self { name: None, primary, secondary: None, credential: Credential::sas(token)? })
    }

    /// The same account with a secondary endpoint for reads.
    ///
    /// ```
    /// # use lazuli_client::{Account, ReadFrom, TableService};
    /// let account = Account::development().with_secondary("http://copy.example/devstoreaccount1".parse()?);
    /// assert!(account.secondary().is_some_and(|copy| copy.authority() == "copy.example"));
    /// let service = TableService::builder(account).read_from(ReadFrom::PrimaryThenSecondary).build()?;
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn with_secondary(mut self, endpoint: Endpoint) -> Self {
        self.secondary = Some(endpoint);
        self
    }

    /// The same account with another credential.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Credential;
    /// let stranger = service.account().clone().with_credential(Credential::shared_key("d3Jvbmc=")?);
    /// let rejected = service.with_account(stranger).table_names().await.unwrap_err();
    /// assert_eq!(rejected.status(), Some(403));
    /// # Ok(()) })
    /// ```
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    /// Its name; an account known only by a shared access signature has none.
    ///
    /// ```
    /// # use lazuli_client::Account;
    /// assert_eq!(Account::development().name(), Some("devstoreaccount1"));
    /// let guest = Account::from_sas_url("https://shop.table.core.windows.net?sv=2019-02-02&sig=x")?;
    /// assert_eq!(guest.name(), None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its endpoint.
    ///
    /// ```
    /// # use lazuli_client::Account;
    /// let account: Account = "AccountName=shop;AccountKey=c2VjcmV0;EndpointSuffix=example.net".parse()?;
    /// assert_eq!(account.endpoint().as_str(), "https://shop.table.example.net");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn endpoint(&self) -> &Endpoint {
        &self.primary
    }

    /// The endpoint of its secondary.
    ///
    /// ```
    /// # use lazuli_client::{Account, Endpoint};
    /// let account: Account = "AccountName=shop;AccountKey=c2VjcmV0".parse()?;
    /// let copy = account.secondary().map(Endpoint::as_str);
    /// assert_eq!(copy, Some("https://shop-secondary.table.core.windows.net"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn secondary(&self) -> Option<&Endpoint> {
        self.secondary.as_ref()
    }

    /// Its credential.
    ///
    /// ```
    /// # use lazuli_client::{Account, Credential};
    /// let account: Account = "TableEndpoint=http://127.0.0.1:1/shop".parse()?;
    /// assert!(matches!(account.credential(), Credential::Anonymous), "the string has no key");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn credential(&self) -> &Credential {
        &self.credential
    }
}

/// Parses a connection string.
impl FromStr for Account {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        connection_string::parse(text)
    }
}
