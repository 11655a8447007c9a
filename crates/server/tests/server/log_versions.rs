//! Request logs in format 2.0: who may have it, and the identity in its lines.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response};
use lazuli_server::analytics::line::{FIELDS, LogLine};
use lazuli_server::clock;
use lazuli_server::oauth::Jwks;
use serde_json::{Value, json};

use crate::analytics::{logging, stop};
use crate::bearer::{AUDIENCE, ISSUER, Issuer, jwks, settings};
use crate::logs::{PROPERTIES, lines, names, send};
use crate::support::{HANG, Server};

/// The fields that differ between runs.
const VARIABLE: [&str; 9] = [
    "request-start-time",
    "end-to-end-latency-in-ms",
    "server-latency-in-ms",
    "request-url",
    "request-id-header",
    "requester-ip-address",
    "request-header-size",
    "response-header-size",
    "response-packet-size",
];

fn start(engine: &Arc<dyn Engine>, keys: Jwks) -> Server {
    Server::over(engine.clone(), |config| {
        for service in Service::ALL {
            config.listen = config.listen.on(service, (Ipv4Addr::LOCALHOST, 0).into());
        }
        config.oauth = Some(settings(keys));
    })
}

fn set(server: &Server, service: Service, version: &str) -> Response {
    let logging = logging(true, true, true).replace("<Version>1.0<", &format!("<Version>{version}<"));
    let body = format!("<StorageServiceProperties>{logging}</StorageServiceProperties>");
    send(server, service, Request::new("PUT", PROPERTIES).body(body))
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "exp": clock::now().unix_seconds() + 3600,
        "roles": ["Storage Blob Data Reader"], "oid": "e5981635", "tid": "72f988bf", "appid": "691458b9",
        "upn": "a;\"b\"@example.org",
    })
}

/// Lists containers with a token. `version` is `x-ms-version`.
fn list(server: &Server, token: &str, version: &str) -> Response {
    let address = server.running().listen.get(Service::Blob).unwrap().to_string();
    let request = Request::new("GET", "/devstoreaccount1/?comp=list")
        .with("Host", address.clone())
        .with("x-ms-version", version.to_owned())
        .with("x-ms-client-request-id", "mine")
        .with("Authorization", format!("Bearer {token}"));
    Connection::open(&address, HANG).unwrap().exchange(&request).unwrap()
}

/// A line without what differs between runs.
fn fixed(line: &LogLine) -> String {
    let fields = line.0.iter().zip(FIELDS);
    let fields = fields.map(|(value, name)| if VARIABLE.contains(&name) { "" } else { value }.to_owned());
    LogLine(fields.collect()).print()
}

/// LG-01: the user of a verified token is in the lines of format 2.0.
#[test]
fn the_user_of_a_token_is_logged() {
    let issuer = Issuer::new("key");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, jwks(&[&issuer])).unwrap();
    let engine: Arc<dyn Engine> = Arc::new(Memory::new(Clock::system()));
    let server = start(&engine, Jwks::File(file.clone()));
    assert_eq!(set(&server, Service::Blob, "2.0").status, 202);
    let properties = send(&server, Service::Blob, Request::new("GET", PROPERTIES)).text();
    assert!(properties.contains("<Logging><Version>2.0</Version>"), "{properties}");
    assert_eq!(list(&server, &issuer.sign(&claims()), "2020-12-06").status, 200);
    // Unverified claims must not appear: those of another key, and those of a request that was rejected earlier.
    assert_eq!(list(&server, &Issuer::new("key").sign(&claims()), "2020-12-06").status, 401);
    assert_eq!(list(&server, &issuer.sign(&claims()), "never").status, 400);
    assert_eq!(set(&server, Service::Blob, "1.0").status, 202);
    assert_eq!(list(&server, &issuer.sign(&claims()), "2020-12-06").status, 200);
    stop(server);
    let found: Vec<String> = lines(&engine, Service::Blob).iter().map(fixed).collect();
    let line = |start: &str, account: &str, asked: &str| {
        format!(
            "{start};;;bearer;{account};devstoreaccount1;blob;;\"/devstoreaccount1/\";;0;;{asked};;0;;;0;;;;;;;;\"mine\""
        )
    };
    let own = "devstoreaccount1";
    let identity = format!(
        "\"e5981635\";\"72f988bf\";\"691458b9\";\"{AUDIENCE}\";\"{ISSUER}\";\"a;&quot;b&quot;@example.org\""
    );
    let expected = [
        line("2.0;;ListContainers;OAuthSuccess;200", own, "2020-12-06") + &format!(";{identity};;"),
        line("2.0;;Unknown;OAuthAuthorizationError;401", own, "2020-12-06") + ";;;;;;;;",
        line("2.0;;Unknown;OAuthClientOtherError;400", own, "") + ";;;;;;;;",
        line("1.0;;ListContainers;OAuthSuccess;200", "", "2020-12-06"),
    ];
    let bearers = found.iter().filter(|line| line.contains(";bearer;"));
    assert_eq!(bearers.collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    let signed = found.iter().find(|line| line.contains(";GetBlobServiceProperties;")).unwrap();
    assert!(signed.starts_with("2.0;") && signed.ends_with(";;;;;;;;"), "{signed}");
    let server = start(&engine, Jwks::File(file));
    let name = names(&server, "blob/").remove(0);
    let head = send(&server, Service::Blob, Request::new("HEAD", format!("/$logs/{name}")));
    assert_eq!(head.header("x-ms-meta-LogVersion"), Some("2.0"));
}

#[test]
fn tables_have_format_1_0_only() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::new(Clock::system()));
    let server = start(&engine, Jwks::Development);
    let rejected = set(&server, Service::Table, "2.0");
    assert_eq!(rejected.status, 400);
    assert!(rejected.text().contains("InvalidXmlDocument"), "{}", rejected.text());
    assert_eq!(set(&server, Service::Queue, "3.0").status, 400);
    assert_eq!(set(&server, Service::Queue, "2.0").status, 202);
    let create = send(&server, Service::Queue, Request::new("PUT", "/jobs"));
    assert_eq!(create.status, 201);
    stop(server);
    let found = lines(&engine, Service::Queue);
    let line = found.iter().find(|line| line.get("operation-type") == "CreateQueue").unwrap();
    assert_eq!((line.get("version-number"), line.0.len()), ("2.0", FIELDS.len()));
}
