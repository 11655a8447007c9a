//! The one line a request that the log gets on demand. No secrets: neither signatures nor bodies.

use std::net::IpAddr;
use std::time::Duration;

use lazuli_model::Outcome;
use lazuli_protocol::Head;
use lazuli_protocol::response::{Context, Response};

/// What is noted about a request while it is served.
#[derive(Default)]
pub struct Entry {
    /// The operation, by the service's own name for it.
    pub operation: &'static str,
    /// QY-22: what kind of reading a query was, so that table scans show.
    class: &'static str,
    rows_read: u64,
    rows_returned: usize,
}

impl Entry {
    /// Notes how much was read.
    pub fn observe(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Page(page) => {
                self.class = page.class;
                self.rows_read = page.rows_read;
                self.rows_returned = page.rows.len();
            }
            Outcome::Entity(_) => {
                self.class = "point";
                self.rows_read = 1;
                self.rows_returned = 1;
            }
            _ => {}
        }
    }

    /// Writes the line.
    pub fn write(
        &self,
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
            operation = if self.operation.is_empty() { "-" } else { self.operation },
            method = head.method,
            path = path(head.target),
            status = response.status,
            error = response.error.map_or("-", |code| code.name()),
            plan = if self.class.is_empty() { "-" } else { self.class },
            rows_read = self.rows_read,
            rows = self.rows_returned,
            bytes = response.body.len(),
            micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            client = %peer,
        );
    }
}

/// The target without its query, which may carry a signature.
fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}
