//! What a caller may do.
//!
//! An account's key allows everything. A shared access signature allows what its letters say, on the kinds of resources
//! or on the one table that it names, and there perhaps only a range of keys: what lies outside cannot be read, and is
//! refused where it would be written.

use lazuli_filter::{Bound, KeyRange, Place};
use lazuli_model::error::Origin;
use lazuli_model::kind::Access;
use lazuli_model::operation::{Change, Write};
use lazuli_model::{EntityKey, ErrorCode, Failure, Operation, OperationKind, Permissions, TableName};

/// What a request was allowed by whoever authenticated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The account it acts in.
    pub account: String,
    /// Only reads: the request came to the secondary endpoint.
    pub read_only: bool,
    /// What it may touch, and how.
    pub scope: Scope,
    /// What is not allowed is said not to exist, as before 2015-04-05.
    pub hides_refusals: bool,
}

/// What a request may touch, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything in the account.
    Everything,
    /// What a shared access signature of the account allows.
    Account {
        /// On which kinds of resources: letters of `sco`.
        resources: Permissions,
        /// What.
        permissions: Permissions,
    },
    /// What the roles of a bearer token allow: policies of tables are beyond any role.
    Roles {
        /// What.
        permissions: Permissions,
    },
    /// What a shared access signature of a table allows.
    Table {
        /// The table, in lower case.
        table: String,
        /// What.
        permissions: Permissions,
        /// On which entities.
        window: KeyRange,
    },
}

/// The ends of a range of keys, as a signature gives them: each a PartitionKey and perhaps a RowKey in it. Empty texts
/// set no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct RangeEnds<'a> {
    /// The first PartitionKey and RowKey.
    pub first: (&'a str, &'a str),
    /// The last PartitionKey and RowKey.
    pub last: (&'a str, &'a str),
}

impl RangeEnds<'_> {
    /// The keys between the ends, both included.
    pub fn window(&self) -> KeyRange {
        let place = |(partition, row): (&str, &str)| Place { partition: partition.into(), row: row.into() };
        KeyRange {
            start: match self.first {
                ("", _) => Bound::Open,
                first => Bound::Included(place(first)),
            },
            end: match self.last {
                ("", _) => Bound::Open,
                (partition, "") => Bound::AfterPartition(partition.into()),
                last => Bound::Included(place(last)),
            },
        }
    }
}

impl Grant {
    /// Everything in an account.
    pub fn everything(account: impl Into<String>) -> Self {
        Self { account: account.into(), read_only: false, scope: Scope::Everything, hides_refusals: false }
    }

    /// Is anything about the table to be told? A signature of another table does not even learn whether it exists.
    pub fn covers(&self, table: &TableName) -> bool {
        match &self.scope {
            Scope::Everything | Scope::Account { .. } | Scope::Roles { .. } => true,
            Scope::Table { table: own, .. } => *own == table.folded(),
        }
    }

    /// Is it good for the entities of one table alone?
    pub fn is_for_one_table(&self) -> bool {
        matches!(self.scope, Scope::Table { .. })
    }

    /// May anything be done with entities, in some table? Who may not does not learn which tables there are.
    pub fn reaches_entities(&self) -> bool {
        authorize_batch(self).is_ok()
    }

    /// The only entities that can be read, if not all.
    pub(crate) fn window(&self) -> Option<&KeyRange> {
        match &self.scope {
            Scope::Everything | Scope::Account { .. } | Scope::Roles { .. } => None,
            Scope::Table { window, .. } => Some(window),
        }
    }

    /// What is said to a request that is not allowed.
    pub fn refusal(&self, code: ErrorCode) -> Failure {
        let hidden =
            matches!(code, ErrorCode::AuthorizationFailure | ErrorCode::AuthorizationPermissionMismatch);
        let code = if self.hides_refusals && hidden { ErrorCode::ResourceNotFound } else { code };
        Failure::from(code).found_in(Origin::FrontEnd)
    }
}

/// Is the operation within the grant?
pub fn authorize(grant: &Grant, operation: &Operation) -> Result<(), Failure> {
    if changes_metrics(operation) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    match operation {
        Operation::Batch { table, writes } => writes.iter().enumerate().try_for_each(|(index, write)| {
            authorize_write(grant, table, write).map_err(|failure| failure.at(index))
        })?,
        Operation::Write { table, write } => authorize_write(grant, table, write)?,
        _ => check(grant, &needs(operation.kind()), table_of(operation))?,
    }
    refuse_writes(grant, operation.kind())
}

/// What is known of an operation before its body is read.
#[derive(Clone, Copy, Debug)]
pub struct Announced<'a> {
    /// What it is.
    pub kind: OperationKind,
    /// The table it names.
    pub table: Option<&'a TableName>,
    /// The entity it names.
    pub key: Option<&'a EntityKey>,
}

/// Can the operation be within the grant at all? Asked before its body is read, so that nobody who may not do a thing
/// learns how well he has asked for it, or makes the server read it. [`authorize`] still has the last word.
pub fn authorize_announced(grant: &Grant, announced: &Announced<'_>) -> Result<(), Failure> {
    let Announced { kind, table, key } = *announced;
    if kind.access() == Access::Write && table.is_some_and(TableName::is_of_metrics) {
        return Err(ErrorCode::InsufficientAccountPermissions.into());
    }
    check(grant, &needs(kind), table)?;
    if let Some(key) = key {
        check_window(grant, key)?;
    }
    refuse_writes(grant, kind)
}

/// Can a batch be within the grant at all? Asked before its body, which alone says what it holds, is read.
pub fn authorize_batch(grant: &Grant) -> Result<(), Failure> {
    let permissions = match &grant.scope {
        Scope::Everything => return Ok(()),
        Scope::Account { resources, .. } if !resources.allow("o") => {
            return Err(grant.refusal(ErrorCode::AuthorizationResourceTypeMismatch));
        }
        Scope::Account { permissions, .. }
        | Scope::Roles { permissions }
        | Scope::Table { permissions, .. } => permissions,
    };
    if ["r", "a", "u", "d"].iter().any(|letter| permissions.allow(letter)) {
        return Ok(());
    }
    Err(grant.refusal(ErrorCode::AuthorizationPermissionMismatch))
}

/// The secondary is for reading.
fn refuse_writes(grant: &Grant, kind: OperationKind) -> Result<(), Failure> {
    if grant.read_only && kind.access() != Access::Read {
        return Err(Failure::new(
            ErrorCode::InsufficientAccountPermissions,
            "Write operations are not allowed.",
        ));
    }
    Ok(())
}

fn authorize_write(grant: &Grant, table: &TableName, write: &Write) -> Result<(), Failure> {
    check(grant, &needs(write.kind()), Some(table))?;
    check_window(grant, &write.key)
}

fn check_window(grant: &Grant, key: &EntityKey) -> Result<(), Failure> {
    if grant.window().is_some_and(|window| !contains(window, key)) {
        let failure = grant.refusal(ErrorCode::AuthorizationFailure);
        return Err(failure.found_in(Origin::Operation));
    }
    Ok(())
}

/// Does the key lie in the window?
pub(crate) fn contains(window: &KeyRange, key: &EntityKey) -> bool {
    window.contains(key.partition.as_str(), key.row.as_str())
}

/// What an operation needs: section 6.5 of the protocol.
struct Needs {
    /// The kind of resource, a letter of `sco`; `None` where only a key will do.
    resource: Option<&'static str>,
    /// Sets of letters, one of which must be allowed.
    permissions: &'static [&'static str],
}

impl Needs {
    const fn new(resource: &'static str, permissions: &'static [&'static str]) -> Self {
        Self { resource: Some(resource), permissions }
    }
}

fn needs(kind: OperationKind) -> Needs {
    match kind {
        OperationKind::QueryTables | OperationKind::QueryTable => Needs::new("c", &["l"]),
        OperationKind::CreateTable => Needs::new("c", &["c", "w"]),
        OperationKind::DeleteTable => Needs::new("c", &["d"]),
        OperationKind::QueryEntity | OperationKind::QueryEntities => Needs::new("o", &["r"]),
        OperationKind::InsertEntity => Needs::new("o", &["a"]),
        OperationKind::InsertOrReplaceEntity | OperationKind::InsertOrMergeEntity => Needs::new("o", &["au"]),
        OperationKind::UpdateEntity | OperationKind::MergeEntity => Needs::new("o", &["u"]),
        OperationKind::DeleteEntity => Needs::new("o", &["d"]),
        // A batch needs what its operations need.
        OperationKind::EntityGroupTransaction => Needs::new("o", &[""]),
        OperationKind::GetTableServiceProperties | OperationKind::GetTableServiceStats => {
            Needs::new("s", &["r"])
        }
        OperationKind::SetTableServiceProperties => Needs::new("s", &["w"]),
        OperationKind::GetTableAcl
        | OperationKind::SetTableAcl
        | OperationKind::Unknown
        | OperationKind::TablePreflightRequest => Needs { resource: None, permissions: &[] },
    }
}

fn check(grant: &Grant, needs: &Needs, table: Option<&TableName>) -> Result<(), Failure> {
    let permissions = match &grant.scope {
        Scope::Everything => return Ok(()),
        Scope::Account { resources, permissions } => {
            let resource = needs.resource.ok_or_else(|| grant.refusal(ErrorCode::AuthorizationFailure))?;
            if !resources.allow(resource) {
                return Err(grant.refusal(ErrorCode::AuthorizationResourceTypeMismatch));
            }
            permissions
        }
        Scope::Roles { permissions } => {
            // The original says that of policies, and so do we.
            needs.resource.ok_or_else(|| grant.refusal(ErrorCode::ResourceNotFound))?;
            permissions
        }
        Scope::Table { permissions, .. } => {
            let own = needs.resource == Some("o") && table.is_some_and(|table| grant.covers(table));
            if !own {
                return Err(grant.refusal(ErrorCode::AuthorizationFailure));
            }
            permissions
        }
    };
    if needs.permissions.iter().any(|letters| permissions.allow(letters)) {
        return Ok(());
    }
    Err(grant.refusal(ErrorCode::AuthorizationPermissionMismatch))
}

/// Would it change what the service has measured? That can be read and deleted, and nothing else.
fn changes_metrics(operation: &Operation) -> bool {
    let deletes = |write: &Write| matches!(write.change, Change::Delete(_));
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
