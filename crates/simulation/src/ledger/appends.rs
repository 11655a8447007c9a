//! The append blob: every acknowledged piece occurs once, at the offset in its response, and nothing ever
//! moves.

use super::Checked;
use crate::network::Fate;

/// Knowledge about a piece.
#[derive(Clone, Copy, Debug, Default)]
struct AppendedPiece {
    fate: Option<Fate>,
    /// Its offset, if a response has shown it.
    offset: Option<u64>,
    /// The server can no longer append it, so the next read shows its outcome.
    is_overdue: bool,
}

/// All pieces by number. Numbers start at 1.
#[derive(Default)]
pub struct AppendLedger(Vec<AppendedPiece>);

/// The expected result of a read that begins now.
#[derive(Clone, Debug, Default)]
pub struct AppendFloor {
    /// Pieces whose offset is known.
    known: Vec<u64>,
    /// Pieces that have been appended by now, or never will be.
    overdue: Vec<u64>,
}

impl AppendLedger {
    /// Records that a piece is about to be appended. Returns its number.
    pub fn begin(&mut self) -> u64 {
        self.0.push(AppendedPiece::default());
        self.0.len() as u64
    }

    /// Records the outcome. `offset` is the one in the response.
    pub fn settle(&mut self, number: u64, fate: Fate, offset: Option<u64>) -> Checked {
        let Some(piece) = self.piece(number) else { return Ok(()) };
        piece.fate = Some(fate);
        match (fate, piece.offset) {
            (Fate::Applied, None) => piece.offset = offset,
            (Fate::Applied, seen) if seen != offset => {
                return Err(format!("piece {number} was appended at {offset:?}, but was read at {seen:?}"));
            }
            (Fate::Rejected, Some(seen)) => {
                return Err(format!("piece {number} was rejected, but was read at {seen}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Records that an append of unknown outcome has been applied by now, or never will be.
    pub fn give_up(&mut self, number: u64) {
        if let Some(piece) = self.piece(number) {
            piece.is_overdue = true;
        }
    }

    /// The expected result of a read that begins now.
    pub fn floor(&self) -> AppendFloor {
        let mut floor = AppendFloor::default();
        for (number, piece) in (1..).zip(&self.0) {
            match piece.offset {
                Some(_) => floor.known.push(number),
                None if piece.is_overdue && piece.fate == Some(Fate::Unknown) => floor.overdue.push(number),
                None => {}
            }
        }
        floor
    }

    /// Checks the result of a read: the numbers of the pieces with their offsets.
    pub fn check(&mut self, floor: &AppendFloor, seen: &[(u64, u64)]) -> Checked {
        for (at, (number, offset)) in seen.iter().enumerate() {
            if seen[..at].iter().any(|(earlier, _)| earlier == number) {
                return Err(format!("piece {number} was appended twice: {seen:?}"));
            }
            let Some(piece) = self.piece(*number) else {
                return Err(format!("piece {number} was never appended"));
            };
            if piece.fate == Some(Fate::Rejected) {
                return Err(format!("piece {number} was rejected or never applied, but is there"));
            }
            let known = *piece.offset.get_or_insert(*offset);
            if known != *offset {
                return Err(format!("piece {number} has moved from {known} to {offset}"));
            }
        }
        let is_seen = |number: &u64| seen.iter().any(|(other, _)| other == number);
        if let Some(number) = floor.known.iter().find(|number| !is_seen(number)) {
            return Err(format!("piece {number} is lost: {seen:?}"));
        }
        for number in floor.overdue.iter().filter(|number| !is_seen(number)) {
            if let Some(piece) = self.piece(*number) {
                piece.fate = Some(Fate::Rejected);
            }
        }
        Ok(())
    }

    fn piece(&mut self, number: u64) -> Option<&mut AppendedPiece> {
        self.0.get_mut(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(offsets: &[u64]) -> AppendLedger {
        let mut ledger = AppendLedger::default();
        for offset in offsets {
            let number = ledger.begin();
            assert_eq!(ledger.settle(number, Fate::Applied, Some(*offset)), Ok(()));
        }
        ledger
    }

    #[test]
    fn lost_moved_and_repeated_pieces_are_found() {
        for (seen, is_right) in [
            (&[(1, 0), (2, 8)][..], true),
            (&[(1, 0)][..], false),
            (&[(2, 0), (1, 8)][..], false),
            (&[(1, 0), (2, 8), (2, 16)][..], false),
            (&[(1, 0), (2, 8), (3, 16)][..], false),
        ] {
            let mut ledger = appended(&[0, 8]);
            let floor = ledger.floor();
            assert_eq!(ledger.check(&floor, seen).is_ok(), is_right, "{seen:?}");
        }
    }

    #[test]
    fn a_piece_of_unknown_outcome_is_there_from_some_time_on_or_never() {
        let mut ledger = appended(&[0]);
        let number = ledger.begin();
        assert_eq!(ledger.settle(number, Fate::Unknown, None), Ok(()));
        let floor = ledger.floor();
        assert_eq!(ledger.check(&floor, &[(1, 0)]), Ok(()), "it may come later");
        ledger.give_up(number);
        let floor = ledger.floor();
        assert_eq!(ledger.check(&floor, &[(1, 0)]), Ok(()));
        let floor = ledger.floor();
        assert!(ledger.check(&floor, &[(1, 0), (2, 8)]).is_err(), "it was not there");
    }
}
