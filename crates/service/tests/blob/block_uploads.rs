//! Uploads of blocks during which the blob changes: what counts is the state when the block has arrived.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::Poll;

use bytes::Bytes;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_model::blob::block::BlockListFilter;
use lazuli_model::blob::lease::LeaseDuration;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{BlobKind, LeaseAction, Outcome};
use lazuli_model::{ErrorCode, Guid};
use lazuli_service::blob::{Opener, Opening, Remote, Supply};
use lazuli_service::stream::{NextChunk, Source, Whole};

use crate::appends::source;
use crate::between::Two;
use crate::interrupted::{Event, Interrupted};
use crate::world::{
    CONTAINER, Features, Ran, START_TICKS, World, blob, block_id, body, bytes_of, clock, with,
};

const A: Guid = Guid([0xA; 16]);
const B: Guid = Guid([0xB; 16]);

type Work = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body during whose upload something else happens.
struct Slow(Option<Work>, Whole);

impl Source for Slow {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            if let Some(work) = self.0.take() {
                work.await;
            }
            self.1.next().await
        })
    }
}

/// A source on another server with such a body.
struct SlowSource(Slow, u64);

impl Opener for SlowSource {
    fn open(self: Box<Self>) -> Opening<'static> {
        let Self(body, length) = *self;
        let remote = Remote {
            body: Box::new(body),
            length,
            kind: BlobKind::Block,
            etag: None,
            headers: Default::default(),
            metadata: Default::default(),
            tags: Default::default(),
            sequence_number: 0,
            appends: 0,
            is_sealed: false,
        };
        Box::pin(std::future::ready(Ok(remote)))
    }
}

/// Uploads a block from a client or from a URL, while something else happens.
async fn stage(world: &World, content: &Bytes, lease: Option<Guid>, is_from_url: bool, work: Work) -> Ran {
    let mut slow = Slow(Some(work), content.clone().into());
    let id = block_id("1");
    let of_lease = |action| with(blob("b", action), |request| request.lease = lease);
    if is_from_url {
        let from = source("elsewhere", Default::default());
        let action = BlobAction::PutBlockFromUrl(id, Box::new(from), Default::default());
        let supply = Supply::Remote(Box::new(SlowSource(slow, content.len() as u64)));
        return world.run_with(of_lease(action), supply).await;
    }
    let action = BlobAction::PutBlock(id, body(content));
    world.run_with(of_lease(action), Supply::Body(&mut slow)).await
}

async fn lease(world: &World, action: LeaseAction) {
    world.on("b", BlobAction::Lease(action)).await.unwrap();
}

async fn acquire(world: &World, id: Guid) {
    lease(world, LeaseAction::Acquire { proposed: Some(id), duration: LeaseDuration::Infinite }).await;
}

async fn commit_as(world: &World, id: Guid) {
    let list = BlobAction::PutBlockList(vec![crate::world::block_ref("1")], Box::default());
    world.run(with(blob("b", list), |request| request.lease = Some(id))).await.unwrap();
}

/// LS-05, LS-06: the check was made before the upload only, so the former holder of a lease replaced a block of the new
/// one, who then committed bytes of another client.
#[tokio::test]
async fn a_block_does_not_arrive_under_a_lease_that_was_lost_during_its_upload() {
    for is_from_url in [false, true] {
        for (length, is_committed) in [(10, true), (100, true), (10, false), (100, false)] {
            let mut world = World::with_inline(20).await;
            if is_committed {
                world.put("b", "content").await.unwrap();
            } else {
                world.stage("b", "0", "content").await.unwrap();
            }
            acquire(&world, A).await;
            let (late, own) = (bytes_of(1, length), bytes_of(2, length));
            let shared = Arc::new(world.peer());
            let (other, block) = (shared.clone(), own.clone());
            let takes_over = Box::pin(async move {
                lease(&other, LeaseAction::Break { period: Some(0) }).await;
                acquire(&other, B).await;
                let put = BlobAction::PutBlock(block_id("1"), body(&block));
                let put = with(blob("b", put), |request| request.lease = Some(B));
                other.run_with(put, Supply::Body(&mut Whole::from(block))).await.unwrap();
            });
            let rejected = stage(&world, &late, Some(A), is_from_url, takes_over).await;
            assert_eq!(rejected, Err(ErrorCode::LeaseIdMismatchWithBlobOperation), "{length} {is_committed}");
            commit_as(&world, B).await;
            assert!(world.read("b").await.unwrap() == own, "{length} {is_committed}");
            world.settle().await;
            assert!(world.read("b").await.unwrap() == own, "{length} {is_committed}");
            // Without a restart, the content of the rejected block is freed.
            assert_eq!(world.pieces().await, usize::from(length > 20), "{is_from_url} {is_committed}");
        }
    }
}

/// The same for a lease that was acquired during the upload of a client without one, for a blob of another kind, and for a
/// blob that disappears together with its lease.
#[tokio::test]
async fn a_block_is_checked_again_when_it_has_arrived() {
    type Change = fn(Arc<World>) -> Work;
    let changes: [(Option<Guid>, Change, ErrorCode); 3] = [
        (None, |world| Box::pin(async move { acquire(&world, B).await }), ErrorCode::LeaseIdMissing),
        (
            None,
            |world| Box::pin(async move { drop(world.create_append("b").await.unwrap()) }),
            ErrorCode::InvalidBlobType,
        ),
        (
            Some(A),
            |world| {
                Box::pin(async move {
                    let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
                    world.run(with(blob("b", delete), |request| request.lease = Some(A))).await.unwrap();
                })
            },
            ErrorCode::LeaseNotPresentWithBlobOperation,
        ),
    ];
    for (id, change, expected) in changes {
        let mut world = World::with_inline(20).await;
        world.put("b", "content").await.unwrap();
        if let Some(id) = id {
            acquire(&world, id).await;
        }
        let work = change(Arc::new(world.peer()));
        let rejected = stage(&world, &bytes_of(1, 100), id, false, work).await;
        assert_eq!(rejected, Err(expected));
        world.settle().await;
        assert_eq!(world.pieces().await, 0, "{expected:?}");
        let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
        let delete = with(blob("b", delete), |request| {
            request.lease = Some(B).filter(|_| expected == ErrorCode::LeaseIdMissing)
        });
        let _ = world.run(delete).await;
        world.pass(1000);
        world.settle().await;
        assert_eq!(world.rows().await, 0, "{expected:?}");
    }
}

/// A world with a container, over an engine that triggers an event at a call.
async fn interrupted() -> (World, Arc<Interrupted>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(Interrupted::new(Memory::new(clock(&ticks))));
    let memory = MemoryContent::default();
    let world = World::over(engine.clone(), memory, ticks, 20, None, Arc::default());
    world.create_container(CONTAINER).await.unwrap();
    (world, engine)
}

/// A lease that is acquired at any moment of an upload: either it is too late for the upload, or the block is withdrawn. A block
/// that was uploaded before stays in any case: a sweep treated it as replaced when it found the late block.
#[tokio::test]
async fn a_rejected_block_does_not_replace_an_earlier_one() {
    for length in [10, 100] {
        let mut was_rejected = 0;
        for n in 0.. {
            let (mut world, engine) = interrupted().await;
            let own = bytes_of(1, length);
            world.stage("b", "1", own.clone()).await.unwrap();
            world.settle().await;
            let other = world.peer();
            let work = Box::pin(async move {
                acquire(&other, B).await;
                let mut sweep = other.blobs.reclaim();
                while sweep.round().await.unwrap() {}
            });
            engine.at_call(n, Event::Work(work));
            let staged = world.stage("b", "1", bytes_of(2, length)).await;
            if engine.disarm() {
                break;
            }
            let expected = match staged {
                Ok(_) => bytes_of(2, length),
                Err(code) => {
                    assert_eq!(code, ErrorCode::LeaseIdMissing, "{length} {n}");
                    was_rejected += 1;
                    own
                }
            };
            world.settle().await;
            commit_as(&world, B).await;
            assert!(world.read("b").await.unwrap() == expected, "{length} {n}");
            world.settle().await;
            assert!(world.read("b").await.unwrap() == expected, "{length} {n}");
            assert_eq!(world.pieces().await, usize::from(length > 20), "{length} {n}");
        }
        assert!(was_rejected >= 2, "{was_rejected}");
    }
}

/// If a caller gave up after its block was stored, the block stayed, although the blob had been leased meanwhile.
#[tokio::test]
async fn a_rejected_block_is_withdrawn_although_its_caller_has_given_up() {
    let mut was_dropped = 0;
    for n in 0..12 {
        let (world, engine) = interrupted().await;
        let (own, late) = (bytes_of(1, 10), bytes_of(2, 10));
        world.stage("b", "1", own.clone()).await.unwrap();
        engine.at_call(n, Event::Work(Box::pin(tokio::task::yield_now())));
        let mut source = Whole::from(late.clone());
        let put = blob("b", BlobAction::PutBlock(block_id("1"), body(&late)));
        let mut upload = Box::pin(world.run_with(put, Supply::Body(&mut source)));
        let is_done = poll_fn(|context| Poll::Ready(upload.as_mut().poll(context).is_ready())).await;
        drop(upload);
        engine.disarm();
        if is_done {
            continue;
        }
        was_dropped += 1;
        acquire(&world, B).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        commit_as(&world, B).await;
        assert!(world.read("b").await.unwrap() == own, "{n}");
    }
    assert!(was_dropped >= 4, "{was_dropped}");
}

/// A list that was read while the blocks were committed and their old rows were swept had neither the old blocks nor the new
/// ones.
#[tokio::test]
async fn a_block_list_that_is_read_during_a_commit_shows_one_state() {
    let mut states = Vec::new();
    for n in 1..=6 {
        let two = Two::new(Features::default()).await;
        let list = || two.world.on("b", BlobAction::GetBlockList(BlockListFilter::All));
        two.world.stage("b", "1", bytes_of(1, 100)).await.unwrap();
        two.world.commit("b", &["1"]).await.unwrap();
        two.world.stage("b", "2", bytes_of(2, 100)).await.unwrap();
        let (old, peer) = (list().await, two.world.peer());
        let commit = |_| async move {
            let committed = peer.commit("b", &["-1", "2"]).await;
            let mut sweep = peer.blobs.reclaim();
            while sweep.round().await.unwrap() {}
            committed
        };
        let (seen, committed) = two.run(n, commit, list()).await;
        let new = list().await;
        assert!(matches!(old, Ok(Outcome::BlockList(_))) && (seen == old || seen == new), "{n} {seen:?}");
        states.push((seen == old, committed.is_some()));
    }
    assert!(states.contains(&(true, true)) || states.contains(&(false, true)), "{states:?}");
}
