//! An engine layer for imports that keep Timestamps: it gives rows the versions in the file instead of new
//! ones.
//!
//! All other rules and limits of a write apply: the entity goes through the whole service, and only the last
//! step differs. No other process has the store open, so a row does not change after it was read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_client::Dynamic;
use lazuli_engine::{
    Adopted, Applied, Change, Condition, Engine, EngineFuture, Error, Layer, Reason, Result, Row, TableId,
    Unfit, Version, Write,
};
use lazuli_model::DateTime;

type Key = (Box<str>, Box<str>);

/// The Timestamps of the entities that are being written, and why one was rejected.
#[derive(Default)]
pub struct Wanted {
    rows: Mutex<HashMap<Key, (Version, u64)>>,
    rejected: Mutex<Option<(u64, String)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wanted {
    /// Sets the entities that are written next, each with its line. An error has the line.
    pub fn set(&self, window: &[(Dynamic, u64)]) -> std::result::Result<(), (u64, &'static str)> {
        let mut rows = HashMap::with_capacity(window.len());
        for (entity, line) in window {
            let time = entity
                .timestamp
                .ok_or((*line, "there is no Timestamp to keep; lazuli export --timestamps writes them"))?;
            let key = (entity.partition_key.as_str().into(), entity.row_key.as_str().into());
            if rows.insert(key, (Version(time.ticks()), *line)).is_some() {
                return Err((*line, "an earlier line has an entity with the same keys"));
            }
        }
        *locked(&self.rows) = rows;
        Ok(())
    }

    /// The line that was rejected, and the reason.
    pub fn rejected(&self) -> Option<(u64, String)> {
        locked(&self.rejected).clone()
    }

    fn reject(&self, line: u64, why: String) {
        *locked(&self.rejected) = Some((line, why));
    }

    /// The row to write, and its line.
    fn row(&self, partition: &str, write: &Write) -> Result<(Row, u64)> {
        let unexpected = || Error::Unavailable("an import writes entities that it has read".into());
        let Change::Put(value) = &write.change else { return Err(unexpected()) };
        let key: Key = (partition.into(), write.row.clone());
        let (version, line) = locked(&self.rows).get(&key).copied().ok_or_else(unexpected)?;
        Ok((Row { partition: key.0, row: key.1, version, value: value.clone() }, line))
    }
}

/// The engine.
pub struct Dated {
    engine: Arc<dyn Engine>,
    wanted: Arc<Wanted>,
}

impl Dated {
    /// A layer in front of `engine`, with the Timestamps of `wanted`.
    pub fn new(engine: Arc<dyn Engine>, wanted: Arc<Wanted>) -> Self {
        Self { engine, wanted }
    }

    async fn put(&self, table: TableId, partition: &str, writes: Vec<Write>) -> Result<Applied> {
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for (index, write) in writes.iter().enumerate() {
            let (row, line) = self.wanted.row(partition, write)?;
            if write.condition == Condition::Absent && self.is_another(table, &row).await? {
                self.wanted.reject(line, "an entity with these keys already exists".into());
                return Ok(Applied::Rejected { index, reason: Reason::Exists });
            }
            rows.push(row);
            lines.push(line);
        }
        let version = rows.iter().map(|row| row.version).max().unwrap_or(Version(0));
        match self.engine.adopt(table, rows).await? {
            Adopted::Done => Ok(Applied::Done { version, updated: vec![None; lines.len()] }),
            Adopted::Rejected { index, reason } => {
                let line = lines.get(index).copied().unwrap_or_default();
                self.wanted.reject(line, describe(reason));
                Ok(Applied::Rejected { index, reason: Reason::Mismatch })
            }
        }
    }

    /// Is there another row with the same keys?
    async fn is_another(&self, table: TableId, row: &Row) -> Result<bool> {
        let found = self.engine.get(table, &row.partition, &[&row.row]).await?;
        Ok(found.into_iter().flatten().any(|found| found != *row))
    }
}

fn describe(reason: Unfit) -> String {
    let text = |version: Version| match DateTime::from_ticks(version.0) {
        Some(time) => time.iso().as_str().to_owned(),
        None => version.0.to_string(),
    };
    match reason {
        Unfit::Older(found) => format!(
            "the existing entity is newer ({}), and a Timestamp never decreases; remove this line, or import into another table",
            text(found)
        ),
        Unfit::Differs => {
            "the existing entity has the same Timestamp but different properties; both would have the same ETag"
                .into()
        }
        Unfit::Future(latest) => {
            format!("the Timestamp is in the future; the latest allowed Timestamp is {}", text(latest))
        }
    }
}

impl Layer for Dated {
    fn below(&self) -> &dyn Engine {
        &*self.engine
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        if table == TableId::SYSTEM {
            return self.engine.apply(table, partition, writes);
        }
        Box::pin(self.put(table, partition, writes))
    }
}
