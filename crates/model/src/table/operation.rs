//! Requests and their outcomes: the only types that `protocol` and `service` share.

use std::sync::Arc;

use crate::kind::{OperationKind, ReadCost};
use crate::policy::SignedIdentifier;
use crate::properties::{PropertiesUpdate, ServiceProperties};
use crate::table::filter::Expr;
use crate::{DateTime, EntityKey, PackedRow, Properties, TableName};

/// One request, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// List the tables of the account.
    QueryTables(TableQuery),
    /// Look one table up.
    GetTable(TableName),
    /// Create a table.
    CreateTable(TableName),
    /// Delete a table with all its entities.
    DeleteTable(TableName),
    /// Read one entity.
    GetEntity {
        /// The table.
        table: TableName,
        /// The entity.
        key: EntityKey,
    },
    /// Read a page of entities.
    QueryEntities {
        /// The table.
        table: TableName,
        /// Which of them.
        query: EntityQuery,
    },
    /// Change one entity.
    Write {
        /// The table.
        table: TableName,
        /// The change.
        write: EntityWrite,
    },
    /// Change several entities of one partition atomically.
    Batch {
        /// The table.
        table: TableName,
        /// The changes, in order; all keys have the same partition, and keys are unique.
        writes: Vec<EntityWrite>,
    },
    /// Read the stored access policies of a table.
    GetAcl(TableName),
    /// Replace the stored access policies of a table.
    SetAcl(TableName, Vec<SignedIdentifier>),
    /// Read the properties of the service.
    GetProperties,
    /// Change some properties of the service.
    SetProperties(Box<PropertiesUpdate>),
    /// The replication lag of the secondary.
    GetStats,
}

impl Operation {
    /// Its kind in metrics and logs.
    pub fn kind(&self) -> OperationKind {
        match self {
            Operation::QueryTables(_) => OperationKind::QueryTables,
            Operation::GetTable(_) => OperationKind::QueryTable,
            Operation::CreateTable(_) => OperationKind::CreateTable,
            Operation::DeleteTable(_) => OperationKind::DeleteTable,
            Operation::GetEntity { .. } => OperationKind::QueryEntity,
            Operation::QueryEntities { .. } => OperationKind::QueryEntities,
            Operation::Write { write, .. } => write.kind(),
            Operation::Batch { .. } => OperationKind::EntityGroupTransaction,
            Operation::GetAcl(_) => OperationKind::GetTableAcl,
            Operation::SetAcl(..) => OperationKind::SetTableAcl,
            Operation::GetProperties => OperationKind::GetTableServiceProperties,
            Operation::SetProperties(_) => OperationKind::SetTableServiceProperties,
            Operation::GetStats => OperationKind::GetTableServiceStats,
        }
    }
}

/// Which tables to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableQuery {
    /// Only tables that match it; its only property is `TableName`.
    pub filter: Option<Expr>,
    /// Maximum tables in this response.
    pub top: Option<usize>,
    /// Resume at this name, in lower case.
    pub from: Option<String>,
}

/// Which entities to read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityQuery {
    /// Only entities that match it.
    pub filter: Option<Expr>,
    /// Maximum entities in this response.
    pub top: Option<usize>,
    /// Resume at the first entity that is not before this one.
    pub from: Option<EntityPosition>,
    /// Bytes that each entity adds to the response regardless of its content: missing selected properties are
    /// returned as null, and count towards the size of a page.
    pub row_bytes: usize,
}

/// A position in the order of a table. Its strings need not be valid keys or those of an existing entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityPosition {
    /// PartitionKey.
    pub partition: String,
    /// RowKey; empty is the start of the partition.
    pub row: String,
}

/// A change of one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityWrite {
    /// The entity.
    pub key: EntityKey,
    /// The change to the entity.
    pub change: EntityChange,
}

/// A change to an entity.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityChange {
    /// It must not exist.
    Insert(Properties),
    /// It must exist and match. Removes properties that are not specified.
    Replace(Properties, Match),
    /// It must exist and match. Keeps properties that are not specified.
    Merge(Properties, Match),
    /// It may or may not exist. Removes properties that are not specified.
    InsertOrReplace(Properties),
    /// It may or may not exist. Keeps properties that are not specified.
    InsertOrMerge(Properties),
    /// It must exist and match.
    Delete(Match),
}

impl EntityWrite {
    /// Its kind in metrics and logs.
    pub fn kind(&self) -> OperationKind {
        match self.change {
            EntityChange::Insert(_) => OperationKind::InsertEntity,
            EntityChange::Replace(..) => OperationKind::UpdateEntity,
            EntityChange::Merge(..) => OperationKind::MergeEntity,
            EntityChange::InsertOrReplace(_) => OperationKind::InsertOrReplaceEntity,
            EntityChange::InsertOrMerge(_) => OperationKind::InsertOrMergeEntity,
            EntityChange::Delete(_) => OperationKind::DeleteEntity,
        }
    }
}

/// The condition that `If-Match` sets on an existing entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// `*`: any version.
    Any,
    /// The version with this Timestamp.
    Version(DateTime),
    /// A well-formed ETag that this service cannot have issued.
    Nothing,
}

/// The outcome of a successful operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A page of table names, in order.
    Tables {
        /// The names as created.
        names: Vec<String>,
        /// Where to continue.
        next: Option<String>,
    },
    /// The table exists.
    Table(String),
    /// The table was created.
    TableCreated(String),
    /// The table was deleted.
    TableDeleted,
    /// The entity.
    Entity(StoredEntity),
    /// A page of entities, in order.
    Page(EntityPage),
    /// The entity was changed.
    Written(Written),
    /// All entities were changed, in this order.
    Batch(Vec<Written>),
    /// The stored access policies of a table.
    Acl(Vec<SignedIdentifier>),
    /// They were replaced.
    AclSet,
    /// The properties of the service.
    Properties(Arc<ServiceProperties>),
    /// They were changed.
    PropertiesSet,
    /// The secondary is up to date, since it reads the same rows.
    Stats,
}

/// A page of entities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityPage {
    /// The entities, in order.
    pub rows: Vec<StoredEntity>,
    /// Where to continue.
    pub next: Option<EntityPosition>,
    /// The cost of reading them.
    pub effort: ReadCost,
}

impl EntityPage {
    /// Size of the stored entities in bytes: a measure of the remaining work.
    pub fn stored_bytes(&self) -> usize {
        self.rows.iter().map(StoredEntity::bytes).sum()
    }
}

/// A stored entity.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEntity {
    /// PartitionKey.
    pub partition: Box<str>,
    /// RowKey.
    pub row: Box<str>,
    /// The Timestamp, which determines the ETag.
    pub timestamp: DateTime,
    /// The other properties.
    pub properties: PackedRow,
}

impl StoredEntity {
    fn bytes(&self) -> usize {
        self.partition.len() + self.row.len() + self.properties.as_bytes().len()
    }
}

/// The state of an entity after a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// Inserted; contains the stored entity, for clients that request it.
    Inserted(StoredEntity),
    /// Changed; the new Timestamp.
    Updated(DateTime),
    /// Deleted.
    Deleted,
}
