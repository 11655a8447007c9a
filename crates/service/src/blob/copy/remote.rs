//! Sources on other servers. The service decides which bytes are copied; the server opens the source.

use std::future::Future;
use std::pin::Pin;

use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::operation::{BlobRequest, CopyBlob};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::{Digested, StreamedBody};
use lazuli_model::blob::{BlobKind, ContentHeaders, Tags};
use lazuli_model::{Failure, Guid, Metadata};

use super::blob::{CopyPlan, check_source};
use super::pending::Progress;
use super::{Counted, Style, unmet_in_source, unsupplied};
use crate::blob::core::{At, Core};
use crate::blob::guard::Guard;
use crate::blob::put::Replacement;
use crate::blob::record::{CopyTask, RemoteTask, Revision};
use crate::blob::upload::{Installed, UploadedContent};
use crate::stream::Source;
use crate::{Grant, Result};

/// A source that is being opened.
pub type Opening<'a> = Pin<Box<dyn Future<Output = std::result::Result<Remote, Failure>> + Send + 'a>>;

/// The source of a request. It is opened after the destination has been checked.
pub trait Opener: Send {
    /// Opens it.
    fn open(self: Box<Self>) -> Opening<'static>;
}

/// Opens the sources of copies that continue in the background.
pub trait Fetch: Send + Sync {
    /// Opens a source, which must still have this ETag.
    fn open<'a>(&'a self, url: &'a str, etag: Option<&'a str>) -> Opening<'a>;
}

/// A source on another server.
pub struct Remote {
    /// Its bytes, or those of the requested range.
    pub body: Box<dyn Source>,
    /// Number of bytes.
    pub length: u64,
    /// Its kind.
    pub kind: BlobKind,
    /// Its ETag, in the format of its server.
    pub etag: Option<String>,
    /// Its HTTP headers.
    pub headers: ContentHeaders,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its tags, if the request copies them.
    pub tags: Tags,
    /// The sequence number of a page blob.
    pub sequence_number: u64,
    /// The number of appends to an append blob.
    pub appends: u32,
    /// Is it a sealed append blob?
    pub is_sealed: bool,
}

/// Received content, with the rows that refer to it.
struct Landed {
    /// Content that no row refers to yet. Pages are already rows.
    draft: Option<UploadedContent>,
    digested: Digested,
    installed: Installed,
}

impl Remote {
    /// The source as a blob state, without its content.
    pub(in crate::blob) fn revision(&self) -> Revision {
        Revision {
            size: self.length,
            headers: self.headers.clone(),
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            sequence_number: self.sequence_number,
            appends: self.appends,
            is_sealed: self.is_sealed,
            ..Revision::new(self.kind, 0)
        }
    }
}

impl Core {
    pub(super) async fn copy_remote(
        &self,
        grant: &Grant,
        at: At,
        guard: Guard,
        request: &BlobRequest,
        copy: &CopyBlob,
        (opener, target): (Box<dyn Opener + '_>, Option<&Revision>),
    ) -> Result<(Written, Guid, CopyStatus)> {
        let style = if copy.is_sync { Style::FromUrlByTag } else { Style::Copy };
        let remote = opener.open().await;
        let remote = remote.map_err(|failure| unmet_in_source(failure, style, &copy.source.conditions))?;
        let source = remote.revision();
        check_source(&source, copy, target)?;
        let plan = self.plan(at, guard, request, copy, &source);
        if !copy.is_sync && remote.length > self.options.copy_at_once_max {
            let remote = RemoteTask { url: copy.source.url.clone(), etag: remote.etag.unwrap_or_default() };
            return self.begin_pending(plan, CopyTask { remote: Some(remote), ..CopyTask::default() }).await;
        }
        let body =
            StreamedBody { length: remote.length, expected: copy.source.expected, needed: copy.digests };
        let Remote { body: mut stream, kind: blob_kind, .. } = remote;
        let landed = self.land(&plan.at, &mut *stream, blob_kind, &body).await?;
        self.still_there(&grant.home, &request.container, &plan.at).await?;
        let CopyPlan { at, guard, id, kind, mut revision } = plan;
        let Landed { mut draft, digested, installed: Installed { stored, writes, pin } } = landed;
        if copy.is_sync {
            revision.headers.content_md5 = revision.headers.content_md5.or(digested.md5.map(Into::into));
        }
        revision.content = stored;
        draft.iter_mut().for_each(|draft| draft.committing(self.clock().ticks()));
        let written = self.replace(&at, guard, Replacement { kind, revision }, writes).await;
        draft.into_iter().for_each(|draft| draft.settle(&written));
        drop(pin);
        Ok((Written { digested, ..written? }, id, CopyStatus::Success))
    }

    /// Executes a pending copy whose source is on another server.
    pub(super) async fn copy_pending_remote(&self, at: &At, id: Guid, task: &RemoteTask) -> Result<()> {
        let fetch = self.options.fetch.clone().ok_or_else(unsupplied)?;
        let etag = Some(task.etag.as_str()).filter(|etag| !etag.is_empty());
        let remote = fetch.open(&task.url, etag).await?;
        let state = remote.revision();
        let Remote { mut body, length, kind, .. } = remote;
        let mut progress = Progress::new(self, at, id, Counted::new(&mut *body));
        if let Some(()) = self.increment_pending(at, id, &state, &mut progress).await? {
            return Ok(());
        }
        let whole = StreamedBody { length, ..StreamedBody::default() };
        let Landed { mut draft, installed, .. } = self.land(at, &mut progress, kind, &whole).await?;
        draft.iter_mut().for_each(|draft| draft.committing(self.clock().ticks()));
        let finished = self.finish_copy(at, id, length, installed).await;
        draft.into_iter().for_each(|draft| draft.settle(&finished));
        finished
    }

    /// Receives content and prepares the rows of a blob of this kind.
    async fn land(
        &self,
        at: &At,
        source: &mut dyn Source,
        kind: BlobKind,
        body: &StreamedBody,
    ) -> Result<Landed> {
        if kind == BlobKind::Page {
            let installed = self.install_page_stream(at, source, body.length).await?;
            return Ok(Landed { draft: None, digested: Digested::default(), installed });
        }
        let received = self.receive(at, source, body).await?;
        let installed = match kind {
            BlobKind::Append => self.install_runs(at, &received.body),
            _ => self.install(at, &received.body),
        };
        Ok(Landed { draft: Some(received.body), digested: received.digested, installed })
    }
}
