//! Authorizes the operations of the Blob service.

use lazuli_model::blob::copy::SourceBlob;
use lazuli_model::blob::operation::{BlobAction, Operation, Revision};
use lazuli_model::blob::write::TagOption;
use lazuli_model::blob::{BlobName, ContainerName};
use lazuli_model::kind::Access;
use lazuli_model::{ErrorCode, Failure, OperationKind, Permissions, Service};

use super::{Authorized, Grant, Needs, Restricted, Scope, SignedPart, check, reject_writes};

/// The part of an operation that determines its permissions. The checks see nothing else, so two operations
/// with the same subject get the same result.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Subject<'a> {
    kind: OperationKind,
    container: Option<&'a ContainerName>,
    /// The blob, and which state of it.
    blob: Option<(&'a BlobName, Revision)>,
    /// Does it permanently delete something that could be restored?
    is_permanent: bool,
    /// Does a write of content also set tags, or copy those of its source?
    sets_tags: bool,
}

impl<'a> Subject<'a> {
    fn of(operation: &'a Operation) -> Self {
        let (blob, is_permanent) = match operation {
            Operation::Blob(request) => {
                let is_permanent = matches!(request.action, BlobAction::Delete { is_permanent: true, .. });
                (Some((&request.blob, request.revision)), is_permanent)
            }
            _ => (None, false),
        };
        let sets_tags = sets_tags(operation);
        Self { kind: operation.kind(), container: operation.container(), blob, is_permanent, sets_tags }
    }
}

/// Does a write of content also set tags, or copy those of its source?
fn sets_tags(operation: &Operation) -> bool {
    let Operation::Blob(request) = operation else { return false };
    let tags = match &request.action {
        BlobAction::PutBlob(_, settings)
        | BlobAction::PutBlockList(_, settings)
        | BlobAction::CreateAppend(settings)
        | BlobAction::CreatePage { settings, .. } => &settings.tags,
        BlobAction::PutBlobFromUrl(put) => &put.settings.tags,
        BlobAction::Copy(copy) => &copy.tags,
        _ => return false,
    };
    !tags.is_empty() || copies_tags(operation)
}

/// Does a copy take the tags of its source?
fn copies_tags(operation: &Operation) -> bool {
    let Operation::Blob(request) = operation else { return false };
    match &request.action {
        BlobAction::PutBlobFromUrl(put) => put.tags == TagOption::Copy,
        BlobAction::Copy(copy) => copy.tag_option == TagOption::Copy,
        _ => false,
    }
}

impl Restricted for Operation {
    fn authorize(&self, grant: &Grant) -> Result<(), Failure> {
        authorize(grant, Subject::of(self))
    }
}

/// The permissions of a request whose body is not read yet. The body cannot change the rights that an operation
/// needs. Rights that depend on the stored blob are checked by the commit: see [`creates_only`].
#[derive(Debug)]
pub struct AuthorizedHead<'g> {
    grant: &'g Grant,
    announced: Operation,
}

impl<'g> AuthorizedHead<'g> {
    /// Checks that the grant permits an operation of which only the head is known.
    pub fn new(grant: &'g Grant, announced: Operation) -> Result<Self, Failure> {
        announced.authorize(grant)?;
        Ok(Self { grant, announced })
    }

    /// The complete operation, now that the body is known. An operation that the head did not announce is checked like any other.
    pub fn with_body(self, operation: Operation) -> Result<Authorized<'g, Operation>, Failure> {
        if Subject::of(&operation) != Subject::of(&self.announced) {
            return Authorized::new(self.grant, operation);
        }
        Ok(Authorized { grant: self.grant, operation })
    }
}

/// A blob of this server that a copy may read.
#[derive(Clone, Debug)]
pub struct AuthorizedSource {
    grant: Grant,
    blob: SourceBlob,
}

impl AuthorizedSource {
    /// Checks that the grant permits reading the blob, and its tags if the operation copies them.
    pub fn new(grant: Grant, operation: &Operation, blob: SourceBlob) -> Result<Self, Failure> {
        let read = Subject {
            kind: OperationKind::GetBlob,
            container: Some(&blob.container),
            blob: Some((&blob.blob, blob.revision)),
            is_permanent: false,
            sets_tags: false,
        };
        authorize(&grant, read)?;
        if copies_tags(operation) {
            authorize(&grant, Subject { kind: OperationKind::GetBlobTags, ..read })?;
        }
        Ok(Self { grant, blob })
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    pub(crate) fn blob(&self) -> &SourceBlob {
        &self.blob
    }
}

fn authorize(grant: &Grant, subject: Subject<'_>) -> Result<(), Failure> {
    #[cfg(test)]
    super::tests::count();
    let kind = subject.kind;
    let container = subject.container.map(ContainerName::as_str);
    if let Scope::Public { container: own, lists } = &grant.scope {
        return if container == Some(own) && is_public(kind, *lists) {
            Ok(())
        } else {
            Err(grant.rejection(ErrorCode::ResourceNotFound))
        };
    }
    if kind == OperationKind::GetAccountInformation {
        return check_information(grant, container);
    }
    match &grant.scope {
        Scope::Roles { permissions }
            if matches!(kind, OperationKind::GetContainerAcl | OperationKind::SetContainerAcl) =>
        {
            check_owner(grant, permissions)?;
        }
        _ => {
            let needs = deletion_needs(subject).unwrap_or_else(|| needs(kind));
            check(grant, Service::Blob, &needs, container)?;
        }
    }
    if subject.sets_tags {
        check(grant, Service::Blob, &needs(OperationKind::SetBlobTags), container)?;
    }
    check_part(grant, subject)?;
    reject_writes(grant, kind)?;
    if subject.container.is_some_and(ContainerName::is_logs) && changes_logs(kind) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    Ok(())
}

/// Clients read request logs and delete them. Only the server writes them.
fn changes_logs(kind: OperationKind) -> bool {
    kind.access() != Access::Read && kind != OperationKind::DeleteBlob
}

/// Checks that the grant can permit a batch at all; each of its operations is checked separately.
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

/// Does the grant permit the operation only if the blob does not exist yet?
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
            | OperationKind::IncrementalCopyBlob
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

/// Only the owner role permits access to stored access policies, and changes of immutability policies.
fn check_owner(grant: &Grant, permissions: &Permissions) -> Result<(), Failure> {
    if permissions.allow("i") {
        return Ok(());
    }
    Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch))
}

/// Account information is available to everyone who may do anything with the named resource.
fn check_information(grant: &Grant, container: Option<&str>) -> Result<(), Failure> {
    let covered = match grant.scope {
        Scope::Resource { .. } => container.is_some_and(|name| grant.covers_resource(Service::Blob, name)),
        _ => true,
    };
    if covered { Ok(()) } else { Err(grant.rejection(ErrorCode::AuthorizationFailure)) }
}

/// A SAS of a blob covers only that blob; a SAS of a directory covers the blobs in it.
fn check_part(grant: &Grant, subject: Subject<'_>) -> Result<(), Failure> {
    let Scope::Resource { part, .. } = &grant.scope else { return Ok(()) };
    let covers = |blob: &BlobName| match part {
        SignedPart::Blob { name, .. } => blob.as_str() == name,
        SignedPart::Directory(directory) => is_in(blob.as_str(), directory),
        SignedPart::Whole | SignedPart::Entities(_) => true,
    };
    match subject.blob {
        _ if *part == SignedPart::Whole => Ok(()),
        Some((blob, _)) if covers(blob) => Ok(()),
        _ => Err(grant.rejection(ErrorCode::AuthorizationFailure)),
    }
}

/// Does the name equal that of the directory, or lie below it? The directory without a name is the whole
/// container.
fn is_in(blob: &str, directory: &str) -> bool {
    let rest = blob.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The rights to delete a version, and to permanently delete restorable data.
fn deletion_needs(subject: Subject<'_>) -> Option<Needs> {
    let (_, revision) = subject.blob.filter(|_| subject.kind == OperationKind::DeleteBlob)?;
    Some(Needs::object(match revision {
        _ if subject.is_permanent => &["y"],
        Revision::Version(_) => &["x"],
        Revision::Current | Revision::Snapshot(_) => &["d"],
    }))
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
        // Access policies, and every operation of another service.
        _ => Needs::KEY,
    }
}
