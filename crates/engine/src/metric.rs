//! Metrics of an engine: counted with atomics, reported by name.
//!
//! Each engine names its own metrics, so the code that exports them does not need to know them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name: lower-case words joined by underscores, the unit last.
    pub name: &'static str,
    /// Its meaning, in a sentence.
    pub help: &'static str,
    /// Its value.
    pub value: MetricValue,
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricValue {
    /// A counter: it only grows, until the engine is opened again.
    Counter(u64),
    /// A gauge: it goes up and down.
    Gauge(f64),
    /// A histogram.
    Histogram(Distribution),
}

/// A histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Upper bounds, ascending, each with the count of values in its bucket: above the previous bound, up to this
    /// one.
    pub buckets: Vec<(f64, u64)>,
    /// Count of values above the last bound.
    pub above: u64,
    /// Sum of all values.
    pub sum: f64,
}

impl Metric {
    /// A counter.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, value: MetricValue::Counter(value) }
    }

    /// A gauge.
    #[allow(clippy::cast_precision_loss, reason = "sizes beyond 2^53 need no last digit")]
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, value: MetricValue::Gauge(value as f64) }
    }

    /// A histogram.
    pub fn histogram(name: &'static str, help: &'static str, value: Distribution) -> Self {
        Self { name, help, value: MetricValue::Histogram(value) }
    }
}

/// Upper bounds for durations, in microseconds: three per power of ten, from a tenth of a millisecond to ten seconds.
pub const MICROS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
/// Upper bounds for counts, doubling.
pub const COUNTS: [u64; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Counts values between fixed bounds without locks.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    counts: [AtomicU64; N],
    above: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; N], above: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts a value. `bounds` must be the same at every call.
    pub fn record(&self, bounds: &[u64; N], value: u64) {
        let place = bounds.iter().position(|&bound| value <= bound);
        place.map_or(&self.above, |place| &self.counts[place]).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// The values so far. `scale` is the number of recorded units per reported unit.
    #[allow(clippy::cast_precision_loss, reason = "bounds and sums need no more than 53 bits")]
    pub fn distribution(&self, bounds: &[u64; N], scale: f64) -> Distribution {
        let buckets = bounds.iter().zip(&self.counts);
        Distribution {
            buckets: buckets
                .map(|(&bound, count)| (bound as f64 / scale, count.load(Ordering::Relaxed)))
                .collect(),
            above: self.above.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed) as f64 / scale,
        }
    }
}

impl Histogram<{ MICROS.len() }> {
    /// Records a duration.
    pub fn record_time(&self, time: Duration) {
        self.record(&MICROS, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// The recorded durations, in seconds.
    pub fn times(&self) -> Distribution {
        self.distribution(&MICROS, 1e6)
    }
}

impl Distribution {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum::<u64>() + self.above
    }

    /// Adds another histogram with the same bounds.
    pub fn add(&mut self, other: &Distribution) {
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.1 += other.1;
        }
        self.above += other.above;
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_the_first_bucket_that_holds_them() {
        let histogram = Histogram::<3>::default();
        for value in [0, 1, 2, 10, 11, 1_000] {
            histogram.record(&[1, 10, 100], value);
        }
        let found = histogram.distribution(&[1, 10, 100], 10.0);
        assert_eq!(found.buckets, [(0.1, 2), (1.0, 2), (10.0, 1)]);
        assert_eq!((found.above, found.count(), found.sum), (1, 6, 102.4));
    }

    #[test]
    fn bounds_ascend() {
        assert!(MICROS.is_sorted_by(|a, b| a < b) && COUNTS.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn distributions_add_up() {
        let histogram = Histogram::default();
        histogram.record_time(Duration::from_micros(300));
        histogram.record_time(Duration::from_secs(60));
        let mut sum = histogram.times();
        sum.add(&histogram.times());
        assert_eq!((sum.count(), sum.above, sum.buckets[2]), (4, 2, (0.0005, 2)));
    }
}
