//! The kinds of requests in metrics and logs: the kind of operation, and the kind of read.
//!
//! Both are small enumerations with an index, so that counters fit into a fixed array.

use std::time::Duration;

/// The categories that the settings of the request log distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// Changes other than deletions.
    Write,
    /// It deletes.
    Delete,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $access:ident;)*) => {
        /// The kind of an operation, with its name in logs and metrics.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum OperationKind { $($(#[$doc])* $variant,)* }

        impl OperationKind {
            /// Every kind.
            pub const ALL: &[OperationKind] = &[$(OperationKind::$variant,)*];

            /// The name in logs and metrics.
            pub fn name(self) -> &'static str {
                match self { $(OperationKind::$variant => $name,)* }
            }

            /// The category in the settings of the request log.
            pub fn access(self) -> Access {
                match self { $(OperationKind::$variant => Access::$access,)* }
            }

            /// Its index in [`OperationKind::ALL`].
            pub fn index(self) -> usize {
                self as usize
            }
        }
    };
}

kinds! {
    /// A request that was rejected before its operation was known.
    #[default]
    Unknown, "Unknown", Read;
    /// List the tables.
    QueryTables, "QueryTables", Read;
    /// Look one table up.
    QueryTable, "QueryTable", Read;
    /// Create a table.
    CreateTable, "CreateTable", Write;
    /// Delete a table.
    DeleteTable, "DeleteTable", Delete;
    /// Read one entity.
    QueryEntity, "QueryEntity", Read;
    /// Read a page of entities.
    QueryEntities, "QueryEntities", Read;
    /// Insert an entity.
    InsertEntity, "InsertEntity", Write;
    /// Replace an entity.
    UpdateEntity, "UpdateEntity", Write;
    /// Merge into an entity.
    MergeEntity, "MergeEntity", Write;
    /// Insert or replace an entity.
    InsertOrReplaceEntity, "InsertOrReplaceEntity", Write;
    /// Insert or merge an entity.
    InsertOrMergeEntity, "InsertOrMergeEntity", Write;
    /// Delete an entity.
    DeleteEntity, "DeleteEntity", Delete;
    /// A batch.
    EntityGroupTransaction, "EntityGroupTransaction", Write;
    /// Read the access policies of a table.
    GetTableAcl, "GetTableAcl", Read;
    /// Replace them.
    SetTableAcl, "SetTableAcl", Write;
    /// Read the properties of the service.
    GetTableServiceProperties, "GetTableServiceProperties", Read;
    /// Change them.
    SetTableServiceProperties, "SetTableServiceProperties", Write;
    /// The replication lag of the secondary.
    GetTableServiceStats, "GetTableServiceStats", Read;
    /// A CORS preflight request of a web browser.
    TablePreflightRequest, "TablePreflightRequest", Read;
    /// List the queues.
    ListQueues, "ListQueues", Read;
    /// Create a queue.
    CreateQueue, "CreateQueue", Write;
    /// Delete a queue.
    DeleteQueue, "DeleteQueue", Delete;
    /// Read the metadata of a queue.
    GetQueueMetadata, "GetQueueMetadata", Read;
    /// Replace the metadata of a queue.
    SetQueueMetadata, "SetQueueMetadata", Write;
    /// Read the access policies of a queue.
    GetQueueAcl, "GetQueueAcl", Read;
    /// Replace the access policies of a queue.
    SetQueueAcl, "SetQueueAcl", Write;
    /// Put a message.
    PutMessage, "PutMessage", Write;
    /// Dequeue one message.
    GetMessage, "GetMessage", Read;
    /// Dequeue several messages.
    GetMessages, "GetMessages", Read;
    /// Peek at one message.
    PeekMessage, "PeekMessage", Read;
    /// Peek at several messages.
    PeekMessages, "PeekMessages", Read;
    /// Change a message.
    UpdateMessage, "UpdateMessage", Write;
    /// Delete a message.
    DeleteMessage, "DeleteMessage", Delete;
    /// Delete all messages of a queue.
    ClearMessages, "ClearMessages", Delete;
    /// Move messages to another queue.
    MoveMessages, "MoveMessages", Write;
    /// Read the properties of the Queue service.
    GetQueueServiceProperties, "GetQueueServiceProperties", Read;
    /// Change the properties of the Queue service.
    SetQueueServiceProperties, "SetQueueServiceProperties", Write;
    /// Read the replication state of the secondary of the Queue service.
    GetQueueServiceStats, "GetQueueServiceStats", Read;
    /// Issue a user delegation key for queues.
    GetQueueUserDelegationKey, "GetQueueUserDelegationKey", Read;
    /// A CORS preflight of the Queue service.
    QueuePreflightRequest, "QueuePreflightRequest", Read;
    /// List the containers.
    ListContainers, "ListContainers", Read;
    /// Create a container.
    CreateContainer, "CreateContainer", Write;
    /// Delete a container.
    DeleteContainer, "DeleteContainer", Delete;
    /// Restore a deleted container.
    RestoreContainer, "RestoreContainer", Write;
    /// Read the properties of a container.
    GetContainerProperties, "GetContainerProperties", Read;
    /// Read the metadata of a container.
    GetContainerMetadata, "GetContainerMetadata", Read;
    /// Replace the metadata of a container.
    SetContainerMetadata, "SetContainerMetadata", Write;
    /// Read the access policies of a container.
    GetContainerAcl, "GetContainerACL", Read;
    /// Replace the access policies of a container.
    SetContainerAcl, "SetContainerACL", Write;
    /// Acquire the lease of a container.
    AcquireContainerLease, "AcquireContainerLease", Write;
    /// Renew the lease of a container.
    RenewContainerLease, "RenewContainerLease", Write;
    /// Change the id of a container's lease.
    ChangeContainerLease, "ChangeContainerLease", Write;
    /// Release the lease of a container.
    ReleaseContainerLease, "ReleaseContainerLease", Write;
    /// Break the lease of a container.
    BreakContainerLease, "BreakContainerLease", Write;
    /// List the blobs of a container.
    ListBlobs, "ListBlobs", Read;
    /// Find blobs by their tags.
    FindBlobsByTags, "FindBlobsByTags", Read;
    /// Read a blob.
    GetBlob, "GetBlob", Read;
    /// Read the properties of a blob.
    GetBlobProperties, "GetBlobProperties", Read;
    /// Read the metadata of a blob.
    GetBlobMetadata, "GetBlobMetadata", Read;
    /// Read the blocks of a blob.
    GetBlockList, "GetBlockList", Read;
    /// Read the written ranges of a page blob.
    GetPageRegions, "GetPageRegions", Read;
    /// Read the tags of a blob.
    GetBlobTags, "GetBlobTags", Read;
    /// Query the content of a blob.
    QueryBlobContents, "QueryBlobContents", Read;
    /// Write a blob.
    PutBlob, "PutBlob", Write;
    /// Write a blob from another blob.
    PutBlobFromUrl, "PutBlobFromURL", Write;
    /// Upload a block.
    PutBlock, "PutBlock", Write;
    /// Upload a block from another blob.
    PutBlockFromUrl, "PutBlockFromURL", Write;
    /// Commit blocks.
    PutBlockList, "PutBlockList", Write;
    /// Append to a blob.
    AppendBlock, "AppendBlock", Write;
    /// Append from another blob.
    AppendBlockFromUrl, "AppendBlockThroughCopy", Write;
    /// Seal an append blob.
    SealBlob, "SealBlob", Write;
    /// Write pages.
    PutPage, "PutPage", Write;
    /// Write pages from another blob.
    PutPageFromUrl, "PutPageFromURL", Write;
    /// Clear pages.
    ClearPage, "ClearPage", Write;
    /// Copy a blob.
    CopyBlob, "CopyBlob", Write;
    /// Copy a blob synchronously.
    CopyBlobFromUrl, "CopyBlobFromURL", Write;
    /// Stop a copy.
    AbortCopyBlob, "AbortCopyBlob", Write;
    /// Copy the changes of a page blob.
    IncrementalCopyBlob, "IncrementalCopyBlob", Write;
    /// Set the properties of a blob.
    SetBlobProperties, "SetBlobProperties", Write;
    /// Replace the metadata of a blob.
    SetBlobMetadata, "SetBlobMetadata", Write;
    /// Replace the tags of a blob.
    SetBlobTags, "SetBlobTags", Write;
    /// Move a blob to another tier.
    SetBlobTier, "SetBlobTier", Write;
    /// Set the time at which a blob deletes itself.
    SetBlobExpiry, "SetBlobExpiry", Write;
    /// Set the immutability policy of a blob.
    SetBlobImmutabilityPolicy, "SetBlobImmutabilityPolicy", Write;
    /// Remove the immutability policy of a blob.
    DeleteBlobImmutabilityPolicy, "DeleteBlobImmutabilityPolicy", Delete;
    /// Set the legal hold of a blob.
    SetBlobLegalHold, "SetBlobLegalHold", Write;
    /// Make a snapshot.
    SnapshotBlob, "SnapshotBlob", Write;
    /// Delete a blob.
    DeleteBlob, "DeleteBlob", Delete;
    /// Restore a deleted blob.
    UndeleteBlob, "UndeleteBlob", Write;
    /// Acquire the lease of a blob.
    AcquireBlobLease, "AcquireBlobLease", Write;
    /// Renew the lease of a blob.
    RenewBlobLease, "RenewBlobLease", Write;
    /// Change the id of a blob's lease.
    ChangeBlobLease, "ChangeBlobLease", Write;
    /// Release the lease of a blob.
    ReleaseBlobLease, "ReleaseBlobLease", Write;
    /// Break the lease of a blob.
    BreakBlobLease, "BreakBlobLease", Write;
    /// A batch of operations on blobs.
    BlobBatch, "BlobBatch", Write;
    /// Read the properties of the Blob service.
    GetBlobServiceProperties, "GetBlobServiceProperties", Read;
    /// Change the properties of the Blob service.
    SetBlobServiceProperties, "SetBlobServiceProperties", Write;
    /// Read the replication state of the secondary of the Blob service.
    GetBlobServiceStats, "GetBlobServiceStats", Read;
    /// Read the kind of the account.
    GetAccountInformation, "GetAccountInformation", Read;
    /// Get a key with which a user signs.
    GetUserDelegationKey, "GetUserDelegationKey", Read;
    /// A CORS preflight of the Blob service.
    BlobPreflightRequest, "BlobPreflightRequest", Read;
}

/// Kinds of reads, from the cheapest to the most expensive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The filter contradicts itself.
    #[default]
    Nothing,
    /// One key.
    Point,
    /// Several keys.
    MultiPoint,
    /// Parts of one partition or of several known ones.
    RowRange,
    /// One partition or several known ones, at least one of them whole.
    Partition,
    /// All partitions between two.
    PartitionRange,
    /// From the first row of the table to the last.
    Table,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 7] = [
        Class::Nothing,
        Class::Point,
        Class::MultiPoint,
        Class::RowRange,
        Class::Partition,
        Class::PartitionRange,
        Class::Table,
    ];

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Class::Nothing => "nothing",
            Class::Point => "point",
            Class::MultiPoint => "multi-point",
            Class::RowRange => "row-range",
            Class::Partition => "partition",
            Class::PartitionRange => "partition-range",
            Class::Table => "table",
        }
    }

    /// Its index in [`Class::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// The cost of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCost {
    /// The kind of read.
    pub class: Class,
    /// Number of key ranges read.
    pub ranges: usize,
    /// Number of rows examined.
    pub rows_read: u64,
    /// Time to plan the query.
    pub plan_time: Duration,
    /// Time to read the rows.
    pub scan_time: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_place_in_the_list() {
        for (index, kind) in OperationKind::ALL.iter().enumerate() {
            assert_eq!(kind.index(), index, "{kind:?}");
        }
        for (index, class) in Class::ALL.iter().enumerate() {
            assert_eq!(class.index(), index, "{class:?}");
        }
    }
}
