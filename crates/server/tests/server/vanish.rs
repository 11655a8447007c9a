//! Clients that go away.

use std::io::Read as _;

use lazuli_server::Limits;

use crate::support::{Request, Server};

/// A client that has closed its sending side still gets its responses.
#[test]
fn half_closed_clients_get_responses() {
    let server = Server::start();
    let mut client = server.connect();
    client.send(Request::get("/Tables").bytes().repeat(3));
    client.finish();
    for _ in 0..3 {
        assert_eq!(client.response().status, 200);
    }
    client.assert_closed();
}

#[test]
fn a_client_that_says_nothing_hears_nothing() {
    let server = Server::start();
    let mut client = server.connect();
    client.finish();
    client.assert_closed();
    // An incomplete head is not a request.
    for start in ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let mut client = server.connect();
        client.send(start);
        client.finish();
        client.assert_closed();
    }
}

/// A body that ends early gets an error, and nothing is applied.
#[test]
fn half_a_body_does_nothing() {
    let server = Server::start();
    server.create_table("half");
    let whole = Request::insert("half", "r");
    for bytes in 0..whole.body().len() {
        let mut client = server.connect();
        client.send(whole.head());
        client.send(&whole.body()[..bytes]);
        client.finish();
        let response = client.response();
        assert_eq!((response.status, response.closes()), (400, true), "{bytes}");
        client.assert_closed();
    }
    let chunked = whole.clone().without("Content-Length").with("Transfer-Encoding", "chunked");
    let body = String::from_utf8(whole.body().to_vec()).unwrap();
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for bytes in 0..chunks.len() {
        let mut client = server.connect();
        client.send(chunked.head() + &chunks[..bytes]);
        client.finish();
        assert_eq!(client.response().status, 400, "{bytes}");
    }
    assert_eq!(server.connect().ask(&Request::point("half", "r")).status, 404);
}

/// With a single permit, the next client is served only after the permit of the disconnected one is released.
#[test]
fn a_client_that_disappears_releases_its_permit() {
    let server = Server::with(Limits { connections_max: 1, ..Limits::default() });
    let insert = Request::insert("missing", "r");
    for start in [
        Vec::new(),
        b"GET /dev".to_vec(),
        insert.head().into_bytes(),
        insert.bytes()[..insert.bytes().len() - 5].to_vec(),
        insert.bytes(),
        Request::get("/Tables").bytes().repeat(100),
    ] {
        let mut client = server.connect();
        if !start.is_empty() {
            // The previous client may still hold the permit; then this one has disappeared already.
            let _ = std::io::Write::write_all(&mut client.stream, &start);
        }
        drop(client);
        server.wait_for_a_place();
    }
}

/// The client disconnects during the response.
#[test]
fn a_client_that_disappears_during_the_response() {
    let server = Server::with(Limits { connections_max: 2, ..Limits::default() });
    server.create_table("large");
    server.wait_for_a_place();
    for row in 0..16 {
        let value = "v".repeat(30_000);
        let body =
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"A\":\"{value}\",\"B\":\"{value}\"}}");
        while server.connect().try_ask(&Request::post("/large", &body)).is_err() {}
    }
    for _ in 0..10 {
        let mut client = server.connect();
        let asked =
            std::io::Write::write_all(&mut client.stream, &Request::get("/large()").bytes().repeat(50));
        if asked.is_ok() {
            let _ = client.stream.read(&mut [0; 1000]);
        }
        drop(client);
        server.wait_for_a_place();
    }
}
