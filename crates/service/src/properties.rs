//! The properties of the accounts' table services: kept in the engine, remembered here.
//!
//! Every request of a browser needs them, so they are cached; a change never leaves what it replaced behind.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use lazuli_engine::{Applied, Change, Condition, Engine, Row, TableId, Write};
use lazuli_model::ServiceProperties;
use lazuli_model::service::PropertiesUpdate;

use crate::record::{decode_properties, encode_properties};
use crate::{ATTEMPTS_MAX, Result, keyspace};

/// Accounts remembered at most; beyond it the cache starts over.
const CACHED_MAX: usize = 10_000;

/// The properties of all accounts.
pub struct PropertyStore {
    engine: Arc<dyn Engine>,
    cache: RwLock<Cache>,
}

#[derive(Default)]
struct Cache {
    known: HashMap<Box<str>, Arc<ServiceProperties>>,
    /// Counts changes, so that a look-up that overlaps one does not remember what it found.
    changes: u64,
}

impl PropertyStore {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, cache: RwLock::default() }
    }

    /// The properties of an account's table service.
    pub async fn get(&self, account: &str) -> Result<Arc<ServiceProperties>> {
        let changes = {
            let cache = self.cache.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(known) = cache.known.get(account) {
                return Ok(known.clone());
            }
            cache.changes
        };
        let (_, properties) = self.read(account).await?;
        let properties = Arc::new(properties);
        let mut cache = self.locked();
        if cache.changes == changes {
            if cache.known.len() >= CACHED_MAX {
                cache.known.clear();
            }
            cache.known.insert(account.into(), properties.clone());
        }
        Ok(properties)
    }

    /// Another process has changed something: what is remembered may be outdated.
    pub fn forget_all(&self) {
        let mut cache = self.locked();
        cache.changes += 1;
        cache.known.clear();
    }

    /// Changes some of them.
    pub async fn update(&self, account: &str, update: PropertiesUpdate) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            let (row, before) = self.read(account).await?;
            let condition = row.map_or(Condition::Absent, |row| Condition::Version(row.version));
            let change = Change::Put(encode_properties(&before.updated(update.clone())));
            if let Applied::Done { .. } = self.apply(account, condition, change).await? {
                return Ok(());
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Back to those of a new account.
    pub async fn reset(&self, account: &str) -> Result<()> {
        self.apply(account, Condition::Any, Change::Delete).await.map(|_| ())
    }

    async fn apply(&self, account: &str, condition: Condition, change: Change) -> Result<Applied> {
        let row = keyspace::table_properties(account).into();
        let write = Write { row, condition, change };
        let applied = self.engine.apply(TableId::SYSTEM, keyspace::PROPERTIES, vec![write]).await;
        // Also where the engine does not know what became of it.
        let mut cache = self.locked();
        cache.changes += 1;
        cache.known.remove(account);
        Ok(applied?)
    }

    async fn read(&self, account: &str) -> Result<(Option<Row>, ServiceProperties)> {
        let row = keyspace::table_properties(account);
        let found = self.engine.get(TableId::SYSTEM, keyspace::PROPERTIES, &[&row]).await?;
        match found.into_iter().next().flatten() {
            Some(row) => {
                let properties = decode_properties(&row.value)?;
                Ok((Some(row), properties))
            }
            None => Ok((None, ServiceProperties::default())),
        }
    }

    fn locked(&self) -> RwLockWriteGuard<'_, Cache> {
        self.cache.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
