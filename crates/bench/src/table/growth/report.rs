//! Growth as text, JSON and a page with charts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Axis, GrowthOperation, GrowthPoint};
use crate::Options;
use crate::page::{self, ChartBar};
use crate::session::now;

/// The size with which larger ones are compared.
const BASE: u64 = 10_000;
/// Maximum cost of an operation with the largest number of entities, relative to that size.
const GROWTH_MAX: f64 = 1.3;

/// Everything that a run measured.
pub struct Growth {
    /// The measurements; those of one axis and one size are adjacent.
    pub points: Vec<GrowthPoint>,
    slice_seconds: f64,
    connections: usize,
    cache_mib: u64,
    memory_bytes_max: u64,
}

impl Growth {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            points: Vec::new(),
            slice_seconds: options.slice.as_secs_f64(),
            connections: options.connections,
            cache_mib: options.cache_mib,
            memory_bytes_max: options.memory_bytes_max(),
        }
    }

    /// The measurements of an operation along an axis, by size.
    fn line(&self, axis: Axis, operation: GrowthOperation) -> Vec<&GrowthPoint> {
        self.points.iter().filter(|point| point.axis == axis && point.operation == operation).collect()
    }

    fn lines(&self) -> impl Iterator<Item = (Axis, GrowthOperation, Vec<&GrowthPoint>)> {
        let all =
            Axis::ALL.into_iter().flat_map(|axis| GrowthOperation::ALL.map(|operation| (axis, operation)));
        all.map(|(axis, operation)| (axis, operation, self.line(axis, operation)))
            .filter(|(_, _, line)| !line.is_empty())
    }

    /// The head of the table of measurements, for people.
    pub fn heading(options: &Options) -> String {
        format!(
            "{} connections, entities of 1 KB, slices of {} s, {}\n\n{:<12} {:>10} {:<11} {:>11} {:>9} {:>9} {:>9} {:>7} {:>7}",
            options.connections,
            options.slice.as_secs_f64(),
            now(),
            "growing",
            "size",
            "operation",
            "per second",
            "p50 us",
            "p99 us",
            "cpu us/op",
            "x first",
            "MB"
        )
    }

    /// Adds a measurement; returns its row of the table, with the cost relative to that at the smallest size.
    pub(super) fn add(&mut self, point: GrowthPoint) -> String {
        let first = self.line(point.axis, point.operation).first().map_or(1.0, |first| times(&point, first));
        let row = format!(
            "{:<12} {:>10} {:<11} {:>11.0} {:>9} {:>9} {:>9.1} {:>7.2} {:>7.0}",
            point.axis.to_string(),
            point.size,
            point.operation.name(),
            point.rate,
            point.p50_micros,
            point.p99_micros,
            point.cpu_micros,
            first,
            point.memory_bytes as f64 / 1e6
        );
        self.points.push(point);
        row
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let point = |point: &GrowthPoint| {
            json!({
                "growing": point.axis.to_string(),
                "size": point.size,
                "operation": point.operation.name(),
                "per_second": point.rate,
                "cpu_us_per_op": point.cpu_micros,
                "p50_us": point.p50_micros,
                "p99_us": point.p99_micros,
                "memory_bytes": point.memory_bytes,
            })
        };
        json!({
            "time": now().to_string(),
            "connections": self.connections,
            "slice_seconds": self.slice_seconds,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }

    /// The costs at the largest size, compared with those at 10⁴, where all data is in the caches; and the
    /// memory.
    pub fn goals(&self) -> String {
        let mut out = String::new();
        for (operation, ratio) in self.grown() {
            let _ = writeln!(
                out,
                "{:<12} cost among the most entities / among {BASE}: {ratio:.2}; goal: at most {GROWTH_MAX}, {}",
                operation.name(),
                if ratio <= GROWTH_MAX { "met" } else { "missed" }
            );
        }
        out + &self.memory()
    }

    /// The maximum memory of the server after an operation, compared with its limit.
    fn memory(&self) -> String {
        let Some(bytes) = self.points.iter().map(|point| point.memory_bytes).max() else {
            return String::new();
        };
        format!(
            "memory: at most {:.0} MB; goal: 1.25 times the caches of {} MiB plus 64 MB: {:.0} MB, {}",
            bytes as f64 / 1e6,
            self.cache_mib,
            self.memory_bytes_max as f64 / 1e6,
            if bytes <= self.memory_bytes_max { "met" } else { "missed" }
        )
    }

    fn grown(&self) -> impl Iterator<Item = (GrowthOperation, f64)> {
        GrowthOperation::ALL.into_iter().filter_map(|operation| {
            let line = self.line(Axis::Entities, operation);
            let base = line.iter().find(|point| point.size == BASE)?;
            let last = line.last().filter(|point| point.size > BASE)?;
            Some((operation, times(last, base)))
        })
    }

    /// A page with a chart for each operation and axis.
    pub fn html(&self) -> String {
        let mut body = String::new();
        for (operation, ratio) in self.grown() {
            if body.is_empty() {
                body += "<h2>Targets</h2><div class=wide><table><tr><th>operation<th>most entities compared with 10,000<th>target<th>";
            }
            let class = if ratio <= GROWTH_MAX { "met" } else { "missed" };
            let _ = write!(
                body,
                "<tr><td>{}<td>{ratio:.2} times the CPU time<td>at most {GROWTH_MAX} times<td><span class={class}>{class}</span>",
                operation.name()
            );
        }
        if !body.is_empty() {
            body += "</table></div>";
        }
        let _ = write!(body, "<p>{}</p>", self.memory());
        for (axis, operation, line) in self.lines() {
            let labels: Vec<String> = line.iter().map(|point| page::number(point.size as f64)).collect();
            let bars: Vec<ChartBar<'_>> = line
                .iter()
                .zip(&labels)
                .map(|(point, label)| ChartBar { label, value: point.cpu_micros, is_ours: true })
                .collect();
            let _ = write!(
                body,
                "<section><h2>{} by {axis}</h2><p>{}</p><h3>CPU time of the server per operation, by number of {axis}</h3>{}",
                operation.name(),
                operation.about(),
                page::bars(&bars, &[], |micros| format!("{micros:.1} µs"))
            );
            body +=
                "<div class=wide><table><tr><th>size<th>per second<th>median time<th>99 % within<th>memory";
            for (point, label) in line.iter().zip(&labels) {
                let _ = write!(
                    body,
                    "<tr><td>{label}<td>{}<td>{}<td>{}<td>{:.0} MB",
                    page::number(point.rate),
                    page::time(point.p50_micros),
                    page::time(point.p99_micros),
                    point.memory_bytes as f64 / 1e6
                );
            }
            body += "</table></div></section>";
        }
        let introduction = format!(
            "<p>The cost of an operation as the tables grow. Ideally, all bars have the same length: then the size does not matter.</p><p>{} connections, entities of 1 KB, {} s per bar.</p>",
            self.connections, self.slice_seconds
        );
        page::page("Lazuli benchmark: growth", &introduction, &body)
    }
}

fn times(point: &GrowthPoint, first: &GrowthPoint) -> f64 {
    point.cpu_micros / first.cpu_micros.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measured point with this size and CPU time.
    fn point(size: u64, cpu_micros: f64) -> GrowthPoint {
        GrowthPoint {
            axis: Axis::Entities,
            size,
            operation: GrowthOperation::Get,
            rate: 1.0,
            cpu_micros,
            p50_micros: 1,
            p99_micros: 2,
            memory_bytes: 3,
        }
    }

    /// A run with these points, and with a limit of 100 bytes of memory.
    fn growth(points: Vec<GrowthPoint>) -> Growth {
        Growth { points, slice_seconds: 1.0, connections: 1, cache_mib: 0, memory_bytes_max: 100 }
    }

    #[test]
    fn every_form_tells_every_point() {
        let mut growth = growth(Vec::new());
        let rows = [growth.add(point(1000, 10.0)), growth.add(point(10_000, 15.0))];
        assert!(rows[0].contains("1000 get") && rows[0].contains("1.00"), "{rows:?}");
        assert!(rows[1].contains("10000 get") && rows[1].contains("1.50"), "{rows:?}");
        assert_eq!(growth.json()["points"][1]["size"], 10_000);
        let page = growth.html();
        assert!(page.contains("get by entities") && page.contains("15.0 µs"), "{page}");
    }

    #[test]
    fn costs_are_compared_with_those_at_ten_thousand() {
        let mut growth = growth(vec![point(1_000, 5.0), point(10_000, 10.0), point(1_000_000, 14.0)]);
        assert!(growth.goals().contains("1.40; goal: at most 1.3, missed"), "{}", growth.goals());
        assert!(growth.html().contains("1.40 times"));
        growth.points.truncate(2);
        assert!(!growth.goals().contains("goal: at most"), "{}", growth.goals());
    }

    #[test]
    fn the_most_memory_is_compared_with_its_limit() {
        let mut growth = growth(vec![point(1_000, 5.0), point(10_000, 10.0)]);
        assert!(growth.goals().ends_with("met") && growth.html().contains("met</p>"), "{}", growth.goals());
        growth.points[0].memory_bytes = 101;
        assert!(growth.goals().ends_with("missed"), "{}", growth.goals());
    }
}
