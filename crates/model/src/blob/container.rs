//! Containers: public access, properties, and the operations on them.

use crate::blob::condition::Conditions;
use crate::blob::etag::Stamp;
use crate::blob::lease::{LeaseAction, LeaseView};
use crate::blob::list::ListBlobs;
use crate::blob::name::ContainerName;
use crate::blob::protection::DeletedInfo;
use crate::policy::SignedIdentifier;
use crate::{Guid, Metadata, OperationKind};

/// The rights of anonymous requests in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PublicAccess {
    /// Nothing.
    #[default]
    None,
    /// Read blobs.
    Blob,
    /// Read blobs and list them.
    Container,
}

impl PublicAccess {
    /// The value in the header and the element; a private container has none.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            PublicAccess::None => None,
            PublicAccess::Blob => Some("blob"),
            PublicAccess::Container => Some("container"),
        }
    }

    /// Reads a value. Versions before 2009-09-19 say `true` for `container`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("container") || text.eq_ignore_ascii_case("true") => {
                Some(PublicAccess::Container)
            }
            _ if text.eq_ignore_ascii_case("blob") => Some(PublicAccess::Blob),
            _ => None,
        }
    }
}

/// The encryption scope for blobs whose request specifies none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultScope {
    /// Its name; `None` for the account's own key.
    pub name: Option<String>,
    /// Are blobs forbidden to use another one?
    pub denies_others: bool,
}

/// The properties of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerProperties {
    /// ETag and time of the last change.
    pub stamp: Stamp,
    /// Metadata.
    pub metadata: Metadata,
    /// The lease at the time of the request.
    pub lease: LeaseView,
    /// Anonymous access.
    pub public_access: PublicAccess,
    /// The encryption scope of its blobs.
    pub scope: DefaultScope,
    /// Is there an immutability policy for all of its blobs?
    pub has_immutability_policy: bool,
    /// Is there a legal hold on all of its blobs?
    pub has_legal_hold: bool,
    /// May its versions have immutability policies?
    pub has_versioned_immutability: bool,
    /// The time of its deletion, and the version id with which it can be restored.
    pub deleted: Option<(DeletedInfo, String)>,
}

impl ContainerProperties {
    /// A private container without anything special.
    pub fn new(stamp: Stamp) -> Self {
        Self {
            stamp,
            metadata: Metadata::default(),
            lease: LeaseView::default(),
            public_access: PublicAccess::None,
            scope: DefaultScope::default(),
            has_immutability_policy: false,
            has_legal_hold: false,
            has_versioned_immutability: false,
            deleted: None,
        }
    }
}

/// A request for one container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerRequest {
    /// The container.
    pub container: ContainerName,
    /// The id of its lease, if the request has one. Empty for actions that do not use it.
    pub lease: Option<Guid>,
    /// Conditions: only dates, and only for actions that accept them.
    pub conditions: Conditions,
    /// The operation.
    pub action: ContainerAction,
}

/// An operation on a container.
#[derive(Clone, Debug, PartialEq)]
pub enum ContainerAction {
    /// Create it.
    Create {
        /// Metadata.
        metadata: Metadata,
        /// Anonymous access.
        public_access: PublicAccess,
        /// The encryption scope of its blobs.
        scope: DefaultScope,
    },
    /// Read its properties.
    GetProperties,
    /// Read its metadata.
    GetMetadata,
    /// Replace its metadata.
    SetMetadata(Metadata),
    /// Read anonymous access and stored access policies.
    GetAcl,
    /// Replace anonymous access and stored access policies.
    SetAcl {
        /// Anonymous access.
        public_access: PublicAccess,
        /// Stored access policies.
        policies: Vec<SignedIdentifier>,
    },
    /// Delete it and its blobs.
    Delete,
    /// Change its lease.
    Lease(LeaseAction),
    /// List its blobs.
    ListBlobs(Box<ListBlobs>),
    /// Restore it.
    Restore {
        /// The name before the deletion.
        deleted_name: ContainerName,
        /// The version id from the listing of deleted containers.
        deleted_version: String,
    },
}

impl ContainerAction {
    /// The kind of the operation, for logs and metrics.
    pub fn kind(&self) -> OperationKind {
        match self {
            ContainerAction::Create { .. } => OperationKind::CreateContainer,
            ContainerAction::GetProperties => OperationKind::GetContainerProperties,
            ContainerAction::GetMetadata => OperationKind::GetContainerMetadata,
            ContainerAction::SetMetadata(_) => OperationKind::SetContainerMetadata,
            ContainerAction::GetAcl => OperationKind::GetContainerAcl,
            ContainerAction::SetAcl { .. } => OperationKind::SetContainerAcl,
            ContainerAction::Delete => OperationKind::DeleteContainer,
            ContainerAction::Lease(LeaseAction::Acquire { .. }) => OperationKind::AcquireContainerLease,
            ContainerAction::Lease(LeaseAction::Renew { .. }) => OperationKind::RenewContainerLease,
            ContainerAction::Lease(LeaseAction::Change { .. }) => OperationKind::ChangeContainerLease,
            ContainerAction::Lease(LeaseAction::Release { .. }) => OperationKind::ReleaseContainerLease,
            ContainerAction::Lease(LeaseAction::Break { .. }) => OperationKind::BreakContainerLease,
            ContainerAction::ListBlobs(_) => OperationKind::ListBlobs,
            ContainerAction::Restore { .. } => OperationKind::RestoreContainer,
        }
    }
}
