//! Operations on containers.
//!
//! A container is a record of the catalog. Its ETag is a separate number, because a lease operation changes the
//! record but not the ETag.

use lazuli_engine::{TableId, Verdict};
use lazuli_model::blob::condition::{Facts, Purpose};
use lazuli_model::blob::container::{ContainerAction, ContainerProperties, ContainerRequest, PublicAccess};
use lazuli_model::blob::lease::{self, LeaseState, LeaseView, Leased, Use};
use lazuli_model::blob::list::{ContainerItem, ContainerPage, ListContainers};
use lazuli_model::blob::{Conditions, ContainerName, Lease, Outcome, Stamp, Tags};
use lazuli_model::policy::SignedIdentifier;
use lazuli_model::{ErrorCode, Failure, Guid, Service};

use super::commit::is_conflict;
use super::core::{Core, name_of, tables_of};
use super::held::Cleared;
use super::keep::{ATTEMPTS_MAX, DAY_TICKS};
use super::keyspace::TABLES;
use super::order::{after_prefix, compare};
use super::record::{ContainerData, Deleted, stamp};
use crate::catalog::{Created, Edit, Live, NewContainer, Restored};
use crate::record::KeptRecord;
use crate::{Grant, Result, keyspace};

/// The part of a request that determines whether it is accepted.
struct ContainerGuard {
    lease: Option<Guid>,
    conditions: Conditions,
}

impl Core {
    /// An operation on a container other than listing its blobs.
    pub async fn on_container(&self, grant: &Grant, request: ContainerRequest) -> Result<Outcome> {
        let ContainerRequest { container, lease, conditions, action } = request;
        let guard = ContainerGuard { lease, conditions };
        let home = grant.home.as_str();
        match action {
            ContainerAction::Create { metadata, public_access, scope } => {
                let data = ContainerData {
                    changed: self.clock().ticks(),
                    public_access,
                    metadata,
                    lease: None,
                    scope,
                    may_hold: false,
                };
                self.create_container(home, &container, data).await
            }
            ContainerAction::GetProperties => {
                let data = self.read_container(home, &container, &guard).await?.1;
                Ok(Outcome::Container(Box::new(self.container_properties(data))))
            }
            ContainerAction::GetMetadata => {
                let data = self.read_container(home, &container, &guard).await?.1;
                Ok(Outcome::ContainerMetadata(stamp(data.changed), data.metadata))
            }
            ContainerAction::GetAcl => {
                let (live, data) = self.read_container(home, &container, &guard).await?;
                let policies = live.record.policies.to_vec();
                Ok(Outcome::ContainerAcl(stamp(data.changed), data.public_access, policies))
            }
            ContainerAction::SetMetadata(metadata) => {
                let change = |data: &mut ContainerData| data.metadata = metadata.clone();
                self.update_container(home, &container, &guard, None, change).await
            }
            ContainerAction::SetAcl { public_access, policies } => {
                let change = |data: &mut ContainerData| data.public_access = public_access;
                self.update_container(home, &container, &guard, Some(policies), change).await
            }
            ContainerAction::Lease(action) => self.lease_container(home, &container, &guard, action).await,
            ContainerAction::Delete => self.delete_container(home, &container, &guard).await,
            ContainerAction::Restore { deleted_name, deleted_version } => {
                self.restore_container(home, &container, &deleted_name, &deleted_version).await
            }
            ContainerAction::ListBlobs(list) => self.list_blobs(home, &container, *list).await,
        }
    }

    async fn create_container(
        &self,
        home: &str,
        container: &ContainerName,
        data: ContainerData,
    ) -> Result<Outcome> {
        let draft = NewContainer { name: container.as_str().to_owned(), tables: TABLES, data: data.encode() };
        match self.service.catalog.create(name_of(home, container), draft).await? {
            Created::Done(_) => Ok(Outcome::ContainerCreated(stamp(data.changed))),
            Created::Exists => Err(ErrorCode::ContainerAlreadyExists.into()),
            Created::Blocked => Err(ErrorCode::ContainerBeingDeleted.into()),
        }
    }

    /// Checks a read of a container: a lease id in the request must be that of the active lease.
    async fn read_container(
        &self,
        home: &str,
        container: &ContainerName,
        guard: &ContainerGuard,
    ) -> Result<(std::sync::Arc<Live>, ContainerData)> {
        let live = self.container(home, container).await?;
        let data = ContainerData::decode(&live.record.data)?;
        lease::check(Leased::Container, data.lease.as_ref(), Use::Read, guard.lease, self.now())?;
        Ok((live, data))
    }

    async fn update_container(
        &self,
        home: &str,
        container: &ContainerName,
        guard: &ContainerGuard,
        policies: Option<Vec<SignedIdentifier>>,
        change: impl Fn(&mut ContainerData),
    ) -> Result<Outcome> {
        let updated = self.edit_container(home, container, |live, data| {
            self.may_use(guard, data, Use::Read)?;
            change(data);
            data.changed = self.clock().ticks().max(data.changed + 1);
            if let Some(policies) = &policies {
                live.record.policies = policies.clone().into();
            }
            Ok(Outcome::ContainerUpdated(stamp(data.changed)))
        });
        updated.await
    }

    /// LS-10: leases of containers protect against deletion only.
    async fn lease_container(
        &self,
        home: &str,
        container: &ContainerName,
        guard: &ContainerGuard,
        action: lease::LeaseAction,
    ) -> Result<Outcome> {
        let fresh = self.fresh_id();
        let leased = self.edit_container(home, container, |_, data| {
            meets(guard, data)?;
            let (lease, reply) =
                lease::apply(Leased::Container, data.lease.as_ref(), &action, self.now(), fresh)?;
            data.lease = lease;
            Ok(Outcome::Leased(stamp(data.changed), reply))
        });
        leased.await
    }

    async fn delete_container(
        &self,
        home: &str,
        container: &ContainerName,
        guard: &ContainerGuard,
    ) -> Result<Outcome> {
        let (catalog, name) = (&self.service.catalog, name_of(home, container));
        let mut cleared = Cleared::default();
        for _ in 0..ATTEMPTS_MAX {
            let check = |live: &Live| {
                let data = ContainerData::decode(&live.record.data)?;
                self.may_use(guard, &data, Use::Write)?;
                cleared.check(live, &data, tables_of(live)?)
            };
            let deleted = match self.options.container_days {
                0 => catalog.delete(name, check).await,
                days => {
                    let until = self.clock().ticks() + u64::from(days) * DAY_TICKS;
                    catalog.delete_kept(name, until, check).await
                }
            };
            if is_conflict(&deleted) && self.clear(&mut cleared).await? {
                continue;
            }
            return if deleted? {
                Ok(Outcome::ContainerDeleted)
            } else {
                Err(ErrorCode::ContainerNotFound.into())
            };
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Restore Container.
    async fn restore_container(
        &self,
        home: &str,
        container: &ContainerName,
        deleted: &ContainerName,
        version: &str,
    ) -> Result<Outcome> {
        let id = u64::from_str_radix(version, 16).map_err(|_| ErrorCode::ContainerNotFound)?;
        let name = name_of(home, container);
        match self.service.catalog.restore(name, deleted.as_str(), TableId(id)).await? {
            Restored::Done => Ok(Outcome::ContainerRestored),
            Restored::Missing => Err(ErrorCode::ContainerNotFound.into()),
            Restored::Exists => Err(ErrorCode::ContainerAlreadyExists.into()),
        }
    }

    async fn edit_container(
        &self,
        home: &str,
        container: &ContainerName,
        change: impl Fn(&mut Live, &mut ContainerData) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let edited = self.service.catalog.edit(name_of(home, container), |live| {
            let mut live = live.clone();
            let mut data = ContainerData::decode(&live.record.data)?;
            let result = change(&mut live, &mut data)?;
            live.record.data = data.encode();
            Ok(Edit { record: live.record, dropped: Vec::new(), result })
        });
        let (_, outcome) = edited.await?.ok_or(ErrorCode::ContainerNotFound)?;
        Ok(outcome)
    }

    fn may_use(&self, guard: &ContainerGuard, data: &ContainerData, usage: Use) -> Result<()> {
        lease::check(Leased::Container, data.lease.as_ref(), usage, guard.lease, self.now())?;
        meets(guard, data)
    }

    /// The level of anonymous access to a container; none if there is no such container.
    pub async fn public_access(&self, home: &str, container: &ContainerName) -> Result<PublicAccess> {
        let found = self.service.catalog.find(name_of(home, container)).await?;
        let Some(live) = found else { return Ok(PublicAccess::None) };
        Ok(ContainerData::decode(&live.record.data)?.public_access)
    }

    /// List Containers.
    pub async fn list_containers(&self, home: &str, list: ListContainers) -> Result<Outcome> {
        let ListContainers { prefix, from, max_results, has_system, has_deleted, .. } = list;
        let start = from.unwrap_or_default().max(prefix.clone());
        let end = after_prefix(&prefix);
        let range = keyspace::live_between(Service::Blob, home, &start, end.as_deref());
        let judge = Box::new(move |row: lazuli_engine::RowView<'_>| {
            let name = keyspace::name_of(row.row).unwrap_or_default();
            let is_hidden = ContainerName::new(name).is_ok_and(|name| name.is_hidden());
            Ok(if is_hidden && !has_system { Verdict::Skip } else { Verdict::Keep })
        });
        let rows_max = usize::try_from(max_results).unwrap_or(usize::MAX);
        let page = self.service.catalog.list(range, rows_max, judge).await?;
        let item = |record: &crate::record::ContainerRecord| {
            let data = ContainerData::decode(&record.data)?;
            Ok(ContainerItem { name: record.name.clone(), properties: self.container_properties(data) })
        };
        let mut items = page.containers.iter().map(|(record, _)| item(record)).collect::<Result<Vec<_>>>()?;
        let mut next = page.next;
        if has_deleted {
            let before = next.as_deref().or(end.as_deref());
            let kept =
                self.service.catalog.list_kept(Service::Blob, home, &start, before, rows_max + 1).await?;
            for kept in kept {
                items.push(self.deleted_container(kept)?);
            }
            // A name may have been used several times: all its entries are on one page.
            items.sort_by(|a, b| compare(&a.name, &b.name));
            if let Some(last) = items.get(rows_max).map(|item| item.name.clone()) {
                let first = items.iter().position(|item| item.name == last).unwrap_or_default();
                let cut =
                    if first == 0 { items.iter().filter(|item| item.name == last).count() } else { first };
                next = items.get(cut).map(|item| item.name.clone()).or(next);
                items.truncate(cut);
            }
        }
        Ok(Outcome::Containers(ContainerPage { items, next }))
    }

    fn deleted_container(&self, kept: KeptRecord) -> Result<ContainerItem> {
        let data = ContainerData::decode(&kept.record.data)?;
        let mut properties = self.container_properties(data);
        let info = Deleted { at: kept.at, until: kept.until }.info(self.clock().ticks());
        properties.deleted = Some((info, format!("{:016X}", kept.record.id.0)));
        // Azure shows the lease of a deleted container as expired.
        properties.lease = LeaseView { state: LeaseState::Expired, is_infinite: None };
        Ok(ContainerItem { name: kept.record.name, properties })
    }

    fn container_properties(&self, data: ContainerData) -> ContainerProperties {
        ContainerProperties {
            metadata: data.metadata,
            lease: Lease::view(data.lease.as_ref(), self.now()),
            public_access: data.public_access,
            scope: data.scope,
            ..ContainerProperties::new(stamp(data.changed))
        }
    }
}

/// Conditions on containers are dates.
fn meets(guard: &ContainerGuard, data: &ContainerData) -> Result<()> {
    let stamp: Stamp = stamp(data.changed);
    let facts = Facts { stamp, tags: &Tags::default(), holds_lease: false };
    Ok(guard.conditions.check(Purpose::Change, Some(facts)).map_err(Failure::from)?)
}
