//! Put Blob From URL, Put Block From URL, Append Block From URL and Put Page From URL.

use std::sync::Arc;

use lazuli_model::blob::condition::{AppendConditions, SequenceConditions};
use lazuli_model::blob::copy::CopySource;
use lazuli_model::blob::operation::{BlobRequest, PageSpan, PutFromUrl};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::{Digested, Digests, StreamedBody, TagOption};
use lazuli_model::blob::{BlobKind, BlockId, ContentHeaders, Outcome, Tags};
use lazuli_model::{ErrorCode, Metadata, OperationKind};

use super::{Remote, Style, Supply, unmet_by_target, unmet_in_source, unsupplied};
use crate::blob::append::Append;
use crate::blob::core::At;
use crate::blob::core::Core;
use crate::blob::guard::Guard;
use crate::blob::page::PageWrite;
use crate::blob::put::settled;
use crate::blob::upload::{Received, collect};
use crate::{Grant, Result};

/// A source whose bytes were received, with its description.
struct Fetched {
    received: Received,
    headers: ContentHeaders,
    metadata: Metadata,
    tags: Tags,
}

impl Core {
    /// Put Blob From URL.
    pub async fn put_blob_from_url(
        &self,
        grant: &Grant,
        request: BlobRequest,
        put: PutFromUrl,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::PutBlobFromUrl, self.clock());
        let head = self.head(&at).await?.unwrap_or_default();
        let permitted = guard.create(&head);
        let unmet = |error| unmet_by_target(error, &request.conditions, false);
        let permitted = permitted.map_err(unmet);
        let PutFromUrl { source, mut settings, copies_headers, tags, digests } = put;
        // Azure compares the checksum of the source before it checks the destination.
        if source.expected == Digested::default() {
            permitted.clone()?;
        }
        // A blob that is written in one request gets its MD5 as a property, even if the response does not
        // include it.
        let needed = Digests { md5: true, ..digests };
        let fetched = self.fetch(&at, &source, needed, supply, Style::FromUrlByTag).await?;
        permitted?;
        self.still_there(&grant.home, &request.container, &at).await?;
        if settings.metadata.is_empty() {
            settings.metadata = fetched.metadata;
        }
        if tags == TagOption::Copy {
            settings.tags = fetched.tags;
        }
        if copies_headers {
            settings.headers = merged(settings.headers, fetched.headers);
        }
        let mut digested = fetched.received.digested;
        let mut revision = settled(BlobKind::Block, settings, &request);
        revision.headers.content_md5 = revision.headers.content_md5.or(digested.md5.map(Into::into));
        digested.md5 = digested.md5.filter(|_| digests.md5);
        let kind = OperationKind::PutBlobFromUrl;
        let written = self.put_received(&at, guard, kind, revision, fetched.received).await;
        let written = written.map_err(unmet)?;
        Ok(Outcome::Created(Box::new(Written { digested, ..written })))
    }

    /// Put Block From URL.
    pub async fn put_block_from_url(
        self: &Arc<Self>,
        grant: &Grant,
        request: BlobRequest,
        id: BlockId,
        source: CopySource,
        digests: Digests,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::creating(grant, &request, OperationKind::PutBlock, self.clock());
        self.may_stage(&at, &guard, &id).await?;
        let fetched = self.fetch(&at, &source, digests, supply, Style::FromUrlByTag).await?;
        self.still_there(&grant.home, &request.container, &at).await?;
        let digested = fetched.received.digested;
        self.stage(&at, &guard, &id, fetched.received).await?;
        Ok(Outcome::BlockPut(digested, request.encryption.view()))
    }

    /// Append Block From URL.
    pub async fn append_from_url(
        self: &Arc<Self>,
        grant: &Grant,
        request: BlobRequest,
        source: CopySource,
        digests: Digests,
        conditions: AppendConditions,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::AppendBlockFromUrl;
        let append = Append { kind, guard: Guard::of(&request, self.clock()), conditions };
        self.may_append(&at, &append, 0).await?;
        let fetched = self.fetch(&at, &source, digests, supply, Style::FromUrl).await?;
        self.still_there(&grant.home, &request.container, &at).await?;
        self.append_received(&at, append, fetched.received).await
    }

    /// Put Page From URL. The range of the source must be as long as the pages.
    pub async fn put_page_from_url(
        &self,
        grant: &Grant,
        request: BlobRequest,
        (span, sequence): (PageSpan, SequenceConditions),
        source: CopySource,
        digests: Digests,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::PutPageFromUrl;
        let write = PageWrite { kind, guard: Guard::of(&request, self.clock()), span, sequence };
        let unmet = |error| unmet_by_target(error, &request.conditions, false);
        let target = self.may_write(&at, &write).await.map_err(unmet)?;
        let fits = |length: u64| {
            if length == span.length { Ok(()) } else { Err(ErrorCode::InvalidPageRange) }
        };
        let bytes = match supply {
            Supply::Local(local) => {
                let opened = self.open_source(&local, &source, Style::FromUrl).await?;
                let (mut reader, length) = self.source_reader(opened, &source)?;
                fits(length)?;
                collect(&mut reader, length).await?
            }
            Supply::Remote(opener) => {
                let mut remote = opener.open().await?;
                fits(remote.length)?;
                collect(&mut *remote.body, remote.length).await?
            }
            Supply::Nothing | Supply::Body(_) => return Err(unsupplied()),
        };
        self.still_there(&grant.home, &request.container, &at).await?;
        let body = StreamedBody { length: span.length, expected: source.expected, needed: digests };
        self.put_pages(&at, write, target, &body, bytes).await.map_err(unmet)
    }

    /// Receives the bytes of a source.
    async fn fetch(
        &self,
        at: &At,
        source: &CopySource,
        needed: Digests,
        supply: Supply<'_>,
        style: Style,
    ) -> Result<Fetched> {
        let body = |length| StreamedBody { length, expected: source.expected, needed };
        match supply {
            Supply::Local(local) => {
                let opened = self.open_source(&local, source, style).await?;
                let (headers, metadata, tags) = (
                    opened.revision.headers.clone(),
                    opened.revision.metadata.clone(),
                    opened.revision.tags.clone(),
                );
                let (mut reader, length) = self.source_reader(opened, source)?;
                let received = self.receive(at, &mut reader, &body(length)).await?;
                Ok(Fetched { received, headers, metadata, tags })
            }
            Supply::Remote(opener) => {
                let opened = opener.open().await;
                let opened = opened.map_err(|failure| unmet_in_source(failure, style, &source.conditions))?;
                let Remote { body: mut stream, length, headers, metadata, tags, .. } = opened;
                source.check_length(length)?;
                let received = self.receive(at, &mut *stream, &body(length)).await?;
                Ok(Fetched { received, headers, metadata, tags })
            }
            Supply::Nothing | Supply::Body(_) => Err(unsupplied()),
        }
    }
}

/// The HTTP headers of the request, completed with those of the source.
fn merged(own: ContentHeaders, source: ContentHeaders) -> ContentHeaders {
    ContentHeaders {
        content_type: own.content_type.or(source.content_type),
        content_encoding: own.content_encoding.or(source.content_encoding),
        content_language: own.content_language.or(source.content_language),
        content_md5: own.content_md5.or(source.content_md5),
        content_disposition: own.content_disposition.or(source.content_disposition),
        cache_control: own.cache_control.or(source.cache_control),
    }
}
