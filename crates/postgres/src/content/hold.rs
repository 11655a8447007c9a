//! Holds: while there is one, no front end frees content, so that a copy finds all content that its snapshot
//! refers to.
//!
//! A hold is a row of `lazuli_meta`, whose number its process increments with every renewal. Front ends look
//! for such rows before they free anything. The hold of a process that has ended is removed when a front end
//! has watched its row for ten minutes without a change (`watch.rs`), measured by its own monotonic clock.
//!
//! Why this suffices: the row is there before the snapshot is taken. A front end that looked for holds before
//! then frees only pieces that no blob referred to any more, as the snapshot shows. When the copy ends, it
//! checks its row again: a row that was removed is never inserted again under its name, so the row proves that
//! the hold never ended.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lazuli_engine::content::ContentHold;
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::time::Instant;
use tokio_postgres::types::Type;

use super::calls::Parameter;
use super::ledger::{StreamLedger, locked};
use super::watch::RenewalWatch;
use crate::outcome::Failure;

const BEGIN: &str = "INSERT INTO lazuli_meta (name, value) VALUES ($1, 1) ON CONFLICT (name) DO NOTHING";

const RENEW: &str = "UPDATE lazuli_meta SET value = value + 1 WHERE name = ANY($1)";

const ALL: &str = "SELECT name, value FROM lazuli_meta WHERE name LIKE 'hold %'";

const END: &str = "DELETE FROM lazuli_meta WHERE name = ANY($1)";

/// Ends the hold of another process, unless it was renewed.
const EXPIRE: &str = "DELETE FROM lazuli_meta WHERE name = $1 AND value = $2";

/// The holds of this process, and those of others that it watches.
#[derive(Default)]
pub struct HoldBook {
    count: AtomicU64,
    current: Mutex<HashSet<String>>,
    /// Holds that have ended, but whose rows are still to be removed.
    ended: Mutex<HashSet<String>>,
    watch: Mutex<RenewalWatch<String, i64>>,
}

/// A hold. Its row is removed some seconds after it is dropped.
struct RowHold {
    ledger: Arc<StreamLedger>,
    name: String,
}

impl ContentHold for RowHold {
    fn check(&self) -> EngineFuture<'_, ()> {
        Box::pin(async {
            match self.ledger.proven_holds().await?.contains_key(&self.name) {
                true => Ok(()),
                false => Err(Error::Unavailable(
                    "front ends may have removed content meanwhile, because this process did not respond for ten \
                     minutes; run the command again"
                        .into(),
                )),
            }
        })
    }

    fn is_shared(&self) -> bool {
        true
    }
}

impl Drop for RowHold {
    fn drop(&mut self) {
        let holds = &self.ledger.holds;
        if locked(&holds.current).remove(&self.name) {
            locked(&holds.ended).insert(self.name.clone());
        }
    }
}

impl StreamLedger {
    /// Starts a hold. When this returns, every front end that checks for holds finds it.
    pub(super) async fn begin_hold(self: Arc<Self>) -> Result<Box<dyn ContentHold>> {
        let number = self.holds.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("hold {} {number}", self.core().holder);
        locked(&self.holds.current).insert(name.clone());
        // Register it before the statement: if the caller gives up, the row is removed.
        let hold = RowHold { ledger: self, name };
        hold.ledger.call(BEGIN, &[(&hold.name, Type::TEXT)]).await?;
        Ok(Box::new(hold))
    }

    /// Renews the holds of this process, removes those that have ended, and those of processes that no longer
    /// exist.
    pub async fn keep_holds(&self, now: Instant) -> Result<()> {
        let current: Vec<String> = locked(&self.holds.current).iter().cloned().collect();
        if !current.is_empty() {
            self.call(RENEW, &[(&current, Type::TEXT_ARRAY)]).await?;
        }
        self.remove_ended().await?;
        let mut others = self.all_holds().await?;
        others.retain(|name, _| !current.contains(name));
        let gone = locked(&self.holds.watch).observe(others, now);
        for (name, value) in gone {
            tracing::warn!("a copy has ended without releasing its hold on content");
            let parameters: [Parameter<'_>; 2] = [(&name, Type::TEXT), (&value, Type::INT8)];
            self.call(EXPIRE, &parameters).await?;
        }
        Ok(())
    }

    /// Ends all holds of this process.
    pub(super) async fn end_all_holds(&self) -> Result<()> {
        let current = std::mem::take(&mut *locked(&self.holds.current));
        locked(&self.holds.ended).extend(current);
        self.remove_ended().await
    }

    async fn remove_ended(&self) -> Result<()> {
        let ended: Vec<String> = locked(&self.holds.ended).iter().cloned().collect();
        if !ended.is_empty() {
            self.call(END, &[(&ended, Type::TEXT_ARRAY)]).await?;
            locked(&self.holds.ended).retain(|name| !ended.contains(name));
        }
        Ok(())
    }

    /// All holds, each with its number.
    async fn all_holds(&self) -> Result<HashMap<String, i64>> {
        let rows = self.call(ALL, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// All holds, from a server that has not been replaced: a replaced one may lack the latest.
    pub(super) async fn proven_holds(&self) -> Result<HashMap<String, i64>> {
        let pool = &self.core().pool;
        let epoch = pool.epoch();
        let found = self.all_holds().await?;
        let instance = pool.instance().await.map_err(Failure::of_read)?;
        self.core().prove(&instance, true).await.map_err(Failure::of_read)?;
        match pool.epoch() == epoch {
            true => Ok(found),
            false => Err(Error::Unavailable("another database server has taken over".into())),
        }
    }
}
