//! Mistakes in the settings of a server that can be found before it starts.
//!
//! The checks change nothing: `lazuli config check` runs the same ones.

use std::fmt;

use lazuli_server::oauth::Oauth;
use lazuli_server::tls::Tls;

use super::Serve;
use super::accounts::accounts_of_environment;
use crate::engine_url::{EngineUrl, ONLY_DATABASES};

/// A mistake in a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The key of the setting; `None` if the message names it.
    pub key: Option<&'static str>,
    /// The mistake.
    pub what: String,
}

impl Mistake {
    fn of(key: &'static str, what: impl fmt::Display) -> Self {
        Self { key: Some(key), what: what.to_string() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Some(key) => write!(f, "--{key}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Serve {
    /// The error if the server accepts tokens that anyone can create although other machines can reach it. When
    /// started as Azurite, an explicit host counts as consent, as for the development account.
    fn exposed_tokens(&self) -> Option<String> {
        let is_public = self.oauth.settings().is_some_and(|settings| settings.is_public());
        let host = self.host(&self.config(&self.engine_url()));
        let is_meant = self.dev_account || self.azurite.program.is_some() && self.azurite.names_host();
        (is_public && !host.is_loopback() && !is_meant).then(|| {
            format!(
                "anyone who reaches {host} could create a token and use every account; pass --dev-account to accept this, or \
                 --oauth-issuer to trust an issuer whose signatures are checked"
            )
        })
    }

    /// All mistakes that would keep a server from starting, or a setting from taking effect.
    pub fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        mistakes.extend(self.limits.too_little_memory().map(|what| Mistake::of("max-in-flight-mib", what)));
        if self.content.is_some() && !matches!(self.engine_url(), EngineUrl::Postgres(_)) {
            mistakes.push(Mistake::of("content", ONLY_DATABASES));
        }
        mistakes.extend(self.blobs.repeated_target().map(|what| Mistake::of("events", what)));
        if let Some(files) = self.named_certificate()
            && let Err(error) = Tls::open(files.clone())
        {
            // A PFX file contains both the certificate and the key.
            let is_pem = files.password.is_none();
            let of_key = is_pem && error.to_string().starts_with(&files.key.display().to_string());
            mistakes.push(Mistake::of(if of_key { "tls-key" } else { "tls-cert" }, error));
        }
        mistakes.extend(self.exposed_tokens().map(|what| Mistake::of("oauth", what)));
        if let Some(Err(error)) = self.oauth.settings().map(|settings| Oauth::check(&settings.jwks)) {
            mistakes.push(Mistake::of("oauth-jwks", error));
        }
        mistakes.extend(accounts_of_environment().err().map(|what| Mistake { key: None, what }));
        mistakes
    }
}
