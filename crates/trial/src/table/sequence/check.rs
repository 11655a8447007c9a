//! Executes one step on both sides, and compares their results.

use serde_json::{Map, Value, json};

use super::Step;
use super::coverage::{Coverage, name};
use crate::table::model::{
    Model, ModelFilter, ModelKey, ModelProperties, ModelRow, ModelWrite, Precondition, Rejection,
};
use crate::table::wire::{
    Lost, TableCaller, TableReply, WireRequest, batch, batch_replies, entity_path, escaped, version,
};

/// An ETag that no row ever has.
const STALE: &str = "W/\"datetime'2001-01-01T00%3A00%3A00.0000001Z'\"";
/// Maximum pages of one query; a longer listing is considered endless.
const PAGES_MAX: usize = 10_000;

pub(super) struct Trial {
    run: u64,
    pub(super) caller: TableCaller,
    model: Model,
    pub(super) coverage: Coverage,
    /// The greatest version of all changes so far.
    latest: u128,
}

type Checked = Result<(), String>;

impl Trial {
    pub(super) fn new(run: u64, caller: TableCaller, model: Model) -> Self {
        Self { run, caller, model, coverage: Coverage::default(), latest: 0 }
    }

    pub(super) async fn step(&mut self, step: &Step) -> Checked {
        match step {
            Step::CreateTable { table, loud } => self.create(&self.name(*table, *loud)).await,
            Step::DeleteTable(table) => self.drop_table(&self.name(*table, false)).await,
            Step::ListTables => self.list().await,
            Step::Write { table, key, write } => self.write(&self.name(*table, false), key, write).await,
            Step::Batch { table, writes } => self.batch(&self.name(*table, false), writes).await,
            Step::Get { table, key } => self.get(&self.name(*table, false), key).await,
            Step::Query { table, wanted, top } => {
                self.query(&self.name(*table, false), wanted.as_ref(), *top).await
            }
            Step::Restart(_) => Ok(()),
        }
    }

    /// Compares the whole state.
    pub(super) async fn final_state(&mut self) -> Checked {
        self.list().await?;
        for name in self.model.names() {
            self.query(&name, None, None).await.map_err(|difference| format!("{name}: {difference}"))?;
        }
        Ok(())
    }

    fn name(&self, table: u8, loud: bool) -> String {
        let name = format!("run{}table{table}", self.run);
        if loud { name.to_uppercase() } else { name }
    }

    async fn create(&mut self, name: &str) -> Checked {
        let body = json!({ "TableName": name }).to_string();
        let reply = self.ask(&WireRequest::new("POST", "/Tables").json(body)).await?;
        let outcome = self.model.create(name);
        self.table_changed(outcome, &reply, 201, ["create a table: created", "create a table: rejected"])
    }

    async fn drop_table(&mut self, name: &str) -> Checked {
        let reply = self.ask(&WireRequest::new("DELETE", format!("/Tables('{name}')"))).await?;
        let outcome = self.model.drop_table(name);
        self.table_changed(outcome, &reply, 204, ["delete a table: deleted", "delete a table: rejected"])
    }

    fn table_changed(
        &mut self,
        outcome: Result<(), Rejection>,
        reply: &TableReply,
        status: u16,
        [done, denied]: [&str; 2],
    ) -> Checked {
        self.coverage.note(if outcome.is_ok() { done } else { denied });
        match outcome {
            Ok(()) => same("status", &status, &reply.status),
            Err(rejection) => rejected(reply, rejection),
        }
    }

    async fn list(&mut self) -> Checked {
        let filter =
            |prefix: &str, end: &str| escaped(&format!("TableName ge '{prefix}' and TableName lt '{end}'"));
        let mut found = Vec::new();
        // Names are compared case-sensitively.
        for prefix in [format!("RUN{}TABLE", self.run), format!("run{}table", self.run)] {
            let target = format!("/Tables?$filter={}", filter(&prefix, &format!("{prefix}~")));
            found.extend(self.pages(&target, None).await?);
        }
        let mut found: Vec<String> =
            found.iter().filter_map(|table| table["TableName"].as_str().map(str::to_owned)).collect();
        let mut expected = self.model.names();
        found.sort();
        expected.sort();
        self.coverage.note(if expected.is_empty() { "list tables: none" } else { "list tables: some" });
        same("tables", &expected, &found)
    }

    async fn write(&mut self, table: &str, key: &ModelKey, write: &ModelWrite) -> Checked {
        let call = self.call(table, key, write);
        self.coverage.note(self.situation(table, key, write));
        let reply = self.ask(&call).await?;
        match self.model.write(table, key, write) {
            Ok(_) => {
                let versions = self.written(table, key, write, &reply)?;
                self.later(&versions.into_iter().collect::<Vec<_>>())
            }
            Err(rejection) => rejected(&reply, rejection),
        }
    }

    async fn batch(&mut self, table: &str, writes: &[(ModelKey, ModelWrite)]) -> Checked {
        let calls: Vec<WireRequest> =
            writes.iter().map(|(key, write)| self.call(table, key, write)).collect();
        let reply = self.ask(&batch("localhost", &calls)).await?;
        same("status", &202, &reply.status)?;
        let replies = batch_replies(&reply);
        let met: Vec<_> = writes.iter().map(|(key, write)| self.situation(table, key, write)).collect();
        let outcome = self.model.batch(table, writes);
        self.note_batch(met, &outcome);
        match outcome {
            Ok(()) => {
                same("parts", &writes.len(), &replies.len())?;
                let mut versions = Vec::new();
                for ((key, write), reply) in writes.iter().zip(&replies) {
                    versions.extend(self.written(table, key, write, reply)?);
                }
                self.later(&versions)
            }
            Err((index, rejection)) => {
                same("parts of a failure", &1, &replies.len())?;
                rejected(&replies[0], rejection)?;
                match index {
                    Some(index) if !replies[0].message.starts_with(&format!("{index}:")) => {
                        Err(format!("operation {index} failed, the server says {:?}", replies[0].message))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn note_batch(&mut self, met: Vec<String>, outcome: &Result<(), (Option<usize>, Rejection)>) {
        let (whole, looked_at) = match outcome {
            Ok(()) => ("applied", met.len()),
            Err((Some(0), _)) => ("rejected at its first change", 1),
            Err((Some(index), _)) => ("rejected at a later change", index + 1),
            Err((None, rejection)) if rejection.status == 404 => ("no table", 0),
            Err((None, _)) => ("a row twice", 0),
        };
        self.coverage.note(format!("transaction: {whole}"));
        for situation in met.into_iter().take(looked_at) {
            self.coverage.note(format!("transaction, {situation}"));
        }
    }

    /// A change and the state before it, for the coverage.
    fn situation(&self, table: &str, key: &ModelKey, write: &ModelWrite) -> String {
        let mut name = name(write);
        if self.model.former(table, key).is_none() {
            // In that case another ETag is sent.
            name = name.replace("former", "stale");
        }
        format!("{name}: {}", self.met(table, key))
    }

    /// The situation before a change of this row.
    fn met(&self, table: &str, key: &ModelKey) -> &'static str {
        match self.model.get(table, key) {
            Ok(_) => "a row",
            Err(_) if self.model.has(table) => "no row",
            Err(_) => "no table",
        }
    }

    /// The changes of one commit have one version, greater than all before, so that an ETag never refers to two states.
    fn later(&mut self, versions: &[u128]) -> Checked {
        let Some(&first) = versions.first() else { return Ok(()) };
        if versions.iter().any(|version| *version != first) {
            return Err(format!("one commit has several versions: {versions:?}"));
        }
        if first <= self.latest {
            return Err(format!("version {first} was given after {}", self.latest));
        }
        self.latest = first;
        Ok(())
    }

    /// Checks an applied change: its status and its ETag. Returns the version of the ETag.
    fn written(
        &mut self,
        table: &str,
        key: &ModelKey,
        write: &ModelWrite,
        reply: &TableReply,
    ) -> Result<Option<u128>, String> {
        let status = if matches!(write, ModelWrite::Insert { echo: true, .. }) { 201 } else { 204 };
        same("status", &status, &reply.status)?;
        if matches!(write, ModelWrite::Delete(_)) {
            return same("ETag", &None, &reply.etag).map(|()| None);
        }
        let etag = reply.etag.clone().ok_or("the response to a change has no ETag")?;
        self.model.learn(table, key, &etag);
        if status == 201 {
            let row = self.model.get(table, key).map_err(|rejection| rejection.code)?;
            same_entity(key, row, &reply.json)?;
        }
        version(&etag).map(Some).ok_or_else(|| format!("not an ETag: {etag}"))
    }

    async fn get(&mut self, table: &str, key: &ModelKey) -> Checked {
        let reply =
            self.ask(&WireRequest::new("GET", entity_path(table, &key.partition(), &key.row()))).await?;
        self.coverage.note(format!("get: {}", self.met(table, key)));
        match self.model.get(table, key) {
            Ok(row) => {
                same("status", &200, &reply.status)?;
                same("ETag", &row.etag, &reply.etag)?;
                same_entity(key, row, &reply.json)
            }
            Err(rejection) => rejected(&reply, rejection),
        }
    }

    async fn query(&mut self, table: &str, wanted: Option<&ModelFilter>, top: Option<u8>) -> Checked {
        let mut target = format!("/{table}()?");
        if let Some(wanted) = wanted {
            target += &format!("$filter={}&", escaped(&wanted.text()));
        }
        if let Some(top) = top {
            target += &format!("$top={top}&");
        }
        let target = target.trim_end_matches(['?', '&']).to_owned();
        let rejection = self.model.query(table, wanted).err();
        if let Some(rejection) = rejection {
            self.coverage.note("query: no table");
            return rejected(&self.ask(&WireRequest::new("GET", target)).await?, rejection);
        }
        let found = self.pages(&target, top).await?;
        let all = self.model.query(table, None).map_err(|rejection| rejection.code)?.len();
        let expected = self.model.query(table, wanted).map_err(|rejection| rejection.code)?;
        self.coverage.note(match expected.len() {
            0 => "query: no rows",
            count if count < all => "query: some rows",
            _ => "query: all rows",
        });
        same("number of entities", &expected.len(), &found.len())?;
        for ((key, row), entity) in expected.into_iter().zip(&found) {
            same_entity(key, row, entity)?;
        }
        Ok(())
    }

    /// All pages of a list, none of which has more entries than requested.
    async fn pages(&mut self, target: &str, top: Option<u8>) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let joint = if target.contains('?') { '&' } else { '?' };
            let full =
                next.as_ref().map_or_else(|| target.to_owned(), |next| format!("{target}{joint}{next}"));
            let reply = self.ask(&WireRequest::new("GET", full)).await?;
            same("status", &200, &reply.status)?;
            let page = reply.json["value"].as_array().ok_or("a response without a list")?;
            if top.is_some_and(|top| page.len() > usize::from(top)) {
                return Err(format!("a page of {} entities, asked for {top:?}", page.len()));
            }
            all.extend(page.iter().cloned());
            if reply.next.is_none() {
                return Ok(all);
            }
            self.coverage.note("query: several pages");
            next = reply.next;
        }
        Err("the list does not end".into())
    }

    fn call(&self, table: &str, key: &ModelKey, write: &ModelWrite) -> WireRequest {
        let path = entity_path(table, &key.partition(), &key.row());
        let wanted = |precondition: &Precondition| match precondition {
            Precondition::Exists => "*".to_owned(),
            Precondition::Current => {
                let row = self.model.get(table, key).ok();
                row.and_then(|row| row.etag.clone()).unwrap_or_else(|| STALE.to_owned())
            }
            Precondition::Stale => STALE.to_owned(),
            Precondition::Former => self.model.former(table, key).unwrap_or(STALE).to_owned(),
        };
        let body = |properties: &ModelProperties| entity(key, properties).to_string();
        match write {
            ModelWrite::Insert { properties, echo } => {
                let prefer = if *echo { "return-content" } else { "return-no-content" };
                WireRequest::new("POST", format!("/{table}")).json(body(properties)).with("Prefer", prefer)
            }
            ModelWrite::Replace(properties, precondition) => {
                WireRequest::new("PUT", path).json(body(properties)).with("If-Match", wanted(precondition))
            }
            ModelWrite::Merge(properties, precondition) => {
                WireRequest::new("MERGE", path).json(body(properties)).with("If-Match", wanted(precondition))
            }
            ModelWrite::Upsert(properties) => WireRequest::new("PUT", path).json(body(properties)),
            ModelWrite::UpsertMerge(properties) => WireRequest::new("MERGE", path).json(body(properties)),
            ModelWrite::BareDelete => WireRequest::new("DELETE", path),
            ModelWrite::Delete(precondition) => {
                WireRequest::new("DELETE", path).with("If-Match", wanted(precondition))
            }
        }
    }

    /// Nothing else is running, so there must be a response. A connection from before a restart may be dead.
    async fn ask(&mut self, call: &WireRequest) -> Result<TableReply, String> {
        self.caller.call(call).await.map_err(|Lost(error)| format!("no response: {error}"))
    }
}

fn entity(key: &ModelKey, properties: &ModelProperties) -> Value {
    let mut members = properties.members();
    members.insert("PartitionKey".into(), json!(key.partition()));
    members.insert("RowKey".into(), json!(key.row()));
    Value::Object(members)
}

/// Compares keys, properties with their types, ETag, and the corresponding Timestamp.
fn same_entity(key: &ModelKey, row: &ModelRow, found: &Value) -> Checked {
    let mut members: Map<String, Value> = found.as_object().cloned().ok_or("an entity is not an object")?;
    members.remove("odata.metadata");
    let etag = members.remove("odata.etag").and_then(|etag| etag.as_str().map(str::to_owned));
    same("ETag in the entity", &row.etag, &etag)?;
    let timestamp = members.remove("Timestamp");
    let timestamp = timestamp.as_ref().and_then(Value::as_str).ok_or("an entity without a Timestamp")?;
    same("Timestamp", &etag.as_deref().and_then(version), &version(timestamp))?;
    same("entity", &entity(key, &row.properties), &Value::Object(members))
}

fn rejected(reply: &TableReply, rejection: Rejection) -> Checked {
    same("error", &(rejection.status, Some(rejection.code)), &(reply.status, reply.code.as_deref()))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Checked {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: the model says {expected:?}, the server {found:?}"))
}
