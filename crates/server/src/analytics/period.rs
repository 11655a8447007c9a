//! The periods that are measured, and the rows that store their sums.

use std::collections::HashMap;
use std::time::Duration;

use lazuli_model::table::name::metrics_tables;
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, OperationKind, Service, TableName};
use lazuli_service::MetricsRow;

use super::totals::Totals;

/// Delay between the end of a period and its writing: requests that end within the period are counted slightly
/// later.
const LATE: Duration = Duration::from_secs(2);
/// Time after its end for which a period that cannot be written is kept.
const RETRIED: Duration = Duration::from_secs(3600);

/// The unit of time of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// An hour.
    Hour,
    /// A minute.
    Minute,
}

impl Unit {
    /// Its length.
    pub fn seconds(self) -> u64 {
        match self {
            Unit::Hour => 3600,
            Unit::Minute => 60,
        }
    }
}

/// A period of an account's endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Period {
    pub service: Service,
    pub account: String,
    pub secondary: bool,
    pub unit: Unit,
    pub start: DateTime,
}

impl Period {
    /// The table that stores it.
    pub fn table(&self) -> Option<TableName> {
        let index = match (self.unit, self.secondary) {
            (Unit::Hour, false) => 0,
            (Unit::Hour, true) => 1,
            (Unit::Minute, false) => 2,
            (Unit::Minute, true) => 3,
        };
        TableName::of_metrics(metrics_tables(self.service)[index])
    }

    /// Is it over, with all requests counted?
    pub fn is_over(&self, now: DateTime) -> bool {
        self.ended(LATE, now)
    }

    /// Did it end so long ago that it should be dropped? Otherwise an unavailable engine would fill the memory.
    pub fn is_forgotten(&self, now: DateTime) -> bool {
        self.ended(RETRIED, now)
    }

    fn ended(&self, ago: Duration, now: DateTime) -> bool {
        let seconds = self.unit.seconds() + ago.as_secs();
        now.ticks() >= self.start.ticks().saturating_add(seconds * TICKS_PER_SECOND)
    }
}

/// Sums of a period: of all requests, and of each kind if configured.
#[derive(Default)]
pub struct Sums {
    pub all: Totals,
    pub kinds: HashMap<OperationKind, Totals>,
}

/// The rows of a period, including earlier writes.
pub fn merged(sums: &Sums, before: &[StoredEntity]) -> Vec<MetricsRow> {
    let system = Totals::default();
    let kinds = sums.kinds.iter().map(|(kind, totals)| (format!("user;{}", kind.name()), totals));
    let rows = [("user;All".to_owned(), &sums.all), ("system;All".to_owned(), &system)];
    let with_earlier = rows.into_iter().chain(kinds).filter_map(|(row, totals)| {
        let mut totals = totals.clone();
        let earlier = before.iter().find(|earlier| *earlier.row == *row);
        if let Some(earlier) = earlier {
            totals.merge(&Totals::of_row(earlier));
        }
        let replaces = earlier.map(|earlier| earlier.timestamp);
        Some(MetricsRow { row, properties: totals.properties()?, replaces })
    });
    with_earlier.collect()
}

/// `20110809T0800`
pub fn partition(start: DateTime) -> String {
    let text = start.iso_seconds();
    text.as_str()[..16].replace(['-', ':'], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytics::period_start;

    #[test]
    fn periods_are_named_by_their_start() {
        let moment = DateTime::parse("2011-08-09T08:44:36.5Z").unwrap();
        assert_eq!(partition(period_start(moment, 3600)), "20110809T0800");
        assert_eq!(partition(period_start(moment, 60)), "20110809T0844");
    }
}
