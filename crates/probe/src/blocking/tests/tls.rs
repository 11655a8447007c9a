//! TLS with certificates created by the tests: trusted, unknown and wrong ones.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::request;
use crate::blocking::{Client, ExtraRoots};
use crate::{Request, Response};

const HOST: &str = "dev.table.example.org";

/// An authority that signs server certificates.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn pem(certificate: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
}

fn roots(issuer: &CertifiedIssuer<'static, KeyPair>) -> ExtraRoots {
    ExtraRoots::from_pem(pem(issuer.der()).as_bytes()).unwrap()
}

fn server_config(issuer: &CertifiedIssuer<'static, KeyPair>) -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([HOST.to_owned()]).unwrap().signed_by(&key, issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let chain = vec![certificate.der().clone()];
    Arc::new(builder.with_no_client_auth().with_single_cert(chain, key.into()).unwrap())
}

/// A server that for each script accepts a connection, reads a request up to the marker, responds and closes. Returns the
/// requests.
fn serve(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    scripts: Vec<(&'static str, &'static str)>,
) -> (String, JoinHandle<io::Result<Vec<String>>>) {
    let config = server_config(issuer);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for (marker, response) in scripts {
            let (socket, _) = listener.accept()?;
            let state = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            seen.push(respond(rustls::StreamOwned::new(state, socket), marker, response)?);
        }
        Ok(seen)
    });
    (address, server)
}

fn respond(
    mut stream: rustls::StreamOwned<ServerConnection, TcpStream>,
    marker: &str,
    response: &str,
) -> io::Result<String> {
    let mut received = Vec::new();
    while !received.ends_with(marker.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        received.push(byte[0]);
    }
    stream.write_all(response.as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(String::from_utf8_lossy(&received).into_owned())
}

/// One exchange with a server at an address, under a name.
fn exchange(address: &str, host: &str, trusted: ExtraRoots) -> io::Result<Response> {
    Client::tls(address, host, trusted).exchange(&Request::new("GET", "/Tables").with("Host", HOST))
}

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

#[test]
fn an_exchange_under_another_name() {
    let issuer = authority("ours");
    let (address, server) = serve(&issuer, vec![("\r\n\r\n", RESPONSE)]);
    assert_eq!(exchange(&address, HOST, roots(&issuer)).unwrap().text(), "hi");
    let seen = server.join().unwrap().unwrap().remove(0);
    assert_eq!(seen, format!("GET /Tables HTTP/1.1\r\nHost: {HOST}\r\n\r\n"));
}

#[track_caller]
fn check_rejection(trusted: &str, host: &str, expected: &str) {
    let issuer = authority("ours");
    let trusted = if trusted == "ours itself" { roots(&issuer) } else { roots(&authority(trusted)) };
    let (address, server) = serve(&issuer, vec![("\r\n\r\n", RESPONSE)]);
    let actual = exchange(&address, host, trusted).unwrap_err().to_string();
    assert!(actual.contains(expected), "{actual}");
    assert!(server.join().unwrap().is_err(), "no request was sent");
}

#[test]
fn untrusted_certificates_are_rejected() {
    let unknown = "the certificate of dev.table.example.org is not signed by a trusted authority";
    check_rejection("theirs", HOST, unknown);
    check_rejection("ours", HOST, unknown);
    check_rejection("ours itself", "dev.example.org", "not valid for name \"dev.example.org\"");
}

#[test]
fn a_server_without_tls_differs_from_one_with_a_bad_certificate() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 5]).unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Closing a socket with unread bytes would discard the response: wait for the client to close first.
        io::copy(&mut socket, &mut io::sink()).ok();
    });
    let error = exchange(&address, HOST, roots(&authority("ours"))).unwrap_err();
    assert_eq!(error.to_string(), "dev.table.example.org does not speak TLS");
    server.join().unwrap();
}

/// The server closes a connection that could be used again: the next request goes out on a new one.
#[test]
fn large_bodies_and_a_connection_that_was_closed() {
    let issuer = authority("ours");
    let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let done = "HTTP/1.1 204 No Content\r\n\r\n";
    let (address, server) = serve(&issuer, vec![("end", created), ("end", done)]);
    let mut client = Client::tls(address, HOST, roots(&issuer));
    for status in [201, 204] {
        let body = [vec![b'x'; 3_000_000], b"end".to_vec()].concat();
        let length = body.len().to_string();
        let response = client.exchange(&request(&[("Content-Length", &length)], body)).unwrap();
        assert_eq!(response.status, status);
    }
    assert!(server.join().unwrap().unwrap().iter().all(|seen| seen.len() > 3_000_000));
}

#[test]
fn files_of_roots() {
    let check = |text: &str, expected: &str| {
        let error = ExtraRoots::from_pem(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check("", "the file has no PEM certificate");
    check(
        "-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n",
        "the file has no PEM certificate",
    );
    check("-----BEGIN CERTIFICATE-----\n", "not a PEM file");
    check(&pem(b"nonsense"), "not a root certificate");
    let two = [authority("a"), authority("b")].map(|issuer| pem(issuer.der())).concat();
    assert_eq!(ExtraRoots::from_pem(two.as_bytes()).unwrap().0.len(), 2);
}
