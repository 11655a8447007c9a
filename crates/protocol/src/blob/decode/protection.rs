//! Encryption headers, expiry, immutability policies and legal holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::operation::{BlobAction, Expiry};
use lazuli_model::blob::protection::{
    CustomerKey, Encryption, Immutability, ImmutabilityMode, ImmutabilityPolicy,
};
use lazuli_model::{DateTime, Failure};
use sha2::{Digest as _, Sha256};

use super::Ask;
use super::blob::BlobPlan;
use crate::Head;
use crate::blob::{condition, header};

/// The headers of a key: the key itself, its hash and the algorithm.
struct KeyHeaders {
    key: &'static str,
    sha256: &'static str,
    algorithm: &'static str,
}

const OWN: KeyHeaders = KeyHeaders {
    key: "x-ms-encryption-key",
    sha256: "x-ms-encryption-key-sha256",
    algorithm: "x-ms-encryption-algorithm",
};
const SOURCE: KeyHeaders = KeyHeaders {
    key: "x-ms-source-encryption-key",
    sha256: "x-ms-source-encryption-key-sha256",
    algorithm: "x-ms-source-encryption-algorithm",
};
const UNTIL: &str = "x-ms-immutability-policy-until-date";

/// The encryption that the request specifies.
pub(super) fn encryption(head: &Head<'_>) -> Result<Encryption, Failure> {
    Ok(Encryption { key: customer_key(head, &OWN)?, scope: header::text(head, "x-ms-encryption-scope") })
}

/// The key of the source of a copy.
pub(super) fn source_key(head: &Head<'_>) -> Result<Option<CustomerKey>, Failure> {
    customer_key(head, &SOURCE)
}

/// A key with its hash. An algorithm without a key is ignored, because old clients send it.
fn customer_key(head: &Head<'_>, names: &KeyHeaders) -> Result<Option<CustomerKey>, Failure> {
    let Some(key) = bytes(head, names.key)? else {
        return match head.get_filled(names.sha256) {
            Some(_) => Err(header::missing(names.key)),
            None => Ok(None),
        };
    };
    let sha256 = bytes(head, names.sha256)?.ok_or_else(|| header::missing(names.sha256))?;
    let algorithm = head.get_filled(names.algorithm).ok_or_else(|| header::missing(names.algorithm))?;
    if !algorithm.eq_ignore_ascii_case("AES256") {
        return Err(header::invalid(names.algorithm, algorithm));
    }
    if <[u8; 32]>::from(Sha256::digest(key)) != sha256 {
        return Err(header::invalid(names.sha256, head.get(names.sha256).unwrap_or_default()));
    }
    Ok(Some(CustomerKey { key, sha256 }))
}

/// 32 bytes in Base64. The failure does not repeat the value, which may be a secret.
fn bytes(head: &Head<'_>, name: &'static str) -> Result<Option<[u8; 32]>, Failure> {
    let Some(text) = head.get_filled(name) else { return Ok(None) };
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(Some).ok_or_else(|| header::invalid(name, ""))
}

/// The immutability policy and the legal hold that a write sets.
pub(super) fn immutability(head: &Head<'_>) -> Result<Immutability, Failure> {
    Ok(Immutability { policy: policy(head)?, legal_hold: header::flag(head, "x-ms-legal-hold")? })
}

fn policy(head: &Head<'_>) -> Result<Option<ImmutabilityPolicy>, Failure> {
    let mode = header::value(head, "x-ms-immutability-policy-mode", ImmutabilityMode::parse)?;
    let until = header::date(head, UNTIL)?;
    match (until, mode) {
        (Some(until), mode) => {
            Ok(Some(ImmutabilityPolicy { until, mode: mode.unwrap_or(ImmutabilityMode::Unlocked) }))
        }
        (None, Some(_)) => Err(header::missing(UNTIL)),
        (None, None) => Ok(None),
    }
}

/// Set Blob Immutability Policy.
pub(super) fn set_immutability(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let policy = policy(ask.head)?.ok_or_else(|| header::missing(UNTIL))?;
    Ok(BlobPlan::new(BlobAction::SetImmutability(policy), condition::write(ask.head)?))
}

/// Set Blob Legal Hold.
pub(super) fn legal_hold(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let hold = header::flag(ask.head, "x-ms-legal-hold")?;
    let hold = hold.ok_or_else(|| header::missing("x-ms-legal-hold"))?;
    BlobPlan::unconditional(ask, BlobAction::SetLegalHold(hold))
}

/// Set Blob Expiry.
pub(super) fn expiry(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    const OPTION: &str = "x-ms-expiry-option";
    const TIME: &str = "x-ms-expiry-time";
    let head = ask.head;
    let option = head.get_filled(OPTION).ok_or_else(|| header::missing(OPTION))?;
    let number = || header::number(head, TIME)?.ok_or_else(|| header::missing(TIME));
    let expiry = match option.to_ascii_lowercase().as_str() {
        "neverexpire" => Expiry::Never,
        "relativetocreation" => Expiry::AfterCreation(number()?),
        "relativetonow" => Expiry::FromNow(number()?),
        "absolute" => {
            let time = header::value(head, TIME, DateTime::parse_http)?;
            Expiry::At(time.ok_or_else(|| header::missing(TIME))?)
        }
        _ => return Err(header::invalid(OPTION, option)),
    };
    BlobPlan::unconditional(ask, BlobAction::SetExpiry(expiry))
}
