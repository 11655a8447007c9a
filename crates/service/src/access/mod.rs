//! The rights of a caller.
//!
//! An account's key permits everything. A shared access signature permits the operations that its letters stand
//! for, on the kinds of resources or on the one table, queue, container or blob that it names. A SAS of a table
//! may be limited to a range of keys: entities outside the range cannot be read, and writing them is rejected.
//!
//! Each service has a table of the letters that its operations need. A service executes only [`Authorized`]
//! operations, and only this folder creates those, so no operation is executed unchecked or checked twice.

pub mod blob;
pub mod queue;
pub mod table;
#[cfg(test)]
mod tests;

use lazuli_filter::{PlanBound, PlanPosition, PlanRange};
use lazuli_model::error::Origin;
use lazuli_model::kind::Access;
use lazuli_model::{ErrorCode, Failure, OperationKind, Permissions, Service};

/// The rights of an authenticated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The account that the request addresses.
    pub account: String,
    /// The prefix of the account's records. It differs between successive accounts of the same name.
    pub home: String,
    /// The request came to the secondary endpoint, which permits only reads.
    pub read_only: bool,
    /// The resources it may touch, and the operations on them.
    pub scope: Scope,
    /// Missing rights are reported as a missing resource, as in versions before 2015-04-05.
    pub hides_rejections: bool,
    /// The encryption scope for everything that it writes, if the shared access signature specifies one.
    pub encryption_scope: Option<Box<str>>,
}

/// The resources that a request may touch, and the operations on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything in the account: the request was signed with its key.
    Everything,
    /// The scope of an account SAS. Its service was checked before.
    Account {
        /// The kinds of resources: letters of `sco`.
        resources: Permissions,
        /// The operations.
        permissions: Permissions,
    },
    /// The roles of a bearer token. For tables, no role permits stored access policies.
    Roles {
        /// The operations.
        permissions: Permissions,
    },
    /// Anonymous reads of a public blob container.
    Public {
        /// The container.
        container: String,
        /// May its blobs be listed, too?
        lists: bool,
    },
    /// The scope of a service SAS or a user delegation SAS.
    Resource {
        /// The service.
        service: Service,
        /// The table, queue or container, in lower case.
        name: String,
        /// The operations.
        permissions: Permissions,
        /// The part of it.
        part: SignedPart,
    },
}

/// The part of a table, queue or container that a SAS covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignedPart {
    /// All of it.
    Whole,
    /// The entities of a table in a range of keys.
    Entities(PlanRange),
    /// One blob of a container.
    Blob {
        /// The name of the blob.
        name: String,
        /// The snapshot or version, if the SAS covers only one.
        instance: Option<String>,
    },
    /// The blobs of a container whose names start with this directory, and the blob of that name.
    Directory(String),
}

/// An operation that requires permissions.
pub trait Restricted {
    /// Checks that the grant permits the operation.
    fn authorize(&self, grant: &Grant) -> Result<(), Failure>;
}

/// An operation that its caller may execute. The services accept nothing else. Only the checks in this folder
/// create one:
///
/// ```
/// use lazuli_model::ErrorCode;
/// use lazuli_model::queue::Operation;
/// use lazuli_service::access::Authorized;
/// use lazuli_service::{Grant, Scope};
///
/// let scope = Scope::Public { container: "files".into(), lists: true };
/// let anonymous = Grant { scope, ..Grant::everything("dev") };
/// let rejected = Authorized::new(&anonymous, Operation::GetProperties);
/// assert_eq!(rejected.unwrap_err().code, ErrorCode::ResourceNotFound);
/// ```
///
/// It cannot be made without a check, since its fields are private:
///
/// ```compile_fail,E0451
/// # use lazuli_model::queue::Operation;
/// # use lazuli_service::access::Authorized;
/// # use lazuli_service::{Grant, Scope};
/// # let scope = Scope::Public { container: "files".into(), lists: true };
/// # let anonymous = Grant { scope, ..Grant::everything("dev") };
/// let unchecked = Authorized { grant: &anonymous, operation: Operation::GetProperties };
/// ```
#[derive(Debug)]
pub struct Authorized<'g, O> {
    grant: &'g Grant,
    operation: O,
}

impl<'g, O> Authorized<'g, O> {
    /// Checks that the grant permits the operation.
    pub fn new(grant: &'g Grant, operation: O) -> Result<Self, Failure>
    where
        O: Restricted,
    {
        operation.authorize(grant)?;
        Ok(Self { grant, operation })
    }

    /// The operation.
    pub fn operation(&self) -> &O {
        &self.operation
    }

    /// Clones the grant, for a task that outlives the request.
    pub fn detach(self) -> DetachedOperation<O> {
        DetachedOperation { grant: self.grant.clone(), operation: self.operation }
    }

    pub(crate) fn into_parts(self) -> (&'g Grant, O) {
        (self.grant, self.operation)
    }
}

/// An [`Authorized`] operation that owns its grant.
#[derive(Debug)]
pub struct DetachedOperation<O> {
    grant: Grant,
    operation: O,
}

impl<O> DetachedOperation<O> {
    pub(crate) fn into_parts(self) -> (Grant, O) {
        (self.grant, self.operation)
    }
}

/// The ends of a range of keys, as specified by a SAS: each is a PartitionKey and optionally a RowKey. Empty
/// strings set no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct RangeEnds<'a> {
    /// The first PartitionKey and RowKey.
    pub first: (&'a str, &'a str),
    /// The last PartitionKey and RowKey.
    pub last: (&'a str, &'a str),
}

impl RangeEnds<'_> {
    /// The keys between the ends, both included.
    pub fn window(&self) -> PlanRange {
        let place =
            |(partition, row): (&str, &str)| PlanPosition { partition: partition.into(), row: row.into() };
        PlanRange {
            start: match self.first {
                ("", _) => PlanBound::Open,
                first => PlanBound::Included(place(first)),
            },
            end: match self.last {
                ("", _) => PlanBound::Open,
                (partition, "") => PlanBound::AfterPartition(partition.into()),
                last => PlanBound::Included(place(last)),
            },
        }
    }
}

impl Grant {
    /// The scope of an account key: everything in the account whose home is `home`. An account that was not
    /// created in the engine has its name as its home.
    pub fn everything(home: impl Into<String>) -> Self {
        let home = home.into();
        let account = crate::keyspace::account_of(&home).to_owned();
        let scope = Scope::Everything;
        Self { account, home, read_only: false, scope, hides_rejections: false, encryption_scope: None }
    }

    /// May the client learn anything about this table, queue or container? `folded` is its name in lower case.
    pub fn covers_resource(&self, service: Service, folded: &str) -> bool {
        match &self.scope {
            Scope::Everything | Scope::Account { .. } | Scope::Roles { .. } => true,
            Scope::Public { container, .. } => service == Service::Blob && container == folded,
            Scope::Resource { service: own, name, .. } => *own == service && name == folded,
        }
    }

    /// The failure of a request that lacks permission.
    pub fn rejection(&self, code: ErrorCode) -> Failure {
        let hidden =
            matches!(code, ErrorCode::AuthorizationFailure | ErrorCode::AuthorizationPermissionMismatch);
        let code = if self.hides_rejections && hidden { ErrorCode::ResourceNotFound } else { code };
        Failure::from(code).found_in(Origin::FrontEnd)
    }
}

/// The rights that an operation needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// The kind of resource for an account SAS, a letter of `sco`; `None` if the operation needs an account
    /// key.
    resource: Option<&'static str>,
    /// Can a SAS of the table, queue, container or blob permit it?
    by_service_sas: bool,
    /// Sets of letters, one of which must be granted.
    permissions: &'static [&'static str],
}

impl Needs {
    /// Only the account's key permits it.
    pub const KEY: Needs = Needs { resource: None, by_service_sas: false, permissions: &[] };

    /// An operation on the service.
    pub const fn service(permissions: &'static [&'static str]) -> Self {
        Self { resource: Some("s"), by_service_sas: false, permissions }
    }

    /// An operation on a table, queue or container, or on the list of tables.
    pub const fn container(permissions: &'static [&'static str]) -> Self {
        Self { resource: Some("c"), by_service_sas: false, permissions }
    }

    /// An operation on entities, messages or blobs.
    pub const fn object(permissions: &'static [&'static str]) -> Self {
        Self { resource: Some("o"), by_service_sas: true, permissions }
    }
}

/// Checks that the grant has the rights that an operation on a table, queue or container needs. The service
/// checks which part of it the grant covers.
pub(crate) fn check(
    grant: &Grant,
    service: Service,
    needs: &Needs,
    folded: Option<&str>,
) -> Result<(), Failure> {
    let permissions = match &grant.scope {
        Scope::Everything => return Ok(()),
        Scope::Public { .. } => return Err(grant.rejection(ErrorCode::ResourceNotFound)),
        Scope::Account { resources, permissions } => {
            let resource = needs.resource.ok_or_else(|| grant.rejection(ErrorCode::AuthorizationFailure))?;
            if !resources.allow(resource) {
                return Err(grant.rejection(ErrorCode::AuthorizationResourceTypeMismatch));
            }
            permissions
        }
        Scope::Roles { permissions } => {
            // Azure's Table service accepts the token, then reports stored access policies as missing.
            needs.resource.ok_or_else(|| match service {
                Service::Table => Failure::from(ErrorCode::ResourceNotFound),
                Service::Blob | Service::Queue => grant.rejection(ErrorCode::AuthorizationFailure),
            })?;
            permissions
        }
        Scope::Resource { permissions, .. } => {
            let covered = folded.is_some_and(|folded| grant.covers_resource(service, folded));
            if !needs.by_service_sas || !covered {
                return Err(grant.rejection(ErrorCode::AuthorizationFailure));
            }
            permissions
        }
    };
    if needs.permissions.iter().any(|letters| permissions.allow(letters)) {
        return Ok(());
    }
    Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch))
}

/// The secondary endpoint permits only reads.
pub(crate) fn reject_writes(grant: &Grant, kind: OperationKind) -> Result<(), Failure> {
    if grant.read_only && kind.access() != Access::Read {
        return Err(Failure::new(
            ErrorCode::InsufficientAccountPermissions,
            "Write operations are not allowed.",
        ));
    }
    Ok(())
}
