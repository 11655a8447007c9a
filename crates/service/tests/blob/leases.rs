//! Leases of blobs: every cell of both tables, each also after a restart.
//!
//! These tests cover the stored state and its changes; the model decides the cells of the lease tables.

use lazuli_model::blob::lease::{LeaseDuration, LeaseReply};
use lazuli_model::blob::operation::{BlobAction, GetBlob};
use lazuli_model::blob::{Conditions, LeaseAction, LeaseState, Outcome};
use lazuli_model::{ErrorCode, Guid};

use crate::world::{Ran, World, blob, block_ref, if_none_match_any, with};

const A: Guid = Guid([0xA; 16]);
const B: Guid = Guid([0xB; 16]);
const C: Guid = Guid([0xC; 16]);

const STATES: [LeaseState; 5] = [
    LeaseState::Available,
    LeaseState::Leased,
    LeaseState::Breaking,
    LeaseState::Broken,
    LeaseState::Expired,
];

/// A blob in that state, with A as the id of its lease, as a new process finds it.
async fn world_in(state: LeaseState) -> World {
    let world = World::new().await;
    world.put("b", "content").await.unwrap();
    if state != LeaseState::Available {
        lease(&world, acquire(Some(A), 60)).await.unwrap();
    }
    match state {
        LeaseState::Breaking => drop(lease(&world, LeaseAction::Break { period: Some(20) }).await.unwrap()),
        LeaseState::Broken => drop(lease(&world, LeaseAction::Break { period: Some(0) }).await.unwrap()),
        LeaseState::Expired => world.pass(60),
        LeaseState::Available | LeaseState::Leased => {}
    }
    let world = world.restarted();
    assert_eq!(state_of(&world).await, state);
    world
}

async fn state_of(world: &World) -> LeaseState {
    world.properties("b").await.unwrap().lease.unwrap().state
}

fn acquire(proposed: Option<Guid>, seconds: u8) -> LeaseAction {
    LeaseAction::Acquire { proposed, duration: LeaseDuration::Seconds(seconds) }
}

async fn lease(world: &World, action: LeaseAction) -> Result<LeaseReply, ErrorCode> {
    match world.on("b", BlobAction::Lease(action)).await? {
        Outcome::Leased(_, reply) => Ok(reply),
        other => panic!("{other:?}"),
    }
}

type Cell = Result<LeaseState, ErrorCode>;

/// The state after a lease operation, in the order of the table.
async fn row(action: LeaseAction) -> Vec<Cell> {
    let mut cells = Vec::new();
    for state in STATES {
        let world = world_in(state).await;
        let before = world.stamp("b").await;
        let cell = match lease(&world, action).await {
            Ok(_) => Ok(state_of(&world.restarted()).await),
            Err(code) => {
                assert_eq!(state_of(&world).await, state, "a failed operation changes nothing");
                Err(code)
            }
        };
        assert_eq!(world.stamp("b").await, before, "BL-08: leases leave the ETag alone");
        cells.push(cell);
    }
    cells
}

/// LS-02, LS-03, LS-04.
#[tokio::test]
async fn lease_operations_by_state() {
    use ErrorCode::{
        LeaseAlreadyPresent as Present, LeaseIdMismatchWithLeaseOperation as Mismatch,
        LeaseIsBreakingAndCannotBeAcquired as CannotAcquire,
        LeaseIsBreakingAndCannotBeChanged as CannotChange, LeaseIsBrokenAndCannotBeRenewed as CannotRenew,
        LeaseNotPresentWithLeaseOperation as Absent,
    };
    use LeaseState::{Available, Breaking, Broken, Leased};
    let ok = Ok::<LeaseState, ErrorCode>;
    for (action, cells) in [
        (acquire(None, 15), [ok(Leased), Err(Present), Err(Present), ok(Leased), ok(Leased)]),
        (acquire(Some(A), 15), [ok(Leased), ok(Leased), Err(CannotAcquire), ok(Leased), ok(Leased)]),
        (acquire(Some(B), 15), [ok(Leased), Err(Present), Err(Present), ok(Leased), ok(Leased)]),
        (
            LeaseAction::Break { period: Some(0) },
            [Err(Absent), ok(Broken), ok(Broken), ok(Broken), ok(Broken)],
        ),
        (
            LeaseAction::Break { period: Some(5) },
            [Err(Absent), ok(Breaking), ok(Breaking), ok(Broken), ok(Broken)],
        ),
        (
            LeaseAction::Break { period: None },
            [Err(Absent), ok(Breaking), ok(Breaking), ok(Broken), ok(Broken)],
        ),
        (
            LeaseAction::Change { id: A, proposed: B },
            [Err(Absent), ok(Leased), Err(CannotChange), Err(Absent), Err(Absent)],
        ),
        (
            LeaseAction::Change { id: B, proposed: C },
            [Err(Absent), Err(Mismatch), Err(Mismatch), Err(Absent), Err(Absent)],
        ),
        (
            LeaseAction::Renew { id: A },
            [Err(Mismatch), ok(Leased), Err(CannotRenew), Err(CannotRenew), ok(Leased)],
        ),
        (LeaseAction::Renew { id: B }, [Err(Mismatch); 5]),
        (
            LeaseAction::Release { id: A },
            [Err(Mismatch), ok(Available), ok(Available), ok(Available), ok(Available)],
        ),
        (LeaseAction::Release { id: B }, [Err(Mismatch); 5]),
    ] {
        assert_eq!(row(action).await, cells, "{action:?}");
    }
}

/// LS-05, LS-06, LS-07: writes and reads by state, without an id, with that of the lease, and with another.
#[tokio::test]
async fn use_by_state() {
    use ErrorCode::{
        LeaseIdMismatchWithBlobOperation as Mismatch, LeaseIdMissing as Missing, LeaseLost as Lost,
        LeaseNotPresentWithBlobOperation as Absent,
    };
    let ok = Ok(());
    for (writes, id, cells) in [
        (true, None, [ok, Err(Missing), Err(Missing), ok, ok]),
        (true, Some(A), [Err(Absent), ok, ok, Err(Lost), Err(Lost)]),
        (true, Some(B), [Err(Absent), Err(Mismatch), Err(Mismatch), Err(Absent), Err(Absent)]),
        (false, None, [ok; 5]),
        (false, Some(A), [Err(Absent), ok, ok, Err(Lost), Err(Lost)]),
        (false, Some(B), [Err(Absent), Err(Mismatch), Err(Mismatch), Err(Absent), Err(Absent)]),
    ] {
        for (state, expected) in STATES.into_iter().zip(cells) {
            let world = world_in(state).await;
            let used = if writes {
                world.put_if("b", "new", id, Conditions::default()).await
            } else {
                let get = with(blob("b", BlobAction::Get(GetBlob::default())), |request| request.lease = id);
                world.run(get).await
            };
            assert_eq!(used.map(drop), expected, "writes {writes}, {id:?}, {state:?}");
            // A write without id ends the memory of a lease that no longer locks; everything else keeps it.
            let forgets = writes && id.is_none() && matches!(state, LeaseState::Broken | LeaseState::Expired);
            let after = if forgets { LeaseState::Available } else { state };
            assert_eq!(state_of(&world.restarted()).await, after, "writes {writes}, {id:?}, {state:?}");
        }
    }
}

/// LS-08, LS-09: which operations need the id of the lease, and which only check one that is sent.
#[tokio::test]
async fn operations_that_use_leases() {
    use lazuli_model::Metadata;
    use lazuli_model::blob::Tags;
    use lazuli_model::blob::block::BlockListFilter;
    use lazuli_model::blob::operation::SetProperties;
    let needs: [fn() -> BlobAction; 6] = [
        || BlobAction::SetMetadata(Metadata::default()),
        || {
            BlobAction::SetProperties(Box::new(SetProperties {
                headers: Some(Default::default()),
                ..Default::default()
            }))
        },
        || BlobAction::SetTags(Tags::default()),
        || BlobAction::PutBlockList(Vec::new(), Box::default()),
        || BlobAction::SetTier(lazuli_model::blob::AccessTier::Cool, Default::default()),
        || BlobAction::Delete { snapshots: Default::default(), is_permanent: false },
    ];
    let checks: [fn() -> BlobAction; 6] = [
        || BlobAction::Get(GetBlob::default()),
        || BlobAction::GetProperties,
        || BlobAction::GetMetadata,
        || BlobAction::GetTags,
        || BlobAction::GetBlockList(BlockListFilter::All),
        || BlobAction::Snapshot(None),
    ];
    let world = world_in(LeaseState::Leased).await;
    let run = async |action: BlobAction, id| {
        world.run(with(blob("b", action), |request| request.lease = id)).await.map(drop)
    };
    for action in checks {
        assert_eq!(run(action(), None).await, Ok(()), "{:?}", action());
        assert_eq!(run(action(), Some(A)).await, Ok(()), "{:?}", action());
        let rejected = run(action(), Some(B)).await;
        assert_eq!(rejected, Err(ErrorCode::LeaseIdMismatchWithBlobOperation), "{:?}", action());
    }
    world
        .on(
            "b",
            BlobAction::Delete {
                snapshots: lazuli_model::blob::write::DeleteSnapshots::Only,
                is_permanent: false,
            },
        )
        .await
        .unwrap_err();
    for action in needs {
        assert_eq!(run(action(), None).await, Err(ErrorCode::LeaseIdMissing), "{:?}", action());
        let rejected = run(action(), Some(B)).await;
        assert_eq!(rejected, Err(ErrorCode::LeaseIdMismatchWithBlobOperation), "{:?}", action());
    }
    assert_eq!(world.stage("b", "id", "x").await, Err(ErrorCode::LeaseIdMissing));
    for action in &needs[..5] {
        assert_eq!(run(action(), Some(A)).await, Ok(()), "{:?}", action());
    }
}

/// The lease is checked before `If-None-Match: *`, and its holder may create over what exists.
#[tokio::test]
async fn a_held_lease_beats_if_none_match() {
    let put = async |world: &World, id| -> Ran { world.put_if("b", "new", id, if_none_match_any()).await };
    let world = world_in(LeaseState::Leased).await;
    assert_eq!(put(&world, None).await, Err(ErrorCode::LeaseIdMissing));
    assert!(put(&world, Some(A)).await.is_ok());
    assert_eq!(state_of(&world).await, LeaseState::Leased, "overwriting keeps the lease");
    let world = world_in(LeaseState::Expired).await;
    assert_eq!(put(&world, Some(A)).await, Err(ErrorCode::LeaseLost));
    assert_eq!(put(&world, None).await, Err(ErrorCode::BlobAlreadyExists));
    let missing = world.put_if("none", "new", Some(A), Conditions::default()).await;
    assert_eq!(missing, Err(ErrorCode::LeaseNotPresentWithBlobOperation));
}

/// LS-01, LS-04: a lease ends by itself, at a time that a restart does not change.
#[tokio::test]
async fn expiry_is_absolute() {
    let world = world_in(LeaseState::Available).await;
    lease(&world, acquire(Some(A), 15)).await.unwrap();
    let world = world.restarted();
    world.pass(14);
    assert_eq!(state_of(&world).await, LeaseState::Leased);
    world.pass(1);
    assert_eq!(state_of(&world.restarted()).await, LeaseState::Expired);
    lease(&world, LeaseAction::Renew { id: A }).await.unwrap();
    // Anything that changes the blob without the lease ends the right to renew it.
    world.pass(15);
    world.put("b", "other").await.unwrap();
    assert_eq!(
        lease(&world, LeaseAction::Renew { id: A }).await,
        Err(ErrorCode::LeaseIdMismatchWithLeaseOperation)
    );
    let infinite = LeaseAction::Acquire { proposed: None, duration: LeaseDuration::Infinite };
    lease(&world, infinite).await.unwrap();
    world.pass(365 * 24 * 60 * 60);
    assert_eq!(state_of(&world).await, LeaseState::Leased);
    assert_eq!(lease(&world, LeaseAction::Break { period: None }).await, Ok(LeaseReply::Broken(0)));
}

/// A clock that jumps back makes a lease last longer, never shorter, and loses none.
#[tokio::test]
async fn clock_jumps() {
    let world = world_in(LeaseState::Leased).await;
    world.ticks.fetch_sub(3600 * 10_000_000, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(state_of(&world).await, LeaseState::Leased);
    assert_eq!(lease(&world, acquire(Some(B), 15)).await, Err(ErrorCode::LeaseAlreadyPresent));
    assert_eq!(lease(&world, LeaseAction::Renew { id: A }).await, Ok(LeaseReply::Renewed(A)));
    world.pass(60);
    assert_eq!(state_of(&world).await, LeaseState::Expired);
}

/// Of many clients that acquire a lease at the same time, one gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_many_acquires_the_lease() {
    let world = std::sync::Arc::new(world_in(LeaseState::Available).await);
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move { lease(&world, acquire(None, 60)).await })
        })
        .collect();
    let mut held = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => held += 1,
            Err(code) => assert_eq!(code, ErrorCode::LeaseAlreadyPresent),
        }
    }
    assert_eq!(held, 1);
}

/// Recorded: a blob that has only uncommitted blocks can be leased, and the committed blob keeps the lease.
#[tokio::test]
async fn a_lease_on_uncommitted_blocks() {
    let world = World::new().await;
    assert_eq!(lease(&world, acquire(Some(A), 60)).await, Err(ErrorCode::BlobNotFound));
    world.stage("b", "id", "x").await.unwrap();
    lease(&world, acquire(Some(A), 60)).await.unwrap();
    let world = world.restarted();
    assert_eq!(lease(&world, acquire(Some(B), 60)).await, Err(ErrorCode::LeaseAlreadyPresent));
    assert_eq!(world.stage("b", "di", "y").await, Err(ErrorCode::LeaseIdMissing));
    assert_eq!(world.commit("b", &["id"]).await, Err(ErrorCode::LeaseIdMissing));
    assert_eq!(world.put("b", "content").await, Err(ErrorCode::LeaseIdMissing));
    let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    assert_eq!(world.on("b", delete).await, Err(ErrorCode::LeaseIdMissing));
    let list = BlobAction::PutBlockList(vec![block_ref("id")], Default::default());
    let commit = |id| with(blob("b", list.clone()), |request| request.lease = Some(id));
    assert_eq!(world.run(commit(B)).await, Err(ErrorCode::LeaseIdMismatchWithBlobOperation));
    world.run(commit(A)).await.unwrap();
    assert_eq!(state_of(&world.restarted()).await, LeaseState::Leased);
}

/// LS-07: the list of a blob that has only uncommitted blocks was returned with any lease id.
#[tokio::test]
async fn the_list_of_uncommitted_blocks_checks_the_lease_id() {
    use lazuli_model::blob::block::BlockListFilter;
    let list = async |world: &World, id| {
        let list = BlobAction::GetBlockList(BlockListFilter::All);
        world.run(with(blob("b", list), |request| request.lease = id)).await.map(drop)
    };
    let world = World::new().await;
    world.stage("b", "id", "x").await.unwrap();
    assert_eq!(list(&world, None).await, Ok(()));
    assert_eq!(list(&world, Some(A)).await, Err(ErrorCode::LeaseNotPresentWithBlobOperation));
    lease(&world, acquire(Some(A), 60)).await.unwrap();
    assert_eq!(list(&world, None).await, Ok(()));
    assert_eq!(list(&world, Some(A)).await, Ok(()));
    assert_eq!(list(&world, Some(B)).await, Err(ErrorCode::LeaseIdMismatchWithBlobOperation));
    world.pass(60);
    assert_eq!(list(&world, Some(A)).await, Err(ErrorCode::LeaseLost));
}

/// A blob that follows the uncommitted blocks does not inherit their lease.
#[tokio::test]
async fn a_lease_ends_with_the_uncommitted_blocks() {
    let world = World::new().await;
    world.stage("b", "id", "x").await.unwrap();
    lease(&world, acquire(Some(A), 60)).await.unwrap();
    let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    world.run(with(blob("b", delete), |request| request.lease = Some(A))).await.unwrap();
    assert_eq!(lease(&world, LeaseAction::Release { id: A }).await, Err(ErrorCode::BlobNotFound));
    world.stage("b", "id", "x").await.unwrap();
    world.commit("b", &["id"]).await.unwrap();
    assert_eq!(state_of(&world).await, LeaseState::Available);
}
