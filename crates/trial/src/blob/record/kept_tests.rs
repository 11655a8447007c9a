//! The search detects violations by versions, deleted blobs and tiers.

use super::kept::{Keeping, KeptCall, KeptState};
use super::tiered::{ARCHIVE, TierCall, TieredBlob};
use super::{BlobCall, BlobCondition, Output};
use crate::linear::{HistoryEvent, SearchVerdict, check};

type Step = (BlobCall, Output);

#[track_caller]
fn expect(verdict: SearchVerdict, steps: &[Step]) {
    let event = |(at, (operation, output)): (u64, &Step)| HistoryEvent {
        client: 0,
        start: 2 * at,
        end: 2 * at + 1,
        operation: operation.clone(),
        output: Some(output.clone()),
    };
    let events: Vec<HistoryEvent<BlobCall>> = (0..).zip(steps).map(event).collect();
    assert_eq!(check(&events), verdict, "{steps:?}");
}

/// These steps are possible, but not with the other output of the last one.
#[track_caller]
fn only(steps: &[Step], call: BlobCall, right: Output, wrong: &[Output]) {
    expect(SearchVerdict::Ordered, &[steps, &[(call.clone(), right)]].concat());
    for wrong in wrong {
        expect(SearchVerdict::Impossible, &[steps, &[(call.clone(), wrong.clone())]].concat());
    }
}

fn done(keeping: Keeping, call: KeptCall) -> Step {
    (BlobCall::Kept(keeping, call), Output::Applied)
}

fn put(number: u32) -> KeptCall {
    KeptCall::Put { number, condition: BlobCondition::None }
}

fn delete(takes_snapshots: bool) -> KeptCall {
    KeptCall::Delete { condition: BlobCondition::None, takes_snapshots }
}

#[test]
fn lost_versions_are_found() {
    let of = |call| done(Keeping::Versions, call);
    let read = |number| BlobCall::Kept(Keeping::Versions, KeptCall::GetPast { number });
    let list = BlobCall::Kept(Keeping::Versions, KeptCall::List);
    let steps = [of(put(1)), of(put(2)), of(delete(false))];
    for number in [1, 2] {
        let lost = Output::Value(None);
        only(&steps, read(number), Output::Value(Some(number)), &[lost, Output::Value(Some(3 - number))]);
    }
    let (first, second) = ((1, KeptState::Past), (2, KeptState::Past));
    let wrong = [vec![first], vec![second, first], vec![first, (2, KeptState::Current)]].map(Output::Kept);
    only(&steps, list, Output::Kept(vec![first, second]), &wrong);
}

#[test]
fn deleted_versions_that_are_shown_or_lost_are_found() {
    let of = |call| done(Keeping::Versions, call);
    let read = || BlobCall::Kept(Keeping::Versions, KeptCall::GetPast { number: 1 });
    let list = || BlobCall::Kept(Keeping::Versions, KeptCall::List);
    let deleted = [of(put(1)), of(put(2)), of(KeptCall::DeletePast { number: 1 })];
    only(&deleted, read(), Output::Value(None), &[Output::Value(Some(1))]);
    let shown = |first: Option<KeptState>| {
        let first = first.map(|state| (1, state));
        Output::Kept(first.into_iter().chain([(2, KeptState::Current)]).collect())
    };
    only(&deleted, list(), shown(Some(KeptState::DeletedPast)), &[shown(None), shown(Some(KeptState::Past))]);
    let restored = [&deleted[..], &[of(KeptCall::Undelete)]].concat();
    only(&restored, read(), Output::Value(Some(1)), &[Output::Value(None)]);
    let purged = [&deleted[..], &[of(KeptCall::Purge { number: 1 }), of(KeptCall::Undelete)]].concat();
    only(&purged, list(), shown(None), &[shown(Some(KeptState::Past)), shown(Some(KeptState::DeletedPast))]);
    // The current blob is not a version that can be deleted, and only deleted states can be purged.
    let current = BlobCall::Kept(Keeping::Versions, KeptCall::DeletePast { number: 2 });
    only(&deleted, current, Output::Rejected, &[Output::Applied]);
    let live = BlobCall::Kept(Keeping::Versions, KeptCall::Purge { number: 1 });
    only(&restored, live, Output::Rejected, &[Output::Applied]);
}

#[test]
fn deleted_blobs_that_are_shown_or_lost_are_found() {
    let of = |call| done(Keeping::Deleted, call);
    let call = |call| BlobCall::Kept(Keeping::Deleted, call);
    let deleted = [of(put(1)), of(put(2)), of(delete(false))];
    only(&deleted, call(KeptCall::Get), Output::Value(None), &[Output::Value(Some(2))]);
    let listed = Output::Kept(vec![(1, KeptState::DeletedPast), (2, KeptState::DeletedBlob)]);
    let without_blob = Output::Kept(vec![(1, KeptState::DeletedPast)]);
    only(&deleted, call(KeptCall::List), listed, &[without_blob, Output::Kept(Vec::new())]);
    let restored = [&deleted[..], &[of(KeptCall::Undelete)]].concat();
    let (value, none) = (|number| Output::Value(Some(number)), Output::Value(None));
    only(&restored, call(KeptCall::Get), value(2), &[none.clone(), value(1)]);
    only(&restored, call(KeptCall::GetPast { number: 1 }), value(1), &[none]);
    // The replaced state is now a snapshot.
    only(&restored, call(delete(false)), Output::Rejected, &[Output::Applied]);
    only(&restored, call(delete(true)), Output::Applied, &[Output::Rejected]);
    only(&[], call(KeptCall::Undelete), Output::Rejected, &[Output::Applied]);
}

/// A blob that was written again after its deletion is not replaced by the deleted one.
#[test]
fn a_restoration_that_replaces_a_blob_is_found() {
    let of = |call| done(Keeping::Deleted, call);
    let steps = [of(put(1)), of(delete(false)), of(put(2)), of(KeptCall::Undelete)];
    let get = BlobCall::Kept(Keeping::Deleted, KeptCall::Get);
    only(&steps, get, Output::Value(Some(2)), &[Output::Value(Some(1))]);
    let list = BlobCall::Kept(Keeping::Deleted, KeptCall::List);
    let right = Output::Kept(vec![(1, KeptState::Past), (2, KeptState::Current)]);
    only(&steps, list, right, &[Output::Kept(vec![(2, KeptState::Current)])]);
}

#[test]
fn archived_blobs_that_are_used_are_found() {
    let condition = BlobCondition::None;
    let put = |number, tier| BlobCall::Tier(TierCall::Put { number, tier, condition });
    let set = |tier| BlobCall::Tier(TierCall::SetTier { tier });
    let shown = |tier, goes_to| Output::Tier(Some(TieredBlob { number: 1, tier, goes_to }));
    let tier = || BlobCall::Tier(TierCall::GetTier);
    let written = [(put(1, None), Output::Applied)];
    only(&written, tier(), shown(None, None), &[shown(Some(0), None)]);
    let cool = [&written[..], &[(set(1), Output::Applied)]].concat();
    only(&cool, tier(), shown(Some(1), None), &[shown(None, None)]);
    let archived = [&cool[..], &[(set(ARCHIVE), Output::Applied)]].concat();
    only(&archived, BlobCall::Tier(TierCall::Get), Output::Rejected, &[Output::Value(Some(1))]);
    only(&archived, put(2, None), Output::Rejected, &[Output::Applied]);
    let leaving = [&archived[..], &[(set(0), Output::Applied)]].concat();
    only(
        &leaving,
        tier(),
        shown(Some(ARCHIVE), Some(0)),
        &[shown(Some(0), None), shown(Some(ARCHIVE), None)],
    );
    only(&leaving, set(1), Output::Rejected, &[Output::Applied]);
    only(&leaving, BlobCall::Tier(TierCall::Get), Output::Rejected, &[Output::Value(Some(1))]);
}
