//! Measurements during a soak, and the check that they do not grow.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Latencies by powers of two of a microsecond.
const BUCKETS: usize = 32;

/// Absolute growth that counts as noise, in addition to a share of the previous value.
const MEMORY_SPARE: u64 = 32 << 20;
const HANDLES_SPARE: u64 = 32;
const DISK_SPARE: u64 = 256 << 20;
const MICROS_SPARE: u64 = 20_000;

/// A shorter soak proves nothing about growth.
const TELLING: Duration = Duration::from_secs(600);

/// Counts the operations of the workers. Reading the counts resets them.
#[derive(Default)]
pub struct Meter {
    requests: AtomicU64,
    checks: AtomicU64,
    latencies: [AtomicU64; BUCKETS],
}

/// A moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// Time since the beginning.
    pub at: Duration,
    /// Requests since the previous sample.
    pub requests: u64,
    /// Rows compared with their expected values since the previous sample.
    pub checks: u64,
    /// Median latency in microseconds (to a power of two).
    pub p50: u64,
    /// 99th percentile of the latency.
    pub p99: u64,
    /// Memory that the server holds.
    pub memory: u64,
    /// Number of files and sockets that it has open.
    pub handles: u64,
    /// Its data.
    pub disk: u64,
}

impl Meter {
    /// A request got its response.
    pub fn record_response(&self, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = (64 - micros.leading_zeros()) as usize;
        self.latencies[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Rows were compared.
    pub fn checked(&self, rows: usize) {
        self.checks.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// The activity since the last sample, and the current resource usage of the process.
    pub fn gauge(&self, at: Duration, process: u32, location: &Path) -> Gauge {
        let counts: Vec<u64> = self.latencies.iter().map(|count| count.swap(0, Ordering::Relaxed)).collect();
        Gauge {
            at,
            requests: self.requests.swap(0, Ordering::Relaxed),
            checks: self.checks.swap(0, Ordering::Relaxed),
            p50: quantile(&counts, 50),
            p99: quantile(&counts, 99),
            memory: memory(process),
            handles: std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, |all| all.count() as u64),
            disk: size(location),
        }
    }
}

fn quantile(counts: &[u64], percent: u64) -> u64 {
    let wanted = counts.iter().sum::<u64>() * percent / 100;
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen > wanted {
            return 1 << bucket;
        }
    }
    0
}

fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn size(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The name of a measurement, its value, and growth that counts as noise: a share, and an absolute amount.
type Figure = (&'static str, fn(&Gauge) -> u64, u64, u64);

/// The measurements of a soak.
#[derive(Clone, Debug, Default)]
pub struct SoakReport {
    /// The moments.
    pub gauges: Vec<Gauge>,
    /// Number of restarts of the server.
    pub restarts: u64,
}

impl SoakReport {
    /// Was the soak long enough to distinguish growth from warming up?
    pub fn tells_growth(&self) -> bool {
        self.gauges.last().is_some_and(|gauge| gauge.at >= TELLING)
    }

    /// The growth between the third quarter and the last, in which the server runs without a restart: the worst values
    /// of each, with a tolerance for noise. Missing measurements count as growth, too.
    pub fn growth(&self) -> Vec<String> {
        let quarter = self.gauges.len() / 4;
        if quarter == 0 {
            return Vec::new();
        }
        let early = &self.gauges[2 * quarter..3 * quarter];
        let late = &self.gauges[self.gauges.len() - quarter..];
        let figures: [Figure; 4] = [
            ("memory", |gauge| gauge.memory, 8, MEMORY_SPARE),
            ("handles", |gauge| gauge.handles, 8, HANDLES_SPARE),
            ("disk", |gauge| gauge.disk, 4, DISK_SPARE),
            ("p99", |gauge| gauge.p99, 1, MICROS_SPARE),
        ];
        let mut growth = Vec::new();
        for (name, figure, part, spare) in figures {
            let worst = |gauges: &[Gauge]| gauges.iter().map(figure).max().unwrap_or(0);
            let (before, after) = (worst(early), worst(late));
            if before == 0 || after == 0 {
                growth.push(format!("{name} was not measured"));
            }
            if after > before + before / part + spare {
                growth.push(format!("{name} grew from {before} to {after}"));
            }
        }
        growth
    }

    /// The measurements as a table.
    pub fn text(&self) -> String {
        let mut text =
            String::from("  minute  requests/s      p50 µs      p99 µs   memory MB  handles   disk MB\n");
        let mut before = Duration::ZERO;
        for gauge in &self.gauges {
            let seconds = (gauge.at - before).as_secs_f64().max(0.001);
            before = gauge.at;
            let _ = writeln!(
                text,
                "{:8.1}{:12.0}{:12}{:12}{:12.1}{:9}{:10.1}",
                gauge.at.as_secs_f64() / 60.0,
                gauge.requests as f64 / seconds,
                gauge.p50,
                gauge.p99,
                gauge.memory as f64 / 1e6,
                gauge.handles,
                gauge.disk as f64 / 1e6,
            );
        }
        let sum = |figure: fn(&Gauge) -> u64| self.gauges.iter().map(figure).sum::<u64>();
        let _ = writeln!(
            text,
            "{} requests, {} rows checked, {} restarts",
            sum(|gauge| gauge.requests),
            sum(|gauge| gauge.checks),
            self.restarts
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(memory: impl Fn(u64) -> u64) -> SoakReport {
        let flat = Gauge { handles: 9, disk: 9, p99: 9, ..Gauge::default() };
        let gauges = (0..40).map(|at| Gauge { memory: memory(at), ..flat }).collect();
        SoakReport { gauges, restarts: 0 }
    }

    #[test]
    fn steady_growth_is_distinguished_from_noise() {
        assert!(report(|at| (100 << 20) + at % 7 * (1 << 20)).growth().is_empty());
        assert_eq!(report(|at| (at + 1) * (20 << 20)).growth().len(), 1);
        assert_eq!(report(|_| 0).growth(), ["memory was not measured"]);
        // Values that every restart resets grow in the second half, which has no restarts.
        assert_eq!(report(|at| (100 + at.saturating_sub(20) * 10) << 20).growth().len(), 1);
    }

    #[test]
    fn quantiles_are_upper_bounds_of_their_bucket() {
        let meter = Meter::default();
        (0..99).for_each(|_| meter.record_response(Duration::from_micros(100)));
        meter.record_response(Duration::from_millis(50));
        let gauge = meter.gauge(Duration::ZERO, 0, Path::new("/nowhere"));
        assert_eq!((gauge.requests, gauge.p50, gauge.p99), (100, 128, 65536));
    }
}
