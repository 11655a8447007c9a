//! The cached records of containers.
//!
//! A record is cached only if no change overlapped its look-up: a change is visible in the engine before its author
//! removes the replaced record from the cache.

use std::collections::HashMap;
use std::sync::Arc;

use lazuli_model::Service;

use super::{Live, Name};

/// Maximum number of cached containers. Beyond it the cache starts over.
const CACHED_MAX: usize = 100_000;

/// Home to lower-case name to container.
type Homes = HashMap<Box<str>, HashMap<Box<str>, Arc<Live>>>;

/// The cached records of containers.
#[derive(Default)]
pub struct Cache {
    services: [Homes; Service::ALL.len()],
    count: usize,
    changes: u64,
    /// Containers that are being changed, with the number of changes. They are not cached during the change.
    unsettled: HashMap<(Service, Box<str>, Box<str>), usize>,
}

impl Cache {
    /// Counts changes and deletions, so that a look-up that overlaps one does not cache its result.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    pub fn get(&self, name: Name<'_>) -> Option<&Arc<Live>> {
        self.services[name.service.index()].get(name.home)?.get(name.folded)
    }

    pub fn is_settled(&self, name: Name<'_>) -> bool {
        self.unsettled.is_empty() || !self.unsettled.contains_key(&key(name))
    }

    pub fn remember(&mut self, name: Name<'_>, live: Arc<Live>) {
        if self.count >= CACHED_MAX {
            self.clear();
        }
        let names = self.services[name.service.index()].entry(name.home.into()).or_default();
        if names.insert(name.folded.into(), live).is_none() {
            self.count += 1;
        }
    }

    pub fn forget_all(&mut self) {
        self.changes += 1;
        self.clear();
    }

    /// A change of the container begins.
    pub fn unsettle(&mut self, name: Name<'_>) {
        *self.unsettled.entry(key(name)).or_default() += 1;
        self.forget(name);
    }

    /// The change has ended.
    pub fn settle(&mut self, name: Name<'_>) {
        self.forget(name);
        let key = key(name);
        if let Some(count) = self.unsettled.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.unsettled.remove(&key);
            }
        }
    }

    fn forget(&mut self, name: Name<'_>) {
        self.changes += 1;
        let names = self.services[name.service.index()].get_mut(name.home);
        if names.and_then(|names| names.remove(name.folded)).is_some() {
            self.count -= 1;
        }
    }

    fn clear(&mut self) {
        self.services.iter_mut().for_each(HashMap::clear);
        self.count = 0;
    }
}

fn key(name: Name<'_>) -> (Service, Box<str>, Box<str>) {
    (name.service, name.home.into(), name.folded.into())
}
