//! The results of a run as text, JSON and a page with charts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::contestant::{ContestantPlan, Goal};
use crate::histogram::Histogram;
use crate::load::Sample;
use crate::session::now;
use crate::{Options, Workload};

/// The style of the page.
const STYLE: &str = "body{font:15px sans-serif;max-width:54em;margin:2em auto}td,th{padding:.1em .8em .1em 0;text-align:right}td:first-child,th:first-child{text-align:left}.b{background:#1e4bb8;height:.8em;min-width:1px}td.c{width:14em}.missed{color:#b81e1e}";

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
    /// 95 % of the latencies are below.
    pub p95_micros: u64,
    /// 99 % of the latencies are below.
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
    /// Our rate divided by theirs.
    pub rate: f64,
    /// Their CPU time per operation divided by ours.
    pub cpu: f64,
    /// What should be reached.
    pub goal: Option<Goal>,
}

impl Ratio {
    /// Is the goal met? `None` without a goal.
    pub fn is_met(&self) -> Option<bool> {
        self.goal.map(|goal| match goal {
            Goal::Rate(least) => self.rate >= least,
            Goal::Cpu(least) => self.cpu >= least,
        })
    }

    fn goal_text(&self) -> String {
        let verdict = match self.is_met() {
            None => return String::new(),
            Some(true) => "met",
            Some(false) => "missed",
        };
        match self.goal {
            Some(Goal::Rate(least)) => format!("goal: rate {least:.2}, {verdict}"),
            Some(Goal::Cpu(least)) => format!("goal: CPU {least:.2}, {verdict}"),
            None => String::new(),
        }
    }
}

impl BenchReport {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            connections: options.connections,
            entities: options.entities,
            deep: options.deep,
            slice_seconds: options.slice.as_secs_f64(),
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
                rate: median(pairs().map(|(our, other)| rate(our) / rate(other).max(1e-9))),
                cpu: median(pairs().map(|(our, other)| cpu(other) / cpu(our).max(1e-12))),
                goal: others.plan.goal,
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
                "{:<14} {:<14} {:>12.0} {:<14} {:>9} {:>9} {:>9} {:>11.2} {:>9.1}",
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
                "{:<14} lazuli / {:<14} rate {:>7.2}   CPU per operation 1 / {:<7.2} {}",
                "",
                ratio.target,
                ratio.rate,
                ratio.cpu,
                ratio.goal_text()
            );
        }
        out
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let ratio = |ratio: &Ratio| {
            json!({
                "workload": ratio.workload.name(),
                "beside": ratio.target,
                "rate": ratio.rate,
                "cpu": ratio.cpu,
                "met": ratio.is_met(),
            })
        };
        json!({
            "time": now().to_string(),
            "connections": self.connections,
            "entities": self.entities,
            "deep": self.deep,
            "slice_seconds": self.slice_seconds,
            "rows": self.rows().iter().map(row_json).collect::<Vec<_>>(),
            "ratios": self.ratios().iter().map(ratio).collect::<Vec<_>>(),
        })
    }

    /// A page with a chart for each workload.
    pub fn html(&self) -> String {
        let mut out = format!(
            "<!doctype html><meta charset=utf-8><title>lazuli bench</title><style>{STYLE}</style><h1>lazuli bench</h1><p>Longer bars are better. CPU µs is the CPU time of the server per operation: less is better.</p>"
        );
        let (rows, ratios) = (self.rows(), self.ratios());
        for workload in Workload::all() {
            let rows: Vec<&ReportRow> = rows.iter().filter(|row| row.workload == workload).collect();
            if !rows.is_empty() {
                chart(&mut out, workload, &rows);
            }
            for ratio in ratios.iter().filter(|ratio| ratio.workload == workload) {
                let class = if ratio.is_met() == Some(false) { " class=missed" } else { "" };
                let _ = write!(
                    out,
                    "<p{class}>lazuli / {}: rate {:.2}, CPU per operation 1 / {:.2} {}</p>",
                    ratio.target,
                    ratio.rate,
                    ratio.cpu,
                    ratio.goal_text()
                );
            }
        }
        let _ = write!(out, "<p>{} connections, {} entities, {}</p>", self.connections, self.entities, now());
        out
    }
}

/// The conditions of a run, and the heads of the columns.
pub fn heading(options: &Options) -> String {
    format!(
        "{} connections, {} entities, {} in deep queues and containers, slices of {} s, {}\n\n{:<14} {:<14} {:>12} {:<14} {:>9} {:>9} {:>9} {:>11} {:>9}",
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

fn chart(out: &mut String, workload: Workload, rows: &[&ReportRow]) {
    let top = rows.iter().map(|row| row.rate).fold(1e-9, f64::max);
    let _ = write!(
        out,
        "<h2>{}: {} per second</h2><table><tr><th>server<th><th>rate<th>p50 µs<th>p99 µs<th>CPU µs",
        workload.name(),
        workload.unit()
    );
    for row in rows {
        let width = (row.rate / top * 100.0).round();
        let _ = write!(
            out,
            "<tr><td>{}<td class=c><div class=b style=\"width:{width}%\"></div><td>{:.0}<td>{}<td>{}<td>{:.2}",
            row.target, row.rate, row.p50_micros, row.p99_micros, row.cpu_micros
        );
    }
    *out += "</table>";
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
