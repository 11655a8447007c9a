//! The flags for bearer tokens.

use std::time::Duration;

use clap::{Args, ValueEnum};
use lazuli_protocol::auth::bearer::{Policy, ROLES_CLAIM};
use lazuli_server::oauth::{Jwks, OauthSettings, PERIOD};

/// The interval for fetching keys: default, maximum and minimum.
const PERIOD_SECONDS: u32 = PERIOD.as_secs() as u32;
const PERIOD_SECONDS_MIN: i64 = 60;
const PERIOD_SECONDS_MAX: i64 = 24 * 60 * 60;

/// A way to accept tokens without a real issuer. Anyone can create such tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Tokens of `lazuli token`, over plain http too
    Dev,
    /// Any token whose issuer, audience and times are those of Azure, over https only: signatures are not checked, as in Azurite
    Basic,
}

/// The tokens that the server accepts.
#[derive(Args)]
pub struct OauthArgs {
    /// For development: accept tokens that anyone can create, on loopback only unless --dev-account is given
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        ignore_case = true,
        num_args = 0..=1,
        default_missing_value = "basic",
        conflicts_with = "oauth_issuer"
    )]
    oauth: Option<Mode>,

    /// Accept tokens from this issuer; must equal the `iss` claim exactly
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_audience",
        requires = "oauth_jwks",
        value_parser = one_word
    )]
    oauth_issuer: Option<String>,

    /// Audience of tokens (`aud`), such as https://storage.azure.com; may be repeated
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word,
        value_delimiter = ','
    )]
    oauth_audience: Vec<String>,

    /// The issuer's keys (JWKS), reloaded on SIGHUP and when a token names an unknown key; from a URL also every
    /// --oauth-jwks-period
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer")]
    oauth_jwks: Option<Jwks>,

    /// Interval in seconds at which keys are reloaded from a URL; a revoked key stays valid for at most this time
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

    /// URL at which clients get tokens, sent in the WWW-Authenticate header [default: derived from the issuer]
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word
    )]
    oauth_authorization_uri: Option<String>,

    /// Accept tokens over plain http, where others can read and use them: for development
    #[arg(long, requires = "oauth_issuer")]
    oauth_allow_http: bool,
}

impl OauthArgs {
    /// The settings; `None` if no tokens are accepted.
    pub fn settings(&self) -> Option<OauthSettings> {
        match self.oauth {
            Some(Mode::Dev) => return Some(OauthSettings::development()),
            Some(Mode::Basic) => return Some(OauthSettings::basic()),
            None => {}
        }
        let policy = Policy {
            issuer: self.oauth_issuer.clone()?,
            audiences: self.oauth_audience.clone(),
            roles_claim: self.oauth_roles_claim.clone(),
        };
        Some(OauthSettings {
            policy,
            jwks: self.oauth_jwks.clone()?,
            authorization_uri: self.oauth_authorization_uri.clone(),
            allow_http: self.oauth_allow_http,
            period: Duration::from_secs(self.oauth_jwks_period.into()),
        })
    }
}

/// Rejects spaces and commas: the value becomes part of a header that clients split at these characters.
fn one_word(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic() && b != b',') {
        return Err("not a URL: expected visible ASCII without spaces or commas".into());
    }
    Ok(text.to_owned())
}
