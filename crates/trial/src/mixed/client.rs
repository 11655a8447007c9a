//! One client of a mixed history. The first one also adds and removes the account and rotates its first key; the second one
//! rotates its second key.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Service;
use lazuli_probe::{Connection, Request, Response, Signer};
use lazuli_protocol::auth::AccountKey;
use serde_json::json;

use super::record::{AccountChange, MixedCall, MixedOutput, ROWS, TABLES, TableAction};
use super::requests::{MixedRequests, next_page};
use super::shared::{AdminListener, HistoryKey, MixedShared};
use crate::linear::{self, HistoryEvent, LogicalClock, Recorder};
use crate::random::Random;

/// Maximum number of values that a client writes. Client `n` starts at `n * VALUES_MAX`, so no two write the same value.
const VALUES_MAX: u32 = 1_000_000;
/// Number of the latest keys that most requests use; some of them are valid.
const KEYS_RECENT: usize = 3;

/// Does the client continue? It ends when it gets no response.
type Continues = Result<bool, String>;

pub struct MixedClient {
    shared: Arc<MixedShared>,
    requests: MixedRequests,
    admin: Option<AdminListener>,
    number: usize,
    /// 0 and 1 administrate.
    role: usize,
    random: Random,
    clock: LogicalClock,
    connection: Option<Connection>,
    written: u32,
    events: Vec<HistoryEvent<MixedCall>>,
}

impl MixedClient {
    pub fn new(shared: Arc<MixedShared>, clients: usize, recorder: Recorder) -> Self {
        let Recorder { client, authority, random, clock } = recorder;
        Self {
            admin: shared.admin(),
            requests: MixedRequests { shared: Arc::clone(&shared), authority },
            shared,
            number: client,
            role: client % clients,
            random,
            clock,
            connection: None,
            written: 0,
            events: Vec::new(),
        }
    }

    fn push(&mut self, start: u64, operation: MixedCall, output: Option<MixedOutput>, end: u64) {
        let end = if output.is_some() { end } else { u64::MAX };
        // A read without a response proves nothing.
        if output.is_some() || !operation.is_read() {
            self.events.push(HistoryEvent { client: self.number, start, end, operation, output });
        }
    }

    async fn step(&mut self) -> Continues {
        let current = self.shared.known().current;
        let is_admin = self.admin.is_some();
        match (self.role, self.random.below(10)) {
            (0, _) if is_admin && current.is_none() => self.add().await,
            (0, 0..2) if is_admin => self.remove().await,
            (role @ (0 | 1), 2..5) if is_admin => self.rotate(role).await,
            _ => self.use_table().await,
        }
    }

    // --- administration

    /// Makes an admin call. An error of the server leaves the outcome open.
    async fn administer(
        &self,
        method: &'static str,
        rest: &str,
        body: String,
    ) -> Option<(u16, serde_json::Value)> {
        let path = format!("/accounts/{}{rest}", self.shared.account);
        let called = self.admin.as_ref()?.call(method, path, body).await;
        called.filter(|(status, _)| *status < 500)
    }

    async fn add(&mut self) -> Continues {
        let shared = Arc::clone(&self.shared);
        let _alone = shared.lifetime.write().await;
        let texts = [0, 1].map(|_| {
            let bytes: Vec<u8> = (0..64).map(|_| self.random.next() as u8).collect();
            STANDARD.encode(bytes)
        });
        let (account, numbers) = {
            let mut known = shared.known();
            known.accounts_count += 1;
            let account = known.accounts_count;
            let numbers = [0, 1].map(|_| known.number_key());
            // Clients may try them early: until the account exists, they are rejected.
            for (number, text) in numbers.into_iter().zip(texts.clone()) {
                known.keys.push(HistoryKey { number, account, text });
            }
            (account, numbers)
        };
        let start = self.clock.tick();
        let called = self.administer("POST", "", json!({ "keys": texts }).to_string()).await;
        let end = self.clock.tick();
        let output = match called {
            None => None,
            Some((200, _)) => Some(MixedOutput::Applied),
            Some((409, _)) => Some(MixedOutput::Exists),
            Some((status, value)) => return Err(format!("adding the account got {status} {value}")),
        };
        let continues = output.is_some();
        let mut known = shared.known();
        match output {
            Some(MixedOutput::Exists) => known.current = known.last,
            Some(_) => (known.current, known.last) = (Some(account), Some(account)),
            None => known.last = Some(account),
        }
        drop(known);
        self.push(start, MixedCall::Account(AccountChange::Add(numbers)), output, end);
        Ok(continues)
    }

    /// Deletes all tables, then the account. If others create tables in the meantime, the account stays.
    async fn remove(&mut self) -> Continues {
        for table in 0..TABLES {
            if !self.act(table, TableAction::Delete).await? {
                return Ok(false);
            }
        }
        let shared = Arc::clone(&self.shared);
        let _alone = shared.lifetime.write().await;
        let Some(account) = shared.known().current else { return Ok(true) };
        shared.known().current = None;
        let start = self.clock.tick();
        let called = self.administer("DELETE", "", String::new()).await;
        let end = self.clock.tick();
        let output = match called {
            None => None,
            Some((200, _)) => Some(MixedOutput::Applied),
            Some((404, _)) => Some(MixedOutput::Missing),
            Some((409, _)) => {
                shared.known().current = Some(account);
                return Ok(true);
            }
            Some((status, value)) => return Err(format!("removing the account got {status} {value}")),
        };
        self.push(start, MixedCall::Account(AccountChange::Remove), output.clone(), end);
        if output != Some(MixedOutput::Missing) {
            for table in 0..TABLES {
                let ended = MixedCall::Table { account, table, action: TableAction::End };
                self.push(start, ended, output.clone(), end);
            }
        }
        Ok(output.is_some())
    }

    async fn rotate(&mut self, slot: usize) -> Continues {
        let shared = Arc::clone(&self.shared);
        let _together = shared.lifetime.read().await;
        let Some(account) = shared.known().current else { return Ok(true) };
        let number = shared.known().number_key();
        let start = self.clock.tick();
        let called = self.administer("POST", &format!("/keys/{}", slot + 1), String::new()).await;
        let end = self.clock.tick();
        let output = match called {
            None => None,
            Some((200, value)) => {
                let text = value["keys"][slot].as_str().ok_or("a rotation without a key")?.to_owned();
                shared.known().keys.push(HistoryKey { number, account, text });
                Some(MixedOutput::Applied)
            }
            Some((404, _)) => Some(MixedOutput::Missing),
            Some((status, value)) => return Err(format!("rotating a key got {status} {value}")),
        };
        let continues = output.is_some();
        self.push(start, MixedCall::Account(AccountChange::Rotate { slot, key: number }), output, end);
        Ok(continues)
    }

    // --- data

    async fn use_table(&mut self) -> Continues {
        let table = self.random.below(TABLES);
        let row = self.random.below(ROWS);
        self.written += 1;
        let value = self.number as u32 * VALUES_MAX + self.written;
        match self.random.below(20) {
            0..3 => self.act(table, TableAction::Create).await,
            3 => self.act(table, TableAction::Delete).await,
            4 => self.act(table, TableAction::List).await,
            5..10 => self.act(table, TableAction::Put { row, value }).await,
            10..12 => self.act(table, TableAction::Get(row)).await,
            12..15 => self.scan(table).await,
            15..17 => {
                // There are few policies, so that clients encounter those of others.
                let policy = self.random.chance(80).then(|| self.random.below(2) as u32);
                self.act(table, TableAction::SetPolicy(policy)).await
            }
            _ => self.use_policy(table).await,
        }
    }

    fn choose_key(&mut self) -> Option<HistoryKey> {
        let known = self.shared.known();
        let count = known.keys.len();
        let recent = if self.random.chance(85) { KEYS_RECENT.min(count) } else { count };
        if count == 0 { None } else { known.keys.get(count - 1 - self.random.below(recent)).cloned() }
    }

    async fn act(&mut self, table: usize, action: TableAction) -> Continues {
        let Some(key) = self.choose_key() else { return Ok(true) };
        Ok(self.act_with(&key, table, action, "").await?.0)
    }

    /// Reads all pages, with one key. Each page is a separate operation.
    async fn scan(&mut self, table: usize) -> Continues {
        let Some(key) = self.choose_key() else { return Ok(true) };
        self.scan_with(&key, table).await
    }

    async fn scan_with(&mut self, key: &HistoryKey, table: usize) -> Continues {
        let (mut from, mut after) = (0, String::new());
        loop {
            let (continues, response) = self.act_with(key, table, TableAction::Page(from), &after).await?;
            let Some(response) = response.filter(|response| response.status == 200) else {
                return Ok(continues);
            };
            match next_page(&response)? {
                Some(next) => (from, after) = next,
                None => return Ok(true),
            }
        }
    }

    async fn use_policy(&mut self, table: usize) -> Continues {
        let Some(key) = self.choose_key() else { return Ok(true) };
        let policy = self.random.below(2) as u32;
        let request = self.requests.with_policy(table, policy, &key).ok_or("a key that is not one")?;
        let start = self.clock.tick();
        let response = self.send(request).await;
        let end = self.clock.tick();
        // A rejection may be due to the key or to the policy, so it proves nothing.
        if response.as_ref().is_some_and(|response| response.status == 200) {
            self.push_use(start, &key, MixedOutput::Applied, end);
            let action = TableAction::UsePolicy(policy);
            let operation = MixedCall::Table { account: key.account, table, action };
            self.push(start, operation, Some(MixedOutput::Applied), end);
        }
        Ok(response.is_some_and(|response| response.status < 500 || response.status == 503))
    }

    /// Sends a signed request and records its outcome for the key and for the table.
    async fn act_with(
        &mut self,
        key: &HistoryKey,
        table: usize,
        action: TableAction,
        continuation: &str,
    ) -> Result<(bool, Option<Response>), String> {
        let mut request = self.requests.of(table, &action, continuation);
        let signing = AccountKey::from_base64(&key.text).ok_or("a key that is not one")?;
        let signer = Signer::new(Service::Table, self.shared.account.clone(), signing);
        signer.sign(&mut request, lazuli_server::clock::now());
        let start = self.clock.tick();
        let response = self.send(request).await;
        let end = self.clock.tick();
        let operation = MixedCall::Table { account: key.account, table, action: action.clone() };
        match response {
            // Too many keys were rejected in a short time, so nothing was executed.
            Some(response) if response.status == 503 => Ok((true, Some(response))),
            Some(response) if response.status < 500 => {
                if response.status == 403 {
                    self.push_use(start, key, MixedOutput::Denied, end);
                } else {
                    let output = self.requests.meaning(table, &action, &response)?;
                    self.push_use(start, key, MixedOutput::Applied, end);
                    self.push(start, operation, Some(output), end);
                }
                Ok((true, Some(response)))
            }
            _ => {
                self.push(start, operation, None, end);
                Ok((false, None))
            }
        }
    }

    fn push_use(&mut self, start: u64, key: &HistoryKey, output: MixedOutput, end: u64) {
        if self.shared.has_keys() {
            self.push(start, MixedCall::Account(AccountChange::Use(key.number)), Some(output), end);
        }
    }

    async fn send(&mut self, request: Request) -> Option<Response> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.requests.authority).await.ok()?,
        };
        let response = connection.exchange(&request.method, &request.bytes()).await.ok()?;
        if !response.closes() {
            self.connection = Some(connection);
        }
        Some(response)
    }
}

impl linear::HistoryClient<MixedCall> for MixedClient {
    async fn run(mut self, operations: usize) -> Result<Vec<HistoryEvent<MixedCall>>, String> {
        for _ in 0..operations {
            if !self.step().await? {
                break;
            }
        }
        Ok(self.events)
    }

    /// Lists and scans with every recent key.
    async fn read_all(mut self) -> Result<Vec<HistoryEvent<MixedCall>>, String> {
        let keys: Vec<HistoryKey> =
            self.shared.known().keys.iter().rev().take(2 * KEYS_RECENT).cloned().collect();
        for key in keys {
            for table in 0..TABLES {
                let (is_listed, _) = self.act_with(&key, table, TableAction::List, "").await?;
                if !(is_listed && self.scan_with(&key, table).await?) {
                    return Err("a read at the end got no response".into());
                }
            }
        }
        Ok(self.events)
    }
}
