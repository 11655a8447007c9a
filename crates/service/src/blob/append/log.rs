//! Logs: blobs that only the server writes.
//!
//! To clients a log is a block blob without blocks. It grows like an append blob, so adding to it costs the
//! same at any length, and front ends that share an engine can add to one log without conflicts.
//!
//! Invariant: lines and the metadata that describes them are written in one commit.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_model::blob::write::StreamedBody;
use lazuli_model::blob::{BlobKind, BlobName, ContainerName};
use lazuli_model::{ErrorCode, Metadata};

use super::tail::Grow;
use super::{ATTEMPTS_MAX, Target, parts_of};
use crate::blob::commit::Step;
use crate::blob::core::{At, Core, name_of, tables_in, tables_of};
use crate::blob::keyspace::TABLES;
use crate::blob::record::{ContainerData, Head, Revision, Stored};
use crate::catalog::{Created, NewContainer};
use crate::stream::Whole;
use crate::{Error, Result};

/// Computes the metadata of a log with more lines from its current metadata, which is `None` if the log does
/// not exist yet. It may be called several times for one commit.
pub type Annotate = Arc<dyn Fn(Option<&Metadata>) -> Metadata + Send + Sync>;

/// The content type of logs.
const CONTENT_TYPE: &str = "text/plain";

impl Core {
    /// Creates the container of logs if it does not exist.
    pub async fn ensure_logs(&self, home: &str) -> Result<()> {
        self.logs(home).await.map(drop)
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
        let at = At { name: name.as_str().into(), ..self.logs(home).await? };
        if self.log_target(&at, bytes_max).await?.is_none() {
            return Ok(false);
        }
        let length = lines.len() as u64;
        let body = StreamedBody { length, ..StreamedBody::default() };
        let mut received = self.receive(&at, &mut Whole::from(lines), &body).await?;
        let parts = parts_of(&received.body);
        received.body.committing(self.clock().ticks());
        for _ in 0..ATTEMPTS_MAX {
            let Some(target) = self.log_target(&at, bytes_max).await? else { return Ok(false) };
            let rule = log_rule(target, length, annotate.clone());
            let grow = Arc::new(Grow::new(parts.clone(), self.content.inline_max()));
            match self.grow(&at, target, &grow, rule).await {
                Ok(Some(())) => {
                    self.fold_if_due(&at, target.generation, grow.fill()).await;
                    received.body.settle(&Ok(()));
                    return Ok(true);
                }
                Ok(None) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => {
                    let failed: Result<()> = Err(error);
                    received.body.settle(&failed);
                    return failed.map(|()| false);
                }
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// The container of logs, as the location of a blob without a name.
    async fn logs(&self, home: &str) -> Result<At> {
        let container = ContainerName::logs();
        if let Some(live) = self.service.catalog.find(name_of(home, &container)).await? {
            return Ok(At::new(tables_of(&live)?, ""));
        }
        let data = ContainerData { changed: self.clock().ticks(), ..ContainerData::default() };
        let draft = NewContainer { name: container.as_str().to_owned(), tables: TABLES, data: data.encode() };
        match self.service.catalog.create(name_of(home, &container), draft).await? {
            Created::Done(record) => Ok(At::new(tables_in(&record)?, "")),
            // Another front end has created it in the meantime.
            Created::Exists => Ok(At::new(tables_of(&*self.container(home, &container).await?)?, "")),
            Created::Blocked => Err(ErrorCode::ContainerBeingDeleted.into()),
        }
    }

    /// The runs of a log that accepts more lines.
    async fn log_target(&self, at: &At, bytes_max: u64) -> Result<Option<Target>> {
        let head = self.head(at).await?.unwrap_or_default();
        Ok(match (head.blob, head.deleted) {
            (None, None) => Some(Target { generation: self.fresh_generation(), is_new: true }),
            (Some(Revision { size, content: Stored::Runs(generation), .. }), _) if size < bytes_max => {
                Some(Target { generation, is_new: false })
            }
            _ => None,
        })
    }
}

/// Decides on the head of a log. Rejects the commit with `Conflict` if the log has changed since it was read.
fn log_rule(
    target: Target,
    length: u64,
    annotate: Annotate,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, ())> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let expected = Some(target.generation).filter(|_| !target.is_new);
        let found = head.blob.as_ref().and_then(|blob| blob.content.generation());
        let is_free = head.blob.is_none() && head.deleted.is_none();
        if found != expected || target.is_new && !is_free {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        let metadata = annotate(head.blob.as_ref().map(|blob| &blob.metadata));
        let mut blob = head.blob.take().unwrap_or_else(|| {
            let mut blob = Revision::new(BlobKind::Block, version);
            blob.content = Stored::Runs(target.generation);
            blob.headers.content_type = Some(CONTENT_TYPE.into());
            blob
        });
        if target.is_new {
            head.marks.shape = version;
        }
        blob.metadata = metadata;
        blob.size = blob.size.saturating_add(length);
        blob.changed = version;
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), ()))
    }
}
