//! The work of the Queue workloads on one server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazuli_model::Service;

use super::request::{self, ReceivedMessage};
use super::{SHALLOW, Work};
use crate::Options;
use crate::contestant::Step;
use crate::load::in_parallel;
use crate::process::{Process, Server};
use crate::session::Session;

/// Number of messages that a consumer requests.
const BATCH: u64 = 32;
/// The time for which messages stay hidden: longer than any run.
const HIDDEN_SECONDS: u64 = 24 * 60 * 60;
/// Lifetime of messages that should have expired when the measurement starts.
const BRIEF_SECONDS: i64 = 1;
/// Interval for checking whether they have expired.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A message that never expires.
const FOR_EVER: i64 = -1;

/// A workload with its size, and the messages in hand.
#[derive(Clone)]
pub struct Job {
    work: Work,
    /// Messages, or queues.
    variant: u64,
    /// Receipts of messages to delete.
    receipts: Arc<Mutex<Vec<ReceivedMessage>>>,
}

impl Job {
    pub(crate) fn new(work: Work, variant: u64, _: &Options) -> Self {
        Self { work, variant, receipts: Arc::default() }
    }

    /// Creates the queues and loads the messages that stay.
    pub(crate) async fn prepare(&self, process: &Process) -> Result<(), String> {
        let mut session = process.session(Service::Queue, 0).await?;
        let queues = if self.work == Work::Pairs { self.variant } else { 1 };
        for number in 0..queues {
            session.send(request::create(&session.account, &queue(number)), &[201]).await?;
        }
        match self.work {
            Work::Peek | Work::Deep => put_all(process, self.variant, FOR_EVER).await,
            Work::Hidden => {
                put_all(process, self.variant, FOR_EVER).await?;
                self.take_all(process, false).await
            }
            Work::Expired => {
                put_all(process, self.variant, BRIEF_SECONDS).await?;
                until_empty(&mut session).await?;
                put_all(process, SHALLOW, FOR_EVER).await
            }
            Work::Put | Work::Get | Work::Delete | Work::Drain | Work::Pairs => Ok(()),
        }
    }

    /// Loads the messages that the next slice consumes.
    pub(crate) async fn refill(&self, process: &Process) -> Result<(), String> {
        if !matches!(self.work, Work::Get | Work::Delete | Work::Drain) {
            return Ok(());
        }
        let mut session = process.session(Service::Queue, 0).await?;
        session.send(request::clear(&session.account, &queue(0)), &[204]).await?;
        put_all(process, self.variant, FOR_EVER).await?;
        if self.work == Work::Delete {
            self.hold(|receipts| receipts.clear());
            self.take_all(process, true).await?;
        }
        Ok(())
    }

    /// Producers and consumers are twice as many.
    pub(crate) fn connections(&self, options: &Options, _: Server) -> usize {
        if self.work == Work::Pairs { 2 * options.connections } else { options.connections }
    }

    /// Does the next operation.
    pub(crate) async fn step(&self, session: &mut Session) -> Result<Step, String> {
        match self.work {
            _ if session.server.is_bare() => bare(self.work, session).await,
            Work::Put => put(session, &queue(0), FOR_EVER).await,
            Work::Get => {
                let request = request::get(&session.account, &queue(0), BATCH, HIDDEN_SECONDS);
                let response = session.send(request, &[200]).await?;
                match request::receipts(&response).len() as u64 {
                    0 => Ok(Step::Exhausted),
                    count => Ok(Step::Done(count)),
                }
            }
            Work::Delete => match self.hold(Vec::pop) {
                Some(receipt) => delete(session, &queue(0), &receipt).await,
                None => Ok(Step::Exhausted),
            },
            Work::Drain => match consume(session, &queue(0)).await? {
                Step::Done(0) => Ok(Step::Exhausted),
                Step::Done(deleted) => Ok(Step::Done(1 + deleted)),
                Step::Exhausted => Ok(Step::Exhausted),
            },
            Work::Peek => {
                session.send(request::peek(&session.account, &queue(0)), &[200]).await?;
                Ok(Step::Done(1))
            }
            Work::Pairs if session.number.is_multiple_of(2) => {
                put(session, &self.queue_of(session), FOR_EVER).await
            }
            Work::Pairs => consume(session, &self.queue_of(session)).await,
            Work::Deep | Work::Hidden | Work::Expired => cycle(session, &queue(0)).await,
        }
    }

    fn queue_of(&self, session: &Session) -> String {
        queue(session.number as u64 / 2 % self.variant)
    }

    fn hold<T>(&self, use_receipts: impl FnOnce(&mut Vec<ReceivedMessage>) -> T) -> T {
        use_receipts(&mut self.receipts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Receives every message, so that none is visible.
    async fn take_all(&self, process: &Process, keep_receipts: bool) -> Result<(), String> {
        let gets = self.variant.div_ceil(BATCH);
        let job = self.clone();
        in_parallel(process, Service::Queue, gets, move |mut session, _| {
            let job = job.clone();
            async move {
                let request = request::get(&session.account, &queue(0), BATCH, HIDDEN_SECONDS);
                let response = session.send(request, &[200]).await?;
                if keep_receipts {
                    job.hold(|receipts| receipts.extend(request::receipts(&response)));
                }
                Ok(session)
            }
        })
        .await
    }
}

fn queue(number: u64) -> String {
    format!("bench{number}")
}

/// Waits until every message has expired.
async fn until_empty(session: &mut Session) -> Result<(), String> {
    let mut again = tokio::time::interval(LOOK_EVERY);
    loop {
        again.tick().await;
        let response = session.send(request::peek(&session.account, &queue(0)), &[200]).await?;
        if !response.text().contains("<QueueMessage>") {
            return Ok(());
        }
    }
}

async fn put_all(process: &Process, count: u64, seconds_to_live: i64) -> Result<(), String> {
    in_parallel(process, Service::Queue, count, move |mut session, _| async move {
        put(&mut session, &queue(0), seconds_to_live).await?;
        Ok(session)
    })
    .await
}

async fn put(session: &mut Session, queue: &str, seconds_to_live: i64) -> Result<Step, String> {
    session.send(request::put(&session.account, queue, seconds_to_live), &[201]).await?;
    Ok(Step::Done(1))
}

async fn delete(session: &mut Session, queue: &str, receipt: &ReceivedMessage) -> Result<Step, String> {
    session.send(request::delete(&session.account, queue, receipt), &[204]).await?;
    Ok(Step::Done(1))
}

/// Gets messages and deletes them: each delete counts.
async fn consume(session: &mut Session, queue: &str) -> Result<Step, String> {
    let request = request::get(&session.account, queue, BATCH, HIDDEN_SECONDS);
    let receipts = request::receipts(&session.send(request, &[200]).await?);
    for receipt in &receipts {
        delete(session, queue, receipt).await?;
    }
    Ok(Step::Done(receipts.len() as u64))
}

/// Puts a message, gets one and deletes it, so that the depth of the queue stays the same.
async fn cycle(session: &mut Session, queue: &str) -> Result<Step, String> {
    put(session, queue, FOR_EVER).await?;
    let request = request::get(&session.account, queue, 1, HIDDEN_SECONDS);
    let receipts = request::receipts(&session.send(request, &[200]).await?);
    for receipt in &receipts {
        delete(session, queue, receipt).await?;
    }
    Ok(Step::Done(1))
}

/// The limit: a read if the workload only reads, else one durable append of a message.
async fn bare(work: Work, session: &mut Session) -> Result<Step, String> {
    let request = match work {
        Work::Peek => request::peek(&session.account, &queue(0)),
        _ => request::put(&session.account, &queue(0), FOR_EVER),
    };
    session.send(request, &[]).await?;
    Ok(Step::Done(1))
}
