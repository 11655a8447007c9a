//! Find Blobs by Tags, in one container or in all containers of an account.
//!
//! A search reads the rows of one tag in the index, and the heads of the blobs that they name, many at a time. So its cost
//! is proportional to the results of the most selective comparison, plus one look-up for each container.

use std::collections::HashMap;
use std::time::Duration;

use lazuli_engine::{Bound, KeyPosition, KeyRange, Row, Scan, Verdict};
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

/// Maximum rows of the index per scan.
const ROWS_MAX: usize = 256;
/// Maximum containers looked up at a time.
const CONTAINERS_MAX: usize = 256;
/// Maximum heads read at a time. They may hold small content.
const HEADS_MAX: usize = 32;

/// A search under way.
struct Search<'a> {
    core: &'a Core,
    find: FindBlobs,
    span: Span,
    wanted: usize,
    started: Duration,
    found: Vec<(FoundBlob, FoundPosition)>,
    /// The memory that they take.
    bytes: usize,
    /// Where to resume, if the search took too long.
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
        let Some(span) = Span::of(&find.query) else { return Ok(Outcome::Found(FoundPage::default())) };
        let wanted = usize::try_from(find.max_results).unwrap_or(usize::MAX);
        let started = (self.service.options.elapsed)();
        let named = find.query.container.clone();
        let mut search =
            Search { core: self, find, span, wanted, started, found: Vec::new(), bytes: 0, cut: None };
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
        let position = from.and_then(|from| Some((from.value.clone()?, from.blob.clone())));
        let mut range =
            self.span.from(position.as_ref().map(|(value, blob)| (value.as_str(), blob.as_str())));
        loop {
            let scan = Scan {
                table: tables.tags,
                ranges: vec![range.clone()],
                rows_max: (self.wanted + 1).saturating_sub(self.found.len()).clamp(1, ROWS_MAX),
                bytes_max: usize::MAX,
                judge: Box::new(|_| Ok(Verdict::Keep)),
            };
            let page = self.core.engine().scan(scan).await?;
            for rows in page.rows.chunks(HEADS_MAX) {
                let tags = self.tags_of(tables, rows).await?;
                for row in rows {
                    self.take(container, tables, row, &tags)?;
                    if self.is_done() {
                        return Ok(());
                    }
                }
            }
            let Some(next) = page.next else { return Ok(()) };
            if self.is_late() {
                self.cut = position_of(container, &next.row);
                return Ok(());
            }
            range.start = lazuli_engine::Bound::Included(next);
        }
    }

    /// The tags of the blobs that rows of the index name, by the names of the blobs.
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
            // An engine may return fewer rows than it was asked for.
            let done = page.next.map_or(ranges.len(), |next| {
                ranges.iter().take_while(|range| range.start != Bound::Included(next.clone())).count()
            });
            ranges.drain(..done);
        }
        Ok(found)
    }

    /// Returns the blob that a row of the index names, if the blob still has the tag and matches.
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
                        // As if fewer had been asked for: the next one only tells where the next page starts.
                        self.wanted = self.wanted.min(self.found.len());
                    }
                }
            }
            // The row is out of date.
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

/// About the memory of a blob that was found.
fn cost(found: &FoundBlob, position: &FoundPosition) -> usize {
    let tags: usize = found.tags.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
    let names =
        2 * (found.container.len() + found.blob.len()) + position.value.as_ref().map_or(0, String::len);
    size_of::<(FoundBlob, FoundPosition)>() + names + tags
}

fn position_of(container: &str, row: &str) -> Option<FoundPosition> {
    let (_, value, blob) = key::parse(row)?;
    Some(FoundPosition { container: container.into(), value: Some(value.into()), blob: blob.into() })
}
