//! The admin listener: how other commands talk to a running server.
//!
//! On loopback only. Health and metrics are for everybody on this machine, as long as the Host of the request
//! is an IP address or localhost, so that a web page cannot read them by DNS rebinding. Other calls need a
//! token, which is stored with the listener's address in a file of mode 0600 in the data directory: users who
//! may read the data may administer it.

mod backup;

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use lazuli_model::{DateTime, Failure, Service};
use lazuli_protocol::Response;
use lazuli_protocol::auth::AccountKey;
use lazuli_service::accounts::{AccountRemoval, KEY_BYTES, KEY_BYTES_MIN, is_account_name};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::entropy;
use crate::health::Readiness;
use crate::http::{Body, BoxFuture, Handler, Peer, Reply, RequestHead};
use crate::metrics::{self, View};
use crate::state::State;

/// Maximum time that one call waits for events.
const DRAIN_SECONDS_MAX: u64 = 600;

/// The name of the file in the data directory.
pub const FILE: &str = "admin.json";

/// Handles requests to the admin listener.
pub struct Admin {
    state: Arc<State>,
    /// Where clients find the accounts, if there is a server.
    endpoints: Vec<(Service, String)>,
    token: String,
    backups: backup::Backups,
    /// Hides PartitionKeys in responses that must not show them.
    disguise: AccountKey,
}

/// An error message with its status.
struct AdminError(u16, String);

impl Admin {
    /// An admin listener for a front end, with its own token.
    pub fn new(state: Arc<State>) -> io::Result<Self> {
        let token = URL_SAFE_NO_PAD.encode(entropy::random::<32>()?);
        let disguise = AccountKey::new(token.as_bytes());
        Ok(Self { state, endpoints: Vec::new(), token, backups: backup::Backups::default(), disguise })
    }

    /// Like `new`, but also reports where clients find new accounts.
    pub fn with_endpoints(self, endpoints: Vec<(Service, String)>) -> Self {
        Self { endpoints, ..self }
    }

    /// The token that callers must send.
    pub fn token(&self) -> &str {
        &self.token
    }

    async fn route(&self, head: &RequestHead<'_>, body: &mut dyn Body) -> (u16, Value) {
        // Waiting for events reveals nothing and changes nothing.
        let drains = head.method == "POST" && head.target.starts_with("/events/drain/");
        let open = drains || (reads(head) && matches!(head.target, "/healthz" | "/readyz"));
        if !open && !self.has_token(head) {
            return (401, json!({ "error": "the token is missing or wrong" }));
        }
        match body.collect(self.state.config.limits.body_bytes_max).await {
            Ok(body) => self.call(head.method, head.target, &body).await,
            Err(failure) => (failure.code.status(), json!({ "error": failure.message })),
        }
    }

    /// Carries out a call, without checking its sender.
    pub fn call<'a>(&'a self, method: &'a str, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, (u16, Value)> {
        Box::pin(self.carry_out(method, path, body))
    }

    async fn carry_out(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        // Another front end may have added or removed the account.
        if segments[0] == "accounts"
            && let Err(failure) = self.state.freshen().await
        {
            return (failure.code.status(), json!({ "error": failure.message }));
        }
        let result = match (method, segments.as_slice()) {
            ("GET" | "HEAD", ["healthz" | "readyz"]) => self.health().await,
            ("GET", ["accounts"]) => self.list().await,
            ("POST", ["accounts", name]) => self.add(name, body).await,
            ("POST", ["accounts", name, "keys", which]) => self.rotate(name, which).await,
            ("POST", ["accounts", name, "https-only", wanted]) => self.set_https_only(name, wanted).await,
            ("DELETE", ["accounts", name]) => self.remove(name).await,
            ("POST", ["events", "drain", seconds]) => self.drain(seconds).await,
            _ => Err(AdminError(404, "unknown admin call".into())),
        };
        match result {
            Ok(value) => (200, value),
            Err(AdminError(status, message)) => (status, json!({ "error": message })),
        }
    }

    fn has_token(&self, head: &RequestHead<'_>) -> bool {
        let given = head.fields.iter().find(|field| field.name.eq_ignore_ascii_case("authorization"));
        let given = given.and_then(|field| field.value.strip_prefix("Bearer ")).unwrap_or_default();
        // Comparing hashes takes the same time wherever the strings differ.
        let hash = |text: &str| AccountKey::new(b"lazuli admin token").sign(text);
        hash(given) == hash(&self.token)
    }

    /// Open to everyone, except for the names of partitions, which are data.
    async fn metrics(&self, head: &RequestHead<'_>) -> Response {
        let view = if self.has_token(head) { View::Operator } else { View::Disguised(&self.disguise) };
        let text = metrics::render(&self.state, view).await;
        Response::new(200).with("Content-Type", metrics::CONTENT_TYPE).with_body(text.into_bytes())
    }

    async fn health(&self) -> Result<Value, AdminError> {
        match self.state.health.check().await {
            Readiness::Ready(status) => Ok(json!({ "status": "ok", "engine": status.place })),
            other => Err(AdminError(503, other.reason().unwrap_or_default())),
        }
    }

    /// Waits until all events are delivered, for at most this number of seconds.
    async fn drain(&self, seconds: &str) -> Result<Value, AdminError> {
        let seconds = seconds.parse::<u64>().ok().filter(|seconds| *seconds <= DRAIN_SECONDS_MAX);
        let seconds = seconds.ok_or_else(|| {
            AdminError(400, format!("invalid time; expected a number of seconds up to {DRAIN_SECONDS_MAX}"))
        })?;
        let Some(events) = self.state.blobs().and_then(|blobs| blobs.events()) else {
            return Err(AdminError(409, "events are off; start the server with --events".into()));
        };
        let drained = timeout(Duration::from_secs(seconds), events.drained()).await;
        Ok(json!({ "drained": drained.is_ok(), "waiting": events.waiting() }))
    }

    async fn list(&self) -> Result<Value, AdminError> {
        let accounts = self.state.service().accounts().list().await.map_err(internal)?;
        Ok(json!({ "accounts": accounts.iter().map(describe).collect::<Vec<_>>() }))
    }

    async fn add(&self, name: &str, body: &[u8]) -> Result<Value, AdminError> {
        let NewAccount { keys, https_only } = NewAccount::read(body)?;
        if !is_account_name(name) {
            return Err(AdminError(
                400,
                format!("'{name}' is not an account name: 3 to 24 lower-case letters and digits"),
            ));
        }
        if self.state.directory().contains(name) {
            return Err(AdminError(409, format!("account '{name}' already exists")));
        }
        let keys = match keys {
            Some(keys) => keys,
            None => [new_key()?, new_key()?],
        };
        if !self.state.service().accounts().add(name, keys, https_only).await.map_err(internal)? {
            return Err(AdminError(409, format!("account '{name}' already exists")));
        }
        let mut added = self.refreshed(name).await?;
        for (service, endpoint) in &self.endpoints {
            added["endpoints"][service.label()] = json!(format!("{endpoint}/{name}"));
        }
        Ok(added)
    }

    async fn rotate(&self, name: &str, which: &str) -> Result<Value, AdminError> {
        let index = match which {
            "1" => 0,
            "2" => 1,
            _ => return Err(AdminError(400, "unknown key; rotate key 1 or 2".into())),
        };
        self.reject_given(name)?;
        let known =
            self.state.service().accounts().set_key(name, index, new_key()?).await.map_err(internal)?;
        if !known {
            return Err(AdminError(404, format!("there is no account '{name}'")));
        }
        self.refreshed(name).await
    }

    async fn set_https_only(&self, name: &str, wanted: &str) -> Result<Value, AdminError> {
        let https_only = match wanted {
            "on" => true,
            "off" => false,
            _ => return Err(AdminError(400, "invalid value; https-only is either on or off".into())),
        };
        self.reject_given(name)?;
        let accounts = self.state.service().accounts();
        if !accounts.set_https_only(name, https_only).await.map_err(internal)? {
            return Err(AdminError(404, format!("there is no account '{name}'")));
        }
        self.refreshed(name).await
    }

    async fn remove(&self, name: &str) -> Result<Value, AdminError> {
        self.reject_given(name)?;
        let accounts = self.state.service().accounts();
        match accounts.remove(name).await.map_err(internal)? {
            AccountRemoval::Done => {}
            AccountRemoval::Missing => return Err(AdminError(404, format!("there is no account '{name}'"))),
            AccountRemoval::InUse => {
                let why =
                    format!("account '{name}' still has tables, queues or containers; delete them first");
                return Err(AdminError(409, why));
            }
        }
        self.state.directory().refresh(&accounts).await.map_err(internal)?;
        Ok(json!({ "removed": name }))
    }

    fn reject_given(&self, name: &str) -> Result<(), AdminError> {
        if self.state.directory().is_given(name) {
            return Err(AdminError(
                409,
                format!(
                    "account '{name}' is set at startup (LAZULI_ACCOUNTS or the development account); it is not stored and \
                     cannot be changed here"
                ),
            ));
        }
        Ok(())
    }

    /// Makes a change effective immediately and returns the account.
    async fn refreshed(&self, name: &str) -> Result<Value, AdminError> {
        let accounts = self.state.service().accounts();
        self.state.directory().refresh(&accounts).await.map_err(internal)?;
        let list = accounts.list().await.map_err(internal)?;
        let account = list.iter().find(|account| account.name == name);
        account.map(describe).ok_or_else(|| AdminError(404, format!("there is no account '{name}'")))
    }
}

fn describe(account: &lazuli_service::Account) -> Value {
    let created = DateTime::from_ticks(account.created).map(|time| time.to_string());
    json!({
        "name": account.name,
        "keys": account.keys.each_ref().map(|key| STANDARD.encode(key)),
        "created": created,
        "httpsOnly": account.https_only,
    })
}

fn new_key() -> Result<Vec<u8>, AdminError> {
    entropy::random::<KEY_BYTES>().map(|key| key.to_vec()).map_err(|error| AdminError(500, error.to_string()))
}

/// Settings of a new account: `{"keys":["…","…"],"httpsOnly":true}`, all fields optional.
#[derive(Default)]
struct NewAccount {
    keys: Option<[Vec<u8>; 2]>,
    https_only: bool,
}

impl NewAccount {
    fn read(body: &[u8]) -> Result<Self, AdminError> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let value: Value =
            serde_json::from_slice(body).map_err(|_| AdminError(400, "the body is not JSON".into()))?;
        let https_only = match value.get("httpsOnly") {
            None => false,
            Some(wanted) => {
                wanted.as_bool().ok_or_else(|| AdminError(400, "httpsOnly must be true or false".into()))?
            }
        };
        Ok(Self { keys: value.get("keys").map(given_keys).transpose()?, https_only })
    }
}

/// Keys that the caller supplies.
fn given_keys(list: &Value) -> Result<[Vec<u8>; 2], AdminError> {
    let decode = |key: &Value| key.as_str().and_then(|text| STANDARD.decode(text).ok());
    let keys: Option<Vec<Vec<u8>>> = list.as_array().and_then(|list| list.iter().map(decode).collect());
    let keys = keys.and_then(|keys| <[Vec<u8>; 2]>::try_from(keys).ok());
    let keys =
        keys.ok_or_else(|| AdminError(400, "invalid keys; an account has two keys in Base64".into()))?;
    match keys.iter().map(Vec::len).min() {
        Some(bytes) if bytes < KEY_BYTES_MIN => Err(AdminError(
            400,
            format!(
                "a key of {bytes} bytes can be guessed; pass at least {KEY_BYTES_MIN}, usually {KEY_BYTES}, random bytes in Base64"
            ),
        )),
        _ => Ok(keys),
    }
}

fn internal(error: lazuli_service::Error) -> AdminError {
    AdminError(500, error.to_string())
}

impl Handler for Admin {
    async fn handle(&self, head: &RequestHead<'_>, _peer: Peer, body: &mut dyn Body) -> Reply {
        if !is_local(head) && !self.has_token(head) {
            let why = "the Host of the request is neither an IP address nor localhost; use http://127.0.0.1";
            return respond(421, &json!({ "error": why })).into();
        }
        if reads(head) && head.target == "/metrics" {
            return self.metrics(head).await.into();
        }
        if let Some(call) = backup::BackupCall::of(head.method, head.target) {
            if !self.has_token(head) {
                return respond(401, &json!({ "error": "the token is missing or wrong" })).into();
            }
            return self.backups.respond(&**self.state.service().engine(), call).await.into();
        }
        let (status, value) = self.route(head, body).await;
        respond(status, &value).into()
    }

    fn rejection(&self, failure: &Failure, _peer: Peer) -> Response {
        respond(failure.code.status(), &json!({ "error": failure.message }))
    }
}

/// HEAD is GET without the body, which the connection leaves out.
fn reads(head: &RequestHead<'_>) -> bool {
    matches!(head.method, "GET" | "HEAD")
}

/// Is `Host` an IP address or localhost? Rejecting other names prevents DNS rebinding: a web page whose name resolves to
/// this machine cannot read from it.
fn is_local(head: &RequestHead<'_>) -> bool {
    let mut hosts = head.fields.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    hosts.all(|field| is_address(field.value.trim()))
}

fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok(),
    }
}

fn respond(status: u16, value: &Value) -> Response {
    Response::new(status)
        .with("Content-Type", "application/json")
        .with_body(format!("{value}\n").into_bytes())
}

/// Writes the address of the admin listener for other commands.
pub fn write_file(path: &Path, address: SocketAddr, token: &str) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", json!({ "address": address.to_string(), "token": token }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_addresses() {
        for host in [
            "127.0.0.1:10009",
            "127.0.0.1",
            "localhost",
            "LOCALHOST:1",
            "[::1]:10009",
            "[::1]",
            "10.0.0.7:80",
        ] {
            assert!(is_address(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:10009", "127.0.0.1.evil.example", "localhost.evil", "[evil]:1"]
        {
            assert!(!is_address(host), "{host}");
        }
    }
}
