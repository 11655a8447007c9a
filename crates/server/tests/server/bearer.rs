//! Bearer tokens on real sockets: which tokens are accepted, what they allow, and where the issuer's keys come from.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lazuli_model::Service;
use lazuli_protocol::auth::bearer::{Policy, ROLES_CLAIM};
use lazuli_server::clock;
use lazuli_server::oauth::{Jwks, OauthSettings, PERIOD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::support::{Client, HANG, Request, Server, TestResponse};

pub const ISSUER: &str = "https://login.example.org/tenant/v2.0";
pub const AUDIENCE: &str = "https://storage.azure.com";
const READER: &str = "Storage Table Data Reader";
const CONTRIBUTOR: &str = "Storage Table Data Contributor";
const CHALLENGE: &str = "Bearer authorization_uri=https://login.example.org/tenant/oauth2/authorize resource_id=https://storage.azure.com";

/// An issuer with one key.
pub struct Issuer {
    id: &'static str,
    key: EcdsaKeyPair,
}

impl Issuer {
    pub fn new(id: &'static str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random);
        Self { id, key: key.unwrap() }
    }

    fn jwk(&self) -> Value {
        let point = &self.key.public_key().as_ref()[1..];
        let [x, y] = [&point[..32], &point[32..]].map(|number| URL_SAFE_NO_PAD.encode(number));
        json!({ "kty": "EC", "crv": "P-256", "kid": self.id, "x": x, "y": y })
    }

    pub fn sign(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "alg": "ES256", "kid": self.id })), part(claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token that is valid for an hour.
    fn token(&self, roles: &[&str]) -> String {
        let end = clock::now().unix_seconds() + 3600;
        self.sign(&json!({ "iss": ISSUER, "aud": AUDIENCE, "exp": end, "roles": roles }))
    }
}

pub fn jwks(issuers: &[&Issuer]) -> String {
    json!({ "keys": issuers.iter().map(|issuer| issuer.jwk()).collect::<Vec<_>>() }).to_string()
}

pub fn settings(jwks: Jwks) -> OauthSettings {
    let policy =
        Policy { issuer: ISSUER.into(), audiences: vec![AUDIENCE.into()], roles_claim: ROLES_CLAIM.into() };
    OauthSettings { policy, jwks, authorization_uri: None, allow_http: true, period: PERIOD }
}

fn server(settings: OauthSettings) -> Server {
    Server::with_config(|config| {
        config.oauth = Some(settings);
        config.trusted_proxies = vec![Ipv4Addr::LOCALHOST.into()];
    })
}

/// A server with the keys of an issuer in a file.
fn with_file(issuer: &Issuer) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, jwks(&[issuer])).unwrap();
    (server(settings(Jwks::File(file))), directory)
}

fn bearing(request: Request, token: &str) -> Request {
    request.unsigned().set("x-ms-version", "2020-12-06").with("Authorization", &format!("Bearer {token}"))
}

fn ask(server: &Server, request: Request, token: &str) -> TestResponse {
    server.connect().ask(&bearing(request, token))
}

/// Each role allows its kinds of operations and no others.
#[test]
fn roles_allow_operations() {
    let issuer = Issuer::new("key");
    let (server, _directory) = with_file(&issuer);
    server.create_table("shared");
    let entity = "/shared(PartitionKey='p',RowKey='r')";
    let upsert = || Request::post(entity, "{}").with("X-HTTP-Method", "PUT");
    let delete = || Request::new("DELETE", entity).with("If-Match", "*");
    let drop = || Request::new("DELETE", "/Tables('made')");
    let create = || Request::post("/Tables", "{\"TableName\":\"made\"}");
    let reader = issuer.token(&[READER]);
    let contributor = issuer.token(&[CONTRIBUTOR]);
    let writer = issuer.token(&["Table.Write"]);
    let deleter = issuer.token(&["Table.Delete"]);
    let elsewhere = issuer.token(&["Storage Table Data Contributor/another"]);
    let nobody = issuer.token(&[]);
    for (request, token, expected) in [
        (upsert(), &reader, 403),
        (upsert(), &deleter, 403),
        (upsert(), &writer, 204),
        (upsert(), &contributor, 204),
        (Request::get(entity), &reader, 200),
        (Request::get(entity), &contributor, 200),
        (Request::get(entity), &writer, 403),
        (Request::get(entity), &nobody, 403),
        (Request::get(entity), &elsewhere, 403),
        (Request::get("/shared()"), &reader, 200),
        (Request::get("/shared()"), &deleter, 403),
        (Request::get("/Tables"), &reader, 200),
        (Request::get("/Tables"), &writer, 403),
        (create(), &reader, 403),
        (create(), &writer, 201),
        (drop(), &writer, 403),
        (drop(), &deleter, 204),
        (delete(), &writer, 403),
        (delete(), &reader, 403),
        (delete(), &contributor, 204),
    ] {
        let told = format!("{} with {token}", request.head().lines().next().unwrap());
        let response = ask(&server, request, token);
        assert_eq!(response.status, expected, "{told}");
        if expected == 403 {
            assert_eq!(response.code(), "AuthorizationPermissionMismatch", "{told}");
        }
    }
    let acl = ask(&server, Request::get("/shared?comp=acl"), &contributor);
    assert_eq!((acl.status, acl.code()), (404, "ResourceNotFound"));
    assert_eq!(acl.field("Server"), Some("Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"));
    assert!(acl.field("x-ms-version").is_some());
}

/// Recorded: a principal could set the properties of the service. The roles that change data include it here.
#[test]
fn only_contributors_set_service_properties() {
    let issuer = Issuer::new("key");
    let (server, _directory) = with_file(&issuer);
    let body = "<StorageServiceProperties><Cors></Cors></StorageServiceProperties>";
    for (role, expected) in [(READER, 403), ("Table.Write", 403), ("Table.Delete", 403), (CONTRIBUTOR, 202)] {
        let set = Request::put("/?restype=service&comp=properties", body);
        assert_eq!(ask(&server, set, &issuer.token(&[role])).status, expected, "{role}");
    }
}

/// A permission error is reported before any other error in the request.
#[test]
fn permissions_are_checked_before_the_body() {
    let issuer = Issuer::new("key");
    let (server, _directory) = with_file(&issuer);
    server.create_table("shared");
    let nobody = issuer.token(&[READER]);
    let contributor = issuer.token(&[CONTRIBUTOR]);
    let entity = "/shared(PartitionKey='p',RowKey='r')";
    for (request, for_contributor) in [
        (Request::put("/?restype=service&comp=properties", "<nonsense"), (400, "InvalidXmlDocument")),
        (Request::put("/shared?comp=acl", "<nonsense"), (404, "ResourceNotFound")),
        (Request::post("/Tables", "{nonsense"), (400, "InvalidInput")),
        (Request::post("/shared", "{nonsense"), (400, "InvalidInput")),
        (Request::put(entity, "{nonsense"), (400, "InvalidInput")),
        (Request::put(entity, "{nonsense").with("If-Match", "*"), (400, "InvalidInput")),
    ] {
        let told = request.head().lines().next().unwrap().to_owned();
        let response = ask(&server, request.clone(), &nobody);
        let rejected = if told.contains("comp=acl") {
            (404, "ResourceNotFound")
        } else {
            (403, "AuthorizationPermissionMismatch")
        };
        assert_eq!((response.status, response.code()), rejected, "{told}");
        // The server does not even ask for the body.
        let mut waiting = server.connect();
        waiting.send(bearing(request.clone(), &nobody).with("Expect", "100-continue").head());
        assert_eq!(waiting.response().status, rejected.0, "{told}");
        assert_eq!(server.connect().ask(&request).status, 400, "with a key: {told}");
        let response = ask(&server, request, &contributor);
        assert_eq!((response.status, response.code()), for_contributor, "{told}");
    }
}

/// An invalid token gets the same challenge as on Azure; older versions get less.
#[test]
fn rejections_challenge() {
    let issuer = Issuer::new("key");
    let (server, _directory) = with_file(&issuer);
    let good = issuer.token(&[READER]);
    // Signatures are random, so the new character must differ from the old one.
    let other = if good.as_bytes()[good.len() - 10] == b'A' { 'B' } else { 'A' };
    let tampered = format!("{}{other}{}", &good[..good.len() - 10], &good[good.len() - 9..]);
    let late = issuer.sign(&json!({ "iss": ISSUER, "aud": AUDIENCE, "exp": 1, "roles": [READER] }));
    let stranger = Issuer::new("key").token(&[READER]);
    assert_eq!(ask(&server, Request::get("/Tables"), &good).status, 200);
    for token in [tampered.as_str(), late.as_str(), stranger.as_str(), "nonsense", "a.b.c"] {
        let response = ask(&server, Request::get("/Tables"), token);
        assert_eq!((response.status, response.code()), (401, "InvalidAuthenticationInfo"), "{token}");
        assert_eq!(response.field("WWW-Authenticate"), Some(CHALLENGE), "{token}");
        assert!(response.text().contains("Please refer to the information in the www-authenticate header."));
        let old = bearing(Request::get("/Tables"), token).set("x-ms-version", "2019-02-02");
        let response = server.connect().ask(&old);
        assert_eq!((response.status, response.code()), (403, "AuthenticationFailed"), "{token}");
        assert_eq!(response.field("WWW-Authenticate"), None, "{token}");
    }
    let nothing = Request::get("/Tables").unsigned().set("x-ms-version", "2020-12-06");
    let response = server.connect().ask(&nothing);
    assert_eq!((response.status, response.code()), (401, "NoAuthenticationInformation"));
    assert_eq!(response.field("WWW-Authenticate"), Some(CHALLENGE));
    // Valid tokens are accepted from 2017-11-09 on.
    for (version, status) in [("2017-11-09", 200), ("2017-11-08", 403), ("2019-02-02", 200)] {
        let request = bearing(Request::get("/Tables"), &good).set("x-ms-version", version);
        assert_eq!(server.connect().ask(&request).status, status, "{version}");
    }
    // Keys work as before.
    server.assert_alive();
}

/// The Blob service said neither which claim of a token is wrong, nor that only tokens get a user delegation key.
#[test]
fn rejections_say_which_claim_is_wrong() {
    let issuer = Issuer::new("key");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, jwks(&[&issuer])).unwrap();
    let server = Server::with_config(|config| {
        config.oauth = Some(settings(Jwks::File(file)));
        config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
    });
    let blobs = server.running().listen.get(Service::Blob).unwrap();
    let later = clock::now().unix_seconds() + 3600;
    for (claims, detail) in [
        (
            json!({ "iss": "https://x.example", "aud": AUDIENCE, "exp": later }),
            "Issuer validation failed. Issuer did not match.",
        ),
        (
            json!({ "iss": ISSUER, "aud": "https://x.example", "exp": later }),
            "Audience validation failed. Audience did not match.",
        ),
        (
            json!({ "iss": ISSUER, "aud": AUDIENCE, "exp": 1 }),
            "Lifetime validation failed. The token is expired.",
        ),
    ] {
        let stream = TcpStream::connect(blobs).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        let mut client = Client::on(stream);
        let head = format!(
            "GET /devstoreaccount1/?comp=list HTTP/1.1\r\nHost: {blobs}\r\nx-ms-version: 2021-12-02\r\n\
             Authorization: Bearer {}\r\n\r\n",
            issuer.sign(&claims)
        );
        client.send(head);
        let response = client.response();
        assert_eq!(response.status, 401, "{}", response.text());
        let element = format!("<AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail>");
        assert!(response.text().contains(&element), "{}", response.text());
    }
}

/// A token over plain HTTP is rejected, unless the configuration allows it.
#[test]
fn tokens_need_https() {
    let issuer = Issuer::new("key");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, jwks(&[&issuer])).unwrap();
    let server = server(OauthSettings { allow_http: false, ..settings(Jwks::File(file)) });
    let token = issuer.token(&[READER]);
    let response = ask(&server, Request::get("/Tables"), &token);
    assert_eq!((response.status, response.code()), (403, "AuthenticationFailed"));
    let proxied = Request::get("/Tables").with("X-Forwarded-Proto", "https");
    assert_eq!(ask(&server, proxied, &token).status, 200);
}

/// Without an issuer no bearer token is accepted.
#[test]
fn off_by_default() {
    let server = Server::start();
    let token = Issuer::new("key").token(&[READER]);
    for (version, rejected) in
        [("2020-12-06", (401, "InvalidAuthenticationInfo")), ("2019-02-02", (403, "AuthenticationFailed"))]
    {
        let request = bearing(Request::get("/Tables"), &token).set("x-ms-version", version);
        let response = server.connect().ask(&request);
        assert_eq!((response.status, response.code()), rejected, "{version}");
        assert_eq!(response.field("WWW-Authenticate").is_some(), rejected.0 == 401, "{version}");
    }
}

/// Publishes keys, and counts how often they are requested.
struct Publisher {
    url: String,
    keys: Arc<Mutex<String>>,
    asked: Arc<(Mutex<usize>, Condvar)>,
}

impl Publisher {
    fn new(keys: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (keys, asked) = (Arc::new(Mutex::new(keys)), Arc::<(Mutex<usize>, Condvar)>::default());
        let publisher = Self { url, keys: keys.clone(), asked: asked.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                *asked.0.lock().unwrap() += 1;
                asked.1.notify_all();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                let keys = keys.lock().unwrap().clone();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{keys}", keys.len()).unwrap();
            }
        });
        publisher
    }

    fn server(&self) -> Server {
        server(settings(self.url.parse().unwrap()))
    }

    fn publish(&self, issuers: &[&Issuer]) {
        *self.keys.lock().unwrap() = jwks(issuers);
    }

    fn asked(&self) -> usize {
        *self.asked.0.lock().unwrap()
    }

    /// Waits until the server uses the keys that are published now. It fetches them repeatedly, one request at a time:
    /// the request in progress may still see the old keys, the next one does not, and it is complete when a third one
    /// arrives.
    fn wait_until_taken(&self) {
        let (count, changed) = &*self.asked;
        let before = *count.lock().unwrap();
        let asks_no_more = |asked: &mut usize| *asked < before + 3;
        let (guard, waited) = changed.wait_timeout_while(count.lock().unwrap(), HANG, asks_no_more).unwrap();
        drop(guard);
        assert!(!waited.timed_out(), "the server does not ask again");
    }
}

/// A new key is found by the first token that it has signed.
#[test]
fn keys_rotate() {
    let (old, new) = (Issuer::new("old"), Issuer::new("new"));
    let publisher = Publisher::new(jwks(&[&old]));
    let server = publisher.server();
    assert_eq!(ask(&server, Request::get("/Tables"), &old.token(&[READER])).status, 200);
    publisher.publish(&[&new]);
    assert_eq!(
        ask(&server, Request::get("/Tables"), &old.token(&[READER])).status,
        200,
        "nobody has asked yet"
    );
    assert_eq!(publisher.asked(), 1);
    assert_eq!(ask(&server, Request::get("/Tables"), &new.token(&[READER])).status, 200);
    assert_eq!(publisher.asked(), 2);
    assert_eq!(ask(&server, Request::get("/Tables"), &old.token(&[READER])).status, 401);
}

/// A key that is no longer published expires within a period. Invalid responses of the issuer change nothing.
#[test]
fn keys_that_were_taken_back_end() {
    let (lost, kept) = (Issuer::new("lost"), Issuer::new("kept"));
    let publisher = Publisher::new(jwks(&[&lost, &kept]));
    let period = Duration::from_millis(1);
    let server = server(OauthSettings { period, ..settings(publisher.url.parse().unwrap()) });
    let status = |issuer: &Issuer| ask(&server, Request::get("/Tables"), &issuer.token(&[READER])).status;
    assert_eq!((status(&lost), status(&kept)), (200, 200));
    publisher.publish(&[&kept]);
    publisher.wait_until_taken();
    assert_eq!((status(&lost), status(&kept)), (401, 200));
    *publisher.keys.lock().unwrap() = "nonsense".into();
    publisher.wait_until_taken();
    assert_eq!((status(&lost), status(&kept)), (401, 200));
}

/// Tokens of unknown keys, which anyone can send, do not make the server fetch keys again and again. An operator can.
#[test]
fn strangers_do_not_make_the_server_ask() {
    let (known, unknown) = (Issuer::new("known"), Issuer::new("unknown"));
    let publisher = Publisher::new(jwks(&[&known]));
    let server = publisher.server();
    for _ in 0..20 {
        assert_eq!(ask(&server, Request::get("/Tables"), &unknown.token(&[READER])).status, 401);
        assert_eq!(ask(&server, Request::get("/Tables"), &known.token(&[READER])).status, 200);
    }
    assert_eq!(publisher.asked(), 2);
    publisher.publish(&[&unknown]);
    server.reload();
    assert_eq!(publisher.asked(), 3);
    assert_eq!(ask(&server, Request::get("/Tables"), &unknown.token(&[READER])).status, 200);
    // An invalid key set does not replace the current one.
    *publisher.keys.lock().unwrap() = "nonsense".into();
    server.reload();
    assert_eq!(ask(&server, Request::get("/Tables"), &unknown.token(&[READER])).status, 200);
}

/// An issuer that cannot be reached is no reason not to start.
#[test]
fn an_issuer_may_be_away() {
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = server(settings(format!("http://{nowhere}/keys").parse().unwrap()));
    assert_eq!(ask(&server, Request::get("/Tables"), &Issuer::new("key").token(&[READER])).status, 401);
    server.assert_alive();
}

/// A key file is reloaded when the operator asks for it.
#[test]
fn a_key_file_is_read_again() {
    let (old, new) = (Issuer::new("old"), Issuer::new("new"));
    let (server, directory) = with_file(&old);
    let file = directory.path().join("jwks.json");
    std::fs::write(&file, jwks(&[&new])).unwrap();
    server.reload();
    assert_eq!(ask(&server, Request::get("/Tables"), &new.token(&[READER])).status, 200);
    assert_eq!(ask(&server, Request::get("/Tables"), &old.token(&[READER])).status, 401);
}
