//! Filters the rows of a listing one by one.

use lazuli_engine::types::Judge;
use lazuli_engine::{RowView, Verdict};
use lazuli_model::blob::list::ListBlobs;

use super::NEXT_NAME;
use crate::blob::keyspace::{self, RowKind};
use crate::blob::order::{after_prefix, agrees_with_bytes, compare};
use crate::blob::record::Head;

/// After this many consecutive unwanted rows the scan skips the rest of them.
const UNWANTED_ROWS_MAX: usize = 4;
/// After this many consecutive unwanted bytes the scan skips the rest of them.
const UNWANTED_BYTES_MAX: usize = 32 * 1024;

/// The rows that a listing needs.
pub struct Filter {
    prefix_bytes: usize,
    delimiter: Option<String>,
    start_from: Option<String>,
    end_before: Option<String>,
    has_marker: bool,
    has_snapshots: bool,
    has_uncommitted: bool,
    has_deleted: bool,
    has_versions: bool,
    /// Include blobs of which only versions exist.
    has_versions_only: bool,
    /// The last head had a blob.
    is_blob: bool,
    /// The last prefix that was returned: all names with this prefix are covered by it.
    known: Option<String>,
    unwanted_rows: usize,
    unwanted_bytes: usize,
}

impl Filter {
    pub fn new(list: &ListBlobs) -> Self {
        Self {
            prefix_bytes: list.prefix.len(),
            delimiter: list.delimiter.clone(),
            start_from: list.start_from.clone(),
            end_before: list.end_before.clone(),
            has_marker: list.from.is_some(),
            has_snapshots: list.include.snapshots,
            has_uncommitted: list.include.uncommitted,
            has_deleted: list.include.deleted,
            has_versions: list.include.versions,
            has_versions_only: list.include.deleted_with_versions,
            is_blob: false,
            known: None,
            unwanted_rows: 0,
            unwanted_bytes: 0,
        }
    }

    pub fn judge(mut self) -> Judge {
        Box::new(move |row| {
            if ends_at(self.end_before.as_deref(), row.partition) {
                return Ok(Verdict::Stop);
            }
            if !self.is_wanted(&row) {
                return Ok(self.pass_over(&row));
            }
            (self.unwanted_rows, self.unwanted_bytes) = (0, 0);
            let delimiter = self.delimiter.as_deref();
            self.known = group(row.partition, self.prefix_bytes, delimiter).map(str::to_owned);
            Ok(Verdict::Keep)
        })
    }

    fn is_wanted(&mut self, row: &RowView<'_>) -> bool {
        if self.is_too_early(row.partition) || self.is_too_late(row.partition) || self.is_known(row) {
            return false;
        }
        if row.row == keyspace::HEAD {
            self.is_blob = Head::is_blob(row.value);
            let wants_versions = self.has_versions || self.has_versions_only;
            return self.is_blob
                || (self.has_uncommitted && Head::is_uncommitted(row.value))
                || (self.has_deleted && (self.has_snapshots || Head::has_deleted(row.value)))
                || (wants_versions && Head::has_versions(row.value));
        }
        match RowKind::of(row.row) {
            Some(RowKind::Snapshot(_)) => self.has_snapshots,
            // The head of a blob comes before its versions.
            Some(RowKind::Version(_)) => self.has_versions || (self.has_versions_only && !self.is_blob),
            _ => false,
        }
    }

    /// Does the name come before the start name, by bytes? A marker takes precedence, so later pages include
    /// only names after it in scan order.
    fn is_too_early(&self, name: &str) -> bool {
        self.start_from
            .as_ref()
            .is_some_and(|from| name < from.as_str() && (!self.has_marker || compare(name, from).is_ge()))
    }

    /// Does the listing end before this name, by bytes?
    fn is_too_late(&self, name: &str) -> bool {
        self.end_before.as_ref().is_some_and(|end| name >= end.as_str())
    }

    /// Only content and covered prefixes can be skipped; after any other row the listing may need the next one.
    fn pass_over(&mut self, row: &RowView<'_>) -> Verdict {
        if row.row < keyspace::CONTENT && !self.is_known(row) {
            return Verdict::Skip;
        }
        self.unwanted_rows += 1;
        self.unwanted_bytes += row.value.len();
        if self.unwanted_rows <= UNWANTED_ROWS_MAX && self.unwanted_bytes <= UNWANTED_BYTES_MAX {
            return Verdict::Skip;
        }
        let next = match self.known.as_deref().filter(|_| self.is_known(row)) {
            Some(known) => after_prefix(known),
            None => Some(format!("{}{NEXT_NAME}", row.partition)),
        };
        next.map_or(Verdict::Stop, |next| Verdict::Leap(next.into()))
    }

    fn is_known(&self, row: &RowView<'_>) -> bool {
        self.known.as_ref().is_some_and(|known| row.partition.starts_with(known.as_str()))
    }
}

/// Are all names from this one on beyond the end? Where the scan order differs from byte order, names beyond
/// the end may be followed by others that are not.
pub fn ends_at(end_before: Option<&str>, name: &str) -> bool {
    end_before.is_some_and(|end| name >= end && agrees_with_bytes(end))
}

/// The part of a name up to and including the first delimiter after the prefix.
pub fn group<'a>(name: &'a str, prefix_bytes: usize, delimiter: Option<&str>) -> Option<&'a str> {
    let delimiter = delimiter.filter(|text| !text.is_empty())?;
    let at = name.get(prefix_bytes..)?.find(delimiter)?;
    name.get(..prefix_bytes + at + delimiter.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        for (name, prefix, delimiter, expected) in [
            ("a/b/c", "", "/", Some("a/")),
            ("a/b/c", "a/", "/", Some("a/b/")),
            ("a/b/c", "a/b/", "/", None),
            ("a//c", "a/", "/", Some("a//")),
            ("//", "", "/", Some("/")),
            ("a--b--c", "a", "--", Some("a--")),
            ("abc", "", "", None),
        ] {
            assert_eq!(group(name, prefix.len(), Some(delimiter)), expected, "{name} {prefix} {delimiter}");
        }
    }
}
