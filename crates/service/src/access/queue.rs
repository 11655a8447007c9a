//! Authorizes the operations of the Queue service.

use lazuli_model::queue::{Operation, QueueName};
use lazuli_model::{ErrorCode, Failure, OperationKind, Service};

use super::{Authorized, Grant, Needs, Restricted, Scope, check, reject_writes};

/// The part of an operation that determines its permissions. The checks see nothing else, so two operations
/// with the same subject get the same result.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Subject<'a> {
    kind: OperationKind,
    /// The queue; none if it is an operation on the service.
    queue: Option<&'a QueueName>,
    /// The queue that receives the moved messages.
    target: Option<&'a QueueName>,
}

impl<'a> Subject<'a> {
    fn of(operation: &'a Operation) -> Self {
        let target = match operation {
            Operation::MoveMessages { to, .. } => Some(to),
            _ => None,
        };
        Self { kind: operation.kind(), queue: operation.queue(), target }
    }
}

impl Restricted for Operation {
    fn authorize(&self, grant: &Grant) -> Result<(), Failure> {
        authorize(grant, Subject::of(self))
    }
}

/// The permissions of a request whose body is not read yet. The body cannot change the rights that an operation
/// needs.
#[derive(Debug)]
pub struct AuthorizedHead<'g> {
    grant: &'g Grant,
    announced: Operation,
}

impl<'g> AuthorizedHead<'g> {
    /// Checks that the grant permits an operation of which only the head is known.
    pub fn new(grant: &'g Grant, announced: Operation) -> Result<Self, Failure> {
        announced.authorize(grant)?;
        Ok(Self { grant, announced })
    }

    /// The complete operation, now that the body is known. An operation that the head did not announce is
    /// checked like any other.
    pub fn with_body(self, operation: Operation) -> Result<Authorized<'g, Operation>, Failure> {
        if Subject::of(&operation) != Subject::of(&self.announced) {
            return Authorized::new(self.grant, operation);
        }
        Ok(Authorized { grant: self.grant, operation })
    }
}

fn authorize(grant: &Grant, subject: Subject<'_>) -> Result<(), Failure> {
    #[cfg(test)]
    super::tests::count();
    let Subject { kind, queue, target } = subject;
    authorize_one(grant, kind, queue)?;
    match target {
        // Moved messages are put into the other queue.
        Some(target) => authorize_one(grant, OperationKind::PutMessage, Some(target)),
        None => Ok(()),
    }
}

fn authorize_one(grant: &Grant, kind: OperationKind, queue: Option<&QueueName>) -> Result<(), Failure> {
    match &grant.scope {
        // Only the contributor role permits access to stored access policies, and creating queues.
        Scope::Roles { permissions }
            if matches!(kind, OperationKind::GetQueueAcl | OperationKind::SetQueueAcl) =>
        {
            if !permissions.allow("c") {
                return Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch));
            }
        }
        _ => check(grant, Service::Queue, &needs(kind), queue.map(QueueName::as_str))?,
    }
    // Azure's logs classify Get Messages as a read, but it hides messages.
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
        // On the queue from which the messages are taken.
        OperationKind::MoveMessages => Needs::object(&["p"]),
        OperationKind::PeekMessage | OperationKind::PeekMessages => Needs::object(&["r"]),
        OperationKind::UpdateMessage => Needs::object(&["u"]),
        // Clearing requires access to the account; a SAS of the queue never permits it.
        OperationKind::ClearMessages => Needs { by_service_sas: false, ..Needs::object(&["d"]) },
        // Access policies, and every operation of another service.
        _ => Needs::KEY,
    }
}
