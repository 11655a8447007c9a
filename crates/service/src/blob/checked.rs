//! Reads bytes as every kind of record of the blob service: for fuzzing. A record that can be read survives being written and
//! read again.

use bytes::Bytes;

use super::event;
use super::page::cell::Cell;
use super::record::{ContainerData, Head, Staged};
use super::segment::{Entry, Segment};

/// Panics if a record is lost when it is written and read again.
#[doc(hidden)]
pub fn check_records(bytes: &[u8]) {
    let bytes = Bytes::copy_from_slice(bytes);
    if let Ok(head) = Head::decode(&bytes) {
        let again = head.encode();
        assert_eq!(Head::is_blob(&again), head.blob.is_some());
        assert_eq!(Head::has_deleted(&again), head.deleted.is_some());
        // Not the head itself: a lease of dropped blocks, which no server writes, is left out.
        assert_eq!(Head::decode(&again).map(|head| head.encode()), Ok(again));
    }
    if let Ok(data) = ContainerData::decode(&bytes) {
        assert_eq!(ContainerData::decode(&data.encode()), Ok(data));
    }
    if let Ok(block) = Staged::decode(bytes.clone()) {
        assert_eq!(Staged::decode(block.encode()), Ok(block));
    }
    if let Ok(segment) = Segment::decode(bytes.clone()) {
        let _ = segment.find(u64::MAX);
        let _ = segment.entries.iter().map(Entry::length).max();
        assert_eq!(Segment::decode(segment.encode()), Ok(segment));
    }
    if let Ok(cell) = Cell::decode(bytes.clone()) {
        assert_eq!(cell.written() & cell.cleared(), 0);
        let masks = Cell::decode_masks(&bytes).map(|masks| (masks.written(), masks.cleared()));
        assert_eq!(masks, Ok((cell.written(), cell.cleared())));
        assert_eq!(Cell::decode(cell.encode()), Ok(cell));
    }
    event::check_record(&bytes);
}
