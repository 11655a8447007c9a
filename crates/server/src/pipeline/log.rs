//! The log line of each request, written with `--log-requests`. It contains no secrets: neither signatures nor bodies.

use std::net::IpAddr;
use std::time::Duration;

use lazuli_model::OperationKind;
use lazuli_protocol::Head;
use lazuli_protocol::http::response::{Context, Response};

use super::note::Note;
use crate::http;

/// Writes the line. QY-22: it includes the plan class of a query, so that table scans stand out.
pub fn write(
    note: &Note,
    head: &Head<'_>,
    context: &Context,
    response: &Response,
    peer: IpAddr,
    time: Duration,
) {
    tracing::info!(
        target: "lazuli::request",
        request_id = %context.request_id,
        account = %context.account,
        operation = if note.kind == OperationKind::Unknown { "-" } else { note.kind.name() },
        method = head.method,
        path = path(head.target),
        status = response.status,
        error = response.error.map_or("-", |code| code.name()),
        plan = note.effort.map_or("-", |effort| effort.class.name()),
        rows_read = note.effort.map_or(0, |effort| effort.rows_read),
        rows = note.rows_returned,
        bytes = http::body_bytes(head.method, response),
        micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        client = %peer,
    );
}

/// QY-22: warns of a query that reads many rows of a table to return few.
pub fn warn(note: &Note, head: &Head<'_>, context: &Context) {
    tracing::warn!(
        request_id = %context.request_id,
        account = %context.account,
        path = path(head.target),
        rows_read = note.effort.map_or(0, |effort| effort.rows_read),
        rows = note.rows_returned,
        "a query scanned a table to return few rows; add a PartitionKey to its filter \
         (details: x-lazuli-explain: 1; logged at most once a minute)",
    );
}

/// The target without its query, which may carry a signature.
fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}
