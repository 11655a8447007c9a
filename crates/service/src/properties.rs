//! The properties of the accounts' services: stored in the engine, cached here.
//!
//! Every request needs them, so they are cached. Properties that were replaced never stay in the cache.

use std::sync::{Arc, RwLock, RwLockWriteGuard};

use lazuli_engine::{Applied, Change, Condition, Engine, Row, TableId, Write};
use lazuli_model::properties::PropertiesUpdate;
use lazuli_model::{Service, ServiceProperties};

use crate::hash::NameMap;
use crate::record::{decode_properties, encode_properties};
use crate::{ATTEMPTS_MAX, Result, keyspace};

/// Maximum number of cached homes of each service. Beyond it the cache starts over.
const CACHED_MAX: usize = 10_000;

/// The properties of all accounts.
pub struct PropertyStore {
    engine: Arc<dyn Engine>,
    cache: RwLock<Cache>,
}

#[derive(Default)]
struct Cache {
    known: [NameMap<Box<str>, Arc<ServiceProperties>>; Service::ALL.len()],
    /// Counts changes, so that a look-up that overlaps a change does not cache its result.
    changes: u64,
}

impl PropertyStore {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, cache: RwLock::default() }
    }

    /// The properties of an account's service.
    pub async fn get(&self, service: Service, home: &str) -> Result<Arc<ServiceProperties>> {
        let changes = {
            let cache = self.cache.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(known) = cache.known[service.index()].get(home) {
                return Ok(known.clone());
            }
            cache.changes
        };
        let (_, properties) = self.read(service, home).await?;
        let properties = Arc::new(properties);
        let mut cache = self.locked();
        if cache.changes == changes {
            let known = &mut cache.known[service.index()];
            if known.len() >= CACHED_MAX {
                known.clear();
            }
            known.insert(home.into(), properties.clone());
        }
        Ok(properties)
    }

    /// Drops cached properties after another process has changed something.
    pub fn forget_all(&self) {
        let mut cache = self.locked();
        cache.changes += 1;
        cache.known.iter_mut().for_each(NameMap::clear);
    }

    /// Changes some of them.
    pub async fn update(&self, service: Service, home: &str, update: PropertiesUpdate) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            let (row, before) = self.read(service, home).await?;
            let condition = row.map_or(Condition::Absent, |row| Condition::Version(row.version));
            let change = Change::Put(encode_properties(&before.updated(update.clone())));
            if let Applied::Done { .. } = self.apply(service, home, condition, change).await? {
                return Ok(());
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Resets the properties of all services of an account to those of a new one.
    pub async fn reset(&self, home: &str) -> Result<()> {
        for service in Service::ALL {
            self.apply(service, home, Condition::Any, Change::Delete).await?;
        }
        Ok(())
    }

    async fn apply(
        &self,
        service: Service,
        home: &str,
        condition: Condition,
        change: Change,
    ) -> Result<Applied> {
        let row = keyspace::properties(home, service).into();
        let write = Write { row, condition, change };
        let applied = self.engine.apply(TableId::SYSTEM, keyspace::PROPERTIES, vec![write]).await;
        // Even if the outcome is unknown.
        let mut cache = self.locked();
        cache.changes += 1;
        cache.known[service.index()].remove(home);
        Ok(applied?)
    }

    async fn read(&self, service: Service, home: &str) -> Result<(Option<Row>, ServiceProperties)> {
        let row = keyspace::properties(home, service);
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
