//! Account information and user delegation keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::outcome::{AccountInformation, UserDelegationKey};

use super::field::flag;
use crate::ApiVersion;
use crate::http::response::{Context, Response};
use crate::xml::write::{document, leaf, nest};

pub(super) fn information(context: &Context, found: &AccountInformation) -> Response {
    // Versions after 2019-02-02 report whether there is a hierarchical namespace.
    let namespace = (context.version > ApiVersion::V2019_02_02).then(|| flag(found.has_namespace));
    Response::new(200)
        .with("x-ms-sku-name", found.sku)
        .with("x-ms-account-kind", found.kind)
        .with_some("x-ms-is-hns-enabled", namespace)
}

/// The signature version of the key is that of the request.
pub(super) fn delegation_key(context: &Context, key: &UserDelegationKey) -> Response {
    let body = document(|out| {
        nest(out, "UserDelegationKey", |out| {
            leaf(out, "SignedOid", &key.object_id);
            leaf(out, "SignedTid", &key.tenant_id);
            leaf(out, "SignedStart", key.start.iso_seconds().as_str());
            leaf(out, "SignedExpiry", key.expiry.iso_seconds().as_str());
            leaf(out, "SignedService", "b");
            leaf(out, "SignedVersion", &context.version.text());
            leaf(out, "Value", &STANDARD.encode(key.value));
        });
    });
    Response::new(200).with("Content-Type", "application/xml").with_body(body)
}
