//! Find Blobs by Tags, in one container or in all containers of an account.
//!
//! A search reads rows of the index, and the heads of the blobs that they refer to, many at a time. Its cost is
//! proportional to the results of the most selective `=`, plus one look-up for each container. The rows of a
//! tag are not counted, so a search with several `=` reads a few rows of each tag, beginning at the same blob,
//! and uses the rows that reach furthest. Each round gets at least that far in every tag, so the most selective
//! tag determines the number of rounds.

use std::collections::HashMap;
use std::time::Duration;

use lazuli_engine::{Bound, KeyPosition, KeyRange, Page, Row, Scan, Verdict};
use lazuli_model::Service;
use lazuli_model::blob::limits::LIST_PAGE_BYTES_MAX;
use lazuli_model::blob::list::{FindBlobs, FoundBlob, FoundPage, FoundPosition};
use lazuli_model::blob::{ContainerName, Outcome, Tags};

use super::key::{self, Span};
use crate::blob::core::{At, Core, tables_in, tables_of};
use crate::blob::keyspace::{HEAD, Tables};
use crate::blob::order::compare;
use crate::blob::record::Head;
use crate::catalog::Name;
use crate::{Result, keyspace};

/// Number of rows of each tag that the first round reads, if there are several tags. Each round reads twice as
/// many as the previous one.
const ROWS_FIRST: usize = 16;
/// Maximum rows of the index per scan.
const ROWS_MAX: usize = 256;
/// Maximum containers looked up at a time.
const CONTAINERS_MAX: usize = 256;
/// Maximum heads read at a time. They may contain small content.
const HEADS_MAX: usize = 32;

/// A search in progress.
struct Search<'a> {
    core: &'a Core,
    find: FindBlobs,
    /// At least one.
    spans: Vec<Span>,
    wanted: usize,
    started: Duration,
    found: Vec<(FoundBlob, FoundPosition)>,
    /// The memory that the results take.
    bytes: usize,
    /// The position at which to resume, if the search took too long.
    cut: Option<FoundPosition>,
}

impl Core {
    /// Find Blobs by Tags.
    pub async fn find_blobs(
        &self,
        home: &str,
        container: Option<ContainerName>,
        find: FindBlobs,
    ) -> Result<Outcome> {
        let spans = Span::of(&find.query);
        if spans.is_empty() {
            return Ok(Outcome::Found(FoundPage::default()));
        }
        let wanted = usize::try_from(find.max_results).unwrap_or(usize::MAX);
        let started = (self.service.options.elapsed)();
        let named = find.query.container.clone();
        let mut search =
            Search { core: self, find, spans, wanted, started, found: Vec::new(), bytes: 0, cut: None };
        match (container, named) {
            (Some(own), named) => {
                let tables = tables_of(&*self.container(home, &own).await?)?;
                if named.is_none_or(|named| named == own.as_str()) {
                    search.container(own.as_str(), tables).await?;
                }
            }
            (None, Some(named)) => {
                let name = Name { service: Service::Blob, home, folded: &named };
                if let Some(live) = self.service.catalog.find(name).await? {
                    search.container(&named, tables_of(&live)?).await?;
                }
            }
            (None, None) => search.account(home).await?,
        }
        Ok(Outcome::Found(search.page()))
    }
}

impl Search<'_> {
    /// Searches all containers of an account, in the order of their names.
    async fn account(&mut self, home: &str) -> Result<()> {
        let mut from = self.find.from.as_ref().map_or_else(String::new, |from| from.container.clone());
        loop {
            let range = keyspace::live_between(Service::Blob, home, &from, None);
            let judge = Box::new(|_: lazuli_engine::RowView<'_>| Ok(Verdict::Keep));
            let page = self.core.service.catalog.list(range, CONTAINERS_MAX, judge).await?;
            for (record, _) in &page.containers {
                self.container(&record.name, tables_in(record)?).await?;
                if self.is_done() {
                    return Ok(());
                }
            }
            let Some(next) = page.next else { return Ok(()) };
            if self.is_late() {
                self.cut = Some(FoundPosition { container: next, value: None, blob: String::new() });
                return Ok(());
            }
            from = next;
        }
    }

    /// Searches one container.
    async fn container(&mut self, container: &str, tables: Tables) -> Result<()> {
        let from = self.find.from.as_ref().filter(|from| from.container == container);
        let mut position = from.and_then(|from| Some((from.value.clone()?, from.blob.clone())));
        let mut rows_max = if self.spans.len() > 1 { ROWS_FIRST } else { ROWS_MAX };
        loop {
            let page = self.round(tables, position.as_ref(), rows_max).await?;
            for rows in page.rows.chunks(HEADS_MAX) {
                let tags = self.tags_of(tables, rows).await?;
                for row in rows {
                    self.take(container, tables, row, &tags)?;
                    if self.is_done() {
                        return Ok(());
                    }
                }
            }
            let Some(next) = page.next.as_ref().and_then(|next| key::parse(&next.row)) else { return Ok(()) };
            let (_, value, blob) = next;
            if self.is_late() {
                self.cut = Some(FoundPosition {
                    container: container.into(),
                    value: Some(value.into()),
                    blob: blob.into(),
                });
                return Ok(());
            }
            position = Some((value.into(), blob.into()));
            rows_max = (2 * rows_max).min(ROWS_MAX);
        }
    }

    /// Reads some rows of each span from a position on. Returns the rows that reach furthest.
    async fn round(
        &self,
        tables: Tables,
        position: Option<&(String, String)>,
        rows_max: usize,
    ) -> Result<Page> {
        let position = position.map(|(value, blob)| (value.as_str(), blob.as_str()));
        let mut furthest: Option<Page> = None;
        for span in &self.spans {
            let wanted = (self.wanted + 1).saturating_sub(self.found.len());
            let scan = Scan {
                table: tables.tags,
                ranges: vec![span.from(position)],
                rows_max: if self.spans.len() > 1 { rows_max } else { wanted.clamp(1, rows_max) },
                bytes_max: usize::MAX,
                judge: Box::new(|_| Ok(Verdict::Keep)),
            };
            let page = self.core.engine().scan(scan).await?;
            if page.next.is_none() {
                return Ok(page);
            }
            if furthest.as_ref().is_none_or(|other| is_further(&page, other)) {
                furthest = Some(page);
            }
        }
        Ok(furthest.unwrap_or_default())
    }

    /// The tags of the blobs that rows of the index refer to, by the names of the blobs.
    async fn tags_of(&self, tables: Tables, rows: &[Row]) -> Result<HashMap<Box<str>, Tags>> {
        let mut blobs: Vec<&str> = rows.iter().filter_map(|row| Some(key::parse(&row.row)?.2)).collect();
        // A blob can have several values of a tag in the index, one of which is current.
        blobs.sort_unstable_by(|one, other| compare(one, other));
        blobs.dedup();
        let head = |blob: &str| {
            let place = KeyPosition { partition: blob.into(), row: HEAD.into() };
            KeyRange { start: Bound::Included(place.clone()), end: Bound::Included(place) }
        };
        let mut ranges: Vec<KeyRange> = blobs.into_iter().map(head).collect();
        let mut found = HashMap::with_capacity(ranges.len());
        while !ranges.is_empty() {
            let scan = Scan {
                table: tables.blobs,
                ranges: ranges.clone(),
                rows_max: HEADS_MAX,
                bytes_max: usize::MAX,
                judge: Box::new(|_| Ok(Verdict::Keep)),
            };
            let page = self.core.engine().scan(scan).await?;
            for row in page.rows {
                if let Some(blob) = Head::decode(&row.value)?.blob {
                    found.insert(row.partition, blob.tags);
                }
            }
            // An engine may return fewer rows than requested.
            let done = page.next.map_or(ranges.len(), |next| {
                ranges.iter().take_while(|range| range.start != Bound::Included(next.clone())).count()
            });
            ranges.drain(..done);
        }
        Ok(found)
    }

    /// Returns the blob that a row of the index refers to, if the blob still has the tag and matches.
    fn take(
        &mut self,
        container: &str,
        tables: Tables,
        row: &Row,
        found: &HashMap<Box<str>, Tags>,
    ) -> Result<()> {
        let Some((name, value, blob)) = key::parse(&row.row) else { return Ok(()) };
        match found.get(blob) {
            Some(tags) if tags.get(name) == Some(value) => {
                if self.find.query.matches(tags) {
                    let tags = self.shown(tags)?;
                    let found = FoundBlob { container: container.into(), blob: blob.into(), tags };
                    let value = Some(value.to_owned());
                    let position = FoundPosition { container: container.into(), value, blob: blob.into() };
                    self.bytes += cost(&found, &position);
                    self.found.push((found, position));
                    if self.bytes >= LIST_PAGE_BYTES_MAX {
                        // Act as if fewer had been requested: the next one only marks the start of the next
                        // page.
                        self.wanted = self.wanted.min(self.found.len());
                    }
                }
            }
            // The row is outdated.
            _ => self.core.retire(&At::new(tables, blob), vec![(name.into(), value.into())]),
        }
        Ok(())
    }

    /// The tags that the expression names.
    fn shown(&self, tags: &Tags) -> Result<Tags> {
        let mut shown = Tags::default();
        for (name, value) in tags.iter() {
            if self.find.query.comparisons.iter().any(|comparison| comparison.name == name) {
                shown.insert(name, value)?;
            }
        }
        Ok(shown)
    }

    fn is_done(&self) -> bool {
        self.found.len() > self.wanted || self.cut.is_some()
    }

    fn is_late(&self) -> bool {
        let options = &self.core.service.options;
        (options.elapsed)().saturating_sub(self.started) >= options.query_time_max
    }

    fn page(mut self) -> FoundPage {
        let mut next = self.cut.take();
        if self.found.len() > self.wanted {
            next = self.found.pop().map(|(_, position)| position);
        }
        FoundPage { items: self.found.into_iter().map(|(found, _)| found).collect(), next }
    }
}

/// The approximate memory of a found blob.
fn cost(found: &FoundBlob, position: &FoundPosition) -> usize {
    let tags: usize = found.tags.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
    let names =
        2 * (found.container.len() + found.blob.len()) + position.value.as_ref().map_or(0, String::len);
    size_of::<(FoundBlob, FoundPosition)>() + names + tags
}

/// Does a page of the rows of one value end at a later blob than another?
fn is_further(page: &Page, other: &Page) -> bool {
    let blob = |page: &Page| Some(key::parse(&page.next.as_ref()?.row)?.2.to_owned());
    match (blob(page), blob(other)) {
        (Some(one), Some(other)) => compare(&one, &other).is_gt(),
        (one, _) => one.is_none(),
    }
}
