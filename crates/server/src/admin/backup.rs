//! Backups through the admin listener: snapshots, which the caller reads block by block.
//!
//! | call | response |
//! |---|---|
//! | `POST /backups` | starts one: `{"backup": ID}` |
//! | `POST /backups/ID/next` | the next block (`lazuli_archive::block`); the last one is marked as such |
//! | `DELETE /backups/ID` | ends it early |
//!
//! Each backup is a task that owns its copy and holds one block in memory. A backup ends by itself when no block is
//! requested for a while, so that a killed caller does not keep files alive.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lazuli_archive::BackupSource;
use lazuli_engine::Engine;
use lazuli_protocol::Response;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::{AdminError, respond};
use crate::entropy;

/// A backup ends when no block was requested for this long.
const IDLE_MAX: Duration = Duration::from_secs(60);

type ReplySender = oneshot::Sender<Result<Vec<u8>, String>>;

/// The backups in progress.
#[derive(Default)]
pub struct Backups(Mutex<HashMap<String, mpsc::Sender<ReplySender>>>);

/// A call to the backup API.
pub enum BackupCall<'a> {
    /// Begin one.
    Begin,
    /// The next block.
    Next(&'a str),
    /// End it early.
    End(&'a str),
}

impl<'a> BackupCall<'a> {
    /// Is this a call to the backup API?
    pub fn of(method: &str, target: &'a str) -> Option<Self> {
        let mut segments = target.strip_prefix("/backups")?.split('/');
        match (method, segments.next()?, segments.next(), segments.next(), segments.next()) {
            ("POST", "", None, None, None) => Some(Self::Begin),
            ("POST", "", Some(id), Some("next"), None) => Some(Self::Next(id)),
            ("DELETE", "", Some(id), None, None) => Some(Self::End(id)),
            _ => None,
        }
    }
}

impl Backups {
    /// Executes a call.
    pub async fn respond(&self, engine: &dyn Engine, call: BackupCall<'_>) -> Response {
        let result = match call {
            BackupCall::Begin => self.begin(engine).await,
            BackupCall::Next(id) => self.next(id).await,
            BackupCall::End(id) => {
                self.locked().remove(id);
                Ok(respond(200, &json!({ "ended": id })))
            }
        };
        result.unwrap_or_else(|AdminError(status, message)| respond(status, &json!({ "error": message })))
    }

    async fn begin(&self, engine: &dyn Engine) -> Result<Response, AdminError> {
        let begun = BackupSource::begin(engine, lazuli_service::naming()).await;
        let source = begun.map_err(|error| AdminError(503, error.to_string()))?;
        let random = entropy::random::<16>().map_err(|error| AdminError(500, error.to_string()))?;
        let id = format!("{:032x}", u128::from_be_bytes(random));
        let (asks, asked) = mpsc::channel(1);
        tokio::spawn(give(source, asked));
        let mut open = self.locked();
        // The engine allows only a few backups, so only a few can remain here.
        open.retain(|_, asks| !asks.is_closed());
        open.insert(id.clone(), asks);
        Ok(respond(200, &json!({ "backup": id })))
    }

    async fn next(&self, id: &str) -> Result<Response, AdminError> {
        let gone = || {
            let seconds = IDLE_MAX.as_secs();
            AdminError(
                410,
                format!("unknown backup; a backup ends after {seconds} seconds without a request"),
            )
        };
        let asks = self.locked().get(id).cloned().ok_or_else(gone)?;
        let (reply, replied) = oneshot::channel();
        asks.send(reply).await.map_err(|_| gone())?;
        let block = replied.await.map_err(|_| gone())?.map_err(|message| AdminError(500, message))?;
        Ok(Response::new(200).with("Content-Type", "application/octet-stream").with_body(block))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<ReplySender>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the blocks of a backup, one for each request, until the end.
async fn give(mut source: BackupSource, mut asked: mpsc::Receiver<ReplySender>) {
    while let Ok(Some(reply)) = timeout(IDLE_MAX, asked.recv()).await {
        let block = match source.next().await {
            Ok(Some(block)) => Ok(block),
            Ok(None) => Err("the backup has already ended".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let is_over = block.is_err() || source.is_over();
        // A caller that no longer waits needs no result.
        if reply.send(block).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_distinguished() {
        let name = |method: &str, target: &str| match BackupCall::of(method, target) {
            Some(BackupCall::Begin) => "begin".to_owned(),
            Some(BackupCall::Next(id)) => format!("next {id}"),
            Some(BackupCall::End(id)) => format!("end {id}"),
            None => "none".to_owned(),
        };
        for (method, target, wanted) in [
            ("POST", "/backups", "begin"),
            ("POST", "/backups/a1/next", "next a1"),
            ("DELETE", "/backups/a1", "end a1"),
            ("GET", "/backups", "none"),
            ("POST", "/backupsx", "none"),
            ("POST", "/backups/a1", "none"),
            ("POST", "/backups/a1/next/x", "none"),
            ("DELETE", "/accounts/a1", "none"),
        ] {
            assert_eq!(name(method, target), wanted, "{method} {target}");
        }
    }
}
