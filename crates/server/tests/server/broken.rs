//! Would the transcripts notice? One feature at a time is broken between them and a server; some transcript must report
//! a difference. If no transcript notices, the feature is not covered.

use std::io;
use std::sync::Arc;

use lazuli_conformance::{
    ConformanceReport, DifferenceKind, Options, Target, TranscriptRequest, TranscriptResponse, Transport,
    run_on,
};
use lazuli_engine::Clock;
use lazuli_engine::memory::Memory;
use lazuli_probe::blocking::Client;
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_KEY};
use lazuli_server::{Config, Service};

/// An account whose key is not public: some transcripts play web pages, which may not use a public key.
const ACCOUNT: &str = "golden";

/// The fault of a response.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Responses lack a header.
    Lacks(&'static str),
    /// The value of a header contains the second string instead of the first.
    Says(&'static str, &'static str, &'static str),
    /// Header names are in lower case.
    LowerCase,
    /// The second status instead of the first.
    Status(u16, u16),
    /// Bodies of responses contain the second string instead of the first.
    Body(&'static str, &'static str),
    /// The server behaves as if requests had another value in a header, or did not have it.
    Hears(&'static str, Option<&'static str>),
    /// A query option is not honoured.
    Ignores(&'static str),
    /// The first verb is handled as the second one.
    Verb(&'static str, &'static str),
    /// Bodies are always asked for with `100 Continue`.
    Continues,
}
use Fault::{Body, Continues, Hears, Ignores, Lacks, LowerCase, Says, Status, Verb};

/// Faults of the Table service, with the transcripts that must notice.
const TABLE: &[(Fault, &str)] = &[
    (Lacks("ETag"), "table/get"),
    (Lacks("Location"), "table/insert"),
    (Lacks("DataServiceId"), "table/headers"),
    (Lacks("Preference-Applied"), "table/headers"),
    (Lacks("DataServiceVersion"), "table/versions"),
    (Lacks("Server"), "table/headers"),
    (Says("Server", "Table Service Version", "Windows-Azure-Table"), "table/versions"),
    (Says("Server", "Windows-Azure-Table/1.0 ", ""), "table/headers"),
    (Lacks("x-ms-request-id"), "table/headers"),
    (Lacks("x-ms-version"), "table/versions"),
    (Lacks("Cache-Control"), "table/headers"),
    (Lacks("Date"), "table/headers"),
    (Lacks("X-Content-Type-Options"), "table/headers"),
    (Lacks("x-ms-client-request-id"), "table/headers"),
    (Lacks("x-ms-continuation-NextPartitionKey"), "table/paging"),
    (Lacks("x-ms-continuation-NextRowKey"), "table/paging"),
    (Lacks("x-ms-continuation-NextTableName"), "table/tables"),
    (Lacks("x-ms-error-code"), "table/headers"),
    (Lacks("Access-Control-Allow-Origin"), "table/cors"),
    (Lacks("WWW-Authenticate"), "table/auth"),
    (LowerCase, "table/headers"),
    (Says("Content-Type", ";charset=utf-8", ""), "table/get"),
    (Says("Content-Type", "minimalmetadata", "nometadata"), "table/get"),
    (Status(201, 200), "table/insert"),
    (Status(204, 200), "table/update"),
    (Status(202, 200), "table/batch"),
    (Status(404, 400), "table/get"),
    (Status(409, 400), "table/insert"),
    (Status(412, 409), "table/etags"),
    (Status(403, 401), "table/auth"),
    (Status(405, 400), "table/update"),
    (Status(413, 400), "table/limits"),
    (Body("odata.metadata", "metadata"), "table/get"),
    (Body("odata.etag", "etag"), "table/get"),
    (Body("@odata.type", "@type"), "table/types"),
    (Body("\"Timestamp\"", "\"Time\""), "table/query"),
    (Body("m:etag", "etag"), "table/atom"),
    (Body(" m:type=", " type="), "table/atom"),
    (Body("Content-ID", "X-Content-ID"), "table/batch"),
    (Body("DataServiceVersion: ", "X: "), "table/batch"),
    (Body("\"value\":\"0:", "\"value\":\""), "table/batch"),
    (Body("RequestId:", "Request:"), "table/errors"),
    (Body("\\nTime:", "\\nAt:"), "table/errors"),
    (Hears("If-Match", Some("*")), "table/etags"),
    (Hears("Prefer", None), "table/headers"),
    (Hears("Accept", Some("application/json;odata=nometadata")), "table/get"),
    (Hears("x-ms-version", Some("2019-02-02")), "table/atom"),
    (Hears("x-ms-client-request-id", None), "table/headers"),
    (Hears("X-HTTP-Method", None), "table/tunnelling"),
    (Hears("Origin", None), "table/cors"),
    (Ignores("$filter"), "table/filter"),
    (Ignores("$top"), "table/top"),
    (Ignores("$select"), "table/select"),
    (Ignores("$format"), "table/atom"),
    (Ignores("NextPartitionKey"), "table/paging"),
    (Ignores("NextRowKey"), "table/paging"),
    (Ignores("NextTableName"), "table/tables"),
    (Verb("MERGE", "PUT"), "table/merge"),
    (Verb("PATCH", "PUT"), "table/merge"),
    (Verb("PUT", "MERGE"), "table/update"),
    (Continues, "table/headers"),
];

const QUEUE: &[(Fault, &str)] = &[
    (Lacks("x-ms-popreceipt"), "queue/messages"),
    (Lacks("x-ms-time-next-visible"), "queue/messages"),
    (Lacks("x-ms-approximate-messages-count"), "queue/"),
    (Lacks("Server"), "queue/headers"),
    (Says("Server", "Queue Service Version", "Windows-Azure-Queue"), "queue/versions"),
    (Status(201, 200), "queue/messages"),
    (Status(204, 200), "queue/messages"),
    (Status(404, 400), "queue/messages"),
    (Body("<DequeueCount>1", "<DequeueCount>0"), "queue/messages"),
    (Body("<PopReceipt>", "<Receipt>"), "queue/messages"),
    (Body("\u{feff}", ""), "queue/errors"),
    (LowerCase, "queue/headers"),
];

const BLOB: &[(Fault, &str)] = &[
    (Lacks("ETag"), "blob/put"),
    (Lacks("Last-Modified"), "blob/put"),
    (Lacks("Content-MD5"), "blob/put"),
    (Lacks("x-ms-blob-type"), "blob/put"),
    (Lacks("x-ms-lease-id"), "blob/leases"),
    (Lacks("x-ms-lease-state"), "blob/"),
    (Lacks("x-ms-copy-id"), "blob/copies"),
    (Lacks("Content-Range"), "blob/"),
    (Lacks("x-ms-error-code"), "blob/errors"),
    (Says("Server", "Blob Service Version", "Windows-Azure-Blob"), "blob/eras"),
    (Status(206, 200), "blob/"),
    (Status(304, 412), "blob/conditions"),
    (Status(412, 409), "blob/conditions"),
    (Status(416, 400), "blob/"),
    (Body("<NextMarker", "<Marker"), "blob/list"),
    (Body("<BlobPrefix>", "<Prefix>"), "blob/list"),
    (LowerCase, "blob/"),
];

/// A server in front of which something is broken.
struct Broken {
    client: Client,
    fault: Option<Fault>,
}

impl Transport for Broken {
    fn exchange(&mut self, request: &TranscriptRequest) -> io::Result<TranscriptResponse> {
        let mut request = request.clone();
        if let Some(fault) = self.fault {
            misread(fault, &mut request);
        }
        let mut response = Transport::exchange(&mut self.client, &request)?;
        if let Some(fault) = self.fault {
            spoil(fault, &mut response);
        }
        Ok(response)
    }
}

fn misread(fault: Fault, request: &mut TranscriptRequest) {
    match fault {
        Hears(name, value) => {
            request.headers.retain_mut(|(given, text)| match value {
                Some(value) if given.eq_ignore_ascii_case(name) => {
                    value.clone_into(text);
                    true
                }
                _ => !given.eq_ignore_ascii_case(name),
            });
        }
        Ignores(option) => {
            let Some((path, query)) = request.target.split_once('?') else { return };
            let escaped = option.replace('$', "%24");
            let is_kept = |part: &&str| {
                let name = part.split('=').next().unwrap_or_default();
                name != option && name != escaped
            };
            let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
            request.target = format!("{path}?{}", kept.join("&"));
        }
        Verb(from, to) if request.method == from => to.clone_into(&mut request.method),
        _ => {}
    }
}

fn spoil(fault: Fault, response: &mut TranscriptResponse) {
    match fault {
        Lacks(name) => response.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name)),
        Says(name, from, to) => {
            for (given, value) in &mut response.headers {
                if given.eq_ignore_ascii_case(name) {
                    *value = value.replace(from, to);
                }
            }
        }
        LowerCase => response.headers.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase()),
        Status(from, to) if response.status == from => response.status = to,
        Body(from, to) => {
            if let Ok(text) = String::from_utf8(response.body.clone()) {
                response.body = text.replace(from, to).into_bytes();
            }
        }
        Continues => response.continued = response.continued.map(|_| true),
        _ => {}
    }
}

/// Exchanges that differ, except those that could not be sent.
fn noticed(report: &ConformanceReport) -> usize {
    let differences = report.outcomes.iter().flat_map(|outcome| &outcome.differences);
    differences
        .filter(|found| !matches!(found.kind, DifferenceKind::Setup | DifferenceKind::Transport))
        .count()
}

async fn check(service: Service, faults: &'static [(Fault, &'static str)]) {
    let any_port = ([127, 0, 0, 1], 0).into();
    let mut config = Config::new(any_port);
    config.listen = config.listen.on(Service::Queue, any_port).on(Service::Blob, any_port);
    let accounts = vec![ConfiguredAccount { name: ACCOUNT.into(), ..ConfiguredAccount::development() }];
    let engine = Arc::new(Memory::new(Clock::system()));
    let server = lazuli_server::start(config, engine, accounts).await.unwrap();
    let address = server.listen.get(service).unwrap();
    let target = Target::new(&format!("http://{address}/{ACCOUNT}"), ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let target = target.with_service(service);
    let unnoticed = tokio::task::spawn_blocking(move || {
        // Without a fault there is nothing to notice.
        let mut sound = Broken { client: Client::plain(target.authority()), fault: None };
        let report = run_on(&mut sound, &Options::new(target.clone()));
        assert!(report.is_clean(), "{}", report.table());
        let mut unnoticed = Vec::new();
        for (fault, filter) in faults {
            let options = Options { filter: Some((*filter).to_owned()), ..Options::new(target.clone()) };
            let mut broken = Broken { client: Client::plain(target.authority()), fault: Some(*fault) };
            if noticed(&run_on(&mut broken, &options)) == 0 {
                unnoticed.push(format!("{fault:?} by {filter}"));
            }
        }
        unnoticed
    });
    let unnoticed = unnoticed.await.unwrap();
    server.stop().await.unwrap();
    assert!(unnoticed.is_empty(), "no transcript notices {unnoticed:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_notice_broken_tables() {
    assert!(TABLE.len() >= 41);
    check(Service::Table, TABLE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_notice_broken_queues() {
    check(Service::Queue, QUEUE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_notice_broken_blobs() {
    check(Service::Blob, BLOB).await;
}
