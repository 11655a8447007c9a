//! Page blobs: the cost of a write, sequence numbers, ranges, differences, versions, copies.

use bytes::Bytes;
use lazuli_model::blob::condition::SequenceConditions;
use lazuli_model::blob::copy::CopySource;
use lazuli_model::blob::operation::{BlobAction, GetBlob, GetPageRanges, PageSpan, Revision, SetProperties};
use lazuli_model::blob::outcome::PageRanges;
use lazuli_model::blob::write::{DeleteSnapshots, Digests, SequenceAction};
use lazuli_model::blob::{ByteRange, Outcome};
use lazuli_model::{DateTime, ErrorCode, Metadata};
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::appends::{copy_of, source};
use crate::page_model::coarsen;
use crate::world::{Ran, World, blob, body, bytes_of, drain, with};

const TIB: u64 = 1 << 40;

impl World {
    pub async fn create_pages(&self, name: &str, size: u64) -> Ran {
        self.on(name, BlobAction::CreatePage { size, sequence: 0, settings: Box::default() }).await
    }

    pub async fn put_page(&self, name: &str, offset: u64, content: impl Into<Bytes>) -> Ran {
        self.put_page_if(name, offset, content, SequenceConditions::default()).await
    }

    async fn put_page_if(
        &self,
        name: &str,
        offset: u64,
        content: impl Into<Bytes>,
        sequence: SequenceConditions,
    ) -> Ran {
        let content = content.into();
        let span = PageSpan { offset, length: content.len() as u64 };
        let action = BlobAction::PutPage(span, body(&content), sequence);
        self.run_with(blob(name, action), Supply::Body(&mut Whole::from(content))).await
    }

    pub async fn clear_page(&self, name: &str, offset: u64, length: u64) -> Ran {
        let span = PageSpan { offset, length };
        self.on(name, BlobAction::ClearPage(span, SequenceConditions::default())).await
    }

    pub async fn resize(&self, name: &str, size: u64) -> Ran {
        let change = SetProperties { size: Some(size), ..SetProperties::default() };
        self.on(name, BlobAction::SetProperties(Box::new(change))).await
    }

    async fn sequence(&self, name: &str, action: SequenceAction) -> Ran {
        let change = SetProperties { sequence: Some(action), ..SetProperties::default() };
        self.on(name, BlobAction::SetProperties(Box::new(change))).await
    }

    pub async fn snapshot(&self, name: &str) -> Revision {
        match self.on(name, BlobAction::Snapshot(None)).await {
            Ok(Outcome::SnapshotMade { snapshot, .. }) => Revision::Snapshot(snapshot),
            other => panic!("{other:?}"),
        }
    }

    pub async fn ranges(
        &self,
        name: &str,
        revision: Revision,
        get: GetPageRanges,
    ) -> Result<PageRanges, ErrorCode> {
        let operation =
            with(blob(name, BlobAction::GetPageRanges(get)), |request| request.revision = revision);
        match self.run(operation).await? {
            Outcome::PageRanges(found) => Ok(*found),
            other => panic!("{other:?}"),
        }
    }

    async fn written(&self, name: &str) -> Vec<(u64, u64)> {
        let found = self.ranges(name, Revision::Current, GetPageRanges::default()).await.unwrap();
        found.ranges.into_iter().map(|(first, last, _)| (first, last)).collect()
    }
}

/// The changes since a snapshot.
pub fn since(revision: Revision) -> GetPageRanges {
    let Revision::Snapshot(time) = revision else { panic!() };
    GetPageRanges { previous: Some(time), ..GetPageRanges::default() }
}

#[tokio::test]
async fn a_small_write_in_a_huge_blob_costs_what_it_touches() {
    let mut world = World::new().await;
    world.create_pages("p", 8 * TIB).await.unwrap();
    let before = world.rows().await;
    let (done, rows) = world.counting(world.put_page("p", 4 * TIB, vec![7; 512])).await;
    done.unwrap();
    assert_eq!((world.rows().await - before, rows), (1, 0));
    assert_eq!(world.written("p").await, [(4 * TIB, 4 * TIB + 511)]);
    let get = GetBlob {
        range: Some(ByteRange { first: 4 * TIB - 512, last: Some(4 * TIB + 1023) }),
        ..GetBlob::default()
    };
    let (outcome, rows) =
        world.counting(world.try_run(blob("p", BlobAction::Get(get)), Supply::Nothing)).await;
    let found = drain(&mut outcome.unwrap().1.unwrap()).await.unwrap();
    assert_eq!(found, [vec![0; 512], vec![7; 512], vec![0; 512]].concat());
    assert!(rows <= 3, "{rows}");
    // Clearing everything is one small commit, and the sweep touches only what there is.
    let (done, rows) = world.counting(world.clear_page("p", 0, 8 * TIB)).await;
    done.unwrap();
    assert_eq!(rows, 0);
    assert_eq!(world.written("p").await, []);
    world.settle().await;
    assert_eq!(world.rows().await, before);
}

#[tokio::test]
async fn writes_beyond_the_size_and_of_other_kinds_are_rejected() {
    let world = World::new().await;
    world.create_pages("p", 1024).await.unwrap();
    assert_eq!(world.put_page("p", 1024, vec![1; 512]).await, Err(ErrorCode::InvalidPageRange));
    assert_eq!(world.clear_page("p", 512, 1024).await, Err(ErrorCode::InvalidPageRange));
    world.put("block", vec![1]).await.unwrap();
    assert_eq!(world.put_page("block", 0, vec![1; 512]).await, Err(ErrorCode::InvalidBlobType));
    assert_eq!(world.resize("block", 512).await, Err(ErrorCode::InvalidBlobType));
    assert_eq!(world.put_page("none", 0, vec![1; 512]).await, Err(ErrorCode::BlobNotFound));
    assert_eq!(world.append("p", vec![1]).await, Err(ErrorCode::InvalidBlobType));
}

#[tokio::test]
async fn sequence_numbers_fence_late_writes() {
    let world = World::new().await;
    world.create_pages("p", 1024).await.unwrap();
    let number = |outcome: Ran| match outcome {
        Ok(Outcome::PropertiesUpdated { sequence_number, .. }) => sequence_number.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(number(world.sequence("p", SequenceAction::Update(7)).await), 7);
    assert_eq!(number(world.sequence("p", SequenceAction::Max(5)).await), 7);
    assert_eq!(number(world.sequence("p", SequenceAction::Max(9)).await), 9);
    assert_eq!(number(world.sequence("p", SequenceAction::Increment).await), 10);
    let at_most = |number| SequenceConditions { at_most: Some(number), ..SequenceConditions::default() };
    let less = |number| SequenceConditions { less_than: Some(number), ..SequenceConditions::default() };
    let equal = |number| SequenceConditions { equal: Some(number), ..SequenceConditions::default() };
    for (condition, is_met) in [
        (at_most(10), true),
        (at_most(9), false),
        (less(11), true),
        (less(10), false),
        (equal(10), true),
        (equal(11), false),
    ] {
        let done = world.put_page_if("p", 0, vec![1; 512], condition).await;
        match is_met {
            true => assert!(
                matches!(done, Ok(Outcome::PagesWritten { sequence_number: 10, .. })),
                "{condition:?}"
            ),
            false => assert_eq!(done, Err(ErrorCode::SequenceNumberConditionNotMet), "{condition:?}"),
        }
    }
    let last = i64::MAX as u64;
    assert_eq!(number(world.sequence("p", SequenceAction::Update(last)).await), last);
    let failed = world.sequence("p", SequenceAction::Increment).await;
    assert_eq!(failed, Err(ErrorCode::SequenceNumberIncrementTooLarge));
}

#[tokio::test]
async fn ranges_come_in_pages() {
    let world = World::new().await;
    world.create_pages("p", 64 * 1024).await.unwrap();
    for n in 0..10 {
        world.put_page("p", n * 2048, vec![1; 1024]).await.unwrap();
    }
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let get = GetPageRanges { from, max_results: Some(3), ..GetPageRanges::default() };
        let page = world.ranges("p", Revision::Current, get).await.unwrap();
        assert!(page.ranges.len() <= 3);
        found.extend(page.ranges);
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    let expected: Vec<_> = (0..10).map(|n| (n * 2048, n * 2048 + 1023, false)).collect();
    assert_eq!(found, expected);
    let range = Some(ByteRange { first: 512, last: Some(4095) });
    let page =
        world.ranges("p", Revision::Current, GetPageRanges { range, ..Default::default() }).await.unwrap();
    assert_eq!(page.ranges, [(512, 1023, false), (2048, 3071, false)]);
}

#[tokio::test]
async fn differences_need_an_earlier_snapshot_of_the_same_blob() {
    let world = World::new().await;
    world.create_pages("p", 2048).await.unwrap();
    let first = world.snapshot("p").await;
    world.pass(1);
    world.put_page("p", 0, vec![1; 1536]).await.unwrap();
    let second = world.snapshot("p").await;
    world.clear_page("p", 512, 512).await.unwrap();
    let ranges = |revision, get| world.ranges("p", revision, get);
    let found = ranges(Revision::Current, since(first)).await.unwrap();
    assert_eq!(found.ranges, [(0, 511, false), (512, 1023, true), (1024, 1535, false)]);
    let found = ranges(Revision::Current, since(second)).await.unwrap();
    assert_eq!(found.ranges, [(512, 1023, true)]);
    assert_eq!(ranges(second, since(first)).await.unwrap().ranges, [(0, 1535, false)]);
    let failed = ranges(first, since(second)).await.unwrap_err();
    assert_eq!(failed, ErrorCode::PreviousSnapshotCannotBeNewer);
    let missing = GetPageRanges { previous: Some(DateTime::MIN), ..GetPageRanges::default() };
    let failed = ranges(Revision::Current, missing).await.unwrap_err();
    assert_eq!(failed, ErrorCode::PreviousSnapshotNotFound);
    world.create_pages("p", 2048).await.unwrap();
    let failed = ranges(Revision::Current, since(second)).await.unwrap_err();
    assert_eq!(failed, ErrorCode::BlobOverwritten);
}

/// A version that new metadata leaves behind, and a snapshot in an account with versions, keep their pages.
#[tokio::test]
async fn versions_keep_their_pages() {
    let mut world = World::versioned().await;
    world.create_pages("p", 2048).await.unwrap();
    world.create_append("log").await.unwrap();
    let mut states = Vec::new();
    for n in 1..5_u8 {
        world.put_page("p", 512 * u64::from(n % 2), vec![n; 1024]).await.unwrap();
        world.append("log", vec![n; 700]).await.unwrap();
        for name in ["p", "log"] {
            let content = world.read(name).await.unwrap();
            let version = world.properties(name).await.unwrap().version.unwrap().id;
            states.push((name, Revision::Version(version), content.clone()));
            world.pass(1);
            if n == 3 {
                states.push((name, world.snapshot(name).await, content));
            } else {
                world.on(name, BlobAction::SetMetadata(Metadata::default())).await.unwrap();
            }
            world.pass(1);
        }
    }
    for name in ["p", "log"] {
        let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
        states.retain(|(owner, revision, _)| *owner != name || matches!(revision, Revision::Version(_)));
        world.on(name, delete).await.unwrap();
    }
    for _ in 0..2 {
        for (name, revision, content) in &states {
            assert!(world.read_of(name, *revision).await.unwrap() == *content, "{name} {revision:?}");
        }
        world.settle().await;
    }
}

/// Soft delete: restored content is unchanged, and nothing is left after the retention period.
#[tokio::test]
async fn deleted_pages_and_appends_come_back() {
    let mut world = World::new().await;
    world.retain(Some(1)).await;
    world.create_pages("p", 2048).await.unwrap();
    world.put_page("p", 0, vec![1; 1024]).await.unwrap();
    world.create_append("log").await.unwrap();
    world.append("log", vec![1; 10_000]).await.unwrap();
    world.pass(1);
    let snapshot = world.snapshot("p").await;
    world.put_page("p", 512, vec![2; 1024]).await.unwrap();
    let (old, new) = (world.read_of("p", snapshot).await.unwrap(), world.read("p").await.unwrap());
    let delete = || BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
    for name in ["p", "log"] {
        world.on(name, delete()).await.unwrap();
        world.settle().await;
        world.on(name, BlobAction::Undelete).await.unwrap();
    }
    world.settle().await;
    assert!(world.read("p").await.unwrap() == new && world.read_of("p", snapshot).await.unwrap() == old);
    world.put_page("p", 0, vec![3; 512]).await.unwrap();
    assert!(world.read_of("p", snapshot).await.unwrap() == old);
    world.append("log", vec![2; 10]).await.unwrap();
    assert_eq!(world.read("log").await.unwrap(), [vec![1; 10_000], vec![2; 10]].concat());
    for name in ["p", "log"] {
        world.on(name, delete()).await.unwrap();
    }
    world.pass(2 * 24 * 60 * 60);
    world.settle().await;
    assert_eq!((world.rows().await, world.pieces().await), (0, 0));
}

#[tokio::test]
async fn copies_and_sources() {
    let mut world = World::new().await;
    world.create_pages("p", 1 << 20).await.unwrap();
    world.put_page("p", 40_960, bytes_of(1, 30 * 1024)).await.unwrap();
    let snapshot = world.snapshot("p").await;
    world.put_page("p", 40_960, bytes_of(2, 1024)).await.unwrap();
    let old = world.read_of("p", snapshot).await.unwrap();
    let new = world.read("p").await.unwrap();
    let copy = |to: &str, from| blob(to, copy_of(source("p", from)));
    for (to, from) in [("copy", Revision::Current), ("old", snapshot), ("p", snapshot)] {
        let done = world.run_local(copy(to, from)).await;
        assert!(matches!(done, Ok(Outcome::Copied { .. })), "{done:?}");
    }
    world.put_page("p", 0, vec![9; 512]).await.unwrap();
    let mut promoted = old.clone();
    promoted[..512].fill(9);
    for _ in 0..2 {
        assert!(world.read("copy").await.unwrap() == new);
        assert!(world.read("old").await.unwrap() == old);
        assert!(world.read("p").await.unwrap() == promoted);
        assert!(world.read_of("p", snapshot).await.unwrap() == old);
        world.settle().await;
    }
    let range = Some(ByteRange { first: 40_960, last: Some(40_960 + 1023) });
    let from = Box::new(CopySource { range, ..source("copy", Revision::Current) });
    let span = PageSpan { offset: 1024, length: 1024 };
    let action = BlobAction::PutPageFromUrl(span, from, Digests::default(), SequenceConditions::default());
    let done = world.run_local(blob("p", action)).await;
    assert!(matches!(done, Ok(Outcome::PagesWritten { .. })), "{done:?}");
    assert_eq!(world.read("p").await.unwrap()[1024..2048], bytes_of(2, 1024));
}

#[tokio::test]
async fn incremental_copies_make_snapshots_that_can_be_compared() {
    let mut world = World::new().await;
    world.create_pages("p", 1 << 20).await.unwrap();
    world.put_page("p", 0, vec![1; 4096]).await.unwrap();
    let first = world.snapshot("p").await;
    world.pass(1);
    world.put_page("p", 512, vec![2; 512]).await.unwrap();
    world.clear_page("p", 2048, 512).await.unwrap();
    let second = world.snapshot("p").await;
    let mut copies = world.blobs.copies();
    let mut made = Vec::new();
    for from in [first, second] {
        let action = BlobAction::IncrementalCopy(Box::new(source("p", from)));
        let done = world.run_local(blob("copy", action)).await;
        assert!(matches!(done, Ok(Outcome::Copied { .. })), "{done:?}");
        while copies.round().await.unwrap() {}
        let copy = world.properties("copy").await.unwrap().copy.unwrap();
        made.push(Revision::Snapshot(copy.destination_snapshot.unwrap()));
        world.pass(1);
    }
    for (made, from) in made.iter().zip([first, second]) {
        assert!(world.read_of("copy", *made).await.unwrap() == world.read_of("p", from).await.unwrap());
    }
    let found = world.ranges("copy", made[1], since(made[0])).await.unwrap();
    assert_eq!(found.ranges, [(512, 1023, false), (2048, 2559, true)]);
    assert_eq!(world.read("copy").await, Err(ErrorCode::OperationNotAllowedOnIncrementalCopyBlob));
    let failed = world.put_page("copy", 0, vec![1; 512]).await;
    assert_eq!(failed, Err(ErrorCode::OperationNotAllowedOnIncrementalCopyBlob));
    for (from, expected) in [
        (first, ErrorCode::IncrementalCopyOfEarlierSnapshotNotAllowed),
        (Revision::Current, ErrorCode::IncrementalCopySourceMustBeSnapshot),
    ] {
        let action = BlobAction::IncrementalCopy(Box::new(source("p", from)));
        let done = world.run_local(blob("copy", action)).await;
        assert_eq!(done, Err(expected));
    }
    world.settle().await;
    assert!(world.read_of("copy", made[0]).await.unwrap() == world.read_of("p", first).await.unwrap());
}

/// The destination of incremental copies has cells of another size than the source, which was created again.
#[tokio::test]
async fn incremental_copies_regroup_pages() {
    for coarse in ["first", "second"] {
        let mut world = World::new().await;
        let mut made = Vec::new();
        for round in ["first", "second"] {
            world.pass(1);
            world.create_pages("p", 1 << 20).await.unwrap();
            if round == coarse {
                coarsen(&world, "p").await;
            }
            let byte = round.len() as u8;
            for at in [0, 3 * 4096 + 512, 16 * 1024 - 512, 700 * 1024] {
                world.put_page("p", at, vec![byte; 6 * 1024]).await.unwrap();
            }
            world.put_page("p", 500 * 1024, round.as_bytes().repeat(1024)[..512].to_vec()).await.unwrap();
            let from = world.snapshot("p").await;
            let content = world.read_of("p", from).await.unwrap();
            let action = BlobAction::IncrementalCopy(Box::new(source("p", from)));
            let done = world.run_local(blob("copy", action)).await;
            assert!(matches!(done, Ok(Outcome::Copied { .. })), "{done:?}");
            while world.blobs.copies().round().await.unwrap() {}
            let copy = world.properties("copy").await.unwrap().copy.unwrap();
            made.push((Revision::Snapshot(copy.destination_snapshot.unwrap()), content));
            let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
            world.on("p", delete).await.unwrap();
        }
        world.settle().await;
        for (snapshot, content) in made {
            assert!(world.read_of("copy", snapshot).await.unwrap() == content, "{coarse}");
        }
    }
}
