//! Tables that are created and deleted while other workers are active.

use std::sync::atomic::Ordering;

use lazuli_model::Service;

use crate::soak::Shared;
use crate::table::wire::{Lost, TableCaller, TableReply, WireRequest};

/// Number of rows in each table before it is deleted.
const ROWS: usize = 40;

/// Creates a table, fills it, reads it, deletes it, and starts over with the same name: deleted rows must stay
/// deleted.
pub(crate) async fn run(mut shared: Shared) -> Result<(), String> {
    let mut place = shared.place.borrow().clone();
    let mut caller = TableCaller::new(place.authority(Service::Table));
    while !shared.stop.load(Ordering::Relaxed) {
        match round(&mut caller).await {
            Ok(()) => continue,
            Err(Broken::Wrong(why)) => return Err(why),
            Err(Broken::Interrupted(why)) => shared.lost(place.start, &why)?,
        }
        // The server has ended; it will be restarted, or the soak is over.
        let start = place.start;
        match shared.place.wait_for(|now| now.start > start).await {
            Ok(now) => place = now.clone(),
            Err(_) => break,
        }
        caller.moved(place.authority(Service::Table));
        // The state after the last round is unknown, so delete the table with its contents.
        let _ = caller.call(&WireRequest::new("DELETE", "/Tables('churn')")).await;
    }
    Ok(())
}

/// Why a round failed.
enum Broken {
    /// A response was lost, or reported a failure.
    Interrupted(String),
    /// A response was wrong.
    Wrong(String),
}

/// All operations on one table.
async fn round(caller: &mut TableCaller) -> Result<(), Broken> {
    let create = WireRequest::new("POST", "/Tables").json("{\"TableName\":\"churn\"}");
    expect(caller, &create, 201).await?;
    let list = WireRequest::new("GET", "/churn()?$select=RowKey");
    let reply = expect(caller, &list, 200).await?;
    if reply.json["value"].as_array().is_none_or(|rows| !rows.is_empty()) {
        return Err(Broken::Wrong(format!("a new table is not empty: {}", reply.body)));
    }
    for row in 0..ROWS {
        let body = format!("{{\"PartitionKey\":\"{}\",\"RowKey\":\"{row}\"}}", row % 5);
        let insert = WireRequest::new("POST", "/churn").json(body).with("Prefer", "return-no-content");
        expect(caller, &insert, 204).await?;
    }
    let reply = expect(caller, &list, 200).await?;
    if reply.json["value"].as_array().map(Vec::len) != Some(ROWS) {
        return Err(Broken::Wrong(format!("a table does not have its {ROWS} rows: {}", reply.body)));
    }
    expect(caller, &WireRequest::new("DELETE", "/Tables('churn')"), 204).await.map(drop)
}

async fn expect(caller: &mut TableCaller, call: &WireRequest, status: u16) -> Result<TableReply, Broken> {
    match caller.call(call).await {
        Ok(reply) if reply.status == status => Ok(reply),
        Ok(reply) if reply.status < 500 => Err(Broken::Wrong(format!(
            "{} {} got the response {} {}",
            call.method, call.target, reply.status, reply.body
        ))),
        Ok(reply) => Err(Broken::Interrupted(reply.body)),
        Err(Lost(error)) => Err(Broken::Interrupted(error.to_string())),
    }
}
