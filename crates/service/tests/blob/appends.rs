//! Append blobs.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_model::ErrorCode;
use lazuli_model::blob::condition::AppendConditions;
use lazuli_model::blob::copy::{CopySource, SourceBlob};
use lazuli_model::blob::operation::{BlobAction, CopyBlob, GetBlob, Revision};
use lazuli_model::blob::tier::RehydratePriority;
use lazuli_model::blob::write::{DeleteSnapshots, Digests, TagOption};
use lazuli_model::blob::{BlobName, ByteRange, Conditions, ContainerName, ETags, Outcome, Tags};
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::world::{ACCOUNT, CONTAINER, Ran, World, blob, body, bytes_of, code, drain, if_match, with};

impl World {
    pub async fn create_append(&self, name: &str) -> Ran {
        self.on(name, BlobAction::CreateAppend(Box::default())).await
    }

    pub async fn append(&self, name: &str, content: impl Into<Bytes>) -> Ran {
        self.append_if(name, content, AppendConditions::default(), Conditions::default()).await
    }

    pub async fn append_if(
        &self,
        name: &str,
        content: impl Into<Bytes>,
        appends: AppendConditions,
        conditions: Conditions,
    ) -> Ran {
        let content = content.into();
        let action = BlobAction::AppendBlock(body(&content), appends);
        let operation = with(blob(name, action), |request| request.conditions = conditions);
        self.run_with(operation, Supply::Body(&mut Whole::from(content))).await
    }
}

/// A source in the container of the tests.
pub fn source(name: &str, revision: Revision) -> CopySource {
    CopySource {
        url: format!("http://host/{ACCOUNT}/{CONTAINER}/{name}"),
        blob: Some(SourceBlob {
            authority: "host".into(),
            is_same_host: true,
            account: ACCOUNT.into(),
            container: ContainerName::new(CONTAINER).unwrap(),
            blob: BlobName::new(name).unwrap(),
            revision,
            query: String::new(),
        }),
        bearer: None,
        key: None,
        conditions: Conditions::default(),
        range: None,
        length_max: None,
        expected: Default::default(),
    }
}

/// An asynchronous copy.
pub fn copy_of(source: CopySource) -> BlobAction {
    BlobAction::Copy(Box::new(CopyBlob {
        source,
        is_sync: false,
        metadata: None,
        tags: Tags::default(),
        tag_option: TagOption::Replace,
        tier: None,
        priority: RehydratePriority::default(),
        seals: None,
        immutability: Default::default(),
        digests: Digests::default(),
    }))
}

fn appended(outcome: Ran) -> (u64, u32) {
    match outcome {
        Ok(Outcome::Appended { offset, committed_blocks, .. }) => (offset, committed_blocks),
        other => panic!("{other:?}"),
    }
}

fn all(lengths: &[usize]) -> Vec<u8> {
    lengths.iter().enumerate().flat_map(|(n, length)| bytes_of(n as u64, *length)).collect()
}

#[tokio::test]
async fn appends_come_one_after_the_other() {
    let mut world = World::with_inline(100).await;
    world.create_append("log").await.unwrap();
    assert_eq!(world.read("log").await, Ok(vec![]));
    // Small ones, large ones, and enough of them for several folds.
    let lengths: Vec<usize> = (0..300).map(|n| if n % 7 == 3 { 150 } else { n % 90 + 1 }).collect();
    let mut size = 0;
    for (n, length) in lengths.iter().enumerate() {
        let done = appended(world.append("log", bytes_of(n as u64, *length)).await);
        assert_eq!(done, (size, u32::try_from(n + 1).unwrap()));
        size += *length as u64;
    }
    let expected = all(&lengths);
    let rows = world.rows().await;
    assert!((5..100).contains(&rows), "{rows} rows");
    for _ in 0..2 {
        assert_eq!(world.read("log").await.as_ref(), Ok(&expected));
        world.settle().await;
    }
    for (first, last) in [(0, 0), (1, 5), (149, 152), (2_000, 9_000), (size - 1, size - 1), (5_000, u64::MAX)]
    {
        let get = GetBlob { range: Some(ByteRange { first, last: Some(last) }), ..GetBlob::default() };
        let (_, reader) = world.try_run(blob("log", BlobAction::Get(get)), Supply::Nothing).await.unwrap();
        let found = drain(&mut reader.unwrap()).await.unwrap();
        let end = usize::try_from(last.min(size - 1)).unwrap() + 1;
        assert_eq!(found, expected[usize::try_from(first).unwrap()..end], "{first} to {last}");
    }
    let found = world.properties("log").await.unwrap();
    assert_eq!((found.size, found.committed_blocks), (size, Some(300)));
    world
        .on("log", BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false })
        .await
        .unwrap();
    world.settle().await;
    assert_eq!((world.rows().await, world.pieces().await), (0, 0));
}

/// Concurrent appenders get distinct offsets, and every append is present.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_appends_are_all_kept() {
    let world = Arc::new(World::with_inline(64).await);
    world.create_append("log").await.unwrap();
    let tasks: Vec<_> = (0..8_u8)
        .map(|writer| {
            let world = world.clone();
            tokio::spawn(async move {
                let mut offsets = Vec::new();
                for n in 0..40_u8 {
                    let content = vec![writer.wrapping_mul(31).wrapping_add(n); 10 + usize::from(n) * 2];
                    offsets.push((appended(world.append("log", content.clone()).await).0, content));
                }
                offsets
            })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.unwrap());
    }
    found.sort();
    let content = world.read("log").await.unwrap();
    let mut end = 0;
    for (offset, bytes) in found {
        assert_eq!(offset, end);
        end += bytes.len() as u64;
        assert_eq!(content[usize::try_from(offset).unwrap()..usize::try_from(end).unwrap()], bytes);
    }
    assert_eq!(content.len() as u64, end);
}

/// The cost of an append does not grow with the blob.
#[tokio::test]
async fn an_append_costs_the_same_however_long_the_blob_is() {
    let world = World::with_inline(64).await;
    world.create_append("log").await.unwrap();
    for _ in 0..200 {
        world.append("log", vec![7; 60]).await.unwrap();
    }
    let (done, rows) = world.counting(world.append("log", vec![7; 60])).await;
    done.unwrap();
    assert_eq!(rows, 0, "an append scans nothing");
    let (last, rows) = world
        .counting(async {
            let get = GetBlob { range: Some(ByteRange { first: 12_000, last: None }), ..GetBlob::default() };
            let (_, reader) =
                world.try_run(blob("log", BlobAction::Get(get)), Supply::Nothing).await.unwrap();
            drain(&mut reader.unwrap()).await.unwrap()
        })
        .await;
    assert_eq!(last, vec![7; 60]);
    assert!(rows <= 3, "reading the end reads {rows} rows");
}

#[tokio::test]
async fn positions_and_sizes_are_conditions() {
    let world = World::new().await;
    world.create_append("log").await.unwrap();
    let at = |position| AppendConditions { position: Some(position), max_size: None };
    let up_to = |max| AppendConditions { position: None, max_size: Some(max) };
    let none = Conditions::default;
    assert_eq!(appended(world.append_if("log", vec![1; 10], at(0), none()).await), (0, 1));
    let failed = world.append_if("log", vec![1; 10], at(0), none()).await;
    assert_eq!(failed, Err(ErrorCode::AppendPositionConditionNotMet));
    assert_eq!(appended(world.append_if("log", vec![1; 10], up_to(20), none()).await), (10, 2));
    let failed = world.append_if("log", vec![1; 1], up_to(20), none()).await;
    assert_eq!(failed, Err(ErrorCode::MaxBlobSizeConditionNotMet));
    let stamp = world.stamp("log").await;
    world.append_if("log", vec![1], AppendConditions::default(), if_match(stamp.etag)).await.unwrap();
    let stale = world.append_if("log", vec![1], AppendConditions::default(), if_match(stamp.etag)).await;
    assert_eq!(stale, Err(ErrorCode::ConditionNotMet));
    assert_ne!(world.stamp("log").await, stamp);
    let missing = Conditions { if_match: Some(ETags::Any), ..none() };
    let failed = world.append_if("none", vec![1], AppendConditions::default(), missing).await;
    assert_eq!(failed, Err(ErrorCode::ConditionNotMet));
    assert_eq!(world.append("none", vec![1]).await, Err(ErrorCode::BlobNotFound));
    world.put("block", vec![1]).await.unwrap();
    assert_eq!(world.append("block", vec![1]).await, Err(ErrorCode::InvalidBlobType));
    assert_eq!(world.stage("log", "0001", vec![1]).await, Err(ErrorCode::InvalidBlobType));
}

#[tokio::test]
async fn a_sealed_blob_takes_no_more() {
    let world = World::new().await;
    world.create_append("log").await.unwrap();
    world.append("log", vec![1; 10]).await.unwrap();
    let wrong = BlobAction::Seal(AppendConditions { position: Some(9), max_size: None });
    assert_eq!(world.on("log", wrong).await, Err(ErrorCode::AppendPositionConditionNotMet));
    let seal = || BlobAction::Seal(AppendConditions { position: Some(10), max_size: None });
    let first = world.on("log", seal()).await.unwrap();
    assert_eq!(world.on("log", seal()).await.unwrap(), first);
    assert!(world.properties("log").await.unwrap().is_sealed);
    assert_eq!(world.append("log", vec![1]).await, Err(ErrorCode::BlobIsSealed));
    world.put("block", vec![1]).await.unwrap();
    let seal = BlobAction::Seal(AppendConditions::default());
    assert_eq!(world.on("block", seal).await, Err(ErrorCode::InvalidBlobType));
}

/// A snapshot, a download and a copy keep the content that there was, whatever is appended later.
#[tokio::test]
async fn earlier_states_stay_as_they_were() {
    let mut world = World::with_inline(20).await;
    world.create_append("log").await.unwrap();
    let lengths: Vec<usize> = (0..40).map(|n| n + 5).collect();
    for (n, length) in lengths.iter().enumerate().take(20) {
        world.append("log", bytes_of(n as u64, *length)).await.unwrap();
    }
    let before = all(&lengths[..20]);
    let Ok(Outcome::SnapshotMade { snapshot, .. }) = world.on("log", BlobAction::Snapshot(None)).await else {
        panic!()
    };
    let mut download = world.open("log", Revision::Current).await.unwrap();
    let copy = world.run_local(blob("copy", copy_of(source("log", Revision::Current))));
    assert!(matches!(copy.await, Ok(Outcome::Copied { .. })));
    for (n, length) in lengths.iter().enumerate().skip(20) {
        world.append("log", bytes_of(n as u64, *length)).await.unwrap();
    }
    let snapshot = Revision::Snapshot(snapshot);
    assert_eq!(drain(&mut download).await.map_err(code).as_ref(), Ok(&before));
    drop(download);
    for _ in 0..2 {
        assert_eq!(world.read_of("log", snapshot).await.as_ref(), Ok(&before));
        assert_eq!(world.read("copy").await.as_ref(), Ok(&before));
        assert_eq!(world.read("log").await.unwrap(), all(&lengths));
        world.settle().await;
    }
    // The copy is an append blob of its own.
    assert_eq!(appended(world.append("copy", vec![1; 30]).await), (before.len() as u64, 21));
    // A copy of the snapshot over its blob goes back to it, and can be appended to.
    let back = world.run_local(blob("log", copy_of(source("log", snapshot))));
    assert!(matches!(back.await, Ok(Outcome::Copied { .. })));
    world.append("log", vec![9; 30]).await.unwrap();
    assert_eq!(world.read("log").await.unwrap(), [before.clone(), vec![9; 30]].concat());
    world.settle().await;
    assert_eq!(world.read_of("log", snapshot).await, Ok(before));
}

#[tokio::test]
async fn a_source_can_be_appended() {
    let world = World::new().await;
    world.create_append("log").await.unwrap();
    world.put("source", bytes_of(1, 20_000)).await.unwrap();
    let range = Some(ByteRange { first: 100, last: Some(10_099) });
    let from = Box::new(CopySource { range, ..source("source", Revision::Current) });
    let action = BlobAction::AppendBlockFromUrl(from, Digests::default(), AppendConditions::default());
    let done = world.run_local(blob("log", action)).await;
    assert_eq!(appended(done), (0, 1));
    assert_eq!(world.read("log").await.unwrap(), bytes_of(1, 20_000)[100..10_100]);
}

/// After the 50,000th block, `BlockCountExceedsLimit`; the count in the record is enough to know that.
#[tokio::test]
async fn the_number_of_appends_has_a_limit() {
    let world = World::new().await;
    world.create_append("log").await.unwrap();
    for _ in 0..lazuli_model::blob::limits::APPENDS_MAX {
        world.append("log", vec![1]).await.unwrap();
    }
    assert_eq!(world.append("log", vec![1]).await, Err(ErrorCode::BlockCountExceedsLimit));
    assert_eq!(world.properties("log").await.unwrap().size, 50_000);
}
