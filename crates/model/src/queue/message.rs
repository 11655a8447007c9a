//! Messages as clients see them, and the pop receipt that identifies one state of a message.

use crate::{DateTime, Guid};

/// The content of a pop receipt: proof that its holder has seen the latest state of a message.
///
/// Clients treat receipts as opaque; `protocol` converts them to and from text. Every change of a message (Get
/// Messages, Update Message) creates a new receipt, so an old one no longer matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The time of next visibility in this state.
    pub next_visible: DateTime,
    /// The number of the message in its queue, which never changes.
    pub sequence: u64,
    /// A random number, different for each state, so that receipts cannot be guessed.
    pub nonce: u64,
}

/// A message as Peek Messages returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The id that the service assigned.
    pub id: Guid,
    /// When it was put.
    pub inserted: DateTime,
    /// The time at which it expires. [`DateTime::MAX`] means never.
    pub expires: DateTime,
    /// Number of times that Get Messages has returned it.
    pub dequeue_count: u32,
    /// The text, exactly as it was put.
    pub text: Box<str>,
}

/// A message as Get Messages returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dequeued {
    /// The message. Its dequeue count includes this dequeue.
    pub message: Message,
    /// The right to update or delete it. At `receipt.next_visible`, it becomes visible again.
    pub receipt: Receipt,
}

/// Everything that Put Message reports about the new message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The id that the service assigned.
    pub id: Guid,
    /// When it was put.
    pub inserted: DateTime,
    /// The time at which it expires. [`DateTime::MAX`] means never.
    pub expires: DateTime,
    /// The right to update or delete it before anyone dequeues it. From `receipt.next_visible` on, it can be
    /// dequeued.
    pub receipt: Receipt,
}
