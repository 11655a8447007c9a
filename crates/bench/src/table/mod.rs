//! Workloads of the Table service.

pub mod growth;
mod job;
pub mod request;

pub use job::Job;

use crate::contestant::ContestantPlan;

/// Response bytes of an entity of a kilobyte.
pub(crate) const ENTITY_BYTES: usize = 1100;
/// Entities of a page, and response bytes of each.
pub(crate) const PAGE_ROWS: u64 = 1000;
const PAGE_BYTES: usize = PAGE_ROWS as usize * ENTITY_BYTES;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
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
    /// Updates of one entity with its ETag, by all connections.
    Hot,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 10] = [
        Work::Insert,
        Work::InsertOne,
        Work::Upsert,
        Work::Get,
        Work::Mix,
        Work::Transaction,
        Work::Page,
        Work::ScanNothing,
        Work::FullScan,
        Work::Hot,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Work::Insert => "insert",
            Work::InsertOne => "insert-one",
            Work::Upsert => "upsert",
            Work::Get => "get",
            Work::Mix => "mix",
            Work::Transaction => "egt",
            Work::Page => "page",
            Work::ScanNothing => "scan",
            Work::FullScan => "full",
            Work::Hot => "hot",
        }
    }

    /// What one operation is.
    pub fn unit(self) -> &'static str {
        match self {
            Work::Transaction | Work::Page | Work::FullScan => "entities",
            Work::ScanNothing => "rows examined",
            Work::Hot => "successes",
            _ => "requests",
        }
    }

    /// Who is measured.
    pub(crate) fn plans(self) -> Vec<ContestantPlan> {
        let limit = match self {
            Work::Get => Some(ContestantPlan::bare(ENTITY_BYTES, 0.80)),
            Work::Mix => Some(ContestantPlan::bare(ENTITY_BYTES, 0.75)),
            Work::Insert | Work::InsertOne => Some(ContestantPlan::bare(ENTITY_BYTES, 0.75)),
            Work::Upsert => Some(ContestantPlan::bare(ENTITY_BYTES, 0.70)),
            Work::Transaction => Some(ContestantPlan::bare(ENTITY_BYTES, 0.50)),
            Work::Page | Work::FullScan => Some(ContestantPlan::bare(PAGE_BYTES, 0.60)),
            Work::Hot => Some(ContestantPlan::files("one sync", ENTITY_BYTES, 0.50)),
            Work::ScanNothing => None,
        };
        [Some(ContestantPlan::ours(0)), Some(ContestantPlan::azurite(0, None)), limit]
            .into_iter()
            .flatten()
            .collect()
    }
}
