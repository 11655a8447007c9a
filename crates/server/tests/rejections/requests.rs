//! Requests of each service that are valid until something is made wrong with them. Each has a number, so that no two are equal.

use lazuli_model::Service;
use lazuli_probe::{Request, Signer};
use lazuli_protocol::auth::sas::Token;
use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_protocol::http::query::Query;
use lazuli_server::clock;

/// A key that no account has.
const OTHER_KEY: &str = "b3RoZXIga2V5IG90aGVyIGtleSBvdGhlciBrZXkgb3RoZXIga2V5IG90aGVyIGtleQ==";

/// Adds the headers that every request has.
fn complete(service: Service, mut request: Request) -> Request {
    for (name, value) in [("Host", "127.0.0.1"), ("x-ms-version", "2021-08-06")] {
        if request.header(name).is_none() {
            request = request.with(name, value);
        }
    }
    if service == Service::Table && request.header("Accept").is_none() {
        request = request.with("Accept", "application/json;odata=nometadata");
    }
    request
}

/// The bytes of a request with a valid signature.
pub fn signed(service: Service, request: Request) -> Vec<u8> {
    let mut request = complete(service, request);
    Signer::development(service).sign(&mut request, clock::now());
    request.bytes()
}

/// The bytes of a request with a signature by a key that the account does not have.
pub fn forged(service: Service, account: &str, request: Request) -> Vec<u8> {
    let mut request = complete(service, request);
    let key = AccountKey::from_base64(OTHER_KEY).unwrap();
    Signer::new(service, account, key).sign(&mut request, clock::now());
    request.bytes()
}

/// The bytes of a request without a signature.
pub fn unsigned(service: Service, request: Request) -> Vec<u8> {
    let mut request = complete(service, request);
    request.announce_length();
    request.bytes()
}

/// A read of something that exists, by an account of any name.
pub fn read_of(account: &str, service: Service, number: usize) -> Request {
    let path = match service {
        Service::Table => format!("things(PartitionKey='p',RowKey='a')?number={number}"),
        Service::Queue => format!("things?comp=metadata&number={number}"),
        Service::Blob => format!("things/a?number={number}"),
    };
    Request::new("GET", format!("/{account}/{path}"))
}

/// A read of something that exists.
pub fn read(service: Service, number: usize) -> Request {
    read_of(DEVELOPMENT_ACCOUNT, service, number)
}

/// A change that would succeed.
pub fn change(service: Service, number: usize) -> Request {
    let target = match service {
        Service::Table => "things".to_owned(),
        Service::Queue => "things/messages".to_owned(),
        Service::Blob => format!("things/new{number}"),
    };
    let target = format!("/{DEVELOPMENT_ACCOUNT}/{target}");
    match service {
        Service::Table => Request::new("POST", target)
            .json(format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"new{number}\"}}")),
        Service::Queue => Request::new("POST", target)
            .body(format!("<QueueMessage><MessageText>{number}</MessageText></QueueMessage>")),
        Service::Blob => {
            Request::new("PUT", target).with("x-ms-blob-type", "BlockBlob").body(format!("content {number}"))
        }
    }
}

/// The same request with a shared access signature with these terms, signed with the account's key.
pub fn with_token(mut request: Request, terms: &str) -> Request {
    let query = format!("sv=2021-08-06&{terms}&sig=x");
    let mut token = Token::parse(Query(&query)).unwrap();
    assert!(token.sign(DEVELOPMENT_ACCOUNT, &AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()));
    append(&mut request, &token.to_query());
    request
}

/// Adds parameters to the target.
pub fn append(request: &mut Request, parameters: &str) {
    request.target.push(if request.target.contains('?') { '&' } else { '?' });
    request.target.push_str(parameters);
}
