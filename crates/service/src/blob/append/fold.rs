//! Folding: moves the tail of an append blob to a run that never changes again.
//!
//! The append that finds the tail full folds it. The append is durable before that, so a failed fold does no
//! harm: the next append tries again. Appends continue during a fold; only a tail that is far too long blocks
//! them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::BytesMut;
use lazuli_engine::{Change, Condition, Write};
use tokio::sync::Mutex;

use super::run;
use super::tail::{Cut, Fill, Tail};
use crate::blob::blocks::slice;
use crate::blob::commit::{Decided, Step, insert};
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, Generation, KeySlot};
use crate::blob::record::Head;
use crate::blob::segment::SegmentPart;
use crate::blob::upload::Loose;
use crate::{Error, Result};

/// Maximum number of concurrent folds in this process.
const FOLDS_MAX: usize = 64;

/// Allows only one fold of a blob at a time.
pub struct Folds([Mutex<()>; FOLDS_MAX]);

impl Default for Folds {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Folds {
    fn of(&self, at: &At) -> &Mutex<()> {
        let mut hasher = DefaultHasher::new();
        at.hash(&mut hasher);
        &self.0[(hasher.finish() % FOLDS_MAX as u64) as usize]
    }
}

impl Core {
    /// Folds the tail if it is full and no other task is folding it. If the tail is far too long, waits for the
    /// fold.
    pub(super) async fn fold_if_due(&self, at: &At, generation: Generation, fill: Fill) {
        let permit = match fill {
            Fill::Room => None,
            Fill::Due => self.folds.of(at).try_lock().ok(),
            Fill::Urgent => Some(self.folds.of(at).lock().await),
        };
        if permit.is_some() {
            // The append is durable even if this fails.
            let _ = self.fold(at, generation).await;
        }
    }

    /// Folds the tail if it is still full.
    async fn fold(&self, at: &At, generation: Generation) -> Result<()> {
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        let row = self.row(at, &keyspace::named(generation, KeySlot::TAIL)).await?;
        let Some(tail) = row.and_then(|row| Tail::decode(row.value)) else { return Ok(()) };
        if tail.fill(self.content.inline_max()) == Fill::Room {
            return Ok(());
        }
        let (start, length) = (tail.start, tail.length());
        let (parts, mut loose) = self.join_small(at, tail.parts).await?;
        if let Some(loose) = &mut loose {
            loose.committing(self.clock().ticks());
        }
        let folded = run(start, parts).encode();
        let end = KeySlot::Run(start.saturating_add(length));
        let writes = vec![
            insert(keyspace::named(generation, end), folded),
            Write {
                row: keyspace::named(generation, KeySlot::TAIL).into(),
                condition: Condition::Exists,
                change: Change::Update(Arc::new(Cut { start, length })),
            },
        ];
        let rule = move |head: Option<Head>, _| {
            let blob = head.and_then(|head| head.blob);
            if blob.and_then(|blob| blob.content.generation()) != Some(generation) {
                return Err(lazuli_engine::Error::Conflict.into());
            }
            Ok((Step::Keep, ()))
        };
        let decided = self.decide(at, rule, writes).await;
        drop(pin);
        settle(loose, &decided);
        decided.map(drop)
    }

    /// Moves small appends into one upload, if they are too large for a row.
    async fn join_small(
        &self,
        at: &At,
        mut parts: Vec<SegmentPart>,
    ) -> Result<(Vec<SegmentPart>, Option<Loose>)> {
        let mut all = BytesMut::new();
        for part in &parts {
            if let SegmentPart::Bytes(bytes) = part {
                all.extend_from_slice(bytes);
            }
        }
        if all.len() <= self.content.inline_max() {
            return Ok((parts, None));
        }
        let mut writer = self.content.begin(Some(all.len() as u64), None);
        writer.write(all.freeze()).await?;
        let loose = self.loose(at, writer.seal().await?);
        let mut offset = 0;
        let mut joined = Vec::with_capacity(parts.len());
        for part in parts.drain(..) {
            match part {
                SegmentPart::Bytes(bytes) => {
                    joined.extend(slice(loose.pieces(), offset, bytes.len() as u64));
                    offset += bytes.len() as u64;
                }
                part => joined.push(part),
            }
        }
        Ok((joined, Some(loose)))
    }
}

/// Reports the outcome of the commit that refers to an upload.
fn settle(loose: Option<Loose>, decided: &Result<Decided<()>>) {
    let Some(mut loose) = loose else { return };
    match decided {
        Ok(Decided::Done(())) => loose.named(),
        Ok(Decided::Rejected) | Err(Error::Rejected(_) | Error::Engine(lazuli_engine::Error::Conflict)) => {
            loose.rejected();
        }
        Err(Error::Engine(_)) => {}
    }
}
