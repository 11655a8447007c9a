//! The rights that operations on queues need: by account SAS, by SAS of a queue, by roles, and on the secondary.

use lazuli_model::queue::operation::{MessageTarget, QueueQuery};
use lazuli_model::queue::{Operation, QueueName, Receipt};
use lazuli_model::{DateTime, ErrorCode, Guid, Metadata, OperationKind, Permissions, Service};
use lazuli_service::access::Authorized;
use lazuli_service::{Grant, Scope, SignedPart};

use crate::world::queue;

/// The operation; the kind of resource; the letters of which one is needed; whether a SAS of the queue can permit it.
/// Move Messages needs two letters: `access/tests.rs` tests it.
const OPERATIONS: [(OperationKind, &str, &str, bool); 17] = [
    (OperationKind::ListQueues, "s", "l", false),
    (OperationKind::GetQueueServiceProperties, "s", "r", false),
    (OperationKind::SetQueueServiceProperties, "s", "w", false),
    (OperationKind::GetQueueServiceStats, "s", "r", false),
    (OperationKind::CreateQueue, "c", "cw", false),
    (OperationKind::DeleteQueue, "c", "d", false),
    (OperationKind::GetQueueMetadata, "c", "r", true),
    (OperationKind::SetQueueMetadata, "c", "w", false),
    (OperationKind::GetQueueAcl, "", "", false),
    (OperationKind::SetQueueAcl, "", "", false),
    (OperationKind::PutMessage, "o", "a", true),
    (OperationKind::GetMessages, "o", "p", true),
    (OperationKind::GetMessage, "o", "p", true),
    (OperationKind::PeekMessages, "o", "r", true),
    (OperationKind::UpdateMessage, "o", "u", true),
    (OperationKind::DeleteMessage, "o", "p", true),
    (OperationKind::ClearMessages, "o", "d", false),
];

const LETTERS: &str = "rwdlacup";

fn operation(kind: OperationKind, name: &QueueName) -> Operation {
    let queue = name.clone();
    let target = || MessageTarget {
        queue: name.clone(),
        id: Guid([7; 16]),
        receipt: Receipt { next_visible: DateTime::from_ticks(1).unwrap(), sequence: 1, nonce: 1 },
    };
    match kind {
        OperationKind::ListQueues => {
            Operation::ListQueues(QueueQuery { prefix: String::new(), from: None, limit: 1, metadata: false })
        }
        OperationKind::GetQueueServiceProperties => Operation::GetProperties,
        OperationKind::SetQueueServiceProperties => Operation::SetProperties(Box::default()),
        OperationKind::GetQueueServiceStats => Operation::GetStats,
        OperationKind::CreateQueue => Operation::CreateQueue(queue, Metadata::default()),
        OperationKind::DeleteQueue => Operation::DeleteQueue(queue),
        OperationKind::GetQueueMetadata => Operation::GetMetadata(queue),
        OperationKind::SetQueueMetadata => Operation::SetMetadata(queue, Metadata::default()),
        OperationKind::GetQueueAcl => Operation::GetAcl(queue),
        OperationKind::SetQueueAcl => Operation::SetAcl(queue, Vec::new()),
        OperationKind::PutMessage => {
            Operation::PutMessage { queue, text: "text".into(), visibility: 0, ttl: None }
        }
        OperationKind::GetMessages => Operation::GetMessages { queue, count: 2, visibility: 1 },
        OperationKind::GetMessage => Operation::GetMessages { queue, count: 1, visibility: 1 },
        OperationKind::PeekMessages => Operation::PeekMessages { queue, count: 2 },
        OperationKind::UpdateMessage => {
            Operation::UpdateMessage { target: target(), visibility: 0, text: None }
        }
        OperationKind::DeleteMessage => Operation::DeleteMessage(target()),
        OperationKind::ClearMessages => Operation::ClearMessages(queue),
        other => panic!("{other:?}"),
    }
}

fn verdict(scope: Scope, kind: OperationKind, name: &QueueName) -> Result<(), ErrorCode> {
    let grant = Grant { scope, ..Grant::everything("acct") };
    let operation = operation(kind, name);
    assert_eq!(operation.kind(), kind);
    Authorized::new(&grant, operation).map(drop).map_err(|failure| failure.code)
}

/// Every letter and every kind of resource of an account SAS against every operation.
#[test]
fn account_sas() {
    let name = queue("jobs");
    for (kind, resource, needed, _) in OPERATIONS {
        for resources in ["s", "c", "o"] {
            for letter in LETTERS.chars() {
                let letter = letter.to_string();
                let permissions = Permissions::of(&letter);
                let scope = Scope::Account { resources: Permissions::of(resources), permissions };
                let expected = if resource.is_empty() {
                    Err(ErrorCode::AuthorizationFailure)
                } else if resource != resources {
                    Err(ErrorCode::AuthorizationResourceTypeMismatch)
                } else if needed.contains(&letter) {
                    Ok(())
                } else {
                    Err(ErrorCode::AuthorizationPermissionMismatch)
                };
                assert_eq!(verdict(scope, kind, &name), expected, "{kind:?} {resources} {letter}");
            }
        }
    }
}

/// A SAS of a queue permits operations on its messages, and nothing on another queue, service or the account.
#[test]
fn sas_of_a_queue() {
    let of = |service, letters: &str| Scope::Resource {
        service,
        name: "jobs".into(),
        permissions: Permissions::of(letters),
        part: SignedPart::Whole,
    };
    for (kind, _, needed, by_service_sas) in OPERATIONS {
        for letter in LETTERS.chars().map(String::from) {
            let expected = match (by_service_sas, needed.contains(&letter)) {
                (false, _) => Err(ErrorCode::AuthorizationFailure),
                (true, true) => Ok(()),
                (true, false) => Err(ErrorCode::AuthorizationPermissionMismatch),
            };
            assert_eq!(
                verdict(of(Service::Queue, &letter), kind, &queue("jobs")),
                expected,
                "{kind:?} {letter}"
            );
        }
        let failure = Err(ErrorCode::AuthorizationFailure);
        assert_eq!(verdict(of(Service::Queue, LETTERS), kind, &queue("other")), failure, "{kind:?}");
        assert_eq!(verdict(of(Service::Table, LETTERS), kind, &queue("jobs")), failure, "{kind:?}");
    }
}

/// The key permits everything, and so do the roles of a contributor. The secondary only reads.
#[test]
fn keys_roles_and_the_secondary() {
    let name = queue("jobs");
    for (kind, resource, ..) in OPERATIONS {
        assert_eq!(verdict(Scope::Everything, kind, &name), Ok(()));
        let roles = |letters| Scope::Roles { permissions: Permissions::of(letters) };
        assert_eq!(verdict(roles(LETTERS), kind, &name), Ok(()), "{kind:?}");
        if resource.is_empty() {
            let mismatch = Err(ErrorCode::AuthorizationPermissionMismatch);
            assert_eq!(verdict(roles("rlp"), kind, &name), mismatch, "{kind:?}");
        }
        let secondary = Grant { read_only: true, ..Grant::everything("acct") };
        // Get Messages is a read in the logs, but it hides messages.
        let hides = matches!(kind, OperationKind::GetMessage | OperationKind::GetMessages);
        let reads = kind.access() == lazuli_model::kind::Access::Read && !hides;
        assert_eq!(Authorized::new(&secondary, operation(kind, &name)).is_ok(), reads, "{kind:?}");
    }
}
