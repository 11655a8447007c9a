//! Web pages and the development account, whose key is public.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_model::{ErrorCode, Service};
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::http::ReadyBody;
use lazuli_server::{Config, Directory, Endpoint, State};

use crate::stuck::Stuck;
use crate::support::{Request, Server};
use crate::uploads::send;

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

/// Finding 8: with `--allowed-host`, the data ports reject every other name, so a name that a page has rebound to this
/// machine reaches no service. Nobody can rebind an address, so addresses stay allowed.
#[tokio::test]
async fn finding_8_other_host_names_are_rejected() {
    let allowed = vec!["storage.example.org".to_owned(), ".tools.example.org".to_owned()];
    let ask = async |service: Service, allowed: &[String], host: &str| {
        let config =
            Config { allowed_hosts: allowed.to_vec(), ..Config::new((Ipv4Addr::LOCALHOST, 0).into()) };
        let directory = Directory::new(vec![ConfiguredAccount::development()]);
        let state = State::over(Stuck::new(), directory, config).unwrap();
        let endpoint = Endpoint::new(Arc::new(state), service);
        let path = if service == Service::Table { "/Tables" } else { "?comp=list" };
        let request = lazuli_probe::Request::new("GET", format!("/devstoreaccount1{path}"))
            .with("Host", host.to_owned());
        send(&endpoint, request, &mut ReadyBody(Bytes::new())).await
    };
    for service in Service::ALL {
        for host in [
            "storage.example.org",
            "STORAGE.example.org:10000",
            "a.tools.example.org",
            "127.0.0.1:10000",
            "[::1]:10000",
        ] {
            assert_eq!(ask(service, &allowed, host).await, (200, None), "{service:?} {host}");
        }
        for host in [
            "evil.example",
            "localhost:10000",
            "tools.example.org",
            "a.storage.example.org",
            "storage.example.org.evil.example",
        ] {
            let rejected = (400, Some(ErrorCode::InvalidHeaderValue));
            assert_eq!(ask(service, &allowed, host).await, rejected, "{service:?} {host}");
            assert_eq!(ask(service, &[], host).await, (200, None), "no names are listed: {service:?} {host}");
        }
    }
}
