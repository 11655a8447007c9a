//! Copies from other servers that continue in the background: kinds, restarts, sources that change, aborts.

use bytes::Bytes;
use lazuli_model::blob::copy::{CopySource, CopyStatus};
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{DateTime, ErrorCode, Guid};
use lazuli_service::blob::{Fetch, Opener, Opening, Remote, Supply};
use lazuli_service::stream::{NextChunk, Source};

use crate::appends::{copy_of, source};
use crate::requests::{blob, bytes_of};
use crate::world::World;

const PIECE: usize = 64 * 1024;

/// Another server. A URL describes its resource: `http://h/KIND/LENGTH`, and `/changing` if it changes whenever it is
/// opened again. A query `?N` stands for a snapshot.
pub struct Elsewhere;

/// A resource there.
struct There(String);

impl Fetch for Elsewhere {
    fn open<'a>(&'a self, url: &'a str, etag: Option<&'a str>) -> Opening<'a> {
        assert_eq!(etag, Some("\"1\""));
        Box::pin(async move {
            if url.ends_with("/changing") {
                return Err(ErrorCode::SourceConditionNotMet.into());
            }
            Ok(remote(url))
        })
    }
}

impl Opener for There {
    fn open(self: Box<Self>) -> Opening<'static> {
        Box::pin(async move { Ok(remote(&self.0)) })
    }
}

fn remote(url: &str) -> Remote {
    let (path, snapshot) = url.split_once('?').unwrap_or((url, "1"));
    let mut parts = path.split('/').skip(3);
    let kind = BlobKind::parse(parts.next().unwrap()).unwrap();
    let length = parts.next().unwrap().parse().unwrap();
    Remote {
        body: Box::new(Pieces(content_of(kind, length, snapshot.parse().unwrap()).into())),
        length: length as u64,
        kind,
        etag: Some("\"1\"".into()),
        headers: Default::default(),
        metadata: Default::default(),
        tags: Default::default(),
        sequence_number: 3,
        appends: 2,
        is_sealed: false,
    }
}

/// The content of a resource. Most of a page blob is zeros.
fn content(kind: BlobKind, length: usize) -> Vec<u8> {
    content_of(kind, length, 1)
}

fn content_of(kind: BlobKind, length: usize, snapshot: u64) -> Vec<u8> {
    match kind {
        BlobKind::Page => [vec![0; length - 1024], bytes_of(snapshot, 1024).to_vec()].concat(),
        _ => bytes_of(snapshot, length).to_vec(),
    }
}

struct Pieces(Bytes);

impl Source for Pieces {
    fn next(&mut self) -> NextChunk<'_> {
        let piece = self.0.split_to(self.0.len().min(PIECE));
        Box::pin(std::future::ready(Ok(Some(piece).filter(|piece| !piece.is_empty()))))
    }
}

/// A block blob of this length there.
pub fn supply(length: usize) -> Supply<'static> {
    Supply::Remote(Box::new(There(format!("http://h/BlockBlob/{length}"))))
}

async fn start(world: &World, name: &str, url: &str) -> Guid {
    let source = CopySource { url: url.into(), blob: None, ..source(name, Revision::Current) };
    let supply = Supply::Remote(Box::new(There(url.into())));
    let done = world.run_with(blob(name, copy_of(source)), supply).await;
    let Ok(Outcome::Copied { id, status: CopyStatus::Pending, .. }) = done else { panic!("{done:?}") };
    id
}

async fn status(world: &World, name: &str) -> (CopyStatus, Option<String>) {
    let copy = world.properties(name).await.unwrap().copy.unwrap();
    (copy.status, copy.description)
}

#[tokio::test]
async fn large_copies_continue_in_the_background() {
    let mut world = World::new().await;
    for kind in [BlobKind::Block, BlobKind::Append, BlobKind::Page] {
        let length = 2 * 1024 * 1024;
        let name = kind.name();
        start(&world, name, &format!("http://h/{name}/{length}")).await;
        assert_eq!(
            world.read(name).await.unwrap().len(),
            0,
            "nothing is visible before the copy is complete"
        );
        assert!(!world.blobs.copies().round().await.unwrap(), "copies within the server do not wait for it");
        assert!(world.blobs.remote_copies().round().await.unwrap());
        for _ in 0..2 {
            assert_eq!(status(&world, name).await, (CopyStatus::Success, None));
            assert!(world.read(name).await.unwrap() == content(kind, length), "{name}");
            world.settle().await;
        }
    }
    assert_eq!(world.properties("AppendBlob").await.unwrap().kind, BlobKind::Append);
}

#[tokio::test]
async fn a_copy_that_was_pending_starts_over_after_a_restart() {
    let world = World::new().await;
    start(&world, "copy", "http://h/BlockBlob/3000000").await;
    let mut world = world.restarted();
    let mut copies = world.blobs.remote_copies();
    world.reclaim.round().await.unwrap();
    assert!(copies.round().await.unwrap(), "the scan has found it");
    assert!(world.read("copy").await.unwrap() == content(BlobKind::Block, 3_000_000));
    world.settle().await;
    assert!(world.read("copy").await.unwrap() == content(BlobKind::Block, 3_000_000));
}

#[tokio::test]
async fn copies_fail_with_their_source_and_can_be_aborted() {
    let world = World::new().await;
    let mut copies = world.blobs.remote_copies();
    start(&world, "failed", "http://h/BlockBlob/3000000/changing").await;
    assert!(copies.round().await.unwrap());
    let failed = (CopyStatus::Failed, Some("412 SourceConditionNotMet".to_owned()));
    assert_eq!(status(&world, "failed").await, failed);

    let id = start(&world, "aborted", "http://h/BlockBlob/3000000").await;
    assert_eq!(world.on("aborted", BlobAction::AbortCopy(id)).await, Ok(Outcome::CopyAborted));
    assert!(copies.round().await.unwrap());
    assert_eq!(status(&world, "aborted").await.0, CopyStatus::Aborted);
    assert_eq!(world.read("aborted").await.unwrap().len(), 0);
}

/// Snapshots of another server arrive as snapshots of the destination, in order and from one blob only.
#[tokio::test]
async fn incremental_copies_from_another_server() {
    let kind = BlobKind::Page;
    for length in [16 * 1024, 2 * 1024 * 1024] {
        let mut world = World::new().await;
        let mut made = Vec::new();
        for snapshot in 1..=3 {
            world.pass(1);
            let url = format!("http://h/PageBlob/{length}?{snapshot}");
            let time = DateTime::from_ticks(snapshot).unwrap();
            let from = CopySource { url: url.clone(), ..source("ignored", Revision::Snapshot(time)) };
            let action = BlobAction::IncrementalCopy(Box::new(from));
            let done = world.run_with(blob("copy", action), Supply::Remote(Box::new(There(url)))).await;
            assert!(matches!(done, Ok(Outcome::Copied { .. })), "{done:?}");
            while world.blobs.remote_copies().round().await.unwrap() {}
            let copy = world.properties("copy").await.unwrap().copy.unwrap();
            assert_eq!(copy.status, CopyStatus::Success);
            made.push(Revision::Snapshot(copy.destination_snapshot.unwrap()));
        }
        world.settle().await;
        for (snapshot, made) in (1..).zip(&made) {
            let found = world.read_of("copy", *made).await.unwrap();
            assert!(found == content_of(kind, length, snapshot), "{length}: snapshot {snapshot}");
        }
        let earlier = CopySource {
            url: format!("http://h/PageBlob/{length}?2"),
            ..source("ignored", Revision::Snapshot(DateTime::from_ticks(2).unwrap()))
        };
        let other = CopySource { url: format!("http://h/PageBlob/{length}/x?9"), ..earlier.clone() };
        let block = CopySource { url: "http://h/BlockBlob/512?9".into(), ..earlier.clone() };
        for (from, expected) in [
            (earlier, ErrorCode::IncrementalCopyOfEarlierSnapshotNotAllowed),
            (other, ErrorCode::IncrementalCopyBlobMismatch),
            (block, ErrorCode::InvalidSourceBlobType),
        ] {
            let supply = Supply::Remote(Box::new(There(from.url.clone())));
            let action = BlobAction::IncrementalCopy(Box::new(from));
            assert_eq!(world.run_with(blob("copy", action), supply).await, Err(expected));
        }
    }
}
