//! The right to use an account, in the four forms there are.

use std::fmt;
use std::sync::Arc;

use lazuli_protocol::address::Query;
use lazuli_protocol::auth::sas::Token;
use lazuli_protocol::auth::{AccountKey, Scheme};

use crate::error::{Error, Result};
use crate::transport::BoxFuture;

/// The right to use an account. Secrets never show in its debug form.
#[derive(Clone)]
pub enum Credential {
    /// A key of the account, with the way to sign. Tables are signed with [`Scheme::SharedKeyLite`] unless asked
    /// otherwise (AU-08).
    Key {
        /// The key.
        key: AccountKey,
        /// What is signed.
        scheme: Scheme,
    },
    /// A shared access signature: the query that is added to every URL.
    Sas(Arc<str>),
    /// Whoever can make bearer tokens.
    Bearer(Arc<dyn TokenProvider>),
    /// None: requests go out unsigned, for proxies that sign and for transports that need no signature.
    Anonymous,
}

/// Makes bearer tokens.
///
/// It is asked for every request that is sent, so it should remember its token until shortly before it expires.
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
    /// A token that is good now.
    fn token(&self) -> BoxFuture<'_, Result<String>>;
}

impl Credential {
    /// A key of the account, as the portal shows it, signing with Shared Key Lite.
    pub fn shared_key(base64: &str) -> Result<Self> {
        let key = AccountKey::from_base64(base64);
        let key = key.ok_or_else(|| Error::input("the account key is not Base64"))?;
        Ok(Self::Key { key, scheme: Scheme::SharedKeyLite })
    }

    /// The same with the longer text that Shared Key signs.
    pub fn shared_key_full(base64: &str) -> Result<Self> {
        match Self::shared_key(base64)? {
            Self::Key { key, .. } => Ok(Self::Key { key, scheme: Scheme::SharedKey }),
            other => Ok(other),
        }
    }

    /// A shared access signature, with or without the question mark in front.
    pub fn sas(token: &str) -> Result<Self> {
        let token = token.trim().trim_start_matches('?');
        if Token::parse(Query(token)).is_none() || token.bytes().any(|b| !b.is_ascii_graphic() || b == b'#') {
            return Err(Error::input("this is not a shared access signature: it has no 'sig'"));
        }
        Ok(Self::Sas(token.into()))
    }

    /// Whoever can make bearer tokens.
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
