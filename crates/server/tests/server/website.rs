//! Static websites from the container `$web`.

use std::net::{Ipv4Addr, SocketAddr};

use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_server::clock;

use crate::support::{HANG, Server};

const BY_NAME: &str = "devstoreaccount1.web.localhost";

struct Site {
    server: Server,
    blobs: SocketAddr,
}

impl Site {
    /// A server with some pages.
    fn start() -> Self {
        let server = Server::with_config(|config| {
            let any_port = (Ipv4Addr::LOCALHOST, 0).into();
            config.listen = config.listen.on(Service::Blob, any_port);
            config.websites = Some(any_port);
        });
        let blobs = server.running().listen.get(Service::Blob).unwrap();
        let site = Self { server, blobs };
        site.put(Request::new("PUT", "/$web?restype=container"), 201);
        for (name, text) in [
            ("index.html", "home"),
            ("docs/index.html", "docs"),
            ("a%20b.txt", "0123456789"),
            ("404.html", "lost"),
        ] {
            let put = Request::new("PUT", format!("/$web/{name}")).with("x-ms-blob-type", "BlockBlob");
            let put = put.with("x-ms-blob-content-type", "text/html").with("x-ms-meta-secret", "s");
            site.put(put.body(text), 201);
        }
        site
    }

    fn configure(&self, settings: &str) {
        let body = format!(
            "<StorageServiceProperties><StaticWebsite>{settings}</StaticWebsite></StorageServiceProperties>"
        );
        self.put(Request::new("PUT", "/?restype=service&comp=properties").body(body), 202);
    }

    fn enable(&self) {
        self.configure(
            "<Enabled>true</Enabled><IndexDocument>index.html</IndexDocument>\
             <ErrorDocument404Path>404.html</ErrorDocument404Path>",
        );
    }

    fn put(&self, request: Request, status: u16) {
        let target = format!("/devstoreaccount1{}", request.target);
        let mut request = Request { target, ..request };
        request = request.with("Host", self.blobs.to_string()).with("x-ms-version", "2021-12-02");
        Signer::development(Service::Blob).sign(&mut request, clock::now());
        let response = exchange(self.blobs, &request);
        assert_eq!(response.status, status, "{}", response.text());
    }

    /// By host name, on the port of blobs.
    fn by_name(&self, request: Request) -> Response {
        let mut request = request.with("Host", format!("{BY_NAME}:{}", self.blobs.port()));
        request.announce_length();
        exchange(self.blobs, &request)
    }

    /// By path, on a port of its own.
    fn by_path(&self, request: Request) -> Response {
        let address = self.server.running().websites.unwrap();
        let target = format!("/devstoreaccount1{}", request.target);
        let mut request = Request { target, ..request }.with("Host", address.to_string());
        request.announce_length();
        exchange(address, &request)
    }
}

fn exchange(address: SocketAddr, request: &Request) -> Response {
    Connection::open(&address.to_string(), HANG).unwrap().exchange(request).unwrap()
}

/// Index and error documents, by host name and by path.
#[test]
fn pages_are_served_to_everyone() {
    let site = Site::start();
    let off = site.by_name(Request::new("GET", "/"));
    assert_eq!((off.status, off.header("x-ms-error-code")), (404, Some("WebContentNotFound")), "it is off");
    site.enable();
    for (target, status, text) in [
        ("/", 200, "home"),
        ("/index.html", 200, "home"),
        ("/docs/", 200, "docs"),
        ("/docs", 200, "docs"),
        ("/a%20b.txt", 200, "0123456789"),
        ("/?comp=list&restype=container", 200, "home"),
        ("/none.html", 404, "lost"),
        ("/none/", 404, "lost"),
        ("/../secret", 404, "lost"),
    ] {
        for response in [site.by_name(Request::new("GET", target)), site.by_path(Request::new("GET", target))]
        {
            assert_eq!((response.status, response.text().as_str()), (status, text), "{target}");
            assert_eq!(response.header("Content-Type"), Some("text/html"));
            assert_eq!(response.header("Server"), Some("Windows-Azure-Web/1.0 Microsoft-HTTPAPI/2.0"));
            assert!(response.header("ETag").is_some() && response.header("Last-Modified").is_some());
            assert_eq!(
                (response.header("x-ms-meta-secret"), response.header("x-ms-blob-type")),
                (None, None)
            );
        }
    }
    let zoned = Request::new("GET", "/docs/").with("Host", "devstoreaccount1.z6.web.core.windows.net");
    assert_eq!(exchange(site.blobs, &zoned).text(), "docs", "a host name as in Azure");
}

/// Ranges, conditions and HEAD work as for every blob. Nothing else does.
#[test]
fn pages_are_only_read() {
    let site = Site::start();
    site.enable();
    let part = site.by_name(Request::new("GET", "/a%20b.txt").with("Range", "bytes=2-4"));
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    let beyond = site.by_name(Request::new("GET", "/a%20b.txt").with("Range", "bytes=20-"));
    assert_eq!((beyond.status, beyond.header("x-ms-error-code")), (416, Some("InvalidRange")));
    let etag = part.header("ETag").unwrap().to_owned();
    let same = site.by_path(Request::new("GET", "/a%20b.txt").with("If-None-Match", etag.clone()));
    assert_eq!(same.status, 304);
    let missing = site
        .by_path(Request::new("GET", "/none").with("If-None-Match", "\"0x1\"").with("Range", "bytes=0-1"));
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "lost"),
        "the error document is always whole"
    );
    let head = site.by_name(Request::new("HEAD", "/a%20b.txt"));
    assert_eq!((head.status, head.header("Content-Length"), head.body.len()), (200, Some("10"), 0));
    for method in ["PUT", "POST", "DELETE", "OPTIONS"] {
        let response = site.by_name(Request::new(method, "/index.html"));
        assert_eq!((response.status, response.header("Allow")), (405, Some("GET, HEAD")), "{method}");
        assert_eq!(site.by_path(Request::new(method, "/index.html")).status, 405, "{method}");
    }
    let stranger = Request::new("GET", "/nobody/index.html").with("Host", "localhost");
    assert_eq!(exchange(site.server.running().websites.unwrap(), &stranger).status, 404);
    // The container stays private.
    let blob = Request::new("GET", "/devstoreaccount1/$web/index.html").with("Host", site.blobs.to_string());
    assert_eq!(exchange(site.blobs, &blob).status, 404);
}

/// Without an error document the server sends a page with the error; a default index document serves every directory.
#[test]
fn other_settings() {
    let site = Site::start();
    site.configure(
        "<Enabled>true</Enabled><DefaultIndexDocumentPath>docs/index.html</DefaultIndexDocumentPath>",
    );
    assert_eq!(site.by_name(Request::new("GET", "/any/where/")).text(), "docs");
    site.configure("<Enabled>true</Enabled>");
    let none = site.by_name(Request::new("GET", "/"));
    assert_eq!((none.status, none.header("Content-Type")), (404, Some("text/html")));
    assert!(none.text().contains("<li>ErrorCode: WebContentNotFound</li>"), "{}", none.text());
    site.configure("<Enabled>false</Enabled>");
    assert_eq!(site.by_name(Request::new("GET", "/index.html")).status, 404);
}
