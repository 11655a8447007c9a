//! Decides that a process has ended, so that its streams can be taken away and swept, and its holds of content
//! removed.
//!
//! The clock of the database alone cannot decide this: after a failover it may be a day ahead, and then every front end seems
//! to have been away for a day. So a stream is taken away only if its front end was not seen for a day by the clock of the
//! database *and* its row did not change while this process watched it for [`WATCH`], by its own monotonic clock. The
//! statement that takes it away has the condition that the row is still the same.
//!
//! This is safe even if the clock of the database is wrong. A front end renews its streams before its slot, and
//! issues no version [`LEASE_TRUSTED`](crate::version::LEASE_TRUSTED) after the last renewal of both. So it
//! sent its last commit that can refer to a piece in them at least six minutes before its streams are taken
//! away. When it returns, it finds that it has lost the streams before it renews its slot: uploads that wrote
//! to them then fail, and no commit succeeds for another [`LEASE_TRUSTED`](crate::version::LEASE_TRUSTED).
//!
//! For holds, see `hold.rs`.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// The time for which a row must be unchanged.
const WATCH: Duration = Duration::from_secs(600);
/// After a longer pause between two checks, the watch starts over: while the database is away, no front end can
/// renew.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Rows that their processes renew, by their keys `K`, with the value `V` that every renewal changes.
#[derive(Debug)]
pub struct RenewalWatch<K, V> {
    /// The last value of each row, and when this process first saw it.
    watched: HashMap<K, (V, Instant)>,
    last: Option<Instant>,
}

impl<K, V> Default for RenewalWatch<K, V> {
    fn default() -> Self {
        Self { watched: HashMap::new(), last: None }
    }
}

impl<K: Eq + Hash + Clone, V: PartialEq + Clone> RenewalWatch<K, V> {
    /// Compares the current rows with those of earlier calls. Returns those whose processes have ended.
    pub fn observe(&mut self, present: HashMap<K, V>, now: Instant) -> Vec<(K, V)> {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > PAUSE_MAX) {
            self.watched.clear();
        }
        self.last = Some(now);
        let since = |key: &K, value: &V| match self.watched.get(key) {
            Some((before, since)) if before == value => *since,
            _ => now,
        };
        let watched = present.into_iter().map(|(key, value)| {
            let since = since(&key, &value);
            (key, (value, since))
        });
        self.watched = watched.collect();
        let is_gone = |since: Instant| now.saturating_duration_since(since) >= WATCH;
        let gone = self.watched.iter().filter(|(_, (_, since))| is_gone(*since));
        gone.map(|(key, (value, _))| (key.clone(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    const LOOK: Duration = Duration::from_secs(20);

    fn time(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Checks stream 7 every 20 s, `looks` times; `seen` says when it was last renewed.
    fn after(looks: u32, pause: Duration, seen: impl Fn(u32) -> u64) -> Vec<(i64, SystemTime)> {
        let (mut watch, start) = (RenewalWatch::default(), Instant::now());
        let mut gone = Vec::new();
        for look in 0..looks {
            assert_eq!(gone, [], "look {look}");
            gone = watch.observe(HashMap::from([(7, time(seen(look)))]), start + pause * look);
        }
        gone
    }

    #[test]
    fn a_stream_is_gone_if_it_does_not_change_for_ten_minutes() {
        assert_eq!(after(30, LOOK, |_| 5), []);
        assert_eq!(after(31, LOOK, |_| 5), [(7, time(5))]);
    }

    /// The clock of the database jumps: all streams look a day old, but they are renewed.
    #[test]
    fn a_stream_that_is_renewed_is_not_gone_however_old_it_looks() {
        assert_eq!(after(200, LOOK, |look| u64::from(look / 3)), []);
        assert_eq!(after(60, LOOK, |look| u64::from(look >= 29)), [(7, time(1))]);
    }

    /// Renewal was impossible while the database was unavailable.
    #[test]
    fn a_watch_with_a_pause_begins_again() {
        assert_eq!(after(100, Duration::from_secs(61), |_| 5), []);
        let (mut watch, start) = (RenewalWatch::default(), Instant::now());
        assert_eq!(watch.observe(HashMap::from([(7, time(5))]), start), []);
        assert_eq!(watch.observe(HashMap::from([(7, time(5))]), start + WATCH), []);
    }

    #[test]
    fn a_stream_that_was_away_is_watched_from_the_beginning() {
        let (mut watch, start) = (RenewalWatch::default(), Instant::now());
        for look in 0..60 {
            let silent = if look == 20 { HashMap::new() } else { HashMap::from([(7, time(5))]) };
            let gone = watch.observe(silent, start + LOOK * look);
            assert_eq!(!gone.is_empty(), look >= 51, "look {look}");
        }
    }
}
