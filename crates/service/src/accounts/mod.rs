//! The accounts stored in the engine, with their keys.
//!
//! Each account has a home, a key prefix for its records, so an account never sees the containers of an earlier
//! account of the same name. Accounts that were created by an earlier version have their name as their home.

mod removal;

use std::sync::Arc;

use lazuli_engine::{
    Applied, Change, Clock, Condition, Engine, KeyRange, Row, RowView, Scan, TableId, Verdict, Write,
};
use lazuli_model::Service;

use crate::catalog::Catalog;
use crate::properties::PropertyStore;
use crate::record::AccountRecord;
use crate::{ATTEMPTS_MAX, Result, keyspace};
pub use removal::AccountRemoval;

/// Length of a new key in bytes (DM-02 requires 32; Azure uses 64).
pub const KEY_BYTES: usize = 64;
/// Minimum length of a key (DM-02).
pub const KEY_BYTES_MIN: usize = 32;
const _: () = assert!(KEY_BYTES_MIN <= KEY_BYTES);

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The prefix of its records: see [`crate::Grant::home`].
    pub home: String,
    /// Its two keys.
    pub keys: [Vec<u8>; 2],
    /// The time of its creation, in ticks.
    pub created: u64,
    /// Requests over plain HTTP are rejected.
    pub https_only: bool,
}

/// Is this a name that an account can have: 3 to 24 lower-case letters and digits?
pub fn is_account_name(name: &str) -> bool {
    (3..=24).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// The accounts stored in the engine.
pub struct Accounts {
    engine: Arc<dyn Engine>,
    clock: Clock,
    catalog: Arc<Catalog>,
    properties: Arc<PropertyStore>,
}

impl Accounts {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        clock: Clock,
        catalog: Arc<Catalog>,
        properties: Arc<PropertyStore>,
    ) -> Self {
        Self { engine, clock, catalog, properties }
    }

    /// All accounts, in the order of their names.
    pub async fn list(&self) -> Result<Vec<Account>> {
        let scan = Scan {
            table: TableId::SYSTEM,
            ranges: vec![KeyRange::partition(keyspace::ACCOUNTS)],
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            judge: Box::new(|_| Ok(Verdict::Keep)),
        };
        let page = self.engine.scan(scan).await?;
        page.rows
            .into_iter()
            .map(|row| {
                let record = AccountRecord::decode(&row.value)?;
                let home = keyspace::home(&row.row, record.number);
                let AccountRecord { keys, created, https_only, .. } = record;
                Ok(Account { name: row.row.into(), home, keys, created, https_only })
            })
            .collect()
    }

    /// Creates an account; `false` if the name is taken.
    pub async fn add(&self, name: &str, keys: [Vec<u8>; 2], https_only: bool) -> Result<bool> {
        // A static account has its name as its home. If the operator creates it in the engine, it keeps its
        // containers.
        let number =
            if self.has_containers(name).await? { None } else { Some(self.engine.fresh_table().await?.0) };
        let created = self.clock.ticks();
        let record = AccountRecord { keys, created, https_only, number, is_closing: false };
        let applied = self.put(name, Condition::Absent, Change::Put(record.encode())).await?;
        Ok(matches!(applied, Applied::Done { .. }))
    }

    /// Replaces the first (0) or second (1) key of an account; `false` if there is no such account.
    pub async fn set_key(&self, name: &str, which: usize, key: Vec<u8>) -> Result<bool> {
        self.change(name, |record| record.keys[which.min(1)].clone_from(&key)).await
    }

    /// Sets whether requests over plain HTTP are rejected; `false` if there is no such account.
    pub async fn set_https_only(&self, name: &str, https_only: bool) -> Result<bool> {
        self.change(name, |record| record.https_only = https_only).await
    }

    async fn change(&self, name: &str, change: impl Fn(&mut AccountRecord)) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let Some((row, mut record)) = self.read(name).await? else { return Ok(false) };
            change(&mut record);
            let condition = Condition::Version(row.version);
            if let Applied::Done { .. } = self.put(name, condition, Change::Put(record.encode())).await? {
                return Ok(true);
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Does this home have tables, queues or containers, apart from those of the service itself?
    async fn has_containers(&self, home: &str) -> Result<bool> {
        let is_of_client = |service, name: &str| !keyspace::is_own(service, name);
        for service in Service::ALL {
            if !self.names(service, home, 1, is_of_client).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The lower-case names of the requested containers.
    async fn names(
        &self,
        service: Service,
        home: &str,
        rows_max: usize,
        is_wanted: fn(Service, &str) -> bool,
    ) -> Result<Vec<String>> {
        let judge = move |row: RowView<'_>| {
            let is_wanted = keyspace::name_of(row.row).is_some_and(|name| is_wanted(service, name));
            Ok(if is_wanted { Verdict::Keep } else { Verdict::Skip })
        };
        let scan = Scan {
            table: TableId::SYSTEM,
            ranges: keyspace::live_between(service, home, "", None).into_iter().collect(),
            rows_max,
            bytes_max: usize::MAX,
            judge: Box::new(judge),
        };
        let rows = self.engine.scan(scan).await?.rows;
        Ok(rows.iter().filter_map(|row| keyspace::name_of(&row.row)).map(str::to_owned).collect())
    }

    async fn read(&self, name: &str) -> Result<Option<(Row, AccountRecord)>> {
        let found = self.engine.get(TableId::SYSTEM, keyspace::ACCOUNTS, &[name]).await?;
        let Some(row) = found.into_iter().next().flatten() else { return Ok(None) };
        let record = AccountRecord::decode(&row.value)?;
        Ok(Some((row, record)))
    }

    async fn put(&self, name: &str, condition: Condition, change: Change) -> Result<Applied> {
        let write = Write { row: name.into(), condition, change };
        Ok(self.engine.apply(TableId::SYSTEM, keyspace::ACCOUNTS, vec![write]).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["abc", "devstoreaccount1", "a23456789012345678901234"] {
            assert!(is_account_name(good), "{good}");
        }
        for bad in ["", "ab", "Abc", "a-b", "a2345678901234567890123456", "acc\u{e9}"] {
            assert!(!is_account_name(bad), "{bad}");
        }
    }
}
