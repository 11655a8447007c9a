//! User delegation keys on real sockets: who gets one, and what the signatures made with it permit.

use std::net::Ipv4Addr;

use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_protocol::auth::sas::{Presented, Token};
use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_ACCOUNT as ACCOUNT, DEVELOPMENT_KEY};
use lazuli_server::clock;
use lazuli_server::oauth::{OauthSettings, development};
use serde_json::json;

use crate::support::{HANG, Server};

const VERSION: &str = "2026-02-06";
const USER: &str = "8b0c3b0e-0000-0000-0000-000000000001";
const REQUEST_KEY: &str = "?restype=service&comp=userdelegationkey";
const READER: &str = "Storage Blob Data Reader";
const CONTRIBUTOR: &str = "Storage Blob Data Contributor";
const OWNER: &str = "Storage Blob Data Owner";
const DELEGATOR: &str = "Storage Blob Delegator";
const QUEUE_DELEGATOR: &str = "Storage Queue Delegator";
const NO_PERMISSION: (u16, &str) = (403, "AuthorizationPermissionMismatch");

/// The credentials of a user with these roles.
fn bearer(roles: &[&str]) -> String {
    let end = clock::now().unix_seconds() + 3600;
    let claims = json!({
        "iss": development::ISSUER, "aud": development::AUDIENCE, "exp": end,
        "oid": USER, "tid": development::TENANT, "roles": roles,
    });
    format!("Bearer {}", development::token(&claims).unwrap())
}

/// Blobs and queues, with the container `files`, the blob `files/x` and the queue `work`.
struct Storage(Server);

impl Storage {
    fn start() -> Self {
        let storage = Self(Server::with_config(|config| {
            config.oauth = Some(OauthSettings::development());
            for service in [Service::Blob, Service::Queue] {
                config.listen = config.listen.on(service, (Ipv4Addr::LOCALHOST, 0).into());
            }
        }));
        let create = |service, target: &str| {
            let mut request = Request::new("PUT", format!("/{ACCOUNT}/{target}"))
                .with("x-ms-version", VERSION)
                .with("x-ms-blob-type", "BlockBlob")
                .body("");
            Signer::development(service).sign(&mut request, clock::now());
            assert_eq!(storage.ask(service, request).status, 201, "{target}");
        };
        create(Service::Blob, "files?restype=container");
        create(Service::Blob, "files/x");
        create(Service::Queue, "work");
        storage
    }

    fn ask(&self, service: Service, request: Request) -> Response {
        let host = self.0.running().listen.get(service).unwrap().to_string();
        let mut request = request.with("Host", host.clone());
        request.announce_length();
        Connection::open(&host, HANG).unwrap().exchange(&request).unwrap()
    }

    /// Get User Delegation Key with this body, by a user with these roles.
    fn request_key(&self, service: Service, roles: &[&str], body: &str) -> Response {
        let request = Request::new("POST", format!("/{ACCOUNT}/{REQUEST_KEY}"))
            .with("x-ms-version", VERSION)
            .with("Authorization", bearer(roles));
        self.ask(service, request.body(body))
    }

    /// The key that a user with these roles gets.
    fn key(&self, service: Service, roles: &[&str]) -> Key {
        let response = self.request_key(service, roles, &period());
        assert_eq!(response.status, 200, "{roles:?}: {}", response.text());
        Key(response.text())
    }

    /// The status and the code of a request to a resource with a signature.
    fn try_with(&self, sas: &str, method: &'static str, target: &str) -> (u16, String) {
        let separator = if target.contains('?') { '&' } else { '?' };
        let request = Request::new(method, format!("/{ACCOUNT}/{target}{separator}{sas}"))
            .with("x-ms-version", VERSION)
            .with("x-ms-blob-type", "BlockBlob");
        let body =
            if method == "POST" { "<QueueMessage><MessageText>m</MessageText></QueueMessage>" } else { "" };
        let request = if matches!(method, "PUT" | "POST") { request.body(body) } else { request };
        let service = if target.starts_with("work") { Service::Queue } else { Service::Blob };
        result(&self.ask(service, request))
    }
}

/// A user delegation key: the response that contains it.
struct Key(String);

impl Key {
    fn element(&self, name: &str) -> String {
        let rest = self.0.split_once(&format!("<{name}>")).unwrap().1;
        rest.split_once('<').unwrap().0.to_owned()
    }

    /// A signature for a resource, not signed yet.
    fn token(&self, resource: &str, permissions: &str) -> Token {
        let [skoid, sktid, skt, ske, sks, skv] =
            ["SignedOid", "SignedTid", "SignedStart", "SignedExpiry", "SignedService", "SignedVersion"]
                .map(|name| self.element(name));
        let sr = match (sks.as_str(), resource.contains('/')) {
            ("q", _) => "",
            (_, true) => "b",
            (_, false) => "c",
        };
        let (sv, sp, se) = (VERSION.into(), permissions.into(), ske.clone());
        Token { sv, sp, se, sr: sr.into(), skoid, sktid, skt, ske, sks, skv, ..Token::default() }
    }

    fn sas(&self, resource: &str, permissions: &str) -> String {
        signed(self.token(resource, permissions), resource, &self.element("Value"))
    }
}

fn signed(mut token: Token, resource: &str, key: &str) -> String {
    assert!(token.sign(Presented::resource(ACCOUNT, resource), &AccountKey::from_base64(key).unwrap()));
    token.to_query()
}

fn result(response: &Response) -> (u16, String) {
    (response.status, response.header("x-ms-error-code").unwrap_or_default().to_owned())
}

/// The next hour, as a request body.
fn period() -> String {
    let [start, end] = [-60, 3600].map(|seconds: i64| {
        let unix = (clock::now().unix_seconds() + seconds).unsigned_abs();
        lazuli_model::DateTime::from_unix(std::time::Duration::from_secs(unix)).iso_seconds()
    });
    format!("<KeyInfo><Start>{}</Start><Expiry>{}</Expiry></KeyInfo>", start.as_str(), end.as_str())
}

/// Every accepted bearer token got a key.
#[test]
fn only_some_roles_get_a_key() {
    let storage = Storage::start();
    let reader_here = format!("{READER}/{ACCOUNT}");
    let no_roles: &[&str] = &[];
    for (service, roles, gets) in [
        (Service::Blob, &[READER][..], true),
        (Service::Blob, &[CONTRIBUTOR], true),
        (Service::Blob, &[OWNER], true),
        (Service::Blob, &[DELEGATOR], true),
        (Service::Blob, &[&reader_here], true),
        (Service::Blob, no_roles, false),
        (Service::Blob, &["Storage Blob Data Owner/another", "Storage Blob Delegator/another"], false),
        (Service::Blob, &["Storage Queue Data Contributor", QUEUE_DELEGATOR], false),
        (Service::Queue, &[QUEUE_DELEGATOR], true),
        (Service::Queue, &["Storage Queue Data Reader", QUEUE_DELEGATOR], true),
        (Service::Queue, &["Storage Queue Data Contributor"], false),
        (Service::Queue, &["Storage Queue Data Reader"], false),
        (Service::Queue, &["Storage Queue Data Message Processor"], false),
        (Service::Queue, &["Storage Queue Data Message Sender"], false),
        (Service::Queue, &[OWNER, DELEGATOR], false),
        (Service::Queue, no_roles, false),
    ] {
        let response = storage.request_key(service, roles, &period());
        if gets {
            assert_eq!(response.status, 200, "{service:?} {roles:?}: {}", response.text());
            continue;
        }
        assert_eq!(result(&response), (403, NO_PERMISSION.1.into()), "{service:?} {roles:?}");
        assert!(!response.text().contains("<Value>"));
        // Before any other error in the request.
        let response = storage.request_key(service, roles, "<nonsense");
        assert_eq!(result(&response), (403, NO_PERMISSION.1.into()), "{service:?} {roles:?}");
    }
    assert_eq!(result(&storage.request_key(Service::Blob, &[READER], "<nonsense")).0, 400);
}

/// A reader could sign write access for itself.
#[test]
fn a_signature_permits_no_more_than_its_users_roles() {
    let storage = Storage::start();
    let tags = "files/x?comp=tags";
    let ok = |status| (status, "");
    for (roles, permissions, method, target, expected) in [
        (&[READER][..], "rw", "GET", "files/x", ok(200)),
        (&[READER], "rw", "PUT", "files/x", NO_PERMISSION),
        (&[READER], "rw", "PUT", "files/x?comp=metadata", NO_PERMISSION),
        (&[READER], "racwdxyltmeopif", "DELETE", "files/x", NO_PERMISSION),
        (&[READER], "w", "GET", "files/x", NO_PERMISSION),
        (&[READER], "w", "PUT", "files/x", NO_PERMISSION),
        (&[READER, DELEGATOR], "rw", "PUT", "files/x", NO_PERMISSION),
        (&[CONTRIBUTOR], "rw", "GET", "files/x", ok(200)),
        (&[CONTRIBUTOR], "rw", "PUT", "files/x", ok(201)),
        (&[CONTRIBUTOR], "r", "PUT", "files/x", NO_PERMISSION),
        (&[READER, CONTRIBUTOR], "rw", "PUT", "files/x", ok(201)),
        (&[CONTRIBUTOR], "rt", "GET", tags, NO_PERMISSION),
        (&[OWNER], "rt", "GET", tags, ok(200)),
        (&[CONTRIBUTOR, "Storage Blob Data Owner/another"], "rt", "GET", tags, NO_PERMISSION),
        (&[DELEGATOR], "rw", "GET", "files/x", NO_PERMISSION),
        (&[DELEGATOR], "rw", "PUT", "files/x", NO_PERMISSION),
        (&[DELEGATOR, "Storage Queue Data Contributor"], "rw", "GET", "files/x", NO_PERMISSION),
    ] {
        let sas = storage.key(Service::Blob, roles).sas("files/x", permissions);
        let (status, code) = storage.try_with(&sas, method, target);
        assert_eq!((status, code.as_str()), expected, "{roles:?} sp={permissions} {method} {target}");
    }
}

/// The same for a whole container, and for account information, which needs no particular permission.
#[test]
fn a_delegator_without_other_roles_shares_nothing() {
    let storage = Storage::start();
    for (role, expected) in [(READER, 200), (DELEGATOR, 403)] {
        let sas = storage.key(Service::Blob, &[role]).sas("files", "rwl");
        for target in
            ["files?restype=container&comp=list", "files/x", "files?restype=account&comp=properties"]
        {
            assert_eq!(storage.try_with(&sas, "GET", target).0, expected, "{role} {target}");
        }
        assert_eq!(storage.try_with(&sas, "PUT", "files/y").0, 403, "{role}");
    }
}

/// A signature in the source URL of a copy has the same limits.
#[test]
fn copies_read_no_more_than_the_users_roles_permit() {
    let storage = Storage::start();
    let blobs = storage.0.running().listen.get(Service::Blob).unwrap();
    for (role, expected) in [(READER, 202), (DELEGATOR, 403)] {
        let sas = storage.key(Service::Blob, &[role]).sas("files/x", "r");
        let mut request = Request::new("PUT", format!("/{ACCOUNT}/files/copy"))
            .with("x-ms-version", VERSION)
            .with("x-ms-copy-source", format!("http://{blobs}/{ACCOUNT}/files/x?{sas}"));
        Signer::development(Service::Blob).sign(&mut request, clock::now());
        assert_eq!(storage.ask(Service::Blob, request).status, expected, "{role}");
    }
}

/// The bearer token of a copy is also good for its source, in the same account.
#[test]
fn a_user_copies_within_the_account_without_a_signature() {
    let storage = Storage::start();
    let blobs = storage.0.running().listen.get(Service::Blob).unwrap();
    for (is_sync, account, expected) in
        [("false", ACCOUNT, 202), ("true", ACCOUNT, 202), ("true", "another", 400)]
    {
        let request = Request::new("PUT", format!("/{ACCOUNT}/files/copy"))
            .with("x-ms-version", VERSION)
            .with("x-ms-copy-source", format!("http://{blobs}/{account}/files/x"))
            .with("x-ms-requires-sync", is_sync)
            .with("Authorization", bearer(&[CONTRIBUTOR]));
        assert_eq!(storage.ask(Service::Blob, request).status, expected, "{is_sync} {account}");
    }
}

#[test]
fn queues_have_the_same_limits() {
    let storage = Storage::start();
    let ok = |status| (status, "");
    for (role, method, target, expected) in [
        ("Storage Queue Data Contributor", "POST", "work/messages", ok(201)),
        ("Storage Queue Data Contributor", "GET", "work/messages", ok(200)),
        ("Storage Queue Data Reader", "GET", "work/messages?peekonly=true", ok(200)),
        ("Storage Queue Data Reader", "GET", "work/messages", NO_PERMISSION),
        ("Storage Queue Data Reader", "POST", "work/messages", NO_PERMISSION),
        ("Storage Queue Data Message Sender", "POST", "work/messages", ok(201)),
        ("Storage Queue Data Message Sender", "GET", "work/messages?peekonly=true", NO_PERMISSION),
        ("Storage Queue Data Message Processor", "GET", "work/messages", ok(200)),
        ("Storage Queue Data Message Processor", "POST", "work/messages", NO_PERMISSION),
        (QUEUE_DELEGATOR, "GET", "work/messages?peekonly=true", NO_PERMISSION),
        (OWNER, "POST", "work/messages", NO_PERMISSION),
    ] {
        let sas = storage.key(Service::Queue, &[role, QUEUE_DELEGATOR]).sas("work", "raup");
        let (status, code) = storage.try_with(&sas, method, target);
        assert_eq!((status, code.as_str()), expected, "{role} {method} {target}");
    }
}

/// Nothing but the key of the user makes a valid signature: not a changed one, not the key of the account, and not a
/// key that is derived without the rights of the user, as earlier versions of the server did.
#[test]
fn other_keys_sign_nothing() {
    let storage = Storage::start();
    let key = storage.key(Service::Blob, &[CONTRIBUTOR]);
    let token = || key.token("files/x", "rw");
    let Token { skt, ske, sks, skv, .. } = token();
    let tenant = development::TENANT;
    let without_rights = AccountKey::from_base64(DEVELOPMENT_KEY)
        .unwrap()
        .sign(&format!("\0user delegation key\n{ACCOUNT}\n{USER}\n{tenant}\n{skt}\n{ske}\n{sks}\n{skv}\n"));
    let without_rights = lazuli_protocol::auth::signature_text(&without_rights);
    for other in ["c2VjcmV0", DEVELOPMENT_KEY, without_rights.as_str()] {
        let sas = signed(token(), "files/x", other);
        for method in ["GET", "PUT"] {
            assert_eq!(
                storage.try_with(&sas, method, "files/x"),
                (403, "AuthenticationFailed".into()),
                "{other}"
            );
        }
    }
    // The letters are signed.
    let sas = key.sas("files/x", "r").replace("sp=r&", "sp=rw&");
    assert!(sas.contains("sp=rw&"));
    assert_eq!(storage.try_with(&sas, "PUT", "files/x"), (403, "AuthenticationFailed".into()));
    // Users with other roles have other keys, even for the same period.
    let values = [READER, CONTRIBUTOR, OWNER, DELEGATOR]
        .map(|role| storage.key(Service::Blob, &[role]))
        .map(|key| key.element("Value"));
    for (index, value) in values.iter().enumerate() {
        assert!(!values[..index].contains(value), "{values:?}");
    }
}
