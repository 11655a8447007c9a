//! The operations of a mixed history, and the effect of each on a map.
//!
//! A request is authenticated before it is executed, and a key may be replaced in between. So each request
//! becomes two events, one of the account and one of the table, each with its own order.

use crate::linear;

/// Number of tables that each account may have.
pub const TABLES: usize = 2;
/// Number of rows that each table may have, two per partition.
pub const ROWS: usize = 5;
/// Number of rows on a page of a scan.
pub const PAGE_ROWS: usize = 2;

/// State of the model: of an account name, or of a table in one of the accounts that had this name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MixedState {
    /// The keys of the account.
    keys: Option<[u32; 2]>,
    /// Was the account of the table removed? If so, it never has a table again.
    is_over: bool,
    table: Option<MixedTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct MixedTable {
    policy: Option<u32>,
    rows: [Option<u32>; ROWS],
}

/// A change of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountChange {
    /// Adds the account with these keys.
    Add([u32; 2]),
    /// It is removed.
    Remove,
    /// Replaces one of its two keys.
    Rotate {
        /// Which one.
        slot: usize,
        /// The new key.
        key: u32,
    },
    /// A request is signed with this key.
    Use(u32),
}

/// An action on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableAction {
    /// It is created.
    Create,
    /// It is deleted.
    Delete,
    /// Its account is removed, which must not have a table.
    End,
    /// Lists the tables of its account.
    List,
    /// Inserts or replaces a row.
    Put {
        /// Which row.
        row: usize,
        /// The new value.
        value: u32,
    },
    /// A row is read.
    Get(usize),
    /// Reads a page of a scan, starting at this row.
    Page(usize),
    /// Replaces or removes its only access policy.
    SetPolicy(Option<u32>),
    /// Reads it with a signature that refers to this policy.
    UsePolicy(u32),
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MixedCall {
    /// On the account.
    Account(AccountChange),
    /// On a table.
    Table {
        /// The incarnation of the account with this name.
        account: u32,
        /// Which of its tables.
        table: usize,
        /// The action.
        action: TableAction,
    },
}

/// A response, as seen by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MixedOutput {
    /// Done.
    Applied,
    /// 409.
    Exists,
    /// 404.
    Missing,
    /// 403.
    Denied,
    /// The table is listed, or is not.
    Listed(bool),
    /// The value of the row.
    Value(Option<u32>),
    /// The rows of the page and their values.
    Rows(Vec<(usize, u32)>),
}

impl MixedCall {
    /// Does it only read?
    pub fn is_read(&self) -> bool {
        match self {
            MixedCall::Account(change) => matches!(change, AccountChange::Use(_)),
            MixedCall::Table { action, .. } => {
                matches!(
                    action,
                    TableAction::List
                        | TableAction::Get(_)
                        | TableAction::Page(_)
                        | TableAction::UsePolicy(_)
                )
            }
        }
    }
}

fn change_account(keys: &mut Option<[u32; 2]>, change: &AccountChange) -> MixedOutput {
    match (change, keys) {
        (AccountChange::Add(_), Some(_)) => MixedOutput::Exists,
        (AccountChange::Add(new), keys) => {
            *keys = Some(*new);
            MixedOutput::Applied
        }
        (AccountChange::Use(key), Some(keys)) if keys.contains(key) => MixedOutput::Applied,
        (AccountChange::Use(_), _) => MixedOutput::Denied,
        (AccountChange::Remove | AccountChange::Rotate { .. }, None) => MixedOutput::Missing,
        (AccountChange::Remove, keys) => {
            *keys = None;
            MixedOutput::Applied
        }
        (AccountChange::Rotate { slot, key }, Some(keys)) => {
            keys[*slot] = *key;
            MixedOutput::Applied
        }
    }
}

fn act_on_table(state: &mut MixedState, action: &TableAction) -> MixedOutput {
    let MixedState { is_over, table, .. } = state;
    match (action, table) {
        (TableAction::Create, Some(_)) | (TableAction::End, Some(_)) => MixedOutput::Exists,
        (TableAction::Create, _) if *is_over => MixedOutput::Denied,
        (TableAction::Create, table) => {
            *table = Some(MixedTable::default());
            MixedOutput::Applied
        }
        (TableAction::End, None) => {
            *is_over = true;
            MixedOutput::Applied
        }
        (TableAction::List, table) => MixedOutput::Listed(table.is_some()),
        (_, None) => MixedOutput::Missing,
        (TableAction::Delete, table) => {
            *table = None;
            MixedOutput::Applied
        }
        (TableAction::Put { row, value }, Some(table)) => {
            table.rows[*row] = Some(*value);
            MixedOutput::Applied
        }
        (TableAction::Get(row), Some(table)) => MixedOutput::Value(table.rows[*row]),
        (TableAction::Page(from), Some(table)) => {
            let rows = table.rows.iter().enumerate().skip(*from);
            MixedOutput::Rows(
                rows.filter_map(|(row, value)| Some((row, (*value)?))).take(PAGE_ROWS).collect(),
            )
        }
        (TableAction::SetPolicy(policy), Some(table)) => {
            table.policy = *policy;
            MixedOutput::Applied
        }
        (TableAction::UsePolicy(policy), Some(table)) if table.policy == Some(*policy) => {
            MixedOutput::Applied
        }
        (TableAction::UsePolicy(_), Some(_)) => MixedOutput::Denied,
    }
}

impl linear::HistoryOperation for MixedCall {
    type State = MixedState;
    type Output = MixedOutput;

    fn apply(&self, state: &MixedState) -> (MixedState, MixedOutput) {
        let mut next = state.clone();
        let output = match self {
            MixedCall::Account(change) => change_account(&mut next.keys, change),
            MixedCall::Table { action, .. } => act_on_table(&mut next, action),
        };
        (next, output)
    }

    fn object(&self) -> usize {
        match self {
            MixedCall::Account(_) => 0,
            MixedCall::Table { account, table, .. } => 1 + *account as usize * TABLES + table,
        }
    }
}
