//! Checks tokens as Azurite's `--oauth basic` does: their claims, but not their signature.
//!
//! Anyone can make such a token, so a server that accepts them protects nothing. It is meant for tests with
//! real tokens.

use lazuli_model::{DateTime, Service};
use serde_json::Value;

use super::{Roles, Token, TokenRejection};

/// The prefixes of the issuers of the public cloud and of the national clouds.
const ISSUERS: [&str; 4] = [
    "https://sts.windows.net/",
    "https://sts.microsoftonline.de/",
    "https://sts.chinacloudapi.cn/",
    "https://sts.windows-ppe.net",
];
/// The audience of all accounts: the address of the service, and its application id.
const AUDIENCES: [&str; 2] = ["https://storage.azure.com", "e406a681-f3d4-42a8-90b6-c2b029497af1"];
/// The domains of account addresses. Such an address is the audience of one account.
const DOMAINS: [&str; 4] =
    ["core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de"];

impl Token<'_> {
    /// The sender's rights if only the claims are checked: full access. Issuer, audience and times must be
    /// those that Azurite accepts.
    pub fn verify_claims(
        &self,
        service: Service,
        account: &str,
        now: DateTime,
    ) -> Result<Roles, TokenRejection> {
        if ["nbf", "iat"].iter().any(|name| !self.claims.contains_key(*name)) {
            return Err(TokenRejection::Malformed);
        }
        self.check_time(now)?;
        let issuer = self.claims.get("iss").and_then(Value::as_str).ok_or(TokenRejection::Issuer)?;
        if !ISSUERS.iter().any(|known| issuer.starts_with(known)) {
            return Err(TokenRejection::Issuer);
        }
        let own = DOMAINS.map(|domain| format!("https://{account}.{}.{domain}", service.label()));
        let audiences: Vec<String> = AUDIENCES.map(str::to_owned).into_iter().chain(own).collect();
        if !self.is_for(&audiences) {
            return Err(TokenRejection::Audience);
        }
        Ok(Roles::everything())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn verify(changed: &Value) -> Result<Roles, TokenRejection> {
        let mut claims = json!({
            "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/", "aud": "https://storage.azure.com",
            "iat": NOW, "nbf": NOW, "exp": NOW + 3600,
        });
        for (name, value) in changed.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}.bm8", part(&json!({ "alg": "HS256" })), part(&claims));
        let token = Token::parse(&text)?;
        token.verify_claims(Service::Blob, "shop", DateTime::from_unix(Duration::from_secs(NOW)))
    }

    #[test]
    fn claims_are_checked_and_signatures_are_not() {
        let granted = verify(&json!({})).unwrap();
        for service in Service::ALL {
            assert!(granted.permissions(service).allow("rd"), "{service:?}");
        }
        for good in [
            json!({ "aud": "https://storage.azure.com/" }),
            json!({ "aud": "e406a681-f3d4-42a8-90b6-c2b029497af1" }),
            json!({ "aud": "https://shop.blob.core.windows.net" }),
            json!({ "aud": "https://shop.blob.core.chinacloudapi.cn/", "iss": "https://sts.chinacloudapi.cn/x/" }),
        ] {
            assert!(verify(&good).is_ok(), "{good}");
        }
        for (bad, why) in [
            (json!({ "aud": "https://other.blob.core.windows.net" }), TokenRejection::Audience),
            (json!({ "aud": "https://shop.queue.core.windows.net" }), TokenRejection::Audience),
            (json!({ "aud": null }), TokenRejection::Audience),
            (json!({ "iss": "https://login.example.org/" }), TokenRejection::Issuer),
            (json!({ "iss": null }), TokenRejection::Issuer),
            (json!({ "exp": NOW - 3600 }), TokenRejection::Expired),
            (json!({ "nbf": NOW + 3600 }), TokenRejection::NotYetValid),
            (json!({ "exp": null }), TokenRejection::Malformed),
            (json!({ "nbf": null }), TokenRejection::Malformed),
            (json!({ "iat": null }), TokenRejection::Malformed),
        ] {
            assert_eq!(verify(&bad), Err(why), "{bad}");
        }
    }
}
