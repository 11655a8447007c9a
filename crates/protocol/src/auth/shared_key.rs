//! Shared Key and Shared Key Lite, as the Table service defines them.
//!
//! The signed text is fed to the hash piece by piece; it is never built as a string.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;
use lazuli_model::error::Origin;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, Failure};

use super::{AccountKey, Signature};
use crate::address::Style;
use crate::{Address, Head};

/// How far the clocks of client and server may be apart.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 15 * 60;

/// Which of the two texts is signed.
///
/// ```
/// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
/// use lazuli_client::account::Scheme;
///
/// assert_ne!(Scheme::SharedKey, Scheme::SharedKeyLite);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Verb, MD5, content type, date and resource.
    SharedKey,
    /// Date and resource.
    SharedKeyLite,
}

/// What an `Authorization` header claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential<'a> {
    /// The scheme.
    pub scheme: Scheme,
    /// The account.
    pub account: &'a str,
    signature: Signature,
}

/// Reads the `Authorization` header: `None` if there is none.
pub fn credential<'a>(head: &Head<'a>) -> Result<Option<Credential<'a>>, Failure> {
    let Some(text) = head.get("authorization") else { return Ok(None) };
    parse(text).map(Some)
}

fn parse(text: &str) -> Result<Credential<'_>, Failure> {
    let malformed = || refuse(ErrorCode::InvalidAuthenticationInfo);
    let (scheme, rest) = text.trim().split_once(' ').ok_or_else(malformed)?;
    let scheme = match scheme {
        "SharedKey" => Scheme::SharedKey,
        "SharedKeyLite" => Scheme::SharedKeyLite,
        _ => return Err(malformed()),
    };
    let (account, signature) = rest.trim().split_once(':').ok_or_else(malformed)?;
    let bytes = STANDARD.decode(signature.trim()).map_err(|_| refuse(ErrorCode::AuthenticationFailed))?;
    let signature = bytes.try_into().map_err(|_| refuse(ErrorCode::AuthenticationFailed))?;
    Ok(Credential { scheme, account, signature })
}

/// What is signed of a request.
#[derive(Clone, Copy, Debug)]
pub struct SignedParts<'a> {
    /// The verb on the wire.
    pub method: &'a str,
    /// The `Content-MD5` header, or nothing.
    pub content_md5: &'a str,
    /// The `Content-Type` header, or nothing.
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
    let name = match scheme {
        Scheme::SharedKey => "SharedKey",
        Scheme::SharedKeyLite => "SharedKeyLite",
    };
    format!("{name} {}:{}", parts.account, super::signature_text(&sign(key, scheme, parts)))
}

fn digest(key: &AccountKey, scheme: Scheme, parts: &SignedParts<'_>) -> hmac::Hmac<sha2::Sha256> {
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

/// Checks the signature of a request against the keys of its account, in constant time.
///
/// AU-02 to AU-06. The date must be within [`CLOCK_SKEW_SECONDS_MAX`] of `now`.
pub fn verify(
    head: &Head<'_>,
    address: &Address<'_>,
    credential: &Credential<'_>,
    keys: &[AccountKey],
    now: DateTime,
) -> Result<(), Failure> {
    let failed = || refuse(ErrorCode::AuthenticationFailed);
    if credential.account != address.account {
        return Err(failed());
    }
    let date = head.get_filled("x-ms-date").or_else(|| head.get_filled("date")).ok_or_else(failed)?;
    let claimed = DateTime::parse_http(date).ok_or_else(failed)?;
    if claimed.ticks().abs_diff(now.ticks()) > CLOCK_SKEW_SECONDS_MAX * TICKS_PER_SECOND {
        return Err(failed());
    }
    let comp = address.query.get("comp");
    let parts = SignedParts {
        method: head.method,
        content_md5: head.get("content-md5").unwrap_or(""),
        content_type: head.get("content-type").unwrap_or(""),
        date,
        account: address.account,
        path: address.wire_path,
        comp: comp.as_deref(),
    };
    let matches = |parts: &SignedParts<'_>| {
        keys.iter()
            .any(|key| digest(key, credential.scheme, parts).verify_slice(&credential.signature).is_ok())
    };
    if matches(&parts) || other_paths(address).iter().any(|path| matches(&SignedParts { path, ..parts })) {
        return Ok(());
    }
    Err(failed())
}

/// Other forms of the path that clients sign: with and without `-secondary`, fully decoded, with escaped quotes.
fn other_paths(address: &Address<'_>) -> Vec<String> {
    let path = address.wire_path;
    let mut forms = Vec::new();
    if let Some(decoded) = crate::percent::decode(path).filter(|decoded| decoded != path) {
        forms.push(decoded.into_owned());
    }
    if path.contains('\'') {
        forms.push(path.replace('\'', "%27"));
    }
    if path.contains("%27") {
        forms.push(path.replace("%27", "'"));
    }
    if address.style == Style::Path && address.secondary {
        forms.push(format!("/{}{}", address.account, address.resource_path));
    }
    forms
}

fn refuse(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}

#[cfg(test)]
mod tests;
