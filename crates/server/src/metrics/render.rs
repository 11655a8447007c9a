//! All metrics, in the text format. docs/operate.md explains each family for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Distribution, Status};
use lazuli_model::{Class, ErrorCode, OperationKind};
use lazuli_protocol::auth::AccountKey;
use lazuli_service::heat::Hot;
use lazuli_service::usage::{QueueCounts, QueueUsage, TableCounts, TableUsage};

use super::text::Text;
use super::{Exceeded, ServerMetrics, process};
use crate::memory::{self, AllocatedBytes};
use crate::state::State;

/// The label for tables, partitions and queues that are not listed individually.
const OTHER: &str = "other";

/// The reader of the metrics, which decides what is shown: PartitionKeys are user data, and names of tables and
/// queues belong to their account.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// An operator: everything.
    Operator,
    /// Everybody on this machine: partitions are listed individually, but their keys are hashed with this
    /// secret.
    Disguised(&'a AccountKey),
    /// The holder of a key of this account, who sees its tables, partitions and queues, and the counters of the
    /// whole server.
    Account(&'a str),
}

impl View<'_> {
    fn includes(self, account: &str) -> bool {
        match self {
            View::Operator | View::Disguised(_) => true,
            View::Account(own) => own == account,
        }
    }
}

/// Writes all metrics that the reader may see.
pub async fn render(state: &State, view: View<'_>) -> String {
    let metrics = state.metrics();
    let usage = state.service().usage();
    let mut text = Text::default();
    text.gauge("lazuli_build_info", "The version of the server.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.gauge("lazuli_uptime_seconds", "How long the server has been running.")
        .sample(&[], metrics.started.elapsed().as_secs());
    metrics.render_requests(&mut text);
    metrics.render_queries(&mut text);
    metrics.render_traffic(&mut text);
    let (records, dropped) = state.analytics().counts();
    text.counter("lazuli_analytics_records_total", "Requests recorded for the logs and metrics of accounts.")
        .sample(&[], records);
    text.counter(
        "lazuli_analytics_dropped_total",
        "Requests, lines or rows missing from the logs and metrics of accounts.",
    )
    .sample(&[], dropped);
    render_tables(&mut text, &usage.tables(), view);
    render_partitions(&mut text, usage.hottest(), metrics.heat_time().as_secs_f64(), view);
    render_queues(&mut text, &usage.queues(), view);
    for metric in state.blobs().map(|blobs| blobs.metrics()).unwrap_or_default() {
        text.metric("lazuli_", &metric);
    }
    let most = memory::bytes_max(&state.config.limits, &**state.service().engine());
    text.gauge("lazuli_memory_max_bytes", "Upper bound of the memory that clients can make the server use.")
        .sample(&[], most);
    if let Some(count) = state.config.allocated {
        let AllocatedBytes { live, peak } = count();
        text.gauge("lazuli_allocated_bytes", "Allocated memory, in a build that counts it.")
            .sample(&[], live);
        text.gauge("lazuli_allocated_peak_bytes", "Maximum memory that was allocated at any time.")
            .sample(&[], peak);
    }
    // The health check has a timeout, so a stalled engine does not delay the other metrics.
    render_engine(&mut text, state.health.check().await.into_status());
    process::render(&mut text, metrics.started_at);
    text.finish()
}

/// Writes the counters of queues, and nothing else: for a page that reads them every few seconds.
pub fn render_only_queues(state: &State, view: View<'_>) -> String {
    let mut text = Text::default();
    render_queues(&mut text, &state.service().usage().queues(), view);
    text.finish()
}

impl ServerMetrics {
    fn render_requests(&self, text: &mut Text) {
        // Some codes share a name.
        let mut outcomes: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
        for (kind, index) in OperationKind::ALL.iter().zip(0..) {
            let codes = std::iter::once(None).chain(ErrorCode::ALL.iter().map(Some));
            for (code, place) in codes.zip(0..) {
                let counters = self.requests.iter().filter_map(|own| own.operations[index].get());
                let count: u64 = counters.map(|own| own.outcomes[place].load(Ordering::Relaxed)).sum();
                if count > 0 {
                    let status = code.map_or("2xx", |code| status_class(code.status()));
                    let labels = (kind.name(), status, code.map_or("", |code| code.name()));
                    *outcomes.entry(labels).or_default() += count;
                }
            }
        }
        text.counter(
            "lazuli_requests_total",
            "Completed requests, by operation, status class and error code.",
        );
        for ((operation, status, code), count) in outcomes {
            text.sample(&[("operation", operation), ("status", status), ("code", code)], count);
        }
        text.histogram(
            "lazuli_request_duration_seconds",
            "Time from the head of a request to its response, by operation.",
        );
        for (kind, index) in OperationKind::ALL.iter().zip(0..) {
            if let Some(times) = self.times(index).filter(|times| times.count() > 0) {
                text.distribution(&[("operation", kind.name())], &times);
            }
        }
        text.counter("lazuli_throttled_total", "Requests rejected, by the limit that was exceeded.");
        for why in Exceeded::ALL {
            text.sample(&[("limit", why.name())], self.throttled[why as usize].load(Ordering::Relaxed));
        }
    }

    fn times(&self, kind: usize) -> Option<Distribution> {
        let counters = self.requests.iter().filter_map(|own| own.operations[kind].get());
        let mut parts = counters.map(|own| own.times.times());
        let mut sum = parts.next()?;
        parts.for_each(|part| sum.add(&part));
        Some(sum)
    }

    fn render_queries(&self, text: &mut Text) {
        type Of = fn(&super::Queries) -> &AtomicU64;
        let families: [(&str, &str, Of); 3] = [
            ("lazuli_queries_total", "Queries for entities, by plan class.", |queries| &queries.count),
            ("lazuli_query_rows_read_total", "Rows read by queries.", |queries| &queries.rows_read),
            ("lazuli_query_rows_returned_total", "Rows returned by queries.", |queries| {
                &queries.rows_returned
            }),
        ];
        for (name, help, of) in families {
            text.counter(name, help);
            for class in Class::ALL {
                text.sample(&[("plan", class.name())], self.sum(|own| of(&own.queries[class.index()])));
            }
        }
    }

    fn render_traffic(&self, text: &mut Text) {
        let (opened, open, rejected) = self.traffic.connections();
        let (received, sent) = self.traffic.bytes();
        text.counter("lazuli_connections_total", "Connections accepted.").sample(&[], opened);
        text.gauge("lazuli_connections_open", "Connections open.").sample(&[], open);
        text.counter(
            "lazuli_connections_rejected_total",
            "Connections rejected because the limit was reached.",
        )
        .sample(&[], rejected);
        text.counter("lazuli_received_bytes_total", "Bytes received, after TLS.").sample(&[], received);
        text.counter("lazuli_sent_bytes_total", "Bytes sent, before TLS.").sample(&[], sent);
    }

    fn sum(&self, of: impl Fn(&super::Requests) -> &AtomicU64) -> u64 {
        self.requests.iter().map(|own| of(own).load(Ordering::Relaxed)).sum()
    }
}

fn status_class(status: u16) -> &'static str {
    match status {
        300..400 => "3xx",
        400..500 => "4xx",
        500..600 => "5xx",
        _ => "2xx",
    }
}

fn render_tables(text: &mut Text, tables: &[TableUsage], view: View<'_>) {
    type Of = fn(&TableCounts) -> u64;
    let families: [(&str, &str, Of); 4] = [
        ("lazuli_table_requests_total", "Requests for entities, by table.", |counts| counts.requests),
        ("lazuli_table_rows_read_total", "Rows read, by table.", |counts| counts.rows_read),
        ("lazuli_table_rows_returned_total", "Rows returned, by table.", |counts| counts.rows_returned),
        ("lazuli_table_rows_written_total", "Rows written or deleted, by table.", |counts| {
            counts.rows_written
        }),
    ];
    for (name, help, of) in families {
        text.counter(name, help);
        for found in tables.iter().filter(|found| view.includes(&found.account)) {
            let table = if found.table.is_empty() { OTHER } else { &found.table };
            text.sample(&[("account", &found.account), ("table", table)], of(&found.counts));
        }
    }
}

fn render_queues(text: &mut Text, queues: &[QueueUsage], view: View<'_>) {
    type Of = fn(&QueueCounts) -> u64;
    let families: [(&str, &str, Of); 3] = [
        ("lazuli_queue_messages_put_total", "Messages put, by queue.", |counts| counts.put),
        ("lazuli_queue_messages_dequeued_total", "Messages dequeued, by queue.", |counts| counts.dequeued),
        (
            "lazuli_queue_messages_deleted_total",
            "Messages deleted by clients or moved away, by queue.",
            |counts| counts.deleted,
        ),
    ];
    for (name, help, of) in families {
        text.counter(name, help);
        for found in queues.iter().filter(|found| view.includes(&found.account)) {
            let queue = if found.queue.is_empty() { OTHER } else { &found.queue };
            text.sample(&[("account", &found.account), ("queue", queue)], of(&found.counts));
        }
    }
}

fn render_partitions(text: &mut Text, (hottest, other): (Vec<Hot>, u64), seconds: f64, view: View<'_>) {
    text.gauge(
        "lazuli_partition_entities_per_second",
        "Approximate number of entities read or written in the busiest partitions during the last one to two minutes.",
    );
    #[allow(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    let rate = |entities: u64| format!("{:.3}", entities as f64 / seconds.max(1.0));
    for hot in hottest.iter().filter(|hot| view.includes(&hot.account)) {
        let partition = match view {
            View::Disguised(key) => disguised(key, &hot.partition),
            View::Operator | View::Account(_) => hot.partition.clone(),
        };
        let labels = [
            ("account", hot.account.as_str()),
            ("table", hot.table.as_str()),
            ("partition", partition.as_str()),
        ];
        text.sample(&labels, rate(hot.entities));
    }
    text.sample(&[("account", ""), ("table", ""), ("partition", OTHER)], rate(other));
}

/// Distinguishes partitions without revealing their keys.
fn disguised(key: &AccountKey, partition: &str) -> String {
    let hash = key.sign(partition);
    format!("#{:02x}{:02x}{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3], hash[4], hash[5])
}

fn render_engine(text: &mut Text, status: Result<Arc<Status>, String>) {
    let takes_writes = status.as_ref().is_ok_and(|status| status.poisoned.is_none());
    text.gauge("lazuli_engine_takes_writes", "1, or 0 while the storage engine does not accept writes.")
        .sample(&[], u8::from(takes_writes));
    let Ok(status) = status else { return };
    if let Some(bytes) = status.disk_bytes {
        text.gauge("lazuli_engine_disk_bytes", "Space on disk.").sample(&[], bytes);
    }
    for metric in &status.metrics {
        text.metric("lazuli_engine_", metric);
    }
}
