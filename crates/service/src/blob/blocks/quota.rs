//! Limits the uncommitted blocks of a blob.
//!
//! Blocks are rows without a common head that could count them, so each process counts in memory. It stores how
//! many more blocks a blob can certainly take, and counts the rows again when those are used up. What must stay
//! true: memory is bounded, and a process without a count for a blob counts its rows. Each front end of a
//! database counts independently, so together they can exceed the limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{KeyRange, Scan, TableId, Verdict};
use lazuli_model::blob::BlockId;
use lazuli_model::{ErrorCode, Failure};

use crate::Result;
use crate::blob::core::{At, Core};
use crate::blob::keyspace;
use crate::blob::record::Head;

/// Maximum blobs to remember.
const BLOBS_MAX: usize = 1024;

/// The remaining quota of the blobs to which blocks were uploaded most recently.
#[derive(Default)]
pub struct Quotas {
    known: Mutex<HashMap<(TableId, Arc<str>), Quota>>,
    /// Held while rows are counted, so that parallel uploads to a blob share one count.
    counting: tokio::sync::Mutex<()>,
}

/// The number of blocks that a blob can still get.
#[derive(Clone, Copy)]
struct Quota {
    /// The horizon of the blocks that were counted.
    horizon: u64,
    left: Left,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// At least this number.
    AtLeast(usize),
    /// None.
    Nothing,
}

impl Quotas {
    /// Takes one block from the quota; `None` if the rows must be counted.
    fn take(&self, at: &At, horizon: u64) -> Option<Left> {
        let mut quotas = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let quota = quotas.get_mut(&key(at)).filter(|quota| quota.horizon == horizon)?;
        match &mut quota.left {
            Left::AtLeast(0) => return None,
            Left::AtLeast(left) => *left -= 1,
            Left::Nothing => {}
        }
        Some(quota.left)
    }

    fn set(&self, at: &At, horizon: u64, left: Left) {
        let mut quotas = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if quotas.len() >= BLOBS_MAX
            && let Some(any) = quotas.keys().next().cloned()
        {
            quotas.remove(&any);
        }
        quotas.insert(key(at), Quota { horizon, left });
    }
}

fn key(at: &At) -> (TableId, Arc<str>) {
    (at.tables.staged, at.name.clone())
}

impl Core {
    /// Checks that a block can be added to the uncommitted blocks of a blob with this head, or replaces one of them.
    pub async fn has_room(&self, at: &At, head: &Head, id: &BlockId) -> Result<()> {
        let max = self.options.uncommitted_blocks_max;
        let Some(marks) = head.marks.staged else {
            self.quotas.set(at, 0, Left::AtLeast(max.saturating_sub(1)));
            return Ok(());
        };
        let left = match self.quotas.take(at, marks.horizon) {
            Some(left) => left,
            // Replacing a block never requires a count.
            None if self.is_staged(at, marks.horizon, id).await? => return Ok(()),
            None => self.renew_quota(at, marks.horizon, max).await?,
        };
        if left == Left::Nothing && !self.is_staged(at, marks.horizon, id).await? {
            let text =
                format!("The uncommitted block count cannot exceed the maximum limit of {max} blocks.");
            return Err(Failure::new(ErrorCode::BlockCountExceedsLimit, text).into());
        }
        Ok(())
    }

    /// Counts the blocks of a blob whose quota is used up, and takes one from the new quota. If another upload has counted them
    /// in the meantime, takes one from its quota.
    async fn renew_quota(&self, at: &At, horizon: u64, max: usize) -> Result<Left> {
        let _counting = self.quotas.counting.lock().await;
        if let Some(left) = self.quotas.take(at, horizon) {
            return Ok(left);
        }
        let count = self.count_staged(at, horizon, max).await?;
        let left = max.checked_sub(count + 1).map_or(Left::Nothing, Left::AtLeast);
        self.quotas.set(at, horizon, left);
        Ok(left)
    }

    /// The number of uncommitted blocks, at most `max`. Copies no row: small blocks are in their rows.
    async fn count_staged(&self, at: &At, horizon: u64, max: usize) -> Result<usize> {
        let counted: Arc<Mutex<(usize, String)>> = Arc::default();
        let counting = counted.clone();
        let scan = Scan {
            table: at.tables.staged,
            ranges: vec![KeyRange::partition(&at.name)],
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            judge: Box::new(move |row| {
                let (count, last) = &mut *counting.lock().unwrap_or_else(PoisonError::into_inner);
                let id = row.row.split_once('/').map_or(row.row, |(id, _)| id);
                // Uploads of the same block are adjacent.
                if row.version.0 > horizon && (*count == 0 || last != id) {
                    if *count == max {
                        return Ok(Verdict::Stop);
                    }
                    *count += 1;
                    last.replace_range(.., id);
                }
                Ok(Verdict::Skip)
            }),
        };
        self.engine().scan(scan).await?;
        let (count, _) = *counted.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(count)
    }

    async fn is_staged(&self, at: &At, horizon: u64, id: &BlockId) -> Result<bool> {
        let scan = Scan {
            table: at.tables.staged,
            ranges: vec![keyspace::uploads(&at.name, id)],
            rows_max: 1,
            bytes_max: usize::MAX,
            judge: Box::new(move |row| {
                Ok(if row.version.0 > horizon { Verdict::Keep } else { Verdict::Skip })
            }),
        };
        Ok(!self.engine().scan(scan).await?.rows.is_empty())
    }
}
