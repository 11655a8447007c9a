//! Workloads of the Blob service.

mod job;
mod load;
mod request;

pub use job::Job;

use crate::Options;
use crate::contestant::{ContestantPlan, Goal};

/// Size of a small blob in bytes.
const SMALL_BYTES: usize = 4 * 1024;
/// Size of a large blob in bytes.
const LARGE_BYTES: usize = 4 * MIB;
/// Bytes of a range.
const RANGE_BYTES: usize = 64 * 1024;
/// Bytes of a block, and blocks of a blob that is uploaded in blocks.
const BLOCK_BYTES: usize = 8 * MIB;
const BLOCKS: usize = 4;
/// Number of blobs in a small container.
const SHALLOW: u64 = 1_000;
/// Maximum names in a page of a listing.
const PAGE_NAMES: u64 = 5_000;
/// Number of blobs with the same tag.
const TAGGED: u64 = 10;
/// Number of prefixes in a listing with a delimiter.
const PREFIXES: u64 = 1_000;
const MIB: usize = 1024 * 1024;
/// At most 1.5 times the cost in a container with a thousand blobs.
const DEEP_GOAL: Goal = Goal::Cpu(1.0 / 1.5);
/// The same cost, within the noise between rounds.
const SAME_GOAL: Goal = Goal::Cpu(1.0 / 1.3);

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Writes blobs of 4 KiB.
    PutSmall,
    /// Reads blobs of 4 KiB.
    GetSmall,
    /// Writes blobs of 4 MiB.
    PutLarge,
    /// Reads blobs of 4 MiB.
    GetLarge,
    /// Reads ranges of 64 KiB of one large blob.
    Range,
    /// Uploads blobs of 32 MiB in blocks of 8 MiB.
    Blocks,
    /// Lists the first 5,000 blobs, compared with the last 5,000.
    List,
    /// Lists a thousand prefixes that hide many blobs, compared with prefixes that hide ten blobs each.
    Delimiter,
    /// Put, get and delete in a container with many blobs, compared with a container with a thousand blobs.
    Deep,
    /// Appends 4 KiB, all connections to one blob.
    Append,
    /// Writes 4 KiB at random positions of one page blob.
    Page,
    /// Finds ten blobs by their tag among many, compared with finding them among a thousand.
    Tags,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 12] = [
        Work::PutSmall,
        Work::GetSmall,
        Work::PutLarge,
        Work::GetLarge,
        Work::Range,
        Work::Blocks,
        Work::List,
        Work::Delimiter,
        Work::Deep,
        Work::Append,
        Work::Page,
        Work::Tags,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Work::PutSmall => "blob-put-4k",
            Work::GetSmall => "blob-get-4k",
            Work::PutLarge => "blob-put-4m",
            Work::GetLarge => "blob-get-4m",
            Work::Range => "blob-range",
            Work::Blocks => "blob-blocks",
            Work::List => "blob-list",
            Work::Delimiter => "blob-delimiter",
            Work::Deep => "blob-deep",
            Work::Append => "blob-append",
            Work::Page => "blob-page",
            Work::Tags => "blob-tags",
        }
    }

    /// The unit that its operations are counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Work::Blocks => "MiB",
            Work::List => "blobs",
            Work::Delimiter => "prefixes",
            Work::Deep => "put+get+delete",
            _ => "requests",
        }
    }

    /// Title and description, for reports.
    pub fn about(self) -> (&'static str, &'static str) {
        match self {
            Work::PutSmall => ("Put a small blob", "Writes blobs of 4 KiB, each with one request."),
            Work::GetSmall => ("Get a small blob", "Reads blobs of 4 KiB, chosen at random."),
            Work::PutLarge => ("Put a large blob", "Writes blobs of 4 MiB, each with one request."),
            Work::GetLarge => ("Get a large blob", "Reads blobs of 4 MiB."),
            Work::Range => ("Get a range", "Reads 64 KiB at random positions of one large blob."),
            Work::Blocks => {
                ("Upload in blocks", "Uploads blobs of 32 MiB in blocks of 8 MiB, over 8 connections.")
            }
            Work::List => ("List blobs", "Lists the first 5,000 blobs of a container."),
            Work::Delimiter => (
                "List prefixes",
                "Lists a thousand prefixes, like folders, without the many blobs below each.",
            ),
            Work::Deep => {
                ("A full container", "Puts, gets and deletes a blob in a container with many others.")
            }
            Work::Append => ("Append", "Appends 4 KiB, all connections to one blob."),
            Work::Page => ("Write pages", "Writes 4 KiB at random positions of one page blob."),
            Work::Tags => ("Find by tag", "Finds ten blobs by their tag among many others."),
        }
    }

    /// The contestants to measure. The variant is the number of blobs, or selects the start or the end of a
    /// container.
    pub(crate) fn plans(self, options: &Options) -> Vec<ContestantPlan> {
        let azurite = |goal: f64| ContestantPlan::azurite(0, Some(Goal::Rate(goal)));
        let file_bytes = options.blob_mib * MIB as u64;
        match self {
            Work::PutSmall => vec![ContestantPlan::ours(0), azurite(10.0), ContestantPlan::bare(0, 0.55)],
            Work::GetSmall => {
                vec![ContestantPlan::ours(0), azurite(10.0), ContestantPlan::bare(SMALL_BYTES, 0.60)]
            }
            Work::PutLarge => vec![
                ContestantPlan::ours(0),
                azurite(3.0),
                ContestantPlan::files("file+md5", LARGE_BYTES, 0.70),
            ],
            Work::GetLarge => vec![
                ContestantPlan::ours(0),
                azurite(3.0),
                ContestantPlan::bare(LARGE_BYTES, 0.70),
                ContestantPlan::nginx(LARGE_BYTES as u64, 0.70),
            ],
            Work::Range => {
                vec![
                    ContestantPlan::ours(0),
                    ContestantPlan::bare(RANGE_BYTES, 0.60),
                    ContestantPlan::nginx(file_bytes, 0.60),
                ]
            }
            Work::Blocks => {
                vec![ContestantPlan::ours(0), ContestantPlan::files("file+md5", BLOCKS * BLOCK_BYTES, 0.60)]
            }
            Work::List => vec![
                ContestantPlan::ours(0),
                ContestantPlan::also_ours("last page", 1, SAME_GOAL),
                ContestantPlan::azurite(0, Some(Goal::Cpu(20.0))),
            ],
            Work::Delimiter => {
                vec![
                    ContestantPlan::ours(options.deep / PREFIXES),
                    ContestantPlan::also_ours("10 per prefix", 10, SAME_GOAL),
                ]
            }
            Work::Deep => vec![
                ContestantPlan::ours(options.deep),
                ContestantPlan::also_ours("1000 blobs", SHALLOW, DEEP_GOAL),
            ],
            Work::Append | Work::Page => vec![ContestantPlan::ours(0), ContestantPlan::bare(0, 0.40)],
            Work::Tags => vec![
                ContestantPlan::ours(options.deep),
                ContestantPlan::also_ours("1000 blobs", SHALLOW, SAME_GOAL),
            ],
        }
    }
}
