//! The rules of the Blob service: containers, blobs, blocks, snapshots, leases and copies as rows and content.
//!
//! | what | where |
//! |---|---|
//! | row keys, records | `keyspace`, `record/`, `segment`, `codec` |
//! | commits that decide based on the current state | `commit`, `guard` |
//! | content in use, content to reclaim | `pins`, `todo`, `sweep/` |
//! | tags and their index | `tags/` |
//! | deleted states that can be restored, versions | `keep/` |
//! | containers that cannot be deleted because of their blobs | `held` |
//! | events | `event/` |
//! | last access times | `access_time` |
//! | request logs written by the server, and the size of an account | `logs`, `append/log`, `capacity` |
//! | operations | `container`, `put`, `blocks/`, `append/`, `page/`, `read`, `reader`, `list/`, `lease`, `snapshot`, `protect`, `delete`, `copy/` |
//!
//! Invariants:
//! - Content is durable before a row refers to it. A head refers to a generation; the pieces of a generation
//!   are in rows that no update overwrites.
//! - A commit that refers to a generation writes its rows or requires that they exist.
//! - Every piece belongs to one blob. Generations, snapshots and blocks of that blob may share it.
//! - The sweep first makes content unreferenceable, then releases it, then removes the rows. Each step may be
//!   repeated after a crash.

mod access_time;
mod append;
mod blocks;
mod capacity;
mod checked;
mod codec;
mod commit;
mod container;
mod copy;
mod core;
mod delete;
mod encryption;
mod event;
mod guard;
mod hashing;
mod held;
mod keep;
mod keyspace;
mod lease;
mod list;
mod logs;
mod metrics;
pub mod names;
mod naming;
mod order;
mod page;
mod pins;
mod protect;
mod put;
mod read;
mod reader;
mod record;
mod segment;
mod snapshot;
mod sweep;
mod tags;
mod todo;
mod upload;

use std::sync::Arc;

use lazuli_digest::Lanes;
use lazuli_engine::Metric;
use lazuli_engine::content::Content;
use lazuli_model::blob::container::PublicAccess;
use lazuli_model::blob::operation::{BlobAction, BlobRequest, Operation};
use lazuli_model::blob::outcome::AccountInformation;
use lazuli_model::blob::{ContainerName, Outcome};
use lazuli_model::{ErrorCode, Service};

pub use access_time::Accesses;
pub use append::Annotate;
pub use capacity::{Capacity, Held};
#[doc(hidden)]
pub use checked::check_records;
pub use copy::{Copies, Fetch, Opener, Opening, Remote, Supply};
pub use core::{BlobOptions, EnabledFor};
pub use event::{EventBatch, Events};
pub use logs::LogPage;
pub(crate) use naming::{Holds, pieces_of};
pub use reader::BlobReader;
pub use sweep::Reclaim;
pub use todo::TODO_BYTES_MAX;

use crate::access::{Authorized, DetachedOperation};
use crate::{Grant, Result, Services};
use core::Core;
use event::Outbox;

/// Checks a row of the first table of a container. Returns 1 if it is the head of a committed blob, else 0.
pub fn check_row(row: lazuli_engine::RowView<'_>) -> std::result::Result<u64, String> {
    if row.row != keyspace::HEAD {
        return Ok(0);
    }
    let head =
        record::Head::decode(&bytes::Bytes::copy_from_slice(row.value)).map_err(|error| error.to_string())?;
    Ok(u64::from(head.blob.is_some()))
}
use guard::Guard;

/// The Blob service over a storage engine and a content store.
#[derive(Clone)]
pub struct Blobs(Arc<Core>);

impl Blobs {
    /// A blob service with the catalog and the properties of `service`.
    pub fn new(service: Arc<Services>, content: Arc<dyn Content>, options: BlobOptions) -> Self {
        Self(Arc::new(Core {
            service,
            content,
            pins: Default::default(),
            todo: Default::default(),
            counters: Default::default(),
            folds: Default::default(),
            appends: Default::default(),
            quotas: Default::default(),
            lanes: Arc::new(Lanes::of(std::thread::available_parallelism().map_or(1, usize::from))),
            hashes: Default::default(),
            reads: Default::default(),
            outbox: Outbox::new(options.events.clone()),
            options,
        }))
    }

    /// Executes an operation. The reader returns the content.
    pub fn execute(
        &self,
        authorized: Authorized<'_, Operation>,
        supply: Supply<'_>,
    ) -> impl Future<Output = Result<(Outcome, Option<BlobReader>)>> {
        let (grant, operation) = authorized.into_parts();
        self.run(grant, operation, supply)
    }

    /// Executes an operation without content in a separate task.
    pub async fn execute_detached(&self, detached: DetachedOperation<Operation>) -> Result<Outcome> {
        let (grant, operation) = detached.into_parts();
        self.run(&grant, operation, Supply::Nothing).await.map(|(outcome, _)| outcome)
    }

    async fn run(
        &self,
        grant: &Grant,
        operation: Operation,
        supply: Supply<'_>,
    ) -> Result<(Outcome, Option<BlobReader>)> {
        let core = &self.0;
        let home = grant.home.as_str();
        let outcome = match operation {
            // The futures of operations are large and would be part of each caller's future, so they are boxed.
            Operation::Blob(request) => return Box::pin(self.on_blob(grant, *request, supply)).await,
            Operation::Container(request) => Box::pin(core.on_container(grant, *request)).await?,
            Operation::ListContainers(list) => core.list_containers(home, list).await?,
            Operation::GetProperties => {
                Outcome::Properties(core.service.properties(Service::Blob, home).await?)
            }
            Operation::SetProperties(update) => {
                core.service.properties.update(Service::Blob, home, *update).await?;
                Outcome::PropertiesSet
            }
            Operation::GetStats => Outcome::Stats,
            Operation::GetAccountInformation(_) => Outcome::AccountInformation(AccountInformation::default()),
            // The server has the secret that keys are derived from.
            Operation::GetUserDelegationKey(_) => return Err(ErrorCode::NotImplemented.into()),
            Operation::FindBlobs(container, find) => {
                Box::pin(core.find_blobs(home, container, *find)).await?
            }
        };
        Ok((outcome, None))
    }

    async fn on_blob(
        &self,
        grant: &Grant,
        mut request: BlobRequest,
        supply: Supply<'_>,
    ) -> Result<(Outcome, Option<BlobReader>)> {
        let core = &self.0;
        core.settle_scope(grant, &mut request).await?;
        if held::protects(&request.action) {
            core.expect_protection(&grant.home, &request.container).await?;
        }
        let action = std::mem::replace(&mut request.action, BlobAction::GetProperties);
        let outcome = match (action, supply) {
            (BlobAction::Get(get), _) => {
                let (outcome, reader) = Box::pin(core.get_blob(grant, request, get)).await?;
                return Ok((outcome, Some(reader)));
            }
            (BlobAction::GetProperties, _) => Box::pin(core.get_properties(grant, request)).await?,
            (BlobAction::GetMetadata, _) => Box::pin(core.get_metadata(grant, request)).await?,
            (BlobAction::GetTags, _) => Box::pin(core.get_tags(grant, request)).await?,
            (BlobAction::GetBlockList(filter), _) => {
                Box::pin(core.get_block_list(grant, request, filter)).await?
            }
            (BlobAction::PutBlob(body, settings), Supply::Body(source)) => {
                Box::pin(core.put_blob(grant, request, body, *settings, source)).await?
            }
            (BlobAction::PutBlobFromUrl(put), supply) => {
                Box::pin(core.put_blob_from_url(grant, request, *put, supply)).await?
            }
            (BlobAction::PutBlock(id, body), Supply::Body(source)) => {
                Box::pin(core.put_block(grant, request, id, body, source)).await?
            }
            (BlobAction::PutBlockFromUrl(id, source, digests), supply) => {
                Box::pin(core.put_block_from_url(grant, request, id, *source, digests, supply)).await?
            }
            (BlobAction::PutBlockList(list, settings), _) => {
                Box::pin(core.put_block_list(grant, request, list, *settings)).await?
            }
            (BlobAction::Copy(copy), supply) => {
                Box::pin(core.copy_blob(grant, request, *copy, supply)).await?
            }
            (BlobAction::CreateAppend(settings), _) => {
                Box::pin(core.create_append(grant, request, *settings)).await?
            }
            (BlobAction::AppendBlock(body, conditions), Supply::Body(source)) => {
                Box::pin(core.append_block(grant, request, body, conditions, source)).await?
            }
            (BlobAction::AppendBlockFromUrl(source, digests, conditions), supply) => {
                Box::pin(core.append_from_url(grant, request, *source, digests, conditions, supply)).await?
            }
            (BlobAction::GetPageRanges(get), _) => {
                Box::pin(core.get_page_ranges(grant, request, get)).await?
            }
            (BlobAction::CreatePage { size, sequence, settings }, _) => {
                Box::pin(core.create_page(grant, request, (size, sequence), *settings)).await?
            }
            (BlobAction::PutPage(span, body, sequence), Supply::Body(source)) => {
                Box::pin(core.put_page(grant, request, span, body, sequence, source)).await?
            }
            (BlobAction::PutPageFromUrl(span, source, digests, sequence), supply) => {
                Box::pin(core.put_page_from_url(grant, request, (span, sequence), *source, digests, supply))
                    .await?
            }
            (BlobAction::IncrementalCopy(source), supply) => {
                Box::pin(core.incremental_copy(grant, request, *source, supply)).await?
            }
            (BlobAction::Delete { snapshots, is_permanent }, _) => {
                Box::pin(core.delete(grant, request, snapshots, is_permanent)).await?
            }
            (action, _) => Box::pin(self.change_blob(grant, request, action)).await?,
        };
        Ok((outcome, None))
    }

    /// Operations that need one commit of the head and no content.
    async fn change_blob(&self, grant: &Grant, request: BlobRequest, action: BlobAction) -> Result<Outcome> {
        let core = &self.0;
        let at = core.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::of(&request, core.clock());
        let which = request.revision;
        match action {
            BlobAction::SetProperties(change) => Box::pin(core.set_properties(&at, guard, *change)).await,
            BlobAction::SetMetadata(metadata) => Box::pin(core.set_metadata(&at, guard, metadata)).await,
            BlobAction::SetTags(tags) => Box::pin(core.set_tags(&at, guard, which, tags)).await,
            BlobAction::SetTier(tier, priority) => {
                Box::pin(core.set_tier(&at, guard, which, tier, priority)).await
            }
            BlobAction::SetImmutability(policy) => {
                Box::pin(core.set_immutability(&at, guard, which, policy)).await
            }
            BlobAction::DeleteImmutability => Box::pin(core.delete_immutability(&at, guard, which)).await,
            BlobAction::SetLegalHold(has_hold) => {
                Box::pin(core.set_legal_hold(&at, guard, which, has_hold)).await
            }
            BlobAction::Lease(action) => Box::pin(core.lease(&at, guard, action)).await,
            BlobAction::Snapshot(metadata) => Box::pin(core.snapshot(&at, guard, metadata)).await,
            BlobAction::AbortCopy(id) => Box::pin(core.abort_copy(&at, guard, id)).await,
            BlobAction::Undelete => Box::pin(core.undelete(&at)).await,
            // Only accounts with a hierarchical namespace support this.
            BlobAction::SetExpiry(_) => Err(ErrorCode::HierarchicalNamespaceNotEnabled.into()),
            BlobAction::ClearPage(span, sequence) => {
                Box::pin(core.clear_page(&at, guard, span, sequence)).await
            }
            BlobAction::Seal(conditions) => Box::pin(core.seal(&at, guard, conditions)).await,
            _ => Err(ErrorCode::NotImplemented.into()),
        }
    }

    /// The level of anonymous access to a container; none if there is no such container.
    pub async fn public_access(&self, home: &str, container: &ContainerName) -> Result<PublicAccess> {
        self.0.public_access(home, container).await
    }

    /// The background task that copies large blobs within this server.
    pub fn copies(&self) -> Copies {
        Copies::new(self.0.clone(), false)
    }

    /// The background task that copies large blobs from other servers.
    pub fn remote_copies(&self) -> Copies {
        Copies::new(self.0.clone(), true)
    }

    /// The background task that records when blobs were read.
    pub fn accesses(&self) -> Accesses {
        Accesses::new(self.0.clone())
    }

    /// The events that wait for delivery, starting with the first lane; `None` if events are disabled.
    pub fn events(&self) -> Option<Events> {
        Events::new(self.0.clone())
    }

    /// The background task that reclaims unused content.
    pub fn reclaim(&self) -> Reclaim {
        Reclaim::new(self.0.clone())
    }

    /// Metrics of the service.
    pub fn metrics(&self) -> Vec<Metric> {
        self.0.metrics()
    }
}
