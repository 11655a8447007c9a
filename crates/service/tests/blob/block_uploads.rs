//! Uploads of blocks during which the blob changes: what counts is the state when the block has arrived.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_model::blob::lease::LeaseDuration;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{BlobKind, LeaseAction};
use lazuli_model::{ErrorCode, Guid};
use lazuli_service::blob::{Opener, Opening, Remote, Supply};
use lazuli_service::stream::{NextChunk, Source, Whole};

use crate::appends::source;
use crate::world::{Ran, World, blob, block_id, body, bytes_of, with};

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
