//! The part of a page blob's record that says which rows of pages belong to it.

use lazuli_engine::Result;

use crate::blob::codec::{Decoder, Encoder, corrupt};
use crate::blob::keyspace::Generation;

/// The pages of a state: of the blob, or of one of its snapshots.
///
/// A snapshot keeps this record and the blob continues in the next epoch, so a snapshot copies no pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The generation of the rows.
    pub generation: Generation,
    /// Rows of later epochs are not part of this state.
    pub epoch: u32,
    /// Number of large clears so far.
    pub serial: u32,
    /// Number of large clears when the epoch began: cells of earlier epochs know of no later ones.
    pub epoch_serial: u32,
    /// Large clears that some rows may not reflect yet.
    pub clears: Vec<Clear>,
    /// Rows may be left that only a deleted snapshot needed.
    pub has_spare_rows: bool,
}

/// A range that was cleared without touching the rows in it. A row that was written before has a smaller serial.
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
        let (epoch, serial, epoch_serial) = (0, 0, 0);
        Self { generation, epoch, serial, epoch_serial, clears: Vec::new(), has_spare_rows: false }
    }

    pub fn encode(&self, value: &mut Encoder) {
        value.raw(&self.generation.0.to_be_bytes());
        value.number(self.epoch.into()).number(self.serial.into()).number(self.epoch_serial.into());
        value.number(self.has_spare_rows.into());
        value.number(self.clears.len() as u64);
        for Clear { start, end, serial } in &self.clears {
            value.number(*start).number(*end).number((*serial).into());
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
        Ok(Self { generation, epoch, serial, epoch_serial, clears, has_spare_rows })
    }
}
