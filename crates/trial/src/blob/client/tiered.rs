//! The operations of a client on the blob that moves between tiers.

use lazuli_probe::{Request, Response};

use super::block::value;
use super::{Chooser, changed, numeric};
use crate::blob::record::tiered::{ARCHIVE, OBJECT, TIERS, TieredBlob};
use crate::blob::record::{Output, TierCall};
use crate::blob::soak::content;
use crate::caller::TrialCaller;

impl Chooser {
    pub(super) fn choose_tier(&mut self) -> TierCall {
        let tier = self.random.below(TIERS.len());
        match self.random.below(20) {
            0..4 => TierCall::Get,
            4..8 => TierCall::GetTier,
            8..12 => {
                let (number, condition) = (self.next_number(), self.condition(OBJECT));
                // An archived blob is no longer useful.
                let tier = Some(tier).filter(|tier| *tier != ARCHIVE && self.random.chance(50));
                TierCall::Put { number, tier, condition }
            }
            12..16 => TierCall::SetTier { tier },
            _ => TierCall::Delete { condition: self.condition_of_existing(OBJECT) },
        }
    }

    pub(super) fn tier_request(&self, caller: &TrialCaller, call: &TierCall) -> Request {
        let path = self.path("tiered");
        match call {
            TierCall::Get => caller.request("GET", &path),
            TierCall::GetTier => caller.request("HEAD", &path),
            TierCall::Put { number, tier, condition } => {
                let request = caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                let request = request.with("x-ms-meta-number", number.to_string());
                let request = match tier {
                    Some(tier) => request.with("x-ms-access-tier", TIERS[*tier]),
                    None => request,
                };
                self.under(request.body(content(u64::from(*number))), OBJECT, *condition)
            }
            TierCall::SetTier { tier } => {
                caller.request("PUT", &format!("{path}?comp=tier")).with("x-ms-access-tier", TIERS[*tier])
            }
            TierCall::Delete { condition } => self.under(caller.request("DELETE", &path), OBJECT, *condition),
        }
    }

    pub(super) fn tier_output(
        &mut self,
        call: &TierCall,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        Ok(match (call, response.status) {
            (TierCall::Get, 200) => {
                let value = value(&response.body)?;
                self.learn(OBJECT, value, response);
                Some(Output::Value(Some(value)))
            }
            (TierCall::Get, 404) => Some(Output::Value(None)),
            (TierCall::Get, 409) => Some(Output::Rejected),
            (TierCall::GetTier, 200) => tier_in(response).map(|found| Output::Tier(Some(found))),
            (TierCall::GetTier, 404) => Some(Output::Tier(None)),
            (TierCall::Get | TierCall::GetTier, _) => None,
            (TierCall::Put { number, .. }, 201) => {
                self.learn(OBJECT, *number, response);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

/// The blob with its tier, from its properties; `None` if they are unexpected.
fn tier_in(response: &Response) -> Option<TieredBlob> {
    let named = |name: &str| TIERS.iter().position(|tier| tier.eq_ignore_ascii_case(name));
    let tier = named(response.header("x-ms-access-tier")?)?;
    let goes_to = match response.header("x-ms-archive-status") {
        Some(status) => Some(named(status.strip_prefix("rehydrate-pending-to-")?)?),
        None => None,
    };
    let is_inferred = response.header("x-ms-access-tier-inferred") == Some("true");
    if is_inferred && TIERS[tier] != "Hot" {
        return None;
    }
    let number = numeric(response, "x-ms-meta-number")?;
    Some(TieredBlob { number, tier: (!is_inferred).then_some(tier), goes_to })
}
