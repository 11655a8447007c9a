//! Objects: their format, damage, and what several front ends share.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::Error;
use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
use lazuli_engine::content::{Content, Piece};
use lazuli_objects::{Bucket, ObjectContent};

use crate::ledger::{Book, Own};
use crate::memory::InMemory;

struct World {
    store: Arc<InMemory>,
    book: Book,
}

impl World {
    fn new() -> Self {
        Self { store: Arc::new(InMemory::default()), book: Book::default() }
    }

    fn bucket(&self) -> Bucket {
        Bucket::over(self.store.clone(), "")
    }

    fn front_end(&self) -> (ObjectContent, Arc<Own>) {
        let own = self.book.join();
        (ObjectContent::new(self.bucket(), own.clone()), own)
    }

    fn name(piece: &Piece) -> String {
        format!("{:016x}/{:010x}", piece.stream, piece.offset)
    }
}

/// The format of objects: the checksums of the blocks if there are several, then the bytes. It may never change.
#[tokio::test]
async fn an_object_is_checksums_and_bytes() {
    let world = World::new();
    let (content, _) = world.front_end();
    let small = bytes_of(1, 100);
    let piece = write_all(&content, &small).await[0];
    let object = world.store.object(&World::name(&piece)).unwrap();
    assert_eq!(object, small);
    let large = bytes_of(2, 200_000);
    let piece = write_all(&content, &large).await[0];
    let object = world.store.object(&World::name(&piece)).unwrap();
    assert_eq!(object.len(), 4 * 4 + 200_000);
    assert_eq!(object.slice(16..), large);
}

/// Two front ends: each reads what the other stored, names never collide, and a sweep of one does not touch the other's
/// uploads.
#[tokio::test]
async fn front_ends_share_content() {
    let world = World::new();
    let ((one, first), (two, _)) = (world.front_end(), world.front_end());
    let bytes = bytes_of(1, 700_000);
    let (mine, yours) = (write_all(&one, &bytes).await[0], write_all(&two, &bytes).await[0]);
    assert_ne!(mine.stream, yours.stream);
    assert_eq!(read_all(&one, &[yours]).await.as_ref(), Ok(&bytes));
    assert_eq!(read_all(&two, &[mine]).await.as_ref(), Ok(&bytes));
    assert_eq!(two.sweep().await.unwrap().finish().await.unwrap().freed_bytes, 0);
    assert_eq!(read_all(&two, &[mine, yours]).await.map(|bytes| bytes.len()), Ok(1_400_000));
    first.leave();
    assert_eq!(two.sweep().await.unwrap().finish().await.unwrap().freed_bytes, mine.footprint());
    assert!(matches!(read_all(&one, &[mine]).await, Err(Error::Corrupt(_))));
    assert_eq!(read_all(&two, &[yours]).await.as_ref(), Ok(&bytes));
}

/// A copy by one process keeps content that another one would free: replaced content, and what a sweep finds.
#[tokio::test]
async fn nothing_is_freed_while_another_process_holds_the_content() {
    let world = World::new();
    let ((one, first), (two, _), (three, _)) = (world.front_end(), world.front_end(), world.front_end());
    let bytes = bytes_of(1, 100_000);
    let (replaced, lost) = (write_all(&two, &bytes).await, write_all(&one, &bytes).await);
    first.leave();
    let hold = three.hold_all().await.unwrap();
    assert_eq!(two.release(replaced.clone()).await, Ok(replaced.clone()));
    let swept = two.sweep().await.unwrap().finish().await.unwrap();
    assert_eq!((swept.freed_bytes, swept.is_complete), (0, false));
    assert_eq!(hold.check().await, Ok(()));
    for pieces in [&replaced, &lost] {
        assert_eq!(read_all(&three, pieces).await.as_ref(), Ok(&bytes));
    }
    drop(hold);
    assert_eq!(two.release(replaced).await, Ok(vec![]));
    assert_eq!(two.sweep().await.unwrap().finish().await.unwrap().freed_bytes, lost[0].footprint());
}

/// Damage in the store is found: changed bytes and checksums, a shortened and a missing object.
#[tokio::test]
async fn damaged_objects_are_never_returned() {
    let world = World::new();
    let (content, _) = world.front_end();
    for damage in 0..4 {
        let piece = write_all(&content, &bytes_of(1, 600_000)).await[0];
        let name = World::name(&piece);
        let mut object = world.store.object(&name).unwrap().to_vec();
        match damage {
            0 => object[300_000] ^= 1,
            1 => object[3] ^= 1,
            2 => object.truncate(400_000),
            _ => object.clear(),
        }
        world.store.replace(&name, Some(Bytes::from(object)).filter(|object| !object.is_empty()));
        let found = read_all(&content, &[piece]).await;
        assert!(matches!(found, Err(Error::Corrupt(_))), "{damage}: {:?}", found.map(drop));
    }
}

/// A connection that breaks is replaced by another one, which continues from there; one that never delivers a byte is
/// an error.
#[tokio::test]
async fn broken_downloads_continue() {
    let world = World::new();
    let (content, _) = world.front_end();
    let bytes = bytes_of(1, 1_000_000);
    let piece = write_all(&content, &bytes).await[0];
    world.store.cut(&[3, 500_000, 0, 70_001]);
    assert!(read_all(&content, &[piece]).await.as_ref() == Ok(&bytes));
    assert_eq!(world.store.gets(), 5);
    world.store.cut(&[10, 0, 0, 0, 0]);
    let found = read_all(&content, &[piece]).await;
    assert!(matches!(found, Err(Error::Unavailable(_))), "{:?}", found.map(drop));
}

/// A whole piece is one GET, whatever its size; a range of it is at most two.
#[tokio::test]
async fn downloads_make_few_requests() {
    let world = World::new();
    let (content, _) = world.front_end();
    let bytes = bytes_of(1, 3_000_000);
    let piece = write_all(&content, &bytes).await[0];
    assert!(read_all(&content, &[piece]).await.as_ref() == Ok(&bytes));
    assert_eq!(world.store.gets(), 1);
    let mut reader = content.read(&piece, 2_000_000..2_000_010);
    assert_eq!(reader.next().await.unwrap().unwrap(), bytes.slice(2_000_000..2_000_010));
    assert_eq!(reader.next().await, Ok(None));
    assert_eq!(world.store.gets(), 3);
}

/// Uploads are cut into objects of 8 MiB, whatever sizes they arrive in.
#[tokio::test]
async fn large_uploads_are_several_objects() {
    let world = World::new();
    let (content, _) = world.front_end();
    let bytes = bytes_of(1, 20 * 1024 * 1024 + 5);
    let mut writer = content.begin(None, None);
    let mut rest = bytes.clone();
    while !rest.is_empty() {
        writer.write(rest.split_to(rest.len().min(300_000))).await.unwrap();
    }
    let pieces = writer.seal().await.unwrap();
    let lengths: Vec<u32> = pieces.iter().map(|piece| piece.length).collect();
    assert_eq!(lengths, [8 << 20, 8 << 20, (4 << 20) + 5]);
    assert!(read_all(&content, &pieces).await == Ok(bytes));
}

/// Even if there is not enough memory for all uploads, each of them makes progress and returns its memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn uploads_beyond_the_memory_make_progress() {
    let world = World::new();
    let (content, _) = world.front_end();
    let part = bytes_of(1, 1024 * 1024);
    let mut open = Vec::new();
    for _ in 0..40 {
        let mut writer = content.begin(None, None);
        for _ in 0..4 {
            writer.write(part.clone()).await.unwrap();
        }
        open.push(writer);
    }
    for mut writer in open {
        writer.write(part.clone()).await.unwrap();
        let pieces = writer.seal().await.unwrap();
        assert_eq!(pieces.iter().map(|piece| piece.length).sum::<u32>(), 5 * 1024 * 1024);
    }
    assert_eq!(content.status().await.unwrap().writing, 0);
    assert_eq!(write_all(&content, &bytes_of(1, 8 << 20)).await.len(), 1, "there is room again");
}

/// A copy may bring the same piece several times at once, as for a committed block.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_piece_is_adopted_many_times_at_once() {
    let (source, target) = (World::new(), World::new());
    let bytes = bytes_of(1, 500_000);
    let piece = write_all(&source.front_end().0, &bytes).await[0];
    let (content, _) = target.front_end();
    let mut adoptions = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (content, bytes) = (content.clone(), bytes.clone());
        adoptions.spawn(async move { content.adopt(piece, bytes).await });
    }
    while let Some(adopted) = adoptions.join_next().await {
        assert_eq!(adopted.unwrap(), Ok(()));
    }
    assert!(read_all(&content, &[piece]).await == Ok(bytes));
    assert_eq!(content.status().await.unwrap().live, piece.footprint());
}

/// A bucket belongs to one database.
#[tokio::test]
async fn a_bucket_keeps_its_number() {
    let world = World::new();
    assert_eq!(world.bucket().number().await, Ok(None));
    assert_eq!(world.bucket().mark(7).await, Ok(7));
    assert_eq!(world.bucket().mark(8).await, Ok(7));
    assert_eq!(world.bucket().number().await, Ok(Some(7)));
    let (content, _) = world.front_end();
    let piece = write_all(&content, &bytes_of(1, 100)).await[0];
    let listed = content.list(lazuli_engine::content::Spot::START).await.unwrap();
    assert_eq!(listed.extents.iter().map(|extent| extent.start).collect::<Vec<_>>(), [piece.spot()]);
    world.store.replace("lazuli-content", Some("none".into()));
    assert!(matches!(world.bucket().number().await, Err(Error::Corrupt(_))));
}
