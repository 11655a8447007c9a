//! Sources of copies on other servers, fetched over HTTP from hosts that the operator allows.
//!
//! The conditions of the request are sent to the source server, since only it can compare its ETags. That
//! server may ignore them, so its response is checked as well.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::copy::{CopySource, source_failure};
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::properties::Md5;
use lazuli_model::blob::protection::CustomerKey;
use lazuli_model::blob::write::TagOption;
use lazuli_model::blob::{BlobKind, ByteRange, ContentHeaders, Operation, Tags};
use lazuli_model::{DateTime, ErrorCode, Failure, Metadata};
use lazuli_protocol::Head;
use lazuli_protocol::blob::tags;
use lazuli_service::blob::{Fetch, Opener, Opening, Remote, Supply};
use lazuli_service::stream::{NextChunk, Source};

use super::Work;
use crate::outbound::{Outbound, OutboundRequest, OutboundResponse, OutboundUrl, Problem};

/// The protocol version of requests to other servers. Other kinds of servers ignore it.
const VERSION: &str = "2021-12-02";
const METADATA: &str = "x-ms-meta-";
/// Maximum size of a document of tags.
const TAGS_BYTES_MAX: usize = 64 * 1024;
/// The conditions of a source, as the request names them and as the source server expects them.
const CONDITIONS: [(&str, &str); 5] = [
    ("x-ms-source-if-match", IF_MATCH),
    ("x-ms-source-if-none-match", IF_NONE_MATCH),
    ("x-ms-source-if-modified-since", IF_MODIFIED_SINCE),
    ("x-ms-source-if-unmodified-since", IF_UNMODIFIED_SINCE),
    ("x-ms-source-if-tags", IF_TAGS),
];
const IF_MATCH: &str = "If-Match";
const IF_NONE_MATCH: &str = "If-None-Match";
const IF_MODIFIED_SINCE: &str = "If-Modified-Since";
const IF_UNMODIFIED_SINCE: &str = "If-Unmodified-Since";
const IF_TAGS: &str = "x-ms-if-tags";

/// A source on another server.
struct Away {
    outbound: Arc<Outbound>,
    url: OutboundUrl,
    bearer: Option<String>,
    key: Option<CustomerKey>,
    conditions: Vec<(&'static str, String)>,
    range: Option<ByteRange>,
    /// Is it for Copy Blob, which reports unmet conditions differently?
    is_copy: bool,
    copies_tags: bool,
}

/// Opens the sources of copies that continue in the background.
pub(crate) struct Background(pub Arc<Outbound>);

impl Work<'_> {
    /// Access to a source on another server.
    pub(super) fn remote(
        &self,
        operation: &Operation,
        source: &CopySource,
    ) -> Result<Supply<'static>, Failure> {
        let url: OutboundUrl = source.url.parse().map_err(|_| ErrorCode::CopySourceNotAllowed)?;
        let has_secret = source.bearer.is_some() || source.key.is_some();
        if has_secret && !url.is_https && !url.is_loopback() {
            let why = "A bearer token or a key is sent to a copy source over https only.";
            return Err(Failure::new(ErrorCode::CopySourceForbidden, why));
        }
        let Operation::Blob(request) = operation else { return Err(ErrorCode::NotImplemented.into()) };
        let tags = match &request.action {
            BlobAction::Copy(copy) => copy.tag_option,
            BlobAction::PutBlobFromUrl(put) => put.tags,
            BlobAction::PutBlockFromUrl(..)
            | BlobAction::AppendBlockFromUrl(..)
            | BlobAction::PutPageFromUrl(..)
            | BlobAction::IncrementalCopy(_) => TagOption::Replace,
            _ => return Err(ErrorCode::NotImplemented.into()),
        };
        Ok(Supply::Remote(Box::new(Away {
            outbound: self.state.copy_sources.clone(),
            url,
            bearer: source.bearer.clone(),
            key: source.key.clone(),
            conditions: conditions_of(&self.request.head),
            range: source.range,
            is_copy: match &request.action {
                BlobAction::Copy(copy) => !copy.is_sync,
                action => matches!(action, BlobAction::IncrementalCopy(_)),
            },
            copies_tags: tags == TagOption::Copy,
        })))
    }
}

/// The conditions on the source in the head of a request.
fn conditions_of(head: &Head<'_>) -> Vec<(&'static str, String)> {
    let sent = CONDITIONS.iter().filter_map(|(name, own)| Some((*own, head.get_filled(name)?)));
    sent.map(|(name, value)| match name {
        IF_MATCH | IF_NONE_MATCH => (name, quoted(value)),
        _ => (name, value.to_owned()),
    })
    .collect()
}

/// An ETag as the standard writes it.
fn quoted(etag: &str) -> String {
    let is_standard = etag == "*" || etag.starts_with('"') || etag.starts_with("W/");
    if is_standard { etag.to_owned() } else { format!("\"{etag}\"") }
}

impl Opener for Away {
    fn open(self: Box<Self>) -> Opening<'static> {
        Box::pin(async move { self.fetch().await })
    }
}

impl Fetch for Background {
    fn open<'a>(&'a self, url: &'a str, etag: Option<&'a str>) -> Opening<'a> {
        Box::pin(async move {
            let away = Away {
                outbound: self.0.clone(),
                url: url.parse().map_err(|_| ErrorCode::CopySourceNotAllowed)?,
                bearer: None,
                key: None,
                conditions: etag.map(|etag| (IF_MATCH, etag.to_owned())).into_iter().collect(),
                range: None,
                is_copy: true,
                copies_tags: false,
            };
            away.fetch().await
        })
    }
}

impl Away {
    async fn fetch(&self) -> Result<Remote, Failure> {
        let mut fields = self.credentials();
        fields.extend(self.conditions.iter().cloned());
        if let Some(ByteRange { first, last }) = self.range {
            let last = last.map(|last| last.to_string()).unwrap_or_default();
            fields.push(("Range", format!("bytes={first}-{last}")));
        }
        let response = self.send(&self.url, fields).await?;
        let expected = if self.range.is_some() { 206 } else { 200 };
        if response.status != expected {
            return Err(self.rejection(&response));
        }
        self.verify_conditions(&response)?;
        self.verify_range(&response)?;
        let unusable =
            || Failure::new(ErrorCode::CopySourceUnusable, "The copy source does not announce its length.");
        let length = response.length.ok_or_else(unusable)?;
        let tags = if self.copies_tags { self.tags().await? } else { Tags::default() };
        Ok(remote(response, length, self.range.is_none(), tags))
    }

    fn credentials(&self) -> Vec<(&'static str, String)> {
        let bearer = self.bearer.as_ref().map(|token| ("Authorization", format!("Bearer {token}")));
        let key = self.key.iter().flat_map(|CustomerKey { key, sha256 }| {
            [
                ("x-ms-encryption-key", STANDARD.encode(key)),
                ("x-ms-encryption-key-sha256", STANDARD.encode(sha256)),
                ("x-ms-encryption-algorithm", "AES256".to_owned()),
            ]
        });
        std::iter::once(("x-ms-version", VERSION.to_owned())).chain(bearer).chain(key).collect()
    }

    async fn send(
        &self,
        url: &OutboundUrl,
        fields: Vec<(&'static str, String)>,
    ) -> Result<OutboundResponse, Failure> {
        let request = OutboundRequest { fields, ..OutboundRequest::default() };
        self.outbound.send(url, &request).await.map_err(|problem| match problem {
            Problem::NotAllowed => ErrorCode::CopySourceNotAllowed.into(),
            Problem::Busy => ErrorCode::ServerBusy.into(),
            Problem::Failed(error) => {
                tracing::info!(source = ?url, %error, "a copy source cannot be reached");
                ErrorCode::CopySourceUnreachable.into()
            }
        })
    }

    async fn tags(&self) -> Result<Tags, Failure> {
        let mut url = self.url.clone();
        url.target.push_str(if url.target.contains('?') { "&comp=tags" } else { "?comp=tags" });
        let mut response = self.send(&url, self.credentials()).await?;
        if response.status != 200 {
            return Err(self.rejection(&response));
        }
        let body = response.whole(TAGS_BYTES_MAX).await.map_err(|_| ErrorCode::CopySourceUnreachable)?;
        tags::decode(&body).map_err(|_| ErrorCode::CopySourceUnusable.into())
    }

    /// Converts an error response into a failure.
    fn rejection(&self, response: &OutboundResponse) -> Failure {
        let code = match response.status {
            304 => self.not_modified(),
            412 => self.not_met(),
            401 => ErrorCode::CopySourceUnauthorized,
            403 => ErrorCode::CopySourceForbidden,
            404 | 410 => ErrorCode::CopySourceNotFound,
            409 => ErrorCode::CopySourceConflict,
            416 => ErrorCode::InvalidRange,
            500.. => ErrorCode::CopySourceUnreachable,
            _ => ErrorCode::CopySourceUnusable,
        };
        source_failure(code, response.status, response.field("x-ms-error-code"))
    }

    fn not_modified(&self) -> ErrorCode {
        if self.is_copy { ErrorCode::SourceConditionNotMet } else { ErrorCode::CopySourceNotModified }
    }

    fn not_met(&self) -> ErrorCode {
        match self.conditions.iter().all(|(name, _)| *name == IF_TAGS) {
            true => ErrorCode::ConditionNotMet,
            false if self.is_copy => ErrorCode::SourceConditionNotMet,
            false => ErrorCode::CopySourceConditionNotMet,
        }
    }

    /// Checks the conditions against the head of the response, as far as possible.
    fn verify_conditions(&self, response: &OutboundResponse) -> Result<(), Failure> {
        let etag = response.field("etag");
        let modified = response.field("last-modified").and_then(DateTime::parse_http);
        for (name, value) in &self.conditions {
            let is_same = || value == "*" || etag == Some(value.as_str());
            let date = || DateTime::parse_http(value);
            let is_newer = || modified.zip(date()).is_none_or(|(modified, date)| modified > date);
            match *name {
                IF_MATCH if !is_same() => return Err(self.not_met().into()),
                IF_NONE_MATCH if is_same() => return Err(self.not_modified().into()),
                IF_MODIFIED_SINCE if !is_newer() => return Err(self.not_modified().into()),
                IF_UNMODIFIED_SINCE if is_newer() => return Err(self.not_met().into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that the response has the requested bytes.
    fn verify_range(&self, response: &OutboundResponse) -> Result<(), Failure> {
        let Some(range) = self.range else { return Ok(()) };
        let span = response.field("content-range").and_then(|text| text.strip_prefix("bytes "));
        let span = span.and_then(|text| text.split_once('/')?.0.split_once('-'));
        let span = span.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let fits = span.is_some_and(|(first, last): (u64, u64)| {
            let length = last.checked_sub(first).and_then(|length| length.checked_add(1));
            first == range.first && range.last.is_none_or(|max| last <= max) && length == response.length
        });
        if fits { Ok(()) } else { Err(ErrorCode::CopySourceUnusable.into()) }
    }
}

/// A source described by the head of its response.
fn remote(response: OutboundResponse, length: u64, is_whole: bool, tags: Tags) -> Remote {
    let text = |name: &str| response.field(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let md5 = response.field("content-md5").filter(|_| is_whole).and_then(|md5| STANDARD.decode(md5).ok());
    let headers = ContentHeaders {
        content_type: text("content-type"),
        content_encoding: text("content-encoding"),
        content_language: text("content-language"),
        content_md5: md5.and_then(|md5| Md5::try_from(md5).ok()).map(Into::into),
        content_disposition: text("content-disposition"),
        cache_control: text("cache-control"),
    };
    let mut metadata = Metadata::default();
    for (name, value) in response.fields() {
        let (prefix, name) = name.split_at_checked(METADATA.len()).unwrap_or_default();
        if prefix.eq_ignore_ascii_case(METADATA) {
            // Metadata that no blob of this server can have is left out.
            let _ = metadata.insert(name, value);
        }
    }
    Remote {
        length,
        kind: response.field("x-ms-blob-type").and_then(BlobKind::parse).unwrap_or(BlobKind::Block),
        etag: text("etag"),
        headers,
        metadata,
        tags,
        sequence_number: number(&response, "x-ms-blob-sequence-number"),
        appends: u32::try_from(number(&response, "x-ms-blob-committed-block-count")).unwrap_or(u32::MAX),
        is_sealed: response.field("x-ms-blob-sealed") == Some("true"),
        body: Box::new(Pieces(response)),
    }
}

fn number(response: &OutboundResponse, name: &str) -> u64 {
    response.field(name).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The body of a response as a source.
struct Pieces(OutboundResponse);

impl Source for Pieces {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            self.0.next().await.map_err(|error| {
                tracing::info!(%error, "the connection to a copy source was lost");
                ErrorCode::CopySourceUnreachable.into()
            })
        })
    }
}
