//! Authorizes the operations of the Table service.

use lazuli_filter::PlanRange;
use lazuli_model::error::Origin;
use lazuli_model::kind::Access;
use lazuli_model::table::Operation;
use lazuli_model::table::operation::{EntityChange, EntityWrite};
use lazuli_model::{EntityKey, ErrorCode, Failure, OperationKind, Service, TableName};

use super::{Authorized, Grant, Needs, Restricted, Scope, SignedPart, check, reject_writes};

impl Restricted for Operation {
    fn authorize(&self, grant: &Grant) -> Result<(), Failure> {
        authorize(grant, self)
    }
}

/// Checks that the grant permits the operation.
pub fn authorize(grant: &Grant, operation: &Operation) -> Result<(), Failure> {
    if changes_metrics(operation) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    match operation {
        Operation::Batch { table, writes } => writes.iter().enumerate().try_for_each(|(index, write)| {
            authorize_write(grant, table, write).map_err(|failure| failure.at(index))
        })?,
        Operation::Write { table, write } => authorize_write(grant, table, write)?,
        _ => check_table(grant, operation.kind(), table_of(operation))?,
    }
    reject_writes(grant, operation.kind())
}

/// Everything that is known about an operation before its body is read.
#[derive(Clone, Copy, Debug)]
pub struct AnnouncedOperation<'a> {
    /// Its kind.
    pub kind: OperationKind,
    /// The table it names.
    pub table: Option<&'a TableName>,
    /// The entity it names.
    pub key: Option<&'a EntityKey>,
}

/// The permissions of a request whose body is not read yet, checked as far as the head names the operation.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizedHead<'g> {
    grant: &'g Grant,
    kind: OperationKind,
    names_key: bool,
}

impl<'g> AuthorizedHead<'g> {
    /// Checks the parts that only the body names: the key of a new entity, the name of a new table. The
    /// operation must belong to the request whose head was checked.
    pub fn with_body(self, operation: Operation) -> Result<Authorized<'g, Operation>, Failure> {
        let Self { grant, kind, names_key } = self;
        match &operation {
            _ if operation.kind() != kind => authorize(grant, &operation)?,
            Operation::Write { write, .. } if !names_key => check_window(grant, &write.key)?,
            Operation::CreateTable(_) if changes_metrics(&operation) => {
                return Err(ErrorCode::InsufficientAccountPermissions.into());
            }
            _ => {}
        }
        debug_assert_eq!(authorize(grant, &operation), Ok(()), "the head and the body were checked");
        Ok(Authorized { grant, operation })
    }
}

/// Checks that the grant can permit the operation at all, before its body is read. A client without permission does not
/// learn whether its body is valid, and cannot make the server read it. [`AuthorizedHead::with_body`] checks the rest.
pub fn authorize_announced<'g>(
    grant: &'g Grant,
    announced: &AnnouncedOperation<'_>,
) -> Result<AuthorizedHead<'g>, Failure> {
    let AnnouncedOperation { kind, table, key } = *announced;
    if kind.access() == Access::Write && table.is_some_and(TableName::is_of_metrics) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    check_table(grant, kind, table)?;
    if let Some(key) = key {
        check_window(grant, key)?;
    }
    reject_writes(grant, kind)?;
    Ok(AuthorizedHead { grant, kind, names_key: key.is_some() })
}

/// Checks that the grant can permit a batch at all, before its body is read, which alone contains its operations.
pub fn authorize_batch(grant: &Grant) -> Result<(), Failure> {
    let permissions = match &grant.scope {
        Scope::Everything => return Ok(()),
        Scope::Public { .. } => return Err(grant.rejection(ErrorCode::ResourceNotFound)),
        Scope::Account { resources, .. } if !resources.allow("o") => {
            return Err(grant.rejection(ErrorCode::AuthorizationResourceTypeMismatch));
        }
        Scope::Account { permissions, .. }
        | Scope::Roles { permissions }
        | Scope::Resource { permissions, .. } => permissions,
    };
    if ["r", "a", "u", "d"].iter().any(|letter| permissions.allow(letter)) {
        return Ok(());
    }
    Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch))
}

impl Grant {
    /// May the client learn anything about the table? With a SAS of another table, it must not even learn
    /// whether the table exists.
    pub fn covers(&self, table: &TableName) -> bool {
        matches!(self.scope, Scope::Everything) || self.covers_resource(Service::Table, &table.folded())
    }

    /// Does it cover only the entities of one table?
    pub fn is_for_one_table(&self) -> bool {
        matches!(self.scope, Scope::Resource { service: Service::Table, .. })
    }

    /// Does it permit anything on the entities of some table? If not, the client does not learn which tables exist.
    pub fn reaches_entities(&self) -> bool {
        authorize_batch(self).is_ok()
    }

    /// The only entities that can be read, if there is a restriction.
    pub(crate) fn window(&self) -> Option<&PlanRange> {
        match &self.scope {
            Scope::Resource { part: SignedPart::Entities(window), .. } => Some(window),
            _ => None,
        }
    }
}

/// Is the key in the window?
pub(crate) fn contains(window: &PlanRange, key: &EntityKey) -> bool {
    window.contains(key.partition.as_str(), key.row.as_str())
}

fn authorize_write(grant: &Grant, table: &TableName, write: &EntityWrite) -> Result<(), Failure> {
    check_table(grant, write.kind(), Some(table))?;
    check_window(grant, &write.key)
}

fn check_table(grant: &Grant, kind: OperationKind, table: Option<&TableName>) -> Result<(), Failure> {
    if matches!(grant.scope, Scope::Everything) {
        return Ok(());
    }
    let needs = needs(kind).unwrap_or(Needs::KEY);
    check(grant, Service::Table, &needs, table.map(TableName::folded).as_deref())
}

fn check_window(grant: &Grant, key: &EntityKey) -> Result<(), Failure> {
    if grant.window().is_some_and(|window| !contains(window, key)) {
        let failure = grant.rejection(ErrorCode::AuthorizationFailure);
        return Err(failure.found_in(Origin::Operation));
    }
    Ok(())
}

/// The permissions that an operation needs. `None` for operations of other services.
pub(super) fn needs(kind: OperationKind) -> Option<Needs> {
    Some(match kind {
        OperationKind::QueryTables | OperationKind::QueryTable => Needs::container(&["l"]),
        OperationKind::CreateTable => Needs::container(&["c", "w"]),
        OperationKind::DeleteTable => Needs::container(&["d"]),
        OperationKind::QueryEntity | OperationKind::QueryEntities => Needs::object(&["r"]),
        OperationKind::InsertEntity => Needs::object(&["a"]),
        OperationKind::InsertOrReplaceEntity | OperationKind::InsertOrMergeEntity => Needs::object(&["au"]),
        OperationKind::UpdateEntity | OperationKind::MergeEntity => Needs::object(&["u"]),
        OperationKind::DeleteEntity => Needs::object(&["d"]),
        // A batch needs the permissions of its operations.
        OperationKind::EntityGroupTransaction => Needs::object(&[""]),
        OperationKind::GetTableServiceProperties | OperationKind::GetTableServiceStats => {
            Needs::service(&["r"])
        }
        OperationKind::SetTableServiceProperties => Needs::service(&["w"]),
        OperationKind::GetTableAcl | OperationKind::SetTableAcl => Needs::KEY,
        _ => return None,
    })
}

/// Would it change the metrics that the service itself writes? Clients can read and delete those, nothing else.
fn changes_metrics(operation: &Operation) -> bool {
    let deletes = |write: &EntityWrite| matches!(write.change, EntityChange::Delete(_));
    match operation {
        Operation::CreateTable(name) | Operation::DeleteTable(name) | Operation::SetAcl(name, _) => {
            name.is_of_metrics()
        }
        Operation::Write { table, write } => table.is_of_metrics() && !deletes(write),
        Operation::Batch { table, writes } => table.is_of_metrics() && !writes.iter().all(deletes),
        Operation::QueryTables(_)
        | Operation::GetTable(_)
        | Operation::GetEntity { .. }
        | Operation::QueryEntities { .. }
        | Operation::GetAcl(_)
        | Operation::GetProperties
        | Operation::SetProperties(_)
        | Operation::GetStats => false,
    }
}

fn table_of(operation: &Operation) -> Option<&TableName> {
    match operation {
        Operation::GetEntity { table, .. }
        | Operation::QueryEntities { table, .. }
        | Operation::Write { table, .. }
        | Operation::Batch { table, .. } => Some(table),
        Operation::QueryTables(_)
        | Operation::GetTable(_)
        | Operation::CreateTable(_)
        | Operation::DeleteTable(_)
        | Operation::GetAcl(_)
        | Operation::SetAcl(..)
        | Operation::GetProperties
        | Operation::SetProperties(_)
        | Operation::GetStats => None,
    }
}
