//! The Queue service: the operations on queues and their messages.

mod deletes;
mod expire;
mod line;
mod messages;
mod puts;
mod queues;
mod record;
mod ticket;
mod transfer;
mod update;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{Applied, Engine, TableId, Version, Write};
use lazuli_model::queue::{Operation, Outcome, QueueName};
use lazuli_model::{ErrorCode, OperationKind};

pub use expire::Keeper;
pub use record::check_row;
pub use ticket::Tickets;
pub use window::{FRONTS_BYTES_MAX, Windows};

use record::{PARTITION, TIME, decode_time};
use update::raise;
use window::Window;

use crate::access::{Authorized, DetachedOperation};
use crate::catalog::{Live, Name};
use crate::{Grant, Options, Result, Services};

/// Interval for reading the time of other front ends.
const LEARN_EVERY: Duration = Duration::from_secs(1);

/// The state that the Queue service keeps in memory.
pub struct QueueState {
    /// The fronts of the queues.
    pub windows: Windows,
    /// Times, numbers and secrets for messages.
    pub tickets: Tickets,
    /// The moment at which the time of the engine was last read: nanoseconds plus one, or 0 before the first
    /// time.
    learnt: AtomicU64,
}

impl QueueState {
    /// The state of a process that has just started.
    pub fn new(options: &Options) -> Self {
        Self { windows: Windows::default(), tickets: Tickets::new(options), learnt: AtomicU64::new(0) }
    }

    /// Reads the time of the engine: at first use, and then periodically if other processes use it. The clock may have
    /// been set back since the last start, or that of another front end may be ahead.
    async fn learn_time(&self, engine: &dyn Engine, elapsed: Duration, is_shared: bool) -> Result<()> {
        let last = self.learnt.load(Ordering::Acquire).checked_sub(1).map(Duration::from_nanos);
        let is_known = last.is_some_and(|last| !is_shared || elapsed.saturating_sub(last) < LEARN_EVERY);
        if is_known {
            return Ok(());
        }
        // Even an empty commit has a version, which is greater than all earlier ones.
        if let Applied::Done { version, .. } = engine.apply(TableId::SYSTEM, "", Vec::new()).await? {
            self.tickets.observe(version);
        }
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.learnt.store(elapsed.saturating_add(1), Ordering::Release);
        Ok(())
    }

    /// The front of a queue, once the time of the queue is known.
    async fn window(
        &self,
        engine: &dyn Engine,
        queue: TableId,
        elapsed: Duration,
        is_shared: bool,
    ) -> Result<Arc<Window>> {
        self.learn_time(engine, elapsed, is_shared).await?;
        self.front(engine, queue).await
    }

    /// The front of a queue for a read. Reads work even if the engine accepts no writes, for example on a full
    /// disk. If the clock was also set back, messages appear later.
    async fn window_to_read(
        &self,
        engine: &dyn Engine,
        queue: TableId,
        elapsed: Duration,
        is_shared: bool,
    ) -> Result<Arc<Window>> {
        drop(self.learn_time(engine, elapsed, is_shared).await);
        self.front(engine, queue).await
    }

    async fn front(&self, engine: &dyn Engine, queue: TableId) -> Result<Arc<Window>> {
        let window = self.windows.of(queue);
        let learn = async || {
            let found = engine.get(queue, PARTITION, &[TIME]).await?;
            if let Some(row) = found.into_iter().next().flatten() {
                self.tickets.observe(Version(decode_time(&row.value)?));
            }
            Ok::<(), crate::Error>(())
        };
        window.has_time.get_or_try_init(learn).await?;
        Ok(window)
    }

    /// Applies changes that were prepared at a time of the queue.
    async fn apply(
        &self,
        engine: &dyn Engine,
        queue: TableId,
        now: u64,
        mut writes: Vec<Write>,
    ) -> Result<Applied> {
        if self.tickets.is_ahead(now) {
            // After a restart the time would be earlier, and the message would stay hidden for longer.
            writes.push(raise(now));
        }
        let applied = engine.apply(queue, PARTITION, writes).await?;
        if let Applied::Done { version, .. } = applied {
            self.tickets.observe(version);
        }
        Ok(applied)
    }
}

impl Services {
    /// Executes an operation of the Queue service.
    pub fn execute_queue(
        &self,
        authorized: Authorized<'_, Operation>,
    ) -> impl Future<Output = Result<Outcome>> {
        let (grant, operation) = authorized.into_parts();
        self.run_queue(grant, operation)
    }

    /// Executes an operation in a separate task.
    pub async fn execute_queue_detached(&self, detached: DetachedOperation<Operation>) -> Result<Outcome> {
        let (grant, operation) = detached.into_parts();
        self.run_queue(&grant, operation).await
    }

    async fn run_queue(&self, grant: &Grant, operation: Operation) -> Result<Outcome> {
        let home = grant.home.as_str();
        let service = lazuli_model::Service::Queue;
        // Rare operations are boxed, so that the futures of frequent ones do not reserve space for them.
        match operation {
            Operation::ListQueues(query) => Box::pin(self.list_queues(home, query)).await,
            Operation::CreateQueue(queue, metadata) => {
                Box::pin(self.create_queue(home, &queue, metadata)).await
            }
            Operation::DeleteQueue(queue) => Box::pin(self.delete_queue(home, &queue)).await,
            Operation::GetMetadata(queue) => Box::pin(self.get_queue_metadata(home, &queue)).await,
            Operation::SetMetadata(queue, metadata) => {
                Box::pin(self.set_queue_metadata(home, &queue, metadata)).await
            }
            Operation::GetAcl(queue) => {
                let live = self.find_queue(home, &queue).await?;
                Ok(Outcome::Acl(live.record.policies.to_vec()))
            }
            Operation::SetAcl(queue, policies) => Box::pin(self.set_queue_acl(home, &queue, policies)).await,
            Operation::PutMessage { queue, text, visibility, ttl } => {
                self.put_message(home, &queue, text, visibility, ttl).await
            }
            Operation::GetMessages { queue, count, visibility } => {
                Box::pin(self.get_messages(home, &queue, count, visibility)).await
            }
            Operation::PeekMessages { queue, count } => {
                Box::pin(self.peek_messages(home, &queue, count)).await
            }
            Operation::UpdateMessage { target, visibility, text } => {
                Box::pin(self.update_message(home, &target, visibility, text)).await
            }
            Operation::DeleteMessage(target) => self.delete_message(home, &target).await,
            Operation::ClearMessages(queue) => Box::pin(self.clear_messages(home, &queue)).await,
            Operation::MoveMessages { from, to, max } => {
                Box::pin(self.move_messages(home, &from, &to, max.into())).await.map(Outcome::MessagesMoved)
            }
            Operation::GetProperties => {
                Ok(Outcome::Properties(Box::pin(self.properties(service, home)).await?))
            }
            Operation::SetProperties(update) => {
                Box::pin(self.properties.update(service, home, *update)).await?;
                Ok(Outcome::PropertiesSet)
            }
            Operation::GetStats => Ok(Outcome::Stats),
            // The server has the secret that keys are derived from.
            Operation::GetUserDelegationKey(_) => Err(ErrorCode::NotImplemented.into()),
        }
    }

    /// Does the operation change cached records? Such a change must not be cancelled midway.
    pub fn changes_queue_catalog(kind: OperationKind) -> bool {
        matches!(
            kind,
            OperationKind::CreateQueue
                | OperationKind::DeleteQueue
                | OperationKind::SetQueueMetadata
                | OperationKind::SetQueueAcl
                | OperationKind::ClearMessages
                | OperationKind::SetQueueServiceProperties
        )
    }

    async fn find_queue(&self, home: &str, queue: &QueueName) -> Result<Arc<Live>> {
        let found = self.catalog.find(name(home, queue)).await?;
        Ok(found.ok_or(ErrorCode::QueueNotFound)?)
    }
}

/// The name of a queue in the catalog.
fn name<'a>(home: &'a str, queue: &'a QueueName) -> Name<'a> {
    Name { service: lazuli_model::Service::Queue, home, folded: queue.as_str() }
}
