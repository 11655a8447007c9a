//! The work of the writer of logs: moving old files, writing lines, deleting outdated logs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lazuli_model::{DateTime, Service};

use super::import::{self, Imported};
use super::logs::{LogWriter, Waiting};
use crate::state::State;

/// Work on logs.
pub enum AnalyticsWork {
    /// Move the log files of earlier versions in this directory.
    Import(PathBuf),
    /// Write lines.
    Write(Waiting),
    /// Delete the logs of these services from before these moments.
    Trim(Outdated),
}

/// Services of accounts, and the moments before which their logs are outdated.
pub type Outdated = Vec<(Service, String, DateTime)>;

/// Works on logs and reports failures.
pub async fn carry_out(state: Arc<State>, mut writer: LogWriter, work: AnalyticsWork) -> LogWriter {
    // Changes by other front ends are not cached.
    if let Err(failure) = state.freshen().await {
        tracing::warn!(error = %failure.message, "failed to read changes by other front ends");
    }
    match work {
        AnalyticsWork::Write(waiting) => {
            let (lost, why) = writer.write(waiting).await;
            if let Some(error) = why {
                state.analytics().dropped.fetch_add(lost, Ordering::Relaxed);
                tracing::error!(%error, lines = lost, "failed to write the request log");
            }
        }
        AnalyticsWork::Trim(logs) => {
            for (service, account, before) in logs {
                if let Err(error) = writer.trim(service, &account, before).await {
                    tracing::warn!(account, %error, "failed to delete old logs");
                }
            }
            writer.recount();
        }
        AnalyticsWork::Import(directory) => {
            let path = directory.display();
            match import::import(&mut writer, &directory).await {
                Ok(Imported { files: 0, left: 0 }) => {}
                Ok(Imported { files, left: 0 }) => {
                    tracing::info!(directory = %path, files, "moved log files into the containers $logs");
                }
                Ok(Imported { files, left }) => tracing::warn!(
                    directory = %path, files, left,
                    "moved log files into the containers $logs, except those of accounts that do not exist"
                ),
                Err(error) => {
                    tracing::error!(directory = %path, error, "failed to move log files; they remain in this directory");
                }
            }
        }
    }
    writer
}
