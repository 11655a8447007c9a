//! A server of all services on a store in a directory, and a client that allocates nothing.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lazuli_model::Service;
use lazuli_probe::Request;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::{Config, Running};
use lazuli_store::{Options, Store};
use tokio::runtime::Runtime;

use crate::requests::signed;

/// Nothing takes this long unless it hangs.
const HANG: Duration = Duration::from_secs(60);
/// The longest response to a rejected request.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// The files of a directory: length, and time of the last change.
pub type Files = BTreeMap<PathBuf, (u64, SystemTime)>;

/// The server and its directory.
pub struct World {
    runtime: Runtime,
    running: Option<Running>,
    directory: tempfile::TempDir,
}

impl World {
    /// Starts a server that has a table, a queue and a container `things` with an entity, a message and a blob `a`.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::default()).unwrap();
        let nowhere: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
        let mut config = Config::new(nowhere);
        config.listen = config.listen.on(Service::Queue, nowhere).on(Service::Blob, nowhere);
        let started = lazuli_server::start(config, Arc::new(store), vec![ConfiguredAccount::development()]);
        let running = runtime.block_on(started).unwrap();
        let world = Self { runtime, running: Some(running), directory };
        world.fill();
        world
    }

    fn fill(&self) {
        let entity = "{\"PartitionKey\":\"p\",\"RowKey\":\"a\"}";
        let message = "<QueueMessage><MessageText>text</MessageText></QueueMessage>";
        for (service, request) in [
            (
                Service::Table,
                Request::new("POST", "/devstoreaccount1/Tables").json("{\"TableName\":\"things\"}"),
            ),
            (Service::Table, Request::new("POST", "/devstoreaccount1/things").json(entity)),
            (Service::Queue, Request::new("PUT", "/devstoreaccount1/things")),
            (Service::Queue, Request::new("POST", "/devstoreaccount1/things/messages").body(message)),
            (Service::Blob, Request::new("PUT", "/devstoreaccount1/things?restype=container")),
            (
                Service::Blob,
                Request::new("PUT", "/devstoreaccount1/things/a").with("x-ms-blob-type", "BlockBlob"),
            ),
        ] {
            let mut wire = self.connect(service);
            assert_eq!(wire.exchange(&signed(service, request)), 201, "{}", wire.text());
        }
    }

    /// A client of a service.
    pub fn connect(&self, service: Service) -> Wire {
        let address = self.running.as_ref().unwrap().listen.get(service).unwrap();
        Wire { address, stream: None, response: vec![0; RESPONSE_BYTES_MAX], length: 0, leaves_body: false }
    }

    /// The files of the store as they are.
    pub fn files(&self) -> Files {
        let mut files = Files::new();
        collect(self.directory.path(), &mut files);
        files
    }

    /// The files that have been written or removed since.
    pub fn written_since(&self, before: &Files) -> Vec<PathBuf> {
        let after = self.files();
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        let changed =
            after.iter().filter(|(path, state)| before.get(*path) != Some(state)).map(|(path, _)| path);
        gone.chain(changed).cloned().collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = self.runtime.block_on(running.stop());
        }
    }
}

fn collect(folder: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        // A file may disappear while the folder is read.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            collect(&entry.path(), files);
        } else {
            files.insert(entry.path(), (meta.len(), meta.modified().unwrap()));
        }
    }
}

/// A connection that is opened again whenever the server has closed it.
pub struct Wire {
    address: SocketAddr,
    stream: Option<TcpStream>,
    response: Vec<u8>,
    length: usize,
    /// Requests announce a body that is not sent, so that each needs a connection of its own.
    pub leaves_body: bool,
}

impl Wire {
    /// Sends a request and reads the response. Returns its status, or zero if the connection ends without one.
    pub fn exchange(&mut self, request: &[u8]) -> u16 {
        let mut stream = self.stream.take().unwrap_or_else(|| {
            let stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(HANG)).unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        });
        // The server may respond and close before it has read everything.
        let _ = stream.write_all(request);
        self.length = 0;
        let head = loop {
            if let Some(end) = find(&self.response[..self.length], b"\r\n\r\n") {
                break end + 4;
            }
            if !self.receive(&mut stream) {
                return 0;
            }
        };
        let body = self.field("Content-Length").map_or(0, number);
        while self.length < head + body {
            assert!(self.receive(&mut stream), "the response ends early: {}", self.text());
        }
        let closes = self.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close"));
        if !closes && !self.leaves_body {
            self.stream = Some(stream);
        }
        u16::try_from(number(&self.response[9..12])).unwrap()
    }

    /// Reads more of the response. Returns false at the end of the connection.
    fn receive(&mut self, stream: &mut TcpStream) -> bool {
        let received = stream.read(&mut self.response[self.length..]).unwrap();
        self.length += received;
        received > 0
    }

    /// A header of the response, with its name in the case in which the server sends it.
    fn field(&self, name: &str) -> Option<&[u8]> {
        let mut lines = self.response[..self.length].split(|byte| *byte == b'\n');
        lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b": ")).map(<[u8]>::trim_ascii)
    }

    /// The error code of the response, or a dash.
    pub fn code(&self) -> String {
        String::from_utf8_lossy(self.field("x-ms-error-code").unwrap_or(b"-")).into_owned()
    }

    /// The length of the response.
    pub fn response_bytes(&self) -> usize {
        self.length
    }

    /// The response, for messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.response[..self.length]).into_owned()
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn number(digits: &[u8]) -> usize {
    digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
}
