//! Request logs, written, listed and deleted by the server itself.

use bytes::Bytes;
use lazuli_model::blob::list::{BlobEntry, BlobPosition, Include, ListBlobs, ListedState};
use lazuli_model::blob::{BlobName, ContainerName, Outcome};
use lazuli_model::{ErrorCode, Failure};

use super::{Annotate, Blobs};
use crate::{Error, Result};

/// Logs per page.
const PAGE_LOGS_MAX: u32 = 1000;

/// A page of logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Names and sizes, by name.
    pub logs: Vec<(String, u64)>,
    /// The start of the next page.
    pub next: Option<BlobPosition>,
}

impl Blobs {
    /// Creates the container of logs if it does not exist.
    pub async fn ensure_logs(&self, home: &str) -> Result<()> {
        self.0.ensure_logs(home).await
    }

    /// Adds lines to a log, which is created if it does not exist. Returns `false`, and adds nothing, if the
    /// log has reached `bytes_max`, or is deleted but can be restored: the lines then belong in another log.
    pub async fn append_log(
        &self,
        home: &str,
        name: &BlobName,
        lines: Bytes,
        annotate: Annotate,
        bytes_max: u64,
    ) -> Result<bool> {
        Box::pin(self.0.append_log(home, name, lines, annotate, bytes_max)).await
    }

    /// Permanently deletes a log, even if the account keeps deleted blobs. `false` if there is none.
    pub async fn discard_log(&self, home: &str, name: &BlobName) -> Result<bool> {
        let mut at = self.0.locate(home, &ContainerName::logs(), name).await?;
        at.keeps = Default::default();
        Box::pin(self.0.discard(&at)).await
    }

    /// The logs whose names start with `prefix`.
    pub async fn list_logs(&self, home: &str, prefix: &str, from: Option<BlobPosition>) -> Result<LogPage> {
        let list = ListBlobs {
            prefix: prefix.to_owned(),
            delimiter: None,
            from,
            start_from: None,
            end_before: None,
            max_results: PAGE_LOGS_MAX,
            include: Include::default(),
        };
        let page = match self.0.list_blobs(home, &ContainerName::logs(), list).await {
            Ok(Outcome::Blobs(page)) => page,
            Err(Error::Rejected(Failure { code: ErrorCode::ContainerNotFound, .. })) | Ok(_) => {
                return Ok(LogPage::default());
            }
            Err(error) => return Err(error),
        };
        let logs = page.entries.into_iter().filter_map(|entry| match entry {
            BlobEntry::Blob(item) => match item.state {
                ListedState::Committed(properties) => Some((item.name, properties.size)),
                ListedState::Uncommitted(_) => None,
            },
            BlobEntry::Prefix(_) => None,
        });
        Ok(LogPage { logs: logs.collect(), next: page.next })
    }
}
