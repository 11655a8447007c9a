//! Slow clients. The tests check that a deadline ends a request, not how long that takes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Clock;
use lazuli_engine::memory::Memory;
use lazuli_server::Limits;

use crate::support::{Client, Request, SHORT, Server};

/// Pause between two pieces of a slow client; far below every deadline.
const TRICKLE: Duration = Duration::from_millis(5);

/// Sends a piece again and again, with a pause, until the server responds or closes; returns the response.
/// A server that closes while a piece is on its way resets the connection: that is the end of it too.
fn trickle(client: &mut Client, piece: &[u8]) -> String {
    client.stream.set_read_timeout(Some(TRICKLE)).unwrap();
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match client.stream.read(&mut buffer) {
            Ok(0) => return String::from_utf8(heard).unwrap(),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return String::from_utf8(heard).unwrap();
            }
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let _ = client.stream.write_all(piece);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_silent_connection_is_closed() {
    let server = Server::with(Limits { head_time_max: SHORT, ..Limits::default() });
    server.connect().assert_closed();
}

#[test]
fn a_head_has_a_deadline() {
    let server = Server::with(Limits { head_time_max: SHORT, ..Limits::default() });
    for start in ["G", "GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: a\r\n", "\r"] {
        let mut client = server.connect();
        client.send(start);
        let response = client.response();
        assert_eq!((response.status, response.closes()), (408, true), "{start:?}");
        client.assert_closed();
    }
}

/// The deadline covers the whole head, however often a part of it arrives.
#[test]
fn a_trickling_head_has_a_deadline() {
    let server = Server::with(Limits { head_time_max: SHORT, ..Limits::default() });
    let mut client = server.connect();
    client.send("GET /devstoreaccount1/Tables HTTP/1.1\r\nX: ");
    assert!(trickle(&mut client, b"x").starts_with("HTTP/1.1 408 "));
}

/// Empty lines are skipped, but do not keep a connection alive.
#[test]
fn trickling_empty_lines_have_a_deadline() {
    let server = Server::with(Limits { head_time_max: SHORT, ..Limits::default() });
    let mut client = server.connect();
    assert_eq!(trickle(&mut client, b"\r\n"), "");
    let idle = Limits { idle_time_max: SHORT, ..Limits::default() };
    let server = Server::with(idle);
    let mut client = server.connect();
    assert_eq!(client.ask(&Request::get("/Tables")).status, 200);
    assert_eq!(trickle(&mut client, b"\n"), "");
}

#[test]
fn a_body_has_a_deadline() {
    let server = Server::with(Limits { body_time_max: SHORT, ..Limits::default() });
    server.create_table("slow");
    let request = Request::insert("slow", "r");
    let mut client = server.connect();
    client.send(request.head());
    let response = client.response();
    assert_eq!((response.status, response.code(), response.closes()), (408, "RequestTimeout", true));
    client.assert_closed();
    // The same for chunks, and for the body after the 100.
    for (start, is_continued) in [("5\r\n", false), ("5\r\nhel", false), ("0\r\n", false), ("", true)] {
        let mut request = request.clone().without("Content-Length").with("Transfer-Encoding", "chunked");
        if is_continued {
            request = request.with("Expect", "100-continue");
        }
        let mut client = server.connect();
        client.send(request.head() + start);
        let response = client.response();
        let response = if response.status == 100 { client.response() } else { response };
        assert_eq!(response.status, 408, "{start:?}");
        client.assert_closed();
    }
}

#[test]
fn a_trickling_body_has_a_deadline() {
    let server = Server::with(Limits { body_time_max: SHORT, ..Limits::default() });
    server.create_table("slow");
    let mut client = server.connect();
    client.send(Request::insert("slow", "r").set("Content-Length", "100000").head());
    assert!(trickle(&mut client, b" ").starts_with("HTTP/1.1 408 "));
    let mut client = server.connect();
    let chunked = Request::insert("slow", "r").without("Content-Length").with("Transfer-Encoding", "chunked");
    client.send(chunked.head());
    assert!(trickle(&mut client, b"1\r\n \r\n").starts_with("HTTP/1.1 408 "));
}

/// A body that is only to be skipped has no more time than one that is read.
#[test]
fn a_skipped_body_has_a_deadline() {
    let server = Server::with(Limits { body_time_max: SHORT, ..Limits::default() });
    let mut client = server.connect();
    client.send(Request::post("/Tables", "0123456789").unsigned().head());
    assert_eq!(client.response().status, 403);
    client.assert_closed();
}

#[test]
fn an_idle_connection_is_closed() {
    let server = Server::with(Limits { idle_time_max: SHORT, ..Limits::default() });
    let mut client = server.connect();
    assert_eq!(client.ask(&Request::get("/Tables")).status, 200);
    client.assert_closed();
}

/// A client that requests much and reads nothing, or almost nothing, is disconnected.
#[test]
fn a_response_must_be_read_in_time() {
    let engine = Arc::new(Memory::new(Clock::system()));
    fill(engine.clone());
    for take in [0, 16] {
        let server = Server::over(engine.clone(), |config| {
            config.limits = Limits { connections_max: 1, request_time_max: SHORT, ..Limits::default() };
        });
        let mut slow = loop {
            let mut client = server.connect();
            if client.try_ask(&Request::get("/Tables")).is_ok_and(|response| response.status == 200) {
                break client;
            }
        };
        // 400 MB of responses: more than the buffers between the two ends hold.
        slow.send(Request::get("/large()").bytes().repeat(100));
        let mut taken = vec![0; take];
        loop {
            if server.has_a_place() {
                break;
            }
            let _ = slow.stream.read(&mut taken);
        }
    }
}

/// Fills a table through a server with long deadlines: on a busy machine an insert would miss the short deadline of the
/// test.
fn fill(engine: Arc<Memory>) {
    let server = Server::over(engine, |_| ());
    server.create_table("large");
    let mut client = server.connect();
    let value = "v".repeat(30_000);
    for row in 0..64 {
        let body =
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"A\":\"{value}\",\"B\":\"{value}\"}}");
        assert_eq!(client.ask(&Request::post("/large", &body)).status, 201);
    }
}
