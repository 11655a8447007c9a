//! Workloads of the Table service.

pub mod growth;
mod job;
pub mod request;

pub use job::Job;

use crate::contestant::{ContestantPlan, Goal};

/// Response bytes of an entity of a kilobyte.
pub(crate) const ENTITY_BYTES: usize = 1100;
/// Entities of a page, and response bytes of each.
pub(crate) const PAGE_ROWS: u64 = 1000;
const PAGE_BYTES: usize = PAGE_ROWS as usize * ENTITY_BYTES;

/// The variant of the second server of workloads that compare two ways to insert.
const OTHERWISE: u64 = 1;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Inserts into many partitions.
    Insert,
    /// Inserts into one partition, compared with many (GD-04).
    InsertOne,
    /// Inserts whose keys only grow, compared with keys that are spread (PT-17).
    InsertAppend,
    /// Inserts sent in two pieces without Nagle's algorithm, compared with inserts sent with it (HT-03).
    InsertPieces,
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
    pub const ALL: [Work; 12] = [
        Work::Insert,
        Work::InsertOne,
        Work::InsertAppend,
        Work::InsertPieces,
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
            Work::InsertAppend => "insert-append",
            Work::InsertPieces => "insert-pieces",
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

    /// The unit that its operations are counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Work::Transaction | Work::Page | Work::FullScan => "entities",
            Work::ScanNothing => "rows examined",
            Work::Hot => "successes",
            _ => "requests",
        }
    }

    /// Title and description, for reports.
    pub fn about(self) -> (&'static str, &'static str) {
        match self {
            Work::Insert => {
                ("Insert", "Inserts entities of 1 KB, each with one request, into a thousand partitions.")
            }
            Work::InsertOne => {
                ("Insert into one partition", "Inserts entities of 1 KB, all connections into one partition.")
            }
            Work::InsertAppend => (
                "Insert with increasing keys",
                "Inserts entities of 1 KB whose keys only grow, like those of a log whose partition is the hour.",
            ),
            Work::InsertPieces => (
                "Insert in two pieces",
                "Inserts entities of 1 KB from clients that send head and body separately: TCP delays the second piece, unless Nagle's algorithm is off.",
            ),
            Work::Upsert => ("Upsert", "Replaces existing entities of 1 KB, chosen at random."),
            Work::Get => ("Point read", "Reads entities of 1 KB by their keys, chosen at random."),
            Work::Mix => ("Mix of reads and writes", "Nine point reads to one upsert, on the same entities."),
            Work::Transaction => (
                "Transaction of 100",
                "Inserts a hundred entities of 1 KB into one partition, all or none of them.",
            ),
            Work::Page => {
                ("Page of 1000", "Reads the first 1000 entities of a partition, about a megabyte of JSON.")
            }
            Work::ScanNothing => (
                "Scan that finds nothing",
                "Examines all entities of a partition with a filter that matches none: the speed of the filter.",
            ),
            Work::FullScan => ("Full scan", "One connection reads the whole table, page by page."),
            Work::Hot => (
                "One hot entity",
                "All connections read the same entity and replace it unless it has changed meanwhile. Only replacements count.",
            ),
        }
    }

    /// The contestants to measure. The variant selects the way to insert.
    pub(crate) fn plans(self) -> Vec<ContestantPlan> {
        let limit = match self {
            Work::Get => Some(ContestantPlan::bare(ENTITY_BYTES, 0.80).and(Goal::Cpu(1.0 / 1.25))),
            Work::Mix => Some(ContestantPlan::bare(ENTITY_BYTES, 0.75)),
            Work::Insert | Work::InsertOne => Some(ContestantPlan::bare(ENTITY_BYTES, 0.75)),
            Work::Upsert => Some(ContestantPlan::bare(ENTITY_BYTES, 0.70)),
            Work::Transaction => Some(ContestantPlan::bare(ENTITY_BYTES, 0.50).and(Goal::P99(100))),
            Work::Page | Work::FullScan => Some(ContestantPlan::bare(PAGE_BYTES, 0.60)),
            Work::Hot => Some(ContestantPlan::files("one sync", ENTITY_BYTES, 0.50)),
            Work::InsertAppend | Work::InsertPieces | Work::ScanNothing => None,
        };
        let other = match self {
            Work::InsertOne => Some(ContestantPlan::beside("1000 partitions", OTHERWISE)),
            Work::InsertAppend => Some(ContestantPlan::beside("spread keys", OTHERWISE)),
            Work::InsertPieces => Some(ContestantPlan::beside("with Nagle", OTHERWISE)),
            _ => None,
        };
        [Some(ContestantPlan::ours(0)), other, Some(ContestantPlan::azurite(0, None)), limit]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Server;

    /// Every row of the targets in docs/performance.md is measured next to the limit that its target is a share of.
    #[test]
    fn every_target_is_compared_with_its_limit() {
        let reads = |bytes: usize| Server::Bare { body_bytes: bytes };
        let syncs = Server::Files { bytes: ENTITY_BYTES };
        for (work, limit, goals) in [
            (Work::Get, reads(ENTITY_BYTES), [Some(Goal::Rate(0.80)), Some(Goal::Cpu(1.0 / 1.25))]),
            (Work::Mix, reads(ENTITY_BYTES), [Some(Goal::Rate(0.75)), None]),
            (Work::Insert, reads(ENTITY_BYTES), [Some(Goal::Rate(0.75)), None]),
            (Work::Upsert, reads(ENTITY_BYTES), [Some(Goal::Rate(0.70)), None]),
            (Work::Transaction, reads(ENTITY_BYTES), [Some(Goal::Rate(0.50)), Some(Goal::P99(100))]),
            (Work::Page, reads(PAGE_BYTES), [Some(Goal::Rate(0.60)), None]),
            (Work::FullScan, reads(PAGE_BYTES), [Some(Goal::Rate(0.60)), None]),
            (Work::Hot, syncs, [Some(Goal::Rate(0.50)), None]),
        ] {
            let plans = work.plans();
            let found = plans.iter().find(|plan| plan.server == limit);
            assert_eq!(found.map(|plan| plan.goals), Some(goals), "{work:?}");
        }
    }
}
