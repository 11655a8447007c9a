//! Lease actions, the same for blobs and containers.

use lazuli_model::blob::lease::{LeaseAction, LeaseDuration};
use lazuli_model::blob::limits::{LEASE_BREAK_SECONDS_MAX, LEASE_SECONDS_MAX, LEASE_SECONDS_MIN};
use lazuli_model::{Failure, Guid};

use super::{Ask, lease_id};
use crate::blob::header;
use crate::{ApiVersion, Head};

const DURATION: &str = "x-ms-lease-duration";
const PROPOSED: &str = "x-ms-proposed-lease-id";

/// The action in the headers.
pub(super) fn action(ask: &Ask<'_>) -> Result<LeaseAction, Failure> {
    let head = ask.head;
    let name = head.get_filled("x-ms-lease-action").ok_or_else(|| header::missing("x-ms-lease-action"))?;
    match name.to_ascii_lowercase().as_str() {
        "acquire" => {
            let proposed = header::guid(head, PROPOSED)?;
            Ok(LeaseAction::Acquire { proposed, duration: duration(ask)? })
        }
        "renew" => Ok(LeaseAction::Renew { id: own_id(head)? }),
        "change" => {
            let proposed = header::guid(head, PROPOSED)?.ok_or_else(|| header::missing(PROPOSED))?;
            Ok(LeaseAction::Change { id: own_id(head)?, proposed })
        }
        "release" => Ok(LeaseAction::Release { id: own_id(head)? }),
        "break" => {
            let period = header::value(head, "x-ms-lease-break-period", |text| {
                text.parse().ok().filter(|seconds| *seconds <= LEASE_BREAK_SECONDS_MAX)
            })?;
            Ok(LeaseAction::Break { period })
        }
        _ => Err(header::invalid("x-ms-lease-action", name)),
    }
}

fn own_id(head: &Head<'_>) -> Result<Guid, Failure> {
    lease_id(head)?.ok_or_else(|| header::missing("x-ms-lease-id"))
}

/// The duration: -1 for an infinite lease, else 15 to 60 seconds. Before 2012-02-12 all leases lasted a minute.
fn duration(ask: &Ask<'_>) -> Result<LeaseDuration, Failure> {
    let found = header::value(ask.head, DURATION, |text| match text.parse::<i64>().ok()? {
        -1 => Some(LeaseDuration::Infinite),
        seconds => u8::try_from(seconds)
            .ok()
            .filter(|seconds| (LEASE_SECONDS_MIN..=LEASE_SECONDS_MAX).contains(seconds))
            .map(LeaseDuration::Seconds),
    })?;
    match found {
        Some(duration) => Ok(duration),
        None if ask.version < ApiVersion::V2012_02_12 => Ok(LeaseDuration::Seconds(LEASE_SECONDS_MAX)),
        None => Err(header::missing(DURATION)),
    }
}
