//! Leases of blobs and containers: the stored form, the five states that follow from it and the clock, and what lease
//! operations and other operations may do in each state.
//!
//! Time is an argument and expiry is absolute, so a lease means the same after a restart. The state is never
//! stored: an expired lease is kept until something replaces it, so it can still be renewed.

use crate::time::TICKS_PER_SECOND;
use crate::{DateTime, ErrorCode, Failure, Guid};

/// A stored lease. A resource without a lease is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The id that its holder sends with requests.
    pub id: Guid,
    /// How it ends.
    pub term: Term,
}

/// How a lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// Not by itself.
    Infinite,
    /// At a time.
    Fixed {
        /// The duration that each renewal grants again.
        seconds: u8,
        /// When it expires.
        until: DateTime,
    },
    /// It was broken, but is still active for a while.
    Breaking {
        /// The time at which it ends.
        until: DateTime,
    },
    /// It was broken.
    Broken,
}

/// The state of a lease, as shown to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeaseState {
    /// There is none.
    #[default]
    Available,
    /// It is held.
    Leased,
    /// It has expired; its id is kept.
    Expired,
    /// It is broken, but still locks the resource.
    Breaking,
    /// It is broken; its id is kept.
    Broken,
}

impl LeaseState {
    /// The name in headers and listings.
    pub const fn name(self) -> &'static str {
        match self {
            LeaseState::Available => "available",
            LeaseState::Leased => "leased",
            LeaseState::Expired => "expired",
            LeaseState::Breaking => "breaking",
            LeaseState::Broken => "broken",
        }
    }

    /// Does it lock the resource?
    pub const fn is_locked(self) -> bool {
        matches!(self, LeaseState::Leased | LeaseState::Breaking)
    }
}

/// The lease as shown in responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseView {
    /// The state.
    pub state: LeaseState,
    /// Is it infinite? Known only while it is held.
    pub is_infinite: Option<bool>,
}

/// The duration in a request to acquire a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseDuration {
    /// Without end.
    Infinite,
    /// 15 to 60 seconds.
    Seconds(u8),
}

/// An operation on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// Take it.
    Acquire {
        /// The id that the client proposes; otherwise the server generates one.
        proposed: Option<Guid>,
        /// For how long.
        duration: LeaseDuration,
    },
    /// Restart its clock.
    Renew {
        /// The id of the lease.
        id: Guid,
    },
    /// Give it another id.
    Change {
        /// The id of the lease.
        id: Guid,
        /// The new id.
        proposed: Guid,
    },
    /// Give it back.
    Release {
        /// The id of the lease.
        id: Guid,
    },
    /// End it without its id.
    Break {
        /// Maximum seconds that it still holds, at most 60; by default the remaining time.
        period: Option<u8>,
    },
}

/// The response to an operation on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseReply {
    /// It was acquired under this id.
    Acquired(Guid),
    /// It was renewed.
    Renewed(Guid),
    /// The new id.
    Changed(Guid),
    /// It is free.
    Released,
    /// It was broken; it holds for this number of whole seconds.
    Broken(u32),
}

/// The kind of leased resource: it determines error codes and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leased {
    /// A blob.
    Blob,
    /// A container.
    Container,
}

/// The way in which an operation uses a leased resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// It changes the resource: needs the id of an active lease.
    Write,
    /// It is allowed without a lease id, but an id in the request must be that of the active lease.
    Read,
}

impl Lease {
    /// The state at `now`.
    pub fn state(&self, now: DateTime) -> LeaseState {
        match self.term {
            Term::Infinite => LeaseState::Leased,
            Term::Fixed { until, .. } if now < until => LeaseState::Leased,
            Term::Fixed { .. } => LeaseState::Expired,
            Term::Breaking { until } if now < until => LeaseState::Breaking,
            Term::Breaking { .. } | Term::Broken => LeaseState::Broken,
        }
    }

    /// The state of a resource with this lease, or without one.
    pub fn state_of(lease: Option<&Lease>, now: DateTime) -> LeaseState {
        lease.map_or(LeaseState::Available, |lease| lease.state(now))
    }

    /// The view for responses.
    pub fn view(lease: Option<&Lease>, now: DateTime) -> LeaseView {
        let state = Self::state_of(lease, now);
        let is_infinite =
            lease.filter(|_| state == LeaseState::Leased).map(|lease| lease.term == Term::Infinite);
        LeaseView { state, is_infinite }
    }

    fn held(id: Guid, duration: LeaseDuration, now: DateTime) -> Self {
        let term = match duration {
            LeaseDuration::Infinite => Term::Infinite,
            LeaseDuration::Seconds(seconds) => Term::Fixed { seconds, until: after(now, seconds) },
        };
        Self { id, term }
    }

    fn renewed(&self, now: DateTime) -> Self {
        match self.term {
            Term::Fixed { seconds, .. } => Self::held(self.id, LeaseDuration::Seconds(seconds), now),
            _ => *self,
        }
    }

    /// The time at which it stops locking, if that is known.
    fn until(&self) -> Option<DateTime> {
        match self.term {
            Term::Fixed { until, .. } | Term::Breaking { until } => Some(until),
            Term::Infinite | Term::Broken => None,
        }
    }
}

/// The result of a lease operation: the lease to store, and the response.
pub type LeaseOutcome = (Option<Lease>, LeaseReply);

/// Applies an operation to the lease of a resource. `fresh` is the id for an acquisition that proposes none.
///
/// For a blob, every write without lease id removes a lease that has expired or is broken ([`check`] says
/// when). So a lease that is still stored can be renewed: the blob has not been changed since then.
pub fn apply(
    leased: Leased,
    lease: Option<&Lease>,
    action: &LeaseAction,
    now: DateTime,
    fresh: Guid,
) -> Result<LeaseOutcome, Failure> {
    let Some(lease) = lease else { return apply_to_available(leased, action, now, fresh) };
    let state = lease.state(now);
    match *action {
        LeaseAction::Acquire { proposed, duration } => {
            acquire(leased, lease, state, proposed, duration, now, fresh)
        }
        LeaseAction::Renew { id } => match state {
            _ if lease.id != id => Err(failure(leased, ErrorCode::LeaseIdMismatchWithLeaseOperation)),
            LeaseState::Leased | LeaseState::Expired => {
                Ok((Some(lease.renewed(now)), LeaseReply::Renewed(id)))
            }
            _ => Err(failure(leased, ErrorCode::LeaseIsBrokenAndCannotBeRenewed)),
        },
        LeaseAction::Change { id, proposed } => change(leased, lease, state, id, proposed),
        LeaseAction::Release { id } if lease.id == id => Ok((None, LeaseReply::Released)),
        LeaseAction::Release { .. } => Err(failure(leased, ErrorCode::LeaseIdMismatchWithLeaseOperation)),
        LeaseAction::Break { period } => Ok(broken(lease, state, period, now)),
    }
}

fn apply_to_available(
    leased: Leased,
    action: &LeaseAction,
    now: DateTime,
    fresh: Guid,
) -> Result<LeaseOutcome, Failure> {
    match *action {
        LeaseAction::Acquire { proposed, duration } => {
            let id = proposed.unwrap_or(fresh);
            Ok((Some(Lease::held(id, duration, now)), LeaseReply::Acquired(id)))
        }
        LeaseAction::Renew { .. } | LeaseAction::Release { .. } => {
            Err(failure(leased, ErrorCode::LeaseIdMismatchWithLeaseOperation))
        }
        LeaseAction::Change { .. } | LeaseAction::Break { .. } => {
            Err(failure(leased, ErrorCode::LeaseNotPresentWithLeaseOperation))
        }
    }
}

fn acquire(
    leased: Leased,
    lease: &Lease,
    state: LeaseState,
    proposed: Option<Guid>,
    duration: LeaseDuration,
    now: DateTime,
    fresh: Guid,
) -> Result<LeaseOutcome, Failure> {
    let is_same = proposed == Some(lease.id);
    match state {
        LeaseState::Leased if !is_same => Err(failure(leased, ErrorCode::LeaseAlreadyPresent)),
        LeaseState::Breaking if is_same => {
            Err(failure(leased, ErrorCode::LeaseIsBreakingAndCannotBeAcquired))
        }
        LeaseState::Breaking => Err(failure(leased, ErrorCode::LeaseAlreadyPresent)),
        _ => {
            let id = proposed.unwrap_or(fresh);
            Ok((Some(Lease::held(id, duration, now)), LeaseReply::Acquired(id)))
        }
    }
}

/// Changing to the id that the lease already has succeeds with any current id in the request, which then counts
/// as a repetition.
fn change(
    leased: Leased,
    lease: &Lease,
    state: LeaseState,
    id: Guid,
    proposed: Guid,
) -> Result<LeaseOutcome, Failure> {
    match state {
        LeaseState::Leased if lease.id == id || lease.id == proposed => {
            Ok((Some(Lease { id: proposed, ..*lease }), LeaseReply::Changed(proposed)))
        }
        LeaseState::Leased => Err(failure(leased, ErrorCode::LeaseIdMismatchWithLeaseOperation)),
        LeaseState::Breaking if lease.id == id || lease.id == proposed => {
            Err(failure(leased, ErrorCode::LeaseIsBreakingAndCannotBeChanged))
        }
        LeaseState::Breaking => Err(failure(leased, ErrorCode::LeaseIdMismatchWithLeaseOperation)),
        _ => Err(failure(leased, ErrorCode::LeaseNotPresentWithLeaseOperation)),
    }
}

fn broken(lease: &Lease, state: LeaseState, period: Option<u8>, now: DateTime) -> LeaseOutcome {
    let at_once = (Some(Lease { term: Term::Broken, ..*lease }), LeaseReply::Broken(0));
    if !state.is_locked() {
        return at_once;
    }
    let until = match (period.map(|seconds| after(now, seconds)), lease.until()) {
        (Some(wanted), Some(own)) => wanted.min(own),
        (Some(until), None) | (None, Some(until)) => until,
        (None, None) => now,
    };
    if until <= now {
        return at_once;
    }
    let seconds = (until.ticks() - now.ticks()) / TICKS_PER_SECOND;
    let reply = LeaseReply::Broken(u32::try_from(seconds).unwrap_or(u32::MAX));
    (Some(Lease { term: Term::Breaking { until }, ..*lease }), reply)
}

/// May an operation with the lease id `id` use a resource with that lease? If so, returns whether the change
/// removes the lease: a write without an id removes a lease that is no longer active.
pub fn check(
    leased: Leased,
    lease: Option<&Lease>,
    usage: Use,
    id: Option<Guid>,
    now: DateTime,
) -> Result<Keep, Failure> {
    let state = Lease::state_of(lease, now);
    let is_own = id.is_some() && lease.map(|lease| lease.id) == id;
    let of_kind = |blob, container| match leased {
        Leased::Blob => blob,
        Leased::Container => container,
    };
    match (state, id, usage) {
        (LeaseState::Leased | LeaseState::Breaking, Some(_), _) if is_own => Ok(Keep::Lease),
        (LeaseState::Leased | LeaseState::Breaking, Some(_), _) => Err(failure(
            leased,
            of_kind(
                ErrorCode::LeaseIdMismatchWithBlobOperation,
                ErrorCode::LeaseIdMismatchWithContainerOperation,
            ),
        )),
        (LeaseState::Leased | LeaseState::Breaking, None, Use::Write) => {
            Err(failure(leased, ErrorCode::LeaseIdMissing))
        }
        (LeaseState::Expired | LeaseState::Broken, Some(_), _) if is_own => {
            Err(failure(leased, ErrorCode::LeaseLost))
        }
        (_, Some(_), _) => Err(failure(
            leased,
            of_kind(
                ErrorCode::LeaseNotPresentWithBlobOperation,
                ErrorCode::LeaseNotPresentWithContainerOperation,
            ),
        )),
        (LeaseState::Expired | LeaseState::Broken, None, Use::Write) => Ok(Keep::Nothing),
        (_, None, _) => Ok(Keep::Lease),
    }
}

/// The effect of a permitted operation on the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The lease stays unchanged.
    Lease,
    /// The lease is no longer active and is removed.
    Nothing,
}

/// The failure with the message for a blob or a container.
pub fn failure(leased: Leased, code: ErrorCode) -> Failure {
    if leased == Leased::Blob || !code.message().contains(" blob") {
        return code.into();
    }
    Failure::new(code, code.message().replace(" blob", " container"))
}

fn after(now: DateTime, seconds: u8) -> DateTime {
    let ticks = now.ticks() + u64::from(seconds) * TICKS_PER_SECOND;
    DateTime::from_ticks(ticks).unwrap_or(DateTime::MAX)
}

#[cfg(test)]
mod tests;
