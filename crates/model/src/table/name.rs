//! Table names: validated once; the type guarantees that they are valid.

use std::fmt;
use std::str::FromStr;

use crate::Service;
use crate::table::limits::{TABLE_NAME_CHARS_MAX, TABLE_NAME_CHARS_MIN};

/// A valid table name, in its original letter case.
///
/// Names are unique case-insensitively: compare them by [`TableName::folded`].
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::TableName;
///
/// let name: TableName = "Guitars".parse()?;
/// assert_eq!(name.as_str(), "Guitars");
/// assert!(name.is_same(&"GUITARS".parse()?));
/// # Ok::<(), lazuli_client::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TableName(Box<str>);

/// The tables in which the services keep their metrics, hidden from listings: four of each service, in the
/// order hour primary, hour secondary, minute primary, minute secondary. Clients can only read them and delete
/// rows.
pub const METRICS_TABLES: [&str; 12] = [
    "$MetricsHourPrimaryTransactionsTable",
    "$MetricsHourSecondaryTransactionsTable",
    "$MetricsMinutePrimaryTransactionsTable",
    "$MetricsMinuteSecondaryTransactionsTable",
    "$MetricsHourPrimaryTransactionsQueue",
    "$MetricsHourSecondaryTransactionsQueue",
    "$MetricsMinutePrimaryTransactionsQueue",
    "$MetricsMinuteSecondaryTransactionsQueue",
    "$MetricsHourPrimaryTransactionsBlob",
    "$MetricsHourSecondaryTransactionsBlob",
    "$MetricsMinutePrimaryTransactionsBlob",
    "$MetricsMinuteSecondaryTransactionsBlob",
];

/// The four [`METRICS_TABLES`] of a service.
pub fn metrics_tables(service: Service) -> &'static [&'static str] {
    match service {
        Service::Table => &METRICS_TABLES[0..4],
        Service::Queue => &METRICS_TABLES[4..8],
        Service::Blob => &METRICS_TABLES[8..12],
    }
}

/// Further metrics tables: the daily capacity of the Blob service, and those of a service that does not exist here.
const METRICS_TABLES_MORE: [&str; 5] = [
    "$MetricsCapacityBlob",
    "$MetricsHourPrimaryTransactionsFile",
    "$MetricsHourSecondaryTransactionsFile",
    "$MetricsMinutePrimaryTransactionsFile",
    "$MetricsMinuteSecondaryTransactionsFile",
];

/// The names of hourly metrics tables before 2013-08-15, and those that replace them.
const METRICS_TABLES_RENAMED: [(&str, &str); 3] = [
    ("$MetricsTransactionsTable", METRICS_TABLES[0]),
    ("$MetricsTransactionsQueue", METRICS_TABLES[4]),
    ("$MetricsTransactionsBlob", METRICS_TABLES[8]),
];

/// The reason why a string is not a valid table name.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{NameError, TableName};
///
/// assert_eq!("ab".parse::<TableName>(), Err(NameError::Length));
/// assert_eq!("my-table".parse::<TableName>(), Err(NameError::Characters));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Shorter than 3 or longer than 63 characters.
    Length,
    /// A character other than ASCII letters and digits, a digit at the start, or the reserved name.
    Characters,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::Length => "table names must have 3 to 63 characters",
            NameError::Characters => {
                "table names must be ASCII letters and digits, start with a letter, and not be `tables`"
            }
        })
    }
}

impl std::error::Error for NameError {}

impl TableName {
    /// Checks `text`. The length is checked first: a name with both errors is reported for its length.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// assert!(TableName::new("Guitars").is_ok());
    /// assert!(TableName::new("2Guitars").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, NameError> {
        let length = text.chars().count();
        if !(TABLE_NAME_CHARS_MIN..=TABLE_NAME_CHARS_MAX).contains(&length) {
            return Err(NameError::Length);
        }
        let legal = text.bytes().all(|b| b.is_ascii_alphanumeric()) && !text.as_bytes()[0].is_ascii_digit();
        if !legal || text.eq_ignore_ascii_case("tables") {
            return Err(NameError::Characters);
        }
        Ok(Self(text.into()))
    }

    /// The name of one of the [`METRICS_TABLES`], or of those that only Azure has, in any letter case. An older
    /// name is an alias of the table that replaced it.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// let hourly = TableName::of_metrics("$metricshourprimarytransactionstable").unwrap();
    /// assert_eq!(hourly.as_str(), "$MetricsHourPrimaryTransactionsTable");
    /// assert_eq!(TableName::of_metrics("Guitars"), None);
    /// ```
    pub fn of_metrics(text: &str) -> Option<Self> {
        let all = METRICS_TABLES.iter().chain(&METRICS_TABLES_MORE).map(|name| (*name, *name));
        let (_, name) =
            all.chain(METRICS_TABLES_RENAMED).find(|(name, _)| name.eq_ignore_ascii_case(text))?;
        Some(Self(name.into()))
    }

    /// Does it belong to the service itself?
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// assert!(TableName::of_metrics("$MetricsMinutePrimaryTransactionsTable").unwrap().is_of_metrics());
    /// assert!(!TableName::new("Guitars").unwrap().is_of_metrics());
    /// ```
    pub fn is_of_metrics(&self) -> bool {
        self.0.starts_with('$')
    }

    /// The name in its original letter case.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// assert_eq!(TableName::new("GuitarStore").unwrap().as_str(), "GuitarStore");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Are both the name of the same table?
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// let [one, other] = ["Guitars", "guitars"].map(|text| TableName::new(text).unwrap());
    /// assert!(one.is_same(&other) && one != other);
    /// ```
    pub fn is_same(&self, other: &TableName) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }

    /// The form that identifies the table: lower case.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::TableName;
    ///
    /// assert_eq!(TableName::new("GuitarStore").unwrap().folded(), "guitarstore");
    /// ```
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for TableName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_has_tables_of_its_own() {
        let name = TableName::of_metrics("$metricsHOURprimaryTransactionsTable").unwrap();
        assert_eq!(name.as_str(), METRICS_TABLES[0]);
        assert!(name.is_of_metrics() && !TableName::new("Metrics").unwrap().is_of_metrics());
        assert!(TableName::of_metrics("$metricsCapacityBlob").unwrap().is_of_metrics());
        assert_eq!(TableName::of_metrics("$MetricsCapacityTable"), None);
        let older = TableName::of_metrics("$metricstransactionsblob").unwrap();
        assert_eq!(older.as_str(), "$MetricsHourPrimaryTransactionsBlob");
        assert_eq!(TableName::new(METRICS_TABLES[0]), Err(NameError::Characters), "nobody creates one");
    }

    /// DM-05, DM-06, DM-07.
    #[test]
    fn names() {
        for good in ["abc", "Blogs", "a1b2c3", &"x".repeat(63)] {
            assert!(TableName::new(good).is_ok(), "{good}");
            assert_eq!(good.parse(), TableName::new(good), "{good}");
        }
        for short in ["", "ab", &"x".repeat(64), "é", "1"] {
            assert_eq!(TableName::new(short), Err(NameError::Length), "{short}");
        }
        for wrong in ["1abc", "a-b", "a_b", "tables", "Tables", "TABLES", "caf\u{e9}", "a b", "$abc"] {
            assert_eq!(TableName::new(wrong), Err(NameError::Characters), "{wrong}");
        }
    }
}
