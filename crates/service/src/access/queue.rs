//! The operations of the Queue service against a grant.

use lazuli_model::queue::QueueName;
use lazuli_model::{ErrorCode, Failure, OperationKind, Service};

use super::{Grant, Needs, Scope, check, reject_writes};

/// Checks that the grant permits an operation on a queue, or on the service if it names none. Nothing that a body says
/// changes the rights that an operation needs, so this is called before the body is read.
pub fn authorize(grant: &Grant, kind: OperationKind, queue: Option<&QueueName>) -> Result<(), Failure> {
    match &grant.scope {
        // Of all roles, only the contributor's permits stored access policies. It alone may create queues, too.
        Scope::Roles { permissions }
            if matches!(kind, OperationKind::GetQueueAcl | OperationKind::SetQueueAcl) =>
        {
            if !permissions.allow("c") {
                return Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch));
            }
        }
        _ => check(grant, Service::Queue, &needs(kind), queue.map(QueueName::as_str))?,
    }
    // The logs call Get Messages a read, but it hides messages.
    let kind = match kind {
        OperationKind::GetMessage | OperationKind::GetMessages => OperationKind::UpdateMessage,
        other => other,
    };
    reject_writes(grant, kind)
}

fn needs(kind: OperationKind) -> Needs {
    match kind {
        OperationKind::ListQueues => Needs::service(&["l"]),
        OperationKind::GetQueueServiceProperties | OperationKind::GetQueueServiceStats => {
            Needs::service(&["r"])
        }
        OperationKind::SetQueueServiceProperties => Needs::service(&["w"]),
        OperationKind::CreateQueue => Needs::container(&["c", "w"]),
        OperationKind::DeleteQueue => Needs::container(&["d"]),
        // A SAS of the queue may read its metadata.
        OperationKind::GetQueueMetadata => Needs { by_service_sas: true, ..Needs::container(&["r"]) },
        OperationKind::SetQueueMetadata => Needs::container(&["w"]),
        OperationKind::PutMessage => Needs::object(&["a"]),
        OperationKind::GetMessage | OperationKind::GetMessages | OperationKind::DeleteMessage => {
            Needs::object(&["p"])
        }
        // On the queue that the messages leave; adding them to the other one is checked on its own.
        OperationKind::MoveMessages => Needs::object(&["p"]),
        OperationKind::PeekMessage | OperationKind::PeekMessages => Needs::object(&["r"]),
        OperationKind::UpdateMessage => Needs::object(&["u"]),
        // Clearing is for the account, never for a SAS of the queue.
        OperationKind::ClearMessages => Needs { by_service_sas: false, ..Needs::object(&["d"]) },
        // Access policies, and every operation that is not the Queue service's.
        _ => Needs::KEY,
    }
}
