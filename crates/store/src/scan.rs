//! Rows in order: from the scan cache if it has them, otherwise from the sorted store.
//!
//! While it reads from the sorted store, a scan records what makes the next one faster: the borders of segments
//! where there are none, and the rows of segments that were scanned before.

use bytes::Bytes;
use fjall::Slice;
use lazuli_engine::keycode::Span;
use lazuli_engine::rules::{Offered, Pager};
use lazuli_engine::{Bound, KeyRange, Page, Result, RowView, Scan, TableId};

use crate::cache::{Block, Found, ScanCache};
use crate::cell::{self, Cell};
use crate::keyspace;
use crate::limits::{BORDERS_MAX, INLINE_POINTS_MAX, SEGMENT_SHARE_MIN};
use crate::reads::{Look, ReadSource};
use crate::view::{View, row_of};

/// Number of rows that a scan of a cached block prefetches ahead.
const PREFETCH_ROWS: usize = 2;

/// Is every range of the scan a single row, and are there only a few?
pub fn is_of_points(scan: &Scan) -> bool {
    let is_point = |range: &KeyRange| matches!(range.start, Bound::Included(_)) && range.start == range.end;
    scan.ranges.len() <= INLINE_POINTS_MAX && scan.ranges.iter().all(is_point)
}

/// Rows that exist, by their keys.
pub type Points = Vec<(Vec<u8>, Cell)>;

/// Looks for the rows of a scan of points, by their keys; a row that does not exist has none.
pub fn look_for_points(view: &View, scan: &Scan, source: ReadSource) -> Result<Look<Points>> {
    let prefix = keyspace::table_prefix(scan.table);
    let mut found = Vec::with_capacity(scan.ranges.len());
    for range in &scan.ranges {
        let key = Span::new(&prefix, range).start;
        let Look::Found(cell) = view.look(&key, source)? else { return Ok(Look::Cold) };
        found.extend(cell.map(|cell| (key, cell)));
    }
    Ok(Look::Found(found))
}

/// Builds a page from rows that were looked up.
pub fn page_of_points(found: Points, scan: Scan) -> Result<Page> {
    let mut pager = Pager::new(scan);
    for (key, cell) in found {
        if !offer(&mut pager, &key, &cell)? {
            break;
        }
    }
    Ok(pager.finish())
}

fn offer(pager: &mut Pager, key: &[u8], cell: &Cell) -> Result<bool> {
    let (partition, row) = row_of(key)?;
    let view = RowView { partition: &partition, row: &row, version: cell.version, value: &cell.value };
    pager.offer(view, || cell.value.clone())
}

/// Reads a page.
pub fn scan(view: &View, scan: Scan) -> Result<Page> {
    let table = scan.table;
    let prefix = keyspace::table_prefix(table);
    let table_end = keyspace::table_end(table);
    let spans: Vec<Span> = scan.ranges.iter().map(|range| Span::new(&prefix, range)).collect();
    let mut pager = Pager::new(scan);
    for span in spans.into_iter().filter(|span| !span.is_empty()) {
        let goes_on = if span.is_point {
            point(view, &mut pager, &span.start)?
        } else {
            let end = span.end.as_deref().unwrap_or(&table_end);
            let cache = &view.files().scans;
            Walk { view, cache, table, pager: &mut pager, end, items: None }.run(span.start)?
        };
        if !goes_on {
            break;
        }
    }
    Ok(pager.finish())
}

fn point(view: &View, pager: &mut Pager, key: &[u8]) -> Result<bool> {
    view.cell(key)?.map_or(Ok(true), |cell| offer(pager, key, &cell))
}

/// One span of a scan.
struct Walk<'a> {
    view: &'a View,
    cache: &'a ScanCache,
    table: TableId,
    pager: &'a mut Pager,
    /// The lowest key after the span.
    end: &'a [u8],
    /// Iterator over the sorted store, while the scan reads from it.
    items: Option<Peeking<'a>>,
}

/// What to do with the rows of a stretch besides returning them.
#[derive(Default)]
struct Gathered {
    /// Rows to keep, if the stretch is a whole segment.
    block: Option<Block>,
    /// Keys that divide the stretch into parts of about the same size, up to the last one, which may be larger.
    borders: Vec<Vec<u8>>,
    /// Bytes since the last border, and in all.
    part_bytes: usize,
    bytes: usize,
}

/// How the reading of a stretch ended.
enum Ended {
    /// Where it should.
    AtLimit,
    /// The page ends before the row with this key.
    Before(Slice),
    /// The scan continues at this key.
    Leap(Vec<u8>),
}

/// Where a scan continues after a stretch.
enum Then {
    /// After it.
    Next,
    /// Nowhere: the page ends.
    End,
    /// At this key.
    At(Vec<u8>),
}

impl Walk<'_> {
    /// Walks from a key on; `false` when the page ends.
    fn run(mut self, start: Vec<u8>) -> Result<bool> {
        let mut at = start;
        while *at < *self.end {
            let (then, next) = match self.cache.find(&at, self.view.number) {
                Found::Block { block, end } => (self.show(&block, &at, &end)?, end),
                Found::Segment { start, end } => (self.read_segment(&at, &start, &end)?, end),
                Found::Gap(next) => {
                    let limit = next.filter(|next| **next < *self.end).unwrap_or_else(|| self.end.to_vec());
                    (self.read_gap(&at, &limit)?, limit)
                }
            };
            at = match then {
                Then::Next => next,
                Then::End => return Ok(false),
                Then::At(key) => {
                    self.items = None;
                    key
                }
            };
        }
        Ok(true)
    }

    /// The key at which a scan continues that leaps over a row. It must be after the row, or the scan would never end.
    fn key_after(&self, row: &RowView<'_>, partition: Box<str>) -> Option<Vec<u8>> {
        let key = keyspace::row_key(self.table, &partition, "");
        (key > keyspace::row_key(self.table, row.partition, row.row)).then_some(key)
    }

    /// Returns the rows of a block that are in the span.
    fn show(&mut self, block: &Block, at: &[u8], end: &[u8]) -> Result<Then> {
        self.items = None;
        let last = if end <= self.end { block.len() } else { block.position(self.end) };
        for index in block.position(at)..last {
            block.prefetch(index + PREFETCH_ROWS);
            let row = block.row(index);
            match self.pager.offer_or_leap(row, || Bytes::copy_from_slice(row.value))? {
                Offered::Next => {}
                Offered::End => return Ok(Then::End),
                Offered::Leap(partition) => match self.key_after(&row, partition) {
                    Some(key) => return Ok(Then::At(key)),
                    None => {
                        self.pager.end_at(&row);
                        return Ok(Then::End);
                    }
                },
            }
        }
        Ok(Then::Next)
    }

    /// Reads the rows of a segment, and keeps them if they are all of it.
    fn read_segment(&mut self, at: &[u8], start: &[u8], end: &[u8]) -> Result<Then> {
        let is_whole = at == start && end <= self.end;
        let block = is_whole.then(|| Block::new(self.table, self.view.number));
        let mut gathered = Gathered { block, borders: vec![at.to_vec()], ..Gathered::default() };
        match self.read(at, end.min(self.end), &mut gathered)? {
            Ended::AtLimit => {}
            Ended::Before(_) => return Ok(Then::End),
            Ended::Leap(key) => return Ok(Then::At(key)),
        }
        if is_whole && gathered.bytes > 2 * self.cache.segment_bytes() {
            self.cache.divide(&gathered.borders_up_to(end.to_vec(), 0));
        } else if let Some(block) = gathered.block {
            self.cache.keep(start, end, block);
        }
        Ok(Then::Next)
    }

    /// Reads rows where there is no segment, and creates segments.
    fn read_gap(&mut self, at: &[u8], limit: &[u8]) -> Result<Then> {
        let mut gathered = Gathered { borders: vec![at.to_vec()], ..Gathered::default() };
        let (then, last) = match self.read(at, limit, &mut gathered)? {
            Ended::AtLimit => (Then::Next, limit.to_vec()),
            Ended::Before(key) => (Then::End, key.to_vec()),
            // The rows that were passed over are not worth a segment.
            Ended::Leap(key) => return Ok(Then::At(key)),
        };
        let bytes_min = self.cache.segment_bytes() / SEGMENT_SHARE_MIN;
        if gathered.bytes >= bytes_min {
            self.cache.divide(&gathered.borders_up_to(last, bytes_min));
        }
        Ok(then)
    }

    /// Reads from `at` up to `limit`, or up to where the page ends.
    fn read(&mut self, at: &[u8], limit: &[u8], gathered: &mut Gathered) -> Result<Ended> {
        let mut items = self.items.take().unwrap_or_else(|| Peeking::new(self.view, at, self.end));
        while let Some((key, stored)) = items.next_below(limit)? {
            let ended = with_row(&key, &stored, |row| {
                match self.pager.offer_or_leap(row, || shared_value(&stored))? {
                    Offered::Next => {
                        gathered.take(&key, &row, self.cache.segment_bytes());
                        Ok(None)
                    }
                    Offered::End => Ok(Some(Ended::Before(key.clone()))),
                    Offered::Leap(partition) => Ok(Some(match self.key_after(&row, partition) {
                        Some(key) => Ended::Leap(key),
                        None => {
                            self.pager.end_at(&row);
                            Ended::Before(key.clone())
                        }
                    })),
                }
            });
            if let Some(ended) = ended? {
                return Ok(ended);
            }
        }
        self.items = Some(items);
        Ok(Ended::AtLimit)
    }
}

impl Gathered {
    fn take(&mut self, key: &[u8], row: &RowView<'_>, segment_bytes: usize) {
        if self.part_bytes >= segment_bytes && self.borders.len() < BORDERS_MAX {
            self.borders.push(key.to_vec());
            self.part_bytes = 0;
        }
        let bytes = key.len() + row.value.len();
        self.part_bytes += bytes;
        self.bytes += bytes;
        // A segment that has become too large is divided, not cached.
        let fits = |block: &mut Block| self.bytes <= 2 * segment_bytes && block.push(row);
        if !self.block.as_mut().is_some_and(fits) {
            self.block = None;
        }
    }

    /// The borders, including the last one; a last part that is too small is merged into the one before.
    fn borders_up_to(mut self, last: Vec<u8>, bytes_min: usize) -> Vec<Vec<u8>> {
        if self.part_bytes < bytes_min && self.borders.len() > 1 {
            self.borders.pop();
        }
        self.borders.push(last);
        self.borders
    }
}

/// A peekable iterator over rows of the sorted store.
struct Peeking<'a> {
    items: Box<dyn Iterator<Item = Result<(Slice, Slice)>> + 'a>,
    ahead: Option<(Slice, Slice)>,
}

impl<'a> Peeking<'a> {
    fn new(view: &'a View, start: &[u8], end: &[u8]) -> Self {
        Self { items: Box::new(view.range(start, end)), ahead: None }
    }

    /// The next row, if its key is below `limit`.
    fn next_below(&mut self, limit: &[u8]) -> Result<Option<(Slice, Slice)>> {
        if self.ahead.is_none() {
            self.ahead = self.items.next().transpose()?;
        }
        Ok(self.ahead.take_if(|(key, _)| **key < *limit))
    }
}

/// Reads a stored row in place, once its checksum is verified; copies nothing but a key that is not its own UTF-8.
fn with_row<T>(key: &[u8], stored: &Slice, look: impl FnOnce(RowView<'_>) -> Result<T>) -> Result<T> {
    let (version, value) = cell::view(key, stored)?;
    let (partition, row) = row_of(key)?;
    look(RowView { partition: &partition, row: &row, version, value })
}

fn shared_value(stored: &Slice) -> Bytes {
    cell::value_of(&stored.clone().into())
}
