//! The string to sign of the Table service.
//!
//! It is hashed piece by piece and never assembled.

use hmac::Mac;

use super::Scheme;
use crate::auth::{AccountKey, Signature, signature_text};

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedParts<'a> {
    /// The verb on the wire.
    pub method: &'a str,
    /// The `Content-MD5` header; empty if absent.
    pub content_md5: &'a str,
    /// The `Content-Type` header; empty if absent.
    pub content_type: &'a str,
    /// The date as sent.
    pub date: &'a str,
    /// The account, without `-secondary`.
    pub account: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The value of `comp`, decoded.
    pub comp: Option<&'a str>,
}

/// The signature of a request.
pub fn sign(key: &AccountKey, scheme: Scheme, parts: &SignedParts<'_>) -> Signature {
    digest(key, scheme, parts).finalize().into_bytes().into()
}

/// The value of the `Authorization` header that signs a request.
pub fn authorization(key: &AccountKey, scheme: Scheme, parts: &SignedParts<'_>) -> String {
    format!("{} {}:{}", scheme.name(), parts.account, signature_text(&sign(key, scheme, parts)))
}

pub(super) fn digest(key: &AccountKey, scheme: Scheme, parts: &SignedParts<'_>) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = key.begin();
    let mut line = |text: &str| {
        mac.update(text.as_bytes());
        mac.update(b"\n");
    };
    if scheme == Scheme::SharedKey {
        line(parts.method);
        line(parts.content_md5);
        line(parts.content_type);
    }
    line(parts.date);
    mac.update(b"/");
    mac.update(parts.account.as_bytes());
    mac.update(if parts.path.is_empty() { "/" } else { parts.path }.as_bytes());
    if let Some(comp) = parts.comp {
        mac.update(b"?comp=");
        mac.update(comp.as_bytes());
    }
    mac
}
