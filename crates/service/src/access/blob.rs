//! The operations of the Blob service against a grant.

use lazuli_model::blob::ContainerName;
use lazuli_model::blob::operation::{AccountScope, BlobAction, BlobRequest, Operation, Revision};
use lazuli_model::kind::Access;
use lazuli_model::{ErrorCode, Failure, OperationKind, Permissions, Service};

use super::{Grant, Needs, Scope, SignedPart, check, reject_writes};

/// Checks that the grant permits the operation. Nothing that a body says changes the rights that an operation needs, so
/// this is called before the body is read.
pub fn authorize(grant: &Grant, operation: &Operation) -> Result<(), Failure> {
    let kind = operation.kind();
    let container = operation.container().map(|container| container.as_str());
    if let Scope::Public { container: own, lists } = &grant.scope {
        return if container == Some(own) && is_public(kind, *lists) {
            Ok(())
        } else {
            Err(grant.rejection(ErrorCode::ResourceNotFound))
        };
    }
    if let Operation::GetAccountInformation(scope) = operation {
        return check_information(grant, scope);
    }
    match &grant.scope {
        Scope::Roles { permissions }
            if matches!(kind, OperationKind::GetContainerAcl | OperationKind::SetContainerAcl) =>
        {
            check_owner(grant, permissions)?;
        }
        _ => {
            let needs = deletion_needs(operation).unwrap_or_else(|| needs(kind));
            check(grant, Service::Blob, &needs, container)?;
        }
    }
    check_part(grant, operation)?;
    reject_writes(grant, kind)?;
    if operation.container().is_some_and(ContainerName::is_logs) && changes_logs(kind) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    Ok(())
}

/// Clients read request logs and delete them. Only the server writes them.
fn changes_logs(kind: OperationKind) -> bool {
    kind.access() != Access::Read && kind != OperationKind::DeleteBlob
}

/// Checks that the grant can permit a batch at all; each of its operations is checked by itself.
pub fn authorize_batch(grant: &Grant, container: Option<&str>) -> Result<(), Failure> {
    match &grant.scope {
        Scope::Public { .. } => Err(grant.rejection(ErrorCode::ResourceNotFound)),
        Scope::Resource { .. }
            if !container.is_some_and(|name| grant.covers_resource(Service::Blob, name)) =>
        {
            Err(grant.rejection(ErrorCode::AuthorizationFailure))
        }
        _ => reject_writes(grant, OperationKind::BlobBatch),
    }
}

/// Whether the grant permits the operation for a blob that does not exist yet, and not for one that does.
pub fn creates_only(grant: &Grant, kind: OperationKind) -> bool {
    let permissions = match &grant.scope {
        Scope::Account { permissions, .. } | Scope::Resource { permissions, .. } => permissions,
        Scope::Everything | Scope::Roles { .. } | Scope::Public { .. } => return false,
    };
    let replaces = matches!(
        kind,
        OperationKind::PutBlob
            | OperationKind::PutBlobFromUrl
            | OperationKind::PutBlock
            | OperationKind::PutBlockList
            | OperationKind::CopyBlob
            | OperationKind::CopyBlobFromUrl
    );
    replaces && !permissions.allow("w")
}

/// Anonymous reads of a public container.
fn is_public(kind: OperationKind, lists: bool) -> bool {
    use OperationKind::{
        GetAccountInformation, GetBlob, GetBlobMetadata, GetBlobProperties, GetBlockList,
        GetContainerMetadata, GetContainerProperties, GetPageRegions, ListBlobs,
    };
    match kind {
        GetBlob | GetBlobProperties | GetBlobMetadata | GetBlockList | GetPageRegions => true,
        ListBlobs | GetContainerProperties | GetContainerMetadata | GetAccountInformation => lists,
        _ => false,
    }
}

/// Of all roles, only the owner's permits stored access policies. It alone may change immutability policies, too.
fn check_owner(grant: &Grant, permissions: &Permissions) -> Result<(), Failure> {
    if permissions.allow("i") {
        return Ok(());
    }
    Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch))
}

/// Account information is for everyone who may do anything with the resource that is named.
fn check_information(grant: &Grant, scope: &AccountScope) -> Result<(), Failure> {
    let covered = match (&grant.scope, scope) {
        (Scope::Resource { .. }, AccountScope::Service) => false,
        (Scope::Resource { .. }, AccountScope::Container(name) | AccountScope::Blob(name, _)) => {
            grant.covers_resource(Service::Blob, name.as_str())
        }
        _ => true,
    };
    if covered { Ok(()) } else { Err(grant.rejection(ErrorCode::AuthorizationFailure)) }
}

/// A SAS of one blob covers only that blob, one of a directory the blobs in it.
fn check_part(grant: &Grant, operation: &Operation) -> Result<(), Failure> {
    let Scope::Resource { part, .. } = &grant.scope else { return Ok(()) };
    let covers = |request: &BlobRequest| match part {
        SignedPart::Blob { name, .. } => request.blob.as_str() == name,
        SignedPart::Directory(directory) => is_in(request.blob.as_str(), directory),
        SignedPart::Whole | SignedPart::Entities(_) => true,
    };
    match operation {
        _ if *part == SignedPart::Whole => Ok(()),
        Operation::Blob(request) if covers(request) => Ok(()),
        _ => Err(grant.rejection(ErrorCode::AuthorizationFailure)),
    }
}

/// Is it the blob that has the name of the directory, or one below? The directory without a name is the whole container.
fn is_in(blob: &str, directory: &str) -> bool {
    let rest = blob.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The rights to delete a version, and to delete for good what could be restored.
fn deletion_needs(operation: &Operation) -> Option<Needs> {
    let Operation::Blob(request) = operation else { return None };
    match (&request.action, request.revision) {
        (BlobAction::Delete { is_permanent: true, .. }, _) => Some(Needs::object(&["y"])),
        (BlobAction::Delete { .. }, Revision::Version(_)) => Some(Needs::object(&["x"])),
        (BlobAction::Delete { .. }, _) => Some(Needs::object(&["d"])),
        _ => None,
    }
}

fn needs(kind: OperationKind) -> Needs {
    use OperationKind as Kind;
    match kind {
        Kind::ListContainers => Needs::service(&["l"]),
        Kind::GetBlobServiceProperties | Kind::GetBlobServiceStats => Needs::service(&["r"]),
        Kind::SetBlobServiceProperties => Needs::service(&["w"]),
        Kind::CreateContainer => Needs::container(&["c", "w"]),
        Kind::RestoreContainer => Needs::container(&["w"]),
        Kind::DeleteContainer => Needs::container(&["d"]),
        Kind::GetContainerProperties | Kind::GetContainerMetadata => Needs::container(&["r"]),
        Kind::SetContainerMetadata
        | Kind::AcquireContainerLease
        | Kind::RenewContainerLease
        | Kind::ChangeContainerLease
        | Kind::ReleaseContainerLease => Needs::container(&["w"]),
        Kind::BreakContainerLease => Needs::container(&["w", "d"]),
        Kind::ListBlobs => Needs { by_service_sas: true, ..Needs::container(&["l"]) },
        Kind::FindBlobsByTags => Needs { by_service_sas: true, ..Needs::object(&["f"]) },
        Kind::GetBlob
        | Kind::GetBlobProperties
        | Kind::GetBlobMetadata
        | Kind::GetBlockList
        | Kind::GetPageRegions
        | Kind::QueryBlobContents => Needs::object(&["r"]),
        Kind::GetBlobTags | Kind::SetBlobTags => Needs::object(&["t"]),
        Kind::PutBlob | Kind::PutBlobFromUrl | Kind::CopyBlob | Kind::CopyBlobFromUrl => {
            Needs::object(&["w", "c"])
        }
        Kind::PutBlock
        | Kind::PutBlockFromUrl
        | Kind::PutBlockList
        | Kind::IncrementalCopyBlob
        | Kind::SnapshotBlob => Needs::object(&["w", "c"]),
        Kind::AppendBlock | Kind::AppendBlockFromUrl => Needs::object(&["a", "w"]),
        Kind::SealBlob
        | Kind::PutPage
        | Kind::PutPageFromUrl
        | Kind::ClearPage
        | Kind::AbortCopyBlob
        | Kind::SetBlobProperties
        | Kind::SetBlobMetadata
        | Kind::SetBlobTier
        | Kind::SetBlobExpiry
        | Kind::UndeleteBlob
        | Kind::AcquireBlobLease
        | Kind::RenewBlobLease
        | Kind::ChangeBlobLease
        | Kind::ReleaseBlobLease => Needs::object(&["w"]),
        Kind::BreakBlobLease => Needs::object(&["w", "d"]),
        Kind::DeleteBlob => Needs::object(&["d"]),
        Kind::SetBlobImmutabilityPolicy | Kind::DeleteBlobImmutabilityPolicy | Kind::SetBlobLegalHold => {
            Needs::object(&["i"])
        }
        // Access policies, and every operation that is not the Blob service's.
        _ => Needs::KEY,
    }
}
