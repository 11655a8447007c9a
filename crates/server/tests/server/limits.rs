//! Bounds on requests.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lazuli_model::table::limits::BODY_BYTES_MAX;
use lazuli_server::Limits;

use crate::support::{Client, Request, Server};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// An insert whose body is padded to a length.
fn padded(table: &str, row: &str, bytes: usize) -> Request {
    let mut body = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}");
    body.extend(std::iter::repeat_n(' ', bytes.saturating_sub(body.len())));
    Request::post(&format!("/{table}"), &body)
}

#[test]
fn bodies_have_a_maximum_length() {
    let server = Server::with(Limits { body_bytes_max: 100 * KIB, ..Limits::default() });
    server.create_table("bodies");
    let mut client = server.connect();
    assert_eq!(client.ask(&padded("bodies", "a", 100 * KIB)).status, 201);
    let response = client.ask(&padded("bodies", "b", 100 * KIB + 1));
    assert_eq!((response.status, response.code()), (413, "RequestBodyTooLarge"));
    assert_eq!(server.connect().ask(&Request::point("bodies", "b")).status, 404);
}

/// The length alone is enough to reject a body: none of it needs to arrive.
#[test]
fn a_body_is_rejected_by_its_announced_length() {
    let server = Server::start();
    server.create_table("bodies");
    for length in ["4294967296", "18446744073709551615", "9999999"] {
        let mut client = server.connect();
        client.send(Request::insert("bodies", "a").set("Content-Length", length).head());
        let response = client.response();
        assert_eq!((response.status, response.closes()), (413, true), "{length}");
        client.assert_closed();
    }
}

/// A client that writes everything before it reads still sees the response: the rest of the body is read and dropped.
#[test]
fn the_response_to_a_rejected_body_arrives() {
    let server = Server::start();
    server.create_table("bodies");
    for bytes in [5 * MIB, 15 * MIB] {
        let mut client = server.connect();
        client.send_request(&padded("bodies", "a", bytes));
        assert_eq!(client.response().status, 413, "{bytes}");
        client.assert_closed();
    }
    // The same with a wrong signature.
    let mut client = server.connect();
    client.send_request(&padded("bodies", "a", 4 * MIB).unsigned());
    assert_eq!(client.response().status, 403);
    client.assert_closed();
}

/// A small body that is not wanted causes only the rejection.
#[test]
fn a_small_rejected_body_keeps_the_connection() {
    let server = Server::start();
    server.create_table("bodies");
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.ask(&padded("bodies", "a", 60 * KIB).unsigned()).status, 403);
        assert_eq!(client.ask(&Request::get("/Tables")).status, 200);
    }
}

#[track_caller]
fn check_head(server: &Server, fields: &str, status: u16) {
    let mut client = server.connect();
    let head = Request::get("/Tables").head();
    let sent = format!("{}{fields}\r\n", head.strip_suffix("\r\n").unwrap());
    // The server may respond and close while the head is still on its way.
    let _ = client.stream.write_all(sent.as_bytes());
    let response = client.response();
    assert_eq!(response.status, status, "{}", response.head);
    if status == 431 {
        assert!(response.closes());
        client.assert_closed();
    }
}

#[test]
fn heads_have_a_maximum_length() {
    let server = Server::with(Limits { head_bytes_max: 8 * KIB, ..Limits::default() });
    let start = Request::get("/Tables").head().len() + "X: \r\n".len();
    check_head(&server, &format!("X: {}\r\n", "x".repeat(8 * KIB - start)), 200);
    check_head(&server, &format!("X: {}\r\n", "x".repeat(8 * KIB - start + 1)), 431);
    check_head(&server, &format!("X: {}\r\n", "x".repeat(MIB)), 431);
    check_head(&server, &format!("{}: x\r\n", "x".repeat(8 * KIB)), 431);
    server.assert_alive();
}

/// The target counts as part of the head, and one that never ends is rejected.
#[test]
fn endless_heads_are_rejected() {
    let server = Server::start();
    for start in ["GET /", "GET / HTTP/1.1\r\nX: ", "", "GET / HTTP/1.1\r\n"] {
        let mut client = server.connect();
        let _ = client.stream.write_all(format!("{start}{}", "a: b\r\n".repeat(100 * KIB)).as_bytes());
        let response = client.response();
        assert!(matches!(response.status, 431 | 400), "{start}: {}", response.head);
    }
    server.assert_alive();
}

#[test]
fn fields_have_a_maximum_number() {
    let server = Server::with(Limits { fields_max: 20, ..Limits::default() });
    let present = Request::get("/Tables").head().matches("\r\n").count() - 2;
    check_head(&server, &"X: y\r\n".repeat(20 - present), 200);
    check_head(&server, &"X: y\r\n".repeat(21 - present), 431);
}

/// A body of 200 KiB of which the last byte is missing, so that the server holds the others.
fn hold_body(server: &Server) -> (Client, Request) {
    let request = padded("budget", "held", 200 * KIB).with("Expect", "100-continue");
    let mut holder = server.connect();
    holder.send(request.head());
    assert_eq!(holder.response().status, 100);
    holder.send(&request.body()[..200 * KIB - 1]);
    (holder, request)
}

/// Large bodies share a budget; a body that does not fit into the rest of it gets 503, small bodies do not.
#[test]
fn bodies_share_a_budget() {
    // On a busy machine the steps below can take longer than the default, and then nothing holds the budget any more.
    let limits =
        Limits { bodies_bytes_max: 256 * KIB, body_time_max: Duration::from_secs(600), ..Limits::default() };
    let server = Server::with(limits);
    server.create_table("budget");
    let (mut holder, held) = hold_body(&server);
    let head = padded("budget", "x", 0).without("Content-Length").with("Transfer-Encoding", "chunked").head();
    let chunked = format!("{head}{:x}\r\n{}\r\n0\r\n\r\n", 100 * KIB, " ".repeat(100 * KIB)).into_bytes();
    // Until the server has read what the other client has sent, the budget is free. A body that is only announced does not
    // take it away from that client.
    let announced = padded("budget", "x", 100 * KIB).with("Expect", "100-continue").head();
    loop {
        let mut client = server.connect();
        client.send(&announced);
        if client.response().status == 503 {
            break;
        }
    }
    for bytes in [padded("budget", "x", 100 * KIB).bytes(), chunked] {
        let mut client = server.connect();
        let _ = client.stream.write_all(&bytes);
        let rejection = client.response();
        assert_eq!((rejection.status, rejection.code(), rejection.closes()), (503, "ServerBusy", true));
    }
    // A client that waits for 100 Continue gets the error before it sends anything.
    let mut waiting = server.connect();
    waiting.send(padded("budget", "y", 100 * KIB).with("Expect", "100-continue").head());
    assert_eq!(waiting.response().status, 503);

    let mut small = server.connect();
    assert_eq!(small.ask(&padded("budget", "small", Limits::BODY_BYTES_FREE)).status, 201);
    holder.send(&held.body()[200 * KIB - 1..]);
    assert_eq!(holder.response().status, 201);
    assert_eq!(server.connect().ask(&padded("budget", "z", 200 * KIB)).status, 201);
}

/// Bytes that are announced but do not arrive hold no memory, so they do not block others.
#[test]
fn announced_bodies_hold_nothing() {
    let server = Server::with(Limits { bodies_bytes_max: 256 * KIB, ..Limits::default() });
    server.create_table("budget");
    let mut announced: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for client in &mut announced {
        client.send(padded("budget", "announced", 250 * KIB).with("Expect", "100-continue").head());
        assert_eq!(client.response().status, 100);
    }
    assert_eq!(server.connect().ask(&padded("budget", "real", 250 * KIB)).status, 201);
}

/// A client that disconnects releases its part of the budget.
#[test]
fn the_budget_is_given_back() {
    let server = Server::with(Limits { bodies_bytes_max: 256 * KIB, ..Limits::default() });
    server.create_table("budget");
    for _ in 0..20 {
        let (mut holder, _) = hold_body(&server);
        holder.finish();
        // The end of the connection shows that the request is over.
        holder.stream.read_to_end(&mut Vec::new()).unwrap();
    }
    assert_eq!(server.connect().ask(&padded("budget", "last", 200 * KIB)).status, 201);
}

/// Large heads draw on the same budget: of three that arrive at the same time, only one fits.
#[test]
fn heads_share_a_budget() {
    let server = Server::with(Limits { bodies_bytes_max: 128 * KIB, ..Limits::default() });
    let head = Request::get("/Tables").with("X-Padding", &"x".repeat(30 * KIB)).head();
    let (first, rest) = head.split_at(20 * KIB);
    let (sender, responses) = mpsc::channel();
    thread::scope(|scope| {
        let mut streams = Vec::new();
        for _ in 0..3 {
            let mut client = server.connect();
            client.send(first);
            streams.push(client.stream.try_clone().unwrap());
            let sender = sender.clone();
            scope.spawn(move || sender.send(client.response().status).unwrap());
        }
        let mut statuses: Vec<u16> = (0..2).map(|_| responses.recv().unwrap()).collect();
        assert_eq!(statuses, [503, 503]);
        // Only one is still open for the rest.
        streams.iter_mut().for_each(|stream| drop(stream.write_all(rest.as_bytes())));
        statuses.push(responses.recv().unwrap());
        assert_eq!(statuses, [503, 503, 200]);
    });
}

/// Large responses have a budget of their own. A read that does not fit gets 503; a response larger than the whole
/// budget is sent only when no other response holds memory.
#[test]
fn responses_share_a_budget() {
    let server = Server::with(Limits { bodies_bytes_max: 4 * MIB, ..Limits::default() });
    server.create_table("responses");
    let mut client = server.connect();
    // In JSON each of these characters takes six bytes: a response of this length does not fit into the socket buffers.
    let text = "\\u0001".repeat(30_000);
    let properties: String = (0..16).map(|n| format!(",\"P{n}\":\"{text}\"")).collect();
    for row in 0..4 {
        let body = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"{properties}}}");
        let insert = Request::post("/responses", &body).with("Prefer", "return-no-content");
        assert_eq!(client.ask(&insert).status, 204);
    }
    let all = Request::get("/responses()");
    let mut holder = server.connect();
    holder.send_request(&all);
    holder.stream.peek(&mut [0]).unwrap();
    let rejection = client.ask(&Request::get("/responses()?$top=1"));
    assert_eq!((rejection.status, rejection.code()), (503, "ServerBusy"));
    assert_eq!(client.ask(&Request::get("/responses()?$select=RowKey")).status, 200, "small ones are free");
    for _ in 0..2 {
        let response = holder.response();
        assert!(response.status == 200 && response.body.len() > 10 * MIB, "{}", response.body.len());
        holder.send_request(&all);
    }
}

/// With the smallest memory that can be configured, the largest head and body and page are served.
#[test]
fn the_least_memory_is_enough() {
    let limits = Limits { bodies_bytes_max: Limits::default().bodies_bytes_min(), ..Limits::default() };
    let server = Server::with(limits);
    server.create_table("largest");
    let padding = "x".repeat(limits.head_bytes_max - 2 * KIB);
    let whole = padded("largest", "x", BODY_BYTES_MAX).with("X-Padding", &padding);
    assert_eq!(server.connect().ask(&whole).status, 201);
    let head = padded("largest", "y", 0).with("X-Padding", &padding);
    let head = head.without("Content-Length").with("Transfer-Encoding", "chunked").head();
    let mut chunked = head.into_bytes();
    for chunk in padded("largest", "y", BODY_BYTES_MAX).body().chunks(100 * KIB) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let mut client = server.connect();
    client.send(chunked);
    assert_eq!(client.response().status, 201);
    assert_eq!(limits.pages_max(), 1);
}

/// A body larger than all the memory for requests got 503 forever, which clients retry.
#[test]
fn a_body_that_never_fits_into_memory_gets_413() {
    let limits = Limits { bodies_bytes_max: MIB, ..Limits::default() };
    let server = Server::with(limits);
    server.create_table("large");
    let fits = padded("large", "x", MIB / 2);
    assert_eq!(server.connect().ask(&fits).status, 201);
    let too_large = padded("large", "y", MIB + 1);
    let response = server.connect().ask(&too_large);
    assert_eq!((response.status, response.code()), (413, "RequestBodyTooLarge"));
    let head = padded("large", "y", 0);
    let head = head.without("Content-Length").with("Transfer-Encoding", "chunked").head();
    let mut client = server.connect();
    client.send(head);
    for chunk in too_large.body().chunks(100 * KIB) {
        client.send(format!("{:x}\r\n", chunk.len()));
        client.send(chunk);
        client.send(b"\r\n");
    }
    let response = client.response();
    assert_eq!((response.status, response.code()), (413, "RequestBodyTooLarge"));
}
