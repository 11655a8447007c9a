//! Gives back the space of deleted tables, in the background.
//!
//! A change that was under way when its table was deleted may still arrive, so the record of the deletion stays until
//! no request can be that old, and the rows are erased once more before it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{
    Applied, Bound, Change, Clock, Condition, Engine, KeyRange, Page, Row, Scan, TableId, Verdict, Write,
};
use lazuli_model::time::TICKS_PER_SECOND;

use crate::record::DroppedRecord;
use crate::{Result, keyspace};

/// Longer than any request lives.
const GRACE: Duration = Duration::from_secs(120);
/// Deleted tables looked at together.
const PAGE_TABLES_MAX: usize = 256;

/// Counts deletions; the sweep looks when the count has changed.
#[derive(Clone, Default)]
pub struct Dropped(Arc<AtomicU64>);

impl Dropped {
    /// A table was deleted.
    pub fn announce(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The background work of giving back the space of deleted tables.
pub struct Sweep {
    engine: Arc<dyn Engine>,
    clock: Clock,
    dropped: Dropped,
    seen: Option<u64>,
}

impl Sweep {
    pub(crate) fn new(engine: Arc<dyn Engine>, clock: Clock, dropped: Dropped) -> Self {
        Self { engine, clock, dropped, seen: None }
    }

    /// One round: erases what was deleted. To be called now and then; returns at once when there is nothing to do.
    pub async fn round(&mut self) -> Result<()> {
        let count = self.dropped.0.load(Ordering::Relaxed);
        if self.seen == Some(count) {
            return Ok(());
        }
        let mut all_gone = true;
        let mut range = Some(keyspace::all_tables());
        while let Some(from) = range {
            let page = self.pending(from).await?;
            for row in &page.rows {
                all_gone &= self.erase(row).await?;
            }
            range = page.next.map(|next| KeyRange { start: Bound::Included(next), ..keyspace::all_tables() });
        }
        if all_gone {
            self.seen = Some(count);
        }
        Ok(())
    }

    /// Erases a deleted table's rows; `true` when the record of the deletion is gone too.
    async fn erase(&self, row: &Row) -> Result<bool> {
        let record = DroppedRecord::decode(&row.value)?;
        while !self.engine.erase(record.id).await? {}
        let old = record.at.saturating_add(GRACE.as_secs() * TICKS_PER_SECOND) < self.clock.ticks();
        if old {
            self.forget(row).await?;
        }
        Ok(old)
    }

    async fn pending(&self, range: KeyRange) -> Result<Page> {
        let scan = Scan {
            table: TableId::SYSTEM,
            ranges: vec![range],
            rows_max: PAGE_TABLES_MAX,
            bytes_max: usize::MAX,
            judge: Box::new(|row| {
                Ok(if keyspace::is_dropped(row.row) { Verdict::Keep } else { Verdict::Skip })
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
