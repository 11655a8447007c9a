//! Requests that time out: `timeout` in the query, and the error for a change that may still be applied.

use std::sync::atomic::Ordering;

use crate::stuck::Stuck;
use crate::support::{Request, Server};

/// ER-06, PR-07: a request that times out gets an error that leaves the outcome open, and the change may in fact be
/// applied.
#[test]
fn a_change_that_takes_too_long_may_be_made() {
    let engine = Stuck::new();
    let server = Server::over(engine.clone(), |_| ());
    server.create_table("late");
    for (gate, row, found) in [(&engine.before, "lost", 404), (&engine.after, "made", 200)] {
        gate.store(true, Ordering::SeqCst);
        let body = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}");
        let response = server.connect().ask(&Request::post("/late?timeout=1", &body));
        assert_eq!((response.status, response.code()), (500, "OperationTimedOut"), "{row}");
        gate.store(false, Ordering::SeqCst);
        assert_eq!(server.connect().ask(&Request::point("late", row)).status, found, "{row}");
    }
}

/// The same for a batch, as a whole: clients retry it.
#[test]
fn a_batch_that_takes_too_long_may_be_made() {
    let engine = Stuck::new();
    let server = Server::over(engine.clone(), |_| ());
    server.create_table("late");
    engine.after.store(true, Ordering::SeqCst);
    let change = "{\"PartitionKey\":\"p\",\"RowKey\":\"made\"}";
    let body = format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST http://127.0.0.1/devstoreaccount1/late HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\n\r\n{change}\r\n--c--\r\n--b--\r\n"
    );
    let request =
        Request::post("/$batch?timeout=1", &body).set("Content-Type", "multipart/mixed; boundary=b");
    let response = server.connect().ask(&request);
    assert_eq!((response.status, response.code()), (500, "OperationTimedOut"));
    engine.after.store(false, Ordering::SeqCst);
    assert_eq!(server.connect().ask(&Request::point("late", "made")).status, 200);
}

/// A query that gets no response from the engine at all times out.
#[test]
fn a_query_that_takes_too_long_is_given_up() {
    let engine = Stuck::new();
    let server = Server::over(engine.clone(), |_| ());
    server.create_table("late");
    engine.before.store(true, Ordering::SeqCst);
    let response = server.connect().ask(&Request::get("/late()?timeout=1"));
    assert_eq!((response.status, response.code()), (500, "OperationTimedOut"));
}

/// A timeout that is not a number of seconds is rejected, wherever it appears.
#[test]
fn a_time_is_a_number() {
    let server = Server::start();
    server.create_table("late");
    for (target, status) in [
        ("/Tables?timeout=30", 200),
        ("/Tables?timeout=90", 200),
        ("/Tables?timeout=0", 200),
        ("/Tables?timeout=soon", 400),
        ("/late()?timeout=-1", 400),
        ("/late(PartitionKey='p',RowKey='r')?timeout=1.5", 400),
    ] {
        let response = server.connect().ask(&Request::get(target));
        assert_eq!(response.status, status, "{target}");
        assert_eq!(response.code() == "InvalidQueryParameterValue", status == 400, "{target}");
    }
}
