//! The public keys of an issuer, as a JSON Web Key Set, and the check of signatures with them.
//!
//! Each key is of one kind, which determines the algorithm. Shared secrets are not loaded, so that a public key
//! can never be mistaken for one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use super::TokenRejection;

/// Maximum number of keys that are read from a set.
pub const KEYS_MAX: usize = 64;

/// The signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
}

impl Algorithm {
    /// Parses the name in a token or key. `none` and algorithms with shared secrets are not supported.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "RS384" => Some(Self::Rs384),
            "RS512" => Some(Self::Rs512),
            "ES256" => Some(Self::Es256),
            "ES384" => Some(Self::Es384),
            _ => None,
        }
    }
}

enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// A point on P-256.
    P256(Vec<u8>),
    /// A point on P-384.
    P384(Vec<u8>),
}

struct Key {
    id: Option<String>,
    /// The only algorithm that the key is for, if it names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// The public keys of an issuer.
pub struct KeySet(Vec<Key>);

/// The reason why a key set is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwksError {
    /// It is not JSON with a list of `keys`.
    Malformed,
    /// None of the keys can be used.
    NoKeys,
}

impl std::fmt::Display for JwksError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            JwksError::Malformed => "it is not a JSON Web Key Set",
            JwksError::NoKeys => "it contains no key for RS256, RS384, RS512, ES256 or ES384",
        })
    }
}

impl std::error::Error for JwksError {}

impl KeySet {
    /// No keys: every token is rejected.
    pub fn empty() -> Self {
        Self(Vec::new())
    }

    /// The keys of a JSON Web Key Set that can be used to check signatures.
    pub fn from_jwks(text: &[u8]) -> Result<Self, JwksError> {
        let value: Value = serde_json::from_slice(text).map_err(|_| JwksError::Malformed)?;
        let list = value.get("keys").and_then(Value::as_array).ok_or(JwksError::Malformed)?;
        let keys: Vec<Key> = list.iter().take(KEYS_MAX).filter_map(key).collect();
        if keys.is_empty() { Err(JwksError::NoKeys) } else { Ok(Self(keys)) }
    }

    /// Verifies a signature with the key of that id; without an id, with every key of the right kind.
    pub(super) fn verify(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        text: &[u8],
        signature: &[u8],
    ) -> Result<(), TokenRejection> {
        let mut rejection = TokenRejection::UnknownKey;
        let named = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id);
        for key in named {
            if key.algorithm.is_some_and(|only| only != algorithm) {
                rejection = TokenRejection::Algorithm;
                continue;
            }
            match key.material.verify(algorithm, text, signature) {
                Ok(()) => return Ok(()),
                Err(why) => rejection = why,
            }
        }
        Err(rejection)
    }
}

impl Material {
    fn verify(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> Result<(), TokenRejection> {
        let checked = match (self, algorithm) {
            (Material::Rsa(key), Algorithm::Rs256) => {
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, text, signature)
            }
            (Material::Rsa(key), Algorithm::Rs384) => {
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA384, text, signature)
            }
            (Material::Rsa(key), Algorithm::Rs512) => {
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA512, text, signature)
            }
            (Material::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(text, signature)
            }
            (Material::P384(point), Algorithm::Es384) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(text, signature)
            }
            _ => return Err(TokenRejection::Algorithm),
        };
        checked.map_err(|_| TokenRejection::Signature)
    }
}

/// A usable key; others are skipped, since issuers also publish keys for other purposes.
fn key(value: &Value) -> Option<Key> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if text("use").is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let algorithm = match text("alg") {
        None => None,
        Some(name) => Some(Algorithm::named(name)?),
    };
    let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
    let point = |bytes: usize| {
        let (x, y) = (number("x")?, number("y")?);
        (x.len() == bytes && y.len() == bytes).then(|| [&[4][..], &x, &y].concat())
    };
    let material = match (text("kty")?, text("crv")) {
        // Leading zeros are not allowed, but some issuers send them.
        ("RSA", _) => {
            Material::Rsa(RsaPublicKeyComponents { n: trimmed(number("n")?), e: trimmed(number("e")?) })
        }
        ("EC", Some("P-256")) => Material::P256(point(32)?),
        ("EC", Some("P-384")) => Material::P384(point(48)?),
        _ => return None,
    };
    Some(Key { id: text("kid").map(str::to_owned), algorithm, material })
}

fn trimmed(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number[zeros..].to_vec()
}
