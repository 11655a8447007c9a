//! Trials of the Blob service.
//!
//! Concurrent clients work on a few blobs of every type, with conditions, leases and kills. There must be an order in which
//! everything they saw makes sense. This shows lost updates, stale reads, torn content, leases with two holders, appends at the
//! same offset or applied twice, page writes in spite of a sequence number, and searches that miss a tag.

mod client;
pub mod record;
pub mod soak;

use lazuli_model::Service;

pub use record::{BlobCall, BlockCall, Output};

use crate::caller::TrialCaller;
use crate::linear::{self, HistoryEvent, HistorySize};
use crate::subject::Subject;
use record::page::SequenceCondition;
use record::{AppendCall, PageCall};

/// Counts of the events in the histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Operations with a response.
    pub responses: usize,
    /// Operations whose outcome is unknown.
    pub unknown: usize,
    /// Conditional writes that were applied.
    pub conditional: usize,
    /// Leases that were acquired.
    pub leases: usize,
    /// Appends under a condition on the position that were applied.
    pub appends: usize,
    /// Writes and clears of pages under a condition on the sequence number that were applied.
    pub page_writes: usize,
    /// Changes and reads under a condition on the tag that were applied.
    pub tagged: usize,
    /// Searches that found the blob.
    pub found: usize,
}

impl Seen {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: Seen) {
        self.responses += other.responses;
        self.unknown += other.unknown;
        self.conditional += other.conditional;
        self.leases += other.leases;
        self.appends += other.appends;
        self.page_writes += other.page_writes;
        self.tagged += other.tagged;
        self.found += other.found;
    }

    /// Histories in which nothing happens have an order too, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        match self {
            Seen { conditional: 0, .. } => Err("no conditional write was ever applied".into()),
            Seen { leases: 0, .. } => Err("no lease was ever acquired".into()),
            Seen { appends: 0, .. } => Err("nothing was ever appended under a condition".into()),
            Seen { page_writes: 0, .. } => Err("no page was ever written under a condition".into()),
            Seen { tagged: 0, .. } => Err("no condition on a tag was ever met".into()),
            Seen { found: 0, .. } => Err("no search ever found the blob".into()),
            Seen { unknown: 0, .. } if shape.kill => Err("no kill ever interrupted a change".into()),
            _ => Ok(()),
        }
    }
}

/// Records one history of this seed in a container of its own, and checks it. An error names the seed.
pub async fn run(subject: &mut impl Subject, seed: u64, shape: HistorySize) -> Result<Seen, String> {
    let container = format!("history{seed:x}");
    create(subject, &container).await?;
    let client = |recorder| client::Client::new(container.clone(), recorder);
    let events = linear::run(subject, Service::Blob, seed, shape, client).await?;
    Ok(seen(&events))
}

async fn create(subject: &impl Subject, container: &str) -> Result<(), String> {
    let mut caller = TrialCaller::new(Service::Blob, &subject.authority(Service::Blob));
    let request = caller.request("PUT", &format!("/{container}?restype=container"));
    match caller.send(request).await? {
        response if matches!(response.status, 201 | 409) => Ok(()),
        other => Err(format!("the container was not created: {} {}", other.status, other.text())),
    }
}

fn seen(events: &[HistoryEvent<BlobCall>]) -> Seen {
    let mut seen = Seen::default();
    for event in events {
        let Some(output) = &event.output else {
            seen.unknown += 1;
            continue;
        };
        seen.responses += 1;
        if *output == Output::Rejected {
            continue;
        }
        match &event.operation {
            BlobCall::Block(call) => {
                seen.conditional += usize::from(call.is_conditional());
                seen.leases += usize::from(matches!(call, BlockCall::Acquire { .. }));
            }
            BlobCall::Append(AppendCall::Append { position: Some(_), .. }) => seen.appends += 1,
            BlobCall::Page(PageCall::Write { sequence, .. }) => {
                seen.page_writes += usize::from(*sequence != SequenceCondition::None);
            }
            BlobCall::Tag(call) => {
                seen.tagged += usize::from(call.demands_tag() && *output != Output::Value(None));
                seen.found += usize::from(*output == Output::Found(true));
            }
            BlobCall::Append(_) | BlobCall::Page(_) => {}
        }
    }
    seen
}
