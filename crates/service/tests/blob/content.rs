//! Content: bodies of every size, ranges, checksums, downloads that continue while the blob changes.

use bytes::Bytes;
use lazuli_model::ErrorCode;
use lazuli_model::blob::operation::{BlobAction, GetBlob, Revision};
use lazuli_model::blob::write::{Digested, Digests, StreamedBody};
use lazuli_model::blob::{ByteRange, Outcome, ResponseExtent};
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::world::{Pieces, World, blob, body, bytes_of, code, drain};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn bodies_of_every_size_are_read_as_written() {
    let mut world = World::new().await;
    for size in [0, 1, 8191, 8192, 8193, 256 * 1024 + 1, MIB, 65 * MIB] {
        let content = bytes_of(size as u64, size);
        world.put("b", content.clone()).await.unwrap();
        assert!(world.read("b").await.unwrap() == content, "{size}");
        assert_eq!(world.properties("b").await.unwrap().size, size as u64);
    }
    world.settle().await;
    assert_eq!(world.pieces().await, 2, "only the last blob has content");
}

#[tokio::test]
async fn ranges_of_small_and_large_content() {
    let world = World::with_inline(64).await;
    for (name, size) in [("small", 50), ("large", 600_000)] {
        let content = bytes_of(7, size);
        world.put(name, content.clone()).await.unwrap();
        let end = size as u64 - 1;
        for (first, last) in [
            (0, Some(0)),
            (0, None),
            (1, Some(1)),
            (10, Some(20)),
            (end, None),
            (end, Some(end)),
            (5, Some(end + 9)),
        ] {
            let get = GetBlob { range: Some(ByteRange { first, last }), ..GetBlob::default() };
            let got = world.try_run(blob(name, BlobAction::Get(get)), Supply::Nothing).await.unwrap();
            let last = last.unwrap_or(end).min(end);
            let Outcome::Content(found) = got.0 else { panic!() };
            assert_eq!(found.extent, ResponseExtent::Part { first, last });
            let expected = &content[first as usize..=last as usize];
            assert!(drain(&mut got.1.unwrap()).await.unwrap() == expected, "{name} {first}-{last}");
        }
        let get = GetBlob { range: Some(ByteRange { first: end + 1, last: None }), ..GetBlob::default() };
        assert_eq!(world.on(name, BlobAction::Get(get)).await, Err(ErrorCode::InvalidRange));
    }
}

/// Clients rely on this to detect empty blobs.
#[tokio::test]
async fn a_range_of_an_empty_blob_is_not_satisfiable() {
    let world = World::new().await;
    world.put("empty", Bytes::new()).await.unwrap();
    let range = Some(ByteRange { first: 0, last: None });
    let get = GetBlob { range, ..GetBlob::default() };
    assert_eq!(world.on("empty", BlobAction::Get(get)).await, Err(ErrorCode::InvalidRange));
    let get = GetBlob { range, allows_empty_range: true, ..GetBlob::default() };
    assert!(world.on("empty", BlobAction::Get(get)).await.is_ok());
    assert_eq!(world.read("empty").await, Ok(vec![]));
}

#[tokio::test]
async fn checksums_of_bodies_and_ranges() {
    let mut world = World::with_inline(64).await;
    let needed = Digests { md5: true, crc64: true };
    for size in [10, 100_000] {
        let content = bytes_of(3, size);
        let found = lazuli_digest::digest(&content, needed);
        let put = |expected| {
            let body = StreamedBody { length: content.len() as u64, expected, needed };
            blob("b", BlobAction::PutBlob(body, Box::default()))
        };
        let mut source = Whole::from(content.clone());
        let outcome = world.run_with(put(found), Supply::Body(&mut source)).await.unwrap();
        let Outcome::Created(written) = outcome else { panic!() };
        assert_eq!(written.digested, found);
        let properties = world.properties("b").await.unwrap();
        assert_eq!(properties.headers.content_md5, found.md5.map(Into::into), "Put Blob stores the MD5");
        for (wrong, expected) in [
            (Digested { md5: Some([0; 16]), crc64: None }, ErrorCode::Md5Mismatch),
            (Digested { md5: None, crc64: Some([0; 8]) }, ErrorCode::Crc64Mismatch),
        ] {
            let mut source = Whole::from(bytes_of(4, size));
            let rejected = world.run_with(put(wrong), Supply::Body(&mut source)).await;
            assert_eq!(rejected, Err(expected));
            assert_eq!(world.stamp("b").await, written.stamp, "nothing was changed");
        }
        let get = GetBlob {
            range: Some(ByteRange { first: 1, last: Some(5) }),
            digests: needed,
            ..GetBlob::default()
        };
        let Ok(Outcome::Content(got)) = world.on("b", BlobAction::Get(get)).await else { panic!() };
        assert_eq!(got.digested, lazuli_digest::digest(&content[1..=5], needed));
    }
    world.settle().await;
    assert_eq!(world.pieces().await, 1, "rejected content is gone");
}

/// The length of a range without end is known only when the blob is. Its checksum took a read of everything that follows.
#[tokio::test]
async fn a_checksum_of_an_open_range_is_limited_too() {
    let world = World::new().await;
    world.put("b", bytes_of(1, 4 * MIB + 1)).await.unwrap();
    for digests in [Digests { md5: true, crc64: false }, Digests { md5: false, crc64: true }] {
        let get = |first| {
            let range = Some(ByteRange { first, last: None });
            world.on("b", BlobAction::Get(GetBlob { range, digests, ..GetBlob::default() }))
        };
        assert_eq!(get(0).await, Err(ErrorCode::OutOfRangeInput));
        let Ok(Outcome::Content(got)) = get(1).await else { panic!() };
        assert_eq!((got.digested.md5.is_some(), got.digested.crc64.is_some()), (digests.md5, digests.crc64));
    }
}

/// A body that ends early, is too long or fails leaves nothing behind.
#[tokio::test]
async fn broken_bodies_leave_nothing() {
    let mut world = World::with_inline(64).await;
    for declared in [50_u64, 5000] {
        let piece = bytes_of(1, declared as usize / 2);
        for (pieces, failure, expected) in [
            (vec![piece.clone()], None, ErrorCode::InvalidInput),
            (vec![piece.clone(), piece.clone(), piece.clone()], None, ErrorCode::InvalidInput),
            (vec![piece.clone()], Some(ErrorCode::RequestTimeout), ErrorCode::RequestTimeout),
        ] {
            let mut source = Pieces { pieces, failure };
            let body = StreamedBody { length: declared, ..StreamedBody::default() };
            let action = BlobAction::PutBlob(body, Box::default());
            let failed = world.try_run(blob("b", action), Supply::Body(&mut source)).await;
            assert_eq!(failed.map(|_| ()).map_err(code), Err(expected));
            assert_eq!(world.read("b").await, Err(ErrorCode::BlobNotFound));
        }
    }
    world.settle().await;
    assert_eq!(world.pieces().await, 0);
}

/// A download keeps returning the version with which it started.
#[tokio::test]
async fn downloads_keep_their_version() {
    let mut world = World::with_inline(64).await;
    for size in [50, 3 * MIB] {
        let content = bytes_of(1, size);
        for change in ["overwrite", "delete", "delete container"] {
            let _ = world.create_container(crate::world::CONTAINER).await;
            world.put("b", content.clone()).await.unwrap();
            let mut reader = world.open("b", Revision::Current).await.unwrap();
            let first = reader.next().await.unwrap().unwrap();
            match change {
                "overwrite" => drop(world.put("b", bytes_of(2, size)).await.unwrap()),
                "delete" => drop(world.on("b", delete()).await.unwrap()),
                _ => {
                    let action = lazuli_model::blob::container::ContainerAction::Delete;
                    world.on_container(crate::world::CONTAINER, action).await.unwrap();
                    world.pass(1000);
                }
            }
            world.settle().await;
            let rest = drain(&mut reader).await.unwrap();
            assert!([&first[..], &rest].concat() == content, "{change} {size}");
        }
        world.settle().await;
        assert_eq!(world.pieces().await, 0);
    }
}

fn delete() -> BlobAction {
    BlobAction::Delete { snapshots: Default::default(), is_permanent: false }
}

/// The body of a request that cannot succeed is not read.
#[tokio::test]
async fn conditions_are_checked_before_the_body_is_read() {
    let world = World::new().await;
    world.put("b", "old").await.unwrap();
    let content = bytes_of(1, 10);
    let operation =
        crate::world::with(blob("b", BlobAction::PutBlob(body(&content), Box::default())), |request| {
            request.conditions = crate::world::if_none_match_any()
        });
    let mut source = Pieces { pieces: vec![content], failure: None };
    let rejected = world.run_with(operation, Supply::Body(&mut source)).await;
    assert_eq!(rejected, Err(ErrorCode::BlobAlreadyExists));
    assert_eq!(source.pieces.len(), 1, "nothing was read");
}
