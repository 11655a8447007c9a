//! Copies from other servers: which bytes are fetched, from which server, and how a misbehaving source is handled.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_server::clock;

use crate::support::{HANG, Server};

const MD5_OF_HELLO: &str = "XUFAKrxLKna5cZ2REBfFkg==";

/// A server of blobs with a public container `files`.
struct Blobs {
    server: Server,
    address: SocketAddr,
}

impl Blobs {
    fn start(allowed: &[&str]) -> Self {
        let allowed: Vec<_> = allowed.iter().map(|host| host.parse().unwrap()).collect();
        let server = Server::with_config(|config| {
            config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
            config.copy_sources = allowed;
        });
        let address = server.running().listen.get(Service::Blob).unwrap();
        let blobs = Self { server, address };
        let create = Request::new("PUT", "/devstoreaccount1/files?restype=container");
        assert_eq!(blobs.ask(create.with("x-ms-blob-public-access", "blob")).status, 201);
        blobs
    }

    fn ask(&self, request: Request) -> Response {
        let host = self.address.to_string();
        let version = request.header("x-ms-version").is_some();
        let request = request.with("Host", host.clone());
        let mut request = if version { request } else { request.with("x-ms-version", "2023-11-03") };
        Signer::development(Service::Blob).sign(&mut request, clock::now());
        Connection::open(&host, HANG).unwrap().exchange(&request).unwrap()
    }

    fn put(&self, blob: &str, kind: &'static str, content: &str) -> Response {
        let request = Request::new("PUT", target(blob)).with("x-ms-blob-type", kind);
        self.ask(request.body(content).with("Content-Type", "text/plain").with("x-ms-meta-Origin", "here"))
    }

    fn get(&self, blob: &str) -> Response {
        self.ask(Request::new("GET", target(blob)))
    }

    fn url(&self, blob: &str) -> String {
        format!("http://{}{}", self.address, target(blob))
    }

    /// Copy Blob.
    fn copy(&self, blob: &str, source: &str) -> Response {
        self.ask(from(Request::new("PUT", target(blob)), source))
    }

    /// Put Blob From URL.
    fn put_from_url(&self, blob: &str, source: &str) -> Response {
        self.ask(from(Request::new("PUT", target(blob)), source).with("x-ms-blob-type", "BlockBlob"))
    }
}

fn target(blob: &str) -> String {
    format!("/devstoreaccount1/files/{blob}")
}

fn from(request: Request, source: &str) -> Request {
    request.with("x-ms-copy-source", source.to_owned())
}

fn code(response: &Response) -> (u16, &str) {
    (response.status, response.header("x-ms-error-code").unwrap_or_default())
}

/// A source and a destination that may copy from it.
fn two() -> (Blobs, Blobs) {
    let source = Blobs::start(&[]);
    let destination = Blobs::start(&[&source.address.to_string()]);
    assert_eq!(source.put("b", "BlockBlob", "hello").status, 201);
    (source, destination)
}

/// A web server that gives one response to one request, which it passes on.
fn web(response: impl Into<Vec<u8>>) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, requests) = channel();
    let response = response.into();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        seen.send(String::from_utf8(head).unwrap()).unwrap();
        // The other side may have closed already.
        let _ = stream.write_all(&response);
    });
    (address, requests)
}

#[test]
fn a_blob_of_another_server_is_copied_with_its_properties() {
    let (source, destination) = two();
    for blob in ["asynchronous", "synchronous"] {
        let request = from(Request::new("PUT", target(blob)), &source.url("b"));
        let is_sync = (blob == "synchronous").to_string();
        let copied = destination.ask(request.with("x-ms-requires-sync", is_sync));
        assert_eq!((copied.status, copied.header("x-ms-copy-status")), (202, Some("success")), "{blob}");
        let got = destination.get(blob);
        assert_eq!((got.status, got.text().as_str()), (200, "hello"));
        assert_eq!(got.header("Content-Type"), Some("text/plain"));
        assert_eq!(got.header("Content-MD5"), Some(MD5_OF_HELLO));
        assert_eq!(got.header("x-ms-copy-source"), Some(source.url("b").as_str()));
        let metadata = got.headers().find(|(name, _)| name.starts_with("x-ms-meta-"));
        assert_eq!(metadata, Some(("x-ms-meta-Origin", "here")), "capitals survive");
    }
}

#[test]
fn every_operation_with_a_source_url_accepts_another_server() {
    let (source, destination) = two();
    let url = source.url("b");
    assert_eq!(destination.put_from_url("whole", &url).status, 201);
    assert_eq!(destination.get("whole").text(), "hello");

    let block = from(Request::new("PUT", target("blocks") + "?comp=block&blockid=MDA="), &url);
    let block = block
        .with("x-ms-source-range", "bytes=1-3")
        .with("x-ms-source-content-md5", "w3uauX+CW9Vrm3NhaTcxyQ==");
    assert_eq!(code(&destination.ask(block.clone())), (400, "Md5Mismatch"));
    let block = from(Request::new("PUT", target("blocks") + "?comp=block&blockid=MDA="), &url);
    assert_eq!(destination.ask(block.with("x-ms-source-range", "bytes=1-3")).status, 201);
    let list = Request::new("PUT", target("blocks") + "?comp=blocklist");
    let list = list.body("<BlockList><Latest>MDA=</Latest></BlockList>");
    assert_eq!(destination.ask(list).status, 201);
    assert_eq!(destination.get("blocks").text(), "ell");

    assert_eq!(destination.put("log", "AppendBlob", "").status, 201);
    for expected in ["hello", "hellohello"] {
        let append = from(Request::new("PUT", target("log") + "?comp=appendblock"), &url);
        assert_eq!(destination.ask(append).status, 201);
        assert_eq!(destination.get("log").text(), expected);
    }

    let pages = "x".repeat(512) + &"y".repeat(512);
    assert_eq!(source.put("pages", "BlockBlob", &pages).status, 201);
    let create = Request::new("PUT", target("disk")).with("x-ms-blob-type", "PageBlob");
    assert_eq!(destination.ask(create.with("x-ms-blob-content-length", "1024")).status, 201);
    let write = |source_range: &'static str| {
        let write = from(Request::new("PUT", target("disk") + "?comp=page"), &source.url("pages"));
        let write = write.with("x-ms-page-write", "update").with("x-ms-range", "bytes=0-511");
        destination.ask(write.with("x-ms-source-range", source_range))
    };
    assert_eq!(code(&write("bytes=0-1023")), (416, "InvalidPageRange"));
    assert_eq!(write("bytes=512-1023").status, 201);
    assert_eq!(destination.get("disk").text(), "y".repeat(512) + &"\0".repeat(512));
}

#[test]
fn append_and_page_blobs_keep_their_type() {
    let (source, destination) = two();
    assert_eq!(source.put("log", "AppendBlob", "").status, 201);
    for _ in 0..2 {
        let append = Request::new("PUT", target("log") + "?comp=appendblock").body("line\n");
        assert_eq!(source.ask(append).status, 201);
    }
    let create = Request::new("PUT", target("disk")).with("x-ms-blob-type", "PageBlob");
    let create = create.with("x-ms-blob-content-length", "1048576").with("x-ms-blob-sequence-number", "7");
    assert_eq!(source.ask(create).status, 201);
    let write = Request::new("PUT", target("disk") + "?comp=page").with("x-ms-page-write", "update");
    let write = write.with("x-ms-range", "bytes=524288-524799").body("z".repeat(512));
    assert_eq!(source.ask(write).status, 201);

    for (blob, kind) in [("log", "AppendBlob"), ("disk", "PageBlob")] {
        assert_eq!(destination.copy(blob, &source.url(blob)).status, 202);
        let (copy, original) = (destination.get(blob), source.get(blob));
        assert_eq!(copy.header("x-ms-blob-type"), Some(kind));
        assert_eq!(copy.body, original.body, "{blob}");
        for name in ["x-ms-blob-committed-block-count", "x-ms-blob-sequence-number"] {
            assert_eq!(copy.header(name), original.header(name), "{blob}");
        }
    }
    let ranges = destination.ask(Request::new("GET", target("disk") + "?comp=pagelist")).text();
    assert!(ranges.contains("<Start>524288</Start><End>524799</End>"), "zeros are not stored: {ranges}");
    assert_eq!(ranges.matches("<PageRange>").count(), 1);

    let sync =
        from(Request::new("PUT", target("other")), &source.url("log")).with("x-ms-requires-sync", "true");
    assert_eq!(code(&destination.ask(sync)), (409, "InvalidSourceBlobType"));
    assert_eq!(code(&destination.copy("log", &source.url("b"))), (409, "InvalidBlobType"));
}

/// AzCopy and others copy tags; they are requested from the source.
#[test]
fn tags_are_copied_on_request() {
    let (source, destination) = two();
    let tagged = Request::new("PUT", target("tagged")).with("x-ms-blob-type", "BlockBlob");
    assert_eq!(source.ask(tagged.with("x-ms-tags", "a=b").body("x")).status, 201);
    // Tags need a signature, which an anonymous client does not have.
    let copy = |url: &str| {
        let put = from(Request::new("PUT", target("tagged")), url).with("x-ms-blob-type", "BlockBlob");
        destination.ask(put.with("x-ms-copy-source-tag-option", "COPY"))
    };
    assert_eq!(code(&copy(&source.url("tagged"))).1, "CannotVerifyCopySource");
    let url = source.url("tagged") + "?" + &sas();
    assert_eq!(copy(&url).status, 201);
    let tags = destination.ask(Request::new("GET", target("tagged") + "?comp=tags")).text();
    assert!(tags.contains("<Key>a</Key><Value>b</Value>"), "{tags}");
    let shown = destination.copy("shown", &url);
    assert_eq!(shown.status, 202);
    let (unsigned, _) = url.split_once("&sig=").unwrap();
    assert_eq!(destination.get("shown").header("x-ms-copy-source"), Some(unsigned), "without the signature");
}

/// A signature for all blobs of the account.
fn sas() -> String {
    use lazuli_protocol::auth::AccountKey;
    use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
    let terms = "sv=2021-12-02&ss=b&srt=o&sp=rt&se=2099-01-01T00%3A00%3A00Z";
    let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
    let text = format!("{DEVELOPMENT_ACCOUNT}\nrt\nb\no\n\n2099-01-01T00:00:00Z\n\n\n2021-12-02\n\n");
    let signature = lazuli_protocol::auth::signature_text(&key.sign(&text));
    let escaped = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("{terms}&sig={escaped}")
}

#[test]
fn conditions_are_judged_by_the_source() {
    let (source, destination) = two();
    let etag = source.get("b").header("ETag").unwrap().to_owned();
    let bare = etag.trim_matches('"').to_owned();
    let (past, future) = ("Mon, 27 Jun 2022 20:11:08 GMT", "Mon, 27 Jun 2122 20:11:08 GMT");
    for (name, value, copy, from_url) in [
        ("x-ms-source-if-match", etag.as_str(), (202, ""), (201, "")),
        ("x-ms-source-if-match", &bare, (202, ""), (201, "")),
        ("x-ms-source-if-match", "\"0x1\"", (412, "SourceConditionNotMet"), (412, "SourceConditionNotMet")),
        ("x-ms-source-if-none-match", &etag, (412, "SourceConditionNotMet"), (304, "CannotVerifyCopySource")),
        ("x-ms-source-if-modified-since", past, (202, ""), (201, "")),
        (
            "x-ms-source-if-modified-since",
            future,
            (412, "SourceConditionNotMet"),
            (304, "CannotVerifyCopySource"),
        ),
        (
            "x-ms-source-if-unmodified-since",
            past,
            (412, "SourceConditionNotMet"),
            (412, "CannotVerifyCopySource"),
        ),
    ] {
        let request =
            from(Request::new("PUT", target("copy")), &source.url("b")).with(name, value.to_owned());
        assert_eq!(code(&destination.ask(request.clone())), copy, "{name}: {value}");
        let put = destination.ask(request.with("x-ms-blob-type", "BlockBlob"));
        assert_eq!(code(&put), from_url, "{name}: {value}");
    }
    // A web server that ignores conditions is not trusted.
    let (plain, _requests) = web("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nETag: \"new\"\r\n\r\nx");
    let destination = Blobs::start(&[&plain.to_string()]);
    let request = from(Request::new("PUT", target("copy")), &format!("http://{plain}/x"));
    let rejected = destination.ask(request.with("x-ms-source-if-match", "\"old\""));
    assert_eq!(code(&rejected), (412, "SourceConditionNotMet"));
}

#[test]
fn failures_of_the_source_keep_their_status() {
    let (source, destination) = two();
    let missing = destination.put_from_url("copy", &source.url("none"));
    assert_eq!(code(&missing), (404, "CannotVerifyCopySource"));
    assert_eq!(missing.header("x-ms-copy-source-status-code"), Some("404"));
    assert_eq!(missing.header("x-ms-copy-source-error-code"), Some("BlobNotFound"));
    let out_of_range =
        from(Request::new("PUT", target("copy") + "?comp=block&blockid=MDA="), &source.url("b"));
    let out_of_range = destination.ask(out_of_range.with("x-ms-source-range", "bytes=5-9"));
    assert_eq!(code(&out_of_range), (416, "InvalidRange"));

    for (head, expected) in [
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", 401),
        ("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 403),
        ("HTTP/1.1 409 No\r\nContent-Length: 0\r\n\r\n", 409),
        ("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 500),
        ("HTTP/1.1 418 No\r\nContent-Length: 0\r\n\r\n", 400),
        ("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n", 400),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 400),
        ("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/1\r\nContent-Length: 1\r\n\r\nx", 400),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx", 500),
        ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx", 500),
        ("nonsense\r\n\r\n", 500),
        ("", 500),
    ] {
        let (address, _requests) = web(head);
        let destination = Blobs::start(&[&address.to_string()]);
        let failed = destination.put_from_url("copy", &format!("http://{address}/x"));
        assert_eq!(code(&failed), (expected, "CannotVerifyCopySource"), "{head}");
        assert_eq!(destination.get("copy").status, 404, "{head}");
        destination.server.assert_alive();
    }
}

/// A range that the source does not honour must not become the content of a block.
#[test]
fn a_source_that_ignores_the_range_is_rejected() {
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 206 OK\r\nContent-Range: bytes 0-2/5\r\nContent-Length: 3\r\n\r\nhel",
        "HTTP/1.1 206 OK\r\nContent-Length: 3\r\n\r\nell",
    ] {
        let (address, requests) = web(head);
        let destination = Blobs::start(&[&address.to_string()]);
        let block = Request::new("PUT", target("copy") + "?comp=block&blockid=MDA=");
        let block = from(block, &format!("http://{address}/x?sig=a")).with("x-ms-source-range", "bytes=1-3");
        let block = block.with("x-ms-copy-source-authorization", "Bearer abc");
        assert_eq!(code(&destination.ask(block)), (400, "CannotVerifyCopySource"), "{head}");
        let request = requests.recv().unwrap();
        for line in ["GET /x?sig=a HTTP/1.1\r\n", "Range: bytes=1-3\r\n", "Authorization: Bearer abc\r\n"] {
            assert!(request.contains(line), "{request}");
        }
    }
}

/// Nothing is fetched that the operator does not allow.
#[test]
fn only_allowed_hosts_are_contacted() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let none = Blobs::start(&[]);
    let other_port = Blobs::start(&["127.0.0.1", "localhost:1", "example.org", ".0.0.1"]);
    for destination in [&none, &other_port] {
        for url in [
            format!("http://127.0.0.1:{port}/c/b"),
            format!("http://localhost:{port}/c/b"),
            format!("http://[::ffff:127.0.0.1]:{port}/c/b"),
            format!("http://2130706433:{port}/c/b"),
            format!("http://127.1:{port}/c/b"),
            format!("http://example.org@127.0.0.1:{port}/c/b"),
            format!("http://127.0.0.1:80@127.0.0.1:{port}/c/b"),
            format!("http://example.org\\@127.0.0.1:{port}/c/b"),
            format!("http://127.0.0.1:{port}#example.org/c/b"),
        ] {
            for rejected in [destination.copy("x", &url), destination.put_from_url("x", &url)] {
                assert_eq!(code(&rejected), (400, "CannotVerifyCopySource"), "{url}");
            }
        }
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody connected");
}

/// The destination is checked first: a request that cannot succeed opens no connection.
#[test]
fn nothing_is_fetched_for_a_destination_that_rejects() {
    let (address, requests) = web("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let destination = Blobs::start(&[&address.to_string()]);
    assert_eq!(destination.put("there", "BlockBlob", "x").status, 201);
    let url = format!("http://{address}/x");
    let rejected = from(Request::new("PUT", target("there")), &url).with("If-None-Match", "*");
    assert_eq!(code(&destination.ask(rejected)), (409, "BlobAlreadyExists"));
    let nowhere = from(Request::new("PUT", "/devstoreaccount1/none/x"), &url);
    assert_eq!(code(&destination.ask(nowhere)), (404, "ContainerNotFound"));
    assert!(requests.try_recv().is_err(), "nothing was requested");
    assert_eq!(destination.copy("new", &url).status, 202);
    assert!(requests.recv().unwrap().starts_with("GET /x HTTP/1.1\r\n"));
}

/// A source on this server needs no permission, even under another of its names, and no connection.
#[test]
fn a_source_on_this_server_is_not_fetched() {
    let server = Blobs::start(&[]);
    assert_eq!(server.put("b", "BlockBlob", "hello").status, 201);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}{}", server.address.port(), target("b"));
        assert_eq!(server.copy("copy", &url).status, 202, "{host}");
    }
}
