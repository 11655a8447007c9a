//! Requests one after the other on one connection.

use crate::support::{Client, Request, Server};

#[track_caller]
fn assert_serves(client: &mut Client) {
    let response = client.ask(&Request::get("/Tables"));
    assert_eq!(response.status, 200);
    assert_eq!(response.field("Connection"), None, "an HTTP/1.1 connection stays open without a header");
}

#[test]
fn connections_are_kept() {
    let server = Server::start();
    let mut client = server.connect();
    for _ in 0..100 {
        assert_serves(&mut client);
    }
    client.finish();
    client.assert_closed();
}

#[test]
fn rejections_keep_the_connection_if_its_position_is_known() {
    let server = Server::start();
    let mut client = server.connect();
    assert_eq!(client.ask(&Request::get("/Tables").unsigned()).status, 403);
    assert_eq!(client.ask(&Request::point("missing", "r")).status, 404);
    // The body of a rejected request is skipped.
    assert_eq!(client.ask(&Request::post("/Tables", "{\"TableName\":\"any\"}").unsigned()).status, 403);
    assert_eq!(client.ask(&Request::post("/Tables", "not JSON at all")).status, 400);
    // So is an unexpected body.
    let body = "GET /smuggled HTTP/1.1\r\n\r\n";
    let mut get = Request::get("/Tables").with("Content-Length", &body.len().to_string()).bytes();
    get.extend_from_slice(body.as_bytes());
    client.send(get);
    assert_eq!(client.response().status, 200);
    assert_serves(&mut client);
}

/// Several requests in one packet get their responses in order.
#[test]
fn requests_may_be_pipelined() {
    const COUNT: usize = 50;
    let server = Server::start();
    server.create_table("rows");
    let mut client = server.connect();
    let rows: Vec<String> = (0..COUNT).map(|index| format!("row{index}")).collect();
    let inserts: Vec<u8> = rows.iter().flat_map(|row| Request::insert("rows", row).bytes()).collect();
    let gets: Vec<u8> = rows.iter().flat_map(|row| Request::point("rows", row).bytes()).collect();
    client.send([inserts, gets].concat());
    for row in &rows {
        assert_eq!(client.response().status, 204, "{row}");
    }
    for row in &rows {
        let response = client.response();
        assert_eq!(response.status, 200, "{row}");
        assert!(response.text().contains(&format!("\"RowKey\":\"{row}\"")), "{row}: {}", response.text());
    }
    assert_serves(&mut client);
}

/// Packet boundaries have no meaning.
#[test]
fn requests_may_arrive_in_any_pieces() {
    let server = Server::start();
    server.create_table("pieces");
    let mut client = server.connect();
    let length = Request::insert("pieces", "0000").bytes().len();
    for at in 1..length {
        let bytes = Request::insert("pieces", &format!("{at:04}")).bytes();
        assert_eq!(bytes.len(), length);
        client.send(&bytes[..at]);
        client.send(&bytes[at..]);
        assert_eq!(client.response().status, 204, "split at {at}");
    }
    for byte in Request::insert("pieces", "bytes").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().status, 204);
    let page = client.ask(&Request::get("/pieces()?$select=RowKey"));
    assert_eq!(page.text().matches("\"RowKey\"").count(), length);
}

/// The end of one request and the beginning of the next may share a packet.
#[test]
fn pieces_may_cross_requests() {
    let server = Server::start();
    server.create_table("cross");
    let two = [Request::insert("cross", "a").bytes(), Request::insert("cross", "b").bytes()].concat();
    for at in (1..two.len()).step_by(7) {
        let mut client = server.connect();
        client.send(&two[..at]);
        client.send(&two[at..]);
        let statuses = [client.response().status, client.response().status];
        assert!(statuses.iter().all(|status| matches!(status, 204 | 409)), "split at {at}: {statuses:?}");
    }
}

#[test]
fn old_clients_get_a_response_and_a_close() {
    let server = Server::start();
    let mut client = server.connect();
    let response = client.ask(&Request::get("/Tables").version("HTTP/1.0"));
    assert_eq!((response.status, response.closes()), (200, true));
    client.assert_closed();
}

/// Without the header in the response an HTTP/1.0 client would wait for the connection to close.
#[test]
fn old_clients_may_ask_to_stay() {
    let server = Server::start();
    let mut client = server.connect();
    let request = Request::get("/Tables").version("HTTP/1.0").with("Connection", "Keep-Alive");
    for _ in 0..3 {
        let response = client.ask(&request);
        assert_eq!((response.status, response.field("Connection")), (200, Some("keep-alive")));
    }
}

#[test]
fn connections_are_closed_when_asked() {
    let server = Server::start();
    for option in ["close", "Close", "foo, close", "keep-alive, close"] {
        let mut client = server.connect();
        let response = client.ask(&Request::get("/Tables").with("Connection", option));
        assert_eq!((response.status, response.closes()), (200, true), "{option}");
        client.assert_closed();
    }
}

/// Data sent after the last request is not served, and does not destroy the response in transit.
#[test]
fn nothing_is_served_after_the_last_request() {
    let server = Server::start();
    server.create_table("last");
    let mut client = server.connect();
    let last = Request::get("/Tables").with("Connection", "close").bytes();
    let late = Request::insert("last", "late").bytes();
    client.send([last, late.repeat(2000)].concat());
    assert_eq!(client.response().status, 200);
    client.assert_closed();
    assert_eq!(server.connect().ask(&Request::point("last", "late")).status, 404);
}

/// Some clients send an empty line after a body.
#[test]
fn empty_lines_between_requests_are_skipped() {
    let server = Server::start();
    let mut client = server.connect();
    for lines in ["\r\n", "\r\n\r\n", "\n"] {
        client.send(lines);
        assert_serves(&mut client);
    }
    client.send("\r");
    client.send("\n");
    assert_serves(&mut client);
}
