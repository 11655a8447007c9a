//! Tiers: the archive, and leaving it.

use lazuli_model::ErrorCode;
use lazuli_model::blob::condition::TierConditions;
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::tier::{RehydratePriority, TierInfo};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::blob::{AccessTier, Outcome};

use crate::world::{REHYDRATION, World, blob, with};

fn to(tier: AccessTier, priority: RehydratePriority) -> BlobAction {
    BlobAction::SetTier(tier, priority)
}

async fn tier(world: &World) -> TierInfo {
    world.properties("b").await.unwrap().tier.unwrap()
}

#[tokio::test]
async fn a_blob_leaves_the_archive_after_some_time() {
    let world = World::new().await;
    world.put("b", "x").await.unwrap();
    assert!(tier(&world).await.is_inferred);
    world.on("b", to(AccessTier::Archive, Default::default())).await.unwrap();
    let thaw = || to(AccessTier::Cool, RehydratePriority::Standard);
    assert_eq!(world.on("b", thaw()).await, Ok(Outcome::TierSet { is_pending: true }));
    let pending = tier(&world).await;
    assert_eq!(
        (pending.tier, pending.archive_status()),
        (AccessTier::Archive, Some("rehydrate-pending-to-cool"))
    );
    assert_eq!(world.read("b").await, Err(ErrorCode::BlobArchived));
    for other in [AccessTier::Cool, AccessTier::Hot, AccessTier::Archive] {
        let changed = world.on("b", to(other, RehydratePriority::Standard)).await;
        assert_eq!(changed, Err(ErrorCode::BlobBeingRehydrated), "{other:?}");
    }
    let raised = world.on("b", to(AccessTier::Cool, RehydratePriority::High)).await;
    assert_eq!(raised, Ok(Outcome::TierSet { is_pending: true }));
    world.pass(REHYDRATION.as_secs() - 1);
    assert_eq!(world.read("b").await, Err(ErrorCode::BlobArchived));
    world.pass(2);
    assert_eq!(world.read("b").await.unwrap(), b"x");
    let done = tier(&world).await;
    assert_eq!((done.tier, done.is_inferred, done.rehydrating), (AccessTier::Cool, false, None));
    assert!(done.changed > pending.changed);
    // The next change is stored.
    assert_eq!(world.on("b", thaw()).await, Ok(Outcome::TierSet { is_pending: false }));
}

#[tokio::test]
async fn a_snapshot_has_a_tier_of_its_own() {
    let world = World::new().await;
    world.put("b", "x").await.unwrap();
    let Outcome::SnapshotMade { snapshot, .. } = world.on("b", BlobAction::Snapshot(None)).await.unwrap()
    else {
        panic!()
    };
    let archive = with(blob("b", to(AccessTier::Archive, Default::default())), |request| {
        request.revision = Revision::Snapshot(snapshot);
    });
    world.run(archive).await.unwrap();
    assert_eq!(world.read_of("b", Revision::Snapshot(snapshot)).await, Err(ErrorCode::BlobArchived));
    let rehydrate = with(blob("b", to(AccessTier::Hot, Default::default())), |request| {
        request.revision = Revision::Snapshot(snapshot);
    });
    assert_eq!(world.run(rehydrate).await, Err(ErrorCode::BlobOperationNotSupported));
    assert_eq!(world.read("b").await.unwrap(), b"x");
}

#[tokio::test]
async fn a_deletion_can_depend_on_the_time_of_the_tier() {
    let world = World::new().await;
    world.put("b", "x").await.unwrap();
    world.pass(5);
    let before = world.now();
    world.pass(5);
    world.on("b", to(AccessTier::Cool, Default::default())).await.unwrap();
    let delete = |tier: TierConditions| {
        let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
        with(blob("b", delete), |request| request.conditions.tier = tier)
    };
    let unmodified = TierConditions { if_unmodified_since: Some(before), ..Default::default() };
    assert_eq!(world.run(delete(unmodified)).await, Err(ErrorCode::AccessTierChangeTimeConditionNotMet));
    let modified = TierConditions { if_modified_since: Some(before), ..Default::default() };
    assert!(world.run(delete(modified)).await.is_ok());
}
