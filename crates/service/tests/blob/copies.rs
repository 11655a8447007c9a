//! Copies within the server that continue in the background: kinds, progress, restarts, sources that change, aborts, and
//! failures of the engine at every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Engine, EngineFuture, Error, Layer, Row, TableId};
use lazuli_model::blob::copy::{CopySource, CopyStatus};
use lazuli_model::blob::lease::LeaseDuration;
use lazuli_model::blob::operation::{BlobAction, PutFromUrl, Revision};
use lazuli_model::blob::{ByteRange, Conditions, LeaseAction, Outcome};
use lazuli_model::{ErrorCode, Guid, Metadata};

use crate::appends::{copy_of, source};
use crate::interrupted::{Event, Interrupted};
use crate::world::{CONTAINER, Features, START_TICKS, World, blob, block_id, bytes_of, clock, tags_of, with};

const A: Guid = Guid([0xA; 16]);
const B: Guid = Guid([0xB; 16]);
/// The kinds of blobs, by name.
const KINDS: [&str; 3] = ["blocks", "log", "pages"];
const MIB: u64 = 1024 * 1024;

/// A world in which copies of more than 50 bytes continue in the background, with a blob of each kind.
async fn world() -> (World, Arc<Interrupted>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(Interrupted::new(Memory::new(clock(&ticks))));
    let features = Features { copy_at_once_max: Some(50), ..Features::default() };
    let memory = MemoryContent::default();
    let world = World::over_with(engine.clone(), memory, ticks, 20, None, Arc::default(), features);
    world.create_container(CONTAINER).await.unwrap();
    for n in 0..3 {
        world.stage("blocks", &n.to_string(), bytes_of(n, 100)).await.unwrap();
    }
    world.commit("blocks", &["0", "1", "2"]).await.unwrap();
    world.create_append("log").await.unwrap();
    for n in 0..3 {
        world.append("log", bytes_of(n, 100)).await.unwrap();
    }
    world.create_pages("pages", 512 * 64).await.unwrap();
    world.put_page("pages", 512 * 7, bytes_of(1, 512 * 3)).await.unwrap();
    (world, engine)
}

/// Begins a copy. If a lease is named, the destination has it.
async fn begin(world: &World, from: &str, to: &str, lease: Option<Guid>) -> Guid {
    let copy = blob(to, copy_of(source(from, Revision::Current)));
    let done = world.run_local(with(copy, |request| request.lease = lease)).await;
    let Ok(Outcome::Copied { id, status: CopyStatus::Pending, .. }) = done else { panic!("{done:?}") };
    id
}

async fn status(world: &World, name: &str) -> (CopyStatus, Option<String>) {
    let copy = world.properties(name).await.unwrap().copy.unwrap();
    (copy.status, copy.description)
}

async fn abort(world: &World, name: &str, id: Guid, lease: Option<Guid>) -> Result<(), ErrorCode> {
    let abort = with(blob(name, BlobAction::AbortCopy(id)), |request| request.lease = lease);
    world.run(abort).await.map(drop)
}

/// Deletes everything, and checks that nothing is left.
async fn check_leaks(world: &mut World, case: &str) {
    for name in ["copy", "blocks", "log", "pages"] {
        let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
        world.on(name, delete).await.unwrap();
    }
    world.settle().await;
    world.pass(1000);
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await), (0, 0), "{case}");
}

#[tokio::test]
async fn large_copies_within_the_server_continue_in_the_background() {
    let (mut world, _) = world().await;
    // More blocks than a segment takes.
    for n in 0..520 {
        world.stage("long", &format!("{n:04}"), bytes_of(n, 40)).await.unwrap();
    }
    let ids: Vec<String> = (0..520).map(|n| format!("{n:04}")).collect();
    world.commit("long", &ids.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    for name in KINDS.into_iter().chain(["long"]) {
        let content = world.read(name).await.unwrap();
        let copy = format!("copy of {name}");
        begin(&world, name, &copy, None).await;
        assert_eq!(world.read(&copy).await, Ok(vec![]), "nothing is visible before the copy is complete");
        assert!(!world.blobs.remote_copies().round().await.unwrap());
        let mut copies = world.blobs.copies();
        assert!(copies.round().await.unwrap());
        assert!(!copies.round().await.unwrap());
        for _ in 0..2 {
            assert_eq!(status(&world, &copy).await, (CopyStatus::Success, None));
            assert!(world.read(&copy).await.unwrap() == content, "{name}");
            world.settle().await;
        }
        let (properties, original) = (world.properties(&copy).await, world.properties(name).await);
        assert_eq!(properties.unwrap().kind, original.unwrap().kind);
    }
}

#[tokio::test]
async fn a_pending_local_copy_starts_over_after_a_restart() {
    let (world, _) = world().await;
    begin(&world, "blocks", "copy", None).await;
    let content = world.read("blocks").await.unwrap();
    let mut world = world.restarted();
    let mut copies = world.blobs.copies();
    world.reclaim.round().await.unwrap();
    assert!(copies.round().await.unwrap(), "the scan has found it");
    assert!(world.read("copy").await.unwrap() == content);
    check_leaks(&mut world, "restart").await;
}

/// The number of copied bytes is stored while a copy is under way, and stays if it is interrupted.
#[tokio::test]
async fn a_pending_copy_stores_its_progress() {
    let (mut world, engine) = world().await;
    let block = bytes_of(7, 4 * MIB as usize);
    world.stage("large", "0", block).await.unwrap();
    world.commit("large", &["0"; 17]).await.unwrap();
    begin(&world, "large", "copy", None).await;
    let copied = async |world: &World| {
        let copy = world.properties("copy").await.unwrap().copy.unwrap();
        (copy.status, copy.copied, copy.total)
    };
    assert_eq!(copied(&world).await, (CopyStatus::Pending, 0, 68 * MIB));
    // The first call that fails once progress is stored.
    for n in 0.. {
        engine.at_call(n, Event::Failure);
        assert!(world.blobs.copies().round().await.is_err());
        assert!(!engine.disarm());
        if copied(&world).await.1 > 0 {
            break;
        }
    }
    let (status, bytes, total) = copied(&world).await;
    assert_eq!((status, total), (CopyStatus::Pending, 68 * MIB));
    assert!((64 * MIB..68 * MIB).contains(&bytes), "{bytes}");
    assert!(world.blobs.copies().round().await.unwrap());
    assert_eq!(copied(&world).await, (CopyStatus::Success, 68 * MIB, 68 * MIB));
    world.settle().await;
    assert_eq!(world.properties("copy").await.unwrap().size, 68 * MIB);
}

/// A pending copy was lost from the work list when its head could not be read or its failure could not be stored, so
/// that the destination answered 409 until a restart. And it failed permanently when a segment of the source could not
/// be read once.
#[tokio::test]
async fn a_pending_copy_survives_a_failure_of_the_engine_at_every_call() {
    for name in KINDS {
        for n in 0.. {
            let case = format!("{name}, call {n}");
            let (mut world, engine) = world().await;
            let content = world.read(name).await.unwrap();
            begin(&world, name, "copy", None).await;
            let mut copies = world.blobs.copies();
            engine.at_call(n, Event::Failure);
            let done = copies.round().await;
            if engine.disarm() {
                assert!(n >= 4, "a copy makes {n} calls");
                break;
            }
            assert!(done.is_err(), "{case}");
            assert_eq!(status(&world, "copy").await, (CopyStatus::Pending, None), "{case}");
            assert_eq!(copies.round().await, Ok(true), "{case}");
            assert_eq!(status(&world, "copy").await, (CopyStatus::Success, None), "{case}");
            assert!(world.read("copy").await.unwrap() == content, "{case}");
            check_leaks(&mut world, &case).await;
        }
    }
}

/// A copy whose beginning was not acknowledged was forgotten: the destination answered 409 until a restart.
#[tokio::test]
async fn a_copy_that_has_begun_without_being_acknowledged_is_completed() {
    for is_incremental in [false, true] {
        for n in 0.. {
            let (mut world, engine) = world().await;
            let Outcome::SnapshotMade { snapshot, .. } =
                world.on("pages", BlobAction::Snapshot(None)).await.unwrap()
            else {
                panic!()
            };
            let from = source("pages", Revision::Snapshot(snapshot));
            let action = match is_incremental {
                true => BlobAction::IncrementalCopy(Box::new(from)),
                false => copy_of(from),
            };
            engine.at_call(n, Event::Lost);
            let begun = world.run_local(blob("copy", action)).await;
            if engine.disarm() {
                assert!(n >= 2, "a copy makes {n} calls");
                break;
            }
            while world.blobs.copies().round().await.unwrap() {}
            let copy = world.properties("copy").await.map(|found| found.copy.unwrap().status);
            if begun.is_ok() || copy != Err(ErrorCode::BlobNotFound) {
                assert_eq!(copy, Ok(CopyStatus::Success), "incremental {is_incremental}, call {n}");
            }
            world.settle().await;
        }
    }
}

#[tokio::test]
async fn a_copy_whose_source_has_changed_fails_despite_engine_errors() {
    for n in 0.. {
        let (mut world, engine) = world().await;
        begin(&world, "blocks", "copy", None).await;
        world.on("blocks", BlobAction::SetMetadata(Metadata::default())).await.unwrap();
        let mut copies = world.blobs.copies();
        engine.at_call(n, Event::Failure);
        let done = copies.round().await;
        let is_over = engine.disarm();
        if !is_over {
            assert!(done.is_err(), "call {n}");
            assert_eq!(status(&world, "copy").await.0, CopyStatus::Pending, "call {n}");
            assert_eq!(copies.round().await, Ok(true), "call {n}");
        }
        let failed = (CopyStatus::Failed, Some("412 SourceConditionNotMet".to_owned()));
        assert_eq!(status(&world, "copy").await, failed, "call {n}");
        assert_eq!(world.read("copy").await, Ok(vec![]));
        assert_eq!(copies.round().await, Ok(false));
        world.put("copy", "new").await.unwrap();
        check_leaks(&mut world, "changed").await;
        if is_over {
            assert!(n > 2, "{n}");
            return;
        }
    }
}

#[tokio::test]
async fn a_copy_whose_source_is_gone_fails() {
    let (world, _) = world().await;
    begin(&world, "log", "copy", None).await;
    let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    world.on("log", delete).await.unwrap();
    assert_eq!(world.blobs.copies().round().await, Ok(true));
    assert_eq!(status(&world, "copy").await, (CopyStatus::Failed, Some("404 BlobNotFound".into())));
}

/// An abort during the copy wins, unless the copy is complete before.
#[tokio::test]
async fn a_pending_copy_can_be_aborted_at_every_call() {
    for name in KINDS {
        for n in 0.. {
            let case = format!("{name}, call {n}");
            let (mut world, engine) = world().await;
            let content = world.read(name).await.unwrap();
            let id = begin(&world, name, "copy", None).await;
            let peer = world.peer();
            let work = async move { abort(&peer, "copy", id, None).await.unwrap() };
            engine.at_call(n, Event::Work(Box::pin(work)));
            assert_eq!(world.blobs.copies().round().await, Ok(true), "{case}");
            let is_over = engine.disarm();
            let (expected, content) =
                if is_over { (CopyStatus::Success, content) } else { (CopyStatus::Aborted, vec![]) };
            assert_eq!(status(&world, "copy").await, (expected, None), "{case}");
            assert!(world.read("copy").await.unwrap() == content, "{case}");
            assert_eq!(world.blobs.copies().round().await, Ok(false), "{case}");
            let again = abort(&world, "copy", id, None).await;
            assert_eq!(again, Err(ErrorCode::NoPendingCopyOperation), "{case}");
            check_leaks(&mut world, &case).await;
            if is_over {
                assert!(n >= 4, "a copy makes {n} calls");
                break;
            }
        }
    }
}

/// The bytes of a source on this server had no limit: a request without a range made a block as large as any blob.
#[tokio::test]
async fn operations_with_a_url_limit_the_length_of_their_source() {
    let (world, _) = world().await;
    for (length_max, range, is_taken) in [
        (None, None, true),
        (Some(300), None, true),
        (Some(299), None, false),
        (Some(299), Some(ByteRange { first: 1, last: None }), true),
        (Some(298), Some(ByteRange { first: 1, last: Some(u64::MAX) }), false),
    ] {
        let from = || CopySource { length_max, range, ..source("blocks", Revision::Current) };
        let put = PutFromUrl {
            source: from(),
            settings: Default::default(),
            copies_headers: true,
            tags: Default::default(),
            digests: Default::default(),
        };
        let actions = [
            BlobAction::PutBlobFromUrl(Box::new(put)),
            BlobAction::PutBlockFromUrl(block_id("1"), Box::new(from()), Default::default()),
            BlobAction::AppendBlockFromUrl(Box::new(from()), Default::default(), Default::default()),
        ];
        for (action, to) in actions.into_iter().zip(["put", "staged", "log"]) {
            let case = format!("{action:?}");
            let done = world.run_local(blob(to, action.clone())).await;
            match is_taken {
                true => assert!(done.is_ok(), "{case}: {done:?}"),
                false => assert_eq!(done, Err(ErrorCode::RequestBodyTooLarge), "{case}"),
            }
            let length = range.map_or(300, |_| 299);
            let done = world.run_with(blob(to, action), crate::remote::supply(length)).await;
            match is_taken {
                true => assert!(done.is_ok(), "{case}: {done:?}"),
                false => assert_eq!(done, Err(ErrorCode::RequestBodyTooLarge), "{case}"),
            }
        }
    }
}

/// While a copy is pending, the destination cannot be changed; then it can.
#[tokio::test]
async fn the_destination_of_a_pending_copy_cannot_be_changed() {
    let pending = ErrorCode::PendingCopyOperation;
    let (mut world, _) = world().await;
    begin(&world, "blocks", "copy", None).await;
    assert_eq!(world.put("copy", "new").await, Err(pending));
    assert_eq!(world.stage("copy", "0", "new").await, Err(pending));
    assert_eq!(world.commit("copy", &[]).await, Err(pending));
    assert_eq!(world.create_append("copy").await, Err(pending));
    let again = blob("copy", copy_of(source("blocks", Revision::Current)));
    assert_eq!(world.run_local(again).await, Err(pending));
    let acquire = LeaseAction::Acquire { proposed: None, duration: LeaseDuration::Infinite };
    let changes: [BlobAction; 6] = [
        BlobAction::SetMetadata(Metadata::default()),
        BlobAction::SetProperties(Box::default()),
        BlobAction::SetTags(tags_of(&[])),
        BlobAction::Lease(acquire),
        BlobAction::Snapshot(None),
        BlobAction::Delete { snapshots: Default::default(), is_permanent: false },
    ];
    for change in changes.clone() {
        assert_eq!(world.on("copy", change.clone()).await, Err(pending), "{change:?}");
    }
    assert_eq!(world.blobs.copies().round().await, Ok(true));
    for change in &changes[..3] {
        world.on("copy", change.clone()).await.unwrap();
    }
    world.put("copy", "new").await.unwrap();
    check_leaks(&mut world, "pending").await;
}

/// LS-09: aborting a copy to a blob with an infinite lease needs the id of the lease.
#[tokio::test]
async fn aborting_a_copy_needs_the_id_of_an_infinite_lease() {
    let (world, _) = world().await;
    for (lease, is_leased) in [(None, false), (Some(A), true)] {
        world.put("copy", "old").await.unwrap();
        if is_leased {
            let acquire = LeaseAction::Acquire { proposed: lease, duration: LeaseDuration::Infinite };
            world.on("copy", BlobAction::Lease(acquire)).await.unwrap();
        }
        let id = begin(&world, "blocks", "copy", lease).await;
        let (without, other) = match is_leased {
            true => (Err(ErrorCode::LeaseIdMissing), ErrorCode::LeaseIdMismatchWithBlobOperation),
            false => (Ok(()), ErrorCode::LeaseNotPresentWithBlobOperation),
        };
        assert_eq!(abort(&world, "copy", id, Some(B)).await, Err(other));
        assert_eq!(status(&world, "copy").await.0, CopyStatus::Pending);
        assert_eq!(abort(&world, "copy", B, lease).await, Err(ErrorCode::CopyIdMismatch));
        assert_eq!(abort(&world, "copy", id, None).await, without);
        if is_leased {
            assert_eq!(status(&world, "copy").await.0, CopyStatus::Pending);
            assert_eq!(abort(&world, "copy", id, lease).await, Ok(()));
        }
        assert_eq!(status(&world, "copy").await.0, CopyStatus::Aborted);
        assert_eq!(world.blobs.copies().round().await, Ok(true));
        assert_eq!(world.read("copy").await, Ok(vec![]));
    }
    // The lease outlives the copy.
    assert_eq!(world.put("copy", "new").await, Err(ErrorCode::LeaseIdMissing));
    world.put_if("copy", Bytes::from("new"), Some(A), Conditions::default()).await.unwrap();
}

/// An engine in which the segments of blobs are damaged from some time on.
struct Damaged {
    below: Memory,
    is_damaged: AtomicBool,
}

impl Layer for Damaged {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        if self.is_damaged.load(Ordering::SeqCst) && rows.iter().any(|row| row.starts_with("x/")) {
            return Box::pin(std::future::ready(Err(Error::Corrupt("as the test wants it".into()))));
        }
        self.below.get(table, partition, rows)
    }
}

/// A copy of a damaged source was tried again and again, and the destination answered 409 for ever.
#[tokio::test]
async fn a_copy_of_a_damaged_source_fails() {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(Damaged { below: Memory::new(clock(&ticks)), is_damaged: AtomicBool::new(false) });
    let features = Features { copy_at_once_max: Some(50), ..Features::default() };
    let memory = MemoryContent::default();
    let world = World::over_with(engine.clone(), memory, ticks, 20, None, Arc::default(), features);
    world.create_container(CONTAINER).await.unwrap();
    for n in 0..3 {
        world.stage("blocks", &n.to_string(), bytes_of(n, 100)).await.unwrap();
    }
    world.commit("blocks", &["0", "1", "2"]).await.unwrap();
    begin(&world, "blocks", "copy", None).await;
    engine.is_damaged.store(true, Ordering::SeqCst);
    let mut copies = world.blobs.copies();
    while copies.round().await.unwrap() {}
    let (copied, why) = status(&world, "copy").await;
    assert_eq!((copied, why.as_deref()), (CopyStatus::Failed, Some("500 InternalError")));
    world.put("copy", "other").await.unwrap();
}
