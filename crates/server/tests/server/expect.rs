//! HT-01: `Expect: 100-continue`.

use crate::support::{Client, Request, Server};

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

fn waiting_insert(table: &str, row: &str) -> Request {
    Request::insert(table, row).with("Expect", "100-continue")
}

/// Sends only the head; the only response must be the rejection.
#[track_caller]
fn check_rejected(client: &mut Client, request: &Request, status: u16) {
    client.send(request.head());
    let response = client.response();
    assert_eq!((response.status, response.closes()), (status, true), "{}", response.head);
    client.assert_closed();
}

#[test]
fn the_client_gets_a_100() {
    let server = Server::start();
    server.create_table("expect");
    let mut client = server.connect();
    for row in ["a", "b", "c"] {
        let request = waiting_insert("expect", row);
        client.send(request.head());
        let response = client.response();
        assert_eq!((response.status, response.head.as_str()), (100, CONTINUE));
        client.send(request.body());
        assert_eq!(client.response().status, 204);
    }
}

/// The same for a body in chunks.
#[test]
fn the_client_gets_a_100_with_chunks() {
    let server = Server::start();
    let mut client = server.connect();
    let body = "{\"TableName\":\"chunks\"}";
    let request = Request::post("/Tables", body).without("Content-Length");
    let request = request.with("Transfer-Encoding", "chunked").with("Expect", "100-Continue");
    client.send(request.head());
    assert_eq!(client.response().head, CONTINUE);
    client.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
    assert_eq!(client.response().status, 201);
}

/// Errors in the head are reported before the body is read, and no 100 is sent.
#[test]
fn rejections_come_before_the_body() {
    let server = Server::start();
    server.create_table("expect");
    let connect = || server.connect();
    check_rejected(&mut connect(), &waiting_insert("expect", "r").unsigned(), 403);
    let other_date = waiting_insert("expect", "r").set("x-ms-date", "Mon, 27 Jun 2022 20:11:08 GMT");
    check_rejected(&mut connect(), &other_date, 403);
    check_rejected(&mut connect(), &waiting_insert("expect", "r").set("x-ms-version", "nonsense"), 400);
    let verb = Request::new("PROPFIND", "/expect").with("Content-Length", "5").with("Expect", "100-continue");
    check_rejected(&mut connect(), &verb, 400);
    let media = waiting_insert("expect", "r").set("Content-Type", "text/html");
    check_rejected(&mut connect(), &media, 415);
    let large = waiting_insert("expect", "r").set("Content-Length", "99999999");
    check_rejected(&mut connect(), &large, 413);
}

/// A rejected client may have sent the body anyway; it is never mistaken for a request.
#[test]
fn a_body_sent_after_the_rejection_is_dropped() {
    let server = Server::start();
    let mut client = server.connect();
    let request = Request::post("/Tables", "POST /smuggled HTTP/1.1\r\n\r\n").with("Expect", "100-continue");
    client.send(request.clone().unsigned().head());
    assert_eq!(client.response().status, 403);
    client.send(request.body());
    client.assert_closed();
}

/// A client that does not wait gets no 100: it would mistake it for the response.
#[test]
fn a_body_that_is_there_is_taken() {
    let server = Server::start();
    server.create_table("expect");
    let mut client = server.connect();
    client.send(waiting_insert("expect", "eager").bytes());
    let response = client.response();
    let response = if response.status == 100 { client.response() } else { response };
    assert_eq!(response.status, 204);
    assert_eq!(client.ask(&Request::point("expect", "eager")).status, 200);
}

#[test]
fn nothing_to_wait_for() {
    let server = Server::start();
    let mut client = server.connect();
    // No body: no 100.
    assert_eq!(client.ask(&Request::get("/Tables").with("Expect", "100-continue")).status, 200);
    // HTTP/1.0 knows no 100.
    let old = Request::post("/Tables", "{\"TableName\":\"expectold\"}").version("HTTP/1.0");
    assert_eq!(client.ask(&old.with("Expect", "100-continue")).status, 201);
}

#[test]
fn other_expectations_are_rejected() {
    let server = Server::start();
    let mut client = server.connect();
    check_rejected(&mut client, &Request::get("/Tables").with("Expect", "a-pony"), 417);
}
