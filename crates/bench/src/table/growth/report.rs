//! Growth as text, JSON and a small page.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Axis, GrowthOperation, GrowthPoint};
use crate::session::now;

/// Everything that a run measured.
pub struct Growth {
    /// The measurements, those of one axis and one size together.
    pub points: Vec<GrowthPoint>,
    pub(super) slice_seconds: f64,
    pub(super) connections: usize,
}

impl Growth {
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

    /// For people: the cost at each size, and by how much it is more than at the smallest.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} connections, entities of 1 KB, slices of {} s, {}\n\n{:<12} {:>10} {:<11} {:>11} {:>9} {:>9} {:>9} {:>7} {:>7}\n",
            self.connections,
            self.slice_seconds,
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
        );
        for (axis, operation, line) in self.lines() {
            for point in &line {
                let _ = writeln!(
                    out,
                    "{:<12} {:>10} {:<11} {:>11.0} {:>9} {:>9} {:>9.1} {:>7.2} {:>7.0}",
                    axis.to_string(),
                    point.size,
                    operation.name(),
                    point.rate,
                    point.p50_micros,
                    point.p99_micros,
                    point.cpu_micros,
                    times(point, line[0]),
                    point.memory_bytes as f64 / 1e6
                );
            }
        }
        out
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

    /// A page with a chart for each operation and axis.
    pub fn html(&self) -> String {
        let mut out = String::from(
            "<!doctype html><meta charset=utf-8><title>lazuli bench --growth</title><style>body{font:15px sans-serif;max-width:50em;margin:2em auto}td,th{padding:.1em .8em .1em 0;text-align:right}.b{background:#1e4bb8;height:.8em;min-width:1px}td.c{width:16em}</style><h1>lazuli bench --growth</h1><p>Processor time of the server for each operation; a flat chart is a good one.</p>",
        );
        for (axis, operation, line) in self.lines() {
            let top = line.iter().map(|point| point.cpu_micros).fold(1e-9, f64::max);
            let _ = write!(
                out,
                "<h2>{} by {axis}</h2><table><tr><th>{axis}<th><th>CPU µs<th>p50 µs<th>p99 µs",
                operation.name()
            );
            for point in line {
                let width = (point.cpu_micros / top * 100.0).round();
                let _ = write!(
                    out,
                    "<tr><td>{}<td class=c><div class=b style=\"width:{width}%\"></div><td>{:.1}<td>{}<td>{}",
                    point.size, point.cpu_micros, point.p50_micros, point.p99_micros
                );
            }
            out += "</table>";
        }
        let _ = write!(out, "<p>{} connections, {}</p>", self.connections, now());
        out
    }
}

fn times(point: &GrowthPoint, first: &GrowthPoint) -> f64 {
    point.cpu_micros / first.cpu_micros.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_tells_every_point() {
        let point = |size, cpu_micros| GrowthPoint {
            axis: Axis::Entities,
            size,
            operation: GrowthOperation::Get,
            rate: 1.0,
            cpu_micros,
            p50_micros: 1,
            p99_micros: 2,
            memory_bytes: 3,
        };
        let growth = Growth {
            points: vec![point(1000, 10.0), point(10_000, 15.0)],
            slice_seconds: 1.0,
            connections: 1,
        };
        assert!(growth.text().contains("10000 get") && growth.text().contains("1.50"), "{}", growth.text());
        assert_eq!(growth.json()["points"][1]["size"], 10_000);
        assert!(growth.html().contains("get by entities"));
    }
}
