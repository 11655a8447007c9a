//! Events of blobs: created, deleted, moved to another tier.
//!
//! The commit that changes a blob writes the event as a row of the same blob, so every acknowledged change has
//! its event. A background task delivers the events blob by blob and removes their rows.
//!
//! Invariants:
//! - A row is removed only after its event was delivered, or when it is certain that the event will not happen.
//! - The event of a blob that leaves the archive is planned: its row has a time in the future. It happens
//!   unless a commit before that time replaces or deletes the blob. The row that such a commit writes names the
//!   event that it cancels. Changes of the blob after that time do not matter, however late the event is
//!   delivered.
//! - Events of one blob are delivered in the order of their commits: one task delivers those of an account, sorted by time.
//! - If events are disabled, there is no outbox, and nothing here costs anything.

mod outbox;
mod record;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Applied, Change, Condition, Next, Rejected, Scan, Update, Verdict, Version, Write};
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::event::{Event, EventKind};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{Guid, OperationKind};

pub use outbox::Outbox;
pub use record::check_record;
use record::{Delivery, Waiting, keep_first};

use super::commit::{Decided, Step, remove};
use super::core::{At, Core};
use super::keyspace;
use super::record::{Head, Revision, time};
use crate::{Error, Result};

/// Maximum events delivered before their rows are removed.
const BATCH_MAX: usize = 64;
/// After this time, a commit of unknown outcome has been applied or never will be.
const GRACE_TICKS: u64 = 120 * TICKS_PER_SECOND;
/// The container of request logs: its blobs have no events.
const LOGS: &str = "$logs";

/// The names in an event that cannot be derived from the tables of a container.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    /// The prefix of the account's records.
    pub home: String,
    /// The container.
    pub container: String,
}

/// The event of one commit, written together with the change, if there is one.
struct Notice {
    id: Guid,
    kind: OperationKind,
    origin: Arc<Origin>,
    blob: Arc<str>,
    value: Mutex<Option<Bytes>>,
}

impl Notice {
    /// Records the decision of a rule. The rule may run several times; the last run counts.
    fn note(&self, before: Option<&Revision>, after: Option<&Revision>, version: u64) {
        let waiting = self.waiting(before, after, version);
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = waiting.map(|waiting| waiting.encode());
    }

    fn is_set(&self) -> bool {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn waiting(&self, before: Option<&Revision>, after: Option<&Revision>, version: u64) -> Option<Waiting> {
        let event = |kind, of: &Revision, ticks: u64| Event {
            id: self.id,
            kind,
            api: self.kind.name().to_owned(),
            home: self.origin.home.clone(),
            container: self.origin.container.clone(),
            blob: self.blob.to_string(),
            time: time(ticks),
            etag: of.stamp().etag,
            size: of.size,
            content_type: of.headers.content_type.clone(),
            blob_kind: of.kind,
            tier: of.tier.tier,
        };
        let cancels = cancelled(before, after);
        let waits = |event, delivery| Some(Waiting { event, delivery, cancels });
        let now = |event| waits(event, Delivery::Now);
        match (self.kind, before, after) {
            (OperationKind::DeleteBlob, Some(before), None) => {
                now(event(EventKind::Deleted, before, version))
            }
            (OperationKind::DeleteBlob, ..) => None,
            (OperationKind::SetBlobTier, Some(before), Some(after)) => {
                let begins = before.tier.rehydrating.is_none();
                match after.tier.rehydrating {
                    Some((tier, _)) if begins => {
                        let event = event(EventKind::TierChanged, after, after.rehydrated);
                        waits(Event { tier, ..event }, Delivery::Planned)
                    }
                    None if before.tier.tier != after.tier.tier => {
                        now(event(EventKind::TierChanged, after, version))
                    }
                    _ => None,
                }
            }
            (OperationKind::SetBlobTier, ..) => None,
            (_, _, Some(after)) => {
                let is_pending = after.copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending);
                // It cancels nothing: a blob that is still in the archive cannot be replaced.
                if is_pending { None } else { now(event(EventKind::Created, after, version)) }
            }
            (_, _, None) => None,
        }
    }
}

/// The time in ticks of the planned event that a commit cancels; 0 if it cancels none. Both revisions are those
/// at the time of the commit: if the blob has already left the archive, nothing is pending.
fn cancelled(before: Option<&Revision>, after: Option<&Revision>) -> u64 {
    let pending = |of: &Revision| of.tier.rehydrating.map(|_| of.rehydrated);
    let (old, new) = (before.and_then(pending), after.and_then(pending));
    old.filter(|_| old != new).unwrap_or_default()
}

impl Update for Notice {
    fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(value.map_or(Next::Keep, Next::Put))
    }
}

/// Queues a blob whose commit was cancelled: it may have an event.
struct Doubt<'a> {
    core: &'a Core,
    outbox: &'a Outbox,
    at: &'a At,
    is_settled: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.outbox.add_later(self.at, self.core.clock().ticks().saturating_add(GRACE_TICKS));
        }
    }
}

/// Does an operation of this kind have events?
fn has_events(kind: OperationKind) -> bool {
    use OperationKind as Kind;
    matches!(
        kind,
        Kind::PutBlob
            | Kind::PutBlobFromUrl
            | Kind::PutBlockList
            | Kind::CopyBlob
            | Kind::CopyBlobFromUrl
            | Kind::DeleteBlob
            | Kind::SetBlobTier
    )
}

impl Core {
    /// Like [`Core::decide`], with the event of the operation in the same commit.
    pub async fn decide_with_event<T: Send + 'static>(
        &self,
        at: &At,
        kind: OperationKind,
        rule: impl Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync + 'static,
        more: Vec<Write>,
    ) -> Result<Decided<T>> {
        let outbox = self.outbox.as_ref().filter(|_| has_events(kind));
        let origin = at.origin.as_ref().filter(|origin| origin.container != LOGS);
        let (Some(outbox), Some(origin)) = (outbox, origin) else {
            return self.decide(at, rule, more).await;
        };
        if !outbox.applies_to(&origin.home) {
            return self.decide(at, rule, more).await;
        }
        let notice = Arc::new(Notice {
            id: self.fresh_id(),
            kind,
            origin: origin.clone(),
            blob: at.name.clone(),
            value: Mutex::new(None),
        });
        let noted = notice.clone();
        let rule = move |head: Option<Head>, version: u64| {
            let before = head.as_ref().and_then(|head| head.blob.clone());
            let (step, result) = rule(head, version)?;
            let after = match &step {
                Step::Put(head) => head.blob.as_ref(),
                Step::Delete => None,
                Step::Keep => before.as_ref(),
            };
            noted.note(before.as_ref(), after, version);
            Ok((step, result))
        };
        let row = keyspace::event(self.fresh_generation()).into();
        let write = Write { row, condition: Condition::Absent, change: Change::Update(notice.clone()) };
        let mut doubt = Doubt { core: self, outbox, at, is_settled: false };
        let decided = self.decide(at, rule, more.into_iter().chain([write]).collect()).await;
        doubt.is_settled = match &decided {
            Ok(_) | Err(Error::Rejected(_) | Error::Engine(lazuli_engine::Error::Conflict)) => true,
            Err(Error::Engine(_)) => false,
        };
        if matches!(decided, Ok(Decided::Done(_))) && notice.is_set() && !outbox.add(at) {
            self.todo.overflow();
        }
        decided
    }
}

/// The events of one blob, in order.
pub struct EventBatch {
    at: At,
    /// Rows to remove, each with the number of events that must be delivered first.
    rows: Vec<(usize, String)>,
    has_more: bool,
    /// The events.
    pub events: Vec<Event>,
}

/// The events waiting for delivery, with a separate lane for each set of accounts. Only one task at a time may
/// take the events of a lane.
#[derive(Clone)]
pub struct Events {
    core: Arc<Core>,
    lane: usize,
}

impl Events {
    pub(super) fn new(core: Arc<Core>) -> Option<Self> {
        core.outbox.is_some().then_some(Self { core, lane: 0 })
    }

    /// The events of another lane, by its number.
    pub fn lane(&self, lane: usize) -> Self {
        Self { core: self.core.clone(), lane }
    }

    /// The events of the blob that has waited longest in this lane; `None` if no blob is waiting.
    /// [`Events::delivered`] or [`Events::failed`] must follow.
    pub async fn next(&self) -> Result<Option<EventBatch>> {
        let core = &self.core;
        let Some(outbox) = &core.outbox else { return Ok(None) };
        if !outbox.advance(core.clock().ticks()) {
            core.todo.overflow();
        }
        let Some(at) = outbox.next(self.lane) else { return Ok(None) };
        match core.batch(&at).await {
            Ok(batch) => Ok(Some(batch)),
            Err(error) => {
                self.put_back(&at);
                Err(error)
            }
        }
    }

    /// Removes the events of a batch after their delivery.
    pub async fn delivered(&self, batch: EventBatch) -> Result<()> {
        let count = batch.events.len();
        let removed = self.forget(&batch, count).await;
        if batch.has_more || removed.is_err() {
            self.put_back(&batch.at);
        } else if let Some(outbox) = &self.core.outbox {
            outbox.end(self.lane);
        }
        removed
    }

    /// Removes the first `count` events of a batch, the only ones that were delivered, so that they are not
    /// sent again after newer ones. The others wait again.
    pub async fn failed(&self, batch: &EventBatch, count: usize) -> Result<()> {
        let removed = if count > 0 { self.forget(batch, count).await } else { Ok(()) };
        self.put_back(&batch.at);
        removed
    }

    /// Removes the rows of the first `count` events.
    async fn forget(&self, batch: &EventBatch, count: usize) -> Result<()> {
        let rows = batch.rows.iter().filter(|(after, _)| *after <= count);
        let writes: Vec<Write> = rows.map(|(_, row)| remove(row.as_str())).collect();
        if writes.is_empty() {
            return Ok(());
        }
        match self.core.engine().apply(batch.at.tables.blobs, &batch.at.name, writes).await? {
            Applied::Done { .. } => Ok(()),
            Applied::Rejected { .. } => Err(lazuli_engine::Error::Conflict.into()),
        }
    }

    /// Waits for an event of this lane.
    pub async fn wait(&self) {
        if let Some(outbox) = &self.core.outbox {
            outbox.wait(self.lane).await;
        }
    }

    /// Waits until all events of all lanes are delivered.
    pub async fn drained(&self) {
        if let Some(outbox) = &self.core.outbox {
            outbox.drained().await;
        }
    }

    /// Number of blobs with waiting events, in all lanes.
    pub fn waiting(&self) -> usize {
        self.core.outbox.as_ref().map_or(0, Outbox::len)
    }

    fn put_back(&self, at: &At) {
        if let Some(outbox) = &self.core.outbox {
            if !outbox.add(at) {
                self.core.todo.overflow();
            }
            outbox.end(self.lane);
        }
    }
}

impl Core {
    /// The first events of a blob, by time. Includes events that turned out not to happen, because their rows must be
    /// removed as well.
    async fn batch(&self, at: &At) -> Result<EventBatch> {
        let now = self.clock().ticks();
        let mut found = self.event_rows(at).await?;
        let cancellations: HashSet<u64> =
            found.iter().map(|(_, waiting)| waiting.cancels).filter(|&time| time > 0).collect();
        let mut cancelled: HashMap<u64, Vec<String>> = HashMap::new();
        found.retain_mut(|(row, waiting)| {
            let time = waiting.event.time.ticks();
            let is_cancelled = waiting.is_planned() && cancellations.contains(&time);
            if is_cancelled {
                cancelled.entry(time).or_default().push(std::mem::take(row));
            }
            !is_cancelled
        });
        // The version of a commit can be ahead of the clock, so only the schedule shows which events are still
        // to come.
        let is_later = |waiting: &Waiting| waiting.is_planned() && waiting.event.time.ticks() > now;
        let later = found.iter().filter(|(_, waiting)| is_later(waiting));
        let next = later.map(|(_, waiting)| waiting.event.time.ticks()).min();
        if let (Some(outbox), Some(next)) = (&self.outbox, next) {
            outbox.add_later(at, next);
        }
        found.retain(|(_, waiting)| !is_later(waiting));
        found.sort_by_key(|(_, waiting)| waiting.event.time);
        let has_more = found.len() > BATCH_MAX;
        found.truncate(BATCH_MAX);
        let mut batch = EventBatch { at: at.clone(), rows: Vec::new(), has_more, events: Vec::new() };
        for (row, waiting) in found {
            let happens = match waiting.delivery {
                Delivery::Now | Delivery::Planned => true,
                Delivery::PlannedIfUnchanged => self.is_unchanged(at, &waiting.event).await?,
            };
            batch.events.extend(happens.then_some(waiting.event));
            // A cancelled row is removed together with the one that cancels it: alone, it would be delivered.
            let cancelled = cancelled.remove(&waiting.cancels).unwrap_or_default();
            let after = batch.events.len();
            batch.rows.extend(cancelled.into_iter().chain([row]).map(|row| (after, row)));
        }
        Ok(batch)
    }

    /// Has the blob reached the tier that it was moving to, and stayed there since?
    async fn is_unchanged(&self, at: &At, event: &Event) -> Result<bool> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        Ok(blob.is_some_and(|blob| blob.tier.tier == event.tier && blob.tier.changed == Some(event.time)))
    }

    /// The events of a blob that the next batch can depend on: not all of them, since there can be very many
    /// while the target is unreachable.
    async fn event_rows(&self, at: &At) -> Result<Vec<(String, Waiting)>> {
        let mut found = Vec::new();
        let mut next = Some(keyspace::events(&at.name));
        while let Some(range) = next {
            let end = range.end.clone();
            let scan = Scan {
                table: at.tables.blobs,
                ranges: vec![range],
                rows_max: 1_000,
                bytes_max: 1024 * 1024,
                judge: Box::new(|_| Ok(Verdict::Keep)),
            };
            let page = self.engine().scan(scan).await?;
            for row in page.rows {
                found.push((row.row.to_string(), Waiting::decode(&at.name, &row.value)?));
            }
            // One more than the size of a batch, to detect that there are more.
            keep_first(&mut found, BATCH_MAX + 1);
            next = page
                .next
                .map(|place| lazuli_engine::KeyRange { start: lazuli_engine::Bound::Included(place), end });
        }
        Ok(found)
    }
}
