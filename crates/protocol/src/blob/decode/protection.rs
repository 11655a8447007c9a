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
use super::blob::Plan;
use crate::Head;
use crate::blob::{condition, header};

const KEY: &str = "x-ms-encryption-key";
const KEY_SHA256: &str = "x-ms-encryption-key-sha256";
const ALGORITHM: &str = "x-ms-encryption-algorithm";
const UNTIL: &str = "x-ms-immutability-policy-until-date";

/// The encryption that the request names. The algorithm without a key means nothing: one client sent it for years.
pub(super) fn encryption(head: &Head<'_>) -> Result<Encryption, Failure> {
    let scope = header::text(head, "x-ms-encryption-scope");
    let Some(key) = bytes(head, KEY)? else {
        return if head.get_filled(KEY_SHA256).is_some() {
            Err(header::missing(KEY))
        } else {
            Ok(Encryption { key: None, scope })
        };
    };
    let sha256 = bytes(head, KEY_SHA256)?.ok_or_else(|| header::missing(KEY_SHA256))?;
    let algorithm = head.get_filled(ALGORITHM).ok_or_else(|| header::missing(ALGORITHM))?;
    if !algorithm.eq_ignore_ascii_case("AES256") {
        return Err(header::invalid(ALGORITHM, algorithm));
    }
    if <[u8; 32]>::from(Sha256::digest(key)) != sha256 {
        return Err(header::invalid(KEY_SHA256, head.get(KEY_SHA256).unwrap_or_default()));
    }
    Ok(Encryption { key: Some(CustomerKey { key, sha256 }), scope })
}

/// 32 bytes in Base64. The failure does not repeat the value, which may be a secret.
fn bytes(head: &Head<'_>, name: &'static str) -> Result<Option<[u8; 32]>, Failure> {
    let Some(text) = head.get_filled(name) else { return Ok(None) };
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(Some).ok_or_else(|| header::invalid(name, ""))
}

/// Immutability policy and legal hold that a write gives a blob.
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
pub(super) fn set_immutability(ask: &Ask<'_>) -> Result<Plan, Failure> {
    let policy = policy(ask.head)?.ok_or_else(|| header::missing(UNTIL))?;
    Ok(Plan::new(BlobAction::SetImmutability(policy), condition::write(ask.head)?))
}

/// Set Blob Legal Hold.
pub(super) fn legal_hold(ask: &Ask<'_>) -> Result<Plan, Failure> {
    let hold = header::flag(ask.head, "x-ms-legal-hold")?;
    let hold = hold.ok_or_else(|| header::missing("x-ms-legal-hold"))?;
    Plan::unconditional(ask, BlobAction::SetLegalHold(hold))
}

/// Set Blob Expiry.
pub(super) fn expiry(ask: &Ask<'_>) -> Result<Plan, Failure> {
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
    Plan::unconditional(ask, BlobAction::SetExpiry(expiry))
}
