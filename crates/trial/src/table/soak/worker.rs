//! A worker of a soak: it knows the expected values of its rows.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lazuli_model::Service;
use serde_json::Value;

use super::TABLE;
use crate::random::Random;
use crate::soak::Shared;
use crate::table::wire::{
    Lost, TableCaller, TableReply, WireRequest, batch, batch_replies, entity_path, escaped,
};

/// Number of rows in a worker's partition: the data is bounded, so growth is an error.
const ROWS: usize = 300;
/// Characters of a row's filling.
const FILLING: usize = 600;
/// How long a server may be down.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// The expected value of a row: the last written number, or nothing.
type Known = Option<u64>;
/// Changes that were sent together.
type Changes = Vec<(usize, Known)>;

pub(crate) struct Worker {
    partition: String,
    random: Random,
    shared: Shared,
    caller: TableCaller,
    start: u64,
    rows: Vec<Known>,
    written: u64,
}

impl Worker {
    pub(crate) fn new(index: usize, random: Random, shared: Shared) -> Self {
        let place = shared.place.borrow().clone();
        Self {
            partition: format!("worker{index}"),
            random,
            caller: TableCaller::new(place.authority(Service::Table)),
            start: place.start,
            shared,
            rows: vec![None; ROWS],
            written: 0,
        }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            match self.random.below(20) {
                0..8 => self.change_one().await?,
                8..10 => self.change_many().await?,
                10..18 => self.check_one().await?,
                _ => self.check_all(&Vec::new()).await?,
            }
        }
        self.check_all(&Vec::new()).await
    }

    fn next_value(&mut self) -> Known {
        self.written += 1;
        (!self.random.chance(10)).then_some(self.written)
    }

    async fn change_one(&mut self) -> Result<(), String> {
        let row = self.random.below(ROWS);
        let change = vec![(row, self.next_value())];
        let call = self.change(row, change[0].1);
        match self.send(&call).await {
            // Deleting a missing row changes nothing.
            Ok(reply) if reply.status == 204 || reply.status == 404 && change[0].1.is_none() => {
                self.note(&change);
                Ok(())
            }
            Ok(reply) if reply.status < 500 => Err(format!("a change got the response {}", reply.body)),
            lost => self.settle(&change, lost).await,
        }
    }

    async fn change_many(&mut self) -> Result<(), String> {
        let first = self.random.below(ROWS);
        let count = 2 + self.random.below(30);
        let mut changes = Changes::new();
        for offset in 0..count {
            self.written += 1;
            changes.push(((first + offset) % ROWS, Some(self.written)));
        }
        let calls: Vec<WireRequest> = changes.iter().map(|(row, value)| self.change(*row, *value)).collect();
        match self.send(&batch("localhost", &calls)).await {
            Ok(reply) if reply.status == 202 => {
                let replies = batch_replies(&reply);
                if replies.len() != count || replies.iter().any(|reply| reply.status != 204) {
                    return Err(format!("a transaction got the response {}", reply.body));
                }
                self.note(&changes);
                Ok(())
            }
            Ok(reply) if reply.status < 500 => Err(format!("a transaction got the response {}", reply.body)),
            lost => self.settle(&changes, lost).await,
        }
    }

    async fn check_one(&mut self) -> Result<(), String> {
        let row = self.random.below(ROWS);
        let call = WireRequest::new("GET", self.path(row));
        let found = match self.send(&call).await {
            Ok(reply) if reply.status == 200 => number(&reply.json),
            Ok(reply) if reply.status == 404 => None,
            Ok(reply) if reply.status < 500 => {
                return Err(format!("a read got the response {}", reply.body));
            }
            lost => return self.settle(&Vec::new(), lost).await,
        };
        self.shared.meter.checked(1);
        self.compare(row, found)
    }

    /// Checks that everything is as acknowledged, and that the changes in progress were applied completely or
    /// not at all.
    async fn check_all(&mut self, under_way: &Changes) -> Result<(), String> {
        let filter = escaped(&format!("PartitionKey eq '{}'", self.partition));
        let call = WireRequest::new("GET", format!("/{TABLE}()?$filter={filter}&$select=RowKey,N"));
        let reply = match self.send(&call).await {
            Ok(reply) if reply.status == 200 => reply,
            Ok(reply) if reply.status < 500 => {
                return Err(format!("a query got the response {}", reply.body));
            }
            lost => return Box::pin(self.settle(under_way, lost)).await,
        };
        let mut found = vec![None; ROWS];
        for entity in reply.json["value"].as_array().into_iter().flatten() {
            let row = entity["RowKey"].as_str().and_then(|text| text.parse::<usize>().ok());
            let row = row.filter(|row| *row < ROWS).ok_or("a row that nobody wrote")?;
            found[row] = number(entity);
        }
        let applied = under_way.iter().filter(|(row, value)| found[*row] == *value).count();
        if applied == under_way.len() {
            self.note(under_way);
        }
        for (row, value) in found.into_iter().enumerate() {
            self.compare(row, value)?;
        }
        self.shared.meter.checked(ROWS);
        Ok(())
    }

    /// After a lost response: waits for the server, then checks the outcome of the changes.
    async fn settle(&mut self, under_way: &Changes, lost: Result<TableReply, Lost>) -> Result<(), String> {
        let why = lost.map_or_else(|Lost(error)| error.to_string(), |reply| reply.body);
        self.shared.lost(self.start, &why)?;
        let came_back =
            tokio::time::timeout(AWAY_MAX, self.shared.place.wait_for(|place| place.start > self.start));
        let place = match came_back.await {
            Ok(Ok(place)) => place.clone(),
            Ok(Err(_)) => return Ok(()),
            Err(_) if self.shared.stop.load(Ordering::Relaxed) => return Ok(()),
            Err(_) => return Err("the server did not come back".into()),
        };
        self.start = place.start;
        self.caller.moved(place.authority(Service::Table));
        Box::pin(self.check_all(under_way)).await
    }

    fn compare(&self, row: usize, found: Known) -> Result<(), String> {
        if self.rows[row] == found {
            return Ok(());
        }
        Err(format!("{} row {row} must be {:?} but is {found:?}", self.partition, self.rows[row]))
    }

    fn note(&mut self, changes: &Changes) {
        for &(row, value) in changes {
            self.rows[row] = value;
        }
    }

    fn path(&self, row: usize) -> String {
        entity_path(TABLE, &self.partition, &row.to_string())
    }

    fn change(&self, row: usize, value: Known) -> WireRequest {
        let Some(number) = value else {
            return WireRequest::new("DELETE", self.path(row)).with("If-Match", "*");
        };
        let filling = "x".repeat(FILLING);
        WireRequest::new("PUT", self.path(row))
            .json(format!("{{\"N\":\"{number}\",\"Filling\":\"{filling}\"}}"))
    }

    async fn send(&mut self, call: &WireRequest) -> Result<TableReply, Lost> {
        let began = Instant::now();
        let reply = self.caller.call(call).await?;
        self.shared.meter.record_response(began.elapsed());
        Ok(reply)
    }
}

fn number(entity: &Value) -> Known {
    entity["N"].as_str().and_then(|text| text.parse().ok())
}
