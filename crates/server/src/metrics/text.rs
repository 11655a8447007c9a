//! The text format of Prometheus, version 0.0.4.
//!
//! Families are written one after the other, each followed by its samples; no two samples of a family have the
//! same labels.

use std::fmt::{Display, Write as _};

use lazuli_engine::{Distribution, Metric, MetricValue};

/// The content type of this format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names and values of labels.
pub type Labels<'a> = [(&'a str, &'a str)];

/// A document that is being written.
#[derive(Default)]
pub struct Text {
    out: String,
    /// The family whose samples follow.
    family: String,
}

impl Text {
    /// Begins a family of counters.
    pub fn counter(&mut self, name: &str, help: &str) -> &mut Self {
        self.begin(name, "counter", help)
    }

    /// Begins a family of gauges.
    pub fn gauge(&mut self, name: &str, help: &str) -> &mut Self {
        self.begin(name, "gauge", help)
    }

    /// Begins a family of histograms.
    pub fn histogram(&mut self, name: &str, help: &str) -> &mut Self {
        self.begin(name, "histogram", help)
    }

    /// A family of one metric of the engine or of a service.
    pub fn metric(&mut self, prefix: &str, metric: &Metric) {
        let name = format!("{prefix}{}", metric.name);
        match &metric.value {
            MetricValue::Counter(value) => self.counter(&name, metric.help).sample(&[], value),
            MetricValue::Gauge(value) => self.gauge(&name, metric.help).sample(&[], value),
            MetricValue::Histogram(value) => self.histogram(&name, metric.help).distribution(&[], value),
        };
    }

    /// A sample of the current family.
    pub fn sample(&mut self, labels: &Labels<'_>, value: impl Display) -> &mut Self {
        self.line("", labels, None, value)
    }

    /// The samples of a histogram.
    pub fn distribution(&mut self, labels: &Labels<'_>, values: &Distribution) -> &mut Self {
        let mut count = 0;
        for (bound, in_bucket) in &values.buckets {
            count += in_bucket;
            self.line("_bucket", labels, Some(&bound.to_string()), count);
        }
        count += values.above;
        self.line("_bucket", labels, Some("+Inf"), count);
        self.line("_sum", labels, None, values.sum).line("_count", labels, None, count)
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.out
    }

    fn begin(&mut self, name: &str, kind: &str, help: &str) -> &mut Self {
        self.family = name.to_owned();
        let _ = writeln!(self.out, "# HELP {name} {}", help.replace('\\', "\\\\").replace('\n', "\\n"));
        let _ = writeln!(self.out, "# TYPE {name} {kind}");
        self
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &Labels<'_>,
        bound: Option<&str>,
        value: impl Display,
    ) -> &mut Self {
        let Self { out, family } = self;
        let _ = write!(out, "{family}{suffix}");
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in all {
            let _ = write!(out, "{before}{name}=\"");
            escape(out, value);
            out.push('"');
            before = ',';
        }
        if before == ',' {
            out.push('}');
        }
        let _ = writeln!(out, " {value}");
        self
    }
}

fn escape(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text() {
        let mut text = Text::default();
        text.counter("a_total", "What\nis \\ counted.").sample(&[("x", "1"), ("y", "a\"b\\c\nd")], 7);
        text.gauge("b", "B.").sample(&[], 0.5);
        let values = Distribution { buckets: vec![(0.001, 2), (1.0, 3)], above: 1, sum: 9.25 };
        text.histogram("c_seconds", "C.").distribution(&[("z", "w")], &values);
        assert_eq!(
            text.finish(),
            "# HELP a_total What\\nis \\\\ counted.\n# TYPE a_total counter\n\
             a_total{x=\"1\",y=\"a\\\"b\\\\c\\nd\"} 7\n\
             # HELP b B.\n# TYPE b gauge\nb 0.5\n\
             # HELP c_seconds C.\n# TYPE c_seconds histogram\n\
             c_seconds_bucket{z=\"w\",le=\"0.001\"} 2\nc_seconds_bucket{z=\"w\",le=\"1\"} 5\n\
             c_seconds_bucket{z=\"w\",le=\"+Inf\"} 6\nc_seconds_sum{z=\"w\"} 9.25\nc_seconds_count{z=\"w\"} 6\n"
        );
    }
}
