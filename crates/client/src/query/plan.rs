//! What a query asks of the service, and what is left to do here: the division, and how it is told.

use std::fmt;

use lazuli_model::TableName;
use lazuli_model::entity::{PARTITION_KEY, ROW_KEY};
use lazuli_model::limits::{FILTER_COMPARISONS_MAX, SELECT_NAMES_MAX};

use crate::filter::Filter;
use crate::kind::{KIND_PROPERTY, is_kind};

/// The part of a query that the service runs.
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

    /// Adds a condition, unless it makes the whole more than a service takes: then it comes back.
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

    /// The names of `$select`: what was asked for, the keys, and what the stages here look at.
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

/// What runs where (LA-25). Printing it gives a text for people.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let query = people.query::<Person>().filter(Person::age().gt(30)).order_by("Age");
/// assert_eq!(
///     query.explain().to_string(),
///     "table People\n\
///      on the service:\n  \
///        filter Age gt 30\n\
///      here, holding at most 100000 rows:\n  \
///        order by Age\n"
/// );
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The table.
    pub table: String,
    /// The `$filter` that the service runs.
    pub filter: Option<String>,
    /// The most rows that are asked of the service.
    pub take: Option<u64>,
    /// The properties that are asked for; all if empty.
    pub select: Vec<String>,
    /// What is done here, in order.
    pub local: Vec<String>,
    /// The most rows that are held here at a time.
    pub local_limit: usize,
    /// What it took, if it has run.
    pub ran: Option<Ran>,
}

/// What a query has taken so far.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let mut rows = people.query::<Person>().page_size(3).stream();
/// while rows.try_next().await?.is_some() {}
/// let ran = rows.explain().ran.unwrap();
/// assert_eq!(ran.to_string(), "it took 2 requests for 4 rows");
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Pages that were asked for.
    pub requests: u64,
    /// Entities that came.
    pub rows_received: u64,
    /// Entities that the service looked at to find them, where it tells.
    pub rows_read: Option<u64>,
    /// How the service read, where it tells: `point`, `row-range`, `partition`, `table`, …
    pub reading: Option<String>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "table {}", self.table)?;
        writeln!(f, "on the service:")?;
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
            writeln!(f, "here, holding at most {} rows:", self.local_limit)?;
            self.local.iter().try_for_each(|text| writeln!(f, "  {text}"))?;
        }
        self.ran.as_ref().map_or(Ok(()), |ran| writeln!(f, "{ran}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it took {} requests for {} rows", self.requests, self.rows_received)?;
        match (&self.reading, self.rows_read) {
            (Some(reading), Some(rows)) => write!(f, "; the service read {rows} ({reading})"),
            _ => Ok(()),
        }
    }
}
