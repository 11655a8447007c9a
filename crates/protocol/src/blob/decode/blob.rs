//! Determines which operation on a blob is requested.

use lazuli_model::blob::operation::{AccountScope, BlobAction, BlobRequest};
use lazuli_model::blob::{BlobName, Conditions, ContainerName, Operation, Revision};
use lazuli_model::error::Origin;
use lazuli_model::{DateTime, ErrorCode, Failure};

use super::{
    Ask, Document, Intent, append, block, copy, lease, lease_id, page, protection, read, unknown_comp,
    update, verb, write,
};
use crate::blob::condition;
use crate::blob::params::{Params, invalid};

/// An action with the conditions that it accepts, and the document in the body that completes it.
pub(super) struct BlobPlan {
    pub action: BlobAction,
    pub conditions: Conditions,
    pub document: Option<Document>,
}

impl BlobPlan {
    /// An action that its head describes.
    pub fn new(action: BlobAction, conditions: Conditions) -> Self {
        Self { action, conditions, document: None }
    }

    /// An action that accepts no conditions. Reads ignore them; on writes they are an error, since ignoring one
    /// would permit a change that the client forbids.
    pub fn unconditional(ask: &Ask<'_>, action: BlobAction) -> Result<Self, Failure> {
        if condition::TARGET.iter().any(|name| ask.head.get_filled(name).is_some()) {
            return Err(ErrorCode::ConditionHeadersNotSupported.into());
        }
        Ok(Self::new(action, Conditions::default()))
    }
}

/// An operation on a blob, and the document that completes it.
pub(super) struct Found(Operation, Option<Document>);

impl From<Found> for Intent {
    fn from(Found(operation, document): Found) -> Self {
        match document {
            Some(document) => Intent::Document(operation, document),
            None => Intent::Ready(operation),
        }
    }
}

pub(super) fn decode(ask: &Ask<'_>, container: ContainerName, blob: BlobName) -> Result<Found, Failure> {
    if ask.params.is("restype", "account") {
        let scope = AccountScope::Blob(container, blob);
        return match super::service::account(ask, scope)? {
            Intent::Ready(operation) => Ok(Found(operation, None)),
            _ => Err(ErrorCode::InvalidUri.into()),
        };
    }
    let revision = revision(ask.params)?;
    let plan = plan(ask)?;
    check_revision(ask, revision, &plan.action)?;
    // Lease actions contain their ids.
    let lease = if matches!(plan.action, BlobAction::Lease(_)) { None } else { lease_id(ask.head)? };
    let request = BlobRequest {
        container,
        blob,
        revision,
        lease,
        conditions: plan.conditions,
        encryption: protection::encryption(ask.head)?,
        action: plan.action,
    };
    Ok(Found(Operation::Blob(Box::new(request)), plan.document))
}

fn plan(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let comp = ask.params.comp();
    match (ask.head.method, comp.as_str()) {
        ("GET", "") => read::content(ask),
        ("HEAD", "") => read::properties(ask),
        ("GET" | "HEAD", "metadata") => read::metadata(ask),
        ("GET", "blocklist") => read::block_list(ask),
        ("GET", "pagelist") => page::ranges(ask),
        ("GET", "tags") => read::tags(ask),
        ("PUT", "") => write::put(ask),
        ("PUT", "block") => block::put(ask),
        ("PUT", "blocklist") => block::commit(ask),
        ("PUT", "appendblock") => append::block(ask),
        ("PUT", "seal") => append::seal(ask),
        ("PUT", "page") => page::write(ask),
        ("PUT", "incrementalcopy") => copy::incremental(ask),
        ("PUT", "copy") => copy::abort(ask),
        ("PUT", "lease") => {
            Ok(BlobPlan::new(BlobAction::Lease(lease::action(ask)?), condition::write(ask.head)?))
        }
        ("PUT", "properties") => update::properties(ask),
        ("PUT", "metadata") => update::metadata(ask),
        ("PUT", "tags") => update::tags(ask),
        ("PUT", "tier") => update::tier(ask),
        ("PUT", "snapshot") => update::snapshot(ask),
        ("PUT", "undelete") => BlobPlan::unconditional(ask, BlobAction::Undelete),
        ("PUT", "expiry") => protection::expiry(ask),
        ("PUT", "immutabilitypolicies") => protection::set_immutability(ask),
        ("DELETE", "immutabilitypolicies") => BlobPlan::unconditional(ask, BlobAction::DeleteImmutability),
        ("PUT", "legalhold") => protection::legal_hold(ask),
        ("DELETE", "") => update::delete(ask),
        ("POST", "query") => Err(ErrorCode::NotImplemented.into()),
        (_, "") => Err(verb()),
        (_, comp) if is_known(comp) => Err(verb()),
        _ => Err(unknown_comp(ask.params)),
    }
}

fn is_known(comp: &str) -> bool {
    const COMPS: [&str; 19] = [
        "metadata",
        "blocklist",
        "pagelist",
        "tags",
        "block",
        "appendblock",
        "seal",
        "page",
        "incrementalcopy",
        "copy",
        "lease",
        "properties",
        "tier",
        "snapshot",
        "undelete",
        "expiry",
        "immutabilitypolicies",
        "legalhold",
        "query",
    ];
    COMPS.contains(&comp)
}

/// `snapshot` or `versionid`. Azure's front end reads them, before the operation is known.
pub(super) fn revision(params: &Params<'_>) -> Result<Revision, Failure> {
    let time = |name: &'static str| match params.filled(name) {
        None => Ok(None),
        Some(text) => {
            let time = DateTime::parse(text).filter(|_| text.contains('T'));
            time.map(Some).ok_or_else(|| invalid(name, text).found_in(Origin::Routing))
        }
    };
    match (time("snapshot")?, time("versionid")?) {
        (None, None) => Ok(Revision::Current),
        (Some(snapshot), None) => Ok(Revision::Snapshot(snapshot)),
        (None, Some(version)) => Ok(Revision::Version(version)),
        (Some(_), Some(_)) => Err(ErrorCode::MutuallyExclusiveQueryParameters.into()),
    }
}

/// Snapshots and versions can be read, deleted, tagged and moved between tiers, but not changed.
fn check_revision(ask: &Ask<'_>, revision: Revision, action: &BlobAction) -> Result<(), Failure> {
    let fits = matches!(
        action,
        BlobAction::Get(_)
            | BlobAction::GetProperties
            | BlobAction::GetMetadata
            | BlobAction::GetBlockList(_)
            | BlobAction::GetPageRanges(_)
            | BlobAction::GetTags
            | BlobAction::SetTags(_)
            | BlobAction::SetTier(..)
            | BlobAction::SetImmutability(_)
            | BlobAction::DeleteImmutability
            | BlobAction::SetLegalHold(_)
            | BlobAction::Delete { .. }
    );
    match revision {
        _ if fits => Ok(()),
        Revision::Current => Ok(()),
        Revision::Snapshot(_) => Err(ErrorCode::InvalidOperation.into()),
        Revision::Version(_) => Err(invalid("versionid", ask.params.get("versionid").unwrap_or_default())),
    }
}
