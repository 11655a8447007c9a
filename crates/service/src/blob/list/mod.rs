//! List Blobs, flat and by delimiter.
//!
//! The cost of a page is proportional to its results: the scan skips the rest of a blob with much content, and
//! the rest of a prefix that was returned. It looks for one entry more than requested, so that the last page
//! has no marker. A page also ends when its entries use [`LIST_PAGE_BYTES_MAX`] bytes of memory.

mod filter;

use lazuli_engine::{Bound, KeyPosition, KeyRange, Row, Scan};
use lazuli_model::blob::limits::LIST_PAGE_BYTES_MAX;
use lazuli_model::blob::list::{BlobEntry, BlobItem, BlobPage, BlobPosition, ListBlobs, ListedState};
use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::{BlobKind, BlobProperties, ContainerName, Outcome, Tags};

use super::core::{Core, tables_of};
use super::keep::{Life, life_of};
use super::keyspace::{self, RowKind, Tables};
use super::order::{after_prefix, compare, start_for_bytes};
use super::read::shown;
use super::record::{Head, Revision, time};
use crate::Result;
use filter::Filter;

/// Maximum bytes of rows per scan. Rows contain small content.
const SCAN_BYTES_MAX: usize = 1024 * 1024;
/// The smallest name after a name: no name contains U+0000.
const NEXT_NAME: char = '\0';

impl Core {
    /// List Blobs.
    pub async fn list_blobs(
        &self,
        home: &str,
        container: &ContainerName,
        list: ListBlobs,
    ) -> Result<Outcome> {
        let tables = tables_of(&*self.container(home, container).await?)?;
        let mut lister = Lister::new(self, tables, list);
        lister.tracks_access = self.tracks_access(home);
        Ok(Outcome::Blobs(lister.run().await?))
    }
}

/// A listing in progress.
struct Lister<'a> {
    core: &'a Core,
    tables: Tables,
    list: ListBlobs,
    /// The name at which to continue.
    from: String,
    /// The first requested entry of that name.
    entry: Which,
    end: Bound,
    /// Entries with their positions, at most one more than the page returns.
    entries: Vec<(BlobEntry, BlobPosition)>,
    /// The memory that the entries take.
    bytes: usize,
    /// The name whose versions were on the previous page, if this page starts with the blob itself.
    returned: Option<String>,
    /// The latest version of a blob that may have no other state.
    latest: Option<(String, Revision)>,
    /// A blob that is returned after its snapshots and versions.
    held: Option<(String, Head)>,
    /// The time of the listing, in ticks.
    now: u64,
    /// Does the account track last access times?
    tracks_access: bool,
}

/// Sorts before every snapshot.
const FIRST: Which = Which::Snapshot(lazuli_model::DateTime::MIN);

impl<'a> Lister<'a> {
    fn new(core: &'a Core, tables: Tables, list: ListBlobs) -> Self {
        let end = after_prefix(&list.prefix)
            .map_or(Bound::Open, |partition| Bound::Excluded(KeyPosition { partition, row: String::new() }));
        let (from, entry) = match (&list.from, &list.start_from) {
            (Some(from), _) => (from.name.clone(), from.revision.unwrap_or(FIRST)),
            (None, Some(from)) => (start_for_bytes(from).to_owned(), FIRST),
            (None, None) => (String::new(), FIRST),
        };
        let is_before = compare(&from, &list.prefix).is_lt();
        let (from, entry) = if is_before { (list.prefix.clone(), FIRST) } else { (from, entry) };
        Self {
            returned: (entry == Which::Current).then(|| from.clone()),
            now: core.clock().ticks(),
            core,
            tables,
            list,
            from,
            entry,
            end,
            entries: Vec::new(),
            bytes: 0,
            latest: None,
            held: None,
            tracks_access: false,
        }
    }

    async fn run(mut self) -> Result<BlobPage> {
        let mut wanted = usize::try_from(self.list.max_results).unwrap_or(usize::MAX);
        let options = &self.core.service.options;
        let started = (options.elapsed)();
        let mut next = None;
        while self.entries.len() <= wanted {
            // A head is read again whenever the scan continues within its snapshots, so at least two rows make
            // progress.
            let page = self.core.engine().scan(self.scan(wanted + 2 - self.entries.len())).await?;
            for row in page.rows {
                self.take(row)?;
            }
            if self.bytes >= LIST_PAGE_BYTES_MAX {
                // Acts as if fewer entries had been requested: the next one only marks the start of the next
                // page.
                wanted = wanted.min(self.entries.len().max(1));
            }
            let is_over = |name: &str| filter::ends_at(self.list.end_before.as_deref(), name);
            let Some(place) = page.next.filter(|place| !is_over(&place.partition)) else {
                self.release();
                break;
            };
            self.resume_at(place);
            if (options.elapsed)().saturating_sub(started) >= options.query_time_max {
                let revision = Some(self.entry).filter(|entry| *entry != FIRST);
                next = Some(BlobPosition { name: self.from.clone(), revision });
                break;
            }
        }
        if self.entries.len() > wanted {
            next = Some(self.entries.swap_remove(wanted).1);
            self.entries.truncate(wanted);
        }
        Ok(BlobPage { entries: self.entries.into_iter().map(|(entry, _)| entry).collect(), next })
    }

    fn scan(&self, rows_max: usize) -> Scan {
        let place = |row: String| Bound::Included(KeyPosition { partition: self.from.clone(), row });
        let mut ranges = vec![KeyRange { start: place(String::new()), end: self.end.clone() }];
        // Within a name, the head is always read first.
        let later = match self.entry {
            Which::Snapshot(time) if time > lazuli_model::DateTime::MIN => {
                Some(keyspace::snapshot(time.ticks()))
            }
            Which::Version(time) => Some(keyspace::version(time.ticks())),
            // The blob may be shown as its latest version.
            Which::Current if self.list.include.deleted_with_versions => Some(keyspace::version(0)),
            Which::Current => Some(keyspace::CONTENT.to_owned()),
            _ => None,
        };
        if let Some(row) = later {
            ranges[0].end = place(String::new());
            ranges.push(KeyRange { start: place(row), end: self.end.clone() });
        }
        Scan {
            table: self.tables.blobs,
            ranges,
            rows_max,
            bytes_max: SCAN_BYTES_MAX,
            judge: Filter::new(&self.list).judge(),
        }
    }

    /// Continues at the row where a scan ended, or after everything that can be skipped.
    fn resume_at(&mut self, place: KeyPosition) {
        let KeyPosition { partition, row } = place;
        if let Some((group, _)) = self.group_of(&partition)
            && matches!(self.entries.last(), Some((BlobEntry::Prefix(last), _)) if *last == group)
        {
            self.release();
            self.from = after_prefix(&group).unwrap_or_else(|| format!("{partition}{NEXT_NAME}"));
            self.entry = FIRST;
            return;
        }
        match RowKind::of(&row) {
            Some(RowKind::Head) => {
                // The previous blob might not be in the page yet, and the next page starts after it.
                self.release();
                (self.from, self.entry) = (partition, FIRST);
            }
            Some(RowKind::Snapshot(ticks)) if self.list.include.snapshots => {
                (self.from, self.entry) = (partition, Which::Snapshot(time(ticks)));
            }
            Some(RowKind::Version(ticks))
                if self.list.include.versions || self.list.include.deleted_with_versions =>
            {
                (self.from, self.entry) = (partition, Which::Version(time(ticks)));
            }
            // The blob may have more rows that the listing needs.
            Some(RowKind::Event(_)) => (self.from, self.entry) = (partition, FIRST),
            Some(RowKind::Snapshot(_))
                if self.list.include.versions || self.list.include.deleted_with_versions =>
            {
                (self.from, self.entry) = (partition, FIRST);
            }
            // The head was filtered already.
            _ => {
                self.release();
                (self.from, self.entry) = (format!("{partition}{NEXT_NAME}"), FIRST);
            }
        }
    }

    fn take(&mut self, row: Row) -> Result<()> {
        let Row { partition, row, value, .. } = row;
        if self.held.as_ref().is_some_and(|(name, _)| **name != *partition) {
            self.release();
        }
        if let Some((group, position)) = self.group_of(&partition) {
            let is_known =
                matches!(self.entries.last(), Some((BlobEntry::Prefix(last), _)) if *last == group);
            if !is_known {
                self.bytes += size_of::<(BlobEntry, BlobPosition)>() + 2 * group.len();
                self.entries.push((BlobEntry::Prefix(group), position));
            }
            return Ok(());
        }
        match RowKind::of(&row) {
            Some(RowKind::Head) => {
                let mut head = Head::decode(&value)?;
                head.settle(self.now);
                self.held = Some((partition.into(), head));
                let include = &self.list.include;
                if !include.snapshots && !include.versions && !include.deleted_with_versions {
                    self.release();
                }
            }
            Some(RowKind::Snapshot(ticks)) => {
                self.take_revision(&partition, Which::Snapshot(time(ticks)), &value)?;
            }
            Some(RowKind::Version(ticks)) => {
                self.take_revision(&partition, Which::Version(time(ticks)), &value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a snapshot or version to the page, if it exists or if deleted ones were requested.
    fn take_revision(&mut self, name: &str, which: Which, value: &bytes::Bytes) -> Result<()> {
        let Some((_, head)) = &self.held else { return Ok(()) };
        let Some(mut revision) = Head::decode(value)?.blob else { return Ok(()) };
        let life = life_of(which, head, &revision, self.now);
        revision.settle(self.now);
        let is_version = matches!(which, Which::Version(_));
        if is_version && self.list.include.deleted_with_versions && life != Life::Gone {
            self.latest = Some((name.into(), Revision { deleted: None, version: 0, ..revision.clone() }));
        }
        if is_version && (!self.list.include.versions || self.returned.as_deref() == Some(name)) {
            return Ok(());
        }
        match life {
            Life::Live => revision.deleted = None,
            Life::Deleted(deleted) if self.list.include.deleted => revision.deleted = Some(deleted),
            Life::Deleted(_) | Life::Gone => return Ok(()),
        }
        self.push(name, which, revision);
        Ok(())
    }

    /// Adds the blob whose snapshots and versions have all been added.
    fn release(&mut self) {
        let Some((name, head)) = self.held.take() else { return };
        let is_staged = head.marks.staged.is_some_and(|marks| marks.is_live);
        let deleted = head.restorable(self.now).filter(|_| self.list.include.deleted).cloned();
        let latest = self.latest.take().filter(|(of, _)| *of == name).map(|(_, revision)| revision);
        match (head.blob.or(deleted), latest) {
            (Some(revision), _) => self.push(&name, Which::Current, revision),
            (None, Some(version)) => {
                self.push(&name, Which::Current, version);
                if let Some((BlobEntry::Blob(item), _)) = self.entries.last_mut() {
                    item.has_versions_only = Some(true);
                }
            }
            (None, None) if is_staged && self.list.include.uncommitted => {
                let state = ListedState::Uncommitted(BlobKind::Block);
                self.add(&name, Which::Current, state, None);
            }
            (None, None) => {}
        }
    }

    fn push(&mut self, name: &str, which: Which, revision: Revision) {
        let tags = self.list.include.tags.then(|| revision.tags.clone());
        let deleted = revision.deleted.map(|deleted| deleted.info(self.now));
        let properties = shown(revision, which, self.core.now(), self.tracks_access);
        let version = properties.version.filter(|_| self.list.include.versions);
        let state = ListedState::Committed(Box::new(BlobProperties { deleted, version, ..properties }));
        self.add(name, which, state, tags);
    }

    fn add(&mut self, name: &str, which: Which, state: ListedState, tags: Option<Tags>) {
        let is_root = which == Which::Current;
        let has_versions_only = (is_root && self.list.include.deleted_with_versions).then_some(false);
        let item = BlobItem { name: name.into(), revision: which, state, tags, has_versions_only };
        let position = BlobPosition { name: name.into(), revision: Some(which) };
        self.bytes += item.bytes() + size_of::<BlobPosition>() + name.len();
        self.entries.push((BlobEntry::Blob(item), position));
    }

    /// The prefix that represents this name, if the delimiter occurs in it, and its position.
    fn group_of(&self, name: &str) -> Option<(String, BlobPosition)> {
        let group = filter::group(name, self.list.prefix.len(), self.list.delimiter.as_deref())?;
        let position = BlobPosition { name: group.to_owned(), revision: None };
        Some((group.to_owned(), position))
    }
}
