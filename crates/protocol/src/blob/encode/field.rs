//! Header fields that many responses share.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_digest::{crc64_text, md5_text};
use lazuli_model::blob::lease::{LeaseState, LeaseView};
use lazuli_model::blob::protection::EncryptionView;
use lazuli_model::blob::write::Digested;
use lazuli_model::blob::{ETag, Stamp};
use lazuli_model::{DateTime, Metadata};

use crate::ApiVersion;
use crate::http::response::{Context, Response};

/// Adds header fields to a response.
pub(super) trait Fields: Sized {
    /// `ETag` and `Last-Modified`.
    fn stamp(self, context: &Context, stamp: Stamp) -> Self;
    /// `x-ms-meta-*`, in the letter case of the client.
    fn metadata(self, metadata: &Metadata) -> Self;
    /// The state of a lease.
    fn lease(self, context: &Context, lease: LeaseView) -> Self;
    /// The checksums that are known.
    fn digested(self, digested: &Digested) -> Self;
    /// Reports whether the data of a request was stored encrypted, and with which key.
    fn request_encryption(self, context: &Context, encryption: &EncryptionView) -> Self;
    /// The key or the scope with which a blob is encrypted.
    fn encryption(self, encryption: &EncryptionView) -> Self;
    /// The id of the version that a write created.
    fn version_id(self, context: &Context, version: Option<DateTime>) -> Self;
}

impl Fields for Response {
    fn stamp(self, context: &Context, stamp: Stamp) -> Self {
        self.with("Last-Modified", http(stamp.last_modified)).with("ETag", etag(context.version, stamp.etag))
    }

    fn metadata(mut self, metadata: &Metadata) -> Self {
        for (name, value) in metadata.iter() {
            self = self.with(format!("x-ms-meta-{name}"), value.to_owned());
        }
        self
    }

    fn lease(self, context: &Context, lease: LeaseView) -> Self {
        let response = self.with("x-ms-lease-status", lease_status(lease.state));
        if context.version < ApiVersion::V2012_02_12 {
            return response;
        }
        response
            .with("x-ms-lease-state", lease.state.name())
            .with_some("x-ms-lease-duration", lease.is_infinite.map(lease_duration))
    }

    fn digested(self, digested: &Digested) -> Self {
        self.with_some("Content-MD5", digested.md5.as_ref().map(md5_text))
            .with_some("x-ms-content-crc64", digested.crc64.as_ref().map(crc64_text))
    }

    fn request_encryption(self, context: &Context, encryption: &EncryptionView) -> Self {
        if context.version < ApiVersion::V2015_12_11 {
            return self;
        }
        self.with("x-ms-request-server-encrypted", "true").encryption(encryption)
    }

    fn encryption(self, encryption: &EncryptionView) -> Self {
        let sha256 = encryption.key_sha256.as_ref().map(|sha256| STANDARD.encode(sha256));
        self.with_some("x-ms-encryption-key-sha256", sha256)
            .with_some("x-ms-encryption-scope", encryption.scope.clone())
    }

    fn version_id(self, context: &Context, version: Option<DateTime>) -> Self {
        let version = version.filter(|_| context.version >= ApiVersion::V2019_12_12);
        self.with_some("x-ms-version-id", version.map(iso))
    }
}

/// An ETag in a header: quoted since 2011-08-18.
pub(super) fn etag(version: ApiVersion, tag: ETag) -> String {
    if version >= ApiVersion::V2011_08_18 { format!("\"{tag}\"") } else { tag.to_string() }
}

/// `locked` or `unlocked`.
pub(super) fn lease_status(state: LeaseState) -> &'static str {
    if state.is_locked() { "locked" } else { "unlocked" }
}

/// `infinite` or `fixed`.
pub(super) fn lease_duration(is_infinite: bool) -> &'static str {
    if is_infinite { "infinite" } else { "fixed" }
}

/// `true` or `false`.
pub(super) fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// A time in the format of headers.
pub(super) fn http(time: DateTime) -> String {
    time.http().as_str().to_owned()
}

/// A time in the format of the names of snapshots and versions.
pub(super) fn iso(time: DateTime) -> String {
    time.iso_seven_digits().as_str().to_owned()
}
