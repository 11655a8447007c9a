//! Checks the content of blobs: all content that rows refer to must exist and be intact.

use std::collections::BTreeMap;

use lazuli_archive::ContentBlock;
use lazuli_engine::content::{ALIGN_BYTES, Auditor, Content, Naming, Piece, Units, units_of};
use lazuli_engine::{RowView, TableId};
use lazuli_service::naming;

use super::Outcome;
use crate::progress::{bytes_text, plural, thousands};
use crate::runtime::{self, Runtime};

/// Maximum number of findings that are listed. All are counted.
const EXAMPLES_MAX: usize = 100;

/// Problems with content.
#[derive(Default)]
struct Found {
    findings: u64,
    examples: Vec<String>,
}

impl Found {
    fn add(&mut self, what: String) {
        self.findings += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(what);
        }
    }
}

/// Reads all content that the rows of a store refer to.
pub struct OfStore<'a> {
    runtime: Runtime,
    naming: Box<dyn Naming>,
    auditor: Auditor<'a>,
    found: Found,
}

impl<'a> OfStore<'a> {
    /// Checks the content of a store.
    pub fn new(content: &'a dyn Content) -> Result<Self, String> {
        let (auditor, found) = (Auditor::new(content), Found::default());
        Ok(Self { runtime: runtime::one_thread()?, naming: naming(), auditor, found })
    }

    /// Bytes of content read so far.
    pub fn bytes(&self) -> u64 {
        self.auditor.so_far().bytes
    }

    /// Reads the content that a row refers to.
    pub fn see(&mut self, table: TableId, row: RowView<'_>) {
        let mut pieces = Vec::new();
        if let Err(error) =
            self.naming.pieces(table, row, &mut |piece, is_certain| pieces.push((piece, is_certain)))
        {
            self.found.add(format!("{}: {error}", name(table, row)));
        }
        for (piece, is_certain) in pieces {
            let checked = self.runtime.block_on(self.auditor.check(&piece, is_certain));
            if let Ok(Err(error)) | Err(error) = checked {
                self.found.add(format!("{}: {error}", name(table, row)));
            }
        }
    }

    /// Reports the result.
    pub fn finish(self, outcome: &mut Outcome) -> Result<(), String> {
        let audit = self.runtime.block_on(self.auditor.finish()).map_err(|error| error.to_string())?;
        if audit.pieces > 0 || audit.dead > 0 {
            outcome.lines.push(format!(
                "blobs: {} {} of content with {} read; {} in use, {} to be freed",
                thousands(audit.pieces),
                plural(audit.pieces, "piece", "pieces"),
                bytes_text(audit.bytes),
                bytes_text(audit.live),
                bytes_text(audit.dead)
            ));
        }
        outcome.add(self.found.findings, self.found.examples);
        Ok(())
    }
}

/// Compares the content that the rows of a backup refer to with the content in the backup.
pub struct OfBackup {
    naming: Box<dyn Naming>,
    named: BTreeMap<u64, Units>,
    stored: BTreeMap<u64, Units>,
    found: Found,
}

impl Default for OfBackup {
    fn default() -> Self {
        let (named, stored) = Default::default();
        Self { naming: naming(), named, stored, found: Found::default() }
    }
}

impl OfBackup {
    /// Records the content that a row refers to.
    pub fn see(&mut self, table: TableId, row: RowView<'_>) {
        let named = &mut self.named;
        if let Err(error) = self.naming.pieces(table, row, &mut |piece, is_certain| {
            if is_certain {
                note(named, &piece);
            }
        }) {
            self.found.add(format!("{}: {error}", name(table, row)));
        }
    }

    /// Records content that the archive has verified.
    pub fn found(&mut self, block: &ContentBlock) {
        if block.is_last() {
            note(&mut self.stored, &block.piece);
        }
    }

    /// Reports missing content.
    pub fn finish(mut self, outcome: &mut Outcome) {
        for (stream, mut units) in self.named {
            if let Some(stored) = self.stored.get(&stream) {
                units.subtract(stored);
            }
            for run in units.runs() {
                let at = run.start as u64 * ALIGN_BYTES;
                let bytes = run.len() as u64 * ALIGN_BYTES;
                self.found
                    .add(format!("content that rows refer to is missing: {bytes} bytes of {stream}/{at}"));
            }
        }
        outcome.add(self.found.findings, self.found.examples);
    }
}

fn note(units: &mut BTreeMap<u64, Units>, piece: &Piece) {
    if piece.is_valid() {
        units.entry(piece.stream).or_default().add(units_of(piece.offset, piece.footprint()));
    }
}

fn name(table: TableId, row: RowView<'_>) -> String {
    format!("table {}, partition {:?}, row {:?}", table.0, row.partition, row.row)
}
