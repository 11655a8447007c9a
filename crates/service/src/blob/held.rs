//! Containers with protected blobs cannot be deleted.
//!
//! Invariant: the record of a container says that it may have protected states before it has the
//! first one, and never stops saying so. So only the deletion of such a container reads its rows. A state that
//! gets its protection while the container is being deleted may be lost with it, like a blob that is written at
//! that time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Bound, KeyRange, RowView, Scan, Verdict, Version};
use lazuli_model::ErrorCode;
use lazuli_model::blob::ContainerName;
use lazuli_model::blob::operation::{BlobAction, Revision as Which};
use lazuli_model::blob::protection::Immutability;

use super::core::{Core, name_of};
use super::guard::not_immutable;
use super::keep::life_of;
use super::keyspace::{CONTENT, RowKind, Tables};
use super::record::{ContainerData, Head, time};
use crate::Result;
use crate::catalog::{Edit, Live};

/// Maximum rows per scan.
const SCAN_ROWS_MAX: usize = 2_000;

/// Knowledge about protected blobs, for the deletion of a container.
#[derive(Debug, Default)]
pub struct Cleared {
    /// The version of the container's record at which no protected state was found.
    seen: Option<Version>,
    /// The version at which the blobs must be checked before the container can be deleted.
    wanted: Option<(Version, Tables)>,
}

impl Cleared {
    /// Fails with `Conflict` if the blobs of the container must be checked first.
    pub fn check(&mut self, live: &Live, data: &ContainerData, tables: Tables) -> Result<()> {
        if data.may_hold && self.seen != Some(live.version) {
            self.wanted = Some((live.version, tables));
            return Err(lazuli_engine::Error::Conflict.into());
        }
        Ok(())
    }
}

/// Does the action set a policy or a legal hold on a blob?
pub fn protects(action: &BlobAction) -> bool {
    let sets = |set: &Immutability| set.policy.is_some() || set.legal_hold == Some(true);
    match action {
        BlobAction::SetImmutability(_) | BlobAction::SetLegalHold(true) => true,
        BlobAction::PutBlob(_, settings)
        | BlobAction::PutBlockList(_, settings)
        | BlobAction::CreateAppend(settings)
        | BlobAction::CreatePage { settings, .. } => sets(&settings.immutability),
        BlobAction::PutBlobFromUrl(put) => sets(&put.settings.immutability),
        BlobAction::Copy(copy) => sets(&copy.immutability),
        _ => false,
    }
}

impl Core {
    /// Records that a container may have protected states from now on.
    pub async fn expect_protection(&self, home: &str, container: &ContainerName) -> Result<()> {
        let name = name_of(home, container);
        let found = self.service.catalog.find(name).await?;
        // Without a container, the operation itself fails.
        let Some(live) = found else { return Ok(()) };
        if ContainerData::decode(&live.record.data)?.may_hold {
            return Ok(());
        }
        // A change of the catalog must not be cancelled midway, so it runs in a task.
        let (service, home, container) = (self.service.clone(), home.to_owned(), container.clone());
        let noted = tokio::spawn(async move {
            let noted = service.catalog.edit(name_of(&home, &container), |live| {
                let mut record = live.record.clone();
                let data = ContainerData { may_hold: true, ..ContainerData::decode(&record.data)? };
                record.data = data.encode();
                Ok(Edit { record, dropped: Vec::new(), result: () })
            });
            noted.await.map(drop)
        });
        noted.await.unwrap_or_else(|_| {
            Err(lazuli_engine::Error::Unknown("the task that changes a container has ended".into()).into())
        })
    }

    /// After the deletion of a container failed: did it fail only because the blobs had to be checked first,
    /// and is none of them protected? If so, the deletion can be retried.
    pub async fn clear(&self, cleared: &mut Cleared) -> Result<bool> {
        let Some((version, tables)) = cleared.wanted.take() else { return Ok(false) };
        if self.has_protected(tables).await? {
            return Err(ErrorCode::ContainerImmutableStorageWithVersioningEnabled.into());
        }
        cleared.seen = Some(version);
        Ok(true)
    }

    /// Is a blob, snapshot or version protected? Reads rows until it finds one.
    async fn has_protected(&self, tables: Tables) -> Result<bool> {
        let search = Arc::new(Mutex::new(Search { now: self.clock().ticks(), ..Search::default() }));
        let mut range = KeyRange::ALL;
        loop {
            let (seen, mut rows) = (search.clone(), 0);
            let scan = Scan {
                table: tables.blobs,
                ranges: vec![range.clone()],
                rows_max: usize::MAX,
                bytes_max: usize::MAX,
                judge: Box::new(move |row| {
                    rows += 1;
                    if rows > SCAN_ROWS_MAX { Ok(Verdict::Stop) } else { locked(&seen).see(&row) }
                }),
            };
            let page = self.engine().scan(scan).await?;
            if locked(&search).is_found {
                return Ok(true);
            }
            let Some(next) = page.next else { return Ok(false) };
            let is_content = *next.row >= *CONTENT;
            range.start =
                if is_content { Bound::AfterPartition(next.partition) } else { Bound::Included(next) };
        }
    }
}

/// A search for a protected state, in the order of the rows.
#[derive(Default)]
struct Search {
    /// The time of the search, in ticks.
    now: u64,
    /// The blob whose rows are being read, and its head.
    blob: Box<str>,
    head: Head,
    is_found: bool,
}

impl Search {
    fn see(&mut self, row: &RowView<'_>) -> lazuli_engine::Result<Verdict> {
        if self.is_found {
            return Ok(Verdict::Stop);
        }
        if *row.row >= *CONTENT {
            // No name contains U+0000.
            return Ok(Verdict::Leap(format!("{}\0", row.partition).into()));
        }
        if *self.blob != *row.partition {
            (self.blob, self.head) = (row.partition.into(), Head::default());
        }
        let which = match RowKind::of(row.row) {
            Some(RowKind::Head) => Which::Current,
            Some(RowKind::Snapshot(ticks)) => Which::Snapshot(time(ticks)),
            Some(RowKind::Version(ticks)) => Which::Version(time(ticks)),
            _ => return Ok(Verdict::Skip),
        };
        let found = Head::decode(&Bytes::copy_from_slice(row.value))?;
        if which == Which::Current {
            self.head = found.clone();
        }
        self.is_found = found.blob.is_some_and(|state| {
            let is_live = life_of(which, &self.head, &state, self.now).is_live();
            is_live && not_immutable(&state, time(self.now)).is_err()
        });
        Ok(Verdict::Skip)
    }
}

fn locked(search: &Mutex<Search>) -> MutexGuard<'_, Search> {
    search.lock().unwrap_or_else(PoisonError::into_inner)
}
