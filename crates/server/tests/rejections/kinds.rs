//! The kinds of rejection: how each is provoked.

use lazuli_model::Service;
use lazuli_probe::Request;
use lazuli_protocol::auth::DEVELOPMENT_ACCOUNT;

use crate::requests::{append, change, forged, read, read_of, signed, unsigned, with_token};
use crate::world::Wire;

const ALL: &[Service] = &Service::ALL;
const TABLES: &[Service] = &[Service::Table];
const QUEUES: &[Service] = &[Service::Queue];
const BLOBS: &[Service] = &[Service::Blob];
const TABLES_AND_BLOBS: &[Service] = &[Service::Blob, Service::Table];
const TABLES_AND_QUEUES: &[Service] = &[Service::Queue, Service::Table];

/// Makes the bytes of the request with this number.
type Make = fn(Service, usize) -> Vec<u8>;

/// A kind of rejection.
pub struct Kind {
    pub name: &'static str,
    pub make: Make,
    /// The services that reject such a request.
    pub services: &'static [Service],
    /// Runs before each round of requests.
    pub prepare: fn(&mut Wire, Service),
    /// The body that the head announces is not sent.
    pub leaves_body: bool,
}

const fn kind(name: &'static str, services: &'static [Service], make: Make) -> Kind {
    Kind { name, make, services, prepare: |_, _| (), leaves_body: false }
}

/// A kind of request whose body is announced, but never sent.
const fn partial(name: &'static str, services: &'static [Service], make: Make) -> Kind {
    Kind { leaves_body: true, ..kind(name, services, make) }
}

/// Rejections of requests that need no key.
pub const WITHOUT_KEY: &[Kind] = &[
    kind("no signature", ALL, |service, number| unsigned(service, read(service, number))),
    kind("wrong key", ALL, |service, number| forged(service, DEVELOPMENT_ACCOUNT, read(service, number))),
    kind("wrong key, change", ALL, |service, number| {
        forged(service, DEVELOPMENT_ACCOUNT, change(service, number))
    }),
    kind("unknown account", ALL, |service, number| {
        let account = format!("nobody{number}");
        forged(service, &account, read_of(&account, service, number))
    }),
    kind("malformed Authorization", ALL, |service, number| {
        with_authorization(service, number, "SharedKey nonsense")
    }),
    kind("unknown scheme", ALL, |service, number| {
        with_authorization(service, number, "Basic bm9ib2R5OnNlY3JldA==")
    }),
    kind("bearer token", ALL, |service, number| {
        with_authorization(service, number, "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln")
    }),
    kind("malformed access signature", ALL, |service, number| {
        with_parameters(service, number, "sv=2021-08-06&sig=x")
    }),
    kind("forged access signature", ALL, |service, number| with_parameters(service, number, FORGED_TERMS)),
    kind("unsupported version", ALL, |service, number| {
        unsigned(service, read(service, number).with("x-ms-version", "1999-01-01"))
    }),
    kind("malformed path", ALL, |service, number| {
        unsigned(service, Request::new("GET", format!("/{DEVELOPMENT_ACCOUNT}/%zz{number}")))
    }),
    kind("malformed query", ALL, |service, number| with_parameters(service, number, "%zz=%")),
    kind("page of another site", ALL, |service, number| {
        let request = read(service, number).with("User-Agent", "Mozilla/5.0");
        unsigned(service, request.with("Origin", "http://other.example"))
    }),
    kind("preflight", ALL, |service, number| {
        let mut request = read(service, number).with("Origin", "http://other.example");
        request.method = "OPTIONS".into();
        unsigned(service, request.with("Access-Control-Request-Method", "GET"))
    }),
    kind("no Host", ALL, |_, number| {
        format!("GET /{DEVELOPMENT_ACCOUNT}/things?{number} HTTP/1.1\r\n\r\n").into_bytes()
    }),
    kind("not HTTP", ALL, |_, number| format!("HELO {number}\r\n\r\n").into_bytes()),
    kind("version of HTTP", ALL, |_, number| {
        format!("GET /{number} HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n").into_bytes()
    }),
    kind("head too large", ALL, |service, number| {
        unsigned(service, read(service, number).with("x-ms-meta-a", "x".repeat(65 * 1024)))
    }),
    kind("too many headers", ALL, |service, number| {
        let many = (0..200).fold(read(service, number), |request, _| request.with("x-ms-meta-a", "x"));
        unsigned(service, many)
    }),
    kind("malformed Content-Length", ALL, |service, number| {
        unsigned(service, change(service, number).with("Content-Length", "many"))
    }),
    kind("two framings", ALL, |service, number| {
        let request = change(service, number).with("Content-Length", "5");
        unsigned(service, request.with("Transfer-Encoding", "chunked"))
    }),
    partial("large body", ALL, |service, number| unsigned(service, large(service, number))),
];

/// Rejections of requests with a valid signature.
pub const WITH_KEY: &[Kind] = &[
    kind("old date", ALL, |service, number| {
        signed(service, read(service, number).with("x-ms-date", "Mon, 01 Jun 2020 00:00:00 GMT"))
    }),
    kind("expired access signature", ALL, |service, number| {
        let terms = "ss=bqt&srt=sco&sp=rwl&se=2020-01-01T00%3A00%3A00Z";
        unsigned(service, with_token(read(service, number), terms))
    }),
    kind("missing permission", ALL, |service, number| {
        let terms = "ss=bqt&srt=sco&sp=l&se=2099-01-01T00%3A00%3A00Z";
        unsigned(service, with_token(change(service, number), terms))
    }),
    kind("other kind of resource", ALL, |service, number| {
        let terms = "ss=bqt&srt=s&sp=rwl&se=2099-01-01T00%3A00%3A00Z";
        unsigned(service, with_token(read(service, number), terms))
    }),
    kind("missing container", ALL, |service, number| {
        signed(service, Request::new("GET", missing(service, number)))
    }),
    kind("invalid name", ALL, |service, number| {
        let end = match service {
            Service::Table => "()",
            Service::Queue => "?comp=metadata",
            Service::Blob => "?restype=container",
        };
        signed(service, Request::new("GET", format!("/{DEVELOPMENT_ACCOUNT}/-{number}-{end}")))
    }),
    kind("existing container", ALL, existing),
    kind("failed condition", TABLES_AND_BLOBS, condition),
    kind("malformed receipt", QUEUES, malformed_receipt),
    kind("existing object", TABLES_AND_BLOBS, existing_object),
    kind("missing header", TABLES_AND_BLOBS, missing_header),
    kind("malformed header", TABLES_AND_BLOBS, malformed_header),
    kind("invalid parameter", ALL, |service, number| {
        let mut request = read(service, number);
        append(&mut request, "timeout=soon");
        signed(service, request)
    }),
    kind("unsupported method", ALL, |service, number| {
        let mut request = read(service, number);
        request.method = "BREW".into();
        signed(service, request)
    }),
    kind("malformed body", ALL, malformed_body),
    kind("wrong checksum", BLOBS, |service, number| {
        signed(service, change(service, number).with("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="))
    }),
    partial("body too large", ALL, |service, number| signed(service, large(service, number))),
    kind("body too large, in chunks", TABLES_AND_QUEUES, in_chunks),
    kind("malformed filter", TABLES, |service, number| {
        let filter = format!("a%20b%20{number}");
        signed(service, Request::new("GET", format!("/{DEVELOPMENT_ACCOUNT}/things()?$filter={filter}")))
    }),
    kind("batch with a failing change", TABLES, batch),
];

/// Rejections of an address that has failed to authenticate too often. They come last: from then on the others, that have no key,
/// are rejected for this reason.
pub const FAILED_TOO_OFTEN: &[Kind] = &[Kind {
    prepare: |wire, service| {
        let request = forged(service, DEVELOPMENT_ACCOUNT, read(service, 0));
        while wire.exchange(&request) != 503 {}
    },
    ..kind("too many failures", ALL, |service, number| {
        forged(service, DEVELOPMENT_ACCOUNT, read(service, number))
    })
}];

/// The terms of an access signature to everything, with an invalid signature.
const FORGED_TERMS: &str = "sv=2021-08-06&ss=bqt&srt=sco&sp=rl&se=2099-01-01T00%3A00%3A00Z\
    &sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D";

fn with_authorization(service: Service, number: usize, value: &'static str) -> Vec<u8> {
    unsigned(service, read(service, number).with("Authorization", value))
}

/// A read with more parameters, without another signature.
fn with_parameters(service: Service, number: usize, parameters: &str) -> Vec<u8> {
    let mut request = read(service, number);
    append(&mut request, parameters);
    unsigned(service, request)
}

/// A change that announces more than any service accepts.
fn large(service: Service, number: usize) -> Request {
    change(service, number).body("").with("Content-Length", "9000000000000")
}

/// The path of something in a container that does not exist.
fn missing(service: Service, number: usize) -> String {
    let path = match service {
        Service::Table => format!("missing{number}()"),
        Service::Queue => format!("missing{number}/messages"),
        Service::Blob => format!("missing{number}/a"),
    };
    format!("/{DEVELOPMENT_ACCOUNT}/{path}")
}

fn existing(service: Service, number: usize) -> Vec<u8> {
    let at = |path: &str| format!("/{DEVELOPMENT_ACCOUNT}/{path}");
    let request = match service {
        Service::Table => Request::new("POST", at("Tables")).json("{\"TableName\":\"things\"}"),
        Service::Queue => Request::new("PUT", at("things")).with("x-ms-meta-number", number.to_string()),
        Service::Blob => Request::new("PUT", at("things?restype=container")),
    };
    signed(service, request)
}

/// A change on a condition that does not hold.
fn condition(service: Service, number: usize) -> Vec<u8> {
    let at = |path: &str| format!("/{DEVELOPMENT_ACCOUNT}/{path}");
    let request = match service {
        Service::Table => Request::new("PUT", at("things(PartitionKey='p',RowKey='a')"))
            .json(format!("{{\"N\":{number}}}"))
            .with("If-Match", "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""),
        _ => change(service, number).with("If-Match", "\"0x8D0000000000000\""),
    };
    signed(service, request)
}

/// The deletion of a message with a receipt that no message can have.
fn malformed_receipt(service: Service, number: usize) -> Vec<u8> {
    let id = format!("11111111-2222-3333-4444-{number:012}");
    let path = format!("/{DEVELOPMENT_ACCOUNT}/things/messages/{id}?popreceipt=AgAAAAMAAAAAAAAA");
    signed(service, Request::new("DELETE", path))
}

/// A creation of something that exists.
fn existing_object(service: Service, number: usize) -> Vec<u8> {
    let at = |path: &str| format!("/{DEVELOPMENT_ACCOUNT}/{path}");
    let request = match service {
        Service::Table => Request::new("POST", at("things"))
            .json(format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"a\",\"N\":{number}}}")),
        _ => Request::new("PUT", at("things/a"))
            .with("x-ms-blob-type", "BlockBlob")
            .with("If-None-Match", "*")
            .body(format!("content {number}")),
    };
    signed(service, request)
}

fn missing_header(service: Service, number: usize) -> Vec<u8> {
    let at = |path: &str| format!("/{DEVELOPMENT_ACCOUNT}/{path}");
    let request = match service {
        Service::Table => Request::new("DELETE", at(&format!("things(PartitionKey='p',RowKey='{number}')"))),
        _ => Request::new("PUT", at(&format!("things/new{number}"))).body("content"),
    };
    signed(service, request)
}

fn malformed_header(service: Service, number: usize) -> Vec<u8> {
    let request = match service {
        Service::Table => {
            let path = format!("/{DEVELOPMENT_ACCOUNT}/things(PartitionKey='p',RowKey='a')");
            Request::new("PUT", path).json(format!("{{\"N\":{number}}}")).with("If-Match", "nonsense")
        }
        _ => read(service, number).with("x-ms-lease-id", "not an id").with("x-ms-range", "bytes=b-a"),
    };
    signed(service, request)
}

fn malformed_body(service: Service, number: usize) -> Vec<u8> {
    let request = match service {
        Service::Table => change(service, number).body("{\"PartitionKey\":"),
        Service::Queue => change(service, number).body("<QueueMessage><"),
        Service::Blob => {
            Request::new("PUT", format!("/{DEVELOPMENT_ACCOUNT}/things/new{number}?comp=blocklist"))
                .body("<BlockList><")
        }
    };
    signed(service, request)
}

/// A body that exceeds the limit of buffered bodies only once it has arrived.
fn in_chunks(service: Service, number: usize) -> Vec<u8> {
    let request =
        change(service, number).body(vec![b' '; 5 * 1024 * 1024]).with("Transfer-Encoding", "chunked");
    signed(service, request)
}

/// A transaction whose last change is rejected.
fn batch(service: Service, number: usize) -> Vec<u8> {
    let change = |row: &str| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             POST http://127.0.0.1/{DEVELOPMENT_ACCOUNT}/things HTTP/1.1\r\nContent-Type: application/json\r\n\r\n\
             {{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}\r\n"
        )
    };
    let (first, second) = (change(&format!("new{number}")), change("a"));
    let body =
        format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{first}{second}--c--\r\n--b--\r\n");
    let request = Request::new("POST", format!("/{DEVELOPMENT_ACCOUNT}/$batch"))
        .with("Content-Type", "multipart/mixed; boundary=b")
        .body(body);
    signed(service, request)
}
