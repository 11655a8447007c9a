//! What was measured, as text, JSON and a small page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::histogram::Histogram;
use crate::load::Sample;
use crate::process::Kind;
use crate::request::now;
use crate::{Options, TARGETS, Workload};

/// Everything that a run measured.
pub struct Report {
    connections: usize,
    entities: usize,
    slice_seconds: f64,
    samples: BTreeMap<(usize, usize), Vec<Sample>>,
}

/// The figures of one workload on one server: medians over the rounds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The workload.
    pub workload: Workload,
    /// The server.
    pub target: &'static str,
    /// Operations a second, in the workload's own unit.
    pub rate: f64,
    /// Processor time of the server for one operation.
    pub cpu_micros: f64,
    /// Latencies of requests.
    pub p50_micros: u64,
    /// 95 of 100 are below.
    pub p95_micros: u64,
    /// 99 of 100 are below.
    pub p99_micros: u64,
    /// Memory of the server at the end.
    pub memory_bytes: u64,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            connections: options.connections,
            entities: options.entities,
            slice_seconds: options.slice.as_secs_f64(),
            samples: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, workload: Workload, kind: Kind, sample: Sample) {
        let place = (position(&Workload::ALL, &workload), position(&TARGETS, &kind));
        self.samples.entry(place).or_default().push(sample);
    }

    /// The figures, in the order of workloads and servers.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(&(workload, target), samples): (&(usize, usize), &Vec<Sample>)| {
            let mut latency = Histogram::default();
            samples.iter().for_each(|sample| latency.merge(&sample.latency));
            Row {
                workload: Workload::ALL[workload],
                target: TARGETS[target].name(),
                rate: median(samples.iter().map(|s| s.operations as f64 / s.seconds)),
                cpu_micros: median(samples.iter().map(|s| s.cpu_seconds * 1e6 / s.operations.max(1) as f64)),
                p50_micros: latency.quantile(0.5),
                p95_micros: latency.quantile(0.95),
                p99_micros: latency.quantile(0.99),
                memory_bytes: samples.iter().map(|s| s.memory_bytes).max().unwrap_or(0),
            }
        };
        self.samples.iter().map(row).collect()
    }

    /// Our rate by that of another server, median of the rounds, and the other's processor time by ours.
    pub fn ratios(&self) -> Vec<(Workload, &'static str, f64, f64)> {
        let mut ratios = Vec::new();
        for (&(workload, target), others) in self.samples.iter().filter(|((_, target), _)| *target > 0) {
            let Some(ours) = self.samples.get(&(workload, 0)) else { continue };
            let pairs = || ours.iter().zip(others);
            let rate = |s: &Sample| s.operations as f64 / s.seconds;
            let cpu = |s: &Sample| s.cpu_seconds / s.operations.max(1) as f64;
            ratios.push((
                Workload::ALL[workload],
                TARGETS[target].name(),
                median(pairs().map(|(our, other)| rate(our) / rate(other).max(1e-9))),
                median(pairs().map(|(our, other)| cpu(other) / cpu(our).max(1e-12))),
            ));
        }
        ratios
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} connections, {} entities of 1 KB, slices of {} s, {}\n\n{:<11} {:<12} {:>12} {:<14} {:>9} {:>9} {:>9} {:>11} {:>9}\n",
            self.connections,
            self.entities,
            self.slice_seconds,
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
        );
        for row in self.rows() {
            let _ = writeln!(
                out,
                "{:<11} {:<12} {:>12.0} {:<14} {:>9} {:>9} {:>9} {:>11.2} {:>9.1}",
                row.workload.name(),
                row.target,
                row.rate,
                row.workload.unit(),
                row.p50_micros,
                row.p95_micros,
                row.p99_micros,
                row.cpu_micros,
                row.memory_bytes as f64 / 1e6
            );
        }
        out += "\nratios of the same rounds: lazuli's rate by theirs; their processor time per operation by lazuli's\n";
        for (workload, target, rate, cpu) in self.ratios() {
            let _ = writeln!(out, "{:<11} {:<12} {rate:>10.2}x {cpu:>10.2}x", workload.name(), target);
        }
        out
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows().iter().map(row_json).collect();
        let ratio = |(workload, target, rate, cpu): &(Workload, &str, f64, f64)| json!({ "workload": workload.name(), "beside": target, "rate": rate, "cpu": cpu });
        json!({
            "time": now().to_string(),
            "connections": self.connections,
            "entities": self.entities,
            "slice_seconds": self.slice_seconds,
            "rows": rows,
            "ratios": self.ratios().iter().map(ratio).collect::<Vec<_>>(),
        })
    }

    /// A page with a chart for each workload.
    pub fn html(&self) -> String {
        let rows = self.rows();
        let mut out = String::from(
            "<!doctype html><meta charset=utf-8><title>lazuli bench</title><style>body{font:15px sans-serif;max-width:50em;margin:2em auto}td,th{padding:.1em .8em .1em 0;text-align:right}td:first-child,th:first-child{text-align:left}.b{background:#1e4bb8;height:.8em;min-width:1px}td.c{width:16em}</style><h1>lazuli bench</h1>",
        );
        for workload in Workload::ALL {
            let mine: Vec<&Row> = rows.iter().filter(|row| row.workload == workload).collect();
            let top = mine.iter().map(|row| row.rate).fold(1e-9, f64::max);
            if mine.is_empty() {
                continue;
            }
            let _ = write!(
                out,
                "<h2>{}, {} a second</h2><table><tr><th>server<th><th>rate<th>p50 µs<th>p99 µs<th>CPU µs",
                workload.name(),
                workload.unit()
            );
            for row in mine {
                let width = (row.rate / top * 100.0).round();
                let _ = write!(
                    out,
                    "<tr><td>{}<td class=c><div class=b style=\"width:{width}%\"></div><td>{:.0}<td>{}<td>{}<td>{:.2}",
                    row.target, row.rate, row.p50_micros, row.p99_micros, row.cpu_micros
                );
            }
            out += "</table>";
        }
        let _ = write!(
            out,
            "<p>{} connections, {} entities of 1 KB, {}</p>",
            self.connections,
            self.entities,
            now()
        );
        out
    }
}

fn row_json(row: &Row) -> Value {
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

fn position<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|other| other == one).unwrap_or(0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
