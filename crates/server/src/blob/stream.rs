//! Adapters for streamed content. One lets the service read the body of a request; the other sends what the
//! service reads as the body of a response.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use lazuli_model::Failure;
use lazuli_protocol::http::response::Context;
use lazuli_service::blob::BlobReader;
use lazuli_service::stream::{NextChunk, Source};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::http::{Body, ResponseContent};
use crate::pipeline::execute::logged;

/// Minimum write rate of a disk in bytes per second: a large upload gets more time to become durable.
const STORED_PER_SECOND_MIN: usize = 4 * 1024 * 1024;

/// A request body as a source.
pub struct BodySource<'a> {
    body: &'a mut dyn Body,
    bytes: usize,
    turn: watch::Sender<Turn>,
}

/// The side that the transfer is waiting for: the client, or the server (with the start of the wait, and the
/// number of bytes being written to disk).
#[derive(Clone, Copy, Debug)]
enum Turn {
    Client,
    Server(Instant, usize),
}

/// Completes when the server has taken too long to store the received bytes.
pub struct Overdue {
    turn: watch::Receiver<Turn>,
    time: Duration,
}

impl Overdue {
    /// Waits until the server has exceeded its time, plus the time that the bytes need on a slow disk. Time
    /// spent waiting for the client is not counted: its body has its own deadline.
    pub async fn passed(mut self) {
        loop {
            let turn = *self.turn.borrow_and_update();
            let changed = match turn {
                Turn::Client => self.turn.changed().await,
                Turn::Server(since, bytes) => {
                    let more = Duration::from_secs((bytes / STORED_PER_SECOND_MIN) as u64);
                    match timeout_at(since + self.time + more, self.turn.changed()).await {
                        Ok(changed) => changed,
                        Err(_) => return,
                    }
                }
            };
            if changed.is_err() {
                // The upload has ended.
                return std::future::pending().await;
            }
        }
    }
}

impl<'a> BodySource<'a> {
    pub fn new(body: &'a mut dyn Body) -> Self {
        Self { body, bytes: 0, turn: watch::Sender::new(Turn::Server(Instant::now(), 0)) }
    }

    /// Limits the server's share of the time to `time`.
    pub fn overdue(&self, time: Duration) -> Overdue {
        Overdue { turn: self.turn.subscribe(), time }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Source for BodySource<'_> {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            self.turn.send_replace(Turn::Client);
            let piece = self.body.next().await;
            self.bytes += piece.as_ref().ok().and_then(Option::as_ref).map_or(0, Bytes::len);
            self.turn.send_replace(Turn::Server(Instant::now(), self.bytes));
            Ok(piece?)
        })
    }
}

/// The content of a blob that is being sent to a client.
pub struct Download {
    first: Option<Bytes>,
    reader: BlobReader,
    request_id: String,
}

impl Download {
    /// Reads the first bytes. If that fails, the client gets an error status.
    pub async fn begin(
        mut reader: BlobReader,
        context: &Context,
    ) -> Result<Box<dyn ResponseContent>, Failure> {
        let first = reader.next().await.map_err(|error| logged(context, &error))?;
        Ok(Box::new(Self { first, reader, request_id: context.request_id.clone() }))
    }
}

impl ResponseContent for Download {
    fn is_bounded(&self) -> bool {
        self.reader.is_bounded()
    }

    fn next(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Option<Bytes>>> + Send + '_>> {
        Box::pin(async {
            if let Some(first) = self.first.take() {
                return Ok(Some(first));
            }
            self.reader.next().await.map_err(|error| {
                // The status has been sent already, so the client sees a broken connection.
                tracing::error!(request_id = %self.request_id, ?error, "failed to read the content of a blob");
                io::Error::other("the content of a blob cannot be read")
            })
        })
    }
}
