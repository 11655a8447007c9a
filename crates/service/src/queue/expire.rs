//! Background work on queues: removes expired messages, and finishes moves that were interrupted.
//!
//! Expired messages are never returned. They are removed to reclaim their space, to correct the number of
//! messages, and so that readers need not skip them. Queues in which readers have found expired messages come
//! first; the others are visited in turn.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::{Engine, Scan, TableId, Verdict, Write};
use lazuli_model::Service;

use super::QueueState;
use super::messages::remove;
use super::record::{COUNTERS, MessageRecord, PARTITION, all, corrupt, parse_key};
use super::update::count;
use crate::catalog::Catalog;
use crate::{Options, Result, keyspace};

/// Maximum expired messages removed in one commit.
const REMOVE_ROWS_MAX: usize = 500;
/// Maximum bytes of expired messages removed in one commit.
const REMOVE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum messages per scan.
const SCAN_ROWS_MAX: usize = 10_000;
/// Maximum scans in one round.
const SCANS_MAX: usize = 64;
/// Number of queues of the catalog read together.
const QUEUES_MAX: usize = 256;
/// Time between two visits of all queues.
const VISIT_EVERY: Duration = Duration::from_secs(600);

/// The background task for queues.
pub struct Keeper {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) queues: Arc<QueueState>,
    options: Options,
    /// Queues to be visited, each with the row to continue at.
    pending: VecDeque<(TableId, String)>,
    /// The position in the catalog at which the visit of all queues continues, while there is one.
    visit: Option<lazuli_engine::KeyRange>,
    visited: Option<Duration>,
}

impl Keeper {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        catalog: Arc<Catalog>,
        queues: Arc<QueueState>,
        options: Options,
    ) -> Self {
        let pending = VecDeque::new();
        Self { engine, catalog, queues, options, pending, visit: None, visited: None }
    }

    /// One round of bounded length.
    pub async fn round(&mut self) -> Result<()> {
        let elapsed = (self.options.elapsed)();
        self.queues.learn_time(&*self.engine, elapsed, true).await?;
        for queue in self.queues.windows.with_expired() {
            if !self.pending.iter().any(|(known, _)| *known == queue) {
                self.pending.push_front((queue, String::new()));
            }
        }
        if self.visit.is_none() && self.visited.is_none_or(|last| elapsed.saturating_sub(last) >= VISIT_EVERY)
        {
            self.visit = Some(keyspace::all_containers(Service::Queue));
            self.visited = Some(elapsed);
        }
        for _ in 0..SCANS_MAX {
            let Some((queue, from)) = self.pending.pop_front() else {
                if self.next_queues().await? {
                    continue;
                }
                return Ok(());
            };
            if from.is_empty() {
                self.finish_moves(queue).await?;
            }
            if let Some(next) = self.remove_expired(queue, &from).await? {
                self.pending.push_front((queue, next));
            }
        }
        Ok(())
    }

    /// Adds queues of the catalog to be visited; `false` if there are no more.
    async fn next_queues(&mut self) -> Result<bool> {
        let Some(range) = self.visit.take() else { return Ok(false) };
        let is_live = |row: lazuli_engine::RowView<'_>| {
            Ok(if keyspace::name_of(row.row).is_some() { Verdict::Keep } else { Verdict::Skip })
        };
        let (ids, next) = self.catalog.ids(range, QUEUES_MAX, Box::new(is_live)).await?;
        self.pending.extend(ids.into_iter().map(|id| (id, String::new())));
        self.visit = next;
        Ok(true)
    }

    /// Removes expired messages from a row on; returns the row to continue at.
    async fn remove_expired(&self, queue: TableId, from: &str) -> Result<Option<String>> {
        let now = self.queues.tickets.now();
        let mut looked_at = 0;
        let scan = Scan {
            table: queue,
            ranges: vec![all(from)],
            rows_max: REMOVE_ROWS_MAX,
            bytes_max: REMOVE_BYTES_MAX,
            judge: Box::new(move |row| {
                looked_at += 1;
                if looked_at > SCAN_ROWS_MAX {
                    return Ok(Verdict::Stop);
                }
                let is_expired = MessageRecord::expiry_of(row.value)? <= now;
                Ok(if is_expired { Verdict::Keep } else { Verdict::Skip })
            }),
        };
        let page = self.engine.scan(scan).await?;
        if !page.rows.is_empty() {
            let sequences = page.rows.iter().map(|row| Ok(parse_key(&row.row).ok_or_else(corrupt)?.1));
            let counts = counts(sequences.collect::<Result<Vec<_>>>()?, -1);
            let writes = page.rows.iter().map(remove).chain(counts).collect();
            // If the commit is rejected, another front end is removing the same messages.
            self.engine.apply(queue, PARTITION, writes).await?;
        }
        Ok(page.next.map(|place| place.row))
    }
}

/// The changes of the counters for messages with these sequence numbers.
pub fn counts(sequences: impl IntoIterator<Item = u64>, by: i64) -> impl Iterator<Item = Write> {
    let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
    for sequence in sequences {
        *sums.entry(sequence % COUNTERS).or_default() += by;
    }
    sums.into_iter().map(|(shard, by)| count(shard, by))
}
