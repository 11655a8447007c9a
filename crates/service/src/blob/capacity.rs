//! The size of an account's blobs, which Storage Analytics reports once a day.
//!
//! All blobs are read, page by page, so that memory is bounded. Concurrent changes may be counted or not.

use lazuli_model::blob::list::{BlobEntry, Include, ListBlobs, ListContainers, ListedState};
use lazuli_model::blob::{ContainerName, Outcome};
use lazuli_model::{ErrorCode, Failure};

use super::Blobs;
use crate::{Error, Result};

/// Containers or blobs per page.
const PAGE_MAX: u32 = 1000;

/// The contents of some containers, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of blobs, snapshots and versions.
    pub bytes: u64,
    /// Number of containers.
    pub containers: u64,
    /// Number of blobs, snapshots and versions, including blobs that have only uncommitted blocks.
    pub objects: u64,
}

/// The content of an account, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// In the containers of clients.
    pub data: Held,
    /// In the container of request logs.
    pub analytics: Held,
}

impl Blobs {
    /// The content of an account, as counts.
    pub async fn capacity(&self, home: &str) -> Result<Capacity> {
        let mut capacity = Capacity::default();
        let mut from = None;
        loop {
            let list = ListContainers {
                prefix: String::new(),
                from,
                max_results: PAGE_MAX,
                has_metadata: false,
                has_deleted: false,
                has_system: true,
            };
            let Outcome::Containers(page) = self.0.list_containers(home, list).await? else {
                return Ok(capacity);
            };
            for item in page.items {
                let Ok(name) = ContainerName::new(&item.name) else { continue };
                let held = if name.is_logs() { &mut capacity.analytics } else { &mut capacity.data };
                self.add_blobs(home, &name, held).await?;
            }
            from = page.next;
            if from.is_none() {
                return Ok(capacity);
            }
        }
    }

    async fn add_blobs(&self, home: &str, container: &ContainerName, held: &mut Held) -> Result<()> {
        let include = Include { snapshots: true, versions: true, uncommitted: true, ..Include::default() };
        held.containers += 1;
        let mut from = None;
        loop {
            let list = ListBlobs {
                prefix: String::new(),
                delimiter: None,
                from,
                start_from: None,
                end_before: None,
                max_results: PAGE_MAX,
                include,
            };
            let page = match self.0.list_blobs(home, container, list).await {
                Ok(Outcome::Blobs(page)) => page,
                // It was deleted meanwhile.
                Err(Error::Rejected(Failure { code: ErrorCode::ContainerNotFound, .. })) | Ok(_) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            for entry in page.entries {
                let BlobEntry::Blob(item) = entry else { continue };
                held.objects += 1;
                if let ListedState::Committed(properties) = item.state {
                    held.bytes = held.bytes.saturating_add(properties.size);
                }
            }
            from = page.next;
            if from.is_none() {
                return Ok(());
            }
        }
    }
}
