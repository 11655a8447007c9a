//! Finds the pieces that rows refer to. A sweep, a copy and a check need them, and only the services know how
//! to find them.

use super::{Content, Piece, Swept};
use crate::types::{RowView, TableId};
use crate::{Engine, Result};

/// Bytes of rows read at a time.
const PAGE_BYTES: usize = 1024 * 1024;

/// Finds the pieces that rows refer to. It sees all rows of an engine in the order of a dump, the system table first.
pub trait Naming: Send {
    /// Passes every piece in the row to `see`. A row that cannot be decoded is an error, and no content may be
    /// freed after it.
    fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()>;
}

/// Receives a piece that a row refers to. The flag says that the piece must be stored; otherwise it may have
/// been released, because the row is about to be removed.
pub type See<'a> = dyn FnMut(Piece, bool) + 'a;

/// Rows without content.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamesNothing;

impl Naming for NamesNothing {
    fn pieces(&mut self, _: TableId, _: RowView<'_>, _: &mut See<'_>) -> Result<()> {
        Ok(())
    }
}

/// Sweeps the content of an engine: frees the content that earlier processes stored and no row refers to.
/// Nothing is freed if a row cannot be read or decoded.
pub async fn sweep(engine: &dyn Engine, content: &dyn Content, naming: &mut dyn Naming) -> Result<Swept> {
    // Begin the sweep before the dump: the sweep ignores content that is stored later, which the dump may not show.
    let mut sweep = content.sweep().await?;
    let mut dump = engine.dump().await?;
    loop {
        let rows = dump.next(PAGE_BYTES).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            naming.pieces(row.table, row.row.view(), &mut |piece, _| sweep.keep(&piece))?;
        }
    }
    drop(dump);
    sweep.finish().await
}
