//! Credentials for an account, of four kinds.

use std::fmt;
use std::sync::Arc;

use lazuli_protocol::auth::sas::Token;
use lazuli_protocol::auth::{AccountKey, Scheme};
use lazuli_protocol::http::query::Query;

use crate::error::{Error, Result};
use crate::transport::BoxFuture;

/// A credential for an account. Its debug output never shows secrets.
///
/// ```
/// use lazuli_client::{Account, Credential};
///
/// let endpoint = "https://shop.table.core.windows.net".parse()?;
/// let account = Account::new("shop", endpoint, Credential::shared_key("c2VjcmV0")?);
/// // The same account for a guest who may read one table.
/// let guest = account.with_credential(Credential::sas("sv=2019-02-02&tn=People&sp=r&sig=x")?);
/// assert_eq!(format!("{:?}", guest.credential()), "Sas(…)");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone)]
pub enum Credential {
    /// An account key with a signing scheme. Table requests are signed with [`Scheme::SharedKeyLite`] by default
    /// (AU-08).
    Key {
        /// The key.
        key: AccountKey,
        /// The signing scheme.
        scheme: Scheme,
    },
    /// A shared access signature: the query string added to every URL.
    Sas(Arc<str>),
    /// A provider of bearer tokens.
    Bearer(Arc<dyn TokenProvider>),
    /// None: requests are not signed, for proxies that sign and for transports that need no signature.
    Anonymous,
}

/// Provides bearer tokens.
///
/// It is called for every request, so it should cache its token until shortly before it expires.
///
/// ```
/// use lazuli_client::{Account, BoxFuture, Credential, Result, TokenProvider};
///
/// struct FromEnvironment;
///
/// impl TokenProvider for FromEnvironment {
///     fn token(&self) -> BoxFuture<'_, Result<String>> {
///         Box::pin(async { Ok(std::env::var("TOKEN").unwrap_or_default()) })
///     }
/// }
///
/// let endpoint = "https://shop.table.core.windows.net".parse()?;
/// let account = Account::new("shop", endpoint, Credential::bearer(FromEnvironment));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub trait TokenProvider: Send + Sync + 'static {
    /// A token that is valid now.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Account, BoxFuture, Credential, Result, TokenProvider};
    /// # use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    /// struct Counted(Arc<AtomicU32>);
    ///
    /// impl TokenProvider for Counted {
    ///     fn token(&self) -> BoxFuture<'_, Result<String>> {
    ///         Box::pin(async { Ok(format!("token-{}", self.0.fetch_add(1, Ordering::Relaxed))) })
    ///     }
    /// }
    ///
    /// let asked = Arc::new(AtomicU32::new(0));
    /// let endpoint = "https://embedded/devstoreaccount1".parse()?;
    /// let account = Account::new("devstoreaccount1", endpoint, Credential::bearer(Counted(asked.clone())));
    /// // It is called for each request; the service in memory accepts keys only and rejects the token.
    /// assert!(service.with_account(account).table_names().await.is_err());
    /// assert_eq!(asked.load(Ordering::Relaxed), 1);
    /// # Ok(()) })
    /// ```
    fn token(&self) -> BoxFuture<'_, Result<String>>;
}

impl Credential {
    /// An account key, as the portal shows it, signing with Shared Key Lite.
    ///
    /// ```
    /// # use lazuli_client::Credential;
    /// let key = Credential::shared_key("c2VjcmV0")?;
    /// assert_eq!(format!("{key:?}"), "Key(SharedKeyLite)");
    /// assert!(Credential::shared_key("no Base64!").is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn shared_key(base64: &str) -> Result<Self> {
        let key = AccountKey::from_base64(base64);
        let key = key.ok_or_else(|| Error::input("the account key is not valid Base64"))?;
        Ok(Self::Key { key, scheme: Scheme::SharedKeyLite })
    }

    /// Like [`Credential::shared_key`], signing with Shared Key.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Credential;
    /// let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    /// let account = service.account().clone().with_credential(Credential::shared_key_full(key)?);
    /// assert!(service.with_account(account).table_names().await?.is_empty());
    /// # Ok(()) })
    /// ```
    pub fn shared_key_full(base64: &str) -> Result<Self> {
        match Self::shared_key(base64)? {
            Self::Key { key, .. } => Ok(Self::Key { key, scheme: Scheme::SharedKey }),
            other => Ok(other),
        }
    }

    /// A shared access signature, with or without a leading question mark.
    ///
    /// ```
    /// # use lazuli_client::{Account, Credential, DateTime, SasOptions};
    /// let expiry = DateTime::parse("2030-01-01T00:00:00Z");
    /// let terms = SasOptions { expiry, permissions: "r".into(), ..SasOptions::default() };
    /// let token = Account::development().table_sas("People", &terms)?;
    /// assert!(Credential::sas(&format!("?{token}")).is_ok());
    /// assert!(Credential::sas("sv=2019-02-02&tn=People").is_err(), "the signature is missing");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn sas(token: &str) -> Result<Self> {
        let token = token.trim().trim_start_matches('?');
        if token.bytes().any(|b| !b.is_ascii_graphic() || b == b'#') {
            let text = "not a shared access signature: it has characters that are not valid in a URL";
            return Err(Error::input(text));
        }
        if Token::parse(Query(token)).is_none() {
            return Err(Error::input("not a shared access signature: 'sig' is missing"));
        }
        Ok(Self::Sas(token.into()))
    }

    /// A provider of bearer tokens.
    ///
    /// ```
    /// # use lazuli_client::{BoxFuture, Credential, Result, TokenProvider};
    /// /// A token that another program renews in a file.
    /// struct FromFile(std::path::PathBuf);
    ///
    /// impl TokenProvider for FromFile {
    ///     fn token(&self) -> BoxFuture<'_, Result<String>> {
    ///         let token = std::fs::read_to_string(&self.0);
    ///         Box::pin(async { token.map_err(|error| lazuli_client::Error::input(error.to_string())) })
    ///     }
    /// }
    ///
    /// let credential = Credential::bearer(FromFile("/run/token".into()));
    /// assert_eq!(format!("{credential:?}"), "Bearer(…)");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn bearer(provider: impl TokenProvider) -> Self {
        Self::Bearer(Arc::new(provider))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { scheme, .. } => write!(f, "Key({scheme:?})"),
            Self::Sas(_) => f.write_str("Sas(…)"),
            Self::Bearer(_) => f.write_str("Bearer(…)"),
            Self::Anonymous => f.write_str("Anonymous"),
        }
    }
}
