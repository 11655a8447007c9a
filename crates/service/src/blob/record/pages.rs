//! The part of a page blob's record that says which rows of pages belong to it.

use lazuli_engine::Result;
use lazuli_model::blob::limits::PAGE_BYTES;

use crate::blob::codec::{Decoder, Encoder, corrupt};
use crate::blob::keyspace::Generation;

/// The pages of a state: of the blob, or of one of its snapshots.
///
/// A snapshot keeps this record, and the blob continues in the next epoch, so taking a snapshot copies no
/// pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The generation of the rows.
    pub generation: Generation,
    /// Rows of later epochs are not part of this state.
    pub epoch: u32,
    /// Number of large clears so far.
    pub serial: u32,
    /// Number of large clears when the epoch began: later ones are not applied to cells of earlier epochs.
    pub epoch_serial: u32,
    /// Large clears that may not be applied to all rows yet.
    pub clears: Vec<Clear>,
    /// There may be rows that only a deleted snapshot needed.
    pub has_spare_rows: bool,
    /// The division of the pages into rows.
    pub grid: Grid,
}

/// The number of pages that share a row. It is a property of the generation, so it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    cell_pages: u8,
}

impl Grid {
    /// 16 KiB: the only grid of earlier versions. A write of 4 KiB writes four times its size.
    pub const COARSE: Grid = Grid { cell_pages: 32 };
    /// 4 KiB: the size of most writes.
    pub const FINE: Grid = Grid { cell_pages: 8 };

    /// Pages of a cell.
    pub fn cell_pages(self) -> u32 {
        self.cell_pages.into()
    }

    /// Bytes of a cell.
    pub fn cell_bytes(self) -> u64 {
        u64::from(self.cell_pages) * PAGE_BYTES
    }

    /// The cell that contains a byte.
    pub fn cell_of(self, offset: u64) -> u32 {
        u32::try_from(offset / self.cell_bytes()).unwrap_or(u32::MAX)
    }

    /// The first byte of a cell.
    pub fn start_of(self, cell: u32) -> u64 {
        u64::from(cell) * self.cell_bytes()
    }

    /// The first byte of a page within its cell.
    pub fn page_start(self, page: u32) -> u64 {
        u64::from(page) * PAGE_BYTES
    }

    /// The pages of a cell that overlap a range of bytes. Both ends of the range are multiples of the page
    /// size. The lowest bit stands for the first page.
    pub fn mask_of(self, cell: u32, start: u64, end: u64) -> u32 {
        let base = self.start_of(cell);
        let page = |offset: u64| (offset.clamp(base, base + self.cell_bytes()) - base) / PAGE_BYTES;
        let (first, last) = (page(start), page(end));
        // At most 32, so the shifts cannot overflow in 64 bits.
        let below = |pages: u64| (1_u64 << pages) - 1;
        if first >= last { 0 } else { (below(last) & !below(first)) as u32 }
    }

    /// All pages of a cell.
    pub fn whole(self) -> u32 {
        self.mask_of(0, 0, self.cell_bytes())
    }
}

/// A range that was cleared without touching its rows. A row that was written before has a smaller serial
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// Its number.
    pub serial: u32,
}

impl Pages {
    /// The pages of a new blob: none.
    pub fn new(generation: Generation) -> Self {
        Self::on(Grid::FINE, generation)
    }

    /// The same with a specified grid.
    pub fn on(grid: Grid, generation: Generation) -> Self {
        let (epoch, serial, epoch_serial) = (0, 0, 0);
        Self { generation, epoch, serial, epoch_serial, clears: Vec::new(), has_spare_rows: false, grid }
    }

    pub fn encode(&self, value: &mut Encoder) {
        value.raw(&self.generation.0.to_be_bytes());
        value.number(self.epoch.into()).number(self.serial.into()).number(self.epoch_serial.into());
        value.number(self.has_spare_rows.into());
        value.number(self.clears.len() as u64);
        for Clear { start, end, serial } in &self.clears {
            value.number(*start).number(*end).number((*serial).into());
        }
        if self.grid != Grid::COARSE {
            value.number(self.grid.cell_pages.into());
        }
    }

    pub fn decode(value: &mut Decoder) -> Result<Self> {
        let generation = Generation(u64::from_be_bytes(value.array()?));
        let (epoch, serial, epoch_serial) = (value.small()?, value.small()?, value.small()?);
        let has_spare_rows = value.number()? == 1;
        let read = |value: &mut Decoder| {
            let (start, end, serial) = (value.number()?, value.number()?, value.small()?);
            if start < end { Ok(Clear { start, end, serial }) } else { Err(corrupt("a clear is empty")) }
        };
        let clears = (0..value.count()?).map(|_| read(value)).collect::<Result<_>>()?;
        let grid = match value.is_empty() {
            true => Grid::COARSE,
            false => match value.small()? {
                8 => Grid::FINE,
                _ => return Err(corrupt("pages have an unknown grid")),
            },
        };
        Ok(Self { generation, epoch, serial, epoch_serial, clears, has_spare_rows, grid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_the_pages_of_a_range() {
        let (coarse, fine) = (Grid::COARSE, Grid::FINE);
        let bytes = coarse.cell_bytes();
        assert_eq!(coarse.mask_of(0, 0, 512), 1);
        assert_eq!(coarse.mask_of(0, 512, 1536), 0b110);
        assert_eq!(coarse.mask_of(0, 0, u64::MAX), u32::MAX);
        assert_eq!(coarse.mask_of(1, 0, bytes + 512), 1);
        assert_eq!(coarse.mask_of(1, 0, bytes), 0);
        assert_eq!(coarse.mask_of(1, bytes * 2 - 512, bytes * 3), 1 << 31);
        assert_eq!(coarse.mask_of(0, 512, 512), 0);
        assert_eq!(fine.mask_of(3, 0, u64::MAX), 0xff);
        assert_eq!(fine.mask_of(1, 4096 + 512, 4096 + 1024), 0b10);
        assert_eq!((coarse.whole(), fine.whole()), (u32::MAX, 0xff));
        assert_eq!((fine.cell_of(4095), fine.cell_of(4096), fine.start_of(2)), (0, 1, 8192));
    }

    /// Blobs of earlier versions have no grid in their records.
    #[test]
    fn records_without_a_grid_are_coarse() {
        for (pages, bytes) in [(Pages::on(Grid::COARSE, Generation(1)), 13), (Pages::new(Generation(1)), 14)]
        {
            let mut encoder = Encoder::default();
            pages.encode(&mut encoder);
            let record = encoder.finish();
            assert_eq!(record.len(), bytes);
            assert_eq!(Pages::decode(&mut Decoder::new(record)), Ok(pages));
        }
        let mut unknown = Encoder::default();
        Pages::on(Grid::COARSE, Generation(1)).encode(&mut unknown);
        unknown.number(16);
        assert!(Pages::decode(&mut Decoder::new(unknown.finish())).is_err());
    }
}
