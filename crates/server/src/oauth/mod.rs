//! Bearer tokens of a configured issuer: its keys, kept up to date, and the challenge for clients without a valid token.
//!
//! Anyone can send a token that names an unknown key. Such a token makes the server fetch new keys, but at most
//! once per [`REFETCH_EVERY`], and one request at a time. A key that the issuer no longer publishes remains
//! valid for at most one more period: see [`keep_fresh`].

pub mod development;
mod fetch;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use lazuli_model::{DateTime, Service};
use lazuli_protocol::auth::bearer::{KeySet, Policy, ROLES_CLAIM, Roles, Token, TokenRejection};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::entropy;
use crate::tls::regular;
pub use fetch::Url;

/// Minimum time between two fetches of new keys, regardless of the tokens that arrive.
const REFETCH_EVERY: Duration = Duration::from_secs(30);
/// Default interval for fetching the keys that an issuer publishes.
pub const PERIOD: Duration = Duration::from_secs(60 * 60);
/// Maximum size of a key set, which normally takes kilobytes.
const JWKS_BYTES_MAX: usize = 256 * 1024;

/// The source of the issuer's keys, a JSON Web Key Set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jwks {
    /// In a file.
    File(PathBuf),
    /// The URL at which the issuer publishes them.
    Url(Url),
    /// The key that [`development::token`] signs with.
    Development,
    /// No keys: tokens are accepted by their claims, without checking their signatures.
    Unchecked,
}

impl FromStr for Jwks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") { text.parse().map(Jwks::Url) } else { Ok(Jwks::File(text.into())) }
    }
}

impl fmt::Display for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Jwks::File(path) => path.display().fmt(f),
            Jwks::Url(url) => url.fmt(f),
            Jwks::Development => f.write_str("the development key"),
            Jwks::Unchecked => f.write_str("no keys"),
        }
    }
}

/// The accepted issuer and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthSettings {
    /// The claims of a valid token.
    pub policy: Policy,
    /// The source of the issuer's keys.
    pub jwks: Jwks,
    /// URL of the challenge, where clients get tokens; derived from the issuer by default.
    pub authorization_uri: Option<String>,
    /// Accept tokens over plain HTTP, where others can read them.
    pub allow_http: bool,
    /// Maximum interval for fetching keys from a URL.
    pub period: Duration,
}

impl OauthSettings {
    /// Accepts tokens that [`development::token`] makes, even over plain HTTP: anyone can make such a token, so
    /// none is secret.
    pub fn development() -> Self {
        Self { jwks: Jwks::Development, allow_http: true, ..Self::basic() }
    }

    /// Accepts tokens as Azurite's `--oauth basic` does: by their claims, over https only.
    pub fn basic() -> Self {
        let policy = Policy {
            issuer: development::ISSUER.into(),
            audiences: vec![development::AUDIENCE.into()],
            roles_claim: ROLES_CLAIM.into(),
        };
        Self { policy, jwks: Jwks::Unchecked, authorization_uri: None, allow_http: false, period: PERIOD }
    }

    /// Can anyone make a token that is accepted?
    pub fn is_public(&self) -> bool {
        matches!(self.jwks, Jwks::Development | Jwks::Unchecked)
    }
}

/// Loads and holds the keys of an issuer.
pub struct Oauth {
    settings: OauthSettings,
    challenge: String,
    keys: RwLock<Arc<KeySet>>,
    /// The time of the last fetch that was caused by a token. The lock is held during such a fetch.
    looked: Mutex<Option<Stopwatch>>,
}

impl Oauth {
    /// Reads the keys. A file must be valid; an issuer that does not respond now may do so later.
    pub async fn open(settings: OauthSettings) -> io::Result<Self> {
        let challenge = challenge(&settings);
        let keys = RwLock::new(Arc::new(KeySet::empty()));
        let oauth = Self { settings, challenge, keys, looked: Mutex::new(None) };
        match (oauth.reload().await, &oauth.settings.jwks) {
            (Err(error), Jwks::Url(_)) => {
                tracing::warn!(%error, "failed to load the keys for bearer tokens; tokens are rejected until they load");
            }
            (Err(error), _) => return Err(error),
            (Ok(()), _) => {}
        }
        Ok(oauth)
    }

    /// Are the keys available? Only files are checked: an issuer may be unavailable for a while.
    pub fn check(jwks: &Jwks) -> io::Result<()> {
        match jwks {
            Jwks::File(path) => keys_of(jwks, read_small(path)).map(drop),
            _ => Ok(()),
        }
    }

    /// The `WWW-Authenticate` of a rejection.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }

    /// Are tokens accepted over plain HTTP?
    pub fn allows_http(&self) -> bool {
        self.settings.allow_http
    }

    /// The rights of a token's sender in an account.
    pub async fn verify(
        &self,
        token: &str,
        service: Service,
        account: &str,
        now: DateTime,
    ) -> Result<Roles, TokenRejection> {
        let token = Token::parse(token)?;
        if self.settings.jwks == Jwks::Unchecked {
            return token.verify_claims(service, account, now);
        }
        let keys = self.keys();
        match token.verify(&keys, &self.settings.policy, account, now) {
            Err(TokenRejection::UnknownKey) => {}
            decided => return decided,
        }
        self.look_for_new(&keys).await;
        token.verify(&self.keys(), &self.settings.policy, account, now)
    }

    /// Reloads the keys. On failure, keeps the previous ones.
    pub async fn reload(&self) -> io::Result<()> {
        let _looked = self.looked.lock().await;
        self.read().await
    }

    /// Reloads the keys, unless that was done in the meantime or recently.
    async fn look_for_new(&self, seen: &Arc<KeySet>) {
        let mut looked = self.looked.lock().await;
        let recently = looked.is_some_and(|watch| watch.elapsed() < REFETCH_EVERY);
        if recently || !Arc::ptr_eq(seen, &self.keys()) {
            return;
        }
        *looked = Some(Stopwatch::start());
        match self.read().await {
            Ok(()) => {
                tracing::info!(jwks = %self.settings.jwks, "reloaded the keys for bearer tokens")
            }
            Err(error) => {
                tracing::error!(%error, "failed to reload the keys for bearer tokens; keeping the previous ones")
            }
        }
    }

    async fn read(&self) -> io::Result<()> {
        let source = &self.settings.jwks;
        let text = match source {
            Jwks::File(path) => read_file(path.clone()).await,
            Jwks::Url(url) => fetch::get(url, JWKS_BYTES_MAX).await,
            Jwks::Development => Ok(development::jwks().into()),
            Jwks::Unchecked => return Ok(()),
        };
        let keys = keys_of(source, text)?;
        *self.keys.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(keys);
        Ok(())
    }

    fn keys(&self) -> Arc<KeySet> {
        self.keys.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// Reloads the keys that an issuer publishes until the server stops, so that revoked keys expire. While the issuer does
/// not respond, the previous keys stay valid. Keys in a file are reloaded only when the operator asks.
pub async fn keep_fresh(oauth: Arc<Oauth>, mut stopped: watch::Receiver<bool>) {
    if !matches!(oauth.settings.jwks, Jwks::Url(_)) {
        return;
    }
    while timeout(pause(oauth.settings.period), stopped.wait_for(|stop| *stop)).await.is_err() {
        let read = tokio::select! {
            read = oauth.reload() => read,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        if let Err(error) = read {
            tracing::error!(%error, "failed to reload the keys for bearer tokens; keeping the previous ones");
        }
    }
}

/// A random time slightly shorter than a period, so that servers that were started together do not fetch at the
/// same time.
fn pause(period: Duration) -> Duration {
    let [chance] = entropy::random::<1>().unwrap_or_default();
    period - period * u32::from(chance) / 1024
}

/// Parses a key set; errors name its source.
fn keys_of(source: &Jwks, text: io::Result<Vec<u8>>) -> io::Result<KeySet> {
    let named = |why: String| io::Error::other(format!("{source}: {why}"));
    let text = text.map_err(|error| named(error.to_string()))?;
    KeySet::from_jwks(&text).map_err(|error| named(error.to_string()))
}

async fn read_file(path: PathBuf) -> io::Result<Vec<u8>> {
    tokio::task::spawn_blocking(move || read_small(&path)).await.map_err(io::Error::other)?
}

fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    regular(path)?;
    File::open(path)?.take(JWKS_BYTES_MAX as u64).read_to_end(&mut text)?;
    Ok(text)
}

/// The format is that of Azure: SDKs split it at spaces, and take the tenant from the path of the first URL and
/// the scope from the second.
fn challenge(settings: &OauthSettings) -> String {
    let issuer = settings.policy.issuer.trim_end_matches('/');
    let authority = issuer.strip_suffix("/v2.0").unwrap_or(issuer);
    let made = || format!("{authority}/oauth2/authorize");
    let uri = settings.authorization_uri.clone().unwrap_or_else(made);
    let audience = settings.policy.audiences.first().map_or("", |audience| audience.trim_end_matches('/'));
    format!("Bearer authorization_uri={uri} resource_id={audience}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges() {
        let check = |issuer: &str, uri: Option<&str>, expected: &str| {
            let policy = Policy {
                issuer: issuer.into(),
                audiences: vec!["https://a/".into()],
                roles_claim: String::new(),
            };
            let jwks = Jwks::File("x".into());
            let settings = OauthSettings {
                policy,
                jwks,
                authorization_uri: uri.map(str::to_owned),
                allow_http: false,
                period: PERIOD,
            };
            let expected = format!("Bearer authorization_uri={expected} resource_id=https://a");
            assert_eq!(challenge(&settings), expected);
        };
        check("https://l/t/v2.0", None, "https://l/t/oauth2/authorize");
        check("https://sts.example.org/t/", None, "https://sts.example.org/t/oauth2/authorize");
        check("https://l/t/v2.0", Some("https://other/x"), "https://other/x");
    }

    #[test]
    fn pauses_are_a_little_less_than_a_period() {
        for _ in 0..100 {
            assert!((PERIOD * 3 / 4..=PERIOD).contains(&pause(PERIOD)));
        }
    }

    #[test]
    fn sources() {
        assert_eq!("keys.json".parse(), Ok(Jwks::File("keys.json".into())));
        assert!(matches!("https://l/keys".parse(), Ok(Jwks::Url(_))));
        assert!("ftp://l/keys".parse::<Jwks>().is_err());
    }
}
