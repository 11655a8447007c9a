//! Frees content that earlier processes left behind and that no row refers to.
//!
//! Invariant: the sweep covers only packs that existed when this process opened the store. No upload
//! of this process writes to them, so content in them that no row refers to now will never be referenced.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazuli_engine::content::{ContentSweep, Piece, Swept, Units, units_of};
use lazuli_engine::{EngineFuture, Result};

use super::limits::SWEEP_PACKS_MAX;
use super::pack::{Pack, PackKind, PackState, checked};
use super::packs::Packs;
use crate::store::blocking;

/// A sweep in progress.
pub struct PackSweep {
    packs: Arc<Packs>,
    covered: BTreeMap<u64, Covered>,
    /// There are more packs than one sweep covers.
    is_partial: bool,
}

/// A pack that the sweep covers.
struct Covered {
    pack: Arc<Pack>,
    kept: Units,
}

impl PackSweep {
    /// Starts with the packs that no sweep has covered yet, then takes those that were swept before.
    pub fn new(packs: &Arc<Packs>) -> Self {
        let is_former = |pack: &Arc<Pack>| pack.state().kind == PackKind::Former;
        let mut former: Vec<Arc<Pack>> = packs.from(0).into_iter().filter(is_former).collect();
        former.sort_by_key(|pack| pack.state().is_swept);
        let unswept = former.iter().filter(|pack| !pack.state().is_swept).count();
        let covered = former.into_iter().take(SWEEP_PACKS_MAX);
        Self {
            packs: Arc::clone(packs),
            covered: covered.map(|pack| (pack.number, Covered { pack, kept: Units::default() })).collect(),
            is_partial: unswept > SWEEP_PACKS_MAX,
        }
    }

    fn end(self) -> Result<Swept> {
        let mut swept = Swept::default();
        let mut data = BTreeMap::new();
        // Before taking the lock of the pins: this reads from the disk.
        for covered in self.covered.values() {
            let found = checked("read", &covered.pack.path, covered.pack.data())?;
            data.insert(covered.pack.number, found);
        }
        let numbers: Vec<u64> = self.covered.keys().copied().collect();
        let is_all = self.packs.pins.free_streams(&numbers, |number| {
            if let (Some(covered), Some(data)) = (self.covered.get(&number), data.remove(&number)) {
                settle(&mut covered.pack.state(), &covered.kept, data, &mut swept);
            }
        });
        numbers.into_iter().for_each(|number| self.packs.due.add(number));
        swept.is_complete = is_all && !self.is_partial;
        Ok(swept)
    }
}

/// Marks as dead everything that was not kept.
fn settle(state: &mut PackState, kept: &Units, mut data: Units, swept: &mut Swept) {
    if state.kind != PackKind::Former {
        return;
    }
    let mut live = kept.clone();
    live.subtract(&state.dead);
    swept.kept_bytes += live.bytes();
    let end = units_of(0, state.end);
    let gone: Vec<_> = live.gaps(end).collect();
    data.subtract(&state.dead);
    data.subtract(&live);
    gone.into_iter().for_each(|run| state.dead.add(run));
    swept.freed_bytes += data.bytes();
    data.runs().for_each(|run| state.to_free.add(run));
    state.is_swept = true;
}

impl ContentSweep for PackSweep {
    fn keep(&mut self, piece: &Piece) {
        if let Some(covered) = self.covered.get_mut(&piece.stream) {
            let end = covered.pack.state().end;
            let units = units_of(piece.offset, piece.footprint());
            let stop = units.end.min(units_of(0, end).end);
            covered.kept.add(units.start.min(stop)..stop);
        }
    }

    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(blocking(move || self.end()))
    }
}
