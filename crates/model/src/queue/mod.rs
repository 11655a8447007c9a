//! The Queue service's data: queue names, messages, pop receipts, and the operations on them.

pub mod limits;
pub mod message;
pub mod name;
pub mod operation;

pub use message::{Dequeued, Enqueued, Message, Receipt};
pub use name::QueueName;
pub use operation::{Operation, Outcome};
