//! Each request is checked exactly once, and its body cannot change what was checked.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::content::MemoryContent;
use lazuli_engine::{Clock, Memory};
use lazuli_model::blob::container::{ContainerAction, ContainerRequest, DefaultScope, PublicAccess};
use lazuli_model::blob::operation::{BlobAction, BlobRequest, Revision};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::blob::{self as blob_model, BlobName, Conditions, ContainerName, Tags};
use lazuli_model::queue::{self as queue_model, QueueName};
use lazuli_model::{ErrorCode, Metadata, Permissions, Service};

use super::{Authorized, Grant, Scope, SignedPart, blob, queue};
use crate::blob::{BlobOptions, Blobs, EnabledFor, Supply};
use crate::{Options, Services};

thread_local! {
    static CHECKS: Cell<u32> = const { Cell::new(0) };
}

/// Called by the checks of queues and blobs.
pub fn count() {
    CHECKS.set(CHECKS.get() + 1);
}

fn services() -> Arc<Services> {
    let clock = Clock::new(|| 637_134_336_000_000_000);
    let options = Options {
        clock: clock.clone(),
        elapsed: Arc::new(|| Duration::ZERO),
        query_time_max: Duration::from_secs(5),
        name_hold: Duration::ZERO,
        secret: [1; 16],
    };
    Arc::new(Services::new(Arc::new(Memory::new(clock)), options))
}

fn queue_named(name: &str) -> QueueName {
    name.parse().unwrap()
}

fn message(name: &str, text: &str) -> queue_model::Operation {
    queue_model::Operation::PutMessage {
        queue: queue_named(name),
        text: text.into(),
        visibility: 0,
        ttl: None,
    }
}

fn on_blob(name: &str, action: BlobAction) -> blob_model::Operation {
    blob_model::Operation::Blob(Box::new(BlobRequest {
        container: ContainerName::new("files").unwrap(),
        blob: BlobName::new(name).unwrap(),
        revision: Revision::Current,
        lease: None,
        conditions: Conditions::default(),
        encryption: Default::default(),
        action,
    }))
}

fn tags(pairs: &[(&str, &str)]) -> BlobAction {
    let mut tags = Tags::default();
    pairs.iter().for_each(|(name, value)| tags.insert(name, value).unwrap());
    BlobAction::SetTags(tags)
}

fn of_resource(service: Service, name: &str, letters: &str, part: SignedPart) -> Grant {
    let permissions = Permissions::of(letters);
    let scope = Scope::Resource { service, name: name.into(), permissions, part };
    Grant { scope, ..Grant::everything("acct") }
}

/// The permissions are checked exactly once between reading the head and storing the message.
#[tokio::test]
async fn a_message_is_checked_once() {
    let (services, everything) = (services(), Grant::everything("acct"));
    let create = queue_model::Operation::CreateQueue(queue_named("jobs"), Metadata::default());
    services.execute_queue(Authorized::new(&everything, create).unwrap()).await.unwrap();
    let sas = of_resource(Service::Queue, "jobs", "a", SignedPart::Whole);
    CHECKS.set(0);
    let head = queue::AuthorizedHead::new(&sas, message("jobs", "")).unwrap();
    let put = head.with_body(message("jobs", "text")).unwrap();
    services.execute_queue(put).await.unwrap();
    assert_eq!(CHECKS.get(), 1);
    let put = Authorized::new(&sas, message("jobs", "text")).unwrap();
    services.execute_queue_detached(put.detach()).await.unwrap();
    assert_eq!(CHECKS.get(), 2);
}

/// The same for tags, which are sent in the body, and for an operation without a body.
#[tokio::test]
async fn an_operation_on_a_blob_is_checked_once() {
    let everything = Grant::everything("acct");
    let options = BlobOptions {
        entropy: Arc::new(|| [7; 16]),
        versions: EnabledFor::Off,
        last_access: EnabledFor::Off,
        container_days: 0,
        rehydration: Duration::ZERO,
        copy_at_once_max: 1024,
        uncommitted_blocks_max: 10,
        fetch: None,
        events: Vec::new(),
    };
    let blobs = Blobs::new(services(), Arc::new(MemoryContent::default()), options);
    let create = blob_model::Operation::Container(Box::new(ContainerRequest {
        container: ContainerName::new("files").unwrap(),
        lease: None,
        conditions: Conditions::default(),
        action: ContainerAction::Create {
            metadata: Metadata::default(),
            public_access: PublicAccess::None,
            scope: DefaultScope::default(),
        },
    }));
    blobs.execute_detached(Authorized::new(&everything, create).unwrap().detach()).await.unwrap();
    let append = on_blob("a", BlobAction::CreateAppend(Box::default()));
    blobs.execute(Authorized::new(&everything, append).unwrap(), Supply::Nothing).await.unwrap();
    let name = "a".to_owned();
    let sas = of_resource(Service::Blob, "files", "td", SignedPart::Blob { name, instance: None });
    CHECKS.set(0);
    let head = blob::AuthorizedHead::new(&sas, on_blob("a", tags(&[]))).unwrap();
    let set = head.with_body(on_blob("a", tags(&[("key", "value")]))).unwrap();
    blobs.execute(set, Supply::Nothing).await.unwrap();
    assert_eq!(CHECKS.get(), 1);
    let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
    let delete = Authorized::new(&sas, on_blob("a", delete)).unwrap();
    blobs.execute(delete, Supply::Nothing).await.unwrap();
    assert_eq!(CHECKS.get(), 2);
}

/// If the body names another queue, blob or operation than the head, that operation is checked separately.
#[test]
fn a_body_cannot_change_the_operation() {
    let sas = of_resource(Service::Queue, "jobs", "a", SignedPart::Whole);
    for (operation, expected) in [
        (message("other", "text"), ErrorCode::AuthorizationFailure),
        (queue_model::Operation::ClearMessages(queue_named("jobs")), ErrorCode::AuthorizationFailure),
        (
            queue_model::Operation::PeekMessages { queue: queue_named("jobs"), count: 1 },
            ErrorCode::AuthorizationPermissionMismatch,
        ),
    ] {
        let head = queue::AuthorizedHead::new(&sas, message("jobs", "")).unwrap();
        assert_eq!(head.with_body(operation).unwrap_err().code, expected);
    }
    let part = SignedPart::Blob { name: "a".into(), instance: None };
    let sas = of_resource(Service::Blob, "files", "td", part);
    let delete = |is_permanent| BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent };
    for (operation, expected) in [
        (on_blob("b", tags(&[])), ErrorCode::AuthorizationFailure),
        (
            on_blob("a", BlobAction::SetMetadata(Metadata::default())),
            ErrorCode::AuthorizationPermissionMismatch,
        ),
        (on_blob("a", delete(true)), ErrorCode::AuthorizationPermissionMismatch),
        (blob_model::Operation::GetProperties, ErrorCode::AuthorizationFailure),
    ] {
        let head = blob::AuthorizedHead::new(&sas, on_blob("a", tags(&[]))).unwrap();
        assert_eq!(head.with_body(operation).unwrap_err().code, expected);
    }
    let head = blob::AuthorizedHead::new(&sas, on_blob("a", delete(false))).unwrap();
    let permanent = head.with_body(on_blob("a", delete(true)));
    assert_eq!(permanent.unwrap_err().code, ErrorCode::AuthorizationPermissionMismatch);
}

/// Moving messages needs the right to take them from one queue and the right to put them into the other.
#[test]
fn a_move_needs_rights_on_both_queues() {
    let moved = |from, to| queue_model::Operation::MoveMessages {
        from: queue_named(from),
        to: queue_named(to),
        max: 1,
    };
    let code = |grant: &Grant, operation| Authorized::new(grant, operation).map(drop).map_err(|e| e.code);
    let of_jobs = |letters| of_resource(Service::Queue, "jobs", letters, SignedPart::Whole);
    let mismatch = Err(ErrorCode::AuthorizationPermissionMismatch);
    assert_eq!(code(&of_jobs("pa"), moved("jobs", "jobs")), Ok(()));
    assert_eq!(code(&of_jobs("p"), moved("jobs", "jobs")), mismatch);
    assert_eq!(code(&of_jobs("a"), moved("jobs", "jobs")), mismatch);
    for (from, to) in [("jobs", "other"), ("other", "jobs")] {
        assert_eq!(code(&of_jobs("pa"), moved(from, to)), Err(ErrorCode::AuthorizationFailure));
    }
    let account = |letters| {
        let (resources, permissions) = (Permissions::of("o"), Permissions::of(letters));
        Grant { scope: Scope::Account { resources, permissions }, ..Grant::everything("acct") }
    };
    assert_eq!(code(&account("pa"), moved("jobs", "other")), Ok(()));
    assert_eq!(code(&account("p"), moved("jobs", "other")), mismatch);
    let secondary = Grant { read_only: true, ..Grant::everything("acct") };
    let rejected = Err(ErrorCode::InsufficientAccountPermissions);
    assert_eq!(code(&secondary, moved("jobs", "other")), rejected);
}
