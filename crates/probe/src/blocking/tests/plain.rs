//! Plain sockets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::request;
use crate::blocking::Client;

/// A server that accepts one connection. For each script it reads a request up to the marker and writes the response.
fn serve(scripts: Vec<(&'static str, &'static str)>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        for (marker, response) in scripts {
            let mut received = Vec::new();
            while !received.ends_with(marker.as_bytes()) {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                received.push(byte[0]);
            }
            stream.write_all(response.as_bytes()).unwrap();
            seen.push(String::from_utf8(received).unwrap());
        }
        seen
    });
    (authority, server)
}

#[test]
fn responses_keep_their_header_case_and_lose_their_framing() {
    let (authority, server) = serve(vec![
        ("\r\n\r\n", "HTTP/1.1 200 OK\r\nETag: a\r\nx-ms-Thing: b\r\nContent-Length: 2\r\n\r\nhi"),
        (
            "end",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n",
        ),
        ("0\r\n\r\n", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nrest"),
    ]);
    let mut client = Client::plain(authority);
    let first = client.exchange(&request(&[], "")).unwrap();
    let names: Vec<_> = first.headers().map(|(name, _)| name).collect();
    assert_eq!((first.status, names), (200, vec!["ETag", "x-ms-Thing", "Content-Length"]));
    assert_eq!(first.body, b"hi");
    let second = client.exchange(&request(&[("Content-Length", "3")], "end")).unwrap();
    assert_eq!((second.status, second.reason(), second.body.as_slice()), (201, "Created", &b"abcd"[..]));
    let third = client.exchange(&request(&[("Transfer-Encoding", "chunked")], "ab"));
    drop(client);
    let seen = server.join().unwrap();
    assert_eq!(third.unwrap().body, b"rest");
    assert_eq!(seen[0], "POST /x HTTP/1.1\r\n\r\n");
    assert!(seen[2].ends_with("\r\n\r\n2\r\nab\r\n0\r\n\r\n"), "{}", seen[2]);
}

/// HT-01.
#[test]
fn an_early_rejection_differs_from_a_request_to_continue() {
    let expect = [("Expect", "100-continue"), ("Content-Length", "4")];
    let rejected = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    let (authority, server) = serve(vec![("\r\n\r\n", rejected)]);
    let response = Client::plain(authority).exchange(&request(&expect, "body")).unwrap();
    assert_eq!((response.status, response.continued), (403, Some(false)));
    server.join().unwrap();

    let done = "HTTP/1.1 204 No Content\r\n\r\n";
    let (authority, server) = serve(vec![("\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"), ("body", done)]);
    let response = Client::plain(authority).exchange(&request(&expect, "body")).unwrap();
    assert_eq!((response.status, response.continued), (204, Some(true)));
    server.join().unwrap();
}

#[test]
fn nonsense_is_an_error() {
    for response in ["SSH-2.0\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"] {
        let (authority, server) = serve(vec![("\r\n\r\n", response)]);
        assert!(Client::plain(authority).exchange(&request(&[], "")).is_err(), "{response}");
        server.join().unwrap();
    }
}
