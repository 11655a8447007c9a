//! Undelete Blob: restores the blob with all its deleted snapshots and versions in one commit, regardless of
//! their number.

use lazuli_model::ErrorCode;
use lazuli_model::blob::{Outcome, Tags};

use super::ATTEMPTS_MAX;
use crate::blob::commit::Step;
use crate::blob::core::{At, Core};
use crate::blob::record::{Head, Revision};
use crate::{Error, Result};

impl Core {
    /// Undelete Blob. Restoring a blob that is not deleted succeeds and changes nothing.
    pub async fn undelete(&self, at: &At) -> Result<Outcome> {
        for _ in 0..ATTEMPTS_MAX {
            match self.undelete_once(at).await {
                Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                other => return other,
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    async fn undelete_once(&self, at: &At) -> Result<Outcome> {
        // First delete everything that can no longer be restored; then everything that is left can be restored.
        self.expire(at).await?;
        let now = self.clock().ticks();
        let head = self.head(at).await?.ok_or(ErrorCode::BlobNotFound)?;
        let revisions = self.revisions(at, &head, now).await?;
        let restorable = head.restorable(now);
        if head.blob.is_none() && restorable.is_none() && head.marks.kept.last_version == 0 {
            return Err(ErrorCode::BlobNotFound.into());
        }
        let tags = restorable.map_or_else(Tags::default, |blob| blob.tags.clone());
        let announced = self.announce_tags(at, &tags).await?;
        let (shape, snapshots) = (head.marks.shape, revisions.live + revisions.restorable);
        let rule = move |head: Option<Head>, version: u64| {
            let Some(mut head) = head.filter(|head| head.marks.shape == shape) else {
                return Err(lazuli_engine::Error::Conflict.into());
            };
            if let Some(blob) = head.deleted.take() {
                head.blob = Some(Revision { deleted: None, ..*blob });
            }
            head.marks.kept.restored = version;
            head.marks.kept.batch = None;
            head.marks.kept.floor = 0;
            head.marks.snapshots.count = if head.blob.is_some() { snapshots } else { 0 };
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), ()))
        };
        self.change(at, rule).await?;
        announced.committed(Vec::new());
        self.todo.blob(at);
        Ok(Outcome::Undeleted)
    }
}
