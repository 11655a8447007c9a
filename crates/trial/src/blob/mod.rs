//! Trials of the Blob service.
//!
//! Concurrent clients write, read and delete a few blobs, with conditions and leases, and kills. There must be an order in
//! which everything they saw makes sense: this shows lost updates, stale reads, torn content and leases with two holders.

mod client;
pub mod record;
pub mod soak;

use lazuli_model::Service;

pub use record::{BlobCall, Output};

use crate::caller::TrialCaller;
use crate::linear::{self, HistoryEvent, HistorySize};
use crate::subject::Subject;

/// Counts of what the histories contained.
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
}

impl Seen {
    /// Adds what was seen in another history.
    pub fn add(&mut self, other: Seen) {
        self.responses += other.responses;
        self.unknown += other.unknown;
        self.conditional += other.conditional;
        self.leases += other.leases;
    }

    /// Histories in which nothing happens have an order too, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        match self {
            Seen { conditional: 0, .. } => Err("no conditional write was ever applied".into()),
            Seen { leases: 0, .. } => Err("no lease was ever acquired".into()),
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
        match (&event.operation, &event.output) {
            (_, None) => seen.unknown += 1,
            (operation, Some(output)) => {
                seen.responses += 1;
                let is_applied = *output == Output::Applied;
                seen.conditional += usize::from(is_applied && operation.is_conditional());
                seen.leases += usize::from(is_applied && matches!(operation, BlobCall::Acquire { .. }));
            }
        }
    }
    seen
}
