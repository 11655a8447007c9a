//! Bodies in chunks, well-formed and otherwise.

use crate::support::{Client, Request, Server, TestResponse};

fn insert_head(row: &str) -> String {
    let request = Request::insert("chunks", row).without("Content-Length");
    request.with("Transfer-Encoding", "chunked").head()
}

fn body(row: &str) -> String {
    String::from_utf8(Request::insert("chunks", row).body().to_vec()).unwrap()
}

fn ask(client: &mut Client, row: &str, chunks: &str) -> TestResponse {
    client.send(insert_head(row) + chunks);
    client.response()
}

#[test]
fn bodies_may_come_in_chunks() {
    let server = Server::start();
    server.create_table("chunks");
    let mut client = server.connect();
    let body = body("x");
    let length = body.len();
    let one = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    let each: String = body.chars().map(|c| format!("1\r\n{c}\r\n")).collect();
    let (first, second) = body.split_at(10);
    for (what, chunks) in [
        ("one chunk", one.clone()),
        ("a chunk a byte", format!("{each}0\r\n\r\n")),
        (
            "upper-case and padded numbers",
            format!("0A\r\n{first}\r\n{:04X}\r\n{second}\r\n000\r\n\r\n", length - 10),
        ),
        ("extensions", format!("{length:x};a=b;c=\"d\"\r\n{body}\r\n0 ; last\r\n\r\n")),
        ("trailers", format!("{length:x}\r\n{body}\r\n0\r\nX-One: 1\r\nX-Two: 2\r\n\r\n")),
    ] {
        let response = ask(&mut client, "x", &chunks);
        assert!(matches!(response.status, 204 | 409), "{what}: {}", response.head);
        assert!(!response.closes(), "{what}");
    }
    // In pieces, and with the next request right behind.
    let next = Request::get("/Tables").head();
    let whole = format!("{}{one}{next}", insert_head("x"));
    for at in (1..whole.len()).step_by(5) {
        client.send(&whole[..at]);
        client.send(&whole[at..]);
        assert_eq!((client.response().status, client.response().status), (409, 200), "split at {at}");
    }
}

#[test]
fn malformed_chunks_are_rejected() {
    let server = Server::start();
    server.create_table("chunks");
    let body = body("bad");
    let length = body.len();
    for (what, chunks) in [
        ("no number", format!("\r\n{body}\r\n0\r\n\r\n")),
        ("not a number", format!("zz\r\n{body}\r\n0\r\n\r\n")),
        ("a sign", format!("+{length:x}\r\n{body}\r\n0\r\n\r\n")),
        ("a prefix", format!("0x{length:x}\r\n{body}\r\n0\r\n\r\n")),
        ("a negative number", format!("-1\r\n{body}\r\n0\r\n\r\n")),
        ("a number too large for any body", format!("fffffffffffffffff\r\n{body}\r\n0\r\n\r\n")),
        ("two numbers", format!("{length:x} {length:x}\r\n{body}\r\n0\r\n\r\n")),
        ("a leading space", format!(" {length:x}\r\n{body}\r\n0\r\n\r\n")),
        ("LF alone after the number", format!("{length:x}\n{body}\r\n0\r\n\r\n")),
        ("CR alone after the number", format!("{length:x}\r{body}\r\n0\r\n\r\n")),
        ("CR alone in an extension", format!("{length:x};a\rb\r\n{body}\r\n0\r\n\r\n")),
        ("NUL in an extension", format!("{length:x};a\0b\r\n{body}\r\n0\r\n\r\n")),
        ("LF alone after the data", format!("{length:x}\r\n{body}\n0\r\n\r\n")),
        ("more data than announced", format!("{:x}\r\n{body}\r\n0\r\n\r\n", length - 1)),
        ("less data than announced", format!("{:x}\r\n{body}\r\n0\r\n\r\n", length + 1)),
        ("an endless extension", format!("{length:x};{}\r\n{body}\r\n0\r\n\r\n", "x".repeat(10_000))),
        ("an invalid trailer", format!("{length:x}\r\n{body}\r\n0\r\nGET / HTTP/1.1\r\n\r\n")),
        ("a folded trailer", format!("{length:x}\r\n{body}\r\n0\r\nA: b\r\n c\r\n\r\n")),
        ("an endless trailer", format!("{length:x}\r\n{body}\r\n0\r\nA: {}\r\n\r\n", "x".repeat(10_000))),
        ("endless trailers", format!("{length:x}\r\n{body}\r\n0\r\n{}\r\n", "A: b\r\n".repeat(1000))),
    ] {
        let mut client = server.connect();
        let response = ask(&mut client, "bad", &chunks);
        assert_eq!((response.status, response.closes()), (400, true), "{what}: {}", response.head);
        client.assert_closed();
    }
    assert_eq!(server.connect().ask(&Request::point("chunks", "bad")).status, 404);
}

#[test]
fn chunked_bodies_have_a_maximum_length() {
    let server = Server::with(lazuli_server::Limits { body_bytes_max: 50_000, ..Default::default() });
    server.create_table("chunks");
    for (what, chunks) in [
        ("one that is too long by itself", "c351\r\n".to_owned()),
        ("one that is far too long", "ffffffff\r\n".to_owned()),
        ("the last of many", format!("3e8\r\n{}\r\n", " ".repeat(1000)).repeat(50) + "1\r\n"),
    ] {
        let mut client = server.connect();
        let response = ask(&mut client, "long", &chunks);
        assert_eq!((response.status, response.closes()), (413, true), "{what}");
        client.assert_closed();
    }
    let mut client = server.connect();
    let padded = format!("{:<50000}", body("long"));
    let chunks: String = padded
        .as_bytes()
        .chunks(1000)
        .map(|c| format!("3e8\r\n{}\r\n", str::from_utf8(c).unwrap()))
        .collect();
    assert_eq!(ask(&mut client, "long", &(chunks + "0\r\n\r\n")).status, 204);
}

/// The end of an unwanted chunked body is not searched for: the connection is closed.
#[test]
fn unwanted_chunks_end_the_connection() {
    let server = Server::start();
    let mut client = server.connect();
    let request = Request::post("/Tables", "").without("Content-Length").with("Transfer-Encoding", "chunked");
    client.send(request.unsigned().head() + "5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    let response = client.response();
    assert_eq!((response.status, response.closes()), (403, true));
    client.assert_closed();
}
