//! Bearer tokens: JSON Web Tokens signed by an issuer that the configuration names.
//!
//! No claim is used before the signature is verified. The key, not the token, determines the algorithm: a token
//! cannot select a weaker check, or none.

mod basic;
mod keys;

pub use keys::{JwksError, KeySet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lazuli_model::{DateTime, Permissions, Service};
use serde_json::{Map, Value};

use crate::Head;
use keys::Algorithm;

/// Maximum length of a token.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Maximum difference between the clocks of issuer and server.
pub const CLOCK_SKEW_SECONDS_MAX: i64 = 60;
/// The default claim for roles.
pub const ROLES_CLAIM: &str = "roles";

/// The roles of each service, with the letters of a shared access signature with the same permissions. For
/// tables, the letter `w` permits setting the service properties and creating tables, nothing else. The letter
/// `k` permits requesting user delegation keys; no signature can grant it. On Azure, the roles for blobs
/// include that right, and those for queues do not. A role may be followed by a slash and the name of the one
/// account that it is for.
const ROLES: [(&str, Service, &str); 14] = [
    ("Storage Table Data Reader", Service::Table, "rl"),
    ("Storage Table Data Contributor", Service::Table, "rlaucdw"),
    ("Table.Read", Service::Table, "rl"),
    ("Table.Write", Service::Table, "auc"),
    ("Table.Delete", Service::Table, "d"),
    ("Storage Queue Data Reader", Service::Queue, "rl"),
    ("Storage Queue Data Contributor", Service::Queue, "rlacudpw"),
    ("Storage Queue Data Message Processor", Service::Queue, "rp"),
    ("Storage Queue Data Message Sender", Service::Queue, "a"),
    ("Storage Queue Delegator", Service::Queue, DELEGATE),
    ("Storage Blob Data Reader", Service::Blob, "rlk"),
    ("Storage Blob Data Contributor", Service::Blob, "racwdxlk"),
    ("Storage Blob Data Owner", Service::Blob, "racwdxyltfik"),
    ("Storage Blob Delegator", Service::Blob, DELEGATE),
];

/// The letter of the right to request user delegation keys, which only roles grant.
pub const DELEGATE: &str = "k";

/// The token of a request, if it carries one.
pub fn token_of<'a>(head: &Head<'a>) -> Option<&'a str> {
    let (scheme, token) = head.get("authorization")?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The tokens that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The issuer, exactly as in its tokens.
    pub issuer: String,
    /// The accepted audiences, with or without a slash at the end.
    pub audiences: Vec<String>,
    /// The claim that holds the roles.
    pub roles_claim: String,
}

/// The reason why a token is rejected, for the log. The client sees only the reasons that have a
/// [`TokenRejection::detail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRejection {
    /// It is not a token in the compact form, or a part of it cannot be parsed.
    Malformed,
    /// Its algorithm is not accepted, or it is not signed.
    Algorithm,
    /// It names an unknown key.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It has another issuer.
    Issuer,
    /// It is for another audience.
    Audience,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
}

impl TokenRejection {
    /// The part of the reason that Azure sends to the client: errors in claims, which the client can read.
    pub fn detail(self) -> Option<&'static str> {
        match self {
            TokenRejection::Issuer => Some("Issuer validation failed. Issuer did not match."),
            TokenRejection::Audience => Some("Audience validation failed. Audience did not match."),
            TokenRejection::Expired => Some("Lifetime validation failed. The token is expired."),
            TokenRejection::NotYetValid => Some("Lifetime validation failed. The token is not yet valid."),
            TokenRejection::Malformed
            | TokenRejection::Algorithm
            | TokenRejection::UnknownKey
            | TokenRejection::Signature => None,
        }
    }
}

impl std::fmt::Display for TokenRejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TokenRejection::Malformed => "it is not a valid JSON Web Token",
            TokenRejection::Algorithm => "its signature algorithm is not supported",
            TokenRejection::UnknownKey => "it names a key that is not in the issuer's key set",
            TokenRejection::Signature => "its signature is wrong",
            TokenRejection::Issuer => "it is from another issuer",
            TokenRejection::Audience => "it is for another audience",
            TokenRejection::Expired => "it has expired",
            TokenRejection::NotYetValid => "it is not valid yet",
        })
    }
}

/// The rights that the roles of a token grant, by service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles([Permissions; Service::ALL.len()]);

impl Roles {
    /// The rights in a service, as letters of a shared access signature.
    pub fn permissions(self, service: Service) -> Permissions {
        self.0[service.index()]
    }

    /// The rights of every combination of roles that includes [`DELEGATE`]: a user delegation key is issued
    /// with one of these sets, and a server that verifies a signature tries all of them. There are few of them,
    /// since most roles include others.
    pub fn delegable(service: Service) -> Vec<Permissions> {
        let mut sets = vec![Permissions::default()];
        for (_, of, letters) in &ROLES {
            for set in sets.clone() {
                let with = set.or(Permissions::of(letters));
                if *of == service && !sets.contains(&with) {
                    sets.push(with);
                }
            }
        }
        sets.retain(|set| set.allow(DELEGATE));
        sets
    }

    /// The rights of all roles together.
    fn everything() -> Self {
        ROLES
            .iter()
            .map(|(_, service, letters)| Roles::of(*service, letters))
            .fold(Roles::default(), Roles::with)
    }

    fn of(service: Service, letters: &str) -> Self {
        let mut roles = Self::default();
        roles.0[service.index()] = Permissions::of(letters);
        roles
    }

    fn with(self, other: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].or(other.0[index])))
    }
}

/// The claims of a token that request logs contain. Claims that the token does not have are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The id of the user or application to which it was issued.
    pub object_id: String,
    /// The tenant.
    pub tenant: String,
    /// The id of the application that requested it.
    pub application: String,
    /// The audience, or the first of several.
    pub audience: String,
    /// The issuer.
    pub issuer: String,
    /// The name of the user.
    pub user_principal_name: String,
}

impl Identity {
    /// The identity in a token, which must be verified.
    pub fn of(token: &str) -> Option<Self> {
        let Token { claims, .. } = Token::parse(token).ok()?;
        let claim = |names: &[&str]| {
            let found = names.iter().find_map(|name| match claims.get(*name)? {
                Value::Array(list) => list.first()?.as_str(),
                one => one.as_str(),
            });
            found.unwrap_or_default().to_owned()
        };
        Some(Self {
            object_id: claim(&["oid"]),
            tenant: claim(&["tid"]),
            // The claim names in tokens of versions 1.0 and 2.0.
            application: claim(&["appid", "azp"]),
            audience: claim(&["aud"]),
            issuer: claim(&["iss"]),
            user_principal_name: claim(&["upn", "preferred_username"]),
        })
    }
}

/// A parsed token that has not been verified.
pub struct Token<'a> {
    /// The algorithm; `None` if it is not accepted, or the token is not signed.
    algorithm: Option<Algorithm>,
    key_id: Option<String>,
    /// The part of the token that the signature covers.
    signed: &'a str,
    signature: Vec<u8>,
    claims: Map<String, Value>,
}

impl<'a> Token<'a> {
    /// Splits the compact form: header, claims and signature, separated by dots.
    pub fn parse(text: &'a str) -> Result<Self, TokenRejection> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(TokenRejection::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenRejection::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenRejection::Malformed)?;
        let header = object(header)?;
        // It has a critical extension that is not supported.
        if header.contains_key("crit") {
            return Err(TokenRejection::Malformed);
        }
        let algorithm = header.get("alg").and_then(Value::as_str).ok_or(TokenRejection::Malformed)?;
        let algorithm = Algorithm::named(algorithm);
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenRejection::Malformed),
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenRejection::Malformed)?;
        Ok(Self { algorithm, key_id, signed, signature, claims: object(claims)? })
    }

    /// The sender's rights in an account. Checks the signature first, then the claims.
    pub fn verify(
        &self,
        keys: &KeySet,
        policy: &Policy,
        account: &str,
        now: DateTime,
    ) -> Result<Roles, TokenRejection> {
        let algorithm = self.algorithm.ok_or(TokenRejection::Algorithm)?;
        keys.verify(self.key_id.as_deref(), algorithm, self.signed.as_bytes(), &self.signature)?;
        if self.claims.get("iss").and_then(Value::as_str) != Some(&policy.issuer) {
            return Err(TokenRejection::Issuer);
        }
        if !self.is_for(&policy.audiences) {
            return Err(TokenRejection::Audience);
        }
        self.check_time(now)?;
        Ok(self.roles(&policy.roles_claim, account))
    }

    fn is_for(&self, audiences: &[String]) -> bool {
        let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).to_owned();
        let known = |value: &Value| {
            value.as_str().is_some_and(|given| audiences.iter().any(|known| bare(known) == bare(given)))
        };
        match self.claims.get("aud") {
            Some(Value::Array(list)) => list.iter().any(known),
            Some(one) => known(one),
            None => false,
        }
    }

    /// A token without an expiry is rejected.
    fn check_time(&self, now: DateTime) -> Result<(), TokenRejection> {
        let now = now.unix_seconds();
        let end = seconds(self.claims.get("exp").ok_or(TokenRejection::Malformed)?)?;
        if now >= end.saturating_add(CLOCK_SKEW_SECONDS_MAX) {
            return Err(TokenRejection::Expired);
        }
        match self.claims.get("nbf").map(seconds).transpose()? {
            Some(start) if now.saturating_add(CLOCK_SKEW_SECONDS_MAX) < start => {
                Err(TokenRejection::NotYetValid)
            }
            _ => Ok(()),
        }
    }

    /// The object id and the tenant of the user, if the claims contain them. The token must be verified.
    pub fn user(&self) -> (&str, &str) {
        let claim = |name| self.claims.get(name).and_then(Value::as_str).unwrap_or_default();
        (claim("oid"), claim("tid"))
    }

    /// The roles are a list of strings, or a string with one role, or with several separated by spaces.
    fn roles(&self, claim: &str, account: &str) -> Roles {
        let of = |text: &str| role(text, account);
        match self.claims.get(claim) {
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).filter_map(of).fold(Roles::default(), Roles::with)
            }
            Some(Value::String(text)) => {
                let several = text.split(' ').filter_map(of).fold(Roles::default(), Roles::with);
                of(text).unwrap_or_default().with(several)
            }
            _ => Roles::default(),
        }
    }
}

fn role(text: &str, account: &str) -> Option<Roles> {
    let name = match text.split_once('/') {
        Some((name, of)) if of == account => name,
        Some(_) => return None,
        None => text,
    };
    ROLES.iter().find(|(known, ..)| *known == name).map(|(_, service, letters)| Roles::of(*service, letters))
}

fn object(part: &str) -> Result<Map<String, Value>, TokenRejection> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenRejection::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenRejection::Malformed)
}

/// A time in a token: seconds since 1970, possibly with a fraction.
fn seconds(value: &Value) -> Result<i64, TokenRejection> {
    match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => Ok(whole),
        // A number outside the range of i64 becomes the nearest i64.
        (None, Some(number)) => Ok(number as i64),
        (None, None) => Err(TokenRejection::Malformed),
    }
}

#[cfg(test)]
mod tests;
