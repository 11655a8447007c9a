//! The operations of the Queue service and their outcomes: the only queue types that `protocol` and `service` share.

use std::sync::Arc;

use super::message::{Dequeued, Enqueued, Message, Receipt};
use super::name::QueueName;
use crate::Guid;
use crate::delegation::{KeyPeriod, UserDelegationKey};
use crate::kind::OperationKind;
use crate::metadata::Metadata;
use crate::policy::SignedIdentifier;
use crate::properties::{PropertiesUpdate, ServiceProperties};

/// One decoded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// List the queues of the account.
    ListQueues(QueueQuery),
    /// Create a queue.
    CreateQueue(QueueName, Metadata),
    /// Delete a queue with its messages.
    DeleteQueue(QueueName),
    /// Read the metadata and the message count of a queue.
    GetMetadata(QueueName),
    /// Replace the metadata of a queue.
    SetMetadata(QueueName, Metadata),
    /// Read the stored access policies of a queue.
    GetAcl(QueueName),
    /// Replace the stored access policies of a queue.
    SetAcl(QueueName, Vec<SignedIdentifier>),
    /// Add a message at the back of a queue.
    PutMessage {
        /// The queue.
        queue: QueueName,
        /// The text.
        text: Box<str>,
        /// Seconds for which it stays invisible.
        visibility: u32,
        /// Seconds after which it expires; `None` means never.
        ttl: Option<u32>,
    },
    /// Dequeue messages: return them and hide them from other clients.
    GetMessages {
        /// The queue.
        queue: QueueName,
        /// Maximum number of messages.
        count: u32,
        /// Seconds for which they stay invisible.
        visibility: u32,
    },
    /// Return messages without changing them.
    PeekMessages {
        /// The queue.
        queue: QueueName,
        /// Maximum number of messages.
        count: u32,
    },
    /// Change the time of next visibility of a message, and optionally its text.
    UpdateMessage {
        /// The message.
        target: MessageTarget,
        /// Seconds for which it stays invisible.
        visibility: u32,
        /// The new text; `None` keeps the old one.
        text: Option<Box<str>>,
    },
    /// Delete a message.
    DeleteMessage(MessageTarget),
    /// Delete all messages of a queue.
    ClearMessages(QueueName),
    /// Move visible messages to the back of another queue, each exactly once. Azure does not have this operation.
    MoveMessages {
        /// The queue from which they are taken.
        from: QueueName,
        /// The destination queue.
        to: QueueName,
        /// Maximum number of messages.
        max: u32,
    },
    /// Read the properties of the service.
    GetProperties,
    /// Change some properties of the service.
    SetProperties(Box<PropertiesUpdate>),
    /// Read the replication state of the secondary.
    GetStats,
    /// Issue a key with which the user signs shared access signatures.
    GetUserDelegationKey(KeyPeriod),
}

/// A message and the right to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTarget {
    /// The queue.
    pub queue: QueueName,
    /// The id of the message.
    pub id: Guid,
    /// The receipt that the client received last.
    pub receipt: Receipt,
}

impl Operation {
    /// The name in logs and metrics.
    pub fn kind(&self) -> OperationKind {
        match self {
            Operation::ListQueues(_) => OperationKind::ListQueues,
            Operation::CreateQueue(..) => OperationKind::CreateQueue,
            Operation::DeleteQueue(_) => OperationKind::DeleteQueue,
            Operation::GetMetadata(_) => OperationKind::GetQueueMetadata,
            Operation::SetMetadata(..) => OperationKind::SetQueueMetadata,
            Operation::GetAcl(_) => OperationKind::GetQueueAcl,
            Operation::SetAcl(..) => OperationKind::SetQueueAcl,
            Operation::PutMessage { .. } => OperationKind::PutMessage,
            Operation::GetMessages { count: 1, .. } => OperationKind::GetMessage,
            Operation::GetMessages { .. } => OperationKind::GetMessages,
            Operation::PeekMessages { count: 1, .. } => OperationKind::PeekMessage,
            Operation::PeekMessages { .. } => OperationKind::PeekMessages,
            Operation::UpdateMessage { .. } => OperationKind::UpdateMessage,
            Operation::DeleteMessage(_) => OperationKind::DeleteMessage,
            Operation::ClearMessages(_) => OperationKind::ClearMessages,
            Operation::MoveMessages { .. } => OperationKind::MoveMessages,
            Operation::GetProperties => OperationKind::GetQueueServiceProperties,
            Operation::SetProperties(_) => OperationKind::SetQueueServiceProperties,
            Operation::GetStats => OperationKind::GetQueueServiceStats,
            Operation::GetUserDelegationKey(_) => OperationKind::GetQueueUserDelegationKey,
        }
    }

    /// The queue that it works on, if any.
    pub fn queue(&self) -> Option<&QueueName> {
        match self {
            Operation::CreateQueue(queue, _)
            | Operation::DeleteQueue(queue)
            | Operation::GetMetadata(queue)
            | Operation::SetMetadata(queue, _)
            | Operation::GetAcl(queue)
            | Operation::SetAcl(queue, _)
            | Operation::ClearMessages(queue)
            | Operation::MoveMessages { from: queue, .. }
            | Operation::PutMessage { queue, .. }
            | Operation::GetMessages { queue, .. }
            | Operation::PeekMessages { queue, .. } => Some(queue),
            Operation::UpdateMessage { target, .. } | Operation::DeleteMessage(target) => Some(&target.queue),
            Operation::ListQueues(_)
            | Operation::GetProperties
            | Operation::SetProperties(_)
            | Operation::GetStats
            | Operation::GetUserDelegationKey(_) => None,
        }
    }
}

/// Which queues to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueQuery {
    /// Only queues whose names start with this text.
    pub prefix: String,
    /// Resume at this name, inclusive.
    pub from: Option<String>,
    /// Maximum number of queues, at least 1.
    pub limit: u32,
    /// Whether to return metadata.
    pub metadata: bool,
}

/// The outcome of a successful operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A page of queues, in the order of their names.
    Queues {
        /// The queues.
        queues: Vec<ListedQueue>,
        /// The name at which the next page starts.
        next: Option<String>,
    },
    /// The queue was created.
    QueueCreated,
    /// The queue already existed with the same metadata.
    QueueUnchanged,
    /// The queue was deleted.
    QueueDeleted,
    /// The metadata of a queue.
    Metadata {
        /// The metadata.
        metadata: Metadata,
        /// The number of messages, visible or not.
        messages: u64,
    },
    /// The metadata was replaced.
    MetadataSet,
    /// The stored access policies of a queue.
    Acl(Vec<SignedIdentifier>),
    /// The stored access policies were replaced.
    AclSet,
    /// The message was added.
    MessagePut(Enqueued),
    /// Dequeued messages.
    Messages(Vec<Dequeued>),
    /// Messages that are not changed.
    Peeked(Vec<Message>),
    /// The message was changed.
    MessageUpdated {
        /// The receipt that replaces the earlier one. `receipt.next_visible` is the new time of next visibility.
        receipt: Receipt,
    },
    /// The message was deleted.
    MessageDeleted,
    /// All messages were deleted.
    MessagesCleared,
    /// The number of moved messages.
    MessagesMoved(u64),
    /// The properties of the service.
    Properties(Arc<ServiceProperties>),
    /// The properties were changed.
    PropertiesSet,
    /// The secondary is up to date, since it reads the same rows.
    Stats,
    /// A user delegation key.
    UserDelegationKey(Box<UserDelegationKey>),
}

/// A queue in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedQueue {
    /// The name.
    pub name: String,
    /// The metadata, if it was requested.
    pub metadata: Option<Metadata>,
}
