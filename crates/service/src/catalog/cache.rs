//! The cached records of containers.
//!
//! A record is cached only if no change overlapped its look-up: a change is visible in the engine before the
//! replaced record is removed from the cache.

use std::collections::HashMap;
use std::sync::Arc;

use lazuli_model::Service;

use super::{Live, Name};
use crate::hash::NameMap;

/// Memory of the cached records. Beyond it the cache starts over.
pub const CACHE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Memory of a record besides its strings: its entry in the map, and its parts.
const RECORD_BYTES: usize = 256;
/// Memory of a stored access policy.
const POLICY_BYTES: usize = 256;

/// Home to lower-case name to container.
type Homes = NameMap<Box<str>, NameMap<Box<str>, Arc<Live>>>;

/// The cached records of containers.
#[derive(Default)]
pub struct Cache {
    services: [Homes; Service::ALL.len()],
    /// Memory of the records.
    bytes: usize,
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
        let bytes = cost(name, &live);
        if self.bytes.saturating_add(bytes) > CACHE_BYTES_MAX {
            self.clear();
        }
        let names = self.services[name.service.index()].entry(name.home.into()).or_default();
        self.bytes += bytes;
        if let Some(before) = names.insert(name.folded.into(), live) {
            self.bytes -= cost(name, &before);
        }
    }

    pub fn forget_all(&mut self) {
        self.changes += 1;
        self.clear();
    }

    /// Marks the start of a change of the container.
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
        if let Some(before) = names.and_then(|names| names.remove(name.folded)) {
            self.bytes -= cost(name, &before);
        }
    }

    fn clear(&mut self) {
        self.services.iter_mut().for_each(NameMap::clear);
        self.bytes = 0;
    }
}

/// The memory that a record takes in the cache.
fn cost(name: Name<'_>, live: &Live) -> usize {
    let record = &live.record;
    let policies: usize = record.policies.iter().map(|policy| policy.id.len() + POLICY_BYTES).sum();
    RECORD_BYTES + name.home.len() + name.folded.len() + record.name.len() + record.data.len() + policies
}

fn key(name: Name<'_>) -> (Service, Box<str>, Box<str>) {
    (name.service, name.home.into(), name.folded.into())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lazuli_engine::{TableId, Version};

    use super::*;
    use crate::record::ContainerRecord;
    use crate::slots::Slot;

    fn live(name: &str, bytes: usize) -> Arc<Live> {
        let record = ContainerRecord {
            id: TableId(1),
            more: Vec::new(),
            name: name.into(),
            policies: [].into(),
            data: Bytes::from(vec![0; bytes]),
        };
        Arc::new(Live { record, version: Version(1), slot: Slot::OTHER })
    }

    /// The cache counted containers, so that containers with large metadata could take a gigabyte.
    #[test]
    fn cached_containers_with_large_metadata_stay_within_the_bound() {
        let mut cache = Cache::default();
        let named = |folded| Name { service: Service::Blob, home: "home", folded };
        let names: Vec<String> = (0..10_000).map(|number| format!("container{number}")).collect();
        let mut largest = 0;
        for name in &names {
            cache.remember(named(name), live(name, 8 * 1024));
            largest = largest.max(cache.bytes);
            assert!(cache.bytes <= CACHE_BYTES_MAX && cache.get(named(name)).is_some());
        }
        assert!(largest > CACHE_BYTES_MAX / 2, "the bound was reached: {largest}");
        // The memory of everything that is removed is released.
        cache.remember(named("container9999"), live("container9999", 10));
        for name in &names {
            cache.forget(named(name));
        }
        assert_eq!(cache.bytes, 0);
    }
}
