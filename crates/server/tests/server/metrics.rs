//! `/metrics`: what is counted, and that every scraper can read it.

use std::sync::Arc;

use lazuli_server::admin;
use lazuli_server::config::AdminPort;
use lazuli_store::{Options, Store};

use crate::prometheus::Exposition;
use crate::support::{Request, Server};

fn server() -> Server {
    Server::with_config(|config| config.admin = AdminPort::Exactly(0))
}

fn scrape(server: &Server) -> Exposition {
    let response = server.ask_admin("/metrics", "");
    assert_eq!(response.status, 200);
    assert_eq!(response.field("Content-Type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    Exposition::read(response.text())
}

fn insert(partition: &str, row: &str) -> Request {
    Request::post("/Data", &format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"}}"))
}

/// Ten rows in one partition, one in another, and some requests that fail.
fn use_it(server: &Server) {
    server.create_table("Data");
    let mut client = server.connect();
    for row in 0..10 {
        assert_eq!(client.ask(&insert("hot \\\"one\\\"", &row.to_string())).status, 201);
    }
    assert_eq!(client.ask(&insert("cold", "1")).status, 201);
    assert_eq!(client.ask(&insert("cold", "1")).status, 409);
    assert_eq!(client.ask(&Request::get("/None()")).status, 404);
    assert_eq!(client.ask(&Request::get("/Data()").unsigned()).status, 403);
    let filter = "/Data()?$filter=PartitionKey%20eq%20'cold'%20and%20Age%20eq%201";
    assert_eq!(client.ask(&Request::get(filter)).status, 200);
    assert_eq!(client.ask(&Request::get("/Data()")).status, 200);
}

#[test]
fn requests_are_counted_by_operation_status_and_code() {
    let server = server();
    use_it(&server);
    let found = scrape(&server);
    let requests = |labels: &str| found.value(&format!("lazuli_requests_total{{{labels}}}"));
    assert_eq!(requests("operation=\"InsertEntity\",status=\"2xx\",code=\"\""), 11.0);
    assert_eq!(requests("operation=\"InsertEntity\",status=\"4xx\",code=\"EntityAlreadyExists\""), 1.0);
    assert_eq!(requests("operation=\"CreateTable\",status=\"2xx\",code=\"\""), 1.0);
    assert_eq!(requests("operation=\"QueryEntities\",status=\"2xx\",code=\"\""), 2.0);
    assert_eq!(requests("operation=\"QueryEntities\",status=\"4xx\",code=\"TableNotFound\""), 1.0);
    assert_eq!(requests("operation=\"QueryEntities\",status=\"4xx\",code=\"AuthenticationFailed\""), 1.0);
    let times = "lazuli_request_duration_seconds_count{operation=\"InsertEntity\"}";
    assert_eq!(found.value(times), 12.0);
}

/// QY-22: rows read and returned, by kind of reading and by table.
#[test]
fn rows_are_counted() {
    let server = server();
    use_it(&server);
    let found = scrape(&server);
    for (plan, queries, read, returned) in
        [("partition", 1.0, 1.0, 0.0), ("table", 1.0, 11.0, 11.0), ("point", 0.0, 0.0, 0.0)]
    {
        let of = |family: &str| found.value(&format!("{family}{{plan=\"{plan}\"}}"));
        let counted = [
            of("lazuli_queries_total"),
            of("lazuli_query_rows_read_total"),
            of("lazuli_query_rows_returned_total"),
        ];
        assert_eq!(counted, [queries, read, returned], "{plan}");
    }
    let table = "{account=\"devstoreaccount1\",table=\"Data\"}";
    for (family, expected) in [
        ("lazuli_table_requests_total", 14.0),
        ("lazuli_table_rows_read_total", 12.0),
        ("lazuli_table_rows_returned_total", 11.0),
        ("lazuli_table_rows_written_total", 11.0),
    ] {
        assert_eq!(found.value(&format!("{family}{table}")), expected, "{family}");
        assert_eq!(found.value(&format!("{family}{{account=\"\",table=\"other\"}}")), 0.0, "{family}");
    }
}

/// Everybody sees that partitions differ; their keys are shown only with the token.
#[test]
fn hot_partitions_show_their_keys_to_those_who_may_see_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(admin::FILE);
    let server = Server::with_config(|config| {
        config.admin = AdminPort::Exactly(0);
        config.admin_file = Some(file.clone());
    });
    use_it(&server);
    let family = "lazuli_partition_entities_per_second";
    let by_heat = |found: &Exposition| -> Vec<String> {
        let mut series = found.family(family);
        series.sort_by(|a, b| b.1.total_cmp(&a.1));
        series.into_iter().map(|(series, _)| series.to_owned()).collect()
    };
    let open = by_heat(&scrape(&server));
    assert_eq!(open.len(), 3, "{open:?}");
    assert!(open[0].contains("partition=\"#") && !open.concat().contains("cold"), "{open:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let token = text.split("\"token\":\"").nth(1).unwrap().split('"').next().unwrap();
    let response = server.ask_admin("/metrics", &format!("Authorization: Bearer {token}\r\n"));
    let keys = by_heat(&Exposition::read(response.text()));
    let labels = "{account=\"devstoreaccount1\",table=\"Data\",partition=\"hot \\\"one\\\"\"}";
    assert_eq!(keys[0], format!("{family}{labels}"));
    assert!(keys[1].contains("partition=\"cold\""), "{keys:?}");
    assert!(keys[2].contains("partition=\"other\""), "{keys:?}");
}

#[test]
fn connections_and_bytes_are_counted() {
    let server = server();
    let before = scrape(&server);
    let request = Request::get("/Tables");
    let mut client = server.connect();
    let response = client.ask(&request);
    let sent = "lazuli_sent_bytes_total";
    // The client may have the response before the server has counted it.
    let after = loop {
        let found = scrape(&server);
        if found.value(sent) > before.value(sent) {
            break found;
        }
    };
    let grown = |name: &str| after.value(name) - before.value(name);
    assert_eq!(grown("lazuli_received_bytes_total"), request.bytes().len() as f64);
    assert_eq!(grown(sent), (response.head.len() + response.body.len()) as f64);
    assert_eq!(grown("lazuli_connections_total"), 1.0);
    assert_eq!(grown("lazuli_connections_open"), 1.0);
}

/// Commits of the store, and the resource usage of the process.
#[test]
fn the_engine_and_the_process_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(directory.path(), Options::default()).unwrap());
    let mut server = Server::over(store, |config| config.admin = AdminPort::Exactly(0));
    use_it(&server);
    let found = scrape(&server);
    // Eleven inserts, and the table.
    assert_eq!(found.value("lazuli_engine_commits_total"), 12.0);
    let groups = found.value("lazuli_engine_commit_groups_total");
    assert_eq!(found.value("lazuli_engine_sync_seconds_count"), groups);
    assert_eq!(found.value("lazuli_engine_commit_group_commits_sum"), 12.0);
    assert_eq!(found.value("lazuli_engine_takes_writes"), 1.0);
    for name in [
        "lazuli_engine_disk_bytes",
        "lazuli_engine_cache_capacity_bytes",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
    ] {
        assert!(found.value(name) > 0.0, "{name}");
    }
    let stop = server.begin_stop();
    server.wait(stop);
}
