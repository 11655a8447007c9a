//! Checks a database that front ends share, while they run, and the object store with its content.
//!
//! Rows are read from one snapshot. Content may be released in the meantime, so a piece counts as missing only
//! if the row that refers to it is unchanged.

use std::collections::BTreeSet;

use lazuli_engine::content::{ALIGN_BYTES, Auditor, Content, Naming, Spot};
use lazuli_engine::{Clock, Engine, Marks, Stored, Version};
use lazuli_objects::ObjectsUrl;
use lazuli_postgres::{Postgres, PostgresUrl};
use lazuli_service::inspect::Inspector;
use lazuli_service::naming;

use super::Outcome;
use crate::contents;
use crate::engine_url::EngineUrl;
use crate::progress::{Progress, bytes_text, plural, thousands};
use crate::runtime;

/// Bytes of rows read at a time.
const PAGE_BYTES: usize = 1024 * 1024;
/// Maximum number of findings that are listed. All are counted.
const EXAMPLES_MAX: usize = 100;

const RESTORE: &str = "restore the database and the object store from backups of the same moment, or upload the damaged blobs again";

/// A check of a database that servers share.
pub struct Shared<'a> {
    /// The database.
    pub engine: &'a EngineUrl,
    /// The object store with its content.
    pub content: Option<&'a ObjectsUrl>,
    /// List content that the next sweep would free.
    pub lists_orphans: bool,
    /// Show no progress.
    pub quiet: bool,
}

impl Shared<'_> {
    /// Runs the check.
    pub fn run(&self) -> Result<Outcome, String> {
        let EngineUrl::Postgres(url) = self.engine else {
            return Err("--engine expects the URL of a database; to check a store, pass its directory".into());
        };
        runtime::many_threads()?.block_on(self.check(url))
    }

    async fn check(&self, url: &PostgresUrl) -> Result<Outcome, String> {
        let failed = |error: lazuli_postgres::DatabaseError| format!("{url}: {error}");
        let rows = match self.content {
            Some(_) => Postgres::open_rows(url.clone(), Clock::system()).await.map_err(failed)?,
            None => Postgres::open(url.clone(), Clock::system()).await.map_err(failed)?,
        };
        let content = match self.content {
            Some(content) => contents::existing(&rows, content).await,
            None => rows.content().ok_or_else(|| "the engine has no content".into()),
        };
        let outcome = match content {
            Ok(content) => self.check_all(&rows, &*content).await,
            Err(error) => Err(error),
        };
        let closed = rows.close().await.map_err(|error| error.to_string());
        outcome.and_then(|outcome| closed.map(|()| outcome))
    }

    async fn check_all(&self, rows: &Postgres, content: &dyn Content) -> Result<Outcome, String> {
        let error = |error: lazuli_engine::Error| error.to_string();
        let mut outcome = Outcome { advice: vec![RESTORE], ..Outcome::default() };
        // The order matters: content that is stored from now on belongs to a running process, or to a row that
        // the check does not see.
        let unowned: BTreeSet<u64> = rows.ledger().unowned().await.map_err(error)?.into_iter().collect();
        let mut dump = rows.dump().await.map_err(error)?;
        // Front ends may be ahead of the version that they last recorded.
        let marks = Marks { last_version: Version(u64::MAX), ..dump.marks() };
        let mut pass = Pass {
            rows,
            inspector: Inspector::new(marks),
            naming: naming(),
            auditor: Auditor::new(content),
            examples: Vec::new(),
            findings: 0,
        };
        let mut progress = Progress::start("rows", "rows", self.quiet);
        let (mut count, mut bytes) = (0, 0);
        loop {
            let page = dump.next(PAGE_BYTES).await.map_err(error)?;
            if page.is_empty() {
                break;
            }
            for row in &page {
                pass.see(row).await?;
                count += 1;
                bytes += row.bytes() as u64;
            }
            progress.reach(count, bytes + pass.auditor.so_far().bytes, None);
        }
        drop(dump);
        outcome.lines.push(format!("rows: {}", progress.finish_bytes()));
        outcome.add_service(pass.inspector.finish());
        outcome.add(pass.findings, pass.examples);
        if self.lists_orphans {
            list_orphans(&pass.auditor, content, &unowned, &mut outcome).await?;
        }
        let audit = pass.auditor.finish().await.map_err(error)?;
        outcome.lines.push(format!(
            "blobs: {} {} of content with {} read; {} in use, {} not referenced by any row (garbage, or uploads in progress)",
            thousands(audit.pieces),
plural(audit.pieces, "piece", "pieces"),
            bytes_text(audit.bytes),
            bytes_text(audit.live),
            bytes_text(audit.dead)
        ));
        Ok(outcome)
    }
}

/// One pass over all rows.
struct Pass<'a> {
    rows: &'a Postgres,
    inspector: Inspector,
    naming: Box<dyn Naming>,
    auditor: Auditor<'a>,
    examples: Vec<String>,
    findings: u64,
}

impl Pass<'_> {
    async fn see(&mut self, row: &Stored) -> Result<(), String> {
        self.inspector.see(row.table, row.row.view());
        let mut pieces = Vec::new();
        let named = self.naming.pieces(row.table, row.row.view(), &mut |piece, is_certain| {
            pieces.push((piece, is_certain));
        });
        if let Err(error) = named {
            self.add(row, &error);
        }
        for (piece, is_certain) in pieces {
            let checked = self.auditor.check(&piece, is_certain).await;
            if let Err(error) = checked.map_err(|error| error.to_string())?
                && self.is_same(row).await?
            {
                self.add(row, &error);
            }
        }
        Ok(())
    }

    /// Is the row unchanged since the check began?
    async fn is_same(&self, row: &Stored) -> Result<bool, String> {
        let found = self.rows.get(row.table, &row.row.partition, &[&row.row.row]).await;
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.into_iter().flatten().any(|found| found.version == row.row.version))
    }

    fn add(&mut self, row: &Stored, error: &lazuli_engine::Error) {
        self.findings += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let (table, partition, row) = (row.table.0, &row.row.partition, &row.row.row);
            self.examples.push(format!("table {table}, partition {partition:?}, row {row:?}: {error}"));
        }
    }
}

/// Lists stored content that no row refers to, in streams that no front end owns.
async fn list_orphans(
    auditor: &Auditor<'_>,
    content: &dyn Content,
    unowned: &BTreeSet<u64>,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let (mut count, mut bytes) = (0, 0);
    let mut from = Some(Spot::START);
    while let Some(spot) = from {
        let listing = content.list(spot).await.map_err(|error| error.to_string())?;
        for extent in listing.extents.iter().filter(|extent| unowned.contains(&extent.start.stream)) {
            for gap in auditor.gaps(extent) {
                let (at, length) = (gap.start as u64 * ALIGN_BYTES, gap.len() as u64 * ALIGN_BYTES);
                count += 1;
                bytes += length;
                outcome.lines.push(format!("orphan: {}/{at}, {}", extent.start.stream, bytes_text(length)));
            }
        }
        from = listing.next;
    }
    outcome.lines.push(format!(
        "orphans: {} with {}, which a front end will free; nothing was freed now",
        thousands(count),
        bytes_text(bytes)
    ));
    Ok(())
}
