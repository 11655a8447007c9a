//! The memory that the responses of the Blob service take while they are built; see [`crate::memory`].

use lazuli_model::blob::block::BlockListFilter;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::limits::{COMMITTED_BLOCKS_MAX, LIST_PAGE_BYTES_MAX, UNCOMMITTED_BLOCKS_MAX};
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{Operation, Outcome};

use crate::memory::{
    ALONE_BYTES_MAX, COMMITTED_BLOCK_BYTES, LISTED_BLOCK_BYTES, LISTED_BYTES, LISTING_BYTES, PAGE_BYTES,
};

/// Entries of a listing that is encoded without a permit.
const SMALL_ENTRIES_MAX: usize = 250;

const _: () = assert!(LIST_PAGE_BYTES_MAX < LISTING_BYTES);
const _: () =
    assert!((COMMITTED_BLOCKS_MAX + UNCOMMITTED_BLOCKS_MAX) * LISTED_BLOCK_BYTES <= ALONE_BYTES_MAX);
const _: () = assert!(COMMITTED_BLOCKS_MAX * COMMITTED_BLOCK_BYTES <= ALONE_BYTES_MAX);

/// The memory that an operation takes besides its body and its content.
pub fn build_bytes(operation: &Operation) -> usize {
    match operation {
        Operation::ListContainers(list) => listing(list.max_results, PAGE_BYTES),
        Operation::FindBlobs(_, find) => listing(find.max_results, LISTING_BYTES),
        Operation::Container(request) => match &request.action {
            ContainerAction::ListBlobs(list) => listing(list.max_results, LISTING_BYTES),
            _ => 0,
        },
        Operation::Blob(request) => match &request.action {
            BlobAction::GetBlockList(filter) => block_list(*filter),
            BlobAction::PutBlockList(list, _) => list.len() * COMMITTED_BLOCK_BYTES,
            BlobAction::GetPageRanges(_) => PAGE_BYTES,
            _ => 0,
        },
        _ => 0,
    }
}

fn listing(max_results: u32, whole: usize) -> usize {
    usize::try_from(max_results).unwrap_or(usize::MAX).saturating_mul(LISTED_BYTES).min(whole)
}

fn block_list(filter: BlockListFilter) -> usize {
    let committed = if filter.has_committed() { COMMITTED_BLOCKS_MAX } else { 0 };
    let uncommitted = if filter.has_uncommitted() { UNCOMMITTED_BLOCKS_MAX } else { 0 };
    (committed + uncommitted) * LISTED_BLOCK_BYTES
}

/// Is the response so large that the number of such responses being encoded is limited?
pub fn is_large(outcome: &Outcome) -> bool {
    let entries = match outcome {
        Outcome::Blobs(page) => page.entries.len(),
        Outcome::Containers(page) => page.items.len(),
        Outcome::Found(page) => page.items.len(),
        Outcome::BlockList(list) => {
            [&list.committed, &list.uncommitted].into_iter().flatten().map(Vec::len).sum()
        }
        _ => 0,
    };
    entries > SMALL_ENTRIES_MAX
}
