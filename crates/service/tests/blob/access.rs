//! The rights of signatures for directories, of roles on access policies, and of signatures that can only create.

use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::{ErrorCode, OperationKind, Permissions, Service};
use lazuli_service::access::Authorized;
use lazuli_service::access::blob::{AuthorizedSource, creates_only};
use lazuli_service::blob::Supply;
use lazuli_service::{Grant, Scope, SignedPart};

use crate::appends::source;
use crate::world::{CONTAINER, World, blob, bytes_of};

fn of(part: SignedPart, letters: &str) -> Grant {
    let scope = Scope::Resource {
        service: Service::Blob,
        name: CONTAINER.into(),
        permissions: Permissions::of(letters),
        part,
    };
    Grant { scope, ..Grant::everything("acct") }
}

#[test]
fn a_directory_covers_the_blob_of_its_name_and_those_below() {
    let delete = || BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
    for (directory, name, is_covered) in [
        ("foo", "foo", true),
        ("foo", "foo/bar", true),
        ("foo", "foo/bar/baz", true),
        ("foo", "foobar", false),
        ("foo", "fo", false),
        ("foo/bar", "foo", false),
        ("foo/bar", "foo/bar/x", true),
        ("", "anything", true),
    ] {
        let grant = of(SignedPart::Directory(directory.into()), "d");
        let found = Authorized::new(&grant, blob(name, delete())).map(drop);
        let expected = if is_covered { Ok(()) } else { Err(ErrorCode::AuthorizationFailure) };
        assert_eq!(found.map_err(|failure| failure.code), expected, "{directory} {name}");
    }
}

/// The letter `c` permits uploading and committing blocks, as long as the blob does not exist.
#[tokio::test]
async fn blocks_of_a_new_blob_need_only_the_right_to_create() {
    let mut world = World::new().await;
    assert!(creates_only(&of(SignedPart::Whole, "c"), OperationKind::PutBlockList));
    world.grant = Grant { home: world.grant.home.clone(), ..of(SignedPart::Whole, "c") };
    world.grant.account = lazuli_service::Grant::everything(world.grant.home.clone()).account;
    world.stage("a", "1", bytes_of(1, 10)).await.unwrap();
    world.commit("a", &["1"]).await.unwrap();
    assert_eq!(world.stage("a", "2", bytes_of(2, 10)).await, Err(ErrorCode::UnauthorizedBlobOverwrite));
    assert_eq!(world.commit("a", &["1"]).await, Err(ErrorCode::UnauthorizedBlobOverwrite));
}

/// The same for incremental copies: the letter `c` permitted a copy to an existing blob.
#[tokio::test]
async fn an_incremental_copy_to_an_existing_blob_needs_the_right_to_write() {
    let mut world = World::new().await;
    world.create_pages("p", 1 << 20).await.unwrap();
    let snapshots = [world.snapshot("p").await, world.snapshot("p").await];
    let [first, second] =
        snapshots.map(|from: Revision| BlobAction::IncrementalCopy(Box::new(source("p", from))));
    let full = world.grant.clone();
    let limited =
        Grant { account: full.account.clone(), home: full.home.clone(), ..of(SignedPart::Whole, "c") };
    let mut copies = world.blobs.copies();
    for (action, expected) in [(first, None), (second, Some(ErrorCode::UnauthorizedBlobOverwrite))] {
        let operation = blob("copy", action);
        let from = crate::world::source_of(&operation);
        let source = AuthorizedSource::new(full.clone(), &operation, from).unwrap();
        world.grant = limited.clone();
        let copied = world.run_with(operation, Supply::Local(Box::new(source))).await;
        assert_eq!(copied.err(), expected);
        while copies.round().await.unwrap() {}
    }
}
