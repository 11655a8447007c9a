//! Shared Key and Shared Key Lite: signatures of individual requests with a key of the account.
//!
//! The Table service has one string to sign ([`table`]), Blob and Queue have another ([`storage`]). A request that
//! matches neither the documented string nor a variant that known clients sign is rejected with
//! `AuthenticationFailed`.

mod storage;
mod table;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;
use lazuli_model::error::Origin;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, Failure, Service};

pub use table::{SignedParts, authorization, sign};

use super::{AccountKey, Signature, signature_text};
use crate::address::{Style, split_target};
use crate::http::query::Query;
use crate::{Address, ApiVersion, Head};

/// Maximum difference between the clocks of client and server.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 15 * 60;

/// Selects which of the two strings is signed.
///
/// ```
/// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
/// use lazuli_client::account::Scheme;
///
/// assert_ne!(Scheme::SharedKey, Scheme::SharedKeyLite);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Verb, headers, date and resource.
    SharedKey,
    /// Date and resource; for Blob and Queue also some headers.
    SharedKeyLite,
}

impl Scheme {
    /// The name in the `Authorization` header.
    ///
    /// ```
    /// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
    /// use lazuli_client::account::Scheme;
    ///
    /// assert_eq!(Scheme::SharedKeyLite.name(), "SharedKeyLite");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Scheme::SharedKey => "SharedKey",
            Scheme::SharedKeyLite => "SharedKeyLite",
        }
    }
}

/// The claim of an `Authorization` header, not verified yet.
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
    let malformed = || rejection(ErrorCode::InvalidAuthenticationInfo);
    let (scheme, rest) = text.trim().split_once(' ').ok_or_else(malformed)?;
    let scheme = match scheme {
        "SharedKey" => Scheme::SharedKey,
        "SharedKeyLite" => Scheme::SharedKeyLite,
        _ => return Err(malformed()),
    };
    let (account, signature) = rest.trim().split_once(':').ok_or_else(malformed)?;
    let signature = decode(signature.trim()).ok_or_else(|| rejection(ErrorCode::AuthenticationFailed))?;
    Ok(Credential { scheme, account, signature })
}

fn decode(text: &str) -> Option<Signature> {
    // The decoder needs room for every group of three bytes, padded or not.
    let mut space = [0; 36];
    let length = STANDARD.decode_slice(text, &mut space).ok()?;
    space.get(..length)?.try_into().ok()
}

/// The value of the `Authorization` header that signs a request of any service. `head` must have its date.
pub fn authorize(
    service: Service,
    scheme: Scheme,
    account: &str,
    key: &AccountKey,
    head: &Head<'_>,
) -> Result<String, Failure> {
    let (_, target) = split_target(head.target)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if service == Service::Table {
        let comp = Query(query).get("comp");
        let date = head.get_filled("x-ms-date").or_else(|| head.get_filled("date")).unwrap_or("");
        return Ok(authorization(key, scheme, &table_parts(head, account, path, date, comp.as_deref())));
    }
    let form = storage::Form::of(scheme, ApiVersion::of(head)?);
    let request = storage::Request::new(head, account, Query(query))?;
    let signature = key.sign(&request.text(form, &storage::Variant::documented(path)));
    Ok(format!("{} {account}:{}", scheme.name(), signature_text(&signature)))
}

/// Checks the signature of a request against the keys of its account, in constant time.
///
/// AU-02 to AU-06. The date must be within [`CLOCK_SKEW_SECONDS_MAX`] of `now`.
pub fn verify(
    service: Service,
    head: &Head<'_>,
    address: &Address<'_>,
    credential: &Credential<'_>,
    keys: &[AccountKey],
    now: DateTime,
) -> Result<(), Failure> {
    if credential.account != address.account {
        return Err(rejection(ErrorCode::AuthenticationFailed));
    }
    let date = check_date(head, now)?;
    match service {
        Service::Table => verify_table(head, address, credential, keys, date),
        Service::Blob | Service::Queue => verify_storage(head, address, credential, keys),
    }
}

/// The date that the request is signed with, if it is close enough to `now`.
fn check_date<'a>(head: &Head<'a>, now: DateTime) -> Result<&'a str, Failure> {
    let failed = |detail: String| failed_because(detail);
    let date = head.get_filled("x-ms-date").or_else(|| head.get_filled("date"));
    let date = date.ok_or_else(|| failed("Request date header not specified".into()))?;
    let claimed = DateTime::parse_http(date)
        .ok_or_else(|| failed(format!("Request date header not valid: '{date}'")))?;
    if claimed.ticks().abs_diff(now.ticks()) > CLOCK_SKEW_SECONDS_MAX * TICKS_PER_SECOND {
        return Err(failed(format!("Request date header too old: '{date}'")));
    }
    Ok(date)
}

fn verify_table(
    head: &Head<'_>,
    address: &Address<'_>,
    credential: &Credential<'_>,
    keys: &[AccountKey],
    date: &str,
) -> Result<(), Failure> {
    let comp = address.query.get("comp");
    let parts = table_parts(head, address.account, address.wire_path, date, comp.as_deref());
    let matches = |parts: &SignedParts<'_>| {
        keys.iter().any(|key| {
            table::digest(key, credential.scheme, parts).verify_slice(&credential.signature).is_ok()
        })
    };
    if matches(&parts) || other_paths(address).iter().any(|path| matches(&SignedParts { path, ..parts })) {
        return Ok(());
    }
    Err(rejection(ErrorCode::AuthenticationFailed))
}

fn table_parts<'a>(
    head: &Head<'a>,
    account: &'a str,
    path: &'a str,
    date: &'a str,
    comp: Option<&'a str>,
) -> SignedParts<'a> {
    SignedParts {
        method: head.method,
        content_md5: head.get("content-md5").unwrap_or(""),
        content_type: head.get("content-type").unwrap_or(""),
        date,
        account,
        path,
        comp,
    }
}

/// Tries the documented string first; most requests match it with the first key.
fn verify_storage(
    head: &Head<'_>,
    address: &Address<'_>,
    credential: &Credential<'_>,
    keys: &[AccountKey],
) -> Result<(), Failure> {
    let form = storage::Form::of(credential.scheme, ApiVersion::of(head)?);
    let request = storage::Request::new(head, address.account, address.query)?;
    let matches = |text: &str| keys.iter().any(|key| key.verifies(text, &credential.signature));
    let documented = request.text(form, &storage::Variant::documented(address.wire_path));
    if matches(&documented) {
        return Ok(());
    }
    let paths = other_paths(address);
    for (form, variant) in request.others(form, address.wire_path, &paths) {
        if matches(&request.text(form, &variant)) {
            return Ok(());
        }
    }
    let signature = signature_text(&credential.signature);
    Err(failed_because(format!(
        "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. Server used following string to sign: '{documented}'."
    )))
}

/// Alternative forms of the path that clients sign: with and without `-secondary`, fully decoded, with escaped
/// quotes.
fn other_paths(address: &Address<'_>) -> Vec<String> {
    let path = address.wire_path;
    let mut forms = Vec::new();
    if let Some(decoded) = crate::http::percent::decode(path).filter(|decoded| decoded != path) {
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

fn rejection(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}

/// `AuthenticationFailed` with the reason, which the errors of Blob and Queue contain.
fn failed_because(detail: String) -> Failure {
    rejection(ErrorCode::AuthenticationFailed).detail("AuthenticationErrorDetail", detail)
}

#[cfg(test)]
mod tests;
