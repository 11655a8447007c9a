//! How requests may be spelled, and how responses are.

use crate::support::{Request, Server};

/// Line ends without CR are understood in heads.
#[test]
fn lines_may_end_with_lf() {
    let server = Server::start();
    let mut client = server.connect();
    client.send(Request::get("/Tables").head().replace("\r\n", "\n"));
    assert_eq!(client.response().status, 200);
    // Mixed: only the empty line ends without CR.
    let head = Request::get("/Tables").head();
    client.send(format!("{}\n", head.strip_suffix("\r\n").unwrap()));
    assert_eq!(client.response().status, 200);
}

/// OP: a target may be a whole URL, as proxies send it; its authority then counts.
#[test]
fn targets_may_be_absolute() {
    let server = Server::start();
    server.create_table("absolute");
    let mut client = server.connect();
    let path = "/devstoreaccount1/Tables";
    let request = Request::get("/Tables").set("Accept", "application/json;odata=fullmetadata");
    client.send(request.head_for(&format!("http://tables.example:8080{path}"), path));
    let response = client.response();
    assert_eq!(response.status, 200);
    assert!(
        response.text().contains("http://tables.example:8080/devstoreaccount1/$metadata"),
        "{}",
        response.text()
    );
}

/// Old .NET clients lose their continuation when these names come in another letter case.
#[test]
fn names_of_fields_keep_their_letter_case() {
    let server = Server::start();
    server.create_table("cases");
    let mut client = server.connect();
    let has = |head: &str, name: &str| assert!(head.contains(&format!("\r\n{name}: ")), "{name} in {head}");
    for row in ["a", "b"] {
        let inserted = client.ask(&Request::insert("cases", row));
        assert_eq!(inserted.status, 204);
        for name in
            ["ETag", "Location", "DataServiceId", "Preference-Applied", "x-ms-request-id", "x-ms-version"]
        {
            has(&inserted.head, name);
        }
    }
    let page = client.ask(&Request::get("/cases()?$top=1"));
    for name in [
        "x-ms-continuation-NextPartitionKey",
        "x-ms-continuation-NextRowKey",
        "Content-Type",
        "Content-Length",
        "Cache-Control",
        "X-Content-Type-Options",
        "Server",
        "Date",
    ] {
        has(&page.head, name);
    }
    let tables = client.ask(&Request::get("/Tables?$top=0"));
    assert_eq!(tables.status, 200);
    let rejected = client.ask(&Request::get("/Tables").unsigned().set("x-ms-version", "2021-12-02"));
    assert_eq!(rejected.status, 401);
    has(&rejected.head, "WWW-Authenticate");
    has(&rejected.head, "x-ms-error-code");
}

/// Names of request fields are read in any letter case.
#[test]
fn names_of_request_fields_may_have_any_letter_case() {
    let server = Server::start();
    let mut client = server.connect();
    let request = Request::post("/Tables", "{\"TableName\":\"anycase\"}");
    let text = String::from_utf8(request.bytes()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let lines = head.split("\r\n").enumerate().map(|(index, line)| match line.split_once(": ") {
        Some((name, value)) if index > 0 => format!("{}: {value}", name.to_uppercase()),
        _ => line.to_owned(),
    });
    client.send(format!("{}\r\n\r\n{body}", lines.collect::<Vec<_>>().join("\r\n")));
    assert_eq!(client.response().status, 201);
}

/// Input that is not text gets a response, and the next client is served.
#[test]
fn bytes_that_are_not_text_are_rejected() {
    let server = Server::start();
    let head = Request::get("/Tables").head();
    let with = |at: &str, bytes: &[u8]| {
        let at = head.find(at).unwrap();
        [&head.as_bytes()[..at], bytes, &head.as_bytes()[at..]].concat()
    };
    for (what, request) in [
        ("bytes that are not UTF-8 in the target", with(" HTTP/1.1", b"\xff\xfe")),
        ("bytes that are not UTF-8 in a value", with("\r\nx-ms-date", b"\r\nX-Any: \xff\xfe\x80")),
        ("bytes that are not UTF-8 in a name", with("x-ms-date", b"\xff\xfe: x\r\n")),
        ("bytes that are not UTF-8 in the verb", with("GET", b"\xff")),
        ("a control character in the target", with(" HTTP/1.1", b"\x01")),
    ] {
        let mut client = server.connect();
        client.send(request);
        let response = client.response();
        assert_eq!((response.status, response.closes()), (400, true), "{what}");
        client.assert_closed();
    }
    server.assert_alive();
}

/// Escapes that are not UTF-8, that are broken, or that stand for characters that a path cannot contain: 400, never a
/// hang or a crash.
#[test]
fn strange_escapes_are_rejected() {
    let server = Server::start();
    server.create_table("escapes");
    let mut client = server.connect();
    for target in [
        "/escapes(PartitionKey='%FF',RowKey='r')",
        "/escapes(PartitionKey='%',RowKey='r')",
        "/escapes(PartitionKey='%zz',RowKey='r')",
        "/escapes(PartitionKey='%00',RowKey='r')",
        "/%FF%FE",
        "/Tables?$filter=%FF",
        "/Tables?%FF=%FF",
    ] {
        let response = client.ask(&Request::get(target));
        assert!((200..500).contains(&response.status), "{target}: {}", response.head);
        assert_ne!(response.status, 201);
    }
}

#[test]
fn unknown_verbs_are_rejected() {
    let server = Server::start();
    let mut client = server.connect();
    for verb in ["TRACE", "LINK", "get", "QUERY", "M-SEARCH", "PROPFIND"] {
        let response = client.ask(&Request::new(verb, "/Tables"));
        assert!(matches!(response.status, 400 | 405 | 501), "{verb}: {}", response.head);
    }
    // Targets that are neither path nor URL.
    for (verb, target) in
        [("OPTIONS", "*"), ("CONNECT", "127.0.0.1:443"), ("GET", "tables"), ("GET", "tables/x")]
    {
        let mut client = server.connect();
        client.send(Request::new(verb, "").head_for(target, target));
        let response = client.response();
        assert!(matches!(response.status, 400 | 405 | 501), "{verb} {target}: {}", response.head);
    }
}

/// The response to HEAD has no body, whatever its length says.
#[test]
fn head_gets_no_body() {
    let server = Server::start();
    let mut client = server.connect();
    client.send([Request::new("HEAD", "/Tables").bytes(), Request::get("/Tables").bytes()].concat());
    client.finish();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut client.stream, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (_, behind) = text.split_once("\r\n\r\n").unwrap();
    assert!(behind.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
}

/// Every version of HTTP that is not 1.0 or 1.1.
#[test]
fn other_protocols_are_rejected() {
    let server = Server::start();
    for start in [
        "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET / HTTP/0.9\r\n\r\n",
        "GET /\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\x7c\x03\x03\n\n",
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        " GET / HTTP/1.1\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
    ] {
        let mut client = server.connect();
        client.send(start);
        let response = client.response();
        assert_eq!((response.status, response.closes()), (400, true), "{start:?}");
        client.assert_closed();
    }
    server.assert_alive();
}

#[test]
fn a_request_names_its_host() {
    let server = Server::start();
    let response = server.connect().ask(&Request::get("/Tables").without("Host"));
    assert_eq!((response.status, response.code()), (400, "HostInformationNotPresent"));
}

/// A client that spoke TLS to a plain HTTP port had to wait until the deadline for a head.
#[test]
fn invalid_requests_get_an_immediate_response() {
    let server = Server::start();
    let greeting = [0x16, 3, 1, 0, 0xa5, 1, 0, 0, 0xa1, 3, 3];
    for beginning in [&greeting[..], &[0], &[0xff], b" ", b"\t", b"\r\n\x16"] {
        let mut client = server.connect();
        client.send(beginning);
        let response = client.response();
        assert_eq!((response.status, response.closes()), (400, true), "{beginning:?}: {}", response.head);
        client.assert_closed();
    }
    server.assert_alive();
}
