//! Removes outdated rows from the tag index.
//!
//! A row may be announced before the blob has the tag, so a missing tag alone proves nothing. A row is removed
//! if it is so old that no announcement can be in progress, and if it is not announced again before the
//! removal.
//!
//! Changes of tags report the index rows that they make obsolete. After a crash a scan of the index finds those rows.

use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{Applied, Change, Condition, KeyRange, RowView, Write};

use super::partition::{See, some_rows};
use super::{GRACE, Progress, Reclaim, SHARED_READ_GRACE, at, ticks};
use crate::Result;
use crate::blob::core::At;
use crate::blob::keyspace::Tables;
use crate::blob::tags::key;
use crate::blob::todo::StaleTag;

/// Maximum tags processed in one round.
const ROUND_TAGS_MAX: usize = 1_000;

impl Reclaim {
    /// Cleans the index of some tags; `true` if there may be more.
    pub(super) async fn clean_tags(&self, now: u64) -> Result<bool> {
        let before = now.saturating_sub(self.tag_grace());
        let stale = self.core.todo.ripe_tags(before, ROUND_TAGS_MAX);
        let has_more = stale.len() == ROUND_TAGS_MAX;
        let mut stale = stale.into_iter();
        while let Some(tag) = stale.next() {
            let cleaned = self.clean_tag(&tag).await;
            if !matches!(cleaned, Ok(Progress::Done)) {
                self.core.todo.tags(&tag.at, vec![(tag.name, tag.value)], now);
            }
            if let Err(error) = cleaned {
                stale.for_each(|tag| self.core.todo.tags(&tag.at, vec![(tag.name, tag.value)], now));
                return Err(error);
            }
        }
        Ok(has_more)
    }

    /// Reads the whole index of a container, and queues the outdated rows.
    pub(super) async fn scan_tags(&self, tables: Tables) -> Result<()> {
        let rows: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = rows.clone();
        let see: See = Arc::new(move |row: &RowView<'_>| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(row.row.to_owned());
            Ok(())
        });
        let mut next = Some(KeyRange::ALL);
        while let Some(range) = next {
            next = some_rows(&self.core, tables.tags, range, see.clone()).await?;
            let page = std::mem::take(&mut *rows.lock().unwrap_or_else(PoisonError::into_inner));
            for row in &page {
                let Some((name, value, blob)) = key::parse(row) else { continue };
                let at = at(tables, blob);
                if !self.has_tag(&at, name, value).await? {
                    self.core.retire(&at, vec![(name.into(), value.into())]);
                }
            }
        }
        Ok(())
    }

    async fn has_tag(&self, at: &At, name: &str, value: &str) -> Result<bool> {
        let blob = self.core.head(at).await?.and_then(|head| head.blob);
        Ok(blob.is_some_and(|blob| blob.tags.get(name) == Some(value)))
    }

    /// After this time, the commit of an announcement has been applied or never will be.
    fn tag_grace(&self) -> u64 {
        ticks(if self.is_shared { SHARED_READ_GRACE } else { GRACE })
    }

    async fn clean_tag(&self, tag: &StaleTag) -> Result<Progress> {
        let at = &tag.at;
        let row = key::row(&tag.name, &tag.value, &at.name);
        // The row comes first: an announcement after this moment gives it another version.
        let found = self.core.engine().get(at.tables.tags, key::PARTITION, &[&row]).await?;
        let Some(found) = found.into_iter().next().flatten() else { return Ok(Progress::Done) };
        if self.core.pins.has_blob(at.tables.blobs, &at.name) || self.age(found.version.0) < self.tag_grace()
        {
            return Ok(Progress::Again);
        }
        if self.has_tag(at, &tag.name, &tag.value).await? {
            return Ok(Progress::Done);
        }
        let write =
            Write { row: row.into(), condition: Condition::Version(found.version), change: Change::Delete };
        // If it was announced again, that announcement takes care of the row.
        let _: Applied = self.core.engine().apply(at.tables.tags, key::PARTITION, vec![write]).await?;
        Ok(Progress::Done)
    }
}
