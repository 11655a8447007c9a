//! Documents of the Blob service: block lists and tags. No panic, bounded time, and an accepted document is read back unchanged.

#![no_main]

use lazuli_model::blob::block::BlockEntry;
use lazuli_model::blob::limits::COMMITTED_BLOCKS_MAX;
use lazuli_protocol::blob::{block_list, tags};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(blocks) = block_list::decode(body) {
        assert!(blocks.len() <= COMMITTED_BLOCKS_MAX);
        let entries: Vec<BlockEntry> =
            blocks.into_iter().map(|block| BlockEntry { id: block.id, size: 1 }).collect();
        let mut out = Vec::new();
        block_list::encode(&mut out, Some(&entries), None);
        assert!(out.len() >= entries.len());
    }
    if let Ok(found) = tags::decode(body) {
        let mut out = Vec::new();
        tags::encode(&mut out, &found);
        assert_eq!(tags::decode(&out), Ok(found));
    }
});
