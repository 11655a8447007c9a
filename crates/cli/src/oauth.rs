//! The flags about bearer tokens.

use std::time::Duration;

use clap::Args;
use lazuli_protocol::auth::bearer::{Policy, ROLES_CLAIM};
use lazuli_server::oauth::{Jwks, PERIOD, Settings};

/// How often keys are fetched again if nothing is said; not so often that the issuer minds, and at least once a day.
const PERIOD_SECONDS: u32 = PERIOD.as_secs() as u32;
const PERIOD_SECONDS_MIN: i64 = 60;
const PERIOD_SECONDS_MAX: i64 = 24 * 60 * 60;

/// Whose tokens are accepted.
#[derive(Args)]
pub struct OauthArgs {
    /// Accept tokens of this issuer: `iss`, exactly as tokens have it
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_audience",
        requires = "oauth_jwks",
        value_parser = one_word
    )]
    oauth_issuer: Option<String>,

    /// For whom tokens are meant (`aud`), such as https://storage.azure.com; may be repeated
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word,
        value_delimiter = ','
    )]
    oauth_audience: Vec<String>,

    /// The issuer's keys (JWKS), read again on SIGHUP and when a token names an unknown one; from a URL also every
    /// --oauth-jwks-period
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    oauth_jwks: Option<Jwks>,

    /// Seconds after which keys from a URL are read again, at the latest: a key that was taken back is good for so long
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "oauth_issuer",
        default_value_t = PERIOD_SECONDS,
        value_parser = clap::value_parser!(u32).range(PERIOD_SECONDS_MIN..=PERIOD_SECONDS_MAX)
    )]
    oauth_jwks_period: u32,

    /// The claim with the roles
    #[arg(long, value_name = "NAME", default_value = ROLES_CLAIM)]
    oauth_roles_claim: String,

    /// Where clients are told to get tokens [default: made from the issuer]
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word
    )]
    oauth_authorization_uri: Option<String>,

    /// Accept tokens by plain http, where others can read and use them: for development
    #[arg(long, requires = "oauth_issuer")]
    oauth_allow_http: bool,
}

impl OauthArgs {
    /// What was asked for; nothing unless an issuer was named.
    pub fn settings(&self) -> Option<Settings> {
        let policy = Policy {
            issuer: self.oauth_issuer.clone()?,
            audiences: self.oauth_audience.clone(),
            roles_claim: self.oauth_roles_claim.clone(),
        };
        Some(Settings {
            policy,
            jwks: self.oauth_jwks.clone()?,
            authorization_uri: self.oauth_authorization_uri.clone(),
            allow_http: self.oauth_allow_http,
            period: Duration::from_secs(self.oauth_jwks_period.into()),
        })
    }
}

/// It becomes part of a header that clients split at blanks.
fn one_word(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic() && b != b',') {
        return Err("not a URL: visible ASCII without blanks or commas".into());
    }
    Ok(text.to_owned())
}
