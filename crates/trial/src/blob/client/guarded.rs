//! What a client does with the blob that holds, policies and keys protect.

use lazuli_probe::{Request, Response};

use super::block::value;
use super::kept::element;
use super::{Chooser, changed};
use crate::blob::record::guarded::{BlobSecret, GuardedBlob, OBJECT};
use crate::blob::record::{GuardedCall, Output};
use crate::blob::soak::content;
use crate::caller::TrialCaller;

const NAME: &str = "guarded";
/// 32 zero bytes, and their digest.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const KEY_SHA256: &str = "Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU=";
const SCOPE: &str = "trial-scope";
/// A time after every trial.
const UNTIL: &str = "Fri, 01 Jan 2100 00:00:00 GMT";

impl Chooser {
    pub(super) fn choose_guarded(&mut self) -> GuardedCall {
        match self.random.below(20) {
            0..4 => GuardedCall::Get { has_key: self.random.chance(50) },
            4..7 => GuardedCall::GetGuard,
            7..12 => GuardedCall::Put {
                number: self.next_number(),
                secret: *self.random.pick(&BlobSecret::ALL),
                condition: self.condition(OBJECT),
            },
            // More often the end of a protection, so that the blob can change.
            12..15 => GuardedCall::SetHold(self.random.chance(45)),
            15..18 => GuardedCall::SetPolicy(self.random.chance(45)),
            _ => GuardedCall::Delete { condition: self.condition_of_existing(OBJECT) },
        }
    }

    pub(super) fn guarded_request(&self, caller: &TrialCaller, call: &GuardedCall) -> Request {
        let path = self.path(NAME);
        match call {
            GuardedCall::Get { has_key } => {
                let request = caller.request("GET", &path);
                if *has_key { with_key(request) } else { request }
            }
            GuardedCall::GetGuard => {
                let query = "restype=container&comp=list&include=metadata,legalhold,immutabilitypolicy";
                caller.request("GET", &format!("/{}?{query}&prefix={NAME}", self.container))
            }
            GuardedCall::Put { number, secret, condition } => {
                let request = caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                let request = request.with("x-ms-meta-number", number.to_string());
                let request = match secret {
                    BlobSecret::None => request,
                    BlobSecret::Key => with_key(request),
                    BlobSecret::Scope => request.with("x-ms-encryption-scope", SCOPE),
                };
                self.under(request.body(content(u64::from(*number))), OBJECT, *condition)
            }
            GuardedCall::SetHold(has_hold) => {
                let request = caller.request("PUT", &format!("{path}?comp=legalhold"));
                request.with("x-ms-legal-hold", has_hold.to_string())
            }
            GuardedCall::SetPolicy(true) => {
                let request = caller.request("PUT", &format!("{path}?comp=immutabilityPolicies"));
                let request = request.with("x-ms-immutability-policy-until-date", UNTIL);
                request.with("x-ms-immutability-policy-mode", "Unlocked")
            }
            GuardedCall::SetPolicy(false) => {
                caller.request("DELETE", &format!("{path}?comp=immutabilityPolicies"))
            }
            GuardedCall::Delete { condition } => {
                self.under(caller.request("DELETE", &path), OBJECT, *condition)
            }
        }
    }

    pub(super) fn guarded_output(
        &mut self,
        call: &GuardedCall,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        Ok(match (call, response.status) {
            (GuardedCall::Get { .. }, 200) => {
                let value = value(&response.body)?;
                self.learn(OBJECT, value, response);
                Some(Output::Value(Some(value)))
            }
            (GuardedCall::Get { .. }, 404) => Some(Output::Value(None)),
            (GuardedCall::Get { .. }, 409) => Some(Output::Rejected),
            (GuardedCall::GetGuard, 200) => guard_in(&response.text()).map(Output::Guard),
            (GuardedCall::Get { .. } | GuardedCall::GetGuard, _) => None,
            (GuardedCall::Put { number, .. }, 201) => {
                self.learn(OBJECT, *number, response);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

fn with_key(request: Request) -> Request {
    let request = request.with("x-ms-encryption-key", KEY).with("x-ms-encryption-key-sha256", KEY_SHA256);
    request.with("x-ms-encryption-algorithm", "AES256")
}

/// The blob as a listing shows it; `None` if it is no such listing.
fn guard_in(text: &str) -> Option<Option<GuardedBlob>> {
    if !text.contains("<Blobs") {
        return None;
    }
    let Some((_, part)) = text.split_once("<Blob>") else { return Some(None) };
    let secret = match (element(part, "CustomerProvidedKeySha256"), element(part, "EncryptionScope")) {
        (None, None) => BlobSecret::None,
        (Some(KEY_SHA256), None) => BlobSecret::Key,
        (None, Some(SCOPE)) => BlobSecret::Scope,
        _ => return None,
    };
    Some(Some(GuardedBlob {
        number: element(part, "number")?.parse().ok()?,
        secret,
        has_hold: element(part, "LegalHold") == Some("true"),
        has_policy: element(part, "ImmutabilityPolicyMode").is_some(),
    }))
}
