//! Concurrent clients on one partition: is there an order of the operations that explains all responses?
//!
//! Every operation is recorded with the times of its request and its response. [`linear`] then looks for an
//! order of all of them, each within its own interval, in which a simple map returns the same responses. Reads
//! of the whole partition and transactions are single operations in that order, so snapshots and atomicity are
//! checked with it.

pub mod record;
mod worker;

#[cfg(test)]
mod tests;

use lazuli_model::Service;

pub use record::{Output, RowValues, Single, TableCall};

use crate::linear::{self, HistoryEvent, HistorySize};
use crate::subject::Subject;
use crate::table::wire::{TableCaller, WireRequest};

/// Counts of the events in the histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Operations with a response.
    pub responses: usize,
    /// Operations with an unknown outcome.
    pub unknown: usize,
    /// Transactions that were applied.
    pub transactions: usize,
}

impl Seen {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: Seen) {
        self.responses += other.responses;
        self.unknown += other.unknown;
        self.transactions += other.transactions;
    }

    /// Histories without events also have an order, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        match self {
            Seen { transactions: 0, .. } => Err("no transaction was ever applied".into()),
            Seen { unknown: 0, .. } if shape.kill => Err("no kill ever interrupted a change".into()),
            _ => Ok(()),
        }
    }
}

/// Records and checks one history with this seed, on a separate partition. An error contains the seed.
pub async fn run(
    subject: &mut impl Subject,
    table: &str,
    seed: u64,
    shape: HistorySize,
) -> Result<Seen, String> {
    let place = worker::Partition { table: table.into(), partition: format!("h{seed:x}") };
    let client = |recorder| worker::HistoryWorker::new(place.clone(), recorder);
    let events = linear::run(subject, Service::Table, seed, shape, client).await?;
    Ok(seen(&events))
}

/// Creates the table that histories use.
pub async fn prepare(subject: &impl Subject, table: &str) -> Result<(), String> {
    let call = WireRequest::new("POST", "/Tables").json(format!("{{\"TableName\":\"{table}\"}}"));
    let reply = TableCaller::new(&subject.authority(Service::Table)).call(&call).await?;
    match reply.status {
        201 | 409 => Ok(()),
        other => Err(format!("the table was not created: {other}")),
    }
}

fn seen(events: &[HistoryEvent<TableCall>]) -> Seen {
    let unknown = events.iter().filter(|event| event.output.is_none()).count();
    let applied = |event: &&HistoryEvent<TableCall>| {
        matches!(event.operation, TableCall::Transaction(_)) && event.output == Some(Output::Applied)
    };
    Seen { responses: events.len() - unknown, unknown, transactions: events.iter().filter(applied).count() }
}
