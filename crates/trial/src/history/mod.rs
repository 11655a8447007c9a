//! Concurrent clients on one partition: is there an order in which everything they saw makes sense?
//!
//! Every operation is written down with the moment it was sent and the moment its answer came. [`linear::check`] then looks
//! for an order of all of them, each within its own interval, in which a plain map gives the same answers. Reads of the whole
//! partition and transactions are single operations in that order, so snapshots and atomicity are checked with it.

pub mod linear;
pub mod record;
mod worker;

use tokio::task::JoinSet;

pub use record::{Answer, Event, Operation, Single, State};

use crate::random::Random;
use crate::subject::{End, Subject};
use crate::wire::{Call, Caller};

/// The size of a history.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Clients at a time.
    pub clients: usize,
    /// Operations of each.
    pub operations: usize,
    /// Is the server killed in the middle?
    pub kill: bool,
}

/// What was seen in histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Operations that were answered.
    pub answered: usize,
    /// Operations whose outcome nobody knows.
    pub unknown: usize,
    /// Transactions among the answered that were applied.
    pub transactions: usize,
}

impl Seen {
    /// Adds what was seen in another one.
    pub fn add(&mut self, other: Seen) {
        self.answered += other.answered;
        self.unknown += other.unknown;
        self.transactions += other.transactions;
    }

    /// Histories in which nothing happens have an order too: then they show nothing.
    pub fn shows_something(&self, shape: Shape) -> Result<(), String> {
        match self {
            Seen { transactions: 0, .. } => Err("no transaction was ever applied".into()),
            Seen { unknown: 0, .. } if shape.kill => Err("no kill ever met a change on its way".into()),
            _ => Ok(()),
        }
    }
}

type Workers = JoinSet<Result<Vec<Event>, String>>;

/// Records one history of this seed on a partition of its own, and checks it. Whatever went wrong names the seed.
pub async fn run(subject: &mut impl Subject, table: &str, seed: u64, shape: Shape) -> Result<Seen, String> {
    record_and_check(subject, table, seed, shape).await.map_err(|error| format!("seed {seed}: {error}"))
}

async fn record_and_check(
    subject: &mut impl Subject,
    table: &str,
    seed: u64,
    shape: Shape,
) -> Result<Seen, String> {
    let mut random = Random::from_seed(seed);
    let partition = format!("h{seed:x}");
    let place = worker::Place { table: table.into(), partition, authority: subject.authority() };
    let clock = record::Clock::default();
    let mut workers = Workers::new();
    for client in 0..shape.clients {
        let work = worker::Worker::new(place.clone(), client, random.fork(), clock.clone());
        workers.spawn(work.run(shape.operations));
    }
    let mut events = Vec::new();
    if shape.kill {
        // By what has happened, not by the time that has passed: on a slow machine nothing might have.
        let moments = shape.clients * shape.operations * 2;
        let kill_at = (moments / 8 + random.below(moments / 2 + 1)) as u64;
        tokio::select! {
            () = clock.reach(kill_at) => {}
            ended = finish(&mut workers, &mut events) => ended?,
        }
        subject.restart(End::Kill).await?;
    }
    finish(&mut workers, &mut events).await?;
    let unanswered = events.iter().filter(|event: &&Event| event.answer.is_none()).count();
    if unanswered > 0 && !shape.kill {
        return Err(format!("{unanswered} changes were not answered by a server that nobody killed"));
    }
    // What is there at the end is part of the history too: it shows what became of the unknown.
    let last = worker::Place { authority: subject.authority(), ..place };
    events.extend(worker::Worker::new(last, shape.clients, random.fork(), clock).read_all().await?);
    match linear::check(&events) {
        linear::Verdict::Ordered => Ok(seen(&events)),
        linear::Verdict::Impossible => {
            Err(format!("no order explains what the clients saw:\n{}", record::print(&events)))
        }
        linear::Verdict::GaveUp => Err("too many orders to look through".into()),
    }
}

/// Lets the clients come to their ends, and keeps what they saw. What was kept stays so if this is given up.
async fn finish(workers: &mut Workers, events: &mut Vec<Event>) -> Result<(), String> {
    while let Some(ended) = workers.join_next().await {
        events.extend(ended.map_err(|error| error.to_string())??);
    }
    Ok(())
}

/// Makes the table that histories use.
pub async fn prepare(subject: &impl Subject, table: &str) -> Result<(), String> {
    let call = Call::new("POST", "/Tables").json(format!("{{\"TableName\":\"{table}\"}}"));
    let reply = Caller::new(&subject.authority()).call(&call).await.map_err(|lost| lost.0.to_string())?;
    match reply.status {
        201 | 409 => Ok(()),
        other => Err(format!("the table was not created: {other}")),
    }
}

fn seen(events: &[Event]) -> Seen {
    let unknown = events.iter().filter(|event| event.answer.is_none()).count();
    let applied = |event: &&Event| {
        matches!(event.operation, Operation::Transaction(_)) && event.answer == Some(Answer::Applied)
    };
    Seen { answered: events.len() - unknown, unknown, transactions: events.iter().filter(applied).count() }
}
