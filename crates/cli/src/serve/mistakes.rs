//! What is wrong with the settings of a server, as far as that can be told before it starts.
//!
//! Looks, and changes nothing: `lazuli config check` asks the same.

use std::fmt;

use lazuli_server::analytics::files;
use lazuli_server::oauth::Oauth;
use lazuli_server::tls::Tls;

use super::Serve;
use super::accounts::accounts_of_environment;

/// Something wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The key of the setting; `None` where the text says what it is about.
    pub key: Option<&'static str>,
    /// What is wrong.
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
    /// Everything that would keep a server with these settings from starting, or from doing all that they say.
    pub fn mistakes(&self) -> Vec<Mistake> {
        let refused = self.azurite.refusals().into_iter();
        let mut mistakes: Vec<_> = refused.map(|what| Mistake { key: None, what: what.into() }).collect();
        mistakes.extend(self.limits.too_little_memory().map(|what| Mistake::of("max-in-flight-mib", what)));
        if let Some(files) = self.named_certificate()
            && let Err(error) = Tls::open(files.clone())
        {
            let of_key = error.to_string().starts_with(&files.key.display().to_string());
            mistakes.push(Mistake::of(if of_key { "tls-key" } else { "tls-cert" }, error));
        }
        if let Some(Err(error)) = self.oauth.settings().map(|settings| Oauth::check(&settings.jwks)) {
            mistakes.push(Mistake::of("oauth-jwks", error));
        }
        if let Some(Err(error)) = self.analytics_dir.as_deref().map(files::check) {
            mistakes.push(Mistake::of("analytics-dir", error));
        }
        mistakes.extend(accounts_of_environment().err().map(|what| Mistake { key: None, what }));
        mistakes
    }
}
