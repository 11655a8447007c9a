//! Pieces in use: a piece that is being read or copied is not freed.
//!
//! Invariant: one lock covers both pinning a piece and deciding to free it. A reader pins the piece first and
//! looks it up afterwards, so it either protects the piece or finds it missing before the first byte.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::content::piece::{Piece, Spot};

/// The pins of one store.
#[derive(Clone, Debug, Default)]
pub struct Pins(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    pieces: HashMap<Spot, usize>,
    all: usize,
}

impl Pins {
    /// Keeps `pieces` until the result is dropped.
    pub fn pin(&self, pieces: &[Piece]) -> Pinned {
        let spots: Vec<Spot> = pieces.iter().map(Piece::spot).collect();
        let mut counts = self.lock();
        spots.iter().for_each(|spot| *counts.pieces.entry(*spot).or_default() += 1);
        drop(counts);
        Pinned { pins: self.clone(), spots, is_all: false }
    }

    /// Keeps everything until the result is dropped.
    pub fn pin_all(&self) -> Pinned {
        self.lock().all += 1;
        Pinned { pins: self.clone(), spots: Vec::new(), is_all: true }
    }

    /// Passes each piece that is not pinned to `free`, which must make it unreadable, and returns the others.
    pub fn free(&self, pieces: Vec<Piece>, mut free: impl FnMut(Piece)) -> Vec<Piece> {
        let counts = self.lock();
        let is_pinned = |piece: &Piece| counts.all > 0 || counts.pieces.contains_key(&piece.spot());
        let (pinned, unused): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(is_pinned);
        unused.into_iter().for_each(&mut free);
        pinned
    }

    /// Passes each stream in which nothing is pinned to `free`, which must make it unreadable; `false` if some are left.
    pub fn free_streams(&self, streams: &[u64], mut free: impl FnMut(u64)) -> bool {
        let counts = self.lock();
        if counts.all > 0 {
            return streams.is_empty();
        }
        let pinned: HashSet<u64> = counts.pieces.keys().map(|spot| spot.stream).collect();
        let (left, unused): (Vec<u64>, Vec<u64>) = streams.iter().partition(|stream| pinned.contains(stream));
        unused.into_iter().for_each(&mut free);
        left.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps pieces readable until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the pin"]
pub struct Pinned {
    pins: Pins,
    spots: Vec<Spot>,
    is_all: bool,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let mut counts = self.pins.lock();
        counts.all -= usize::from(self.is_all);
        for spot in &self.spots {
            if let Some(count) = counts.pieces.get_mut(spot) {
                *count -= 1;
                if *count == 0 {
                    counts.pieces.remove(spot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64) -> Piece {
        Piece { stream: 1, offset, length: 1, crc: 0 }
    }

    #[test]
    fn pinned_pieces_are_not_freed() {
        let pins = Pins::default();
        let free = |pieces: Vec<Piece>| {
            let mut freed = vec![];
            let pinned = pins.free(pieces, |piece| freed.push(piece));
            (freed, pinned)
        };
        let (first, second) = (pins.pin(&[piece(0), piece(4096)]), pins.pin(&[piece(0)]));
        assert_eq!(free(vec![piece(0), piece(8192)]), (vec![piece(8192)], vec![piece(0)]));
        drop(first);
        assert_eq!(free(vec![piece(0), piece(4096)]), (vec![piece(4096)], vec![piece(0)]));
        drop(second);
        let all = pins.pin_all();
        assert_eq!(free(vec![piece(0)]), (vec![], vec![piece(0)]));
        drop(all);
        assert_eq!(free(vec![piece(0)]), (vec![piece(0)], vec![]));
    }

    #[test]
    fn streams_with_a_pin_are_not_freed() {
        let pins = Pins::default();
        let free = |streams: &[u64]| {
            let mut freed = vec![];
            let is_all = pins.free_streams(streams, |stream| freed.push(stream));
            (freed, is_all)
        };
        let pinned = pins.pin(&[piece(4096)]);
        assert_eq!(free(&[1, 2]), (vec![2], false));
        drop(pinned);
        let all = pins.pin_all();
        assert_eq!((free(&[1]), free(&[])), ((vec![], false), (vec![], true)));
        drop(all);
        assert_eq!(free(&[1, 2]), (vec![1, 2], true));
    }
}
