//! TLS on real sockets: the handshake within its bounds, certificates that change, and where the scheme is visible.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::sas::Token;
use lazuli_protocol::http::query::Query;
use lazuli_server::Limits;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_server::tls::{Files, self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::support::{Client, Request, SHORT, Server};

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

/// A server with a certificate in a directory of its own.
struct Guarded {
    server: Server,
    directory: TempDir,
}

impl Guarded {
    fn with(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let files = make(directory.path());
        let server = Server::with_config(|config| {
            config.limits = limits;
            config.tls = Some(files);
        });
        Self { server, directory }
    }

    fn files(&self) -> Files {
        make(self.directory.path())
    }

    /// A client that trusts this certificate and no other.
    fn connect(&self) -> TlsClient {
        self.try_connect().unwrap()
    }

    fn try_connect(&self) -> Result<TlsClient, std::io::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.files().certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut state = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut socket = self.server.dial();
        while state.is_handshaking() {
            state.complete_io(&mut socket)?;
        }
        Ok(Client::on(StreamOwned::new(state, socket)))
    }
}

fn make(directory: &Path) -> Files {
    self_signed::ensure(directory, Ipv4Addr::LOCALHOST.into()).unwrap()
}

fn remake(guarded: &Guarded) {
    fs::remove_file(guarded.files().certificate).unwrap();
    guarded.files();
}

/// Large bodies are transferred completely, in both directions, on a reused connection.
#[test]
fn requests_and_responses_pass() {
    let guarded = Guarded::with(Limits::default());
    let mut client = guarded.connect();
    assert_eq!(client.ask(&Request::post("/Tables", "{\"TableName\":\"large\"}")).status, 201);
    let value = "v".repeat(30_000);
    for row in 0..20 {
        let body =
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"A\":\"{value}\",\"B\":\"{value}\"}}");
        let request = Request::post("/large", &body);
        let request = if row % 2 == 0 { request } else { request.with("Expect", "100-continue") };
        client.send_request(&request);
        let response = client.response();
        let response = if response.status == 100 { client.response() } else { response };
        assert_eq!(response.status, 201);
    }
    let page = client.ask(&Request::get("/large()"));
    assert_eq!(page.status, 200);
    assert_eq!(page.text().matches(&value).count(), 40);
}

/// URLs in responses use https.
#[test]
fn responses_show_the_scheme() {
    let guarded = Guarded::with(Limits::default());
    let full = Request::get("/Tables").set("Accept", "application/json;odata=fullmetadata");
    let mut client = guarded.connect();
    assert_eq!(client.ask(&Request::post("/Tables", "{\"TableName\":\"seen\"}")).status, 201);
    let response = client.ask(&full);
    assert!(response.text().contains("\"odata.id\":\"https://127.0.0.1/"), "{}", response.text());
}

/// Makes an account with the key of the development account; it insists on https or not.
fn set_shop(server: &Server, https_only: bool) {
    let frontend = server.running().state();
    let accounts = frontend.service().accounts();
    let key = || STANDARD.decode(DEVELOPMENT_KEY).unwrap();
    server.block_on(async {
        accounts.add("shop", [key(), key()], https_only).await.unwrap();
        assert!(accounts.set_https_only("shop", https_only).await.unwrap());
        frontend.directory().refresh(&accounts).await.unwrap();
    });
}

/// An account that requires https is not served over plain http, whatever the credentials. It is served over the
/// server's own TLS and over that of a trusted proxy.
#[test]
fn an_account_may_insist_on_https() {
    let query = "sv=2019-02-02&ss=t&srt=sco&sp=rl&se=2099-01-01T00%3A00%3A00Z&sig=x";
    let mut token = Token::parse(Query(query)).unwrap();
    assert!(token.sign("shop", &AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()));
    let with_key = Request::get("/Tables").to("shop");
    let with_token = Request::get(&format!("/Tables?{}", token.to_query())).to("shop").unsigned();
    let insists = (400, "AccountRequiresHttps".to_owned());
    let told = |server: &Server, request: &Request| {
        let response = server.connect().ask(request);
        (response.status, response.code().to_owned())
    };
    let plain = Server::start();
    let proxied = Server::with_config(|config| config.trusted_proxies = vec![Ipv4Addr::LOCALHOST.into()]);
    for server in [&plain, &proxied] {
        set_shop(server, true);
        for request in [&with_key, &with_token] {
            assert_eq!(told(server, request), insists);
        }
        server.assert_alive();
    }
    let by_proxy = with_key.clone().with("X-Forwarded-Proto", "https");
    assert_eq!(told(&proxied, &by_proxy).0, 200);
    assert_eq!(told(&plain, &by_proxy), insists, "a stranger's word");
    set_shop(&plain, false);
    assert_eq!((told(&plain, &with_key).0, told(&plain, &with_token).0), (200, 200));

    let guarded = Guarded::with(Limits::default());
    set_shop(&guarded.server, true);
    for request in [&with_key, &with_token] {
        assert_eq!(guarded.connect().ask(request).status, 200);
    }
}

/// SA-02: `spr=https` is satisfied by the server's own TLS and not without it.
#[test]
fn a_signature_for_https_needs_tls() {
    let query = "sv=2019-02-02&ss=t&srt=sco&sp=rl&se=2099-01-01T00%3A00%3A00Z&spr=https&sig=x";
    let mut token = Token::parse(Query(query)).unwrap();
    assert!(token.sign(DEVELOPMENT_ACCOUNT, &AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()));
    let request = Request::get(&format!("/Tables?{}", token.to_query())).unsigned();
    let guarded = Guarded::with(Limits::default());
    assert_eq!(guarded.connect().ask(&request).status, 200);
    let response = Server::start().connect().ask(&request);
    assert_eq!((response.status, response.code()), (403, "AuthorizationProtocolMismatch"));
}

/// A new certificate is for new connections; those that are open stay. One that cannot be used changes nothing.
#[test]
fn certificates_change_without_losing_connections() {
    let guarded = Guarded::with(Limits::default());
    let ask = |client: &mut TlsClient| client.ask(&Request::get("/Tables")).status;
    let mut old = guarded.connect();
    assert_eq!(ask(&mut old), 200);
    remake(&guarded);
    assert!(guarded.try_connect().is_err(), "the server still uses the one that it has read");
    guarded.server.reload();
    let mut new = guarded.connect();
    assert_eq!((ask(&mut new), ask(&mut old)), (200, 200));

    let good = fs::read(guarded.files().certificate).unwrap();
    fs::write(guarded.files().certificate, "nonsense").unwrap();
    guarded.server.reload();
    fs::write(guarded.files().certificate, good).unwrap();
    assert_eq!((ask(&mut guarded.connect()), ask(&mut new), ask(&mut old)), (200, 200, 200));
}

/// A handshake holds a permit, but not for longer than a head may.
#[test]
fn a_handshake_has_a_deadline() {
    let guarded = Guarded::with(Limits { connections_max: 1, head_time_max: SHORT, ..Limits::default() });
    let starts: [&[u8]; 3] = [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"];
    for start in starts {
        let mut slow = guarded.server.connect();
        slow.send(start);
        slow.assert_closed();
    }
    while !guarded.try_connect().is_ok_and(|mut client| {
        client.try_ask(&Request::get("/Tables")).is_ok_and(|response| response.status == 200)
    }) {}
}

/// Beyond the limit of connections a TLS client gets 503, too.
#[test]
fn beyond_the_limit_clients_get_503() {
    let guarded = Guarded::with(Limits { connections_max: 1, ..Limits::default() });
    let mut first = guarded.connect();
    assert_eq!(first.ask(&Request::get("/Tables")).status, 200);
    let response = guarded.connect().ask(&Request::get("/Tables"));
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
    assert_eq!(first.ask(&Request::get("/Tables")).status, 200);
}

/// Bytes that are not a handshake end only their own connection.
#[test]
fn garbage_disturbs_nobody() {
    let guarded = Guarded::with(Limits::default());
    for garbage in [&b"\x16\x03\x01\xff\xff"[..], &[0x16; 100_000], b"\x16\x03\x03\x00\x00\x16\x03"] {
        let mut client = guarded.server.connect();
        let _ = client.stream.write_all(garbage);
        // The server may have closed already.
        let _ = client.stream.shutdown(Shutdown::Write);
        let _ = client.stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(guarded.connect().ask(&Request::get("/Tables")).status, 200);
}

/// A client that speaks plain HTTP to a TLS port gets its error in plain HTTP.
#[test]
fn plain_http_gets_an_error_that_names_https() {
    let guarded = Guarded::with(Limits::default());
    let mut plain = guarded.server.connect();
    let response = plain.ask(&Request::get("/Tables"));
    assert_eq!((response.status, response.code(), response.closes()), (400, "AccountRequiresHttps", true));
    plain.assert_closed();
}

/// A client that does not read its responses is disconnected: data buffered by TLS has a deadline too.
#[test]
fn a_response_must_be_read_in_time() {
    let limits = Limits { connections_max: 1, request_time_max: SHORT, ..Limits::default() };
    let guarded = Guarded::with(limits);
    let mut slow = guarded.connect();
    assert_eq!(slow.ask(&Request::post("/Tables", "{\"TableName\":\"large\"}")).status, 201);
    let value = "v".repeat(30_000);
    for row in 0..64 {
        let body =
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"A\":\"{value}\",\"B\":\"{value}\"}}");
        assert_eq!(slow.ask(&Request::post("/large", &body)).status, 201);
    }
    slow.send(Request::get("/large()").bytes().repeat(20));
    while !guarded.try_connect().is_ok_and(|mut client| {
        client.try_ask(&Request::get("/Tables")).is_ok_and(|response| response.status == 200)
    }) {}
}

/// Neither a handshake nor an idle connection delays a shutdown.
#[test]
fn stopping_waits_for_no_handshake() {
    let mut guarded = Guarded::with(Limits::default());
    let mut silent = guarded.server.connect();
    let mut idle = guarded.connect();
    assert_eq!(idle.ask(&Request::get("/Tables")).status, 200);
    let stop = guarded.server.begin_stop();
    silent.assert_closed();
    guarded.server.wait(stop);
}
