//! A cell: neighbouring pages of a page blob, as of the end of one epoch.
//!
//! A cell contains the pages that were written in its epoch, and records those that were cleared. All others
//! are taken from cells of earlier epochs. The [`Grid`] of a blob defines the number of pages in its cells.

use bytes::{Bytes, BytesMut};
use lazuli_engine::Result;
use lazuli_model::blob::limits::PAGE_BYTES;

use crate::blob::codec::{Decoder, Encoder, corrupt};
use crate::blob::record::{Clear, Grid};

/// Maximum pages of a cell in any grid.
const PAGES_MAX: u32 = Mask::BITS;
const FORMAT: u8 = 1;
const HEADER_BYTES: usize = 13;
const PAGE: usize = PAGE_BYTES as usize;

/// A set of pages of a cell: the lowest bit stands for the first page.
pub type Mask = u32;

/// The pages of a cell as of the end of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Large clears up to this one are applied to the cell.
    pub serial: u32,
    /// Pages that were written.
    written: Mask,
    /// Pages that were cleared.
    cleared: Mask,
    /// The written pages in order.
    bytes: Bytes,
}

impl Cell {
    /// A cell that covers no page, with large clears up to this one applied.
    pub fn at(serial: u32) -> Self {
        Self { serial, ..Self::default() }
    }

    /// Its row.
    pub fn encode(&self) -> Bytes {
        let mut encoder = Encoder::for_record(HEADER_BYTES + self.bytes.len());
        encoder.raw(&[FORMAT]).raw(&self.serial.to_be_bytes());
        encoder.raw(&self.written.to_be_bytes()).raw(&self.cleared.to_be_bytes()).raw(&self.bytes);
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(row: Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(row);
        if decoder.byte()? != FORMAT {
            return Err(corrupt("a cell of pages has an unknown format"));
        }
        let serial = u32::from_be_bytes(decoder.array()?);
        let written = Mask::from_be_bytes(decoder.array()?);
        let cleared = Mask::from_be_bytes(decoder.array()?);
        let bytes = decoder.rest();
        if written & cleared != 0 || bytes.len() != written.count_ones() as usize * PAGE {
            return Err(corrupt("a cell of pages has a wrong length"));
        }
        Ok(Self { serial, written, cleared, bytes })
    }

    /// A cell without its bytes, read from its row: enough to know which pages it has.
    pub fn decode_masks(row: &[u8]) -> Result<Self> {
        let header = row.get(..HEADER_BYTES).ok_or_else(|| corrupt("a cell of pages is too short"))?;
        let mut decoder = Decoder::new(Bytes::copy_from_slice(header));
        if decoder.byte()? != FORMAT {
            return Err(corrupt("a cell of pages has an unknown format"));
        }
        let serial = u32::from_be_bytes(decoder.array()?);
        let written = Mask::from_be_bytes(decoder.array()?);
        let cleared = Mask::from_be_bytes(decoder.array()?);
        Ok(Self { serial, written, cleared, bytes: Bytes::new() })
    }

    /// Pages that were written and not cleared since.
    pub fn written(&self) -> Mask {
        self.written
    }

    /// Pages that were cleared and not written since.
    pub fn cleared(&self) -> Mask {
        self.cleared
    }

    /// Does it cover no page?
    pub fn is_empty(&self) -> bool {
        self.written == 0 && self.cleared == 0
    }

    /// Applies large clears that are not applied yet.
    pub fn refresh(&mut self, grid: Grid, cell: u32, clears: &[Clear]) {
        self.clear(self.unknown(grid, cell, clears));
    }

    /// Like `refresh`, for a cell without its bytes.
    pub fn refresh_masks(&mut self, grid: Grid, cell: u32, clears: &[Clear]) {
        let mask = self.unknown(grid, cell, clears);
        self.written &= !mask;
        self.cleared |= mask;
    }

    /// The pages in large clears that are not applied yet.
    fn unknown(&self, grid: Grid, cell: u32, clears: &[Clear]) -> Mask {
        let unknown = clears.iter().filter(|clear| clear.serial > self.serial);
        unknown.fold(0, |mask, clear| mask | grid.mask_of(cell, clear.start, clear.end))
    }

    /// Clears pages.
    pub fn clear(&mut self, mask: Mask) {
        if self.written & mask != 0 {
            let keep = self.written & !mask;
            self.bytes = self.pages(keep).fold(BytesMut::new(), joined).freeze();
            self.written = keep;
        }
        self.cleared |= mask;
    }

    /// Hides pages of earlier epochs that this epoch has not touched.
    pub fn hide(&mut self, mask: Mask) {
        self.cleared |= mask & !self.written;
    }

    /// `stale` are pages that earlier epochs wrote before a large clear. Returns the pages, of these and of
    /// this cell, that remain stale.
    pub fn still_stale(&self, stale: Mask, clear: &Clear, grid: Grid, cell: u32) -> Mask {
        let below = stale & !(self.written | self.cleared);
        let own = if self.serial < clear.serial { self.written } else { 0 };
        below | (own & grid.mask_of(cell, clear.start, clear.end))
    }

    /// Writes pages: `bytes` holds those of `mask` in order.
    pub fn write(&mut self, mask: Mask, bytes: &Bytes) {
        let new = Cell { written: mask, bytes: bytes.clone(), ..Cell::default() };
        self.overlay(&new);
    }

    /// Applies the writes and clears of a later cell of the same pages.
    pub fn overlay(&mut self, later: &Cell) {
        let own = self.written & !(later.written | later.cleared);
        if own == 0 {
            self.bytes = later.bytes.clone();
        } else if later.written != 0 || own != self.written {
            let all = own | later.written;
            let mut bytes = BytesMut::with_capacity(all.count_ones() as usize * PAGE);
            for page in bits(all) {
                let from = if later.written & page != 0 { later } else { &*self };
                bytes = joined(bytes, from.page(page));
            }
            self.bytes = bytes.freeze();
        }
        self.overlay_masks(later);
    }

    /// Like `overlay`, for cells without their bytes.
    pub fn overlay_masks(&mut self, later: &Cell) {
        self.cleared = (self.cleared & !later.written) | later.cleared;
        self.written = (self.written & !later.cleared) | later.written;
        self.serial = self.serial.max(later.serial);
    }

    /// The writes and clears that change an old state into this one.
    pub fn difference(&self, old: &Cell) -> Cell {
        let mut change = Cell::default();
        for n in 0..PAGES_MAX {
            match (self.page_at(n), old.page_at(n)) {
                (new, old) if new == old => {}
                (Some(page), _) => change.write(1 << n, &page),
                (None, _) => change.clear(1 << n),
            }
        }
        change
    }

    /// The written pages in order.
    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// Discards the record of cleared pages: there are no older pages that could become visible.
    pub fn forget_cleared(&mut self) {
        self.cleared = 0;
    }

    /// The bytes of one page, if it is written.
    pub fn page_at(&self, n: u32) -> Option<Bytes> {
        let page = 1 << n;
        (self.written & page != 0).then(|| self.page(page))
    }

    fn pages(&self, mask: Mask) -> impl Iterator<Item = Bytes> {
        bits(mask).map(|page| self.page(page))
    }

    /// The bytes of a written page, identified by its bit.
    fn page(&self, page: Mask) -> Bytes {
        let before = (self.written & (page - 1)).count_ones() as usize;
        self.bytes.slice(before * PAGE..(before + 1) * PAGE)
    }
}

fn joined(mut all: BytesMut, page: Bytes) -> BytesMut {
    all.extend_from_slice(&page);
    all
}

/// The bits of a mask, one by one.
fn bits(mask: Mask) -> impl Iterator<Item = Mask> {
    (0..PAGES_MAX).map(|n| 1 << n).filter(move |bit| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(byte: u8) -> Bytes {
        vec![byte; PAGE].into()
    }

    /// The view of a reader: the first byte of each page, 0 if nothing is written.
    fn seen(cell: &Cell) -> Vec<u8> {
        (0..PAGES_MAX).map(|n| cell.page_at(n).map_or(0, |page| page[0])).collect()
    }

    #[test]
    fn cells_are_read_as_written() {
        let mut cell = Cell { serial: 7, ..Cell::default() };
        cell.write(0b101, &[page(1), page(2)].concat().into());
        cell.clear(0b1000);
        let row = cell.encode();
        assert_eq!(Cell::decode(row.clone()), Ok(cell.clone()));
        assert_eq!(Cell::decode_masks(&row), Ok(Cell { bytes: Bytes::new(), ..cell }));
        for end in 0..row.len() {
            assert!(Cell::decode(row.slice(..end)).is_err(), "{end}");
        }
    }

    /// Every sequence of writes and clears, divided over two epochs at any point, results in the same pages as
    /// with an array.
    #[test]
    fn cells_agree_with_an_array_of_pages() {
        let mut state = 1_u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for _ in 0..2_000 {
            let (mut early, mut late) = (Cell::default(), Cell::default());
            let mut model = [0_u8; PAGES_MAX as usize];
            let (steps, split) = (random(8), random(8));
            for step in 0..steps {
                let (first, count) = (random(32), 1 + random(8));
                let (first, last) = (first, (first + count).min(32));
                let mask = Grid::COARSE.mask_of(0, first * PAGE_BYTES, last * PAGE_BYTES);
                let cell = if step < split { &mut early } else { &mut late };
                let byte = u8::try_from(step + 1).unwrap() * u8::from(random(3) > 0);
                let bytes = vec![byte; (last - first) as usize * PAGE];
                if byte == 0 {
                    cell.clear(mask)
                } else {
                    cell.write(mask, &bytes.into())
                }
                model[first as usize..last as usize].fill(byte);
            }
            let mut masks = Cell::decode_masks(&early.encode()).unwrap();
            masks.overlay_masks(&Cell::decode_masks(&late.encode()).unwrap());
            early.overlay(&late);
            assert_eq!(seen(&early), model);
            assert_eq!((masks.written(), masks.cleared()), (early.written(), early.cleared()));
            assert_eq!(Cell::decode(early.encode()), Ok(early));
        }
    }

    #[test]
    fn differences_turn_one_state_into_the_other() {
        let (mut old, mut new) = (Cell::default(), Cell::default());
        old.write(0b0111, &[page(1), page(2), page(3)].concat().into());
        new.write(0b1011, &[page(1), page(9), page(4)].concat().into());
        let change = new.difference(&old);
        assert_eq!((change.written(), change.cleared()), (0b1010, 0b0100));
        old.overlay(&change);
        assert_eq!(seen(&old), seen(&new));
        assert!(new.difference(&new).is_empty());
    }

    #[test]
    fn a_large_clear_hides_what_was_written_before_it() {
        let clears = [Clear { start: 512, end: 2048, serial: 3 }];
        let mut cell = Cell { serial: 2, ..Cell::default() };
        cell.write(0b1111, &[page(1), page(2), page(3), page(4)].concat().into());
        let mut newer = Cell { serial: 3, ..cell.clone() };
        cell.refresh(Grid::COARSE, 0, &clears);
        assert_eq!((cell.written(), cell.cleared()), (0b1, 0b1110));
        newer.refresh(Grid::COARSE, 0, &clears);
        assert_eq!((newer.written(), newer.cleared()), (0b1111, 0));
    }
}
