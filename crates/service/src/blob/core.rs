//! The state that all operations on blobs share.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use lazuli_digest::Lanes;
use lazuli_engine::content::Content;
use lazuli_engine::{Clock, Engine, Row};
use lazuli_model::blob::{BlobName, ContainerName};
use lazuli_model::{DateTime, ErrorCode, Guid};

use super::access_time::Reads;
use super::append::{Appends, Folds};
use super::blocks::Quotas;
use super::copy::Fetch;
use super::event::{Origin, Outbox};
use super::hashing::SmallHashes;
use super::keep::Keeps;
use super::keyspace::{self, Generation, Tables};
use super::metrics::Counters;
use super::pins::Pins;
use super::record::{Head, time};
use super::todo::Todo;
use crate::catalog::{Live, Name};
use crate::keyspace::account_of;
use crate::record::ContainerRecord;
use crate::{Result, Services};

/// Settings of the blob service.
#[derive(Clone)]
pub struct BlobOptions {
    /// A function that returns sixteen random bytes per call.
    pub entropy: Arc<dyn Fn() -> [u8; 16] + Send + Sync>,
    /// The accounts in which every write preserves the replaced state as a version.
    pub versions: EnabledFor,
    /// The accounts that track the last access times of block blobs.
    pub last_access: EnabledFor,
    /// Number of days for which a deleted container can be restored; 0 deletes immediately.
    pub container_days: u16,
    /// Time that a blob takes to leave the archive tier.
    pub rehydration: Duration,
    /// A copy of a blob up to this size is complete when its request returns. Larger ones continue in the background.
    pub copy_at_once_max: u64,
    /// Maximum number of uncommitted blocks of a blob.
    pub uncommitted_blocks_max: usize,
    /// Opens the sources of pending copies from other servers.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// The sets of accounts in which changes of blobs produce events. One task delivers the events of each set;
    /// an account belongs to the first set that it matches.
    pub events: Vec<EnabledFor>,
}

/// The accounts that have a feature enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnabledFor {
    /// None.
    #[default]
    Off,
    /// All accounts.
    All,
    /// These accounts.
    Accounts(Vec<String>),
}

impl EnabledFor {
    /// Does this account have the feature enabled?
    pub fn applies_to(&self, account: &str) -> bool {
        match self {
            Self::Off => false,
            Self::All => true,
            Self::Accounts(names) => names.iter().any(|name| name == account),
        }
    }
}

/// The state that all operations share.
pub struct Core {
    pub service: Arc<Services>,
    pub content: Arc<dyn Content>,
    pub pins: Pins,
    pub todo: Arc<Todo>,
    pub counters: Counters,
    pub folds: Folds,
    pub appends: Appends,
    pub quotas: Quotas,
    /// Where uploads compute MD5.
    pub lanes: Arc<Lanes>,
    /// The same for small uploads.
    pub hashes: SmallHashes,
    /// Reads to record.
    pub reads: Reads,
    /// Events to deliver, if events are enabled.
    pub outbox: Option<Outbox>,
    pub options: BlobOptions,
}

/// The location of a blob in its container, whether or not it exists. Equality compares locations.
#[derive(Clone, Debug)]
pub struct At {
    /// The tables of the container.
    pub tables: Tables,
    /// The name of the blob.
    pub name: Arc<str>,
    /// The deleted and replaced data that its account keeps.
    pub keeps: Keeps,
    /// Does its account track last access times?
    pub tracks_access: bool,
    /// Its account and container, if events need them.
    pub origin: Option<Arc<Origin>>,
}

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        self.tables == other.tables && self.name == other.name
    }
}

impl Eq for At {}

impl Hash for At {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tables.hash(state);
        self.name.hash(state);
    }
}

impl At {
    /// A blob for work that retains no replaced state and produces no event.
    pub fn new(tables: Tables, name: &str) -> Self {
        Self { tables, name: name.into(), keeps: Keeps::default(), tracks_access: false, origin: None }
    }
}

impl Core {
    pub fn engine(&self) -> &dyn Engine {
        &**self.service.engine()
    }

    pub fn clock(&self) -> &Clock {
        &self.service.options.clock
    }

    pub fn now(&self) -> DateTime {
        time(self.clock().ticks())
    }

    /// A random identifier.
    pub fn fresh_id(&self) -> Guid {
        Guid((self.options.entropy)())
    }

    /// A random identifier for an upload. Its row is written with an insert, which fails if the identifier is in use.
    pub fn fresh_generation(&self) -> Generation {
        let [a, b, c, d, e, f, g, h, ..] = (self.options.entropy)();
        Generation(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The record of a container.
    pub async fn container(&self, home: &str, container: &ContainerName) -> Result<Arc<Live>> {
        let found = self.service.catalog.find(name_of(home, container)).await?;
        Ok(found.ok_or(ErrorCode::ContainerNotFound)?)
    }

    /// A blob in a container that exists.
    pub async fn locate(&self, home: &str, container: &ContainerName, blob: &BlobName) -> Result<At> {
        let tables = tables_of(&*self.container(home, container).await?)?;
        let origin = self
            .outbox
            .as_ref()
            .map(|_| Arc::new(Origin { home: home.to_owned(), container: container.as_str().to_owned() }));
        let keeps = self.keeps(home).await?;
        Ok(At { tables, name: blob.as_str().into(), keeps, tracks_access: self.tracks_access(home), origin })
    }

    /// Does an account track the last access times of its blobs?
    pub fn tracks_access(&self, home: &str) -> bool {
        self.options.last_access.applies_to(account_of(home))
    }

    /// Is the container still the one in which the blob was located? To be checked after an upload, which can
    /// take long.
    pub async fn still_there(&self, home: &str, container: &ContainerName, at: &At) -> Result<()> {
        let tables = tables_of(&*self.container(home, container).await?)?;
        if tables == at.tables { Ok(()) } else { Err(ErrorCode::ContainerNotFound.into()) }
    }

    /// The current head of the blob.
    pub async fn head(&self, at: &At) -> Result<Option<Head>> {
        let mut head = self.row(at, keyspace::HEAD).await?.map(|row| Head::decode(&row.value)).transpose()?;
        head.iter_mut().for_each(|head| head.settle(self.clock().ticks()));
        Ok(head)
    }

    /// The current value of one row of the blob.
    pub async fn row(&self, at: &At, row: &str) -> Result<Option<Row>> {
        let found = self.engine().get(at.tables.blobs, &at.name, &[row]).await?;
        Ok(found.into_iter().next().flatten())
    }
}

/// The name of a container in the catalog.
pub fn name_of<'a>(home: &'a str, container: &'a ContainerName) -> Name<'a> {
    Name { service: lazuli_model::Service::Blob, home, folded: container.as_str() }
}

/// The engine tables of a container.
pub fn tables_of(live: &Live) -> Result<Tables> {
    tables_in(&live.record)
}

/// The engine tables in the record of a container.
pub fn tables_in(record: &ContainerRecord) -> Result<Tables> {
    let [staged, tags] = record.more[..] else {
        return Err(lazuli_engine::Error::Corrupt("a container has a wrong number of tables".into()).into());
    };
    Ok(Tables { blobs: record.id, staged, tags })
}
