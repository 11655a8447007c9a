//! Measures parsing, planning and matching: `cargo run --release -p lazuli-filter --example filter_bench`.
//!
//! Rows are 1 KB. "hot" rows fit into the processor's cache, "cold" ones do not: a scan is in between.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use lazuli_filter::{EntityRow, Matcher, Schema, parse, plan};
use lazuli_model::table::row::{RowBuilder, RowRef};
use lazuli_model::{DateTime, Guid, PackedRow, ValueRef};

const HOT_ROWS: usize = 200;
const COLD_ROWS: usize = 200_000;
const RUN: Duration = Duration::from_millis(600);

fn main() {
    let hot: Vec<PackedRow> = (0..HOT_ROWS).map(row).collect();
    let cold: Vec<PackedRow> = (0..COLD_ROWS).map(row).collect();
    println!("{} bytes per row, {} properties", hot[0].as_bytes().len(), hot[0].count());
    println!("{:<66} {:>8} {:>8}", "match, nothing found", "hot ns", "cold ns");
    for filter in [
        "Age gt 1000",
        "Missing eq 1",
        "Last eq 1",
        "Name eq 'nobody'",
        "Name gt 'z' and Age gt 1000",
        "Age ge 0 and Score lt -1.0 and Last eq 5",
        "not (Age ge 0) or not (Score ge 0.0) or Name eq 'nobody'",
        "Timestamp lt datetime'2000-01-01'",
        "RowKey lt 'a'",
    ] {
        println!("{filter:<66} {:>8.1} {:>8.1}", match_ns(filter, &hot), match_ns(filter, &cold));
    }
    println!("\n{:<66} {:>8} {:>8}", "a filter", "parse us", "plan us");
    for (name, filter) in texts() {
        let read = parse(&filter, Schema::Entity).expect("the filters of the benchmark are well formed");
        let parse_us =
            measure_ns(1, || black_box(parse(black_box(&filter), Schema::Entity)).is_ok()) / 1000.0;
        let plan_us = measure_ns(1, || black_box(plan(black_box(&read))).ranges.is_empty()) / 1000.0;
        println!("{name:<66} {parse_us:>8.2} {plan_us:>8.2}");
    }
}

fn row(index: usize) -> PackedRow {
    let mut builder = RowBuilder::default();
    let number = i32::try_from(index % 100).unwrap_or(0);
    builder.push("Name", ValueRef::String(&format!("name {index:08}")));
    builder.push("Address", ValueRef::String(&"street ".repeat(20)));
    builder.push("Notes", ValueRef::String(&"some words about it ".repeat(30)));
    builder.push("Id", ValueRef::Guid(Guid([7; 16])));
    builder.push("Age", ValueRef::Int32(number));
    builder.push("Score", ValueRef::Double(f64::from(number) / 3.0));
    builder.push("Count", ValueRef::Int64(i64::from(number) << 40));
    builder.push("Created", ValueRef::DateTime(DateTime::STORABLE_MIN));
    builder.push("Active", ValueRef::Boolean(true));
    builder.push("Data", ValueRef::Binary(&[0; 100]));
    builder.push("Last", ValueRef::Int32(0));
    builder.finish()
}

/// Nanoseconds that one row takes.
fn match_ns(filter: &str, rows: &[PackedRow]) -> f64 {
    let filter = parse(filter, Schema::Entity).expect("the filters of the benchmark are well formed");
    let mut matcher = Matcher::new(Some(&filter));
    measure_ns(rows.len(), || {
        rows.iter().any(|packed| {
            let properties = RowRef::new(packed.as_bytes()).expect("the row was packed here");
            let row = EntityRow { partition: "p", row: "r", timestamp: DateTime::MAX, properties };
            matcher.matches(black_box(&row)).expect("the row was packed here")
        })
    })
}

/// Nanoseconds that one of `units` takes, in the best round: others use the machine too.
fn measure_ns(units: usize, mut work: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < RUN {
        let round = Instant::now();
        black_box(work());
        best = best.min(round.elapsed());
    }
    best.as_secs_f64() * 1e9 / units as f64
}

fn texts() -> Vec<(&'static str, String)> {
    let any_of = |name: &str, count: usize| {
        let terms: Vec<String> = (0..count).map(|index| format!("{name} eq '{index:03}'")).collect();
        format!("({})", terms.join(" or "))
    };
    let pairs: Vec<String> =
        (0..256).map(|index| format!("(PartitionKey eq '{index:03}' and RowKey eq '{index:03}')")).collect();
    let kept: Vec<String> = (0..170)
        .map(|i| format!("(PartitionKey eq '{i:03}' and RowKey gt '{i:03}' and A{i} eq 1)"))
        .collect();
    vec![
        ("a point", "PartitionKey eq 'a' and RowKey eq 'b'".into()),
        ("a partition and a property", "PartitionKey eq 'a' and Age gt 30".into()),
        ("511 rows of a partition", format!("PartitionKey eq 'a' and {}", any_of("RowKey", 511))),
        ("256 points in 256 partitions", pairs.join(" or ")),
        ("170 row ranges with a property each", kept.join(" or ")),
        (
            "256 partitions times 256 rows",
            format!("{} and {}", any_of("PartitionKey", 256), any_of("RowKey", 256)),
        ),
        (
            "64 partitions times 64 rows without 384 others",
            format!(
                "{} and {} and {}",
                any_of("PartitionKey", 64),
                any_of("RowKey", 64),
                (0..384).map(|i| format!("RowKey ne '{i:03}5'")).collect::<Vec<_>>().join(" and ")
            ),
        ),
        ("512 conditions on one property", vec!["A ne 1"; 512].join(" and ")),
    ]
}
