//! Reads: one entity by its key, or a page of those that match a filter.

use std::time::Duration;

use lazuli_engine::types::Judge;
use lazuli_engine::{Scan, Verdict};
use lazuli_filter::{Matcher, Plan, PlanBound, PlanPosition, PlanRange};
use lazuli_model::table::Outcome;
use lazuli_model::table::filter::Expr;
use lazuli_model::table::limits::{PAGE_BYTES_MAX, PAGE_ROWS_MAX};
use lazuli_model::table::operation::{EntityPage, EntityPosition, EntityQuery};
use lazuli_model::table::row::RowRef;
use lazuli_model::{DateTime, EntityKey, ErrorCode, ReadCost, TableName};

use super::stored;
use crate::deadline::Deadline;
use crate::{Grant, Result, Services, access};

impl Services {
    /// OP-08.
    pub(crate) async fn get_entity(
        &self,
        grant: &Grant,
        table: &TableName,
        key: &EntityKey,
    ) -> Result<Outcome> {
        let found = self.find_table(&grant.home, table).await?;
        if grant.window().is_some_and(|window| !access::table::contains(window, key)) {
            return Err(ErrorCode::ResourceNotFound.into());
        }
        let partition = key.partition.as_str();
        let rows = self.engine.get(found.record.id, partition, &[key.row.as_str()]).await?;
        let row = rows.into_iter().next().flatten();
        let count = u64::from(row.is_some());
        self.usage.read(found.slot, count, count);
        self.touch(&grant.home, table, &found, partition, 1);
        let row = row.ok_or(ErrorCode::ResourceNotFound)?;
        Ok(Outcome::Entity(stored(row)?))
    }

    /// OP-07, PG-01 to PG-05.
    pub(crate) async fn query_entities(
        &self,
        grant: &Grant,
        table: &TableName,
        query: EntityQuery,
        time: Duration,
    ) -> Result<Outcome> {
        let found = self.find_table(&grant.home, table).await?;
        let started = self.elapsed();
        let mut plan = query.filter.as_ref().map_or_else(Plan::everything, lazuli_filter::plan);
        if let Some(from) = query.from {
            plan.narrow(&at_or_after(from));
        }
        if let Some(window) = grant.window() {
            plan.narrow(window);
        }
        let planned = self.elapsed();
        let mut effort =
            ReadCost { class: plan.class, plan_time: planned.saturating_sub(started), ..ReadCost::default() };
        if query.top == Some(0) || plan.ranges.is_empty() {
            self.usage.read(found.slot, 0, 0);
            return Ok(Outcome::Page(EntityPage { effort, ..EntityPage::default() }));
        }
        effort.ranges = plan.ranges.len();
        let partition = only_partition(&plan.ranges).map(str::to_owned);
        let scan = Scan {
            table: found.record.id,
            ranges: plan.ranges.into_iter().map(engine_range).collect(),
            rows_max: query.top.unwrap_or(PAGE_ROWS_MAX).min(rows_that_fit(query.row_bytes)),
            bytes_max: PAGE_BYTES_MAX,
            judge: judge(
                plan.residual.as_ref(),
                Deadline::after(self.options.elapsed.clone(), planned, time),
            ),
        };
        let page = self.engine.scan(scan).await?;
        effort.rows_read = page.rows_read;
        effort.scan_time = self.elapsed().saturating_sub(planned);
        self.usage.read(found.slot, page.rows_read, page.rows.len() as u64);
        if let Some(partition) = partition {
            self.touch(&grant.home, table, &found, &partition, page.rows_read.max(1));
        }
        Ok(Outcome::Page(EntityPage {
            rows: page.rows.into_iter().map(stored).collect::<Result<_>>()?,
            next: page.next.map(|place| EntityPosition { partition: place.partition, row: place.row }),
            effort,
        }))
    }

    fn elapsed(&self) -> Duration {
        (self.options.elapsed)()
    }
}

/// Filters rows by the conditions that the key ranges do not cover, and stops at the deadline.
fn judge(residual: Option<&Expr>, mut deadline: Deadline) -> Judge {
    let mut matcher = residual.map(|residual| Matcher::new(Some(residual)));
    Box::new(move |row| {
        if deadline.passed() {
            return Ok(Verdict::Stop);
        }
        let Some(matcher) = &mut matcher else { return Ok(Verdict::Keep) };
        let corrupt =
            |error: lazuli_model::table::row::CorruptRow| lazuli_engine::Error::Corrupt(error.to_string());
        let row = lazuli_filter::EntityRow {
            partition: row.partition,
            row: row.row,
            timestamp: DateTime::from_ticks(row.version.0).unwrap_or(DateTime::MAX),
            properties: RowRef::new(row.value).map_err(corrupt)?,
        };
        Ok(if matcher.matches(&row).map_err(corrupt)? { Verdict::Keep } else { Verdict::Skip })
    })
}

/// The partition that contains all ranges, if there is only one.
fn only_partition(ranges: &[PlanRange]) -> Option<&str> {
    let first = match &ranges.first()?.start {
        PlanBound::Included(place) | PlanBound::Excluded(place) => place.partition.as_str(),
        PlanBound::Open | PlanBound::AfterPartition(_) => return None,
    };
    let last = match &ranges.last()?.end {
        PlanBound::Included(place) | PlanBound::Excluded(place) => place.partition.as_str(),
        PlanBound::AfterPartition(partition) => partition.as_str(),
        PlanBound::Open => return None,
    };
    (first == last).then_some(first)
}

/// The maximum number of rows in a page, at least one, given the minimum size of a row.
fn rows_that_fit(row_bytes: usize) -> usize {
    (PAGE_BYTES_MAX / row_bytes.max(1)).clamp(1, PAGE_ROWS_MAX)
}

/// Everything from the position where a query resumes.
fn at_or_after(from: EntityPosition) -> PlanRange {
    PlanRange {
        start: PlanBound::Included(PlanPosition { partition: from.partition, row: from.row }),
        end: PlanBound::Open,
    }
}

/// Converts a range of the planner into one of the engine. The two crates do not depend on each other.
fn engine_range(range: PlanRange) -> lazuli_engine::KeyRange {
    lazuli_engine::KeyRange { start: engine_bound(range.start), end: engine_bound(range.end) }
}

fn engine_bound(bound: PlanBound) -> lazuli_engine::Bound {
    let place =
        |place: PlanPosition| lazuli_engine::KeyPosition { partition: place.partition, row: place.row };
    match bound {
        PlanBound::Open => lazuli_engine::Bound::Open,
        PlanBound::Included(at) => lazuli_engine::Bound::Included(place(at)),
        PlanBound::Excluded(at) => lazuli_engine::Bound::Excluded(place(at)),
        PlanBound::AfterPartition(partition) => lazuli_engine::Bound::AfterPartition(partition),
    }
}
