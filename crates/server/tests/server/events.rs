//! Events of blobs: into a queue, to a webhook, and the call that waits for them.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_protocol::auth::AccountKey;
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_KEY};
use lazuli_server::clock;
use lazuli_server::config::AdminPort;
use lazuli_store::{Options, Store};
use serde_json::Value;

use crate::support::{HANG, Server};

const ACCOUNT: &str = "devstoreaccount1";

fn start(engine: Option<Arc<dyn Engine>>, target: &str) -> Server {
    start_with(engine.unwrap_or_else(|| Arc::new(Memory::new(Clock::system()))), &[target])
}

/// A server with three accounts, which all have the key of the development account.
fn start_with(engine: Arc<dyn Engine>, targets: &[&str]) -> Server {
    let named = |name: &str| ConfiguredAccount { name: name.into(), ..ConfiguredAccount::development() };
    Server::serving([ACCOUNT, "blog", "quiet"].map(named).into(), engine, |config| {
        for service in [Service::Blob, Service::Queue] {
            config.listen = config.listen.on(service, (Ipv4Addr::LOCALHOST, 0).into());
        }
        config.admin = AdminPort::Exactly(0);
        config.events = targets.iter().map(|target| target.parse().unwrap()).collect();
    })
}

fn ask(server: &Server, service: Service, request: Request) -> Response {
    ask_as(ACCOUNT, server, service, request)
}

fn ask_as(account: &str, server: &Server, service: Service, request: Request) -> Response {
    let host = server.running().listen.get(service).unwrap().to_string();
    let mut request = request.with("Host", host.clone()).with("x-ms-version", "2023-11-03");
    let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
    Signer::new(service, account, key).sign(&mut request, clock::now());
    Connection::open(&host, HANG).unwrap().exchange(&request).unwrap()
}

fn create_container(server: &Server) {
    let create = Request::new("PUT", "/devstoreaccount1/files?restype=container");
    assert_eq!(ask(server, Service::Blob, create).status, 201);
}

fn put(server: &Server, content: &str) {
    let put = Request::new("PUT", "/devstoreaccount1/files/a%20b").with("x-ms-blob-type", "BlockBlob");
    assert_eq!(ask(server, Service::Blob, put.body(content)).status, 201);
}

fn delete(server: &Server) {
    let delete = Request::new("DELETE", "/devstoreaccount1/files/a%20b");
    assert_eq!(ask(server, Service::Blob, delete).status, 202);
}

/// Waits for the delivery of all events.
fn drain(server: &Server) {
    let drained =
        server.tell_admin("POST /events/drain/60 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(drained.status, 200, "{}", drained.text());
    let drained: Value = serde_json::from_str(drained.text()).unwrap();
    assert_eq!((&drained["drained"], &drained["waiting"]), (&true.into(), &0.into()));
    let metrics = server.ask_admin("/metrics", "");
    assert!(metrics.text().contains("\nlazuli_blob_events_waiting 0\n"), "{}", metrics.text());
}

/// The events in the queue, in order.
fn messages(server: &Server) -> Vec<Value> {
    let get =
        Request::new("GET", "/devstoreaccount1/changes/messages?numofmessages=32&visibilitytimeout=600");
    let text = ask(server, Service::Queue, get).text();
    let texts = text.split("<MessageText>").skip(1).map(|rest| rest.split('<').next().unwrap());
    texts.map(|text| serde_json::from_slice(&STANDARD.decode(text).unwrap()).unwrap()).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["eventType"].as_str().unwrap()).collect()
}

const CREATED: &str = "Microsoft.Storage.BlobCreated";
const DELETED: &str = "Microsoft.Storage.BlobDeleted";

#[test]
fn events_arrive_in_a_queue_in_order() {
    let server = start(None, "queue:changes");
    create_container(&server);
    put(&server, "hello");
    put(&server, "hello again");
    delete(&server);
    drain(&server);
    let events = messages(&server);
    assert_eq!(types(&events), [CREATED, CREATED, DELETED]);
    let first = &events[0];
    assert_eq!(first["subject"], "/blobServices/default/containers/files/blobs/a b");
    assert_eq!(first["data"]["contentLength"], 5);
    let endpoint = server.running().endpoint(Service::Blob).unwrap();
    assert_eq!(first["data"]["url"], format!("{endpoint}/devstoreaccount1/files/a%20b"));
    drain(&server);
    assert_eq!(messages(&server), Vec::<Value>::new(), "each arrives once unless something fails");
}

/// A webhook that fails gets the event again; one that is away gets it after a restart of the server.
#[test]
fn events_arrive_at_a_webhook_across_restarts() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = format!("http://{}/hook?code=x", listener.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let open = || Arc::new(Store::open(directory.path(), Options::default()).unwrap()) as Arc<dyn Engine>;
    let mut server = start(Some(open()), &target);
    create_container(&server);
    put(&server, "hello");
    let (head, body) = receive(&listener, "500 No");
    assert!(head.starts_with("POST /hook?code=x HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("aeg-event-type: Notification\r\n"), "{head}");
    assert_eq!(types(body.as_array().unwrap()), [CREATED]);
    delete(&server);
    let stop = server.begin_stop();
    server.wait(stop);
    drop(server);
    let server = start(Some(open()), &target);
    let again = receive(&listener, "200 OK").1;
    assert_eq!(again[0]["id"], body[0]["id"], "the id identifies repetitions");
    assert_eq!(types(receive(&listener, "204 Done").1.as_array().unwrap()), [DELETED]);
    drain(&server);
}

/// Receives one request, and responds with a status.
fn receive(listener: &TcpListener, status: &str) -> (String, Value) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    let head = read_head(&mut stream);
    let length = head.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    // The server may have been stopped.
    let _ = stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
    (head, serde_json::from_slice(&body).unwrap())
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn put_as(account: &str, server: &Server) {
    let create = Request::new("PUT", format!("/{account}/files?restype=container"));
    assert!([201, 409].contains(&ask_as(account, server, Service::Blob, create).status));
    let put = Request::new("PUT", format!("/{account}/files/a")).with("x-ms-blob-type", "BlockBlob");
    assert_eq!(ask_as(account, server, Service::Blob, put.body("x")).status, 201);
}

/// A target that does not respond delays only the events of its account. An account without a target has no events, and
/// those that wait for a target that is gone are dropped.
#[test]
fn accounts_have_targets_of_their_own() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let webhook = format!("blog=http://{}/hook", listener.local_addr().unwrap());
    let own = format!("{ACCOUNT}=queue:changes");
    let directory = tempfile::tempdir().unwrap();
    let open = || Arc::new(Store::open(directory.path(), Options::default()).unwrap()) as Arc<dyn Engine>;
    let mut server = start_with(open(), &[&webhook, &own]);
    for account in ["blog", "quiet", ACCOUNT] {
        put_as(account, &server);
    }
    let found = loop {
        let found = messages(&server);
        if !found.is_empty() {
            break found;
        }
    };
    assert_eq!((types(&found), &found[0]["data"]["contentLength"]), (vec![CREATED], &1.into()));
    let url = found[0]["data"]["url"].as_str().unwrap();
    assert!(url.ends_with("/devstoreaccount1/files/a"), "{url}");
    let (_, posted) = receive(&listener, "500 No");
    let url = posted[0]["data"]["url"].as_str().unwrap();
    assert!(url.ends_with("/blog/files/a"), "{url}");
    let stop = server.begin_stop();
    server.wait(stop);
    drop(server);
    let mut server = start_with(open(), &[&own, &webhook]);
    assert_eq!(receive(&listener, "200 OK").1[0]["id"], posted[0]["id"], "it is delivered after a restart");
    drain(&server);
    put_as("blog", &server);
    receive(&listener, "500 No");
    let stop = server.begin_stop();
    server.wait(stop);
    drop(server);
    let server = start_with(open(), &[&own]);
    drain(&server);
    assert_eq!(messages(&server), Vec::<Value>::new());
    let queues = Request::new("GET", "/blog/?comp=list");
    assert!(!ask_as("blog", &server, Service::Queue, queues).text().contains("changes"));
}

/// A target for all accounts serves those that have no target of their own.
#[test]
fn a_target_of_an_account_takes_precedence() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::new(Clock::system()));
    let server = start_with(engine, &["queue:others", "devstoreaccount1=queue:changes"]);
    for account in ["blog", ACCOUNT] {
        put_as(account, &server);
    }
    drain(&server);
    assert_eq!(types(&messages(&server)), [CREATED]);
    for (account, queue, count) in [("blog", "others", "1"), (ACCOUNT, "changes", "1")] {
        let metadata = Request::new("GET", format!("/{account}/{queue}?comp=metadata"));
        let found = ask_as(account, &server, Service::Queue, metadata);
        assert_eq!(found.header("x-ms-approximate-messages-count"), Some(count), "{account}");
    }
}

#[test]
fn without_events_there_is_nothing_to_wait_for() {
    let server = Server::with_config(|config| config.admin = AdminPort::Exactly(0));
    let head = |seconds: &str| {
        format!("POST /events/drain/{seconds} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    };
    assert_eq!(server.tell_admin(&head("1")).status, 409);
    assert_eq!(server.tell_admin(&head("soon")).status, 400);
}
