//! Which part of an address names the account.

use std::net::Ipv4Addr;

use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_server::clock;

use crate::support::{HANG, Server};

/// A host that names the account, if hosts do.
const HOST: &str = "devstoreaccount1.blob.localhost";

fn ask(server: &Server, request: Request) -> Response {
    let address = server.running().listen.get(Service::Blob).unwrap();
    let mut request = request.with("Host", HOST).with("x-ms-version", "2021-12-02");
    Signer::development(Service::Blob).sign(&mut request, clock::now());
    Connection::open(&address.to_string(), HANG).unwrap().exchange(&request).unwrap()
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Sources of copies and parts of batches named another blob than the same address elsewhere.
#[test]
fn copies_and_batches_take_the_account_from_the_path_if_hosts_name_none() {
    let server = Server::with_config(|config| {
        config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
        config.host_style = false;
    });
    let created = ask(&server, Request::new("PUT", "/devstoreaccount1/files?restype=container"));
    assert_eq!(created.status, 201, "{}", text(&created));
    let put = Request::new("PUT", "/devstoreaccount1/files/a").with("x-ms-blob-type", "BlockBlob");
    assert_eq!(ask(&server, put.body("hello")).status, 201);
    let source = format!("http://{HOST}/devstoreaccount1/files/a");
    let copied =
        ask(&server, Request::new("PUT", "/devstoreaccount1/files/b").with("x-ms-copy-source", source));
    assert_eq!(copied.status, 202, "{}", text(&copied));

    let mut part = Request::new("DELETE", "/devstoreaccount1/files/b").with("Content-Length", "0");
    Signer::development(Service::Blob).sign(&mut part, clock::now());
    let part = String::from_utf8(part.bytes()).unwrap();
    let body = format!(
        "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n{part}\r\n--b--"
    );
    let batch = Request::new("POST", "/devstoreaccount1/files?restype=container&comp=batch")
        .with("Content-Type", "multipart/mixed; boundary=b")
        .body(body);
    let batch = text(&ask(&server, batch));
    assert!(batch.contains("HTTP/1.1 202 Accepted"), "{batch}");
}

/// A part that names no version has that of its batch, also where its signature is wrong.
#[test]
fn failed_parts_of_batches_have_the_version_of_the_batch() {
    let server = Server::with_config(|config| {
        config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
    });
    let part =
        "DELETE /files/b HTTP/1.1\r\nAuthorization: SharedKey devstoreaccount1:AAAA\r\nContent-Length: 0\r\n";
    let body = format!("--b\r\nContent-Type: application/http\r\n\r\n{part}\r\n--b--");
    let batch =
        Request::new("POST", "/?comp=batch").with("Content-Type", "multipart/mixed; boundary=b").body(body);
    let batch = text(&ask(&server, batch));
    for expected in
        ["HTTP/1.1 403 ", "\r\nx-ms-error-code: AuthenticationFailed\r\n", "\r\nx-ms-version: 2021-12-02\r\n"]
    {
        assert!(batch.contains(expected), "{expected}: {batch}");
    }
}
