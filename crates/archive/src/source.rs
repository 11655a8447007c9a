//! Creates the blocks of a backup from an engine that is in use.

use lazuli_engine::content::{Copied, Copy, Naming};
use lazuli_engine::{Engine, Error, Result};

use crate::block::{BLOCK_BYTES, ContentBlock, Packer};

/// Creates the blocks of a backup. While it exists, nothing that belongs to the backup is freed.
pub struct BackupSource {
    copy: Copy,
    /// `None` after the last block.
    packer: Option<Packer>,
}

impl BackupSource {
    /// Starts a backup of the current state. `naming` determines which content belongs to it.
    pub async fn begin(engine: &dyn Engine, naming: Box<dyn Naming>) -> Result<Self> {
        Ok(Self { copy: Copy::begin(engine, naming).await?, packer: Some(Packer::new()) })
    }

    /// The next block; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(packer) = &mut self.packer else { return Ok(None) };
        let block = match self.copy.next(BLOCK_BYTES).await? {
            Copied::Rows(rows) => packer.rows(&rows),
            Copied::Content { piece, offset, bytes } => {
                let packed = packer.content(&ContentBlock { piece, offset, bytes });
                packed.map_err(|error| Error::Corrupt(error.to_string()))?
            }
            Copied::End(marks) => return Ok(self.packer.take().map(|packer| packer.end(marks).0)),
        };
        Ok(Some(block))
    }

    /// Has the last block been created?
    pub fn is_over(&self) -> bool {
        self.packer.is_none()
    }
}
