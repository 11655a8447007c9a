//! Reclaims the space of deleted tables, queues and containers, in the background.
//!
//! A change that was in progress when its container was deleted may still arrive. So the record of the deletion
//! stays until no request can be that old, and the rows are erased once more before it is removed. The same
//! applies to the rows that the removal of an account leaves behind.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{
    Applied, Bound, Change, Clock, Condition, Engine, KeyRange, Page, Row, Scan, TableId, Verdict, Write,
};
use lazuli_model::Service;
use lazuli_model::time::TICKS_PER_SECOND;

use crate::accounts::Accounts;
use crate::catalog;
use crate::queue::Keeper;
use crate::record::{DroppedRecord, KeptRecord};
use crate::{Result, keyspace};

/// Longer than any request takes.
pub(crate) const GRACE: Duration = Duration::from_secs(120);
/// The same in ticks.
pub(crate) const GRACE_TICKS: u64 = GRACE.as_secs() * TICKS_PER_SECOND;
/// With several processes: readers of another process are done after this time.
pub(crate) const SHARED_READ_GRACE: Duration = Duration::from_secs(60 * 60);
/// Maximum number of deleted containers read together.
const PAGE_CONTAINERS_MAX: usize = 256;

/// Counts deletions; the sweep checks for work when the count has changed.
#[derive(Clone, Default)]
pub struct Dropped(Arc<AtomicU64>);

impl Dropped {
    /// A container was deleted.
    pub fn announce(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Releases everything that the rows of a deleted container refer to, before the rows are erased. May be called again
/// for the same tables.
pub trait Release: Send + Sync {
    /// Releases the content that the rows of these engine tables refer to; `false` while some of it is in use;
    /// the rows then stay until a later call.
    fn release<'a>(
        &'a self,
        tables: &'a [TableId],
    ) -> Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;
}

/// The background work of reclaiming the space of deleted containers.
pub struct Sweep {
    engine: Arc<dyn Engine>,
    clock: Clock,
    dropped: Dropped,
    accounts: Accounts,
    queues: Keeper,
    seen: Option<u64>,
    /// The time at which the next deleted container can no longer be restored, in ticks.
    due: u64,
    /// For blob containers.
    release: Option<Arc<dyn Release>>,
}

impl Sweep {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        clock: Clock,
        dropped: Dropped,
        accounts: Accounts,
        queues: Keeper,
    ) -> Self {
        Self { engine, clock, dropped, accounts, queues, seen: None, due: u64::MAX, release: None }
    }

    /// A sweep that releases the content of blob containers before it erases their rows.
    pub fn with_release(self, release: Arc<dyn Release>) -> Self {
        Self { release: Some(release), ..self }
    }

    /// One round: erases the rows of deleted containers, and some expired messages. Call it periodically; it returns
    /// immediately when there is nothing to do.
    pub async fn round(&mut self) -> Result<()> {
        self.queues.round().await?;
        let count = self.dropped.0.load(Ordering::Relaxed);
        let now = self.clock.ticks();
        if self.seen == Some(count) && now < self.due {
            return Ok(());
        }
        self.due = u64::MAX;
        let mut all_gone = true;
        for service in Service::ALL {
            let all = keyspace::all_containers(service);
            let mut range = Some(all.clone());
            while let Some(from) = range {
                let page = self.pending(from).await?;
                for row in &page.rows {
                    all_gone &= match &*row.row {
                        keyspace::CLOSED => self.accounts.settle(row).await?,
                        kept if keyspace::is_kept(kept) => self.expire(row, now).await?,
                        _ => self.erase(service, row, now).await?,
                    };
                }
                range = page.next.map(|next| KeyRange { start: Bound::Included(next), ..all.clone() });
            }
        }
        self.seen = all_gone.then_some(count);
        Ok(())
    }

    /// Permanently deletes a container that can no longer be restored; `false` if its rows are still to be erased.
    async fn expire(&mut self, row: &Row, now: u64) -> Result<bool> {
        let kept = KeptRecord::decode(&row.value)?;
        if kept.until > now {
            self.due = self.due.min(kept.until);
            return Ok(true);
        }
        let writes = catalog::expire(row, kept, now);
        let _: Applied = self.engine.apply(TableId::SYSTEM, &row.partition, writes).await?;
        Ok(false)
    }

    /// Erases the rows of a deleted container; `true` if the record of the deletion was removed, too, or is not
    /// due yet.
    async fn erase(&mut self, service: Service, row: &Row, now: u64) -> Result<bool> {
        let record = DroppedRecord::decode(&row.value)?;
        let ids: Vec<TableId> = record.ids().collect();
        if let Some(release) = &self.release
            && service == Service::Blob
        {
            let unread = record.at.saturating_add(SHARED_READ_GRACE.as_secs() * TICKS_PER_SECOND);
            if unread > now && self.engine.shared_state().await?.is_some() {
                // Until then another process may read blobs, and there is nothing to do.
                self.due = self.due.min(unread);
                return Ok(true);
            }
            if !release.release(&ids).await? {
                return Ok(false);
            }
        }
        for id in ids {
            if service == Service::Queue {
                self.queues.end_moves(id).await?;
            }
            while !self.engine.erase(id).await? {}
        }
        let old = record.at.saturating_add(GRACE_TICKS) < self.clock.ticks();
        if old {
            self.forget(row).await?;
        }
        Ok(old)
    }

    async fn pending(&self, range: KeyRange) -> Result<Page> {
        let scan = Scan {
            table: TableId::SYSTEM,
            ranges: vec![range],
            rows_max: PAGE_CONTAINERS_MAX,
            bytes_max: usize::MAX,
            judge: Box::new(|row| {
                let is_pending = keyspace::is_dropped(row.row)
                    || keyspace::is_kept(row.row)
                    || row.row == keyspace::CLOSED;
                Ok(if is_pending { Verdict::Keep } else { Verdict::Skip })
            }),
        };
        Ok(self.engine.scan(scan).await?)
    }

    async fn forget(&self, row: &Row) -> Result<()> {
        let write = Write {
            row: row.row.clone(),
            condition: Condition::Version(row.version),
            change: Change::Delete,
        };
        let _: Applied = self.engine.apply(TableId::SYSTEM, &row.partition, vec![write]).await?;
        Ok(())
    }
}
