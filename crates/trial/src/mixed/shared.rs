//! Knowledge that the clients of a mixed history share: all keys that the account has ever had, and the access
//! to its administration.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_probe::{Connection, Request};
use lazuli_protocol::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use serde_json::Value;
use tokio::sync::RwLock;

/// A key that is or was valid.
#[derive(Clone, Debug)]
pub struct HistoryKey {
    pub number: u32,
    /// The incarnation of the account with this name.
    pub account: u32,
    /// In Base64.
    pub text: String,
}

/// The shared knowledge about the account.
#[derive(Default)]
pub struct KnownAccount {
    pub keys: Vec<HistoryKey>,
    pub keys_count: u32,
    pub accounts_count: u32,
    /// The account that exists for certain.
    pub current: Option<u32>,
    /// The last account that was added, or may have been.
    pub last: Option<u32>,
}

impl KnownAccount {
    /// A number for a key that is about to be created.
    pub fn number_key(&mut self) -> u32 {
        self.keys_count += 1;
        self.keys_count
    }
}

/// Shared by all clients of a history.
pub struct MixedShared {
    /// The name of the account.
    pub account: String,
    /// Keeps the tables of histories that share an account apart.
    pub prefix: String,
    admin_file: Option<PathBuf>,
    known: Mutex<KnownAccount>,
    /// Held exclusively while the account is added or removed: the response to a rotation does not identify the
    /// incarnation of the account.
    pub lifetime: RwLock<()>,
}

impl MixedShared {
    /// Uses a separate account if there is an admin listener, else the development account, whose key never
    /// changes.
    pub fn new(admin_file: Option<PathBuf>, seed: u64) -> Self {
        let mut known = KnownAccount::default();
        if admin_file.is_none() {
            known.keys.push(HistoryKey { number: 0, account: 0, text: DEVELOPMENT_KEY.into() });
        }
        let account = if admin_file.is_some() { format!("hist{seed:x}") } else { DEVELOPMENT_ACCOUNT.into() };
        let prefix = format!("m{seed:x}t");
        Self { account, prefix, admin_file, known: Mutex::new(known), lifetime: RwLock::default() }
    }

    /// The knowledge now.
    pub fn known(&self) -> MutexGuard<'_, KnownAccount> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The admin listener of the running server, if there is one.
    pub fn admin(&self) -> Option<AdminListener> {
        self.admin_file.as_deref().and_then(AdminListener::read)
    }

    /// Does the account have keys that change?
    pub fn has_keys(&self) -> bool {
        self.admin_file.is_some()
    }
}

/// The admin listener of a server.
pub struct AdminListener {
    address: String,
    token: String,
}

impl AdminListener {
    fn read(file: &Path) -> Option<Self> {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
        let member = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self { address: member("address")?, token: member("token")? })
    }

    /// Makes a call. `None` if there is no response.
    pub async fn call(&self, method: &'static str, path: String, body: String) -> Option<(u16, Value)> {
        let mut request = Request::new(method, path)
            .with("Host", self.address.clone())
            .with("Authorization", format!("Bearer {}", self.token))
            .with("Connection", "close")
            .body(body);
        request.announce_length();
        let mut connection = Connection::open(&self.address).await.ok()?;
        let response = connection.exchange(method, &request.bytes()).await.ok()?;
        Some((response.status, serde_json::from_slice(&response.body).unwrap_or_default()))
    }
}
