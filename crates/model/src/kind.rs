//! What requests are called where they are counted and logged: the kind of operation, and how much reading it took.
//!
//! Both are small enumerations with an index, so that whoever counts can do it in a fixed array.

use std::time::Duration;

/// What the settings of the request log tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It changes something, but does not only delete.
    Write,
    /// It deletes.
    Delete,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $access:ident;)*) => {
        /// The kind of an operation, by the name that the service's logs and metrics use.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum OperationKind { $($(#[$doc])* $variant,)* }

        impl OperationKind {
            /// Every kind.
            pub const ALL: &[OperationKind] = &[$(OperationKind::$variant,)*];

            /// The name in logs and metrics.
            pub fn name(self) -> &'static str {
                match self { $(OperationKind::$variant => $name,)* }
            }

            /// What it does, as the settings of the request log tell it.
            pub fn access(self) -> Access {
                match self { $(OperationKind::$variant => Access::$access,)* }
            }

            /// Its place in [`OperationKind::ALL`].
            pub fn index(self) -> usize {
                self as usize
            }
        }
    };
}

kinds! {
    /// A request that was refused before anyone knew what it wants.
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
    /// Insert an entity or replace it.
    InsertOrReplaceEntity, "InsertOrReplaceEntity", Write;
    /// Insert an entity or merge into it.
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
    /// How far the secondary is behind.
    GetTableServiceStats, "GetTableServiceStats", Read;
    /// A web browser asks what it may send.
    TablePreflightRequest, "TablePreflightRequest", Read;
}

/// Kinds of reading, from the cheapest to the dearest.
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

    /// Its place in [`Class::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// How much reading a query took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// What kind of reading it was.
    pub class: Class,
    /// How many ranges of keys were read.
    pub ranges: usize,
    /// How many rows were looked at.
    pub rows_read: u64,
    /// How long it took to plan.
    pub plan_time: Duration,
    /// How long it took to read.
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
