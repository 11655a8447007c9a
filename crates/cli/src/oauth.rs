//! The flags about bearer tokens.

use clap::Args;
use lazuli_protocol::auth::bearer::{Policy, ROLES_CLAIM};
use lazuli_server::oauth::{Jwks, Settings};

/// Whose tokens are accepted.
#[derive(Args)]
pub struct OauthArgs {
    /// Accept tokens of this issuer: `iss`, exactly as tokens have it
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_audience",
        requires = "oauth_jwks",
        value_parser = one_word,
        env = "LAZULI_OAUTH_ISSUER"
    )]
    oauth_issuer: Option<String>,

    /// For whom tokens are meant (`aud`), such as https://storage.azure.com; may be repeated
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word,
        value_delimiter = ',',
        env = "LAZULI_OAUTH_AUDIENCE"
    )]
    oauth_audience: Vec<String>,

    /// The issuer's keys (JWKS), read again on SIGHUP and when a token names an unknown one
    #[arg(long, value_name = "FILE|URL", requires = "oauth_issuer", env = "LAZULI_OAUTH_JWKS")]
    oauth_jwks: Option<Jwks>,

    /// The claim with the roles
    #[arg(long, value_name = "NAME", default_value = ROLES_CLAIM, env = "LAZULI_OAUTH_ROLES_CLAIM")]
    oauth_roles_claim: String,

    /// Where clients are told to get tokens [default: made from the issuer]
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_issuer",
        value_parser = one_word,
        env = "LAZULI_OAUTH_AUTHORIZATION_URI"
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
