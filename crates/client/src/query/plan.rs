//! The division of a query between server and client, and its description.

use std::fmt;

use lazuli_model::TableName;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY};
use lazuli_model::table::limits::{FILTER_COMPARISONS_MAX, SELECT_NAMES_MAX};

use crate::filter::Filter;
use crate::kind::{KIND_PROPERTY, is_kind};

/// The prefix of the description of a stage that sorts.
pub(crate) const SORTS: &str = "order by";

/// The part of a query that runs on the server.
#[derive(Clone, Debug)]
pub(crate) struct Pushed {
    pub(crate) table: TableName,
    pub(crate) filter: Option<Filter>,
    pub(crate) lineage: Option<&'static str>,
    pub(crate) take: Option<u64>,
    pub(crate) select: Vec<String>,
    pub(crate) page_size: Option<u32>,
}

impl Pushed {
    pub(crate) fn new(table: TableName, lineage: Option<&'static str>) -> Self {
        Self { table, filter: None, lineage, take: None, select: Vec::new(), page_size: None }
    }

    /// Adds a condition, or returns it if the filter would exceed the limits of the service.
    pub(crate) fn push(&mut self, filter: Filter) -> Option<Filter> {
        // The condition on the kind is two comparisons.
        let before = self.filter.as_ref().map_or(0, Filter::comparisons) + 2;
        if !filter.can_be_sent() || before + filter.comparisons() > FILTER_COMPARISONS_MAX {
            return Some(filter);
        }
        self.filter = Some(match self.filter.take() {
            Some(before) => before & filter,
            None => filter,
        });
        None
    }

    /// The text of `$filter`.
    pub(crate) fn filter_text(&self) -> Option<String> {
        let kind = self.lineage.map(is_kind);
        let whole = match (self.filter.clone(), kind) {
            (Some(filter), Some(kind)) => filter & kind,
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return None,
        };
        Some(whole.to_string())
    }

    /// The names of `$select`: the selected ones, the keys, and those that stages in the client use.
    pub(crate) fn select_names<'a>(
        &'a self,
        needed: impl Iterator<Item = &'a str>,
        with_kind: bool,
    ) -> Vec<String> {
        if self.select.is_empty() {
            return Vec::new();
        }
        let mut out = vec![PARTITION_KEY.to_owned(), ROW_KEY.to_owned()];
        let kind = with_kind.then_some(KIND_PROPERTY);
        for name in self.select.iter().map(String::as_str).chain(needed).chain(kind) {
            if !out.iter().any(|given| given == name) {
                out.push(name.to_owned());
            }
        }
        if out.len() > SELECT_NAMES_MAX { Vec::new() } else { out }
    }
}

/// The split of a query between server and client (LA-25). Its `Display` is a description for people.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let query = people.query::<Person>().filter(Person::age().gt(30)).order_by("Age");
/// assert_eq!(
///     query.explain().to_string(),
///     "table People\n\
///      on the server:\n  \
///        filter Age gt 30\n\
///      in the client, holding at most 100000 rows:\n  \
///        order by Age\n  \
///        (every row that matches is read before the first one is returned)\n"
/// );
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The table.
    pub table: String,
    /// The `$filter` that runs on the server.
    pub filter: Option<String>,
    /// Maximum number of rows requested from the server.
    pub take: Option<u64>,
    /// The selected properties; all if empty.
    pub select: Vec<String>,
    /// The stages in the client, in order.
    pub local: Vec<String>,
    /// Maximum number of rows held in the client.
    pub local_limit: usize,
    /// The cost, if the query has run.
    pub ran: Option<Ran>,
}

/// Cost of a query so far.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let mut rows = people.query::<Person>().page_size(3).stream();
/// while rows.try_next().await?.is_some() {}
/// let ran = rows.explain().ran.unwrap();
/// assert_eq!(ran.to_string(), "2 requests, 4 rows received");
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Number of pages requested.
    pub requests: u64,
    /// Number of entities received.
    pub rows_received: u64,
    /// Number of entities that the server examined, if it reports that.
    pub rows_read: Option<u64>,
    /// The kind of read on the server, if reported: `point`, `row-range`, `partition`, `table`, …
    pub reading: Option<String>,
}

impl Plan {
    /// Must all rows that match on the server be read before the first row is returned? That is the case if the
    /// client sorts.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert!(people.query::<Person>().order_by("Age").take(1).explain().reads_everything());
    /// assert!(!people.query::<Person>().take(1).explain().reads_everything());
    /// # Ok(()) });
    /// ```
    pub fn reads_everything(&self) -> bool {
        self.take.is_none() && self.local.iter().any(|stage| stage.starts_with(SORTS))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "table {}", self.table)?;
        writeln!(f, "on the server:")?;
        match &self.filter {
            Some(filter) => writeln!(f, "  filter {filter}")?,
            None => writeln!(f, "  all entities")?,
        }
        if let Some(take) = self.take {
            writeln!(f, "  take {take}")?;
        }
        if !self.select.is_empty() {
            writeln!(f, "  select {}", self.select.join(", "))?;
        }
        if !self.local.is_empty() {
            writeln!(f, "in the client, holding at most {} rows:", self.local_limit)?;
            self.local.iter().try_for_each(|text| writeln!(f, "  {text}"))?;
            if self.reads_everything() {
                writeln!(f, "  (every row that matches is read before the first one is returned)")?;
            }
        }
        self.ran.as_ref().map_or(Ok(()), |ran| writeln!(f, "{ran}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = if self.requests == 1 { "request" } else { "requests" };
        write!(
            f,
            "{} {requests}, {} {} received",
            self.requests,
            self.rows_received,
            rows(self.rows_received)
        )?;
        match (&self.reading, self.rows_read) {
            (Some(reading), Some(read)) => write!(f, "; the server read {read} {} ({reading})", rows(read)),
            _ => Ok(()),
        }
    }
}

fn rows(count: u64) -> &'static str {
    if count == 1 { "row" } else { "rows" }
}
