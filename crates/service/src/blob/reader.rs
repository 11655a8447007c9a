//! Reads the content of a blob chunk by chunk, as it was when the read began.
//!
//! Invariant: the generation is pinned as long as the reader lives, so that overwriting or deleting
//! the blob does not disturb it. Only a bounded number of rows and one chunk are in memory.
//!
//! The pages of a page blob are the exception: they are changed in place, so a read returns each page as it is
//! when the read reaches it.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use lazuli_engine::content::{CHUNK_BYTES_MAX, Content, ContentReader};
use lazuli_engine::{Engine, Error, Scan, Verdict};
use lazuli_model::blob::limits::PAGE_BYTES;

use super::core::{At, Core};
use super::keyspace::{self, Generation, KeySlot};
use super::page::cell::Cell;
use super::page::scan::read_cells;
use super::pins::Pin;
use super::record::{Grid, Named, Pages, Stored};
use super::segment::{Segment, SegmentPart};
use crate::Result;
use crate::stream::{NextChunk, Source};

/// Zeros for ranges that were never written. Allocated on first use: a constant would be part of the binary.
static ZEROS: LazyLock<Bytes> = LazyLock::new(|| vec![0; CHUNK_BYTES_MAX].into());

/// Maximum runs of an append blob read together.
const RUNS_MAX: usize = 8;
/// Maximum bytes of runs read together.
const RUNS_BYTES_MAX: usize = 256 * 1024;
/// Maximum parts of a segment that are planned together; then the segment is read again. A stalled download
/// holds no more than these.
const PLANNED_MAX: usize = 32;
/// Maximum bytes of small blocks in the plan.
const PLANNED_BYTES_MAX: u64 = 8 * 1024;

/// A run of bytes to return.
#[derive(Clone, Debug)]
struct Run {
    part: SegmentPart,
    start: u64,
    length: u64,
}

/// The rows that hold content.
#[derive(Clone, Debug)]
enum Rows {
    /// The segments of a block blob.
    Segments(Generation),
    /// The runs of an append blob.
    Runs(Generation),
    /// The cells of a page blob.
    Pages(Pages),
}

/// Returns the bytes of a range, in order, in chunks of at most 256 KiB.
pub struct BlobReader {
    engine: Arc<dyn Engine>,
    content: Arc<dyn Content>,
    at: At,
    /// The location of the content's rows, if there are any. The reader owns the pin of their generation.
    rows: Option<(Rows, Pin)>,
    /// The next byte to read, and the end of the range.
    offset: u64,
    end: u64,
    /// The index of segments, once it was read.
    starts: Option<Vec<u64>>,
    runs: VecDeque<Run>,
    current: Option<Box<dyn ContentReader>>,
    /// Number of bytes left to read.
    left: u64,
}

impl Rows {
    fn generation(&self) -> Generation {
        match self {
            Rows::Segments(generation) | Rows::Runs(generation) => *generation,
            Rows::Pages(pages) => pages.generation,
        }
    }
}

impl BlobReader {
    /// Reads `length` bytes from `offset` on. The pin must cover the generation of the content.
    pub(super) fn new(core: &Core, at: &At, stored: Stored, pin: Pin, offset: u64, length: u64) -> Self {
        let mut reader = Self {
            engine: core.service.engine().clone(),
            content: core.content.clone(),
            at: at.clone(),
            rows: None,
            offset,
            end: offset.saturating_add(length),
            starts: None,
            runs: VecDeque::new(),
            current: None,
            left: length,
        };
        let rows = match stored {
            Stored::Inline { bytes, .. } => {
                reader.plan(&[SegmentPart::Bytes(bytes)], 0);
                reader.offset = reader.end;
                return reader;
            }
            Stored::Generation(Named { generation, direct, .. }) => {
                if let Some(direct) = direct {
                    direct.entries.iter().fold(0, |start, entry| reader.plan(&entry.parts, start));
                    reader.offset = reader.end;
                }
                Rows::Segments(generation)
            }
            Stored::Runs(generation) => Rows::Runs(generation),
            Stored::Pages(pages) => Rows::Pages(pages),
        };
        let pin = pin.narrow(rows.generation());
        reader.rows = Some((rows, pin));
        reader
    }

    /// Is the memory of the read bounded by the content store, and otherwise small? Runs of append blobs and cells of page
    /// blobs are held by the reader.
    pub fn is_bounded(&self) -> bool {
        self.content.bounds_reads() && !matches!(self.rows, Some((Rows::Runs(_) | Rows::Pages(_), _)))
    }

    /// Number of bytes left to read.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes, verified; `None` at the end of the range. After an error nothing more may be sent.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(reader) = &mut self.current {
                match reader.next().await? {
                    Some(bytes) => return Ok(Some(self.returned(bytes))),
                    None => self.current = None,
                }
            }
            match self.runs.pop_front() {
                Some(run) => {
                    if let Some(bytes) = self.begin(run) {
                        return Ok(Some(self.returned(bytes)));
                    }
                }
                None if self.offset < self.end => self.load().await?,
                None if self.left > 0 => return Err(damaged("its content is shorter than its size").into()),
                None => return Ok(None),
            }
        }
    }

    fn returned(&mut self, bytes: Bytes) -> Bytes {
        self.left = self.left.saturating_sub(bytes.len() as u64);
        bytes
    }

    /// Begins a run; bytes that need not be fetched are returned in chunks.
    fn begin(&mut self, run: Run) -> Option<Bytes> {
        let Run { part, start, length } = run;
        let now = length.min(CHUNK_BYTES_MAX as u64);
        let rest = |part| Run { part, start: start + now, length: length - now };
        let bytes = match part {
            SegmentPart::Whole(piece) => {
                self.current = Some(self.content.read(&piece, start..start + length));
                return None;
            }
            SegmentPart::Slice { piece, start: first, .. } => {
                let start = u64::from(first) + start;
                self.current = Some(self.content.read(&piece, start..start + length));
                return None;
            }
            // Chunks are small, and runs lie within their parts.
            SegmentPart::Bytes(bytes) => {
                let chunk = bytes.slice(start as usize..(start + now) as usize);
                if now < length {
                    self.runs.push_front(rest(SegmentPart::Bytes(bytes)));
                }
                chunk
            }
            SegmentPart::Zeros(all) => {
                if now < length {
                    self.runs.push_front(rest(SegmentPart::Zeros(all)));
                }
                ZEROS.slice(..now as usize)
            }
        };
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Loads rows, beginning with the one that contains the next byte.
    async fn load(&mut self) -> Result<()> {
        match self.rows.as_ref().map(|(rows, _)| rows.clone()) {
            None => Err(damaged("its content is shorter than its size").into()),
            Some(Rows::Segments(generation)) => self.load_segment(generation).await,
            Some(Rows::Runs(generation)) => self.load_runs(generation).await,
            Some(Rows::Pages(pages)) => self.load_pages(&pages).await,
        }
    }

    async fn load_segment(&mut self, generation: Generation) -> Result<()> {
        if self.starts.is_none() {
            let first = read_segment(&*self.engine, &self.at, generation, 0).await?;
            if first.find(self.offset).0 == 0 {
                self.starts = Some(first.starts.clone());
                return self.take_some(&first, 0);
            }
            self.starts = Some(first.starts);
        }
        let index = Segment { starts: self.starts.take().unwrap_or_default(), entries: Vec::new() };
        let (n, start) = index.find(self.offset);
        self.starts = Some(index.starts);
        let segment = read_segment(&*self.engine, &self.at, generation, n).await?;
        self.take_some(&segment, start)
    }

    /// Loads some runs. If another process has made the generation unreferenceable in the meantime, reads the
    /// runs from their new rows.
    async fn load_runs(&mut self, generation: Generation) -> Result<()> {
        for range in keyspace::runs(&self.at.name, generation, self.offset) {
            let before = self.offset;
            let scan = Scan {
                table: self.at.tables.blobs,
                ranges: vec![range],
                rows_max: RUNS_MAX,
                bytes_max: RUNS_BYTES_MAX,
                judge: Box::new(|_| Ok(Verdict::Keep)),
            };
            for row in self.engine.scan(scan).await?.rows {
                let run = Segment::decode(row.value)?;
                let start = run.starts.first().copied().unwrap_or(u64::MAX);
                if start > self.offset || self.offset >= self.end {
                    break;
                }
                self.take(&run, start)?;
            }
            if self.offset > before {
                return Ok(());
            }
        }
        Err(damaged("a run is missing").into())
    }

    /// Loads some cells. Ranges without rows read as zeros.
    async fn load_pages(&mut self, pages: &Pages) -> Result<()> {
        let grid = pages.grid;
        let (first, last) = (grid.cell_of(self.offset), grid.cell_of(self.end.saturating_sub(1)));
        let found = read_cells(&*self.engine, &self.at, pages, first, last).await?;
        let until = found.next.map_or(self.end, |next| grid.start_of(next));
        self.take_cells(grid, &found.cells, until);
        Ok(())
    }

    /// Plans reads of cells, and zeros between them, up to an offset.
    fn take_cells(&mut self, grid: Grid, cells: &[(u32, Cell)], until: u64) {
        let mut planned = self.offset;
        for (cell, merged) in cells {
            let start = grid.start_of(*cell);
            if planned < start {
                self.plan(&[SegmentPart::Zeros(start - planned)], planned);
            }
            if merged.written() == grid.whole() {
                planned = self.plan(&[SegmentPart::Bytes(merged.bytes())], start);
                continue;
            }
            let page = |n| merged.page_at(n).map_or(SegmentPart::Zeros(PAGE_BYTES), SegmentPart::Bytes);
            let parts: Vec<SegmentPart> = (0..grid.cell_pages()).map(page).collect();
            planned = self.plan(&parts, start);
        }
        if planned < until {
            self.plan(&[SegmentPart::Zeros(until - planned)], planned);
        }
        self.offset = until;
    }

    /// Plans a run of an append blob.
    fn take(&mut self, run: &Segment, start: u64) -> Result<()> {
        let planned = run.entries.iter().fold(start, |start, entry| self.plan(&entry.parts, start));
        self.planned_to(planned)
    }

    /// Plans some parts of a segment.
    fn take_some(&mut self, segment: &Segment, start: u64) -> Result<()> {
        let mut planned = start;
        let mut bytes = 0;
        for part in segment.entries.iter().flat_map(|entry| &entry.parts) {
            if self.runs.len() >= PLANNED_MAX || bytes >= PLANNED_BYTES_MAX {
                break;
            }
            planned = match part {
                // A slice would keep the whole segment in memory.
                SegmentPart::Bytes(small) if planned.saturating_add(part.length()) > self.offset => {
                    bytes += part.length();
                    self.plan(&[SegmentPart::Bytes(Bytes::copy_from_slice(small))], planned)
                }
                part => self.plan(std::slice::from_ref(part), planned),
            };
        }
        self.planned_to(planned)
    }

    fn planned_to(&mut self, planned: u64) -> Result<()> {
        if planned <= self.offset {
            return Err(damaged("a segment of its content is too short").into());
        }
        self.offset = planned;
        Ok(())
    }

    /// Plans the bytes of these parts, which start at `start`. Returns their end.
    fn plan(&mut self, parts: &[SegmentPart], mut start: u64) -> u64 {
        for part in parts {
            let end = start.saturating_add(part.length());
            let (from, to) = (self.offset.max(start), self.end.min(end));
            if from < to {
                self.runs.push_back(Run { part: part.clone(), start: from - start, length: to - from });
            }
            start = end;
        }
        start
    }
}

/// A segment of a pinned generation. It may have become unreferenceable in the meantime, but it still exists.
pub async fn read_segment(engine: &dyn Engine, at: &At, generation: Generation, n: u32) -> Result<Segment> {
    let slot = KeySlot::Segment(n);
    let rows = [keyspace::named(generation, slot), keyspace::unnamed(generation, slot)];
    let found = engine.get(at.tables.blobs, &at.name, &[&rows[0], &rows[1]]).await?;
    let row = found.into_iter().flatten().next().ok_or_else(|| damaged("a segment is missing"))?;
    Ok(Segment::decode(row.value)?)
}

impl Source for BlobReader {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(BlobReader::next(self))
    }
}

impl std::fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("at", &self.at).field("left", &self.left).finish_non_exhaustive()
    }
}

fn damaged(what: &str) -> Error {
    Error::Corrupt(format!("a blob cannot be read: {what}"))
}
