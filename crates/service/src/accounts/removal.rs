//! The removal of an account.
//!
//! Nothing that was acknowledged may be lost: an account that has tables, queues or containers is not removed.
//! A client may create one in the meantime, so the removal first closes the account:
//!
//! 1. Mark the record of the account as closing.
//! 2. Put the row `closed` into each of its partitions. Every creation requires in its commit that this row
//!    does not exist.
//! 3. Look for containers. If there are any, open the account again.
//! 4. Delete the record, unless it was changed since step 1.
//!
//! Opening an account changes its record first, so a removal that is still in progress fails in step 4.
//! `closed` rows are deleted only if they have not changed since they were read, so those of a later removal
//! stay. The sweep opens accounts whose removal was interrupted, and deletes the rows that removed accounts
//! leave behind.

use lazuli_engine::{Applied, Change, Clock, Condition, Reason, Row, TableId, Version, Write};
use lazuli_model::Service;

use super::Accounts;
use crate::catalog::Name;
use crate::record::AccountRecord;
use crate::{ATTEMPTS_MAX, Result, keyspace, sweep};

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRemoval {
    /// The account is gone.
    Done,
    /// There is no account of that name.
    Missing,
    /// The account was not removed, because it has tables, queues or containers.
    InUse,
}

impl Accounts {
    /// Removes an account, unless it has tables, queues or containers.
    pub async fn remove(&self, name: &str) -> Result<AccountRemoval> {
        for _ in 0..ATTEMPTS_MAX {
            let Some((row, record)) = self.read(name).await? else { return Ok(AccountRemoval::Missing) };
            let home = keyspace::home(name, record.number);
            let closing = AccountRecord { is_closing: true, ..record }.encode();
            let condition = Condition::Version(row.version);
            let Applied::Done { version, .. } = self.put(name, condition, Change::Put(closing)).await? else {
                continue;
            };
            let closed = self.close(&home).await?;
            if self.has_containers(&home).await? {
                self.change(name, |record| record.is_closing = false).await?;
                self.open(&home, closed).await?;
                return Ok(AccountRemoval::InUse);
            }
            self.drop_own(&home).await?;
            match self.put(name, Condition::Version(version), Change::Delete).await? {
                Applied::Done { .. } => {
                    self.properties.reset(&home).await?;
                    self.catalog.dropped().announce();
                    return Ok(AccountRemoval::Done);
                }
                Applied::Rejected { reason: Reason::Missing, .. } => return Ok(AccountRemoval::Missing),
                // Changed in the meantime: another key, or another removal.
                Applied::Rejected { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Handles a row `closed` that the sweep has found. `true` if the row no longer exists.
    pub(crate) async fn settle(&self, row: &Row) -> Result<bool> {
        if !is_old(&self.clock, row.version) {
            return Ok(false);
        }
        let home = keyspace::home_of(&row.partition);
        let account = keyspace::account_of(home);
        if let Some((found, record)) = self.read(account).await?
            && keyspace::home(account, record.number) == home
            && record.is_closing
        {
            if !is_old(&self.clock, found.version) {
                return Ok(false);
            }
            let opened = AccountRecord { is_closing: false, ..record }.encode();
            let condition = Condition::Version(found.version);
            if !matches!(self.put(account, condition, Change::Put(opened)).await?, Applied::Done { .. }) {
                return Ok(false);
            }
        }
        self.delete_closed(&row.partition, row.version).await
    }

    /// Ensures that nothing can be created in this home from now on. Returns the versions of the rows that
    /// ensure this.
    async fn close(&self, home: &str) -> Result<Vec<(Service, Version)>> {
        let mut closed = Vec::new();
        for service in Service::ALL {
            let partition = keyspace::containers(service, home);
            let change = Change::Put(Default::default());
            let write = Write { row: keyspace::CLOSED.into(), condition: Condition::Any, change };
            if let Applied::Done { version, .. } =
                self.engine.apply(TableId::SYSTEM, &partition, vec![write]).await?
            {
                closed.push((service, version));
            }
        }
        Ok(closed)
    }

    async fn open(&self, home: &str, closed: Vec<(Service, Version)>) -> Result<()> {
        for (service, version) in closed {
            self.delete_closed(&keyspace::containers(service, home), version).await?;
        }
        Ok(())
    }

    async fn delete_closed(&self, partition: &str, version: Version) -> Result<bool> {
        let condition = Condition::Version(version);
        let write = Write { row: keyspace::CLOSED.into(), condition, change: Change::Delete };
        let applied = self.engine.apply(TableId::SYSTEM, partition, vec![write]).await?;
        Ok(matches!(applied, Applied::Done { .. }))
    }

    /// Drops the containers that the service created for itself.
    async fn drop_own(&self, home: &str) -> Result<()> {
        for service in Service::ALL {
            for folded in self.names(service, home, usize::MAX, keyspace::is_own).await? {
                self.catalog.delete(Name { service, home, folded: &folded }, |_| Ok(())).await?;
            }
        }
        Ok(())
    }
}

/// Is it so long ago that no request from that time is still in progress?
fn is_old(clock: &Clock, version: Version) -> bool {
    version.0.saturating_add(sweep::GRACE_TICKS) < clock.ticks()
}
