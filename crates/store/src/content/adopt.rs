//! Puts pieces of another store into packs, under their names.
//!
//! Invariant: existing bytes are never overwritten, unless they are equal or zeros.

use std::io::IoSlice;
use std::sync::PoisonError;

use bytes::Bytes;
use lazuli_engine::content::checksum::{Summing, verify_piece};
use lazuli_engine::content::{ALIGN_BYTES, Piece, units_of};
use lazuli_engine::{Error, Result};

use super::disk;
use super::inner::Inner;
use super::pack::{Pack, PackKind, checked, io_error};
use super::packs::Lane;
use super::syncer::Synced;

/// The previous bytes.
enum Before {
    /// The same bytes.
    Same,
    /// Nothing, or zeros.
    Free,
    /// Something else.
    Other,
}

/// Stores a piece. It is durable once the returned sync has completed. May block.
pub fn adopt(inner: &Inner, piece: Piece, bytes: &Bytes) -> Result<Option<Synced>> {
    if !piece.is_valid() {
        return Err(Error::Corrupt(format!("{piece} is not a valid piece")));
    }
    verify_piece(piece, bytes)?;
    let mut summing = Summing::default();
    summing.add(bytes);
    let (_, table) = summing.finish();
    let Some(pack) = inner.packs.adopting(&piece)? else {
        // This process already stores it, or has assigned the range to an upload.
        let pack = inner.packs.find(piece.stream).filter(|pack| !pack.is_dead(&piece));
        return match pack.map(|pack| before(&pack, &piece, bytes, &table)).transpose()? {
            Some(Before::Same) => Ok(None),
            _ => Err(in_use(&piece)),
        };
    };
    // Ranges of the pack that are being freed must be free before they are written again.
    let freeing = pack.freeing.lock().unwrap_or_else(PoisonError::into_inner);
    match before(&pack, &piece, bytes, &table)? {
        Before::Other => return Err(in_use(&piece)),
        Before::Same | Before::Free => {}
    }
    let file = checked("open", &pack.path, pack.file())?;
    let mut buffers = [IoSlice::new(bytes), IoSlice::new(&table)];
    checked("write to", &pack.path, inner.packs.disk.write(&file, &mut buffers, piece.offset))?;
    revive(&pack, &piece);
    drop(freeing);
    inner.syncers.ask(Lane::Large, &pack).map(Some)
}

/// Marks the range of the piece as in use again.
fn revive(pack: &Pack, piece: &Piece) {
    let units = units_of(piece.offset, piece.footprint());
    let mut state = pack.state();
    debug_assert_eq!(state.kind, PackKind::Adopted);
    let end = piece.offset + piece.footprint();
    if end > state.end {
        let gap = units_of(state.end, end - state.end);
        state.dead.add(gap);
        state.end = end;
    }
    state.dead.remove(units.clone());
    state.to_free.remove(units);
}

fn before(pack: &Pack, piece: &Piece, bytes: &[u8], table: &[u8]) -> Result<Before> {
    let file = checked("open", &pack.path, pack.file())?;
    let length = usize::try_from(piece.footprint()).unwrap_or(usize::MAX);
    let found = disk::read(&file, length, piece.offset).map_err(|e| io_error("read", &pack.path, &e))?;
    let is_same = found.len() >= bytes.len() + table.len()
        && found.starts_with(bytes)
        && found[bytes.len()..].starts_with(table);
    debug_assert!(piece.offset.is_multiple_of(ALIGN_BYTES));
    Ok(if is_same {
        Before::Same
    } else if found.iter().all(|&byte| byte == 0) {
        Before::Free
    } else {
        Before::Other
    })
}

fn in_use(piece: &Piece) -> Error {
    Error::Unavailable(format!("cannot copy {piece}: other content is stored under its name"))
}
