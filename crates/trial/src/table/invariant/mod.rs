//! Workloads whose data has a property that must hold at every moment.
//!
//! Writers change several rows of one partition in transactions, with the ETags of the rows that they read;
//! readers constantly read the whole partition. Its contents must always have the property, even right after a
//! kill.

mod bank;
mod ring;

pub use bank::Bank;
pub use ring::Ring;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lazuli_model::Service;
use serde_json::Value;

use crate::random::Random;
use crate::subject::{End, Subject};
use crate::table::wire::{TableCaller, WireRequest, batch, batch_replies, entity_path, escaped};

/// Rows of the partition.
pub const ROWS: usize = 12;

/// Maximum time for the first transaction and the first read on a busy machine: a kill before them proves
/// nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A row as it was read: its number and its ETag.
#[derive(Clone, Debug)]
pub struct Read {
    /// The value of the row.
    pub value: i64,
    /// The ETag for the next write.
    pub etag: String,
}

/// A property of a partition, and changes that preserve it.
pub trait Invariant: Copy + Send + Sync + 'static {
    /// The name of the workload.
    const NAME: &'static str;

    /// The initial rows.
    fn first() -> [i64; ROWS];

    /// New values for some rows.
    fn change(rows: &[Read], random: &mut Random) -> Vec<(usize, i64)>;

    /// Does the property hold?
    fn holds(values: &[i64]) -> Result<(), String>;
}

/// How much to do.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of writers, and of readers.
    pub writers: usize,
    /// How long.
    pub time: Duration,
    /// Number of times that the server is killed during the run.
    pub kills: usize,
}

/// Counts of the work done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Transactions that were applied.
    pub applied: usize,
    /// Transactions that lost to a concurrent one.
    pub rejected: usize,
    /// Reads of the whole partition.
    pub reads: usize,
}

/// Runs a workload on its own partition; an error describes the state that a reader found.
pub async fn run<I: Invariant>(
    subject: &mut impl Subject,
    _: I,
    table: &str,
    seed: u64,
    effort: Effort,
) -> Result<Done, String> {
    let mut random = Random::from_seed(seed);
    let partition = format!("{}{seed:x}", I::NAME);
    let place = Partition { table: table.into(), partition };
    first_rows::<I>(&place, &subject.authority(Service::Table)).await?;
    let done = Arc::new(Counters::default());
    let slices = u32::try_from(effort.kills).unwrap_or(u32::MAX).saturating_add(1);
    for slice in 0..slices {
        let before = done.total();
        let stop = Arc::new(Stop::default());
        let mut tasks = Vec::new();
        for _ in 0..effort.writers {
            let worker = |random| {
                Worker::new(
                    place.clone(),
                    &subject.authority(Service::Table),
                    random,
                    done.clone(),
                    stop.clone(),
                )
            };
            tasks.push(tokio::spawn(worker(random.fork()).write::<I>()));
            tasks.push(tokio::spawn(worker(random.fork()).read::<I>()));
        }
        let began = Instant::now();
        let has_happened = || done.total().applied > before.applied && done.total().reads > before.reads;
        while (began.elapsed() < effort.time / slices || !has_happened() && began.elapsed() < TIMEOUT)
            && tasks.iter().all(|task| !task.is_finished())
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if slice + 1 < slices {
            stop.may_be_lost.store(true, Ordering::SeqCst);
            subject.restart(End::Kill).await?;
        }
        stop.now.store(true, Ordering::SeqCst);
        for task in tasks {
            task.await.map_err(|error| error.to_string())?.map_err(|seen| format!("seed {seed}: {seen}"))?;
        }
        let mut last =
            Worker::new(place.clone(), &subject.authority(Service::Table), random.fork(), done.clone(), stop);
        let rows = last.rows().await?.ok_or("no response after a start")?;
        I::holds(&values(&rows)).map_err(|seen| format!("seed {seed}, at rest: {seen}"))?;
        if !has_happened() {
            return Err(format!(
                "seed {seed}: nothing happened before kill {}: {:?}",
                slice + 1,
                done.total()
            ));
        }
    }
    Ok(done.total())
}

async fn first_rows<I: Invariant>(place: &Partition, authority: &str) -> Result<(), String> {
    let calls: Vec<WireRequest> = I::first()
        .iter()
        .enumerate()
        .map(|(row, value)| {
            WireRequest::new("POST", format!("/{}", place.table))
                .json(place.body(row, *value))
                .with("Prefer", "return-no-content")
        })
        .collect();
    let reply = TableCaller::new(authority).call(&batch(authority, &calls)).await;
    let reply = reply.map_err(|lost| lost.0.to_string())?;
    let all = batch_replies(&reply).iter().all(|reply| reply.status == 204);
    if all { Ok(()) } else { Err(format!("the first rows were rejected: {}", reply.body)) }
}

#[derive(Clone)]
struct Partition {
    table: String,
    partition: String,
}

impl Partition {
    fn body(&self, row: usize, value: i64) -> String {
        format!(
            "{{\"PartitionKey\":\"{}\",\"RowKey\":\"{row:03}\",\"V\":\"{value}\",\"V@odata.type\":\"Edm.Int64\"}}",
            self.partition
        )
    }
}

#[derive(Default)]
struct Counters {
    applied: AtomicUsize,
    rejected: AtomicUsize,
    reads: AtomicUsize,
}

impl Counters {
    fn total(&self) -> Done {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Done { applied: load(&self.applied), rejected: load(&self.rejected), reads: load(&self.reads) }
    }
}

/// Messages to the workers.
#[derive(Default)]
struct Stop {
    /// It is over.
    now: AtomicBool,
    /// Announces that the server is about to be killed: from now on, responses may be missing.
    may_be_lost: AtomicBool,
}

impl Stop {
    fn is_now(&self) -> bool {
        self.now.load(Ordering::SeqCst)
    }

    /// No response: correct if the server was killed.
    fn lost(&self, why: &str) -> Result<(), String> {
        if self.may_be_lost.load(Ordering::SeqCst) || self.is_now() {
            return Ok(());
        }
        Err(format!("the server stopped unexpectedly: {why}"))
    }
}

struct Worker {
    place: Partition,
    authority: String,
    caller: TableCaller,
    random: Random,
    done: Arc<Counters>,
    stop: Arc<Stop>,
}

impl Worker {
    fn new(place: Partition, authority: &str, random: Random, done: Arc<Counters>, stop: Arc<Stop>) -> Self {
        Self { place, authority: authority.into(), caller: TableCaller::new(authority), random, done, stop }
    }

    /// Reads and changes rows until it is stopped, or until the server has ended.
    async fn write<I: Invariant>(mut self) -> Result<(), String> {
        while !self.stop.is_now() {
            let Some(rows) = self.rows().await? else { break };
            let calls: Vec<WireRequest> = I::change(&rows, &mut self.random)
                .into_iter()
                .map(|(row, value)| {
                    let path = entity_path(&self.place.table, &self.place.partition, &format!("{row:03}"));
                    let call = WireRequest::new("PUT", path).json(self.place.body(row, value));
                    call.with("If-Match", rows[row].etag.clone())
                })
                .collect();
            let reply = match self.caller.call(&batch(&self.authority, &calls)).await {
                Ok(reply) if reply.status < 500 => reply,
                Ok(reply) => return self.stop.lost(&reply.body),
                Err(lost) => return self.stop.lost(&lost.0.to_string()),
            };
            let replies = batch_replies(&reply);
            if replies.len() == calls.len() && replies.iter().all(|reply| reply.status == 204) {
                self.done.applied.fetch_add(1, Ordering::Relaxed);
            } else if replies.len() == 1 && replies[0].status == 412 {
                self.done.rejected.fetch_add(1, Ordering::Relaxed);
            } else {
                return Err(format!("a transaction got the response {} {}", reply.status, reply.body));
            }
        }
        Ok(())
    }

    /// Checks the partition until it is stopped, or until the server has ended.
    async fn read<I: Invariant>(mut self) -> Result<(), String> {
        while !self.stop.is_now() {
            let Some(rows) = self.rows().await? else { break };
            I::holds(&values(&rows))?;
            self.done.reads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads the whole partition in one query; `None` without a response.
    async fn rows(&mut self) -> Result<Option<Vec<Read>>, String> {
        let filter = escaped(&format!("PartitionKey eq '{}'", self.place.partition));
        let call = WireRequest::new("GET", format!("/{}()?$filter={filter}", self.place.table));
        let reply = match self.caller.call(&call).await {
            Ok(reply) if reply.status < 500 => reply,
            Ok(reply) => return self.stop.lost(&reply.body).map(|()| None),
            Err(lost) => return self.stop.lost(&lost.0.to_string()).map(|()| None),
        };
        let rows: Option<Vec<Read>> =
            reply.json["value"].as_array().and_then(|rows| rows.iter().map(read).collect());
        match rows {
            Some(rows) if rows.len() == ROWS => Ok(Some(rows)),
            _ => Err(format!("a read got the response {} {}", reply.status, reply.body)),
        }
    }
}

fn read(entity: &Value) -> Option<Read> {
    let value = entity["V"].as_str()?.parse().ok()?;
    Some(Read { value, etag: entity["odata.etag"].as_str()?.to_owned() })
}

fn values(rows: &[Read]) -> Vec<i64> {
    rows.iter().map(|row| row.value).collect()
}
