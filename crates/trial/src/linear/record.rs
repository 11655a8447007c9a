//! Records histories of concurrent clients.

use std::fmt::Write as _;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use lazuli_model::Service;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{HistoryOperation, SearchVerdict, check};
use crate::random::Random;
use crate::subject::{End, Subject};

/// The ratio of the numbers of operations before and after a kill.
const SECOND_SHARE: usize = 3;

/// An operation with its interval. Without a response, it is unknown whether it was applied; if it was, then
/// within the interval.
#[derive(Clone, Debug)]
pub struct HistoryEvent<O: HistoryOperation> {
    /// The client that sent it.
    pub client: usize,
    /// When it was sent.
    pub start: u64,
    /// The time of the response. Without a response: the time after which the operation could no longer take
    /// effect, if known.
    pub end: u64,
    /// The operation.
    pub operation: O,
    /// The response of the server.
    pub output: Option<O::Output>,
}

/// A logical clock: an event that ended before another one started has the lower number.
#[derive(Clone, Default)]
pub struct LogicalClock(Arc<watch::Sender<u64>>);

impl LogicalClock {
    /// The next moment.
    pub fn tick(&self) -> u64 {
        let mut now = 0;
        self.0.send_modify(|next| {
            now = *next;
            *next += 1;
        });
        now
    }

    /// Waits for that moment.
    pub async fn reach(&self, moment: u64) {
        // The sender belongs to this clock, so the channel stays open while a task waits.
        let _ = self.0.subscribe().wait_for(|next| *next > moment).await;
    }
}

/// The size of a history.
#[derive(Clone, Copy, Debug)]
pub struct HistorySize {
    /// Number of concurrent clients.
    pub clients: usize,
    /// Operations of each.
    pub operations: usize,
    /// Is the server killed in the middle?
    pub kill: bool,
}

/// Records the part of one client in a history.
pub struct Recorder {
    /// Its number.
    pub client: usize,
    /// Where the server listens.
    pub authority: String,
    /// Its choices.
    pub random: Random,
    /// The clock of the history.
    pub clock: LogicalClock,
}

/// A client of a history.
pub trait HistoryClient<O: HistoryOperation>: Send + Sized + 'static {
    /// Executes a number of operations; ends early when the server has stopped.
    fn run(self, operations: usize) -> impl Future<Output = Result<Vec<HistoryEvent<O>>, String>> + Send;

    /// Reads the final state. It shows whether operations without a response were applied.
    fn read_all(self) -> impl Future<Output = Result<Vec<HistoryEvent<O>>, String>> + Send;
}

type Clients<O> = JoinSet<Result<Vec<HistoryEvent<O>>, String>>;

/// Records a history and checks that it has an order. An error contains the seed.
pub async fn run<O, C>(
    subject: &mut impl Subject,
    service: Service,
    seed: u64,
    shape: HistorySize,
    client: impl Fn(Recorder) -> C,
) -> Result<Vec<HistoryEvent<O>>, String>
where
    O: HistoryOperation + Send + 'static,
    O::Output: Send,
    C: HistoryClient<O>,
{
    let recorded = record(subject, service, seed, shape, client).await;
    let events = recorded.map_err(|error| format!("seed {seed}: {error}"))?;
    match check(&events) {
        SearchVerdict::Ordered => Ok(events),
        SearchVerdict::Impossible => {
            Err(format!("seed {seed}: no order explains what the clients saw:\n{}", print(&events)))
        }
        SearchVerdict::GaveUp => Err(format!("seed {seed}: too many orders to search")),
    }
}

async fn record<O, C>(
    subject: &mut impl Subject,
    service: Service,
    seed: u64,
    shape: HistorySize,
    client: impl Fn(Recorder) -> C,
) -> Result<Vec<HistoryEvent<O>>, String>
where
    O: HistoryOperation + Send + 'static,
    O::Output: Send,
    C: HistoryClient<O>,
{
    let mut random = Random::from_seed(seed);
    let clock = LogicalClock::default();
    let mut events = Vec::new();
    let mut clients =
        start(subject, service, 0..shape.clients, shape.operations, &mut random, &clock, &client);
    if shape.kill {
        // The moment depends on progress, not on time: on a slow machine, nothing might have happened yet.
        let moments = shape.clients * shape.operations * 2;
        let kill_at = (moments / 8 + random.below(moments / 2 + 1)) as u64;
        tokio::select! {
            () = clock.reach(kill_at) => {}
            ended = finish(&mut clients, &mut events) => ended?,
        }
        subject.restart(End::Kill).await?;
    }
    let ready = clock.tick();
    finish(&mut clients, &mut events).await?;
    let without_response = without_response(&events);
    if without_response > 0 && !shape.kill {
        return Err(format!("{without_response} changes got no response from a server that was not killed"));
    }
    let reader = |random: &mut Random| {
        let (authority, random) = (subject.authority(service), random.fork());
        client(Recorder { client: 2 * shape.clients, authority, random, clock: clock.clone() })
    };
    if shape.kill && !subject.may_apply_late() {
        end_unknown(&mut events, ready);
        // A write that is applied late is detected only if reads are repeated. The first read also determines
        // the outcome of the unknown changes, so that the search need not try all combinations with later
        // operations.
        events.extend(reader(&mut random).read_all().await?);
        let numbers = shape.clients..2 * shape.clients;
        let operations = shape.operations.div_ceil(SECOND_SHARE);
        let mut clients = start(subject, service, numbers, operations, &mut random, &clock, &client);
        let mut second = Vec::new();
        finish(&mut clients, &mut second).await?;
        if self::without_response(&second) > 0 {
            return Err("a change got no response from a server that was started after a kill".into());
        }
        events.extend(second);
    }
    events.extend(reader(&mut random).read_all().await?);
    Ok(events)
}

/// Starts clients with these numbers.
fn start<O, C>(
    subject: &impl Subject,
    service: Service,
    numbers: Range<usize>,
    operations: usize,
    random: &mut Random,
    clock: &LogicalClock,
    client: &impl Fn(Recorder) -> C,
) -> Clients<O>
where
    O: HistoryOperation + Send + 'static,
    O::Output: Send,
    C: HistoryClient<O>,
{
    let mut clients = Clients::new();
    for number in numbers {
        let (authority, random) = (subject.authority(service), random.fork());
        let recorder = Recorder { client: number, authority, random, clock: clock.clone() };
        clients.spawn(client(recorder).run(operations));
    }
    clients
}

/// Ends operations without a response at `ready`, the time when the next process was ready: the killed process
/// applied them before that time, or never. Drops operations that started later, since they reached no process.
fn end_unknown<O: HistoryOperation>(events: &mut Vec<HistoryEvent<O>>, ready: u64) {
    events.retain_mut(|event| {
        if event.output.is_some() {
            return true;
        }
        event.end = ready;
        event.start < ready
    });
}

fn without_response<O: HistoryOperation>(events: &[HistoryEvent<O>]) -> usize {
    events.iter().filter(|event| event.output.is_none()).count()
}

/// Waits for the clients and stores their events, even if the wait is cancelled.
async fn finish<O>(clients: &mut Clients<O>, events: &mut Vec<HistoryEvent<O>>) -> Result<(), String>
where
    O: HistoryOperation + 'static,
{
    while let Some(ended) = clients.join_next().await {
        events.extend(ended.map_err(|error| error.to_string())??);
    }
    Ok(())
}

/// A history in human-readable form.
pub fn print<O: HistoryOperation>(events: &[HistoryEvent<O>]) -> String {
    let mut sorted: Vec<&HistoryEvent<O>> = events.iter().collect();
    sorted.sort_by_key(|event| event.start);
    let mut text = String::new();
    for HistoryEvent { client, start, end, operation, output } in sorted {
        let _ = writeln!(text, "{start:>5}..{end:<5} client {client}: {operation:?} -> {output:?}");
    }
    text
}
