//! The sums of an hour or a minute, and their rows in Azure's format.

use std::time::Duration;

use lazuli_model::table::operation::StoredEntity;
use lazuli_model::{Properties, Property, Value, ValueRef};

use super::record::Record;
use super::status::{Auth, Status};

/// The columns without a prefix, with `Anonymous` and with `SAS`. Azure has no columns for bearer tokens, so
/// these requests count without a prefix.
const PREFIXES: [&str; 3] = ["", "Anonymous", "SAS"];
const STATUSES: usize = Status::ALL.len();

/// Sums over requests of one kind, or over all requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    ingress: u64,
    egress: u64,
    /// Of requests that succeeded.
    time: Duration,
    server_time: Duration,
    counts: [[u64; STATUSES]; PREFIXES.len()],
}

impl Totals {
    /// Counts a request.
    pub fn add(&mut self, record: &Record) {
        let prefix = match record.auth {
            Auth::Key | Auth::Bearer => 0,
            Auth::Anonymous => 1,
            Auth::Sas => 2,
        };
        let status = Status::of(record.error);
        self.ingress += record.ingress;
        self.egress += record.egress;
        self.counts[prefix][status as usize] += 1;
        if status == Status::Success {
            self.time += record.time;
            self.server_time += record.server_time;
        }
    }

    /// Adds the sums of another part of the same period.
    pub fn merge(&mut self, other: &Totals) {
        self.ingress += other.ingress;
        self.egress += other.egress;
        self.time += other.time;
        self.server_time += other.server_time;
        for (own, other) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *own += other;
        }
    }

    /// Reads the sums from a stored row: the times follow from the averages.
    pub fn of_row(row: &StoredEntity) -> Self {
        let number = |name: &str| match row.properties.find(name) {
            Ok(Some(ValueRef::Int64(value))) => u64::try_from(value).unwrap_or(0),
            _ => 0,
        };
        let average = |name: &str| match row.properties.find(name) {
            Ok(Some(ValueRef::Double(value))) if value.is_finite() && value >= 0.0 => value,
            _ => 0.0,
        };
        let mut totals =
            Self { ingress: number("TotalIngress"), egress: number("TotalEgress"), ..Self::default() };
        for (prefix, counts) in PREFIXES.iter().zip(&mut totals.counts) {
            for (status, count) in Status::ALL.iter().zip(counts) {
                *count = number(&format!("{prefix}{}", status.name()));
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "an average needs no more than 53 bits")]
        let successes = totals.count(Status::Success) as f64;
        let time = |name| Duration::try_from_secs_f64(average(name) * successes / 1e3).unwrap_or_default();
        totals.time = time("AverageE2ELatency");
        totals.server_time = time("AverageServerLatency");
        totals
    }

    /// The columns, in the order of the documentation.
    #[allow(clippy::cast_precision_loss, reason = "percentages need no more than 53 bits")]
    pub fn properties(&self) -> Option<Properties> {
        let total: u64 = self.counts.iter().flatten().sum();
        let throttled = self.count(Status::ThrottlingError);
        let unknown = self.counts[1][Status::AuthorizationError as usize];
        let failed = self.count(Status::ServerTimeoutError) + self.count(Status::ServerOtherError);
        let billable = total - throttled - failed - unknown;
        let applicable = total - throttled - unknown;
        let percent = |count: u64, of: u64| if of == 0 { 0.0 } else { count as f64 * 100.0 / of as f64 };
        let average = |time: Duration| match self.count(Status::Success) {
            0 => 0.0,
            count => time.as_secs_f64() * 1e3 / count as f64,
        };
        let timeouts = self.count(Status::ClientTimeoutError) + self.count(Status::ServerTimeoutError);
        let int = |name: &str, value: u64| {
            (name.to_owned(), Value::Int64(i64::try_from(value).unwrap_or(i64::MAX)))
        };
        let double = |name: &str, value: f64| (name.to_owned(), Value::Double(value));
        let share = |name: &str, status| double(name, percent(self.count(status), total));
        let mut columns = vec![
            int("TotalIngress", self.ingress),
            int("TotalEgress", self.egress),
            int("TotalRequests", total),
            int("TotalBillableRequests", billable),
            double("Availability", if applicable == 0 { 100.0 } else { percent(billable, applicable) }),
            double("AverageE2ELatency", average(self.time)),
            double("AverageServerLatency", average(self.server_time)),
            share("PercentSuccess", Status::Success),
            share("PercentThrottlingError", Status::ThrottlingError),
            double("PercentTimeoutError", percent(timeouts, total)),
            share("PercentServerOtherError", Status::ServerOtherError),
            share("PercentClientOtherError", Status::ClientOtherError),
            share("PercentAuthorizationError", Status::AuthorizationError),
            share("PercentNetworkError", Status::NetworkError),
        ];
        for status in Status::ALL {
            for (prefix, counts) in PREFIXES.iter().zip(&self.counts) {
                columns.push(int(&format!("{prefix}{}", status.name()), counts[*status as usize]));
            }
        }
        let columns = columns.into_iter().map(|(name, value)| Property { name, value });
        Properties::new(columns.collect()).ok()
    }

    fn count(&self, status: Status) -> u64 {
        self.counts.iter().map(|counts| counts[status as usize]).sum()
    }
}

#[cfg(test)]
mod tests {
    use lazuli_model::properties::Metrics;
    use lazuli_model::{DateTime, ErrorCode, OperationKind, PackedRow};

    use super::*;

    fn record(auth: Auth, error: Option<ErrorCode>) -> Record {
        Record {
            service: lazuli_model::Service::Table,
            account: "acct".into(),
            secondary: false,
            kind: OperationKind::QueryEntity,
            error,
            auth,
            start: DateTime::MIN,
            time: Duration::from_millis(20),
            server_time: Duration::from_millis(10),
            ingress: 100,
            egress: 1000,
            hour_metrics: Metrics::default(),
            minute_metrics: Metrics::default(),
            line: None,
        }
    }

    fn totals() -> Totals {
        let mut totals = Totals::default();
        for (auth, error) in [
            (Auth::Key, None),
            (Auth::Key, None),
            (Auth::Sas, None),
            (Auth::Key, Some(ErrorCode::ServerBusy)),
            (Auth::Sas, Some(ErrorCode::InternalError)),
            (Auth::Key, Some(ErrorCode::OperationTimedOut)),
            (Auth::Key, Some(ErrorCode::TableNotFound)),
            (Auth::Anonymous, Some(ErrorCode::AuthenticationFailed)),
        ] {
            totals.add(&record(auth, error));
        }
        totals
    }

    fn stored(totals: &Totals) -> StoredEntity {
        let properties = PackedRow::pack(&totals.properties().unwrap());
        StoredEntity { partition: "p".into(), row: "r".into(), timestamp: DateTime::MIN, properties }
    }

    #[test]
    fn a_row_has_the_documented_columns() {
        let properties = totals().properties().unwrap();
        let value = |name: &str| {
            let found = properties.row().find(name).unwrap();
            format!("{:?}", found.unwrap_or_else(|| panic!("{name}")))
        };
        assert_eq!(properties.row().count(), 14 + 24);
        for (name, expected) in [
            ("TotalIngress", "Int64(800)"),
            ("TotalEgress", "Int64(8000)"),
            ("TotalRequests", "Int64(8)"),
            ("TotalBillableRequests", "Int64(4)"),
            // Four of the six requests that are neither throttled nor unauthenticated.
            ("Availability", "Double(66.66666666666667)"),
            ("AverageE2ELatency", "Double(20.0)"),
            ("AverageServerLatency", "Double(10.0)"),
            ("PercentSuccess", "Double(37.5)"),
            ("PercentTimeoutError", "Double(12.5)"),
            ("Success", "Int64(2)"),
            ("SASSuccess", "Int64(1)"),
            ("ThrottlingError", "Int64(1)"),
            ("SASServerOtherError", "Int64(1)"),
            ("AnonymousAuthorizationError", "Int64(1)"),
            ("NetworkError", "Int64(0)"),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }

    #[test]
    fn an_idle_period() {
        let properties = Totals::default().properties().unwrap();
        let value = |name: &str| properties.row().find(name).unwrap().unwrap().to_value();
        assert_eq!(
            (value("Availability"), value("PercentSuccess")),
            (Value::Double(100.0), Value::Double(0.0))
        );
    }

    /// Sums that a restart splits in two can be added up again.
    #[test]
    fn rows_can_be_read_back_and_added_to() {
        let once = totals();
        let mut twice = Totals::of_row(&stored(&once));
        assert_eq!(twice, once);
        twice.merge(&once);
        assert_eq!(twice.counts[0][0], 4);
        assert_eq!(twice.time, Duration::from_millis(120));
    }
}
