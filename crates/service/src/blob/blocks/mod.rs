//! Blocks: uploaded one by one, then committed as a list.
//!
//! Uncommitted blocks are rows of a separate table, so that they do not slow down listings. No commit covers
//! both tables. Therefore the head says which uncommitted blocks are valid: those with a version greater than
//! its horizon.

mod commit;
mod gather;
mod list;
mod quota;
mod segments;
mod stage;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::{Bound, KeyRange, Row, RowView, Scan, Verdict, Version};
use lazuli_model::blob::BlockId;

pub use quota::Quotas;
pub use segments::slice;

use super::core::{At, Core};
use super::keyspace::{self, Generation};
use super::record::Staged;
use super::sweep::every_row;
use crate::Result;

/// Rows read together.
const PAGE_ROWS_MAX: usize = 20_000;
/// Bytes read together.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// An uncommitted block as it is stored.
pub struct StagedRow {
    /// Its id.
    pub id: BlockId,
    /// The upload that made it.
    pub upload: Generation,
    /// The version of its row: the time of the upload.
    pub version: u64,
    /// Its content.
    pub block: Staged,
}

impl StagedRow {
    /// Reads a row.
    pub fn of(row: Row) -> Result<Self> {
        Ok(Self::read(&row.row, row.version, row.value)?)
    }

    fn read(key: &str, version: Version, value: Bytes) -> lazuli_engine::Result<Self> {
        let corrupt =
            || lazuli_engine::Error::Corrupt("the key of an uncommitted block cannot be read".into());
        let (id, upload) = keyspace::staged_of(key).ok_or_else(corrupt)?;
        Ok(Self { id, upload, version: version.0, block: Staged::decode(value)? })
    }

    /// Its row.
    pub fn key(&self) -> String {
        keyspace::staged(&self.id, self.upload)
    }
}

/// Reads all uncommitted blocks of a blob in the order of their ids, page by page. A block that is uploaded
/// again in the meantime may be missing while a later upload of another block is present.
pub struct StagedRows<'a> {
    core: &'a Core,
    at: &'a At,
    range: Option<KeyRange>,
}

impl Core {
    /// All rows of uncommitted blocks of a blob, valid or not.
    pub fn staged_rows<'a>(&'a self, at: &'a At) -> StagedRows<'a> {
        StagedRows { core: self, at, range: Some(KeyRange::partition(&at.name)) }
    }

    /// Passes all uncommitted blocks of a blob beyond a version to `see`, in the order of their ids, from one
    /// snapshot. Returns the greatest version of all of them.
    async fn every_staged_row(
        &self,
        at: &At,
        horizon: u64,
        see: impl Fn(StagedRow) + Send + Sync + 'static,
    ) -> Result<u64> {
        let greatest = Arc::new(AtomicU64::new(horizon));
        let seen = greatest.clone();
        let see = move |row: &RowView<'_>| {
            seen.fetch_max(row.version.0, Ordering::Relaxed);
            if row.version.0 > horizon {
                see(StagedRow::read(row.row, row.version, Bytes::copy_from_slice(row.value))?);
            }
            Ok(())
        };
        every_row(self, at.tables.staged, KeyRange::partition(&at.name), see).await?;
        Ok(greatest.load(Ordering::Relaxed))
    }
}

impl StagedRows<'_> {
    /// The next page; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<StagedRow>>> {
        let Some(range) = self.range.take() else { return Ok(None) };
        let end = range.end.clone();
        let scan = Scan {
            table: self.at.tables.staged,
            ranges: vec![range],
            rows_max: PAGE_ROWS_MAX,
            bytes_max: PAGE_BYTES_MAX,
            judge: Box::new(|_| Ok(Verdict::Keep)),
        };
        let page = self.core.engine().scan(scan).await?;
        self.range = page.next.map(|next| KeyRange { start: Bound::Included(next), end });
        page.rows.into_iter().map(StagedRow::of).collect::<Result<Vec<_>>>().map(Some)
    }
}
