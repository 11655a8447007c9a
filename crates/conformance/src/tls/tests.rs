use std::net::TcpListener;
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::runner::run_transcript;
use crate::{Outcome, Transcript, Verdict};

const HOST: &str = "dev.table.example.org";

/// An authority that signs certificates of servers.
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

/// A server that for each script takes a connection, reads a request up to its marker, answers and closes. Tells what it
/// read.
fn serve(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    scripts: Vec<(&'static str, &'static str)>,
) -> (String, JoinHandle<io::Result<Vec<String>>>) {
    let config = server_config(issuer);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for (marker, answer) in scripts {
            let (socket, _) = listener.accept()?;
            let state = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            seen.push(answer_one(rustls::StreamOwned::new(state, socket), marker, answer)?);
        }
        Ok(seen)
    });
    (address, server)
}

fn answer_one(
    mut stream: rustls::StreamOwned<ServerConnection, TcpStream>,
    marker: &str,
    answer: &str,
) -> io::Result<String> {
    let mut received = Vec::new();
    while !received.ends_with(marker.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        received.push(byte[0]);
    }
    stream.write_all(answer.as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(String::from_utf8_lossy(&received).into_owned())
}

/// Runs a transcript of one exchange against a server at an address, under a name.
fn play(address: &str, host: &str, trusted: ExtraRoots) -> Outcome {
    let file = "# x\n# Truth: y\n### a\nGET /Tables\n<<< 200\nx-ms-Thing: {any}\n\n{base} {scheme}";
    let transcript = Transcript::parse("group/name", file).unwrap();
    let mut target = Target::new(&format!("https://{host}"), "dev", "a2V5").unwrap();
    target.connect = Some(address.to_owned());
    target.extra_roots = trusted;
    run_transcript(&transcript, &target, &mut Tls::new(&target))
}

const ANSWER: &str =
    "HTTP/1.1 200 OK\r\nx-ms-Thing: b\r\nContent-Length: 35\r\n\r\nhttps://dev.table.example.org https";

#[test]
fn an_exchange_in_host_style() {
    let issuer = authority("ours");
    let (address, server) = serve(&issuer, vec![("\r\n\r\n", ANSWER)]);
    let outcome = play(&address, HOST, roots(&issuer));
    assert_eq!(outcome.verdict, Verdict::Passed, "{:?}", outcome.differences);
    let seen = server.join().unwrap().unwrap().remove(0);
    assert!(seen.starts_with("GET /Tables HTTP/1.1\r\nHost: dev.table.example.org\r\n"), "{seen}");
}

#[track_caller]
fn check_refusal(trusted: &str, host: &str, expected: &str) {
    let issuer = authority("ours");
    let trusted = if trusted == "ours itself" { roots(&issuer) } else { roots(&authority(trusted)) };
    let (address, server) = serve(&issuer, vec![("\r\n\r\n", ANSWER)]);
    let outcome = play(&address, host, trusted);
    assert_eq!((outcome.verdict, outcome.exchanges), (Verdict::Failed, 1));
    let actual = &outcome.differences[0].actual;
    assert!(actual.contains(expected), "{actual}");
    assert!(server.join().unwrap().is_err(), "no request was sent");
}

#[test]
fn certificates_that_prove_nothing_are_refused() {
    let unknown =
        "the certificate of dev.table.example.org is not signed by an authority that is trusted here";
    check_refusal("theirs", HOST, unknown);
    check_refusal("ours", HOST, unknown);
    check_refusal("ours itself", "dev.example.org", "not valid for name \"dev.example.org\"");
}

#[test]
fn a_server_without_tls_is_told_from_one_with_a_bad_certificate() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 5]).unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client has seen it: a socket closed with bytes unread takes its answer back.
        io::copy(&mut socket, &mut io::sink()).ok();
    });
    let outcome = play(&address, HOST, roots(&authority("ours")));
    assert_eq!(outcome.differences[0].actual, "dev.table.example.org does not answer with TLS");
    server.join().unwrap();
}

/// The server closes a connection that could be used again: the next request goes out on a new one.
#[test]
fn large_bodies_and_a_connection_that_was_closed() {
    let issuer = authority("ours");
    let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let done = "HTTP/1.1 204 No Content\r\n\r\n";
    let (address, server) = serve(&issuer, vec![("end", created), ("end", done)]);
    let mut target = Target::new(&format!("https://{HOST}"), "dev", "a2V5").unwrap();
    target.connect = Some(address);
    target.extra_roots = roots(&issuer);
    let mut tls = Tls::new(&target);
    for status in [201, 204] {
        let body = [vec![b'x'; 3_000_000], b"end".to_vec()].concat();
        let headers = vec![("Content-Length".to_owned(), body.len().to_string())];
        let request = Request { method: "POST".into(), target: "/x".into(), headers, body };
        assert_eq!(tls.exchange(&request).unwrap().status, status);
    }
    assert!(server.join().unwrap().unwrap().iter().all(|seen| seen.len() > 3_000_000));
}

#[test]
fn files_of_roots() {
    let check = |text: &str, expected: &str| {
        let error = ExtraRoots::from_pem(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check("", "holds no certificate");
    check("-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n", "holds no certificate");
    check("-----BEGIN CERTIFICATE-----\n", "not a PEM file");
    check(&pem(b"nonsense"), "not a root certificate");
    let two = [authority("a"), authority("b")].map(|issuer| pem(issuer.der())).concat();
    assert_eq!(ExtraRoots::from_pem(two.as_bytes()).unwrap().0.len(), 2);
}
