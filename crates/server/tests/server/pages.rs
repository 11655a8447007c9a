//! Web pages and the development account, whose key is public.

use crate::support::{Request, Server};

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Finding 8: a page of another site cannot use the public key, unless a CORS rule allows its origin.
#[test]
fn finding_8_web_pages_cannot_use_the_development_account() {
    let server = Server::with(lazuli_server::Limits::default());
    let mut client = server.connect();
    let page = |origin: &str| Request::get("/Tables").with("User-Agent", BROWSER).with("Origin", origin);
    let response = client.ask(&page("http://evil.example"));
    assert_eq!((response.status, response.code()), (403, "CorsPreflightFailure"));
    let cross_site = Request::get("/Tables").with("Sec-Fetch-Site", "cross-site");
    assert_eq!(client.ask(&cross_site).status, 403);
    let rebound = Request::get("/Tables").with("User-Agent", BROWSER).set("Host", "evil.example:10002");
    assert_eq!(client.ask(&rebound).status, 403);
    // Programs that are not browsers are served as always.
    let tool = Request::get("/Tables").with("Origin", "http://other.example");
    assert_eq!(client.ask(&tool).status, 200);
    assert_eq!(client.ask(&Request::get("/Tables")).status, 200);
    let own = Request::get("/Tables").with("User-Agent", BROWSER).with("Sec-Fetch-Site", "same-origin");
    assert_eq!(client.ask(&own).status, 200);
}

/// Finding 8: a page can post a form without asking first; no client sends a batch as one.
#[test]
fn finding_8_batches_are_not_forms() {
    let server = Server::with(lazuli_server::Limits::default());
    let mut client = server.connect();
    let form =
        Request::post("/$batch", "--b\r\n\r\n--b--").set("Content-Type", "multipart/form-data; boundary=b");
    assert_eq!(client.ask(&form).status, 400);
}
