//! Copies: from a blob of this server, or from another server.
//!
//! Every piece of content belongs to one blob, so copying a blob copies its bytes. Only a copy within one blob,
//! such as the promotion of a snapshot, shares its generation.

mod abort;
mod blob;
mod from_url;
mod pending;
mod remote;

use bytes::Bytes;
use lazuli_model::blob::condition::{Facts, Purpose, Unmet};
use lazuli_model::blob::copy::{CopySource, unreadable_source};
use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::{BlobKind, Conditions, Stamp, Tags};
use lazuli_model::{ErrorCode, Failure};

use super::core::{At, Core};
use super::guard::{not_archived, same_key};
use super::pins::Pin;
use super::reader::BlobReader;
use super::record::{Revision, Stored};
use super::upload::{Installed, UploadedContent};
use crate::access::blob::AuthorizedSource;
use crate::stream::{NextChunk, Source};
use crate::{Error, Result};

pub use pending::{Copies, pending};
pub use remote::{Fetch, Opener, Opening, Remote};

/// The input of an operation: its body, or access to the source that it names.
pub enum Supply<'a> {
    /// Nothing.
    Nothing,
    /// The body of the request.
    Body(&'a mut dyn Source),
    /// The source is a blob of this server.
    Local(Box<AuthorizedSource>),
    /// The source is on another server; this value opens it.
    Remote(Box<dyn Opener + 'a>),
}

/// A source on this server.
pub struct Opened {
    /// Where it is.
    pub at: At,
    /// The state at the time when the source was opened: a version can be the current blob.
    pub which: Which,
    /// Its state.
    pub revision: Revision,
    /// Keeps its content.
    pub pin: Pin,
}

/// The way in which failures of the source are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Copy Blob.
    Copy,
    /// The operations that end in `FromURL`.
    FromUrl,
    /// As `FromUrl`, but an unmet `x-ms-source-if-match` has the code of Copy Blob: Copy Blob From URL, Put
    /// Blob From URL and Put Block From URL.
    FromUrlByTag,
}

impl Core {
    /// Opens a source on this server and checks its conditions.
    pub async fn open_source(
        &self,
        authorized: &AuthorizedSource,
        source: &CopySource,
        style: Style,
    ) -> Result<Opened> {
        let (grant, blob) = (authorized.grant(), authorized.blob());
        let opened = async {
            let at = self.locate(&grant.home, &blob.container, &blob.blob).await?;
            let (which, revision, pin) = self.open_resolved(&at, blob.revision).await?;
            Ok(Opened { at, which, revision, pin })
        };
        let opened = opened.await.map_err(|error| match error {
            Error::Rejected(failure) if failure.code.status() == 404 => {
                unreadable_source(ErrorCode::CopySourceNotFound, &failure).into()
            }
            error => error,
        })?;
        let Revision { tags, encryption, .. } = &opened.revision;
        let key = source.key.as_ref().map(|key| key.sha256);
        same_key(encryption.key_sha256, key)
            .map_err(|code| unreadable_source(ErrorCode::CopySourceConflict, &code.into()))?;
        meets(&source.conditions, opened.revision.stamp(), tags, style)?;
        self.note_read(grant, &opened.at, opened.which, &opened.revision);
        Ok(opened)
    }

    /// The rows of a copy, divided into the blocks of its source, which must be pinned.
    async fn install_copy(
        &self,
        at: &At,
        draft: &UploadedContent,
        from: &At,
        source: &Revision,
    ) -> Result<Installed> {
        match source.kind {
            BlobKind::Append => Ok(self.install_runs(at, draft)),
            _ if has_blocks(&source.content) => self.install_blocks(at, draft, from, &source.content).await,
            _ => Ok(self.install(at, draft)),
        }
    }

    /// The bytes of a source on this server, or of a range of it.
    fn source_reader(&self, opened: Opened, source: &CopySource) -> Result<(BlobReader, u64)> {
        not_archived(&opened.revision)?;
        let size = opened.revision.size;
        let (offset, length) = match source.range {
            None => (0, size),
            Some(range) if range.first >= size => {
                return Err(Failure::from(ErrorCode::InvalidRange).into());
            }
            Some(range) => {
                let last = range.last.unwrap_or(u64::MAX).min(size - 1);
                (range.first, last - range.first + 1)
            }
        };
        source.check_length(length)?;
        let Opened { at, revision, pin, .. } = opened;
        Ok((BlobReader::new(self, &at, revision.content, pin, offset, length), length))
    }
}

fn meets(conditions: &Conditions, stamp: Stamp, tags: &Tags, style: Style) -> Result<()> {
    let facts = Facts { stamp, tags, holds_lease: false };
    let Err(unmet) = conditions.check(Purpose::Read, Some(facts)) else { return Ok(()) };
    let fails_by_tags = conditions.if_tags.as_ref().is_some_and(|expression| !expression.matches(tags));
    Err(Error::from(match (style, unmet) {
        (_, Unmet::Failed) if fails_by_tags => ErrorCode::ConditionNotMet,
        (Style::Copy, _) => ErrorCode::SourceConditionNotMet,
        (Style::FromUrl | Style::FromUrlByTag, Unmet::NotModified) => ErrorCode::CopySourceNotModified,
        (Style::FromUrlByTag, _) if conditions.if_match.is_some() => ErrorCode::SourceConditionNotMet,
        (Style::FromUrl | Style::FromUrlByTag, _) => ErrorCode::CopySourceConditionNotMet,
    }))
}

/// An unmet condition of a source on another server, which has checked the conditions itself.
fn unmet_in_source(failure: Failure, style: Style, conditions: &Conditions) -> Failure {
    let is_by_tag = style == Style::FromUrlByTag && conditions.if_match.is_some();
    match failure.code {
        ErrorCode::CopySourceConditionNotMet if is_by_tag => ErrorCode::SourceConditionNotMet.into(),
        _ => failure,
    }
}

/// An unmet condition of the destination. Copy Blob has its own error code for all conditions except the one on
/// tags, the other copies only for `If-Match`.
pub(super) fn unmet_by_target(error: Error, conditions: &Conditions, is_async: bool) -> Error {
    let is_by_target = if is_async { conditions.if_tags.is_none() } else { conditions.if_match.is_some() };
    match &error {
        Error::Rejected(failure) if is_by_target && failure.code == ErrorCode::ConditionNotMet => {
            ErrorCode::TargetConditionNotMet.into()
        }
        _ => error,
    }
}

/// The input does not match the operation: the server could not open the source.
pub fn unsupplied() -> Error {
    ErrorCode::CopySourceUnreachable.into()
}

/// Counts the bytes that pass through, to track the progress of a copy.
struct Counted<'a> {
    source: &'a mut dyn Source,
    passed: u64,
}

impl<'a> Counted<'a> {
    fn new(source: &'a mut dyn Source) -> Self {
        Self { source, passed: 0 }
    }
}

impl Source for Counted<'_> {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            let piece: Option<Bytes> = self.source.next().await?;
            self.passed += piece.as_ref().map_or(0, |bytes| bytes.len() as u64);
            Ok(piece)
        })
    }
}

/// Was the content committed from blocks?
fn has_blocks(stored: &Stored) -> bool {
    match stored {
        Stored::Inline { blocks, .. } => !blocks.is_empty(),
        Stored::Generation(named) => named.blocks > 0,
        Stored::Runs(_) | Stored::Pages(_) => false,
    }
}
