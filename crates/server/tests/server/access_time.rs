//! The time of the last access to blobs: a background task records reads, and the store keeps the time.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_server::clock;
use lazuli_server::config::EnabledFor;
use lazuli_store::{Options, Store};

use crate::support::{HANG, Server};

const DAY: u64 = 24 * 60 * 60 * TICKS_PER_SECOND;
const BLOB: &str = "/devstoreaccount1/files/a";

fn start(engine: Arc<dyn Engine>, last_access: EnabledFor) -> Server {
    Server::over(engine, |config| {
        config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
        config.blob.last_access = last_access;
    })
}

fn ask(server: &Server, request: Request) -> Response {
    let host = server.running().listen.get(Service::Blob).unwrap().to_string();
    let mut request = request.with("Host", host.clone()).with("x-ms-version", "2023-11-03");
    Signer::development(Service::Blob).sign(&mut request, clock::now());
    Connection::open(&host, HANG).unwrap().exchange(&request).unwrap()
}

fn last_access(server: &Server) -> Option<String> {
    ask(server, Request::new("HEAD", BLOB)).header("x-ms-last-access-time").map(str::to_owned)
}

#[test]
fn a_read_is_recorded_in_the_background_and_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    // To the service, everything was written a day and a half ago.
    let past = Clock::new(|| Clock::system().ticks() - DAY * 3 / 2);
    let open = || {
        let options = Options { clock: past.clone(), ..Options::default() };
        Arc::new(Store::open(directory.path(), options).unwrap()) as Arc<dyn Engine>
    };
    let stop = |mut server: Server| {
        let stop = server.begin_stop();
        server.wait(stop);
    };
    let server = start(open(), EnabledFor::All);
    let create = Request::new("PUT", "/devstoreaccount1/files?restype=container");
    assert_eq!(ask(&server, create).status, 201);
    let put = Request::new("PUT", BLOB).with("x-ms-blob-type", "BlockBlob").body("hello");
    let etag = ask(&server, put).header("etag").unwrap().to_owned();
    let written = last_access(&server).unwrap();
    let read = ask(&server, Request::new("GET", BLOB));
    assert_eq!((read.status, read.header("x-ms-last-access-time")), (200, Some(&*written)));
    let recorded = loop {
        match last_access(&server) {
            Some(time) if time == written => {}
            time => break time,
        }
    };
    stop(server);
    let server = start(open(), EnabledFor::Accounts(vec!["devstoreaccount1".into()]));
    assert_eq!(last_access(&server), recorded);
    let list = ask(&server, Request::new("GET", "/devstoreaccount1/files?restype=container&comp=list"));
    let element = format!("<LastAccessTime>{}</LastAccessTime>", recorded.unwrap());
    assert!(list.text().contains(&element), "{}", list.text());
    assert_eq!(ask(&server, Request::new("HEAD", BLOB)).header("etag"), Some(&*etag));
    stop(server);
    for off in [EnabledFor::Off, EnabledFor::Accounts(vec!["other".into()])] {
        let server = start(open(), off);
        assert_eq!(last_access(&server), None);
        stop(server);
    }
}
