//! A server for each test, and a client that sends exactly the bytes it is given.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::Response;
use lazuli_probe::blocking::{Connection, dial};
use lazuli_protocol::auth::{self, AccountKey, Scheme, SignedParts};
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_server::{Config, Limits, Running, clock};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Nothing in these tests takes this long unless it hangs.
pub const HANG: Duration = Duration::from_secs(60);
/// A short deadline, for tests that wait until it passes.
pub const SHORT: Duration = Duration::from_secs(1);

/// A server on an engine in memory.
pub struct Server {
    pub address: SocketAddr,
    /// Where the admin listener is.
    pub admin: Option<SocketAddr>,
    runtime: Runtime,
    running: Option<Running>,
}

impl Server {
    pub fn start() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        Self::with_config(|config| config.limits = limits)
    }

    /// A server with arbitrary settings.
    pub fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        Self::over(Arc::new(Memory::new(Clock::system())), change)
    }

    /// A server on another engine.
    pub fn over(engine: Arc<dyn Engine>, change: impl FnOnce(&mut Config)) -> Self {
        Self::serving(vec![ConfiguredAccount::development()], engine, change)
    }

    /// A server of these accounts.
    pub fn serving(
        accounts: Vec<ConfiguredAccount>,
        engine: Arc<dyn Engine>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut config = Config::new((Ipv4Addr::LOCALHOST, 0).into());
        change(&mut config);
        let started = lazuli_server::start(config, engine, accounts);
        let running = runtime.block_on(started).unwrap();
        Self {
            address: running.listen.get(Service::Table).unwrap(),
            admin: running.admin,
            runtime,
            running: Some(running),
        }
    }

    pub fn connect(&self) -> Client {
        Client::on(self.dial())
    }

    /// A socket without a client on it.
    pub fn dial(&self) -> TcpStream {
        dial(&self.address.to_string(), HANG).unwrap()
    }

    pub fn running(&self) -> &Running {
        self.running.as_ref().expect("the server runs")
    }

    /// Reloads certificates and keys, as SIGHUP does.
    pub fn reload(&self) {
        self.runtime.block_on(self.running().reload());
    }

    /// Runs a future in the server's runtime.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The admin listener's response to a bare GET.
    pub fn ask_admin(&self, target: &str, fields: &str) -> TestResponse {
        self.tell_admin(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"))
    }

    /// The admin listener's response to a head.
    pub fn tell_admin(&self, head: &str) -> TestResponse {
        let address = self.admin.expect("there is an admin listener").to_string();
        let mut client = Client::on(dial(&address, HANG).unwrap());
        client.send(head);
        client.response()
    }

    /// Creates a table.
    pub fn create_table(&self, name: &str) {
        let body = format!("{{\"TableName\":\"{name}\"}}");
        assert_eq!(self.connect().ask(&Request::post("/Tables", &body)).status, 201);
    }

    /// Begins to stop; the handle is done when the server is.
    pub fn begin_stop(&mut self) -> JoinHandle<()> {
        let running = self.running.take().expect("a server is stopped once");
        self.runtime.spawn(async { running.stop().await.unwrap() })
    }

    /// Waits for a stop to end.
    pub fn wait(&self, stop: JoinHandle<()>) {
        self.runtime.block_on(stop).unwrap();
    }

    /// The server still serves: a new client gets a response.
    #[track_caller]
    pub fn assert_alive(&self) {
        assert_eq!(self.connect().ask(&Request::get("/Tables")).status, 200);
    }

    /// Tries new connections until one is served: with a single permit, this is when the previous connection has
    /// released it.
    pub fn wait_for_a_place(&self) {
        while !self.has_a_place() {}
    }

    /// Does a new connection get a permit?
    pub fn has_a_place(&self) -> bool {
        self.connect().try_ask(&Request::get("/Tables")).is_ok_and(|response| response.status == 200)
    }
}

/// A request with a valid signature.
#[derive(Clone)]
pub struct Request {
    method: &'static str,
    account: &'static str,
    /// The path behind the account.
    target: String,
    fields: Vec<(&'static str, String)>,
    body: Vec<u8>,
    version: &'static str,
    signed: bool,
}

impl Request {
    pub fn new(method: &'static str, target: &str) -> Self {
        let fields = vec![
            ("Host", "127.0.0.1".into()),
            ("x-ms-date", clock::now().http().as_str().to_owned()),
            ("x-ms-version", "2019-02-02".into()),
            ("Accept", "application/json;odata=nometadata".into()),
        ];
        Self {
            method,
            account: DEVELOPMENT_ACCOUNT,
            target: target.into(),
            fields,
            body: Vec::new(),
            version: "HTTP/1.1",
            signed: true,
        }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub fn post(target: &str, body: &str) -> Self {
        Self::with_body("POST", target, body)
    }

    pub fn put(target: &str, body: &str) -> Self {
        Self::with_body("PUT", target, body)
    }

    pub fn with_body(method: &'static str, target: &str, body: &str) -> Self {
        let mut request = Self::new(method, target).with("Content-Type", "application/json");
        request.fields.push(("Content-Length", body.len().to_string()));
        request.body = body.as_bytes().to_vec();
        request
    }

    /// An insert of a row into a table.
    pub fn insert(table: &str, row: &str) -> Self {
        Self::post(&format!("/{table}"), &format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}"))
            .with("Prefer", "return-no-content")
    }

    /// A get of the row that [`Request::insert`] makes.
    pub fn point(table: &str, row: &str) -> Self {
        Self::get(&format!("/{table}(PartitionKey='p',RowKey='{row}')"))
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// The same with another value for a field.
    pub fn set(self, name: &'static str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// The same to another account, which has the same key.
    pub fn to(mut self, account: &'static str) -> Self {
        self.account = account;
        self
    }

    /// The same without a signature.
    pub fn unsigned(mut self) -> Self {
        self.signed = false;
        self
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Everything up to and including the empty line.
    pub fn head(&self) -> String {
        let path = format!("/{}{}", self.account, self.target);
        self.head_for(&path, &path)
    }

    /// The same with another target on the request line; `signed` is the path that the signature covers.
    pub fn head_for(&self, target: &str, signed: &str) -> String {
        let mut head = format!("{} {target} {}\r\n", self.method, self.version);
        for (name, value) in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.signed {
            let (path, query) = signed.split_once('?').unwrap_or((signed, ""));
            let comp = query.split('&').find_map(|pair| pair.strip_prefix("comp="));
            let signature = self.signature(path, comp);
            head.push_str(&format!("Authorization: SharedKeyLite {}:{signature}\r\n", self.account));
        }
        head + "\r\n"
    }

    fn signature(&self, path: &str, comp: Option<&str>) -> String {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
        let parts = SignedParts {
            method: self.method,
            content_md5: "",
            content_type: "",
            date: &self.fields.iter().find(|(name, _)| *name == "x-ms-date").unwrap().1,
            account: self.account,
            path,
            comp,
        };
        auth::signature_text(&auth::sign(&key, Scheme::SharedKeyLite, &parts))
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A response.
#[derive(Debug)]
pub struct TestResponse(Response);

impl TestResponse {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0.body).unwrap()
    }

    pub fn code(&self) -> &str {
        self.field("x-ms-error-code").unwrap_or("")
    }
}

impl Deref for TestResponse {
    type Target = Response;

    fn deref(&self) -> &Response {
        &self.0
    }
}

/// A connection that fails the test when something goes wrong.
pub struct Client<S = TcpStream> {
    connection: Connection<S>,
    /// Method of the request that was sent last: a response to HEAD has no body.
    method: &'static str,
}

impl<S> Deref for Client<S> {
    type Target = Connection<S>;

    fn deref(&self) -> &Connection<S> {
        &self.connection
    }
}

impl<S> DerefMut for Client<S> {
    fn deref_mut(&mut self) -> &mut Connection<S> {
        &mut self.connection
    }
}

impl Client {
    /// Closes the sending side.
    pub fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

impl<S: Read + Write> Client<S> {
    /// A client on a stream that is connected.
    pub fn on(stream: S) -> Self {
        Self { connection: Connection::on(stream), method: "GET" }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.connection.send(bytes).unwrap();
    }

    pub fn send_request(&mut self, request: &Request) {
        self.method = request.method;
        self.send(request.bytes());
    }

    pub fn ask(&mut self, request: &Request) -> TestResponse {
        self.send_request(request);
        self.response()
    }

    /// The same, for a server that may close the connection instead.
    pub fn try_ask(&mut self, request: &Request) -> io::Result<TestResponse> {
        self.method = request.method;
        self.connection.send(request.bytes())?;
        self.try_response()
    }

    /// Reads one response, `100 Continue` included.
    #[track_caller]
    pub fn response(&mut self) -> TestResponse {
        self.try_response().unwrap()
    }

    pub fn try_response(&mut self) -> io::Result<TestResponse> {
        let head = self.connection.read_head(self.method)?;
        self.connection.complete(head).map(TestResponse)
    }

    /// The server closes the connection in an orderly manner and sends nothing more.
    #[track_caller]
    pub fn assert_closed(&mut self) {
        let rest = self.rest().unwrap();
        assert_eq!(String::from_utf8_lossy(&rest), "", "the server closes and sends nothing more");
    }
}
