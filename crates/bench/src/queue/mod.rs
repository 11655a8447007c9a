//! Workloads of the Queue service.

mod job;
pub mod request;

pub use job::Job;

use crate::Options;
use crate::contestant::{ContestantPlan, Goal};

/// Response bytes of one message of a kilobyte.
const MESSAGE_BYTES: usize = 1400;
/// Number of queues in the workload that spreads its messages.
const QUEUES: u64 = 64;
/// Number of messages in a shallow queue.
const SHALLOW: u64 = 1_000;
/// The cost on a deep queue is at most 1.3 times that on a shallow one.
const DEEP_GOAL: Goal = Goal::Cpu(1.0 / 1.3);
/// One queue reaches two thirds of the rate of many.
const ONE_QUEUE_GOAL: Goal = Goal::Rate(2.0 / 3.0);
/// At most one tenth of Azurite's CPU time.
const AZURITE_GOAL: Goal = Goal::Cpu(10.0);

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Puts messages.
    Put,
    /// Gets up to 32 messages per request.
    Get,
    /// Deletes messages that were received earlier.
    Delete,
    /// Gets up to 32 messages per request and deletes each: every request counts as an operation.
    Drain,
    /// Peeks at one message.
    Peek,
    /// Producers and consumers on one queue, compared with the same number on 64 queues.
    Pairs,
    /// Put, get and delete on a queue with many visible messages, compared with a queue with a thousand.
    Deep,
    /// Like `Deep`, with invisible messages.
    Hidden,
    /// Like `Deep`, with expired messages.
    Expired,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 9] = [
        Work::Put,
        Work::Get,
        Work::Delete,
        Work::Drain,
        Work::Peek,
        Work::Pairs,
        Work::Deep,
        Work::Hidden,
        Work::Expired,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Work::Put => "queue-put",
            Work::Get => "queue-get",
            Work::Delete => "queue-delete",
            Work::Drain => "queue-drain",
            Work::Peek => "queue-peek",
            Work::Pairs => "queue-pairs",
            Work::Deep => "queue-deep",
            Work::Hidden => "queue-hidden",
            Work::Expired => "queue-expired",
        }
    }

    /// The unit that its operations are counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Work::Get => "messages",
            Work::Deep | Work::Hidden | Work::Expired => "put+get+delete",
            _ => "requests",
        }
    }

    /// Title and description, for reports.
    pub fn about(self) -> (&'static str, &'static str) {
        match self {
            Work::Put => ("Put a message", "Puts messages of 1 KB into one queue."),
            Work::Get => (
                "Get messages",
                "Gets messages of 1 KB, up to 32 with one request, and hides them from others.",
            ),
            Work::Delete => ("Delete a message", "Deletes messages that were received earlier."),
            Work::Drain => (
                "Empty a queue",
                "Gets up to 32 messages with one request and deletes each with another one.",
            ),
            Work::Peek => ("Peek at a message", "Reads the first message of a queue without hiding it."),
            Work::Pairs => (
                "Producers and consumers",
                "Half of the connections put messages into one queue, the others get and delete them.",
            ),
            Work::Deep => ("A deep queue", "Puts, gets and deletes a message of a queue with many others."),
            Work::Hidden => (
                "Many invisible messages",
                "Puts, gets and deletes a message of a queue whose other messages are hidden.",
            ),
            Work::Expired => (
                "Many expired messages",
                "Puts, gets and deletes a message of a queue whose other messages have expired.",
            ),
        }
    }

    /// The contestants to measure. The variant is the number of messages, or of queues.
    pub(crate) fn plans(self, options: &Options) -> Vec<ContestantPlan> {
        let (stock, deep) = (options.stock, options.deep);
        let against = |variant: u64, limit: ContestantPlan| {
            vec![ContestantPlan::ours(variant), ContestantPlan::azurite(variant, Some(AZURITE_GOAL)), limit]
        };
        match self {
            Work::Put => against(0, ContestantPlan::bare(0, 0.60)),
            Work::Get | Work::Delete | Work::Drain => against(stock, ContestantPlan::bare(0, 0.50)),
            Work::Peek => against(SHALLOW, ContestantPlan::bare(MESSAGE_BYTES, 0.60)),
            Work::Pairs => {
                vec![ContestantPlan::ours(1), ContestantPlan::also_ours("64 queues", QUEUES, ONE_QUEUE_GOAL)]
            }
            Work::Deep => vec![
                ContestantPlan::ours(deep),
                ContestantPlan::also_ours("1000 messages", SHALLOW, DEEP_GOAL),
                ContestantPlan::azurite(deep, Some(AZURITE_GOAL)),
            ],
            Work::Hidden => vec![
                ContestantPlan::ours(deep),
                ContestantPlan::also_ours("1000 messages", SHALLOW, DEEP_GOAL),
            ],
            Work::Expired => {
                vec![ContestantPlan::ours(deep), ContestantPlan::also_ours("none expired", 0, DEEP_GOAL)]
            }
        }
    }
}
