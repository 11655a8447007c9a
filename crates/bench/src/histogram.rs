//! Latencies in buckets: small, fixed in size, exact to about three percent.

/// Buckets for each power of two.
const STEPS: usize = 32;
const POWERS: usize = 40;

/// Counts of latencies in microseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; STEPS * POWERS], count: 0 }
    }
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, micros: u64) {
        self.buckets[bucket(micros)] += 1;
        self.count += 1;
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
    }

    /// The latency that this share of all stays below.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return upper(index);
            }
        }
        0
    }
}

fn bucket(micros: u64) -> usize {
    let steps = STEPS as u64;
    if micros < steps {
        return micros as usize;
    }
    let power = 63 - micros.leading_zeros() as usize - STEPS.trailing_zeros() as usize;
    let step = (micros >> power) as usize - STEPS;
    ((power + 1) * STEPS + step).min(STEPS * POWERS - 1)
}

fn upper(index: usize) -> u64 {
    let (power, step) = (index / STEPS, (index % STEPS) as u64);
    if power == 0 { step } else { ((STEPS as u64 + step + 1) << (power - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_close() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|micros| histogram.record(micros));
        for (share, exact) in [(0.5, 5_000.0), (0.95, 9_500.0), (0.99, 9_900.0)] {
            let found = histogram.quantile(share) as f64;
            assert!((found / exact - 1.0).abs() < 0.05, "{share}: {found}");
        }
    }

    #[test]
    fn buckets_cover_all_values_in_order() {
        let mut last = 0;
        for micros in [0, 1, 31, 32, 33, 63, 64, 1000, 1_000_000, u64::MAX >> 20] {
            assert!(bucket(micros) >= last && upper(bucket(micros)) >= micros, "{micros}");
            last = bucket(micros);
        }
    }
}
