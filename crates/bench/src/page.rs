//! Pages with charts, for readers who do not know the program: measurements, comparisons and explanations.

use std::fmt::Write as _;

use crate::contestant::Goal;
use crate::report::{BenchReport, Ratio, ReportRow};
use crate::session::now;
use crate::{Workload, process};

const STYLE: &str = include_str!("page.css");

/// A bar of a chart.
pub struct ChartBar<'a> {
    /// The label next to the bar.
    pub label: &'a str,
    /// The length of the bar.
    pub value: f64,
    /// Is it our server?
    pub is_ours: bool,
}

/// A whole page. It is self-contained: no scripts, no other files.
pub fn page(title: &str, introduction: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\"><title>{title}</title><style>{STYLE}</style><body><h1>{title}</h1>{introduction}{body}<footer>Lazuli {}, {}. {}</footer></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        now(),
        process::machine()
    )
}

/// Vertically arranged bars with lines at the targets. All bars have the same scale, from zero to the longest.
pub fn bars(bars: &[ChartBar<'_>], targets: &[f64], text_of: impl Fn(f64) -> String) -> String {
    let top = bars.iter().map(|bar| bar.value).chain(targets.iter().copied()).fold(1e-9, f64::max);
    let share = |value: f64| format!("{:.1}%", value / top * 100.0);
    let mut out = String::from("<div class=bars>");
    for bar in bars {
        let lines: String = targets
            .iter()
            .filter(|_| bar.is_ours)
            .map(|target| format!("<i style=left:{}></i>", share(*target)))
            .collect();
        let _ = write!(
            out,
            "<div class=\"row{}\"><span class=name>{}</span><span class=track><b style=width:{}></b>{lines}</span><span class=value>{}</span></div>",
            if bar.is_ours { " ours" } else { "" },
            bar.label,
            share(bar.value),
            text_of(bar.value)
        );
    }
    out + "</div>"
}

/// The results of the workloads: a summary, then a chart for each.
pub fn of_workloads(report: &BenchReport) -> String {
    let (rows, ratios) = (report.rows(), report.ratios());
    let mut body = summary(report, &ratios);
    for workload in Workload::all() {
        let rows: Vec<&ReportRow> = rows.iter().filter(|row| row.workload == workload).collect();
        let ratios: Vec<&Ratio> = ratios.iter().filter(|ratio| ratio.workload == workload).collect();
        if !rows.is_empty() {
            body += &section(workload, &rows, &ratios);
        }
    }
    let introduction = format!(
        "<p>The speed of the storage server Lazuli on this machine, compared with other servers and with the limits of the machine. \
         All servers ran on this machine, and so did the clients: compare the bars with each other rather than with numbers from elsewhere. \
         Everything that Lazuli acknowledges is on disk.</p>\
         <p>{}</p>\
         <ul class=legend><li><b class=ours></b>Lazuli: longer is better</li><li><b></b>what it is compared with</li>\
         <li><i></i>target: Lazuli's bar should reach this line</li></ul>",
        report.conditions()
    );
    page("Lazuli benchmark", &introduction, &body)
}

fn summary(report: &BenchReport, ratios: &[Ratio]) -> String {
    let mut out = String::from(
        "<h2>Targets</h2><div class=wide><table><tr><th>workload<th>compared with<th>measured<th>target<th>",
    );
    let mut count = 0;
    for ratio in ratios {
        for goal in &ratio.goals {
            count += 1;
            let name = ratio.workload.name();
            let (measured, target) = words(ratio, *goal);
            let _ = write!(
                out,
                "<tr><td><a href=\"#{name}\">{}</a><td>{}<td>{measured}<td>{target}<td>{}",
                ratio.workload.about().0,
                shown(ratio.target),
                verdict(ratio.is_met(*goal))
            );
        }
    }
    if let Some((workload, bytes)) = report.memory() {
        count += 1;
        let bound = report.memory_bytes_max();
        let _ = write!(
            out,
            "<tr><td>Memory of Lazuli, most after <a href=\"#{}\">{}</a><td>its caches<td>{:.0} MB<td>at most {:.0} MB<td>{}",
            workload.name(),
            workload.about().0,
            bytes as f64 / 1e6,
            bound as f64 / 1e6,
            verdict(bytes <= bound)
        );
    }
    if count == 0 { String::new() } else { out + "</table></div>" }
}

/// The measured value and the goal, as a string.
fn words(ratio: &Ratio, goal: Goal) -> (String, String) {
    match goal {
        Goal::Rate(least) => {
            (format!("{} its rate", share_of(ratio.rate)), format!("at least {}", share(least)))
        }
        Goal::Cpu(least) => {
            (format!("{} its CPU time", ratio.cpu_text()), format!("at most {:.2} times", 1.0 / least))
        }
        Goal::P99(millis) => {
            (format!("99 % of requests within {}", time(ratio.p99_micros)), format!("within {millis} ms"))
        }
    }
}

/// A ratio as text: in percent below 2, otherwise in times.
fn share(ratio: f64) -> String {
    if ratio < 2.0 { format!("{:.0} %", ratio * 100.0) } else { format!("{ratio:.1} times") }
}

/// A ratio before a noun: "45 % of" or "3.0 times".
fn share_of(ratio: f64) -> String {
    if ratio < 2.0 { share(ratio) + " of" } else { share(ratio) }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "<span class=met>met</span>" } else { "<span class=missed>missed</span>" }
}

fn section(workload: Workload, rows: &[&ReportRow], ratios: &[&Ratio]) -> String {
    let (title, about) = workload.about();
    let bar = |row: &&ReportRow| ChartBar {
        label: shown(row.target),
        value: row.rate,
        is_ours: row.target == "lazuli",
    };
    let targets: Vec<f64> = ratios.iter().flat_map(|ratio| rate_targets(ratio, rows)).collect();
    let mut out = format!(
        "<section id=\"{0}\"><h2>{title} <code>{0}</code></h2><p>{about}</p><h3>{1} per second</h3>{2}",
        workload.name(),
        capitalised(workload.unit()),
        bars(&rows.iter().map(bar).collect::<Vec<_>>(), &targets, number)
    );
    out +=
        "<div class=wide><table><tr><th>server<th>median time<th>99 % within<th>CPU per operation<th>memory";
    for row in rows {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{:.1} µs<td>{:.0} MB",
            shown(row.target),
            time(row.p50_micros),
            time(row.p99_micros),
            row.cpu_micros,
            row.memory_bytes as f64 / 1e6
        );
    }
    out += "</table></div><dl>";
    for ratio in ratios {
        let goals = ratio.goals.iter().map(|goal| {
            let (measured, target) = words(ratio, *goal);
            format!(" Target: {target}; measured: {measured}: {}.", verdict(ratio.is_met(*goal)))
        });
        let _ = write!(
            out,
            "<dt>{}</dt><dd>{} Lazuli reaches {} its rate; CPU time per operation: {}.{}</dd>",
            shown(ratio.target),
            ratio.about,
            share_of(ratio.rate),
            ratio.cpu_text(),
            goals.collect::<String>()
        );
    }
    out + "</dl></section>"
}

/// Where the bar of our server should end.
fn rate_targets(ratio: &Ratio, rows: &[&ReportRow]) -> Option<f64> {
    let other = rows.iter().find(|row| row.target == ratio.target)?;
    ratio.goals.iter().find_map(|goal| match goal {
        Goal::Rate(least) => Some(least * other.rate),
        Goal::Cpu(_) | Goal::P99(_) => None,
    })
}

/// The name of a server for readers who have not read the manual.
fn shown(target: &'static str) -> &'static str {
    match target {
        "lazuli" => "Lazuli",
        "azurite" => "Azurite",
        "bare" => "bare (the limit)",
        "one sync" => "one sync (the limit)",
        other => other,
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// A number with separators: 44,627.
pub fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in a suitable unit.
pub fn time(micros: u64) -> String {
    if micros < 1000 { format!("{micros} µs") } else { format!("{:.1} ms", micros as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        for (value, text) in
            [(0.0, "0.0"), (12.34, "12.3"), (123.4, "123"), (1234.0, "1,234"), (1e6, "1,000,000")]
        {
            assert_eq!(number(value), text);
        }
        assert_eq!((time(999), time(1_500)), ("999 µs".to_owned(), "1.5 ms".to_owned()));
    }

    #[test]
    fn bars_share_a_scale_with_their_targets() {
        let list = [
            ChartBar { label: "Lazuli", value: 50.0, is_ours: true },
            ChartBar { label: "bare", value: 100.0, is_ours: false },
        ];
        let drawn = bars(&list, &[80.0], number);
        assert_eq!(drawn.matches("<i ").count(), 1, "only our bar has a target");
        assert!(drawn.contains("width:50.0%") && drawn.contains("left:80.0%"), "{drawn}");
    }
}
