//! Both documented tables of lease behaviour, cell by cell.

use super::*;

const A: Guid = Guid([0xA; 16]);
const B: Guid = Guid([0xB; 16]);
const C: Guid = Guid([0xC; 16]);
const X: Guid = Guid([0xF; 16]);

fn at(seconds: u64) -> DateTime {
    DateTime::from_ticks(600_000_000 * TICKS_PER_SECOND + seconds * TICKS_PER_SECOND).unwrap()
}

const NOW: u64 = 100;

/// The states of the tables at `NOW`, with id A. The held lease has 30 of 60 seconds left, the breaking one 10.
fn states() -> [(LeaseState, Option<Lease>); 5] {
    let lease = |term| Some(Lease { id: A, term });
    [
        (LeaseState::Available, None),
        (LeaseState::Leased, lease(Term::Fixed { seconds: 60, until: at(NOW + 30) })),
        (LeaseState::Breaking, lease(Term::Breaking { until: at(NOW + 10) })),
        (LeaseState::Broken, lease(Term::Broken)),
        (LeaseState::Expired, lease(Term::Fixed { seconds: 60, until: at(NOW) })),
    ]
}

type Cell = Result<(Option<(Guid, LeaseState, Option<u64>)>, LeaseReply), ErrorCode>;

/// The outcome of an action in each state: id, state and seconds left of the lease, and the response.
fn row(leased: Leased, action: LeaseAction) -> [Cell; 5] {
    states().map(|(_, lease)| {
        let (after, reply) =
            apply(leased, lease.as_ref(), &action, at(NOW), X).map_err(|failure| failure.code)?;
        let view = after.map(|lease| {
            let left = lease.until().map(|until| (until.ticks() - at(NOW).ticks()) / TICKS_PER_SECOND);
            (lease.id, lease.state(at(NOW)), left)
        });
        Ok((view, reply))
    })
}

fn held(id: Guid, seconds: u64, reply: LeaseReply) -> Cell {
    Ok((Some((id, LeaseState::Leased, Some(seconds))), reply))
}

fn broken(seconds: u32) -> Cell {
    let state = if seconds == 0 { LeaseState::Broken } else { LeaseState::Breaking };
    let left = (seconds > 0).then_some(u64::from(seconds));
    Ok((Some((A, state, left)), LeaseReply::Broken(seconds)))
}

/// Columns of the tables.
#[test]
fn states_follow_from_the_clock() {
    for (state, lease) in states() {
        assert_eq!(Lease::state_of(lease.as_ref(), at(NOW)), state);
    }
    let breaking = Lease { id: A, term: Term::Breaking { until: at(NOW) } };
    assert_eq!(breaking.state(at(NOW)), LeaseState::Broken);
    let infinite = Lease { id: A, term: Term::Infinite };
    assert_eq!(infinite.state(DateTime::MAX), LeaseState::Leased);
    assert_eq!(Lease::view(Some(&infinite), at(0)).is_infinite, Some(true));
    assert_eq!(Lease::view(Some(&breaking), at(0)).is_infinite, None);
}

/// LS-02, LS-04: an active lease cannot be acquired by another client; one that has ended can.
#[test]
fn acquire_by_state() {
    use ErrorCode::{LeaseAlreadyPresent, LeaseIsBreakingAndCannotBeAcquired};
    let acquire =
        |proposed| row(Leased::Blob, LeaseAction::Acquire { proposed, duration: LeaseDuration::Seconds(15) });
    let new = |id| held(id, 15, LeaseReply::Acquired(id));
    let rejected = || Err(LeaseAlreadyPresent);
    assert_eq!(acquire(None), [new(X), rejected(), rejected(), new(X), new(X)]);
    assert_eq!(acquire(Some(A)), [new(A), new(A), Err(LeaseIsBreakingAndCannotBeAcquired), new(A), new(A)]);
    assert_eq!(acquire(Some(B)), [new(B), rejected(), rejected(), new(B), new(B)]);
}

/// LS-03: break with and without a period.
#[test]
fn break_by_state() {
    let breaks = |period| row(Leased::Blob, LeaseAction::Break { period });
    let none = || Err(ErrorCode::LeaseNotPresentWithLeaseOperation);
    assert_eq!(breaks(Some(0)), [none(), broken(0), broken(0), broken(0), broken(0)]);
    assert_eq!(breaks(Some(5)), [none(), broken(5), broken(5), broken(0), broken(0)]);
    assert_eq!(breaks(Some(20)), [none(), broken(20), broken(10), broken(0), broken(0)]);
    assert_eq!(breaks(Some(60)), [none(), broken(30), broken(10), broken(0), broken(0)]);
    assert_eq!(breaks(None), [none(), broken(30), broken(10), broken(0), broken(0)]);
}

#[test]
fn an_infinite_lease_breaks_at_once_or_after_the_period() {
    let infinite = Lease { id: A, term: Term::Infinite };
    let breaks =
        |period| apply(Leased::Blob, Some(&infinite), &LeaseAction::Break { period }, at(NOW), X).unwrap();
    assert_eq!(breaks(None), (Some(Lease { id: A, term: Term::Broken }), LeaseReply::Broken(0)));
    let until = at(NOW + 7);
    assert_eq!(
        breaks(Some(7)),
        (Some(Lease { id: A, term: Term::Breaking { until } }), LeaseReply::Broken(7))
    );
}

/// Azure reports 59 right after a lease of 60 seconds was acquired: whole seconds, rounded down.
#[test]
fn break_times_are_rounded_down() {
    let until = DateTime::from_ticks(at(NOW + 60).ticks() - 1).unwrap();
    let lease = Lease { id: A, term: Term::Fixed { seconds: 60, until } };
    let (_, reply) =
        apply(Leased::Blob, Some(&lease), &LeaseAction::Break { period: None }, at(NOW), X).unwrap();
    assert_eq!(reply, LeaseReply::Broken(59));
}

#[test]
fn change_by_state() {
    use ErrorCode::{
        LeaseIdMismatchWithLeaseOperation as Mismatch, LeaseIsBreakingAndCannotBeChanged as Breaking,
        LeaseNotPresentWithLeaseOperation as None,
    };
    let change = |id, proposed| row(Leased::Blob, LeaseAction::Change { id, proposed });
    let now = |id| held(id, 30, LeaseReply::Changed(id));
    assert_eq!(change(A, B), [Err(None), now(B), Err(Breaking), Err(None), Err(None)]);
    assert_eq!(change(B, A), [Err(None), now(A), Err(Breaking), Err(None), Err(None)]);
    assert_eq!(change(B, C), [Err(None), Err(Mismatch), Err(Mismatch), Err(None), Err(None)]);
}

/// LS-03: renewal restarts the duration, even after expiry if nothing has changed since then.
#[test]
fn renew_by_state() {
    use ErrorCode::{
        LeaseIdMismatchWithLeaseOperation as Mismatch, LeaseIsBrokenAndCannotBeRenewed as Broken,
    };
    let again = || held(A, 60, LeaseReply::Renewed(A));
    for leased in [Leased::Blob, Leased::Container] {
        let renew = |id| row(leased, LeaseAction::Renew { id });
        assert_eq!(renew(A), [Err(Mismatch), again(), Err(Broken), Err(Broken), again()]);
        assert_eq!(renew(B), [const { Err(Mismatch) }; 5]);
    }
    let infinite = Lease { id: A, term: Term::Infinite };
    let renewed = apply(Leased::Blob, Some(&infinite), &LeaseAction::Renew { id: A }, at(NOW), X);
    assert_eq!(renewed, Ok((Some(infinite), LeaseReply::Renewed(A))));
}

/// LS-03: a released lease is available immediately.
#[test]
fn release_by_state() {
    const MISMATCH: Cell = Err(ErrorCode::LeaseIdMismatchWithLeaseOperation);
    let release = |id| row(Leased::Blob, LeaseAction::Release { id });
    let free = || Ok((None, LeaseReply::Released));
    assert_eq!(release(A), [MISMATCH, free(), free(), free(), free()]);
    assert_eq!(release(B), [MISMATCH; 5]);
}

fn uses(leased: Leased, usage: Use, id: Option<Guid>) -> [Result<Keep, ErrorCode>; 5] {
    states()
        .map(|(_, lease)| check(leased, lease.as_ref(), usage, id, at(NOW)).map_err(|failure| failure.code))
}

/// LS-05, LS-06, LS-07: operations on a blob by lease state. Columns: available, leased, breaking, broken,
/// expired.
#[test]
fn use_of_a_blob_by_state() {
    use ErrorCode::{
        LeaseIdMismatchWithBlobOperation as Mismatch, LeaseIdMissing as Missing, LeaseLost as Lost,
        LeaseNotPresentWithBlobOperation as Absent,
    };
    let ok = Ok(Keep::Lease);
    for usage in [Use::Read, Use::Write] {
        let uses = |id| uses(Leased::Blob, usage, id);
        assert_eq!(uses(Some(A)), [Err(Absent), ok, ok, Err(Lost), Err(Lost)], "{usage:?}");
        assert_eq!(
            uses(Some(B)),
            [Err(Absent), Err(Mismatch), Err(Mismatch), Err(Absent), Err(Absent)],
            "{usage:?}"
        );
    }
    assert_eq!(uses(Leased::Blob, Use::Read, None), [ok; 5]);
    let gone = Ok(Keep::Nothing);
    assert_eq!(uses(Leased::Blob, Use::Write, None), [ok, Err(Missing), Err(Missing), gone, gone]);
}

/// LS-10: of the operations on a container, only deletion needs the lease; the error messages name containers.
#[test]
fn use_of_a_container_by_state() {
    use ErrorCode::{
        LeaseIdMismatchWithContainerOperation as Mismatch, LeaseIdMissing as Missing, LeaseLost as Lost,
        LeaseNotPresentWithContainerOperation as Absent,
    };
    let ok = Ok(Keep::Lease);
    let delete = |id| uses(Leased::Container, Use::Write, id);
    assert_eq!(delete(Some(A)), [Err(Absent), ok, ok, Err(Lost), Err(Lost)]);
    assert_eq!(delete(Some(B)), [Err(Absent), Err(Mismatch), Err(Mismatch), Err(Absent), Err(Absent)]);
    let missing = delete(None);
    assert_eq!(missing[1..3], [Err(Missing), Err(Missing)]);
    assert_eq!(uses(Leased::Container, Use::Read, None), [ok; 5]);
    assert_eq!(
        failure(Leased::Container, Lost).message,
        "A lease ID was specified, but the lease for the container has expired."
    );
    assert_eq!(
        failure(Leased::Container, Missing).message,
        "There is currently a lease on the container and no lease ID was specified in the request."
    );
}
