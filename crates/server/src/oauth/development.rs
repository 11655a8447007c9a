//! Tokens for development and tests: an issuer whose private key is public, like the key of the development
//! account.
//!
//! A server accepts them only if configured to (`--oauth dev`). They have the issuer and the audience that Azurite's
//! `--oauth basic` accepts, so they work there too.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::entropy;

/// The tenant of all development tokens.
pub const TENANT: &str = "00000000-0000-0000-0000-000000000000";
/// The issuer of development tokens.
pub const ISSUER: &str = "https://sts.windows.net/00000000-0000-0000-0000-000000000000/";
/// Their audience.
pub const AUDIENCE: &str = "https://storage.azure.com";
/// The private key, which is not secret: PKCS#8, P-256.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjRKdDwGlBM78DNLMnleN7OA6rhW1rx+D9qDziYS1DQahRANCAAQmSTx2so82IHEaCNxDqAhs2Ya25c7XO07Mz6FC2vuIvaLHtxFV0W064jxjJE7BJk7105tEpZbg2KNooD0+3cL1";
const KEY_ID: &str = "lazuli-development";
/// Bytes of a coordinate of the public key.
const COORDINATE_BYTES: usize = 32;

/// Signs claims.
pub fn token(claims: &Value) -> io::Result<String> {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({ "alg": "ES256", "kid": KEY_ID, "typ": "JWT" });
    let signed = format!("{}.{}", part(&header), part(claims));
    let signature = pair()?.sign(&entropy::generator(), signed.as_bytes()).map_err(failed)?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The public key, as a JSON Web Key Set.
pub fn jwks() -> String {
    let Ok(pair) = pair() else { return String::new() };
    let point = pair.public_key().as_ref();
    let (x, y) = point.get(1..).unwrap_or_default().split_at(COORDINATE_BYTES.min(point.len() - 1));
    let [x, y] = [x, y].map(|number| URL_SAFE_NO_PAD.encode(number));
    json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "sig", "kid": KEY_ID, "x": x, "y": y }] })
        .to_string()
}

fn pair() -> io::Result<EcdsaKeyPair> {
    let key = STANDARD.decode(KEY).map_err(failed)?;
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &entropy::generator()).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("the development token cannot be signed: {error}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lazuli_model::{DateTime, Service};
    use lazuli_protocol::auth::bearer::TokenRejection;

    use super::*;
    use crate::oauth::{Oauth, OauthSettings};

    const NOW: u64 = 1_800_000_000;

    fn claims() -> Value {
        json!({ "iss": ISSUER, "aud": AUDIENCE, "iat": NOW, "nbf": NOW, "exp": NOW + 60, "roles": ["Storage Queue Data Reader"] })
    }

    /// Development tokens are accepted if this is enabled, and pass the claims check.
    #[tokio::test]
    async fn development_tokens_are_accepted() {
        let token = token(&claims()).unwrap();
        let now = DateTime::from_unix(Duration::from_secs(NOW));
        for settings in [OauthSettings::development(), OauthSettings::basic()] {
            assert!(settings.is_public());
            let oauth = Oauth::open(settings).await.unwrap();
            oauth.reload().await.unwrap();
            let roles = oauth.verify(&token, Service::Queue, "shop", now).await.unwrap();
            assert!(roles.permissions(Service::Queue).allow("r"));
        }
        let oauth = Oauth::open(OauthSettings::development()).await.unwrap();
        let roles = oauth.verify(&token, Service::Blob, "shop", now).await.unwrap();
        assert!(!roles.permissions(Service::Blob).allow("r"), "the roles count");
        let (signed, _) = token.rsplit_once('.').unwrap();
        let forged = format!("{signed}.{}", URL_SAFE_NO_PAD.encode([7; 64]));
        let verified = oauth.verify(&forged, Service::Blob, "shop", now).await;
        assert_eq!(verified, Err(TokenRejection::Signature));
    }
}
