//! What is measured.

use crate::process::Kind;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Inserts into many partitions.
    Insert,
    /// Inserts into one partition.
    InsertOne,
    /// Replaces existing entities, or inserts them.
    Upsert,
    /// Reads entities by key.
    Get,
    /// Nine reads to one upsert.
    Mix,
    /// Transactions of a hundred inserts.
    Transaction,
    /// Pages of a thousand entities.
    Page,
    /// Scans of a partition with a filter that matches nothing.
    ScanNothing,
    /// The whole table, page by page.
    FullScan,
    /// Updates of one entity with its ETag, by everyone.
    Hot,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 10] = [
        Workload::Insert,
        Workload::InsertOne,
        Workload::Upsert,
        Workload::Get,
        Workload::Mix,
        Workload::Transaction,
        Workload::Page,
        Workload::ScanNothing,
        Workload::FullScan,
        Workload::Hot,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Insert => "insert",
            Workload::InsertOne => "insert-one",
            Workload::Upsert => "upsert",
            Workload::Get => "get",
            Workload::Mix => "mix",
            Workload::Transaction => "egt",
            Workload::Page => "page",
            Workload::ScanNothing => "scan",
            Workload::FullScan => "full",
            Workload::Hot => "hot",
        }
    }

    /// What one operation is.
    pub fn unit(self) -> &'static str {
        match self {
            Workload::Transaction | Workload::Page | Workload::FullScan => "entities",
            Workload::ScanNothing => "rows examined",
            _ => "requests",
        }
    }

    /// The workload of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// The servers that it makes sense on.
    pub(crate) fn targets(self, azurite: bool) -> Vec<Kind> {
        let limit = match self {
            Workload::Get => Some(Kind::BareRead),
            Workload::Insert | Workload::InsertOne | Workload::Upsert => Some(Kind::BareAppend),
            _ => None,
        };
        let azurite = azurite.then_some(Kind::Azurite);
        [Some(Kind::Lazuli), azurite, limit].into_iter().flatten().collect()
    }
}
