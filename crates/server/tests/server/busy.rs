//! Too many requests: of an account, of a partition, of all.

use std::sync::atomic::Ordering;

use lazuli_server::Limits;
use lazuli_server::throttle::{Rate, Rates};

use crate::stuck::Stuck;
use crate::support::{Request, Server, TestResponse};

/// Far less than any test requests.
const LITTLE: Rate = Rate { per_second: 1, burst: 5 };

fn with_rates(rates: Rates) -> Server {
    Server::with_config(|config| config.rates = rates)
}

/// Sends requests until one is rejected: without pauses that always happens, however slow the machine.
fn ask_until_rejected(server: &Server, request: &Request) -> TestResponse {
    let mut client = server.connect();
    loop {
        let response = client.ask(request);
        if !matches!(response.status, 200..=299 | 404 | 409) {
            return response;
        }
    }
}

/// PR-07, PR-11: a partition with too many requests is busy; the next one is not.
#[test]
fn a_partition_has_a_rate() {
    let server = with_rates(Rates { partition: Some(LITTLE), account: None });
    server.create_table("hot");
    for request in [
        Request::insert("hot", "r"),
        Request::point("hot", "r"),
        Request::get("/hot()?$filter=PartitionKey%20eq%20'p'%20and%20Age%20gt%203"),
    ] {
        let response = ask_until_rejected(&server, &request);
        assert_eq!((response.status, response.code()), (503, "ServerBusy"));
        assert!(response.text().contains("The server is currently unable to receive requests."));
        assert_eq!(response.field("Retry-After"), None, "Azure sends none");
    }
    let cool = Request::get("/hot(PartitionKey='cool',RowKey='r')");
    assert_eq!(server.connect().ask(&cool).status, 404);
    assert_eq!(server.connect().ask(&Request::get("/hot()")).status, 200, "a scan names no partition");
}

/// A batch counts as many times as it has entities, and is rejected as a whole, so that clients retry it.
#[test]
fn a_batch_counts_as_its_entities() {
    let server = with_rates(Rates { partition: Some(LITTLE), account: None });
    server.create_table("hot");
    let part = |row: usize| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT http://127.0.0.1/devstoreaccount1/hot(PartitionKey='p',RowKey='{row}') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{{}}\r\n"
        )
    };
    let parts: String = (0..5).map(part).collect();
    let body = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n");
    let batch = Request::post("/$batch", &body).set("Content-Type", "multipart/mixed; boundary=b");
    assert_eq!(server.connect().ask(&batch).status, 202);
    let response = ask_until_rejected(&server, &batch);
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
}

/// An account beyond its rate gets 503 with the limit in the message. Unsigned requests use nothing of the rate.
#[test]
fn an_account_has_a_rate() {
    let server = with_rates(Rates { account: Some(LITTLE), partition: None });
    let mut stranger = server.connect();
    for _ in 0..100 {
        assert_eq!(stranger.ask(&Request::get("/Tables").unsigned()).status, 403);
    }
    assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200);
    let response = ask_until_rejected(&server, &Request::get("/Tables"));
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
    assert!(response.text().contains("Operations per second is over the account limit."));
    assert_eq!(response.field("Server"), Some("Microsoft-HTTPAPI/2.0"));
    let old = Request::get("/Tables").set("x-ms-version", "2015-12-11");
    assert!(ask_until_rejected(&server, &old).text().contains("The server is currently unable"));
}

/// Pages that are being built have a bound in memory: beyond it queries get 503, and everything else is served.
#[test]
fn pages_in_the_making_have_a_bound() {
    let engine = Stuck::new();
    let limits = Limits { bodies_bytes_max: 16 * 1024 * 1024, ..Limits::default() };
    let server = Server::over(engine.clone(), |config| config.limits = limits);
    server.create_table("large");
    assert_eq!(limits.pages_max(), 2);
    let query = Request::get("/large()");
    assert_eq!(server.connect().ask(&query).status, 200);
    engine.before.store(true, Ordering::SeqCst);
    let mut first = server.connect();
    let mut second = server.connect();
    first.send_request(&query);
    second.send_request(&query);
    engine.wait_for_scans(2);
    let response = server.connect().ask(&query);
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
    assert_eq!(server.connect().ask(&Request::point("large", "r")).status, 404);
}

/// A change of a table continues after its request has timed out. While the engine hangs, the number of such changes is
/// bounded, however often clients retry. Reads keep working.
#[test]
fn changes_that_outlive_their_requests_have_a_bound() {
    const CHANGES_MAX: usize = 256;
    let engine = Stuck::new();
    let server = Server::over(engine.clone(), |_| ());
    server.create_table("first");
    engine.before.store(true, Ordering::SeqCst);
    let create = |number: usize| Request::post("/Tables", &format!("{{\"TableName\":\"table{number}\"}}"));
    let mut clients: Vec<_> = (0..CHANGES_MAX).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_request(&create(number));
    }
    engine.wait_for_changes(CHANGES_MAX);
    let response = server.connect().ask(&create(CHANGES_MAX));
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
    assert_eq!(server.connect().ask(&Request::point("first", "r")).status, 404);
}
