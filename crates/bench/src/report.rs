//! The results of a run as text and JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::contestant::{ContestantPlan, Goal};
use crate::histogram::Histogram;
use crate::load::Sample;
use crate::process::Server;
use crate::session::now;
use crate::{Options, Workload, page};

/// The samples of one contestant in one workload.
struct Series {
    workload: Workload,
    plan: ContestantPlan,
    samples: Vec<Sample>,
}

/// Everything that a run measured.
pub struct BenchReport {
    connections: usize,
    entities: usize,
    deep: u64,
    slice_seconds: f64,
    rounds: usize,
    cache_mib: u64,
    memory_bytes_max: u64,
    series: Vec<Series>,
}

/// The measurements of one workload on one server: medians over the rounds.
#[derive(Clone, Debug)]
pub struct ReportRow {
    /// The workload.
    pub workload: Workload,
    /// The server.
    pub target: &'static str,
    /// Operations per second, in the workload's own unit.
    pub rate: f64,
    /// CPU time of the server per operation.
    pub cpu_micros: f64,
    /// Median latency of requests.
    pub p50_micros: u64,
    /// The 95th percentile of the latency.
    pub p95_micros: u64,
    /// The 99th percentile of the latency.
    pub p99_micros: u64,
    /// Memory of the server at the end.
    pub memory_bytes: u64,
}

/// Our server compared with another contestant: medians of the ratios of each round.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// The workload.
    pub workload: Workload,
    /// The other contestant.
    pub target: &'static str,
    /// Description of the other contestant.
    pub about: &'static str,
    /// Our rate divided by theirs.
    pub rate: f64,
    /// Their CPU time per operation divided by ours.
    pub cpu: f64,
    /// The 99th percentile of our latency.
    pub p99_micros: u64,
    /// The goals.
    pub goals: Vec<Goal>,
}

impl Ratio {
    /// Is the goal met?
    pub fn is_met(&self, goal: Goal) -> bool {
        match goal {
            Goal::Rate(least) => self.rate >= least,
            Goal::Cpu(least) => self.cpu >= least,
            Goal::P99(millis) => self.p99_micros < millis * 1000,
        }
    }

    /// Are all goals met? `None` without a goal.
    pub fn are_met(&self) -> Option<bool> {
        (!self.goals.is_empty()).then(|| self.goals.iter().all(|goal| self.is_met(*goal)))
    }

    /// Our CPU time per operation compared with theirs, if they used enough to be measured.
    pub(crate) fn cpu_text(&self) -> String {
        if self.cpu > 0.0 { format!("{:.2} times", 1.0 / self.cpu) } else { "unknown".to_owned() }
    }

    fn goals_text(&self) -> String {
        let text = |goal: &Goal| {
            let verdict = if self.is_met(*goal) { "met" } else { "missed" };
            match goal {
                Goal::Rate(least) => format!("goal: rate {least:.2}, {verdict}"),
                Goal::Cpu(least) => format!("goal: CPU {:.2} times, {verdict}", 1.0 / least),
                Goal::P99(millis) => format!("goal: p99 below {millis} ms, {verdict}"),
            }
        };
        self.goals.iter().map(text).collect::<Vec<_>>().join("; ")
    }
}

impl BenchReport {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            connections: options.connections,
            entities: options.entities,
            deep: options.deep,
            slice_seconds: options.slice.as_secs_f64(),
            rounds: options.rounds,
            cache_mib: options.cache_mib,
            memory_bytes_max: options.memory_bytes_max(),
            series: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, workload: Workload, plan: ContestantPlan, sample: Sample) {
        let found = self.series.iter_mut().find(|series| series.workload == workload && series.plan == plan);
        match found {
            Some(series) => series.samples.push(sample),
            None => self.series.push(Series { workload, plan, samples: vec![sample] }),
        }
    }

    /// The measurements, in the order in which they were made.
    pub fn rows(&self) -> Vec<ReportRow> {
        self.series.iter().map(row).collect()
    }

    /// Our server, which is the first contestant of each workload, compared with the others.
    pub fn ratios(&self) -> Vec<Ratio> {
        let mut ratios = Vec::new();
        for others in &self.series {
            let ours = self.series.iter().find(|series| series.workload == others.workload);
            let Some(ours) = ours.filter(|ours| ours.plan != others.plan) else { continue };
            let pairs = || ours.samples.iter().zip(&others.samples);
            ratios.push(Ratio {
                workload: others.workload,
                target: others.plan.label,
                about: others.plan.server.about(),
                rate: median(pairs().map(|(our, other)| rate(our) / rate(other).max(1e-9))),
                cpu: median(pairs().map(|(our, other)| cpu(other) / cpu(our).max(1e-12))),
                p99_micros: row(ours).p99_micros,
                goals: others.plan.goals.into_iter().flatten().collect(),
            });
        }
        ratios
    }

    /// The rows and ratios of one workload.
    pub fn section(&self, workload: Workload) -> String {
        let mut out = String::new();
        for row in self.rows().iter().filter(|row| row.workload == workload) {
            let _ = writeln!(
                out,
                "{:<14} {:<15} {:>12.0} {:<14} {:>9} {:>9} {:>9} {:>11.2} {:>9.1}",
                workload.name(),
                row.target,
                row.rate,
                workload.unit(),
                row.p50_micros,
                row.p95_micros,
                row.p99_micros,
                row.cpu_micros,
                row.memory_bytes as f64 / 1e6
            );
        }
        for ratio in self.ratios().iter().filter(|ratio| ratio.workload == workload) {
            let _ = writeln!(
                out,
                "{:<14} lazuli / {:<15} rate {:>7.2}   CPU per operation {:>8}   {}",
                "",
                ratio.target,
                ratio.rate,
                ratio.cpu_text(),
                ratio.goals_text()
            );
        }
        out
    }

    /// The maximum memory of our server after a slice, and the workload.
    pub(crate) fn memory(&self) -> Option<(Workload, u64)> {
        let ours = self.series.iter().filter(|series| series.plan.server == Server::Lazuli);
        ours.map(|series| (series.workload, row(series).memory_bytes)).max_by_key(|(_, bytes)| *bytes)
    }

    /// The memory limit of our server.
    pub(crate) fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// The memory of our server compared with its bound.
    pub fn memory_text(&self) -> String {
        let Some((workload, bytes)) = self.memory() else { return String::new() };
        format!(
            "memory: at most {:.0} MB, after {}; goal: 1.25 times the caches of {} MiB plus 64 MB: {:.0} MB, {}",
            bytes as f64 / 1e6,
            workload.name(),
            self.cache_mib,
            self.memory_bytes_max as f64 / 1e6,
            if bytes <= self.memory_bytes_max { "met" } else { "missed" }
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let ratio = |ratio: &Ratio| {
            json!({
                "workload": ratio.workload.name(),
                "beside": ratio.target,
                "rate": ratio.rate,
                "cpu": ratio.cpu,
                "p99_us": ratio.p99_micros,
                "met": ratio.are_met(),
            })
        };
        json!({
            "time": now().to_string(),
            "connections": self.connections,
            "entities": self.entities,
            "deep": self.deep,
            "slice_seconds": self.slice_seconds,
            "cache_mib": self.cache_mib,
            "memory_bytes": self.memory().map(|(_, bytes)| bytes),
            "memory_bytes_max": self.memory_bytes_max,
            "rows": self.rows().iter().map(row_json).collect::<Vec<_>>(),
            "ratios": self.ratios().iter().map(ratio).collect::<Vec<_>>(),
        })
    }

    /// A page with charts.
    pub fn html(&self) -> String {
        page::of_workloads(self)
    }

    /// The conditions of the run.
    pub(crate) fn conditions(&self) -> String {
        format!(
            "{} connections, {} entities, caches of {} MiB. Each server was measured {} × {} s, alternating with the others; numbers are medians.",
            self.connections,
            page::number(self.entities as f64),
            self.cache_mib,
            self.rounds,
            self.slice_seconds
        )
    }
}

/// The conditions of a run, and the column headings.
pub fn heading(options: &Options) -> String {
    format!(
        "{} connections, {} entities, {} in deep queues and containers, slices of {} s, {}\n\n{:<14} {:<15} {:>12} {:<14} {:>9} {:>9} {:>9} {:>11} {:>9}",
        options.connections,
        options.entities,
        options.deep,
        options.slice.as_secs_f64(),
        now(),
        "workload",
        "server",
        "per second",
        "",
        "p50 us",
        "p95 us",
        "p99 us",
        "cpu us/op",
        "MB"
    )
}

fn row(series: &Series) -> ReportRow {
    let samples = &series.samples;
    let mut latency = Histogram::default();
    samples.iter().for_each(|sample| latency.merge(&sample.latency));
    ReportRow {
        workload: series.workload,
        target: series.plan.label,
        rate: median(samples.iter().map(rate)),
        cpu_micros: median(samples.iter().map(cpu)) * 1e6,
        p50_micros: latency.quantile(0.5),
        p95_micros: latency.quantile(0.95),
        p99_micros: latency.quantile(0.99),
        memory_bytes: samples.iter().map(|sample| sample.memory_bytes).max().unwrap_or(0),
    }
}

fn row_json(row: &ReportRow) -> Value {
    json!({
        "workload": row.workload.name(),
        "server": row.target,
        "per_second": row.rate,
        "unit": row.workload.unit(),
        "cpu_us_per_op": row.cpu_micros,
        "p50_us": row.p50_micros,
        "p95_us": row.p95_micros,
        "p99_us": row.p99_micros,
        "memory_bytes": row.memory_bytes,
    })
}

fn rate(sample: &Sample) -> f64 {
    sample.operations as f64 / sample.seconds.max(1e-9)
}

fn cpu(sample: &Sample) -> f64 {
    sample.cpu_seconds / sample.operations.max(1) as f64
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
