//! The clock and the entropy of a run: the only module that uses either.

use std::time::{SystemTime, UNIX_EPOCH};

use lazuli_model::DateTime;

/// The time of day.
pub(crate) fn now() -> DateTime {
    #[expect(clippy::disallowed_methods, reason = "this is where a run gets the time from")]
    let now = SystemTime::now();
    DateTime::from_unix(now.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A fresh id in the usual form.
pub(crate) fn guid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A prefix for table names that no other run uses: letters and digits in mixed case, so that the server must
/// preserve case.
pub(crate) fn table_prefix() -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("Cf{}", &id[..12])
}
