//! Lists stored content: extents for a check, and sums for monitoring.

use std::io;
use std::sync::atomic::Ordering;

use lazuli_engine::Result;
use lazuli_engine::content::{ALIGN_BYTES, ContentStatus, Extent, ExtentPage, Spot, Units};

use super::limits::LIST_EXTENTS_MAX;
use super::pack::{Pack, checked};
use super::packs::Packs;

/// The extents from `from` on. May block.
pub fn list(packs: &Packs, from: Spot) -> Result<ExtentPage> {
    let mut listing = ExtentPage::default();
    for pack in packs.from(from.stream) {
        let stored = checked("read", &pack.path, stored(&pack))?;
        let first = if pack.number == from.stream { from.offset / ALIGN_BYTES } else { 0 };
        // Offsets are far below the size of an address space.
        let mut at = first as usize;
        while let Some(run) = stored.run(at) {
            let start = Spot { stream: pack.number, offset: run.start as u64 * ALIGN_BYTES };
            if listing.extents.len() == LIST_EXTENTS_MAX {
                listing.next = Some(start);
                return Ok(listing);
            }
            listing.extents.push(Extent { start, bytes: run.len() as u64 * ALIGN_BYTES });
            at = run.end;
        }
    }
    Ok(listing)
}

/// The units that take up space and are not dead.
fn stored(pack: &Pack) -> io::Result<Units> {
    let mut units = pack.data()?;
    units.subtract(&pack.state().dead);
    Ok(units)
}

/// The amounts of stored content. May block.
pub fn status(packs: &Packs) -> Result<ContentStatus> {
    let mut status = ContentStatus::default();
    for pack in packs.from(0) {
        if pack.state().is_unswept() && pack.state().data.is_none() {
            let stored = checked("read", &pack.path, stored(&pack))?.bytes();
            let mut state = pack.state();
            state.data = Some(stored + state.dead.bytes());
        }
        let state = pack.state();
        status.live += state.live();
        status.writing += state.writing;
        status.dead += state.to_free.bytes() + state.stuck;
        if state.is_unswept() {
            status.unswept += state.data.unwrap_or(0).saturating_sub(state.dead.bytes());
        }
    }
    // Read in the reverse order of the changes: bytes that are no longer dead have been counted as freed.
    status.dead += packs.removing.load(Ordering::SeqCst);
    status.freed = packs.freed.load(Ordering::SeqCst);
    Ok(status)
}
