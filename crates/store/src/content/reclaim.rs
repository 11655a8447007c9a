//! Frees the dead ranges of packs, on a separate thread: on some disks a call takes a millisecond.
//!
//! A failure to free space is harmless: the range is dead, and the next process sweeps it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};

use lazuli_engine::content::ALIGN_BYTES;

use super::limits::FREE_RUNS_MAX;
use super::pack::Pack;
use super::packs::Packs;
use crate::crash_point::{self, Point};

/// Starts the thread; it ends when `packs.due` is closed.
pub fn start(packs: Arc<Packs>) -> std::io::Result<JoinHandle<()>> {
    Builder::new().name("lazuli-content-free".into()).spawn(move || {
        while let Some(number) = packs.due.take() {
            if let Some(pack) = packs.find(number) {
                free(&packs, &pack);
            }
        }
    })
}

/// Frees the dead parts of a pack, or the whole pack if all of it is dead.
fn free(packs: &Packs, pack: &Pack) {
    while !packs.due.is_closed() && free_some(packs, pack) {}
    if let Err(error) = packs.remove(pack) {
        tracing::warn!(pack = %pack.path.display(), %error, "failed to remove a dead pack");
    }
}

/// Frees some ranges; `false` if there is nothing left to free, or if the whole pack will be removed.
fn free_some(packs: &Packs, pack: &Pack) -> bool {
    let _freeing = pack.freeing.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = pack.state();
    if state.is_removable() && !packs.can_punch() {
        return false;
    }
    let runs = state.to_free.take_runs(FREE_RUNS_MAX);
    let bytes: u64 = runs.iter().map(|run| run.len() as u64 * ALIGN_BYTES).sum();
    state.stuck += bytes;
    drop(state);
    if runs.is_empty() {
        return false;
    }
    if !packs.can_punch() {
        return true;
    }
    let file = match pack.file() {
        Ok(file) => file,
        Err(error) => {
            tracing::warn!(pack = %pack.path.display(), %error, "failed to open a pack to free space");
            return true;
        }
    };
    for run in runs {
        let (offset, bytes) = (run.start as u64 * ALIGN_BYTES, run.len() as u64 * ALIGN_BYTES);
        crash_point::pass(Point::BeforeContentPunch);
        match packs.disk.punch(&file, offset, bytes) {
            Ok(()) => {
                crash_point::pass(Point::AfterContentPunch);
                packs.freed.fetch_add(bytes, Ordering::SeqCst);
                pack.state().stuck -= bytes;
            }
            Err(error) => {
                tracing::warn!(pack = %pack.path.display(), offset, bytes, %error, "failed to free space");
            }
        }
    }
    true
}
