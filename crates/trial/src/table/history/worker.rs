//! One client of a history.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::record::{Output, ROWS, RowValues, Single, TableCall};
use crate::linear::{HistoryClient, HistoryEvent, LogicalClock, Recorder};
use crate::random::Random;
use crate::table::wire::{TableCaller, TableReply, WireRequest, batch, batch_replies, entity_path, escaped};

/// Where it works.
#[derive(Clone)]
pub struct Partition {
    pub table: String,
    pub partition: String,
}

pub struct HistoryWorker {
    place: Partition,
    authority: String,
    client: usize,
    random: Random,
    clock: LogicalClock,
    caller: TableCaller,
    written: u32,
    /// The last value that it saw in each row, with its ETag.
    known: HashMap<usize, (u32, String)>,
    events: Vec<HistoryEvent<TableCall>>,
}

impl HistoryWorker {
    pub fn new(place: Partition, recorder: Recorder) -> Self {
        let Recorder { client, authority, random, clock } = recorder;
        Self {
            place,
            caller: TableCaller::new(&authority),
            authority,
            client,
            random,
            clock,
            written: 0,
            known: HashMap::new(),
            events: Vec::new(),
        }
    }

    fn choose(&mut self) -> TableCall {
        match self.random.below(10) {
            0..3 => TableCall::Get(self.random.below(ROWS)),
            3..5 => TableCall::Scan,
            5..8 => {
                let row = self.random.below(ROWS);
                TableCall::Write(self.change(row))
            }
            _ => {
                let first = self.random.below(ROWS);
                let count = 2 + self.random.below(ROWS - 1);
                let rows = (0..count).map(|offset| (first + offset) % ROWS);
                TableCall::Transaction(rows.map(|row| self.change(row)).collect())
            }
        }
    }

    fn change(&mut self, row: usize) -> Single {
        self.written += 1;
        let value = self.client as u32 * 1_000_000 + self.written;
        match (self.random.below(6), self.known.get(&row)) {
            (0..3, Some((expected, _))) => Single::Swap { row, expected: *expected, value },
            (3, Some((expected, _))) => Single::Delete { row, expected: *expected },
            (4, _) => Single::Insert { row, value },
            _ => Single::Put { row, value },
        }
    }

    /// `false` if there was no response: the connection is broken, and the client ends.
    async fn perform(&mut self, operation: TableCall) -> Result<bool, String> {
        let call = self.call(&operation);
        let start = self.clock.tick();
        let reply = self.caller.call(&call).await.ok();
        let end = self.clock.tick();
        // A 5xx leaves the outcome of the request open.
        let known = reply.filter(|reply| reply.status < 500);
        let output = match &known {
            Some(reply) => Some(self.output(&operation, reply)?),
            None => None,
        };
        let ended = if output.is_some() { end } else { u64::MAX };
        // A read without a response proves nothing.
        if output.is_some() || !matches!(operation, TableCall::Get(_) | TableCall::Scan) {
            self.events.push(HistoryEvent { client: self.client, start, end: ended, operation, output });
        }
        Ok(known.is_some())
    }

    fn call(&self, operation: &TableCall) -> WireRequest {
        match operation {
            TableCall::Get(row) => WireRequest::new("GET", self.path(*row)),
            TableCall::Scan => {
                let filter = escaped(&format!("PartitionKey eq '{}'", self.place.partition));
                WireRequest::new("GET", format!("/{}()?$filter={filter}", self.place.table))
            }
            TableCall::Write(single) => self.single(single),
            TableCall::Transaction(parts) => {
                let calls: Vec<WireRequest> = parts.iter().map(|part| self.single(part)).collect();
                batch(&self.authority, &calls)
            }
        }
    }

    fn path(&self, row: usize) -> String {
        entity_path(&self.place.table, &self.place.partition, &format!("r{row}"))
    }

    fn single(&self, single: &Single) -> WireRequest {
        let body = |row: usize, value: u32| {
            json!({ "PartitionKey": self.place.partition, "RowKey": format!("r{row}"), "V": value })
                .to_string()
        };
        let etag = |row: usize| self.known.get(&row).map(|(_, etag)| etag.clone()).unwrap_or_default();
        match *single {
            Single::Insert { row, value } => WireRequest::new("POST", format!("/{}", self.place.table))
                .json(body(row, value))
                .with("Prefer", "return-no-content"),
            Single::Put { row, value } => WireRequest::new("PUT", self.path(row)).json(body(row, value)),
            Single::Swap { row, value, .. } => {
                WireRequest::new("PUT", self.path(row)).json(body(row, value)).with("If-Match", etag(row))
            }
            Single::Delete { row, .. } => {
                WireRequest::new("DELETE", self.path(row)).with("If-Match", etag(row))
            }
        }
    }

    fn output(&mut self, operation: &TableCall, reply: &TableReply) -> Result<Output, String> {
        match operation {
            TableCall::Get(row) => match reply.status {
                200 => self.entity(*row, &reply.json).map(|value| Output::Value(Some(value))),
                404 => Ok(Output::Value(None)),
                _ => Err(strange(operation, reply)),
            },
            TableCall::Scan if reply.status == 200 => self.scan(&reply.json).map(Output::Values),
            TableCall::Scan => Err(strange(operation, reply)),
            TableCall::Write(single) => self.changed(single, reply).ok_or_else(|| strange(operation, reply)),
            TableCall::Transaction(parts) => {
                let replies = batch_replies(reply);
                let outputs: Option<Vec<Output>> = match replies.len() {
                    1 if replies[0].status >= 400 => rejection(&replies[0]).map(|output| vec![output]),
                    count if count == parts.len() => {
                        parts.iter().zip(&replies).map(|(part, reply)| self.changed(part, reply)).collect()
                    }
                    _ => None,
                };
                outputs
                    .and_then(|outputs| outputs.into_iter().next())
                    .ok_or_else(|| strange(operation, reply))
            }
        }
    }

    fn changed(&mut self, single: &Single, reply: &TableReply) -> Option<Output> {
        if reply.status != 204 {
            return rejection(reply);
        }
        match (single, &reply.etag) {
            (Single::Delete { row, .. }, _) => {
                self.known.remove(row);
            }
            (
                Single::Insert { row, value } | Single::Put { row, value } | Single::Swap { row, value, .. },
                Some(etag),
            ) => {
                self.known.insert(*row, (*value, etag.clone()));
            }
            _ => return None,
        }
        Some(Output::Applied)
    }

    fn scan(&mut self, json: &Value) -> Result<RowValues, String> {
        let mut state = [None; ROWS];
        for entity in json["value"].as_array().ok_or("a page without a list")? {
            let row =
                entity["RowKey"].as_str().and_then(|text| text.strip_prefix('r')?.parse::<usize>().ok());
            let row = row.filter(|row| *row < ROWS).ok_or("a row that nobody wrote")?;
            if state[row].is_some() {
                return Err(format!("row {row} occurs twice in one response: {json}"));
            }
            state[row] = Some(self.entity(row, entity)?);
        }
        Ok(state)
    }

    fn entity(&mut self, row: usize, entity: &Value) -> Result<u32, String> {
        let value = entity["V"].as_u64().and_then(|value| u32::try_from(value).ok());
        let value = value.ok_or("an entity without its value")?;
        let etag = entity["odata.etag"].as_str().ok_or("an entity without an ETag")?;
        self.known.insert(row, (value, etag.to_owned()));
        Ok(value)
    }
}

impl HistoryClient<TableCall> for HistoryWorker {
    async fn run(mut self, operations: usize) -> Result<Vec<HistoryEvent<TableCall>>, String> {
        for _ in 0..operations {
            let operation = self.choose();
            if !self.perform(operation).await? {
                break;
            }
        }
        Ok(self.events)
    }

    /// Reads the whole partition once, and then every row by its key.
    async fn read_all(mut self) -> Result<Vec<HistoryEvent<TableCall>>, String> {
        for operation in std::iter::once(TableCall::Scan).chain((0..ROWS).map(TableCall::Get)) {
            if !self.perform(operation.clone()).await? {
                return Err(format!("{operation:?} at the end got no response"));
            }
        }
        Ok(self.events)
    }
}

fn rejection(reply: &TableReply) -> Option<Output> {
    match reply.status {
        404 => Some(Output::Missing),
        409 => Some(Output::Exists),
        412 => Some(Output::Mismatch),
        _ => None,
    }
}

fn strange(operation: &TableCall, reply: &TableReply) -> String {
    format!("{operation:?} got the response {} {}", reply.status, reply.body)
}
