//! Deleted containers that can be restored.
//!
//! Deleting such a container moves its record to another row, in one commit; restoring it moves the record back. Its
//! engine tables stay as they are. When it can no longer be restored, the sweep turns the record into that of a deleted
//! container.

use lazuli_engine::{Applied, Bound, Change, Condition, KeyPosition, Row, Scan, TableId, Verdict, Write};
use lazuli_model::{ErrorCode, Service};

use super::{Catalog, Live, Name, PAGE_BYTES_MAX};
use crate::record::{ContainerRecord, DroppedRecord, KeptRecord};
use crate::{ATTEMPTS_MAX, Result, keyspace};

/// The outcome of a restoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// The container exists again.
    Done,
    /// No deleted container has that name and id.
    Missing,
    /// The name is already in use by another container.
    Exists,
}

impl Catalog {
    /// Deletes a container if `check` permits it. It can be restored until that time. `false` if there is none.
    pub async fn delete_kept(
        &self,
        name: Name<'_>,
        until: u64,
        mut check: impl FnMut(&Live) -> Result<()>,
    ) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(live) = self.read(name).await? else { return Ok(false) };
            check(&live)?;
            let row = keyspace::kept(name.folded, live.record.id);
            let kept = KeptRecord { record: live.record, at: self.clock.ticks(), until };
            let writes = vec![
                Write {
                    row: keyspace::live(name.folded).into(),
                    condition: Condition::Version(live.version),
                    change: Change::Delete,
                },
                Write { row: row.into(), condition: Condition::Any, change: Change::Put(kept.encode()) },
            ];
            let applied = self.apply(name, writes).await;
            // The sweep must know the time at which it expires.
            self.dropped.announce();
            if let Applied::Done { .. } = applied? {
                return Ok(true);
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Restores a deleted container under a name.
    pub async fn restore(&self, name: Name<'_>, deleted: &str, id: TableId) -> Result<Restored> {
        let partition = keyspace::containers(name.service, name.home);
        let row = keyspace::kept(deleted, id);
        let found = self.engine.get(TableId::SYSTEM, &partition, &[&row]).await?;
        let Some(found) = found.into_iter().next().flatten() else { return Ok(Restored::Missing) };
        let kept = KeptRecord::decode(&found.value)?;
        if kept.until <= self.clock.ticks() {
            return Ok(Restored::Missing);
        }
        let record = ContainerRecord { name: name.folded.to_owned(), ..kept.record };
        let absent = |row: String, change| Write { row: row.into(), condition: Condition::Absent, change };
        let writes = vec![
            absent(keyspace::live(name.folded), Change::Put(record.encode())),
            Write { row: row.into(), condition: Condition::Version(found.version), change: Change::Delete },
            // Only its condition matters.
            absent(keyspace::CLOSED.to_owned(), Change::Delete),
        ];
        match self.apply(name, writes).await? {
            Applied::Done { .. } => Ok(Restored::Done),
            Applied::Rejected { index: 0, .. } => Ok(Restored::Exists),
            Applied::Rejected { index: 1, .. } => Ok(Restored::Missing),
            Applied::Rejected { .. } => Err(ErrorCode::ServerBusy.into()),
        }
    }

    /// The deleted containers of an account that can be restored, from one name up to another, at most
    /// `rows_max`.
    pub async fn list_kept(
        &self,
        service: Service,
        home: &str,
        from: &str,
        before: Option<&str>,
        rows_max: usize,
    ) -> Result<Vec<KeptRecord>> {
        let partition = keyspace::containers(service, home);
        let place = |row: String| KeyPosition { partition: partition.clone(), row };
        let end = before.map_or_else(|| keyspace::AFTER_KEPT.to_owned(), keyspace::kept_from);
        let range = lazuli_engine::KeyRange {
            start: Bound::Included(place(keyspace::kept_from(from))),
            end: Bound::Excluded(place(end)),
        };
        let judge = Box::new(|_: lazuli_engine::RowView<'_>| Ok(Verdict::Keep));
        let ranges = vec![range];
        let scan = Scan { table: TableId::SYSTEM, ranges, rows_max, bytes_max: PAGE_BYTES_MAX, judge };
        let rows = self.engine.scan(scan).await?.rows;
        let now = self.clock.ticks();
        let kept: lazuli_engine::Result<Vec<_>> =
            rows.iter().map(|row| KeptRecord::decode(&row.value)).collect();
        Ok(kept?.into_iter().filter(|kept| kept.until > now).collect())
    }
}

/// The commit after which a container can no longer be restored.
pub fn expire(row: &Row, kept: KeptRecord, now: u64) -> Vec<Write> {
    let ContainerRecord { id, more, .. } = kept.record;
    let dropped = DroppedRecord { id, more, at: now };
    vec![
        Write { row: row.row.clone(), condition: Condition::Version(row.version), change: Change::Delete },
        Write {
            row: keyspace::dropped(id).into(),
            condition: Condition::Any,
            change: Change::Put(dropped.encode()),
        },
    ]
}
