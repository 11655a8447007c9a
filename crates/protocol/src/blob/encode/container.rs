//! The properties and access policies of containers.

use lazuli_model::blob::Stamp;
use lazuli_model::blob::container::{ContainerProperties, PublicAccess};
use lazuli_model::policy::SignedIdentifier;

use super::field::{Fields, flag};
use crate::ApiVersion;
use crate::http::response::{Context, Response};
use crate::xml;

/// The scope that represents the account's own key.
pub(super) const ACCOUNT_SCOPE: &str = "$account-encryption-key";

pub(super) fn properties(context: &Context, found: &ContainerProperties) -> Response {
    let version = context.version;
    let access = found.public_access.name().filter(|_| version >= ApiVersion::V2016_05_31);
    let mut response = Response::new(200)
        .stamp(context, found.stamp)
        .metadata(&found.metadata)
        .lease(context, found.lease)
        .with_some("x-ms-blob-public-access", access);
    if version >= ApiVersion::V2019_02_02 {
        let scope = found.scope.name.clone().unwrap_or_else(|| ACCOUNT_SCOPE.to_owned());
        response = response
            .with("x-ms-default-encryption-scope", scope)
            .with("x-ms-deny-encryption-scope-override", flag(found.scope.denies_others));
    }
    if version >= ApiVersion::V2017_11_09 {
        response = response
            .with("x-ms-has-immutability-policy", flag(found.has_immutability_policy))
            .with("x-ms-has-legal-hold", flag(found.has_legal_hold));
    }
    if version >= ApiVersion::V2020_10_02 {
        let versioned = flag(found.has_versioned_immutability);
        response = response.with("x-ms-immutable-storage-with-versioning-enabled", versioned);
    }
    response
}

pub(super) fn acl(
    context: &Context,
    stamp: Stamp,
    access: PublicAccess,
    policies: &[SignedIdentifier],
) -> Response {
    xml::acl(policies).stamp(context, stamp).with_some("x-ms-blob-public-access", access.name())
}
