//! Requests that two servers in a row could read differently: rejected, and nothing after them is read.

use crate::support::{Request, Server};

/// A request that would create a table if it were ever executed.
fn smuggled() -> String {
    String::from_utf8(Request::post("/Tables", "{\"TableName\":\"smuggled\"}").bytes()).unwrap()
}

/// Sends a signed POST whose framing is `fields`, with another request where its body may be, and one after it.
#[track_caller]
fn check(server: &Server, fields: &str, status: u16) {
    let head = Request::post("/Tables", "").without("Content-Length").head();
    let (line, rest) = head.split_once("\r\n").unwrap();
    check_bytes(server, &format!("{line}\r\n{fields}{rest}0\r\n\r\n{}", smuggled()), status);
}

#[track_caller]
fn check_bytes(server: &Server, request: &str, status: u16) {
    let mut client = server.connect();
    client.send(request.to_owned() + &smuggled());
    let response = client.response();
    assert_eq!((response.status, response.closes()), (status, true), "{request:?}: {}", response.head);
    client.assert_closed();
    let tables = server.connect().ask(&Request::get("/Tables"));
    assert!(!tables.text().contains("smuggled"), "{request:?}");
}

#[test]
fn length_and_chunks() {
    let server = Server::start();
    check(&server, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400);
    check(&server, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400);
    check(&server, "Transfer-Encoding: chunked\r\ncontent-length: 0\r\n", 400);
    check(&server, "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n", 400);
}

#[test]
fn several_lengths() {
    let server = Server::start();
    check(&server, "Content-Length: 5\r\nContent-Length: 6\r\n", 400);
    check(&server, "Content-Length: 5\r\nContent-Length: 5\r\n", 400);
    check(&server, "Content-Length: 5\r\nCONTENT-LENGTH: 0\r\n", 400);
    check(&server, "Content-Length: 5, 5\r\n", 400);
    check(&server, "Content-Length: 0,5\r\n", 400);
}

#[test]
fn invalid_lengths() {
    let server = Server::start();
    for length in [
        "",
        "-1",
        "+5",
        "5 5",
        "0x5",
        "5a",
        "5.0",
        "1e1",
        "\u{ff15}",
        "99999999999999999999999",
        "5;",
        "\"5\"",
    ] {
        check(&server, &format!("Content-Length: {length}\r\n"), 400);
    }
}

#[test]
fn codings_other_than_chunked() {
    let server = Server::start();
    for coding in [
        "xchunked",
        "chunkedx",
        "identity",
        "gzip",
        "gzip, chunked",
        "chunked, gzip",
        "chunked, chunked",
        "chunked,",
        ",chunked",
        "\"chunked\"",
        "chunked;a=b",
        "",
    ] {
        check(&server, &format!("Transfer-Encoding: {coding}\r\n"), 501);
    }
    check(&server, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 501);
    check(&server, "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", 501);
    check(&server, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 501);
    check(&server, "Transfer-Encoding: \u{b}chunked\r\n", 400);
    // HTTP/1.0 has no chunks, so a proxy in front may have read it differently.
    let old = Request::post("/Tables", "").without("Content-Length").version("HTTP/1.0");
    check_bytes(&server, &(old.with("Transfer-Encoding", "chunked").head() + "0\r\n\r\n"), 400);
}

/// Names and values that hide a field from one of two readers.
#[test]
fn fields_that_hide() {
    let server = Server::start();
    for fields in [
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\r\n\tContent-Length: 5\r\n",
        "Content-Length:\r\n 5\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding\r\n: chunked\r\n",
        "Transfer-Encoding\r\n",
        ": chunked\r\n",
        "Transfer\u{b}Encoding: chunked\r\n",
        "Transfer Encoding: chunked\r\n",
        "X: a\rContent-Length: 5\r\n",
        "X: a\r\rb\r\n",
        "X\r: a\r\n",
        "X: a\0b\r\n",
        "X\0: a\r\n",
        "X: a\u{7f}b\r\n",
        "X(y): z\r\n",
        "Host: other\r\n",
    ] {
        check(&server, fields, 400);
    }
}

/// The request line, too, must be unambiguous.
#[test]
fn invalid_request_lines() {
    let server = Server::start();
    let head = Request::get("/Tables").head();
    for (from, to) in [
        (" HTTP/1.1\r\n", " HTTP/1.1 \r\n"),
        (" HTTP/1.1\r\n", " x HTTP/1.1\r\n"),
        (" HTTP/1.1\r\n", "\tHTTP/1.1\r\n"),
        (" HTTP/1.1\r\n", " HTTP/1.1\r\r\n"),
        (" HTTP/1.1\r\n", "\rHTTP/1.1\r\n"),
        (" HTTP/1.1\r\n", " http/1.1\r\n"),
        (" HTTP/1.1\r\n", " HTTP/1.1\0\r\n"),
        (" HTTP/1.1\r\n", " HTTP/01.1\r\n"),
        (" HTTP/1.1\r\n", " HTTP/1.10\r\n"),
        ("GET /", "GET\t/"),
        ("GET /", "G\0T /"),
        ("GET /", "\rGET /"),
        ("GET /", "\r\rGET /"),
    ] {
        check_bytes(&server, &head.replacen(from, to, 1), 400);
    }
}

/// A body is a body, whatever it looks like.
#[test]
fn requests_in_bodies_are_not_read() {
    let server = Server::start();
    let smuggled = smuggled();
    let mut client = server.connect();
    for request in [Request::post("/Tables", &smuggled), Request::post("/Tables", &smuggled).unsigned()] {
        assert!(matches!(client.ask(&request).status, 400 | 403));
        let tables = client.ask(&Request::get("/Tables"));
        assert_eq!(tables.status, 200);
        assert!(!tables.text().contains("smuggled"));
    }
}
