//! The last queries that were slow, or read many rows to return few: for the health page of the console.
//!
//! Bounded: the last [`QUERIES_MAX`] of all accounts, each with a bounded length. Signatures are never kept.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lazuli_model::{DateTime, ReadCost};
use lazuli_protocol::http::query::Query;

use super::CompletedRequest;

/// Queries that are remembered.
const QUERIES_MAX: usize = 64;
/// Maximum bytes stored of a path or of the query options.
const TEXT_BYTES_MAX: usize = 512;
/// A query that takes this long is slow.
const SLOW_TIME_MIN: Duration = Duration::from_millis(100);
/// A query that reads at least this many rows, ...
const ROWS_READ_MIN: u64 = 1000;
/// ... and at least this many rows for each row that it returns, is wasteful.
const ROWS_PER_RESULT_MIN: u64 = 100;
/// The query options that are stored. Others may contain a signature.
const OPTIONS: [&str; 3] = ["$filter", "$select", "$top"];

/// A query that was slow, or read many rows to return few.
#[derive(Clone, Debug)]
pub struct SlowQuery {
    /// When the response was sent.
    pub at: DateTime,
    /// The home of the account whose data it read.
    pub home: String,
    /// The requested path.
    pub path: String,
    /// Its filter and other options, decoded.
    pub query: String,
    /// Its cost.
    pub effort: ReadCost,
    /// Entities found.
    pub rows_returned: usize,
    /// How long it took.
    pub time: Duration,
}

/// The last such queries.
#[derive(Debug, Default)]
pub struct SlowQueries(Mutex<VecDeque<SlowQuery>>);

impl SlowQueries {
    /// Should the query be stored? This runs for every request, so it must be cheap.
    pub fn wants(&self, completed: &CompletedRequest) -> bool {
        let Some(effort) = completed.effort else { return false };
        let wasteful = (completed.rows_returned as u64).saturating_mul(ROWS_PER_RESULT_MIN);
        completed.time >= SLOW_TIME_MIN || effort.rows_read >= ROWS_READ_MIN.max(wasteful)
    }

    /// Stores a query, and drops the oldest one if there are too many.
    pub fn note(&self, home: &str, target: &str, at: DateTime, completed: &CompletedRequest) {
        let Some(effort) = completed.effort else { return };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let options = OPTIONS.iter().filter_map(|name| Some(format!("{name}={}", Query(query).get(name)?)));
        let query = options.collect::<Vec<_>>().join("&");
        let slow = SlowQuery {
            at,
            home: home.to_owned(),
            path: shortened(path),
            query: shortened(&query),
            effort,
            rows_returned: completed.rows_returned,
            time: completed.time,
        };
        let mut queries = self.locked();
        if queries.len() >= QUERIES_MAX {
            queries.pop_front();
        }
        queries.push_back(slow);
    }

    /// The stored queries of an account, the latest first.
    pub fn of(&self, home: &str) -> Vec<SlowQuery> {
        self.locked().iter().rev().filter(|query| query.home == home).cloned().collect()
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<SlowQuery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().map(|(at, _)| at).take_while(|at| *at <= TEXT_BYTES_MAX).last() {
        Some(end) if text.len() > TEXT_BYTES_MAX => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazuli_model::{Class, OperationKind};

    fn completed(rows_read: u64, rows_returned: usize, millis: u64) -> CompletedRequest {
        CompletedRequest {
            kind: OperationKind::QueryEntities,
            error: None,
            effort: Some(ReadCost { class: Class::Table, rows_read, ..ReadCost::default() }),
            rows_returned,
            time: Duration::from_millis(millis),
        }
    }

    #[test]
    fn slow_and_wasteful_queries_are_wanted() {
        let queries = SlowQueries::default();
        assert!(queries.wants(&completed(1, 1, 100)));
        assert!(queries.wants(&completed(1000, 10, 0)));
        assert!(!queries.wants(&completed(1000, 11, 0)));
        assert!(!queries.wants(&completed(999, 0, 99)));
        assert!(!queries.wants(&CompletedRequest { effort: None, ..completed(0, 0, 1000) }));
    }

    #[test]
    fn signatures_are_not_kept_and_only_the_last_queries_are() {
        let queries = SlowQueries::default();
        let at = DateTime::from_unix(Duration::ZERO);
        for index in 0..=QUERIES_MAX {
            let target = format!("/dev/T()?sig=SECRET&$filter=A%20eq%20{index}&sv=1");
            queries.note("dev", &target, at, &completed(1, 1, 100));
        }
        queries.note("other", "/other/T()", at, &completed(1, 1, 100));
        let own = queries.of("dev");
        assert_eq!(own.len(), QUERIES_MAX - 1);
        assert_eq!((own[0].path.as_str(), own[0].query.as_str()), ("/dev/T()", "$filter=A eq 64"));
        assert_eq!(queries.of("other").len(), 1);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ä".repeat(TEXT_BYTES_MAX));
        assert!(long.len() <= TEXT_BYTES_MAX + '…'.len_utf8() && long.ends_with('…'));
    }
}
