//! Sources of copies, and the state of a copy as shown by the destination.

use crate::blob::condition::Conditions;
use crate::blob::name::{BlobName, ContainerName};
use crate::blob::operation::Revision;
use crate::blob::protection::CustomerKey;
use crate::blob::range::ByteRange;
use crate::blob::write::Digested;
use crate::{DateTime, ErrorCode, Failure, Guid};

/// The source of a copy or of a `…FromURL` operation.
#[derive(Clone, PartialEq)]
pub struct CopySource {
    /// The URL as it was sent, with its shared access signature.
    pub url: String,
    /// The blob that it refers to, if it has the format of a blob URL.
    pub blob: Option<SourceBlob>,
    /// `x-ms-copy-source-authorization`, without `Bearer`.
    pub bearer: Option<String>,
    /// `x-ms-source-encryption-key`: the key that the source was written with.
    pub key: Option<CustomerKey>,
    /// `x-ms-source-if-*`.
    pub conditions: Conditions,
    /// `x-ms-source-range`.
    pub range: Option<ByteRange>,
    /// Maximum bytes that the operation accepts in the version of the request; `None` if that does not depend
    /// on the version.
    pub length_max: Option<u64>,
    /// The checksums that the bytes must have.
    pub expected: Digested,
}

impl CopySource {
    /// Fails with `RequestBodyTooLarge` if the operation does not accept this many bytes.
    pub fn check_length(&self, length: u64) -> Result<(), Failure> {
        match self.length_max {
            Some(max) if length > max => {
                Err(Failure::from(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", max.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The failure `code` of a copy whose source could not be read: its headers and its body contain the status and
/// the code of the source's response.
pub fn source_failure(code: ErrorCode, status: u16, source_code: Option<&str>) -> Failure {
    let failure = Failure::from(code)
        .detail("x-ms-copy-source-status-code", status.to_string())
        .detail("CopySourceStatusCode", status.to_string());
    match source_code {
        Some(name) => failure
            .detail("x-ms-copy-source-error-code", name.to_owned())
            .detail("CopySourceErrorCode", name.to_owned()),
        None => failure,
    }
}

/// The failure `code` of a copy whose source on this server cannot be read because of `failure`.
pub fn unreadable_source(code: ErrorCode, failure: &Failure) -> Failure {
    source_failure(code, failure.code.status(), Some(failure.code.name()))
        .detail("CopySourceErrorMessage", failure.message.clone())
}

/// A blob that the URL of a source refers to.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceBlob {
    /// Host and port of the URL.
    pub authority: String,
    /// Is it the host of the request itself? If not, the operator's settings determine whether it is this
    /// server.
    pub is_same_host: bool,
    /// The account.
    pub account: String,
    /// The container.
    pub container: ContainerName,
    /// The blob.
    pub blob: BlobName,
    /// The version or snapshot.
    pub revision: Revision,
    /// The query of the URL as it was sent, possibly with a shared access signature.
    pub query: String,
}

// URLs of sources contain signatures: they must not reach a log.
impl std::fmt::Debug for CopySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopySource")
            .field("url", &without_query(&self.url))
            .field("conditions", &self.conditions)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SourceBlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/{}", self.authority, self.account, self.container, self.blob)
    }
}

/// The URL without its query.
pub fn without_query(url: &str) -> &str {
    url.split_once('?').map_or(url, |(path, _)| path)
}

/// The URL without the secret parameters of its query: signatures and tokens of Azure and of other stores. The
/// other parameters stay, such as the snapshot.
///
/// ```
/// use lazuli_model::blob::copy::without_signature;
///
/// let url = "http://h/a/c/b?snapshot=2026-01-02T03:04:05.0000000Z&sp=r&sig=x";
/// assert_eq!(without_signature(url), "http://h/a/c/b?snapshot=2026-01-02T03:04:05.0000000Z&sp=r");
/// assert_eq!(without_signature("http://h/a/c/b?sig=x"), "http://h/a/c/b");
/// ```
pub fn without_signature(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let is_public = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !name.is_empty() && !name.contains("sig") && !name.contains("token")
    };
    let kept: Vec<&str> = query.split('&').filter(is_public).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// The state of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyStatus {
    /// It continues.
    Pending,
    /// It is complete.
    Success,
    /// It was aborted.
    Aborted,
    /// It failed.
    Failed,
}

impl CopyStatus {
    /// The name in headers and listings.
    pub const fn name(self) -> &'static str {
        match self {
            CopyStatus::Pending => "pending",
            CopyStatus::Success => "success",
            CopyStatus::Aborted => "aborted",
            CopyStatus::Failed => "failed",
        }
    }
}

/// The last copy to a blob. The next change of the blob removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyInfo {
    /// Its id.
    pub id: Guid,
    /// The URL of the source, without its signature.
    pub source: String,
    /// Its state.
    pub status: CopyStatus,
    /// The number of copied bytes.
    pub copied: u64,
    /// The bytes to copy.
    pub total: u64,
    /// When it ended.
    pub completed: Option<DateTime>,
    /// Why it failed.
    pub description: Option<String>,
    /// Is it incremental?
    pub is_incremental: bool,
    /// The snapshot that the last incremental copy created.
    pub destination_snapshot: Option<DateTime>,
}
